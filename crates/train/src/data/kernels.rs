//! Kernel matrices of the inputs, computed elsewhere.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use dsokr_ridge::data::read_npy;
use faer::Mat;

use super::DataRoot;
use super::table::{Table, unique_ids};
use crate::Error;
use crate::config::KernelsConfig;

/// The matrices, and which of their columns belong to training pairs.
pub(super) struct Kernels {
    /// The table that they follow.
    path: PathBuf,
    places: HashMap<String, usize>,
    matrices: Vec<Mat<f64>>,
    training: Vec<usize>,
}

impl Kernels {
    /// Reads the matrices; `training` are the ids of the training pairs' inputs, in the file `path`.
    pub(super) fn load(
        config: &KernelsConfig,
        root: &DataRoot,
        training: &[String],
        path: &Path,
        lines: &[usize],
    ) -> Result<Self, Error> {
        let file = root.file(&config.table);
        let table = Table::read(&file, &[&config.id])?;
        let places = unique_ids(&table, &config.id)?;
        let places: HashMap<String, usize> =
            places.into_iter().map(|(id, row)| (id.to_owned(), row)).collect();
        let n = table.len();
        let read = |name: &String| {
            let features = root.file(name);
            let matrix = read_npy(&features)?;
            let (rows, columns) = (matrix.nrows(), matrix.ncols());
            match [rows, columns].into_iter().find(|&found| found != n) {
                None => Ok(matrix),
                Some(found) => {
                    let (table, expected) = (file.clone(), n);
                    Err(Error::RowCount { features, found, table, expected })
                }
            }
        };
        let matrices = config.files.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let mut kernels = Self { path: file, places, matrices, training: Vec::new() };
        kernels.training = kernels.rows(training, path, lines)?;
        Ok(kernels)
    }

    /// For each input its values with the training inputs, of one kernel after the other.
    pub(super) fn of(
        &self,
        ids: &[String],
        path: &Path,
        lines: &[usize],
    ) -> Result<Features, Error> {
        let width = self.matrices.len() * self.training.len();
        let mut values = Vec::with_capacity(ids.len() * width);
        for row in self.rows(ids, path, lines)? {
            for matrix in &self.matrices {
                values.extend(self.training.iter().map(|&column| matrix[(row, column)] as f32));
            }
        }
        Ok(Features::Dense(DenseRows::new(width, values)?))
    }

    /// Rows of the matrices by the inputs' ids.
    fn rows(&self, ids: &[String], path: &Path, lines: &[usize]) -> Result<Vec<usize>, Error> {
        let place = |(id, &line): (&String, &usize)| {
            self.places.get(id).copied().ok_or_else(|| Error::UnknownOutput {
                path: path.into(),
                line,
                id: id.clone(),
                outputs: self.path.display().to_string(),
            })
        };
        ids.iter().zip(lines).map(place).collect()
    }
}
