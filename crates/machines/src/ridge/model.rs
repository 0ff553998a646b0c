use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use dsokr_basis::features::read;
use dsokr_basis::store::{self, Stored, Tensor};
use dsokr_basis::{Block, Features, Kernel, OutputKernel, RowKind, RowSource};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::file;
use super::linear_index::LinearIndex;
use super::scaling::Scaling;
use crate::Error;
use crate::linear::Scalar;
use crate::summary::Summary;

/// Rows predicted by one task.
const ROWS: usize = 128;

/// Anchors in one product.
const ANCHORS: usize = 1024;

/// The kind of the file.
const KIND: &str = "ridge";

/// The version of its layout.
const VERSION: u32 = 1;

/// A fitted kernel machine: `z(x) = Σ_j k(x, a_j) A_j`, p coordinates for each input row.
///
/// The anchors a_j are the training inputs (IOKR, ISOKR) or those that the input sketch touches
/// (SIOKR, SISOKR). A model of a precomputed kernel has none: its input rows are the kernel's values
/// with the n training inputs.
#[derive(Clone, Debug)]
pub struct RidgeModel {
    pub(crate) map: Map,
    pub(crate) weights: Weights,
    pub(crate) width: usize,
    pub(crate) scaling: Option<Scaling>,
    pub(crate) summary: Summary,
    /// The anchors by their columns, where the kernel's values come from those; made when first used.
    index: OnceLock<Option<Arc<LinearIndex>>>,
}

/// The features that the weights are multiplied by.
#[derive(Clone, Debug)]
pub(crate) enum Map {
    /// The kernel's values with the anchors.
    Kernel { kernel: Arc<dyn OutputKernel>, anchors: Features },
    /// The input rows themselves, `width` numbers each.
    Rows { width: usize },
}

/// A, one row of p numbers for each anchor: p × a with p contiguous.
#[derive(Clone, Debug)]
pub(crate) enum Weights {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl RidgeModel {
    pub(crate) fn new(map: Map, weights: Weights, summary: Summary) -> Self {
        let width = summary.width;
        Self { map, weights, width, scaling: None, summary, index: OnceLock::new() }
    }

    /// p, the numbers that it predicts for a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of anchors; for a precomputed kernel, of training inputs.
    pub fn anchors(&self) -> usize {
        match &self.map {
            Map::Kernel { anchors, .. } => anchors.len(),
            Map::Rows { width } => *width,
        }
    }

    /// The input kernel; none where it was precomputed.
    pub fn kernel(&self) -> Option<&dyn OutputKernel> {
        match &self.map {
            Map::Kernel { kernel, .. } => Some(kernel.as_ref()),
            Map::Rows { .. } => None,
        }
    }

    /// What was fitted, and how well conditioned it was.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The model of raw input rows, whose rows were standardised by `scaling` before the fit.
    ///
    /// # Errors
    /// [`Error::Length`] for a scaling of another number of columns.
    pub fn with_scaling(mut self, scaling: Scaling) -> Result<Self, Error> {
        let expected = match &self.map {
            Map::Kernel { anchors, .. } => anchors.width(),
            Map::Rows { width } => *width,
        };
        Error::check_length("columns", scaling.width(), expected)?;
        self.scaling = Some(scaling);
        Ok(self)
    }

    /// The model `x ↦ B z(x)` with a matrix B of p columns: in other coordinates, or projected.
    ///
    /// # Errors
    /// [`Error::Length`] for a matrix of another number of columns; [`Error::Value`] for one without rows.
    pub fn mapped(self, matrix: MatRef<f64>) -> Result<Self, Error> {
        let (width, anchors) = (self.width, self.anchors());
        Error::check_length("columns of the matrix", matrix.ncols(), width)?;
        if matrix.nrows() == 0 {
            return Err(Error::none("rows of the matrix"));
        }
        let wide = match &self.weights {
            Weights::Single(weights) => weights.iter().map(|&weight| weight.into()).collect(),
            Weights::Double(weights) => weights.clone(),
        };
        let product = dsokr_basis::eigenbasis::multiply(
            matrix,
            MatRef::from_column_major_slice(&wide, width, anchors),
        );
        let values = product.col_iter().flat_map(|column| column.iter().copied());
        let weights = match &self.weights {
            Weights::Single(_) => Weights::Single(values.map(|value| value as f32).collect()),
            Weights::Double(_) => Weights::Double(values.collect()),
        };
        Ok(Self { weights, width: matrix.nrows(), ..self })
    }

    /// `z(x)` of input rows, q × p row-major: rows of `dsokr_decode::Queries`.
    ///
    /// The numbers of a row do not depend on the number of threads.
    ///
    /// # Errors
    /// Rows of another kind or width, [`Error::NotFinite`] for a prediction that overflows `f32`,
    /// and errors from reading the rows.
    pub fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        let mut out = vec![0.0f32; rows.len() * self.width];
        out.par_chunks_mut(ROWS * self.width).enumerate().try_for_each(|(task, out)| {
            let start = task * ROWS;
            self.block(rows, start..start + out.len() / self.width, out)
        })?;
        Error::check_finite("predictions", self.width, &out)?;
        Ok(out)
    }

    /// `z(x)` of inputs by their values, q × n, of a precomputed kernel with the training inputs: q × p
    /// row-major.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of columns, and for a model whose kernel was not precomputed;
    /// [`Error::NotFinite`] for a prediction that overflows `f32`.
    pub fn predict_gram(&self, values: MatRef<f64>) -> Result<Vec<f32>, Error> {
        let training = match &self.map {
            Map::Rows { width } => *width,
            Map::Kernel { .. } => 0,
        };
        Error::check_length("columns of the kernel's values", values.ncols(), training)?;
        let mut out = vec![0.0f32; values.nrows() * self.width];
        out.par_chunks_mut(ROWS * self.width).enumerate().for_each(|(task, out)| {
            let values = values.subrows(task * ROWS, out.len() / self.width).transpose();
            match &self.weights {
                Weights::Double(weights) => {
                    let mut sum = vec![0.0f64; out.len()];
                    multiply(weights, self.width, 0..training, values, &mut sum);
                    out.iter_mut().zip(sum).for_each(|(out, value)| *out = value as f32);
                }
                Weights::Single(weights) => {
                    let single =
                        Mat::from_fn(training, values.ncols(), |i, j| values[(i, j)] as f32);
                    multiply(weights, self.width, 0..training, single.as_ref(), out);
                }
            }
        });
        Error::check_finite("predictions", self.width, &out)?;
        Ok(out)
    }

    fn block(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let block = read(rows, range)?;
        match &self.scaling {
            Some(scaling) => self.scaled(&scaling.apply(&block)?, out),
            None => self.scaled(&block, out),
        }
    }

    fn scaled(&self, block: &Block, out: &mut [f32]) -> Result<(), Error> {
        match &self.weights {
            Weights::Double(weights) => {
                let mut sum = vec![0.0f64; out.len()];
                self.expand(block, |range, values| {
                    multiply(weights, self.width, range, values.as_ref(), &mut sum);
                })?;
                out.iter_mut().zip(sum).for_each(|(out, value)| *out = value as f32);
            }
            Weights::Single(weights) => {
                out.fill(0.0);
                if let (Map::Kernel { kernel, .. }, Some(index)) = (&self.map, self.index()) {
                    kernel.check(block)?;
                    let values = index.values(kernel.as_ref(), block, index.len())?;
                    multiply(weights, self.width, 0..index.len(), values.as_ref(), out);
                    return Ok(());
                }
                self.expand(block, |range, values| {
                    let single =
                        Mat::from_fn(values.nrows(), values.ncols(), |i, j| values[(i, j)] as f32);
                    multiply(weights, self.width, range, single.as_ref(), out);
                })?;
            }
        }
        Ok(())
    }

    /// The anchors by their columns, where that is how a model of single precision was fitted.
    fn index(&self) -> Option<&LinearIndex> {
        let made = self.index.get_or_init(|| match &self.map {
            Map::Kernel { kernel, anchors } => {
                LinearIndex::new(kernel.as_ref(), anchors).map(Arc::new)
            }
            Map::Rows { .. } => None,
        });
        made.as_deref()
    }

    /// Calls `visit` with ranges of anchors and the kernel's values, anchors × rows.
    fn expand(
        &self,
        block: &Block,
        mut visit: impl FnMut(Range<usize>, Mat<f64>),
    ) -> Result<(), Error> {
        match &self.map {
            Map::Kernel { kernel, anchors } => {
                kernel.check(block)?;
                for start in (0..anchors.len()).step_by(ANCHORS) {
                    let range = start..anchors.len().min(start + ANCHORS);
                    visit(range.clone(), kernel.block(&anchors.block(range)?, block)?);
                }
            }
            Map::Rows { width } => {
                let Block::Dense(rows) = block else {
                    let (found, expected) = (block.kind(), RowKind::Dense);
                    return Err(dsokr_basis::Error::kind(found, expected).into());
                };
                if rows.width() != *width {
                    let (found, expected) = (rows.width(), *width);
                    return Err(dsokr_basis::Error::width(found, expected).into());
                }
                let values = rows.values();
                let value = |i: usize, j: usize| f64::from(values[j * width + i]);
                visit(0..*width, Mat::from_fn(*width, rows.len(), value));
            }
        }
        Ok(())
    }

    /// Writes the model to a file, atomically: kind `ridge`, version 1. With the anchors and the
    /// scaling in it, it needs no other file to predict.
    ///
    /// Metadata: `kernel` (as in [`Basis::save`](dsokr_basis::Basis::save); missing for a precomputed
    /// kernel), `row_kind`, `row_width`, `rank`, `summary` (JSON). Tensors: `weights` F32 or F64
    /// `[a, p]`, the anchors' rows, `scaling.scale` and `scaling.centre`. `belongs` is further
    /// metadata, what the model belongs to.
    ///
    /// # Errors
    /// `Io` of the crate `dsokr-basis`.
    pub fn save(&self, path: &Path, belongs: &BTreeMap<String, String>) -> Result<(), Error> {
        let mut metadata = belongs.clone();
        let mut put = |key: &str, value: String| metadata.insert(key.to_owned(), value);
        put("rank", self.width.to_string());
        put("summary", serde_json::to_string(&self.summary).unwrap_or_default());
        let shape = [self.anchors(), self.width];
        let mut tensors = vec![match &self.weights {
            Weights::Single(weights) => Tensor::f32("weights", &shape, weights),
            Weights::Double(weights) => Tensor::f64("weights", &shape, weights),
        }];
        match &self.map {
            Map::Kernel { kernel, anchors } => {
                let (key, value) = file::kernel_entry(kernel.as_ref());
                put(key, value);
                put("row_kind", anchors.kind().to_string());
                put("row_width", anchors.width().to_string());
                tensors.extend(anchors.tensors("anchors"));
            }
            Map::Rows { width } => {
                put("row_kind", "precomputed".into());
                put("row_width", width.to_string());
            }
        }
        tensors.extend(self.scaling.iter().flat_map(Scaling::tensors));
        Ok(store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Reads a model of a built-in or precomputed kernel that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// Those of a file that is missing, damaged, or of another kind or version;
    /// [`Error::File`] for one whose parts do not belong together; `OwnKernel` for a kernel that
    /// is not built in.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::from_stored(&Self::open(path)?)
    }

    /// Opens a model's file, to see what it belongs to before it is read.
    ///
    /// # Errors
    /// Those of a file that is missing, damaged, or of another kind or version.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        Ok(Stored::open(path, KIND, VERSION)?)
    }

    /// Reads a model from its opened file.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_stored(stored: &Stored) -> Result<Self, Error> {
        if let Ok(kernel) = stored.metadata("own_kernel") {
            return Err(dsokr_basis::Error::custom_kernel(stored.path(), kernel).into());
        }
        if stored.metadata("row_kind")? == "precomputed" {
            return Self::read(stored, None);
        }
        let kernel: Kernel = stored.json("kernel")?;
        Self::read(stored, Some(Arc::new(kernel)))
    }

    /// Reads a model that was fitted with `kernel`, which need not be a built-in one.
    ///
    /// # Errors
    /// Those of [`load`](Self::load); `dsokr_basis::Error::File` for a file of another kernel.
    pub fn load_with(path: &Path, kernel: impl OutputKernel + 'static) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        let (key, given) = file::kernel_entry(&kernel);
        match stored.metadata(key) {
            Ok(found) if found == given => Self::read(&stored, Some(Arc::new(kernel))),
            _ => {
                let named = stored.metadata("own_kernel").or_else(|_| stored.metadata("kernel"));
                let found = named.unwrap_or("precomputed");
                Err(dsokr_basis::Error::other_kernel(path, found, &given).into())
            }
        }
    }

    fn read(stored: &Stored, kernel: Option<Arc<dyn OutputKernel>>) -> Result<Self, Error> {
        let rank: usize = stored.parsed("rank", "a number of coordinates")?;
        let width: usize = stored.parsed("row_width", "a number of columns")?;
        let summary: Summary = stored.json("summary")?;
        let map = match kernel {
            None => Map::Rows { width },
            Some(kernel) => {
                let kind = file::row_kind(stored)?;
                kernel.validate(kind)?;
                let anchors = Features::from_stored(stored, "anchors", kind, width)?;
                Map::Kernel { kernel, anchors }
            }
        };
        let single = stored.describe("weights")?.0.to_string() == "F32";
        let (shape, weights) = match single {
            true => {
                let (shape, values) = stored.f32("weights", 2)?;
                (shape, Weights::Single(values.into_owned()))
            }
            false => {
                let (shape, values) = stored.f64("weights", 2)?;
                (shape, Weights::Double(values.into_owned()))
            }
        };
        let scaling = Scaling::from_stored(stored, width)?;
        let model = Self { scaling, width: rank, ..Self::new(map, weights, summary) };
        if rank == 0 || shape != [model.anchors(), rank] {
            let expected = [model.anchors(), rank];
            let message = format!("weights have shape {shape:?}, expected {expected:?}");
            return Err(Error::file(stored.path(), message));
        }
        Ok(model)
    }
}

/// `out += A_range values`, p × rows.
fn multiply<T: Scalar>(
    weights: &[T],
    rank: usize,
    anchors: Range<usize>,
    values: MatRef<T>,
    out: &mut [T],
) {
    let part = &weights[anchors.start * rank..anchors.end * rank];
    matmul(
        MatMut::from_column_major_slice_mut(out, rank, values.ncols()),
        Accum::Add,
        MatRef::from_column_major_slice(part, rank, anchors.len()),
        values,
        T::of(1.0),
        Par::Seq,
    );
}
