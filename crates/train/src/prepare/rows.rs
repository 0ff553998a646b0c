//! Inputs of kernel machines: rows that kernels compare, or values of kernels.

use std::path::Path;

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Features, Kernel, RowSource};
use dsokr_machines::ridge::Ideal;
use faer::Mat;
use rayon::prelude::*;

use super::{KERNELS, Preparation, VECTORS, read_width};
use crate::Error;
use crate::config::{Checked, RidgeConfig};
use dsokr_data::Split;

/// What the weights of kernels are learned with.
pub(crate) struct Outputs<'a> {
    pub kernel: &'a Kernel,
    /// The training outputs.
    pub rows: &'a dyn RowSource,
    /// The files of the kernels.
    pub files: &'a [String],
}

impl<'a> Outputs<'a> {
    pub(crate) fn of<R>(config: &'a Checked<R>, rows: &'a dyn RowSource) -> Self {
        let files = config.data.kernels.as_ref().map_or(&[][..], |kernels| &kernels.files);
        Self { kernel: &config.output.kernel, rows, files }
    }
}

impl Preparation {
    /// For the inputs of a kernel machine; weights of kernels are learned with the training `outputs`.
    pub(crate) fn of_ridge(
        config: &RidgeConfig,
        train: &Split,
        outputs: Option<Outputs>,
    ) -> Result<Self, Error> {
        match (&config.ngrams, config.kernels, outputs) {
            (Some(blocks), ..) => Self::ngrams(blocks, train),
            (None, Some(rule), Some(Outputs { kernel, rows, files })) => {
                let (values, n) =
                    (train.vectors.as_ref().ok_or(Error::ReadsVectors)?, train.ids.len());
                let grams: Vec<Mat<f64>> =
                    (0..values.width() / n.max(1)).map(|at| square(values, at, n)).collect();
                let grams: Vec<_> = grams.iter().map(Mat::as_ref).collect();
                let weights = rule.weights(&grams, &Ideal::Outputs { kernel, rows });
                let weights = weights.map_err(|error| match error {
                    dsokr_machines::ridge::Error::Kernel { kernel, source } => Error::Kernel {
                        file: files.get(kernel).cloned().unwrap_or_default(),
                        source,
                    },
                    other => other.into(),
                })?;
                tracing::info!(weights = ?weights, "kernels combined");
                Ok(Self::Kernels { weights, anchors: n })
            }
            (None, ..) => Self::vectors(train),
        }
    }

    /// Reads that of a kernel machine.
    pub(crate) fn load_of_ridge(config: &RidgeConfig, folder: &Path) -> Result<Self, Error> {
        match (&config.ngrams, config.kernels) {
            (Some(_), _) => Self::read_ngrams(folder),
            (None, Some(_)) => {
                let path = folder.join(KERNELS);
                let text = std::fs::read_to_string(&path).map_err(|e| Error::reading(&path, &e))?;
                let StoredKernels { weights, training } = serde_json::from_str(&text)
                    .map_err(|e| Error::Run { path, message: e.to_string() })?;
                Ok(Self::Kernels { weights, anchors: training })
            }
            (None, None) => Ok(Self::Vectors { width: read_width(&folder.join(VECTORS))? }),
        }
    }

    /// A split's inputs as rows that kernels compare.
    ///
    /// # Errors
    /// Vectors that are missing or of another width; [`Error::Value`] for tokens.
    pub fn rows(&self, split: &Split) -> Result<Features, Error> {
        match self {
            Self::Ngrams(tf_idf) => Ok(Features::Sparse(tf_idf.rows(&split.texts)?)),
            Self::Vectors { width } => Ok(vectors(split, *width)?.clone()),
            Self::Kernels { weights, anchors } => {
                let values = vectors(split, weights.len() * anchors)?;
                let row = |row: usize| {
                    let all = values.dense_row(row);
                    let value = |at: usize| -> f64 {
                        let own = all[at..].iter().step_by(*anchors).zip(weights);
                        own.map(|(&value, weight)| weight * f64::from(value)).sum()
                    };
                    (0..*anchors).map(|at| value(at) as f32).collect::<Vec<f32>>()
                };
                let rows: Vec<Vec<f32>> = (0..values.len()).into_par_iter().map(row).collect();
                Ok(Features::Dense(DenseRows::new(*anchors, rows.concat())?))
            }
            Self::Tokens(_) | Self::Pretrained(_) => Err(Error::Value {
                key: "encoder.kind".into(),
                found: "one of tokens".into(),
                allowed: "one of n-grams or vectors".into(),
            }),
        }
    }
}

/// What a run keeps of combined kernels.
#[derive(serde::Deserialize)]
struct StoredKernels {
    weights: Vec<f64>,
    training: usize,
}

/// The Gram matrix of a kernel of the n training inputs, of several whose values stand side by side.
pub(crate) fn square(values: &Features, kernel: usize, n: usize) -> Mat<f64> {
    let rows: Vec<Vec<f32>> = (0..n).map(|row| values.dense_row(row)).collect();
    Mat::from_fn(n, n, |i, j| f64::from(rows[i][kernel * n + j]))
}

/// The vectors of a split, a row for each pair.
fn vectors(split: &Split, width: usize) -> Result<&Features, Error> {
    let rows = split.vectors.as_ref().ok_or(Error::ReadsVectors)?;
    if rows.width() != width {
        let (found, expected) = (rows.width(), width);
        return Err(dsokr_basis::Error::WidthMismatch { found, expected }.into());
    }
    if rows.len() != split.ids.len() {
        return Err(Error::ReadsVectors);
    }
    Ok(rows)
}
