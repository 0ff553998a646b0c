//! The files of the preparation of inputs.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::store::{Contents, Stored, Tensor};

use crate::Error;
use crate::run_files::{ALL, write_text};

/// The files of the preparation of inputs: name and text of each.
pub(crate) struct PreparationFiles(Vec<(&'static str, String)>);

impl PreparationFiles {
    /// Checks the names of a preparation's files.
    pub(crate) fn new(files: Vec<(&'static str, String)>) -> Result<Self, Error> {
        for (at, (name, _)) in files.iter().enumerate() {
            let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
            let again = files[..at].iter().any(|(other, _)| other == name);
            if !plain || again || ALL.iter().any(|(own, _)| own == name) {
                let own = ALL.map(|(own, _)| own).join(", ");
                let message =
                    format!("a preparation's files have plain names, each once, none of {own}");
                return Err(Error::run(name, message));
            }
        }
        Ok(Self(files))
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<(), Error> {
        self.0.iter().try_for_each(|(name, text)| write_text(&folder.join(name), text))
    }

    /// The fingerprint of the preparation; an encoder is trained on one.
    pub(crate) fn fingerprint(&self) -> String {
        let files = self.0.iter();
        let tensors: Vec<Tensor> =
            files.map(|(name, text)| Tensor::u8(name, &[text.len()], text.as_bytes())).collect();
        Contents::new("preparation", 1, &BTreeMap::new(), &tensors).checksum()
    }
}

/// Refuses a model whose preparation differs from the run's, whose fingerprint is `own`.
pub(crate) fn check_preparation(model: &Stored, own: &str) -> Result<(), Error> {
    let found = model.metadata("preparation")?;
    if found == own {
        return Ok(());
    }
    let message =
        format!("it belongs to inputs prepared with fingerprint {found}, the run's have {own}");
    Err(Error::run(model.path(), message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preparation_writes_no_file_that_the_book_lists_as_the_runs() {
        let book = concat!(env!("CARGO_MANIFEST_DIR"), "/book/src/files.md");
        let page = std::fs::read_to_string(book).unwrap();
        let table = page.lines().skip_while(|line| !line.starts_with("| file |")).skip(2);
        let rows = table.take_while(|line| line.starts_with('|'));
        let mut refused = 0;
        for row in rows {
            let mut cells = row.split('|').skip(1);
            let (files, meaning) = (cells.next().unwrap(), cells.next().unwrap());
            // names are between backquotes; of a folder the first part counts
            for file in files.split('`').skip(1).step_by(2) {
                let name = file.split('/').next().unwrap();
                let one = vec![(&*name.to_owned().leak(), String::new())];
                let own = !meaning.contains("preparation") && !meaning.contains("tokenizer");
                assert_eq!(PreparationFiles::new(one).is_err(), own, "{name}");
                refused += usize::from(own);
            }
        }
        assert!(refused > 20, "{refused}");
        assert!(PreparationFiles::new(vec![("lexicon.tsv", String::new())]).is_ok());
    }
}
