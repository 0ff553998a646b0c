//! Which queries a model is asked, and among which candidates.

use std::path::PathBuf;

use dsokr::Error;
use dsokr::data::{Inputs, Split, SplitName};
use dsokr::run::{EnsembleRun, QueryAnswers, Run};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::rows::Rows;

/// Texts, or the rows of a matrix.
#[derive(FromPyObject)]
pub enum Asked<'py> {
    Rows(Bound<'py, Rows>),
    Texts(Vec<String>),
}

/// The same outside of the interpreter's lock.
pub enum Input<'a> {
    Rows(&'a Rows),
    Texts(&'a [String]),
}

impl Asked<'_> {
    pub fn input(&self) -> Input<'_> {
        match self {
            Self::Rows(rows) => Input::Rows(rows.get()),
            Self::Texts(texts) => Input::Texts(texts),
        }
    }
}

impl Input<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.source().len(),
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
                let rows = rows.source().select(&chosen.collect::<Vec<_>>())?;
                Ok(Split::new(ids, Inputs::Vectors(rows), outputs))
            }
        }
    }
}

/// A split of the data, or a file of queries.
pub struct Queries {
    /// None: the split that the configuration evaluates.
    pub split: Option<SplitName>,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The column of the queries' own ids.
    pub id: Option<String>,
    /// Whether outputs of training pairs are left out.
    pub filter_known: bool,
    /// The file of candidate lists.
    pub candidates: Option<PathBuf>,
    /// The data root.
    pub data: Option<PathBuf>,
}

impl Queries {
    pub fn split(name: Option<&str>) -> Result<Option<SplitName>, Failure> {
        match name {
            None => Ok(None),
            Some("validation") => Ok(Some(SplitName::Validation)),
            Some("test") => Ok(Some(SplitName::Test)),
            Some(other) => {
                let message = format!("{other:?}, allowed: \"validation\", \"test\"");
                Err(Failure::argument("split", message))
            }
        }
    }

    /// The queries with the coordinates that `predict` gives for each run.
    pub fn ask(
        &self,
        runs: &EnsembleRun,
        predict: impl Fn(&Run, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        let data = self.data.as_deref();
        let name = self.split.unwrap_or(runs.config().evaluation.split);
        let read = |run: &Run| {
            let split = match &self.file {
                Some(file) => run.read_queries(file, self.id.as_deref(), data)?,
                None => run.read_split(name, data)?,
            };
            let known = match self.filter_known {
                true => run.known_outputs(&split, data)?,
                false => Vec::new(),
            };
            Ok(Split { known, ..split })
        };
        let lists = match (&self.candidates, &self.file) {
            (Some(file), _) => Some(file.clone()),
            (None, None) => runs.members()[0].candidate_lists(data)?,
            (None, Some(_)) => None,
        };
        runs.ask_with(read, lists.as_deref(), predict)
    }
}
