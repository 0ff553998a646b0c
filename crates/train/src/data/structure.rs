use std::path::Path;

use dsokr_basis::random::{generator, hash};
use dsokr_molecule::Molecule;
use dsokr_molecule::graph::Graph;
use rayon::prelude::*;

use super::table::Table;
use crate::Error;
use crate::config::Checked;

/// The texts of inputs: as they are, or where `data.more_smiles` says so with further SMILES of the
/// same molecule behind each.
///
/// # Errors
/// The place, from 0, of a text that is no SMILES.
pub(crate) fn inputs<R>(
    texts: Vec<String>,
    config: &Checked<R>,
) -> Result<Vec<String>, (usize, dsokr_molecule::Error)> {
    let (more, seed) = (config.data.more_smiles, config.seed);
    if more == 0 {
        return Ok(texts);
    }
    let written = |(at, text): (usize, String)| {
        let molecule = Molecule::parse(&text).map_err(|reason| (at, reason))?;
        let mut random = generator(seed, "more SMILES", hash(text.as_bytes()));
        let further = (0..more).map(|_| molecule.random_smiles(&mut random));
        Ok(further.fold(text, |all, one| all + " " + &one))
    };
    texts.into_par_iter().enumerate().map(written).collect()
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
    /// [`Error::Smiles`] with the line of one that is none.
    pub(super) fn column(table: &Table, column: &str) -> Result<Vec<Self>, Error> {
        let smiles = table.column(column)?.par_iter().enumerate();
        let read = |(row, smiles): (usize, &String)| {
            Self::parse(smiles).map_err(|reason| Error::Smiles {
                path: table.path().into(),
                line: table.line(row),
                smiles: smiles.clone(),
                reason,
            })
        };
        smiles.map(read).collect()
    }

    /// The molecule that is a candidate's label.
    ///
    /// # Errors
    /// [`Error::Run`] for a label that is no SMILES.
    pub(crate) fn of_candidate(label: &str) -> Result<Self, Error> {
        let path = Path::new("candidates.safetensors");
        Self::parse(label).map_err(|reason| Error::Run {
            path: path.into(),
            message: format!("the label {label:?} is no SMILES: {reason}"),
        })
    }

    /// The molecule itself, with what the graph leaves out; parsed anew, since few are drawn.
    pub(crate) fn molecule(&self) -> Result<Molecule, Error> {
        Molecule::parse(&self.smiles).map_err(|reason| Error::Run {
            path: Path::new("candidates.safetensors").into(),
            message: format!("the label {:?} is no SMILES: {reason}", self.smiles),
        })
    }

    fn parse(smiles: &str) -> Result<Self, dsokr_molecule::Error> {
        let graph = Graph::from(&Molecule::parse(smiles)?);
        Ok(Self { smiles: smiles.to_owned(), graph })
    }
}
