//! The kinds of inputs that become rows: fitted to training inputs, or read from a run.

use std::borrow::Cow;
use std::path::Path;

use dsokr_basis::Features;
use dsokr_data::{ReadTexts, Split, TextFeatures};

use super::part::SplitPart;
use crate::config::MachineInputsConfig;
use crate::encoders::inputs::{NgramInputs, Prepare, PrepareRows, VectorInputs, read_prepared};
use crate::encoders::spectrum_inputs::{MixtureInputs, SpectrumInputs};
use crate::error::Error;

/// The file with the columns of the features of texts.
const FEATURES: &str = "inputs.json";

/// Where a preparation comes from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The training inputs.
    Training(&'a Split),
    /// Its file in a run directory.
    Folder(&'a Path),
    /// The text of its file, which is a part of the file that errors name.
    Text(&'a str, &'a Path),
}

impl Source<'_> {
    fn make<T: PrepareRows + 'static>(
        self,
        file: &str,
        fit: impl FnOnce(&Split) -> Result<T, Error>,
        read: impl FnOnce(&str, &Path) -> Result<T, Error>,
    ) -> Result<Box<dyn PrepareRows>, Error> {
        Ok(Box::new(match self {
            Self::Training(train) => fit(train)?,
            Self::Text(text, path) => read(text, path)?,
            Self::Folder(folder) => read_prepared(folder, file, read)?,
        }))
    }

    /// Returns the preparation of inputs of a configuration.
    pub fn prepared(self, inputs: &MachineInputsConfig) -> Result<Box<dyn PrepareRows>, Error> {
        match inputs {
            MachineInputsConfig::Ngrams { blocks, .. } => {
                self.make(NgramInputs::FILE, |train| Prepare::fit(blocks, train), NgramInputs::read)
            }
            MachineInputsConfig::Vectors { .. } => {
                self.make(VectorInputs::FILE, |train| Prepare::fit(&(), train), VectorInputs::read)
            }
            MachineInputsConfig::Spectra { blocks, .. } => {
                let fit = |train: &Split| Prepare::fit(blocks, train);
                self.make(SpectrumInputs::FILE, fit, SpectrumInputs::read)
            }
            MachineInputsConfig::Features { features } => {
                let fit = |train: &Split| Ok(TextFeatures::fit(features, train.inputs.texts()?)?);
                self.make(FEATURES, fit, |text, path| {
                    serde_json::from_str(text).map_err(|error| Error::run(path, error))
                })
            }
            MachineInputsConfig::Mixtures(mixtures) => Ok(Box::new(MixtureInputs(*mixtures))),
            MachineInputsConfig::Kernels { .. } => {
                // a configuration that was checked does not have them
                let allowed = "inputs that become rows";
                Err(Error::value("encoder.inputs.kind", "\"kernels\"", allowed))
            }
        }
    }
}

/// Returns the preparation of inputs that is fitted to the training inputs, with the rows that this process holds where the
/// fit has computed them; `texts` are the inputs that it holds, of which some may have been read for other preparations.
/// Errors name settings below `key`.
pub(super) fn fitted(
    key: &str,
    inputs: &MachineInputsConfig,
    train: &SplitPart,
    texts: &mut ReadTexts,
) -> Result<(Box<dyn PrepareRows>, Option<Features>), Error> {
    if let MachineInputsConfig::Features { features } = inputs {
        // inputs of a different kind are refused
        let all = train.split.inputs.texts()?;
        let fitted = TextFeatures::fit_shared(features, all, texts, &train.processes);
        let (prepared, rows) = fitted.map_err(|error| error.of(format_args!("{key}.features.")))?;
        return Ok((Box::new(prepared), Some(rows)));
    }
    Ok((Source::Training(train.split).prepared(inputs)?, None))
}

impl PrepareRows for TextFeatures {
    fn file(&self) -> Result<Option<(&'static str, String)>, Error> {
        Ok(Some((FEATURES, serde_json::to_string(self)?)))
    }

    fn width(&self) -> usize {
        Self::width(self)
    }

    fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        Ok(Cow::Owned(Self::rows(self, split.inputs.texts()?)?))
    }

    fn rows_read<'s>(
        &self,
        split: &'s Split,
        texts: &mut ReadTexts,
    ) -> Result<Cow<'s, Features>, Error> {
        split.inputs.texts()?;
        Ok(Cow::Owned(Self::rows_read(self, texts)?))
    }
}
