//! What is known of queries beside their predictions.

use dsokr_data::Split;
use dsokr_decode::Queries;

use crate::Error;

/// The names of queries, and their texts where inputs are texts.
#[derive(Clone, Copy)]
pub(crate) struct QueryTexts<'a> {
    pub names: &'a [String],
    pub texts: Option<&'a [String]>,
}

impl<'a> QueryTexts<'a> {
    pub fn of(split: &'a Split) -> Self {
        Self { names: split.names(), texts: split.inputs.texts().ok() }
    }

    /// The queries with these predictions of p = `dim` coordinates.
    pub fn queries(self, dim: usize, z: &'a [f32]) -> Result<Queries<'a>, Error> {
        let queries = Queries::named(self.names, dim, z)?;
        Ok(match self.texts {
            Some(texts) => queries.with_texts(texts)?,
            None => queries,
        })
    }

    /// Those of some queries, which may occur more than once.
    pub fn repeat(self, queries: &[usize]) -> RepeatedTexts {
        let of = |all: &[String]| queries.iter().map(|&query| all[query].clone()).collect();
        RepeatedTexts { names: of(self.names), texts: self.texts.map(of) }
    }
}

/// As [`QueryTexts`], for rows of queries.
pub(crate) struct RepeatedTexts {
    pub names: Vec<String>,
    pub texts: Option<Vec<String>>,
}

impl RepeatedTexts {
    pub fn of_rows(&self) -> QueryTexts<'_> {
        QueryTexts { names: &self.names, texts: self.texts.as_deref() }
    }
}
