use std::path::Path;

use dsokr_basis::random::{generator, hash};
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::Graph;
use rayon::prelude::*;

use super::table::Table;
use crate::config::TextConfig;
use crate::{Error, Source};

/// A table's texts, each as [`written`] says.
///
/// # Errors
/// [`Error::Line`] for a cell that is not a SMILES.
pub(super) fn texts(table: &Table, config: &TextConfig, seed: u64) -> Result<Vec<String>, Error> {
    let texts = table.column(&config.column)?.par_iter().enumerate();
    let more = config.more_smiles;
    let input = |(row, text): (usize, &String)| {
        written(text, more, seed).map_err(|reason| bad_smiles(table, row, text, reason))
    };
    texts.map(input).collect()
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
            Error::value("the query", format!("{text:?} ({reason})"), allowed)
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

/// The molecules of a column of SMILES.
///
/// # Errors
/// [`Error::Line`] for a cell that is not a SMILES.
pub(super) fn molecules(table: &Table, column: &str) -> Result<Vec<Molecule>, Error> {
    let smiles = table.column(column)?.par_iter().enumerate();
    let read = |(row, smiles): (usize, &String)| {
        Molecule::parse(smiles).map_err(|reason| bad_smiles(table, row, smiles, reason))
    };
    smiles.map(read).collect()
}

fn bad_smiles(table: &Table, row: usize, smiles: &str, reason: dsokr_molecule::Error) -> Error {
    let message = format!("the SMILES {smiles:?}: {reason}");
    Error::line(table.path(), table.line(row), message)
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
    /// The molecules of a column of SMILES.
    ///
    /// # Errors
    /// [`Error::Line`] for a cell that is not a SMILES.
    pub(super) fn column(table: &Table, column: &str) -> Result<Vec<Self>, Error> {
        let smiles = table.column(column)?.par_iter().enumerate();
        let read = |(row, smiles): (usize, &String)| {
            Self::parse(smiles).map_err(|reason| bad_smiles(table, row, smiles, reason))
        };
        smiles.map(read).collect()
    }

    /// The molecule that is a candidate's label.
    ///
    /// # Errors
    /// [`Error::File`] for a label that is not a SMILES.
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

    fn parse(smiles: &str) -> Result<Self, dsokr_molecule::Error> {
        let graph = Graph::from(&Molecule::parse(smiles)?);
        Ok(Self { smiles: smiles.to_owned(), graph })
    }
}

fn bad_label(label: &str, reason: &dsokr_molecule::Error) -> Error {
    let message = format!("the label {label:?} is not a SMILES: {reason}");
    Error::file(Path::new("candidates.safetensors"), message)
}
