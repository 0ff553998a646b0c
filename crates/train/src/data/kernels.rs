//! Kernel matrices of the inputs, computed elsewhere.

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use dsokr_machines::data::read_npy;
use faer::Mat;

use super::DataRoot;
use super::input_files::{Asked, Places};
use crate::Error;
use crate::config::KernelsConfig;

/// The matrices, and which of their columns belong to training pairs.
pub(super) struct Kernels {
    places: Places,
    matrices: Vec<Mat<f64>>,
    training: Vec<usize>,
}

impl Kernels {
    /// Reads the matrices; `training` are the training pairs' inputs.
    pub(super) fn load(
        config: &KernelsConfig,
        root: &DataRoot,
        training: Asked,
    ) -> Result<Self, Error> {
        let (places, table) = Places::read(root.file(&config.table), &config.id)?;
        let n = table.len();
        let read = |name: &String| {
            let features = root.file(name);
            let matrix = read_npy(&features)?;
            let (rows, columns) = (matrix.nrows(), matrix.ncols());
            match [rows, columns].into_iter().find(|&found| found != n) {
                None => Ok(matrix),
                Some(found) => {
                    let (table, expected) = (places.path.clone(), n);
                    Err(Error::RowCount { features, found, table, expected })
                }
            }
        };
        let matrices = config.files.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let training = places.of(training)?;
        Ok(Self { places, matrices, training })
    }

    /// For each input its values with the training inputs, of one kernel after the other.
    pub(super) fn of(&self, inputs: Asked) -> Result<Features, Error> {
        let width = self.matrices.len() * self.training.len();
        let mut values = Vec::with_capacity(inputs.ids.len() * width);
        for row in self.places.of(inputs)? {
            for matrix in &self.matrices {
                values.extend(self.training.iter().map(|&column| matrix[(row, column)] as f32));
            }
        }
        Ok(Features::Dense(DenseRows::new(width, values)?))
    }
}
