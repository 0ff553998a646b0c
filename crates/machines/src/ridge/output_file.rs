//! The file of an output space.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::kernel::named;
use dsokr_basis::{Basis, RowSource};
use dsokr_core::Error;
use dsokr_core::store::{self, Stored, Tensor};
use faer::MatRef;

use super::model_file::{put_rows, read_rows};
use super::output::{OutputSpace, SpaceKind};

/// The kind of the file.
const KIND: &str = "outputs";

/// The version of its layout.
const VERSION: u32 = 1;

impl OutputSpace {
    /// Writes the space to a file, atomically: kind `outputs`, version 1. For the identity on the training outputs the
    /// file has the kernel's name, the rows and the mean point. A basis has a [file of its own](Basis::save), and the
    /// file here has only the number of coordinates, the mean, and the directions of an embedding.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let (metadata, tensors) = self.parts();
        store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)
    }

    /// Returns the name of this space in other files: eight hexadecimal digits of a checksum.
    pub fn fingerprint(&self) -> String {
        let (metadata, tensors) = self.parts();
        store::Contents::new(KIND, VERSION, &metadata, &tensors).checksum()
    }

    fn parts(&self) -> (BTreeMap<String, String>, Vec<Tensor<'_>>) {
        let mut tensors = vec![Tensor::f64("centre", &[self.dimension()], &self.centre)];
        let mut metadata = BTreeMap::new();
        if let Some(directions) = &self.directions {
            let values: Vec<f64> =
                directions.col_iter().flat_map(|direction| direction.iter().copied()).collect();
            let shape = [self.dimension(), directions.nrows()];
            tensors.push(Tensor::owned("directions", &shape, &values));
        }
        match &self.map {
            SpaceKind::Basis(basis) => {
                metadata.insert("basis".into(), basis.fingerprint());
            }
            SpaceKind::Training { kernel, outputs } => {
                put_rows(kernel.as_ref(), outputs, &mut metadata);
                tensors.extend(outputs.tensors("outputs"));
            }
        }
        (metadata, tensors)
    }

    /// Reads what [`save`](Self::save) wrote; a space of a basis needs that basis.
    ///
    /// # Errors
    /// The errors of a file that is missing, damaged or of a different kind; [`Error::File`] for a file
    /// whose parts do not belong together, or to the basis given.
    pub fn load(path: &Path, basis: Option<Basis>) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        let bad = |message: String| Err(Error::file(path, message));
        let centre = stored.read::<f64>("centre", 1)?.1.to_vec();
        let dimension = centre.len();
        let mut directions = None;
        let map = match (stored.metadata("basis"), basis) {
            (Ok(expected), Some(basis)) => {
                let given = basis.fingerprint();
                let most = basis.dimension();
                if given != expected || dimension == 0 || dimension > most {
                    return bad(format!(
                        "made with the basis {expected} in {dimension} coordinates; the basis given is \
                         {given} with {most}"
                    ));
                }
                if stored.has("directions") {
                    let values = stored.shaped::<f64>("directions", &[dimension, most])?;
                    Error::check_finite("directions", most, &values)?;
                    let columns = MatRef::from_column_major_slice(&values, most, dimension);
                    directions = Some(columns.to_owned());
                }
                SpaceKind::Basis(Box::new(basis))
            }
            (Ok(expected), None) => {
                return bad(format!("it needs the basis {expected}, none was given"));
            }
            (Err(_), _) => {
                let kernel = named::read(&stored, "")?;
                let outputs = read_rows(&stored, "outputs", &kernel)?;
                if outputs.len() != dimension {
                    return bad(format!("{} outputs, {dimension} coordinates", outputs.len()));
                }
                SpaceKind::Training { kernel: Arc::new(kernel), outputs }
            }
        };
        if centre.iter().any(|value| !value.is_finite()) {
            return bad("the mean point is not finite".into());
        }
        Ok(Self { map, directions, centre })
    }
}
