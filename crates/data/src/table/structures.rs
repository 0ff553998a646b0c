//! Records of SD files: a mol block, then named data.

use std::collections::HashMap;
use std::path::Path;

use dsokr_core::message::shorten;
use dsokr_molecule::{Molecule, smiles_of_mol_block, title_of_mol_block};

use crate::error::Error;

/// The column of the molecules, as SMILES.
const SMILES: &str = "smiles";

/// The column of the titles, the first lines of mol blocks.
const TITLE: &str = "title";

/// A record: a molecule and its data.
pub(super) struct StructureRecord<'t> {
    block: &'t str,
    /// Names and values, in the order of the file.
    data: Vec<(&'t str, String)>,
}

/// Returns whether a record ends with a line.
pub(super) fn ends(line: &[u8]) -> bool {
    line.starts_with(b"$$$$")
}

/// Returns where another record begins in a text that [ends](ends()) with one, as where the first lacks its end: the bytes and the
/// lines before its title, which stands three lines before its line of counts. A block within the data of a record is no record.
pub(super) fn second_start(text: &str) -> Option<[usize; 2]> {
    let mut first_counts = None;
    // the lines before, each with the bytes before it
    let mut before = [(0, ""); 4];
    let mut bytes = 0;
    for (lines, line) in text.split_inclusive('\n').enumerate() {
        if is_counts_line(line) {
            let first_counts = *first_counts.get_or_insert(lines);
            let [(_, behind), (title, _), _, _] = before;
            if lines > first_counts + 3 && !behind.starts_with('>') {
                return Some([title, lines - 3]);
            }
        }
        before.rotate_left(1);
        before[3] = (bytes, line);
        bytes += line.len();
    }
    None
}

/// Returns whether a line has the counts of a mol block: numbers, then its version.
fn is_counts_line(line: &str) -> bool {
    let line = line.trim_end();
    let numbers = line.strip_suffix("V2000").or_else(|| line.strip_suffix("V3000"));
    numbers.is_some_and(|numbers| numbers.bytes().all(|byte| byte == b' ' || byte.is_ascii_digit()))
}

impl<'t> StructureRecord<'t> {
    /// Creates the parts of the text of a record.
    pub fn new(text: &'t str) -> Self {
        let end = text.find("M  END").map_or(text.len(), |at| at + "M  END".len());
        let (block, rest) = text.split_at(end);
        let mut data: Vec<(&str, String)> = Vec::new();
        let mut inside = false;
        for line in rest.lines().map(|line| line.trim_end_matches('\r')) {
            if ends(line.as_bytes()) {
                break;
            }
            // `>  <NAME>  (number)`
            let name = line.strip_prefix('>').and_then(|header| {
                let (_, name) = header.split_once('<')?;
                name.rsplit_once('>').map(|(name, _)| name)
            });
            // a value may begin with the sign too, as `>10000`
            if let Some(name) = name {
                inside = true;
                data.push((name, String::new()));
            } else if line.is_empty() {
                inside = false;
            } else if let Some((_, value)) = data.last_mut().filter(|_| inside) {
                if !value.is_empty() {
                    value.push(' ');
                }
                value.push_str(line.trim());
            }
        }
        Self { block, data }
    }

    /// Returns the names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let properties = self.data.iter().map(|(name, _)| *name);
        [SMILES, TITLE].into_iter().chain(properties.filter(|name| ![SMILES, TITLE].contains(name)))
    }

    /// Returns the cells of columns; a cell is empty where the record has no data of that name. The molecule is read if
    /// its column is.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for a mol block that cannot be read, with its line; `first` is the line of the
    /// record.
    pub fn cells(
        &self,
        path: &Path,
        first: usize,
        columns: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut values: HashMap<&str, &str> = HashMap::with_capacity(self.data.len());
        for (name, value) in &self.data {
            // the first ones of data that are given twice
            values.entry(name).or_insert(value);
        }
        let cell = |column: &String| match column.as_str() {
            SMILES => self.smiles(path, first),
            TITLE => Ok(title_of_mol_block(self.block).unwrap_or_default().to_owned()),
            name => Ok(values.get(name).copied().unwrap_or_default().to_owned()),
        };
        columns.iter().map(cell).collect()
    }

    fn smiles(&self, path: &Path, first: usize) -> Result<String, Error> {
        let smiles = smiles_of_mol_block(self.block).map_err(|error| match error {
            dsokr_molecule::Error::MolBlock { line, message } => {
                Error::line(path, first + line, message)
            }
            other => Error::line(path, first, other),
        })?;
        let read = Molecule::parse(&smiles).map_err(|reason| {
            Error::line(path, first, format!("the molecule {:?}: {reason}", shorten(&smiles)))
        });
        Ok(read?.canonical_smiles())
    }
}
