//! Kernel matrices of the inputs, computed elsewhere.

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use faer::Mat;

use super::DataRoot;
use super::row_index::{InputIds, RowIndex};
use crate::config::KernelsConfig;
use crate::{Error, read_matrix};

/// The matrices, and which of their columns belong to training pairs.
pub(super) struct Kernels {
    index: RowIndex,
    matrices: Vec<Mat<f64>>,
    training: Vec<usize>,
}

impl Kernels {
    /// Reads the matrices; `training` are the training pairs' inputs.
    pub(super) fn load(
        config: &KernelsConfig,
        root: &DataRoot,
        training: InputIds,
    ) -> Result<Self, Error> {
        let (index, table) = RowIndex::read(root.file(&config.table), &config.id)?;
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
        let training = index.of(training)?;
        Ok(Self { index, matrices, training })
    }

    /// For each input its values with the training inputs, of one kernel after the other.
    pub(super) fn of(&self, inputs: InputIds) -> Result<Features, Error> {
        let width = self.matrices.len() * self.training.len();
        let mut values = Vec::with_capacity(inputs.ids.len() * width);
        for row in self.index.of(inputs)? {
            for matrix in &self.matrices {
                values.extend(self.training.iter().map(|&column| matrix[(row, column)] as f32));
            }
        }
        Ok(Features::Dense(DenseRows::new(width, values)?))
    }
}
