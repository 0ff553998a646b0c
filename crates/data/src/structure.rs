//! Molecules that are read from SMILES.

use dsokr_molecule::Molecule;
use dsokr_molecule::graph::Graph;
use rayon::prelude::*;

use crate::Error;
use crate::error::shorten;
use crate::table::Table;

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

/// The rows of a column whose cells are not SMILES, with what is wrong with them.
pub(super) fn bad_rows(table: &Table, column: &str) -> Result<Vec<(usize, Error)>, Error> {
    let cells = self::cells(table, column, Molecule::parse)?.enumerate();
    Ok(cells.filter_map(|(row, molecule)| Some((row, molecule.err()?))).collect())
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
