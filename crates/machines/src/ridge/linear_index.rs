use dsokr_basis::features::ColumnIndex;
use dsokr_basis::kernel::zero_rows;
use dsokr_basis::{Block, OutputKernel, RowKind, RowSource};
use faer::Mat;

use crate::Error;

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
    /// None for rows that are not sparse, and for a kernel that is not linear in them.
    pub(crate) fn new(kernel: &dyn OutputKernel, rows: &Block) -> Option<Self> {
        let Block::Sparse(sparse) = rows else {
            return None;
        };
        let scales = scales(kernel, rows)?;
        let zeros = zero_rows(kernel, rows);
        Some(Self { columns: ColumnIndex::new(sparse), scales, zeros })
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// `k(x_i, q_j)` for the first `limit` rows and every query, `limit` × queries, in `f32`.
    pub(crate) fn values(
        &self,
        kernel: &dyn OutputKernel,
        queries: &Block,
        limit: usize,
    ) -> Result<Mat<f32>, Error> {
        let (Block::Sparse(sparse), Some(scales)) = (queries, scales(kernel, queries)) else {
            let (found, expected) = (queries.kind(), RowKind::Sparse);
            return Err(dsokr_basis::Error::kind(found, expected).into());
        };
        let mut values = self.columns.products(sparse, limit)?;
        for (column, scale) in values.col_iter_mut().zip(scales) {
            column.iter_mut().zip(&self.scales).for_each(|(value, own)| *value *= own * scale);
        }
        if !self.zeros.is_empty() {
            let own = &self.zeros[..self.zeros.partition_point(|&row| row < limit)];
            for query in zero_rows(kernel, queries) {
                own.iter().for_each(|&row| values[(row, query)] = 1.0);
            }
        }
        Ok(values)
    }
}

/// The scales of rows; none where one is so large or small that `f32` products would lose it.
pub(super) fn scales(kernel: &dyn OutputKernel, rows: &Block) -> Option<Vec<f32>> {
    let scale = |squared| match kernel.feature_scale(squared) {
        Some(scale) if scale == 0.0 || (1e-12..=1e12).contains(&scale) => Some(scale as f32),
        _ => None,
    };
    rows.squared_norms().into_iter().map(scale).collect()
}
