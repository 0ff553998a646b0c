use dsokr_basis::random::{generator, hash};
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::Graph;
use rayon::prelude::*;

use super::table::Table;
use crate::config::{OnBadRow, TextConfig};
use crate::error::shorten;
use crate::{Error, Source};

/// What the SMILES of a column are read as.
///
/// # Errors
/// [`Error::Line`] for the first cell that is not a SMILES.
pub(super) fn column<T: Send>(
    table: &Table,
    column: &str,
    parse: impl Fn(&str) -> Result<T, dsokr_molecule::Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    // a parallel collection into a `Result` would give any thread's error
    let read: Vec<_> = cells(table, column, parse)?.collect();
    read.into_iter().collect()
}

fn cells<'t, T: Send>(
    table: &'t Table,
    column: &str,
    parse: impl Fn(&str) -> Result<T, dsokr_molecule::Error> + Sync + Send + 't,
) -> Result<impl IndexedParallelIterator<Item = Result<T, Error>> + 't, Error> {
    let cells = table.column(column)?.par_iter().enumerate();
    let read = move |(row, smiles): (usize, &String)| {
        parse(smiles).map_err(|reason| {
            let message = format!("the SMILES {:?}: {reason}", shorten(smiles));
            Error::line(table.path(), table.line(row), message)
        })
    };
    Ok(cells.map(read))
}

/// The table without the rows whose texts should be SMILES and are not, where such rows are skipped.
pub(super) fn readable_texts(
    table: Table,
    config: &TextConfig,
    on_bad_row: OnBadRow,
) -> Result<Table, Error> {
    match on_bad_row {
        OnBadRow::Skip if config.more_smiles > 0 => {
            let bad = bad_rows(&table, &config.column)?;
            table.without(bad)
        }
        OnBadRow::Skip | OnBadRow::Stop => Ok(table),
    }
}

/// The rows of a column whose cells are not SMILES, with what is wrong with them.
pub(super) fn bad_rows(table: &Table, column: &str) -> Result<Vec<(usize, Error)>, Error> {
    let cells = self::cells(table, column, Molecule::parse)?.enumerate();
    Ok(cells.filter_map(|(row, molecule)| Some((row, molecule.err()?))).collect())
}

/// A table's texts, each as [`written`] says.
pub(super) fn texts(table: &Table, config: &TextConfig, seed: u64) -> Result<Vec<String>, Error> {
    column(table, &config.column, |text| written(text, config.more_smiles, seed))
}

impl Source<'_> {
    /// The text of a query that is not a row of a table: with further SMILES behind it where the
    /// configuration asks for them.
    ///
    /// # Errors
    /// [`Error::Value`] for one that should be a SMILES and is not.
    pub fn query(&self, text: &str) -> Result<String, Error> {
        written(text, self.data.more_smiles(), self.seed).map_err(|reason| {
            let allowed = "a SMILES, since data.inputs.more_smiles is set";
            Error::value("the query", format!("{:?} ({reason})", shorten(text)), allowed)
        })
    }
}

/// An input's text as it is, or where there are to be more SMILES with that many further ones of the
/// same molecule behind it.
fn written(text: &str, more: usize, seed: u64) -> Result<String, dsokr_molecule::Error> {
    if more == 0 {
        return Ok(text.to_owned());
    }
    let molecule = Molecule::parse(text)?;
    let mut random = generator(seed, "more SMILES", hash(text.as_bytes()));
    let further = (0..more).map(|_| molecule.random_smiles(&mut random));
    Ok(further.fold(text.to_owned(), |all, one| all + " " + &one))
}

/// A molecule that is an output: as it is written and as a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Its SMILES.
    pub smiles: String,
    /// Its graph.
    pub graph: Graph,
}

impl Structure {
    /// The molecule that is a candidate's label.
    pub(crate) fn of_candidate(label: &str) -> Result<Self, Error> {
        Self::parse(label).map_err(|reason| bad_label(label, &reason))
    }

    /// The molecule itself, with what the graph leaves out; parsed anew, since few are drawn.
    ///
    /// # Errors
    /// [`Error::File`] for a label that is not a SMILES.
    pub fn molecule(&self) -> Result<Molecule, Error> {
        Molecule::parse(&self.smiles).map_err(|reason| bad_label(&self.smiles, &reason))
    }

    pub(crate) fn parse(smiles: &str) -> Result<Self, dsokr_molecule::Error> {
        let graph = Graph::from(&Molecule::parse(smiles)?);
        Ok(Self { smiles: smiles.to_owned(), graph })
    }
}

fn bad_label(label: &str, reason: &dsokr_molecule::Error) -> Error {
    Error::label(&shorten(label), format!("a SMILES: {reason}"))
}
