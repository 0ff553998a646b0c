//! Which queries a model is asked, and among which candidates.

use dsokr::Error;
use dsokr::data::{Inputs, Split};
use dsokr::run::Run;
use pyo3::prelude::*;

use crate::rows::Rows;

/// Texts, or the rows of a matrix.
#[derive(FromPyObject)]
pub enum Asked {
    Rows(Py<Rows>),
    Texts(Vec<String>),
}

impl Asked {
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.get().source().len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Some of them as a run reads them.
    pub fn read(&self, run: &Run, chosen: std::ops::Range<usize>) -> Result<Split, Error> {
        match self {
            Self::Texts(texts) => {
                run.texts(&texts[chosen].iter().map(String::as_str).collect::<Vec<_>>())
            }
            Self::Rows(rows) => {
                let (ids, outputs) = (vec![String::new(); chosen.len()], vec![None; chosen.len()]);
                let rows = rows.get().source().select(&chosen.collect::<Vec<_>>())?;
                Ok(Split::new(ids, Inputs::Vectors(rows), outputs))
            }
        }
    }
}
