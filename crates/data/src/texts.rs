//! Inputs that are texts, SMILES among them.

use dsokr_basis::random::{generator, hash};
use dsokr_molecule::Molecule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::{check, shorten};
use crate::structure::{bad_rows, column};
use crate::table::{OnBadRow, Table};

/// A column of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TextConfig {
    /// The column.
    pub column: String,
    /// Where texts are SMILES, how many more of the same molecule, in other orders of its atoms, are put
    /// behind each, with a space between; drawn from the seed and the text. What an n-gram cannot see
    /// in one of them, it sees in another.
    pub more_smiles: usize,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self { column: "description".into(), more_smiles: 0 }
    }
}

impl TextConfig {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let holds = self.more_smiles <= 64;
        check(holds, "data.inputs.more_smiles", self.more_smiles, "0 to 64")
    }

    /// The table without the rows whose texts should be SMILES and are not, where such rows are skipped.
    pub(crate) fn good_rows(&self, table: Table, on_bad_row: OnBadRow) -> Result<Table, Error> {
        match on_bad_row {
            OnBadRow::Skip if self.more_smiles > 0 => {
                let bad = bad_rows(&table, &self.column)?;
                table.without(bad)
            }
            OnBadRow::Skip | OnBadRow::Stop => Ok(table),
        }
    }

    /// A table's texts, each as [`written`](Self::written) says.
    pub(crate) fn read(&self, table: &Table, seed: u64) -> Result<Vec<String>, Error> {
        column(table, &self.column, |text| self.written(text, seed))
    }

    /// The text of a query that is not a row of a table.
    pub(crate) fn query(&self, text: &str, seed: u64) -> Result<String, Error> {
        self.written(text, seed).map_err(|reason| {
            let allowed = "a SMILES, since data.inputs.more_smiles is set";
            Error::value("the query", format!("{:?} ({reason})", shorten(text)), allowed)
        })
    }

    /// An input's text as it is, or where there are to be more SMILES with that many further ones of the
    /// same molecule behind it.
    fn written(&self, text: &str, seed: u64) -> Result<String, dsokr_molecule::Error> {
        if self.more_smiles == 0 {
            return Ok(text.to_owned());
        }
        let molecule = Molecule::parse(text)?;
        let mut random = generator(seed, "more SMILES", hash(text.as_bytes()));
        let further = (0..self.more_smiles).map(|_| molecule.random_smiles(&mut random));
        Ok(further.fold(text.to_owned(), |all, one| all + " " + &one))
    }
}
