//! What turns inputs into rows that one kernel compares.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::kernel::OutputKernel;
use dsokr_basis::{Features, Kernel};
use dsokr_data::{Split, TextFeatures};

use crate::config::MachineInputsConfig;
use crate::inputs::{NgramInputs, VectorInputs};
use crate::run_dir::read_needed;
use crate::spectra::{MixtureInputs, SpectrumInputs};
use crate::{Error, Prepare};

/// What the columns of features of texts are.
const FEATURES: &str = "inputs.json";

/// What turns inputs into rows that one kernel compares.
pub(super) enum Prepared {
    Ngrams(NgramInputs),
    Vectors(VectorInputs),
    Features(TextFeatures),
    Spectra(SpectrumInputs),
    Mixtures(MixtureInputs),
}

impl Prepared {
    pub fn fit(inputs: &MachineInputsConfig, train: &Split) -> Result<Self, Error> {
        Ok(match inputs {
            MachineInputsConfig::Ngrams { blocks, .. } => {
                Self::Ngrams(NgramInputs::fit(blocks, train)?)
            }
            MachineInputsConfig::Vectors { .. } => Self::Vectors(VectorInputs::fit(&(), train)?),
            MachineInputsConfig::Features { features } => {
                Self::Features(TextFeatures::fit(features, train.inputs.texts()?)?)
            }
            MachineInputsConfig::Spectra { blocks, .. } => {
                Self::Spectra(SpectrumInputs::fit(blocks, train)?)
            }
            MachineInputsConfig::Mixtures(mixtures) => Self::Mixtures(MixtureInputs(*mixtures)),
            MachineInputsConfig::Kernels { .. } => return Err(values_only()),
        })
    }

    /// Reads it from the text of its file.
    pub fn read(inputs: &MachineInputsConfig, text: &str, path: &Path) -> Result<Self, Error> {
        Ok(match inputs {
            MachineInputsConfig::Ngrams { .. } => Self::Ngrams(NgramInputs::read(text, path)?),
            MachineInputsConfig::Features { .. } => {
                let features = serde_json::from_str(text).map_err(|e| Error::run(path, e))?;
                Self::Features(features)
            }
            MachineInputsConfig::Spectra { .. } => Self::Spectra(SpectrumInputs::read(text, path)?),
            MachineInputsConfig::Mixtures(mixtures) => Self::Mixtures(MixtureInputs(*mixtures)),
            MachineInputsConfig::Vectors { .. } | MachineInputsConfig::Kernels { .. } => {
                return Err(values_only());
            }
        })
    }

    /// Name and text of the file that holds it; none of what the configuration says all of.
    pub fn file(&self) -> Result<Option<(&'static str, String)>, Error> {
        let files = match self {
            Self::Ngrams(ngrams) => ngrams.files()?,
            Self::Vectors(vectors) => vectors.files()?,
            Self::Spectra(spectra) => spectra.files()?,
            Self::Features(features) => vec![(FEATURES, serde_json::to_string(features)?)],
            Self::Mixtures(_) => Vec::new(),
        };
        Ok(files.into_iter().next())
    }

    pub fn load(inputs: &MachineInputsConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match inputs {
            MachineInputsConfig::Ngrams { blocks, .. } => {
                Self::Ngrams(NgramInputs::load(blocks, folder)?)
            }
            MachineInputsConfig::Vectors { .. } => Self::Vectors(VectorInputs::load(&(), folder)?),
            MachineInputsConfig::Features { .. } => {
                Self::Features(read_needed(&folder.join(FEATURES))?)
            }
            MachineInputsConfig::Spectra { blocks, .. } => {
                Self::Spectra(SpectrumInputs::load(blocks, folder)?)
            }
            MachineInputsConfig::Mixtures(mixtures) => Self::Mixtures(MixtureInputs(*mixtures)),
            MachineInputsConfig::Kernels { .. } => return Err(values_only()),
        })
    }

    pub fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        Ok(match self {
            Self::Ngrams(ngrams) => Cow::Owned(Features::Sparse(ngrams.rows(split)?)),
            Self::Vectors(vectors) => Cow::Borrowed(vectors.rows(split)?),
            Self::Features(features) => Cow::Owned(features.rows(split.inputs.texts()?)?),
            Self::Spectra(spectra) => Cow::Owned(Features::Sparse(spectra.rows(split)?)),
            Self::Mixtures(mixtures) => Cow::Owned(Features::Sparse(mixtures.rows(split)?)),
        })
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Self::Ngrams(ngrams) => ngrams.width(),
            Self::Vectors(vectors) => vectors.width(),
            Self::Features(features) => features.width(),
            Self::Spectra(spectra) => spectra.width(),
            Self::Mixtures(mixtures) => mixtures.width(),
        }
    }

    /// The kernel of its rows: that of the configuration, unless the rows bring one.
    pub fn kernel(&self, configured: &Kernel) -> Arc<dyn OutputKernel> {
        match self {
            Self::Mixtures(mixtures) => Arc::new(mixtures.kernel()),
            Self::Ngrams(_) | Self::Vectors(_) | Self::Features(_) | Self::Spectra(_) => {
                Arc::new(configured.clone())
            }
        }
    }
}

/// The error for kernels from files where rows are needed, which a configuration that was checked does not give.
fn values_only() -> Error {
    Error::value("encoder.inputs.kind", "\"kernels\"", "inputs that become rows")
}
