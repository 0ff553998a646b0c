use std::path::{Path, PathBuf};

use dsokr_spectra::PARTS;

use crate::error::Error;
use crate::table::{Table, TableOptions, TextFormat};

/// A file of mass spectra, and the columns that are read of it.
#[derive(Clone, Debug)]
pub struct SpectraFile {
    path: PathBuf,
    columns: Vec<String>,
}

impl SpectraFile {
    /// Opens a file in a format of spectra, or a table with the columns of spectra and `smiles`; none of another file.
    ///
    /// # Errors
    /// A table that cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let columns = match TextFormat::from_path(path) {
            TextFormat::Spectra(_) => Vec::new(),
            TextFormat::Tabs | TextFormat::Commas | TextFormat::JsonLines => {
                let names = Table::header(path, TableOptions::default())?.names;
                let is_one = |name: &str| names.iter().filter(|other| *other == name).count() == 1;
                if !PARTS.into_iter().chain(["smiles"]).all(is_one) {
                    return Ok(None);
                }
                let columns = names.iter().filter(|name| !name.is_empty() && is_one(name));
                columns.cloned().collect()
            }
            TextFormat::Lines | TextFormat::Structures => return Ok(None),
        };
        Ok(Some(Self { path: path.to_owned(), columns }))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the columns of a table that have a name of their own; none of a file in a format of spectra.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}
