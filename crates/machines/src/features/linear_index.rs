//! Sparse training inputs by their columns.

use dsokr_basis::features::{ColumnIndex, SparseRows};
use dsokr_basis::kernel::zero_rows;
use dsokr_basis::{Block, OutputKernel, RowKind, RowSource};
use dsokr_core::Error;
use faer::Mat;

/// Sparse training inputs by their columns, for a kernel that is linear in scaled rows.
#[derive(Clone, Debug)]
pub(crate) struct LinearIndex {
    columns: ColumnIndex,
    /// s(⟨x,x⟩) of each row.
    scales: Vec<f32>,
    /// The rows that are zero and have a feature of their own, ascending.
    zeros: Vec<usize>,
}

impl LinearIndex {
    /// Creates the index; none for rows that are not sparse, and for a kernel that is not linear in them.
    pub(crate) fn new(kernel: &dyn OutputKernel, rows: &Block) -> Option<Self> {
        let Block::Sparse(sparse) = rows else {
            return None;
        };
        let scales = scales(kernel, rows)?;
        let zeros = zero_rows(kernel, rows);
        Some(Self { columns: ColumnIndex::new(sparse), scales, zeros })
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Computes `k(x_i, q_j)` for the first `limit` rows and every query, `limit` × queries, in `f32`. Queries whose
    /// scale is so large or small that `f32` products would lose it are scaled before they are multiplied.
    pub(crate) fn values(
        &self,
        kernel: &dyn OutputKernel,
        queries: &Block,
        limit: usize,
    ) -> Result<Mat<f32>, Error> {
        let Block::Sparse(sparse) = queries else {
            let actual = queries.kind();
            let expected = RowKind::Sparse;
            return Err(Error::kind(actual, expected));
        };
        let scale = |squared_norm| kernel.feature_scale(squared_norm).unwrap_or(1.0);
        let scales: Vec<f64> = queries.squared_norms().into_iter().map(scale).collect();
        let rescaled;
        let mut rows = sparse;
        if !scales.iter().all(|&scale| is_safe(scale)) {
            let row = |row: usize| {
                let factor = if is_safe(scales[row]) { 1.0 } else { scales[row] };
                let (columns, values) = sparse.row(row);
                let values = values.iter().map(move |&value| (f64::from(value) * factor) as f32);
                columns.iter().copied().zip(values).collect::<Vec<_>>()
            };
            rescaled = SparseRows::from_rows(sparse.width(), (0..sparse.len()).map(row))?;
            rows = &rescaled;
        }
        let mut values = self.columns.products(rows, limit)?;
        for (column, scale) in values.col_iter_mut().zip(scales) {
            let scale = if is_safe(scale) { scale as f32 } else { 1.0 };
            column
                .iter_mut()
                .zip(&self.scales)
                .for_each(|(value, row_scale)| *value *= row_scale * scale);
        }
        if !self.zeros.is_empty() {
            let zero_rows_in_range = &self.zeros[..self.zeros.partition_point(|&row| row < limit)];
            for query in zero_rows(kernel, queries) {
                zero_rows_in_range.iter().for_each(|&row| values[(row, query)] = 1.0);
            }
        }
        Ok(values)
    }
}

/// Returns whether products in `f32` keep their digits under this scale.
fn is_safe(scale: f64) -> bool {
    scale == 0.0 || (1e-12..=1e12).contains(&scale)
}

/// Returns the scales of rows; none where one is so large or small that `f32` products would lose it.
pub(crate) fn scales(kernel: &dyn OutputKernel, rows: &Block) -> Option<Vec<f32>> {
    let scale = |squared| {
        let scale = kernel.feature_scale(squared)?;
        is_safe(scale).then_some(scale as f32)
    };
    rows.squared_norms().into_iter().map(scale).collect()
}
