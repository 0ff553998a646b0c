//! Names and texts of queries.

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
        (of(self.names), self.texts.map(of))
    }
}

/// The names and texts of rows of queries.
pub(crate) type RepeatedTexts = (Vec<String>, Option<Vec<String>>);

impl<'a> From<&'a RepeatedTexts> for QueryTexts<'a> {
    fn from((names, texts): &'a RepeatedTexts) -> Self {
        Self { names, texts: texts.as_deref() }
    }
}
