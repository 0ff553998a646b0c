use std::path::Path;

use dsokr_basis::store::read_text;
use dsokr_basis::{Features, RowSource};

use crate::{Error, Prepare};
use dsokr_data::Split;

const FILE: &str = "vectors.json";

/// Vectors without preparation, all of one width.
pub struct VectorInputs {
    width: usize,
}

impl VectorInputs {
    /// Number of coordinates of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The vectors of a split, a row for each pair.
    ///
    /// # Errors
    /// A split without vectors, or with vectors of a different width.
    pub fn rows<'s>(&self, split: &'s Split) -> Result<&'s Features, Error> {
        let rows = split.inputs.vectors()?;
        if rows.width() != self.width {
            let (found, expected) = (rows.width(), self.width);
            return Err(dsokr_basis::Error::width(found, expected).into());
        }
        Ok(rows)
    }
}

impl Prepare for VectorInputs {
    type Settings = ();
    type Input = Vec<f32>;

    fn fit((): &(), train: &Split) -> Result<Self, Error> {
        Ok(Self { width: train.inputs.vectors()?.width() })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<Vec<f32>>, Error> {
        let rows = self.rows(split)?;
        Ok((0..rows.len()).map(|row| rows.dense_row(row)).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(FILE, self.width.to_string())])
    }

    fn load((): &(), folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = read_text(&path).map_err(|e| Error::reading(&path, &e))?;
        let message = || format!("{text:?} is not a width of vectors");
        let width = text.trim().parse().map_err(|_| Error::Run { path, message: message() })?;
        Ok(Self { width })
    }
}
