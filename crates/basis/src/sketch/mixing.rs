//! Products with the columns of a sketch.

use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::store::{Stored, Tensor};
use faer::linalg::matmul::matmul;
use faer::{Accum, ColMut, ColRef, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::features::product::widen;
use crate::features::{Block, DenseBlock, DenseRows, Features, RowKind, RowSource, SparseRows};

/// Anchors whose columns one task of a product computes.
const ANCHORS: usize = 512;

/// W of `R = W S`, m × a: how a sketch mixes its anchors.
///
/// It is held as its columns, a rows of m numbers, which are sparse where the sketch
/// [has few entries](super::SketchKind::has_few_entries). A product with it then costs as many multiplications as it
/// has entries, else m · a.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixing(Features);

impl Mixing {
    /// Joins parts of the columns, which are all sparse or all dense.
    pub(super) fn joined(size: usize, few: bool, parts: &[Features]) -> Self {
        let mut sparse = SparseRows::drawn(size, vec![0], Vec::new(), Vec::new());
        let mut dense = Vec::new();
        for part in parts {
            match part {
                Block::Sparse(part) => sparse.append(part),
                Block::Dense(part) => dense.extend_from_slice(part.values()),
                Block::Bits(_) => unreachable!("a sketch has numbers, not bits"),
            }
        }
        Self(if few { sparse.into() } else { DenseRows::drawn(size, dense).into() })
    }

    /// Returns m, the size of the sketch.
    pub fn size(&self) -> usize {
        self.0.width()
    }

    /// Returns a, the number of anchors.
    pub fn anchors(&self) -> usize {
        self.0.len()
    }

    /// Returns the columns, a rows of m numbers.
    pub fn columns(&self) -> &Features {
        &self.0
    }

    /// Returns whether it is held as its entries, and `G W` for a matrix G of p rows takes less than its p · a numbers
    /// where the two are held apart: the entries and the p · m numbers of G.
    pub fn is_worth_keeping(&self, p: usize) -> bool {
        match &self.0 {
            Block::Sparse(columns) => columns.entries() + p * self.size() < p * self.anchors(),
            Block::Dense(_) | Block::Bits(_) => false,
        }
    }

    /// Computes `out += W_A V` on one thread, for values V of some of the anchors, A × c; `out` is m × c, and the columns
    /// of both are contiguous.
    pub fn add_mixed(&self, anchors: Range<usize>, values: MatRef<f64>, out: MatMut<f64>) {
        match &self.0 {
            Block::Sparse(columns) => {
                for (values, out) in values.col_iter().zip(out.col_iter_mut()) {
                    let values = values.iter();
                    let out = contiguous(out);
                    for (anchor, &value) in anchors.clone().zip(values) {
                        for (row, weight) in columns.cells(anchor) {
                            out[row as usize] += f64::from(weight) * value;
                        }
                    }
                }
            }
            Block::Dense(columns) => {
                let wide = wide(columns, anchors);
                matmul(out, Accum::Add, of_columns(&wide, self.size()), values, 1.0, Par::Seq);
            }
            Block::Bits(_) => unreachable!("a sketch has numbers, not bits"),
        }
    }

    /// Computes `out += factor · V W_Aᵀ` on one thread, for V of r × A with the values of some of the anchors; `out` is
    /// r × m.
    pub fn add_mixed_right(
        &self,
        anchors: Range<usize>,
        values: MatRef<f64>,
        factor: f64,
        mut out: MatMut<f64>,
    ) {
        match &self.0 {
            Block::Sparse(columns) => {
                for (anchor, values) in anchors.zip(values.col_iter()) {
                    for (row, weight) in columns.cells(anchor) {
                        let out = out.as_mut().col_mut(row as usize);
                        add_scaled(out, factor * f64::from(weight), values);
                    }
                }
            }
            Block::Dense(columns) => {
                let wide = wide(columns, anchors);
                let columns = of_columns(&wide, self.size()).transpose();
                matmul(out, Accum::Add, values, columns, factor, Par::Seq);
            }
            Block::Bits(_) => unreachable!("a sketch has numbers, not bits"),
        }
    }

    /// Computes `G W`, p × a, for a matrix G of p × m, in parallel over the anchors.
    pub fn turned(&self, matrix: MatRef<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(matrix.nrows(), self.anchors());
        out.par_col_chunks_mut(ANCHORS).enumerate().for_each(|(task, out)| {
            let start = task * ANCHORS;
            let anchors = start..start + out.ncols();
            match &self.0 {
                Block::Sparse(columns) => {
                    for (anchor, mut out) in anchors.zip(out.col_iter_mut()) {
                        for (row, weight) in columns.cells(anchor) {
                            let column = matrix.col(row as usize);
                            add_scaled(out.as_mut(), f64::from(weight), column);
                        }
                    }
                }
                Block::Dense(columns) => {
                    let wide = wide(columns, anchors);
                    let columns = of_columns(&wide, self.size());
                    matmul(out, Accum::Replace, matrix, columns, 1.0, Par::Seq);
                }
                Block::Bits(_) => unreachable!("a sketch has numbers, not bits"),
            }
        });
        out
    }

    /// Returns the tensors that hold it in a file, named `mixing.…` ([`Features::packed_tensors`]).
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        self.0.packed_tensors(NAME)
    }

    /// Creates the entries that [`tensors`](Self::tensors) wrote, of a sketch of m = `size` rows with so many anchors,
    /// under names with a prefix; none where the file has none.
    ///
    /// # Errors
    /// [`Error::File`] for columns of other sizes, and for what no sketch is.
    pub fn from_stored(
        stored: &Stored,
        prefix: &str,
        size: usize,
        anchors: usize,
    ) -> Result<Option<Self>, Error> {
        let name = format!("{prefix}{NAME}");
        let offsets = format!("{name}.offsets");
        if !stored.has(&offsets) {
            return Ok(None);
        }
        let columns = Features::from_stored(stored, &name, RowKind::Sparse, size)?;
        if columns.len() != anchors {
            let expected = format!("[{}], a column for each anchor", anchors + 1);
            return Err(stored.bad_shape(&offsets, &[columns.len() + 1], expected));
        }
        Ok(Some(Self(columns)))
    }
}

/// The name of the tensors in a file.
const NAME: &str = "mixing";

/// Returns the columns of some anchors in `f64`.
fn wide(columns: &DenseBlock, anchors: Range<usize>) -> Vec<f64> {
    let size = columns.width();
    widen(&columns.values()[anchors.start * size..anchors.end * size])
}

/// Returns columns of m numbers as a matrix.
fn of_columns(numbers: &[f64], size: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(numbers, size, numbers.len() / size)
}

/// Returns the numbers of a column.
fn contiguous(column: ColMut<'_, f64>) -> &mut [f64] {
    match column.try_as_col_major_mut() {
        Some(column) => column.as_slice_mut(),
        None => unreachable!("the columns of a product are contiguous"),
    }
}

/// Computes `out += factor · values`.
fn add_scaled(out: ColMut<f64>, factor: f64, values: ColRef<f64>) {
    out.iter_mut().zip(values.iter()).for_each(|(out, value)| *out += factor * value);
}
