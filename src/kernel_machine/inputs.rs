//! Inputs of kernel machines: rows that kernels compare, or values of kernels.

use std::borrow::Cow;
use std::path::Path;

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Features, RowSource};
use dsokr_machines::Ideal;
use faer::Mat;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::RidgeConfig;
use crate::inputs::{NgramInputs, VectorInputs, vectors};
use crate::targets::TrainingOutputs;
use crate::{Error, Prepare};
use dsokr_data::Split;

const KERNELS: &str = "kernels.json";

/// How texts, vectors or values of kernels become rows.
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
        settings: &RidgeConfig,
        train: &Split,
        outputs: &TrainingOutputs,
    ) -> Result<Self, Error> {
        Ok(match (&settings.ngrams, settings.kernels) {
            (Some(blocks), _) => Self::Ngrams(NgramInputs::fit(blocks, train)?),
            (None, None) => Self::Vectors(VectorInputs::fit(&(), train)?),
            (None, Some(rule)) => {
                let values = train.vectors.as_ref().ok_or(Error::ReadsVectors)?;
                let n = train.ids.len();
                let grams: Vec<Mat<f64>> =
                    (0..values.width() / n.max(1)).map(|at| gram_block(values, at, n)).collect();
                let grams: Vec<_> = grams.iter().map(Mat::as_ref).collect();
                let (rows, config) = (outputs.rows(), outputs.config());
                let ideal = Ideal::Outputs { kernel: &config.output.kernel, rows: &rows };
                let weights = rule.weights(&grams, &ideal).map_err(|error| match error {
                    dsokr_machines::Error::Kernel { kernel, source } => {
                        let files = config.data.kernels.as_ref().map_or(&[][..], |k| &k.files);
                        Error::Kernel {
                            file: files.get(kernel).cloned().unwrap_or_default(),
                            source,
                        }
                    }
                    other => other.into(),
                })?;
                tracing::info!(weights = ?weights, "kernels combined");
                Self::Kernels(CombinedKernels { weights, training: n })
            }
        })
    }

    /// Reads them from a run directory.
    pub(super) fn load(settings: &RidgeConfig, folder: &Path) -> Result<Self, Error> {
        Ok(match (&settings.ngrams, settings.kernels) {
            (Some(blocks), _) => Self::Ngrams(NgramInputs::load(blocks, folder)?),
            (None, None) => Self::Vectors(VectorInputs::load(&(), folder)?),
            (None, Some(_)) => {
                let path = folder.join(KERNELS);
                let text = std::fs::read_to_string(&path).map_err(|e| Error::reading(&path, &e))?;
                let read = serde_json::from_str(&text);
                Self::Kernels(read.map_err(|e| Error::Run { path, message: e.to_string() })?)
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
                Ok(vec![(KERNELS, json.map_err(|e| Error::Serialise(e.to_string()))?)])
            }
        }
    }

    /// A split's inputs as rows that kernels compare.
    pub(super) fn rows<'s>(&self, split: &'s Split) -> Result<Cow<'s, Features>, Error> {
        match self {
            Self::Ngrams(ngrams) => Ok(Cow::Owned(Features::Sparse(ngrams.rows(split)?))),
            Self::Vectors(vectors) => Ok(Cow::Borrowed(vectors.rows(split)?)),
            Self::Kernels(CombinedKernels { weights, training }) => {
                let values = vectors(split, weights.len() * training)?;
                let row = |row: usize| {
                    let all = values.dense_row(row);
                    let value = |at: usize| -> f64 {
                        let own = all[at..].iter().step_by(*training).zip(weights);
                        own.map(|(&value, weight)| weight * f64::from(value)).sum()
                    };
                    (0..*training).map(|at| value(at) as f32).collect::<Vec<f32>>()
                };
                let rows: Vec<Vec<f32>> = (0..values.len()).into_par_iter().map(row).collect();
                let rows = DenseRows::new(*training, rows.concat())?;
                Ok(Cow::Owned(Features::Dense(rows)))
            }
        }
    }
}

/// The Gram matrix of a kernel of the n training inputs, of several whose values stand side by side.
pub(super) fn gram_block(values: &Features, kernel: usize, n: usize) -> Mat<f64> {
    let rows: Vec<Vec<f32>> = (0..n).map(|row| values.dense_row(row)).collect();
    Mat::from_fn(n, n, |i, j| f64::from(rows[i][kernel * n + j]))
}
