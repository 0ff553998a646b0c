//! The kinds of inputs that become rows: fitted to training inputs, or read from a run.

use std::borrow::Cow;
use std::path::Path;

use dsokr_basis::Features;
use dsokr_core::Cancellation;
use dsokr_data::config::OutputFeatures;
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

/// Returns the preparations of inputs of several kinds that are fitted to the training inputs. Errors name settings below the
/// key of their kind.
pub(super) fn fitted(
    kinds: &[(String, &MachineInputsConfig)],
    train: &SplitPart,
) -> Result<Vec<Box<dyn PrepareRows>>, Error> {
    // texts are read once for all features that are computed from them
    let features: Vec<(&String, &OutputFeatures)> =
        kinds.iter().filter_map(|(key, inputs)| Some((key, inputs.as_features()?))).collect();
    let mut of_texts = Vec::new();
    if !features.is_empty() {
        let all: Vec<&OutputFeatures> = features.iter().map(|&(_, features)| features).collect();
        let texts = train.split.inputs.texts()?;
        let part = train.part().inputs.texts()?;
        of_texts = TextFeatures::fit_all(&all, texts, part, &train.processes)
            .map_err(|(at, error)| error.of(format_args!("{}.features.", features[at].0)))?;
    }
    let mut of_texts = of_texts.into_iter();
    let prepared = |(at, (_, inputs)): (usize, &(String, &MachineInputsConfig))| {
        if inputs.as_features().is_some()
            && let Some(features) = of_texts.next()
        {
            return Ok(Box::new(features) as Box<dyn PrepareRows>);
        }
        let name = format!("input kernel {} of {}", at + 1, kinds.len());
        let _stage = Cancellation::current().stage(name, 0);
        Source::Training(train.split).prepared(inputs)
    };
    kinds.iter().enumerate().map(prepared).collect()
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
