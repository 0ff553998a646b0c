//! Kernel matrices of the inputs, computed elsewhere.

use faer::Mat;

/// Values of some inputs with the n training inputs, of one or several kernels: a row for each input.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRows {
    matrices: Vec<Mat<f64>>,
}

impl KernelRows {
    pub(crate) fn new(matrices: Vec<Mat<f64>>) -> Self {
        Self { matrices }
    }

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
