//! Inputs of kernel machines: rows that kernels compare, or values of kernels.

use std::borrow::Cow;
use std::path::Path;

use dsokr_basis::{Features, Kernel, RowSource};
use dsokr_machines::{Ideal, KernelModel, TrainingInputs, combine};
use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::config::{KernelMachineConfig, MachineInputsConfig};
use crate::inputs::{NgramInputs, VectorInputs};
use crate::run_dir::read_needed;
use crate::targets::TrainingOutputs;
use crate::{Error, Prepare};
use dsokr_data::Split;

const KERNELS: &str = "kernels.json";

/// The preparation of texts, vectors or values of kernels as rows.
pub(super) enum MachineInputs {
    Ngrams(NgramInputs),
    Vectors(VectorInputs),
    Kernels(CombinedKernels),
}

/// Values of several kernels with the training inputs, as those of one kernel.
#[derive(Serialize, Deserialize)]
pub(super) struct CombinedKernels {
    /// Number of training inputs.
    training: usize,
    /// The weight of each kernel.
    weights: Vec<f64>,
}

impl MachineInputs {
    /// Weights of kernels are learned with the training outputs.
    pub(super) fn fit(
        settings: &KernelMachineConfig,
        train: &Split,
        outputs: &TrainingOutputs,
    ) -> Result<Self, Error> {
        Ok(match &settings.inputs {
            MachineInputsConfig::Ngrams { blocks, .. } => {
                Self::Ngrams(NgramInputs::fit(blocks, train)?)
            }
            MachineInputsConfig::Vectors { .. } => Self::Vectors(VectorInputs::fit(&(), train)?),
            MachineInputsConfig::Kernels { combination: rule } => {
                let values = train.inputs.kernels()?;
                let grams: Vec<_> = values.matrices.iter().map(Mat::as_ref).collect();
                let (rows, config) = (outputs.rows(), outputs.config);
                let ideal = Ideal { kernel: outputs.kernel()?, rows: &rows };
                let weights = rule.weights(&grams, &ideal).map_err(|error| match error {
                    dsokr_basis::Error::Kernel { kernel, source } => {
                        let file = config.data.facts().kernel_files.get(kernel);
                        Error::Kernel { file: file.cloned().unwrap_or_default(), source }
                    }
                    other => other.into(),
                })?;
                tracing::info!(weights = ?weights, "kernels combined");
                Self::Kernels(CombinedKernels { weights, training: values.training() })
            }
        })
    }

    /// Reads them from a run directory.
    pub(super) fn load(settings: &KernelMachineConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match &settings.inputs {
            MachineInputsConfig::Ngrams { blocks, .. } => {
                Self::Ngrams(NgramInputs::load(blocks, folder)?)
            }
            MachineInputsConfig::Vectors { .. } => Self::Vectors(VectorInputs::load(&(), folder)?),
            MachineInputsConfig::Kernels { .. } => {
                Self::Kernels(read_needed(&folder.join(KERNELS))?)
            }
        })
    }

    /// Name and text of each file that holds them.
    pub(super) fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        match self {
            Self::Ngrams(ngrams) => ngrams.files(),
            Self::Vectors(vectors) => vectors.files(),
            Self::Kernels(kernels) => {
                let json = serde_json::to_string(kernels);
                Ok(vec![(KERNELS, json?)])
            }
        }
    }

    /// A split's inputs as a machine takes them.
    pub(super) fn rows<'s>(&self, split: &'s Split) -> Result<MachineRows<'s>, Error> {
        match self {
            Self::Ngrams(ngrams) => {
                Ok(MachineRows::Features(Cow::Owned(Features::Sparse(ngrams.rows(split)?))))
            }
            Self::Vectors(vectors) => {
                Ok(MachineRows::Features(Cow::Borrowed(vectors.rows(split)?)))
            }
            Self::Kernels(CombinedKernels { weights, training }) => {
                let values = split.inputs.kernels()?;
                let (found, expected) = (values.training(), *training);
                if found != expected {
                    return Err(dsokr_basis::Error::width(found, expected).into());
                }
                let matrices: Vec<_> = values.matrices.iter().map(Mat::as_ref).collect();
                Ok(MachineRows::Gram(combine(&matrices, weights)?))
            }
        }
    }
}

/// The inputs of some pairs as a machine takes them.
pub(super) enum MachineRows<'s> {
    /// Rows that its kernel compares.
    Features(Cow<'s, Features>),
    /// Values of a precomputed kernel with the n training inputs, pairs × n.
    Gram(Mat<f64>),
}

impl MachineRows<'_> {
    /// Rows that a kernel compares.
    pub(super) fn features(&self) -> Result<&Features, Error> {
        match self {
            Self::Features(rows) => Ok(rows),
            Self::Gram(_) => {
                let allowed = "rows that a kernel compares";
                Err(Error::value("the inputs", "values of a precomputed kernel", allowed))
            }
        }
    }

    /// Number of inputs.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Features(rows) => rows.len(),
            Self::Gram(values) => values.nrows(),
        }
    }

    /// The predictions of a model, row-major.
    pub(super) fn predictions(&self, model: &KernelModel) -> Result<Vec<f32>, Error> {
        Ok(match self {
            Self::Features(rows) => model.predict(rows.as_ref())?,
            Self::Gram(values) => model.predict_gram(values.as_ref())?,
        })
    }

    /// They as training inputs, of which `kernel` compares rows.
    pub(super) fn training(&self, kernel: &Kernel) -> TrainingInputs<'_> {
        match self {
            Self::Features(rows) => TrainingInputs::rows(kernel.clone(), rows.as_ref()),
            Self::Gram(gram) => TrainingInputs::Gram(gram.as_ref()),
        }
    }
}
