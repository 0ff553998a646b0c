//! Which pairs are for validation and for the test.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_data::table::{OnBadRow, Table, TableOptions};

use super::kind::ColumnKind;
use super::{Choices, Column};
use crate::error::Error;

/// The fewest different inputs, and molecules, of which rows that repeat one are kept together: with fewer, a group may be
/// larger than a split.
const VARIED: usize = 20;

/// How rows are divided: which stay together, and files that hold the pairs of a split.
#[derive(Clone, Debug, Default)]
pub struct Division {
    /// `data.splits.group`: rows that no split divides.
    pub group: Option<String>,
    /// The file of validation pairs, in the folder of the table or below it.
    pub validation: Option<String>,
    /// The file of test pairs, likewise.
    pub test: Option<String>,
}

impl Division {
    /// The division that the caller chooses of a table with these columns; of a random one, rows stay together that repeat a
    /// molecule, a text or an id.
    pub(super) fn choose(
        choices: &Choices,
        table: &Path,
        columns: &[Column],
        [input, output]: [&Column; 2],
    ) -> Result<Self, Error> {
        let group = match choices.split.as_deref() {
            None | Some("random") => {
                let is_varied = |column: &Column| column.distinct >= VARIED;
                let molecules = output.kind == ColumnKind::Smiles;
                let repeats = is_varied(input) && (!molecules || is_varied(output));
                repeats.then(|| "repeats".to_owned())
            }
            Some("scaffold") => {
                let allowed = "random, or a column: neither inputs nor outputs are SMILES";
                let molecules = [input, output].iter().any(|own| own.kind == ColumnKind::Smiles);
                if !molecules {
                    return Err(Error::value(Argument::new("split"), "scaffold", allowed));
                }
                Some("scaffold".to_owned())
            }
            Some(name) => {
                if !columns.iter().any(|column| column.name == name) {
                    let names: Vec<&str> = columns.iter().map(|own| own.name.as_str()).collect();
                    let allowed = format!("random, scaffold, or one of {}", names.join(", "));
                    return Err(Error::value(Argument::new("split"), name, allowed));
                }
                Some(name.to_owned())
            }
        };
        let named = |key: &'static str, file: &Option<PathBuf>| {
            file.as_ref().map(|file| below(key, file, table)).transpose()
        };
        let validation = named("validation", &choices.validation)?;
        let test = named("test", &choices.test)?;
        Ok(Self { group, validation, test })
    }

    /// Number of validation and of test pairs that are drawn, where `size` are of a split without a file.
    pub(super) fn sizes(&self, size: usize) -> [usize; 2] {
        [&self.validation, &self.test].map(|file| if file.is_some() { 0 } else { size })
    }
}

/// The name of a file below the folder of the table.
fn below(key: &'static str, file: &Path, table: &Path) -> Result<String, Error> {
    let canonical = std::fs::canonicalize(file).map_err(Error::io(file))?;
    let home = table.parent().unwrap_or(Path::new("/"));
    let Ok(name) = canonical.strip_prefix(home) else {
        let allowed = format!("a file in {} or below it, where the table is", home.display());
        return Err(Error::value(Argument::new(key), file.display(), allowed));
    };
    Ok(name.to_string_lossy().into_owned())
}

/// Whether a column of ids has different ones in all of these files and the table.
pub(super) fn ids_differ(table: &Table, id: &str, files: &[&Option<PathBuf>]) -> bool {
    let Ok(ids) = table.column(id) else { return false };
    let mut seen: HashSet<String> = ids.iter().cloned().collect();
    files.iter().filter_map(|file| file.as_ref()).all(|file| {
        let options = TableOptions { on_bad_row: OnBadRow::Skip, ..TableOptions::default() };
        let Ok(other) = Table::read_with(file, &[id], options) else { return false };
        other.column(id).is_ok_and(|ids| ids.iter().all(|id| seen.insert(id.clone())))
    })
}
