//! Kernel matrices of the inputs, computed elsewhere.

use faer::Mat;

use super::DataRoot;
use super::row_index::RowIndex;
use crate::config::{KernelInputsConfig, OnBadRow};
use crate::table::Table;
use crate::{Error, read_matrix};

/// The matrices, and which of their columns belong to training pairs.
pub(super) struct Kernels {
    index: RowIndex,
    matrices: Vec<Mat<f64>>,
    training: Vec<usize>,
}

impl Kernels {
    /// Reads the matrices; `training` finds the rows of the training pairs' inputs.
    pub(super) fn load(
        config: &KernelInputsConfig,
        root: &DataRoot,
        on_bad_row: OnBadRow,
        training: impl FnOnce(&RowIndex) -> Result<Vec<usize>, Error>,
    ) -> Result<Self, Error> {
        let (index, table) = RowIndex::read(root.file(&config.table), &config.id, on_bad_row)?;
        let n = table.len();
        let read = |name: &String| {
            let features = root.file(name);
            let matrix = read_matrix(&features)?;
            let (rows, columns) = (matrix.nrows(), matrix.ncols());
            match [rows, columns].into_iter().find(|&found| found != n) {
                None => Ok(matrix),
                Some(found) => Err(Error::row_count(&features, found, &index.path, n)),
            }
        };
        let matrices = config.files.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let training = training(&index)?;
        Ok(Self { index, matrices, training })
    }

    /// The values of the inputs that a table's column names with the training inputs.
    pub(super) fn of(&self, table: &Table, column: &str) -> Result<KernelRows, Error> {
        let rows = self.index.of(table, column)?;
        let values = |matrix: &Mat<f64>| {
            let value = |i: usize, j: usize| matrix[(rows[i], self.training[j])];
            Mat::from_fn(rows.len(), self.training.len(), value)
        };
        Ok(KernelRows { matrices: self.matrices.iter().map(values).collect() })
    }
}

/// Values of some inputs with the n training inputs, of one or several kernels: a row for each input.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRows {
    matrices: Vec<Mat<f64>>,
}

impl KernelRows {
    /// The values of each kernel, rows × n.
    pub fn matrices(&self) -> &[Mat<f64>] {
        &self.matrices
    }

    /// All values, of one kernel after the other, row by row.
    pub fn values(&self) -> Vec<f64> {
        let rows = self.matrices.iter().flat_map(|matrix| matrix.row_iter());
        rows.flat_map(|row| row.iter().copied()).collect()
    }

    /// Number of inputs.
    pub fn len(&self) -> usize {
        self.matrices.first().map_or(0, Mat::nrows)
    }

    /// Whether there are no inputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of training inputs, n.
    pub fn training(&self) -> usize {
        self.matrices.first().map_or(0, Mat::ncols)
    }

    /// Some of the inputs, in a given order.
    ///
    /// # Panics
    /// If a row is not below [`KernelRows::len`].
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |matrix: &Mat<f64>| {
            Mat::from_fn(rows.len(), matrix.ncols(), |i, j| matrix[(rows[i], j)])
        };
        Self { matrices: self.matrices.iter().map(pick).collect() }
    }
}
