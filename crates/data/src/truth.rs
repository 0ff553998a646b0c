//! Outputs as what they are: sets of labels, classes, rankings, numbers, graphs, and molecules that are read from
//! SMILES.

use std::ops::Range;
use std::sync::Arc;

use dsokr_core::Cancellation;
use dsokr_core::message::shorten;
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::{Graph, NamedGraph};
use rayon::prelude::*;

use crate::error::Error;
use crate::table::Table;

/// A set of labels. Outputs with the same set share one, since a table of many rows may have few different sets.
pub type LabelSet = Arc<[String]>;

/// Outputs as what they are, not only as feature rows: what predictions are compared with, and what
/// predicted ones are, where figures say more than ranks do.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// Molecules, evaluated by graph edit distance.
    Molecules(Vec<Structure>),
    /// Graphs of any kind, evaluated by graph edit distance.
    Graphs(Vec<NamedGraph>),
    /// Sets of labels, evaluated by F1.
    Labels(Vec<LabelSet>),
    /// Classes, evaluated by accuracy.
    Classes(Vec<String>),
    /// Rankings, evaluated by Kendall's τ: the rank of each item, from 0, the best, or
    /// [`UNRANKED`](crate::featurizers::UNRANKED).
    Rankings(Vec<Vec<u32>>),
    /// Rows of numbers, evaluated by their squared errors.
    Numbers(Vec<Vec<f64>>),
}

impl Truth {
    /// Returns some of them; none if an index is unknown.
    pub(crate) fn select(&self, places: &[Option<usize>]) -> Option<Self> {
        fn at<T: Clone>(places: &[Option<usize>], all: &[T]) -> Option<Vec<T>> {
            places.iter().map(|&place| place.map(|place| all[place].clone())).collect()
        }
        Some(match self {
            Self::Molecules(all) => Self::Molecules(at(places, all)?),
            Self::Graphs(all) => Self::Graphs(at(places, all)?),
            Self::Labels(all) => Self::Labels(at(places, all)?),
            Self::Classes(all) => Self::Classes(at(places, all)?),
            Self::Rankings(all) => Self::Rankings(at(places, all)?),
            Self::Numbers(all) => Self::Numbers(at(places, all)?),
        })
    }

    /// Replaces the outputs at `places` by `others`, one each, of the same kind.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for outputs of a different kind.
    pub fn replace(&mut self, places: &[usize], others: Self) -> Result<(), Error> {
        fn put<T>(all: &mut [T], places: &[usize], others: Vec<T>) {
            places.iter().zip(others).for_each(|(&place, other)| all[place] = other);
        }
        match (self, others) {
            (Self::Molecules(all), Self::Molecules(others)) => put(all, places, others),
            (Self::Graphs(all), Self::Graphs(others)) => put(all, places, others),
            (Self::Labels(all), Self::Labels(others)) => put(all, places, others),
            (Self::Classes(all), Self::Classes(others)) => put(all, places, others),
            (Self::Rankings(all), Self::Rankings(others)) => put(all, places, others),
            (Self::Numbers(all), Self::Numbers(others)) => put(all, places, others),
            (
                Self::Molecules(_)
                | Self::Graphs(_)
                | Self::Labels(_)
                | Self::Classes(_)
                | Self::Rankings(_)
                | Self::Numbers(_),
                _,
            ) => return Err(Self::two_kinds()),
        }
        Ok(())
    }

    /// Returns the error for outputs that are not of one kind.
    pub fn two_kinds() -> Error {
        Error::value("outputs", "outputs of two kinds", "one kind")
    }

    /// Returns the number of outputs.
    pub fn len(&self) -> usize {
        match self {
            Self::Molecules(all) => all.len(),
            Self::Graphs(all) => all.len(),
            Self::Labels(all) => all.len(),
            Self::Classes(all) => all.len(),
            Self::Rankings(all) => all.len(),
            Self::Numbers(all) => all.len(),
        }
    }

    /// Returns whether there are no outputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the SMILES of a column, parsed.
///
/// # Errors
/// [`dsokr_core::Error::File`] for the first cell that is not a SMILES.
pub(crate) fn column<T: Send>(
    table: &Table,
    column: &str,
    parse: impl Fn(&str) -> Result<T, dsokr_molecule::Error> + Sync,
) -> Result<Vec<T>, Error> {
    column_of_rows(table, column, 0..table.len(), parse)
}

/// Returns the SMILES of a column in some rows, parsed.
///
/// # Errors
/// [`dsokr_core::Error::File`] for the first of these cells that is not a SMILES.
pub(crate) fn column_of_rows<T: Send>(
    table: &Table,
    column: &str,
    rows: Range<usize>,
    parse: impl Fn(&str) -> Result<T, dsokr_molecule::Error> + Sync,
) -> Result<Vec<T>, Error> {
    // a parallel collection into a `Result` would give any thread's error
    cells(table, column, rows, parse)?.into_iter().collect()
}

fn cells<T: Send>(
    table: &Table,
    column: &str,
    rows: Range<usize>,
    parse: impl Fn(&str) -> Result<T, dsokr_molecule::Error> + Sync,
) -> Result<Vec<Result<T, Error>>, Error> {
    let stage = Cancellation::current().stage("molecules of the table", rows.len());
    let read = |(at, smiles): (usize, &String)| {
        stage.advance(1)?;
        let wrong = |reason| format!("the SMILES {:?}: {reason}", shorten(smiles));
        parse(smiles).map_err(|reason| table.error(rows.start + at, wrong(reason)))
    };
    Ok(table.column(column)?[rows.clone()].par_iter().enumerate().map(read).collect())
}

/// Returns the rows of a column whose cells are not SMILES, with what is wrong with them.
pub(crate) fn bad_rows(table: &Table, column: &str) -> Result<Vec<(usize, Error)>, Error> {
    let read = |rows| cells(table, column, rows, |smiles| Molecule::parse(smiles).map(drop));
    let Some(molecules) = table.molecules(column) else {
        return Ok(bad(read(0..table.len())?));
    };
    let mut wrong = Vec::new();
    for row in (0..table.len()).filter(|&row| molecules[row].is_none()) {
        wrong.extend(bad(read(row..row + 1)?).into_iter().map(|(_, error)| (row, error)));
    }
    Ok(wrong)
}

/// Returns the rows of cells that cannot be read.
pub(crate) fn bad<T>(cells: impl IntoIterator<Item = Result<T, Error>>) -> Vec<(usize, Error)> {
    cells.into_iter().enumerate().filter_map(|(row, cell)| Some((row, cell.err()?))).collect()
}

/// A molecule that is an output: as it is written and as a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// The SMILES of the molecule.
    pub smiles: String,
    /// The graph of the molecule.
    pub graph: Graph,
}

impl Structure {
    /// Returns the molecule itself, with what the graph leaves out; parsed anew, since few are drawn.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for a label that is not a SMILES.
    pub fn molecule(&self) -> Result<Molecule, Error> {
        of_candidate(&self.smiles, Molecule::parse)
    }

    /// Creates the molecule that the label of a candidate describes.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for a label that is not a SMILES.
    pub fn from_label(label: &str) -> Result<Self, Error> {
        of_candidate(label, Self::parse)
    }

    pub(crate) fn parse(smiles: &str) -> Result<Self, dsokr_molecule::Error> {
        Ok(Self { smiles: smiles.to_owned(), graph: Graph::from(&Molecule::parse(smiles)?) })
    }
}

/// Returns the SMILES of a candidate's label, parsed.
pub(crate) fn of_candidate<T>(
    label: &str,
    parse: impl Fn(&str) -> Result<T, dsokr_molecule::Error>,
) -> Result<T, Error> {
    parse(label).map_err(|reason| Error::label(&shorten(label), format!("a SMILES: {reason}")))
}
