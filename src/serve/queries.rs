//! The queries of a request.

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use dsokr_data::{Inputs, Split};
use dsokr_decode::CandidateBlocks;

use super::problem::Problem;
use super::{Limits, Model};
use crate::Error;
use crate::run::{QueryAnswers, Run};

/// Queries of one kind, at least one and within the limits.
#[derive(Clone, Copy)]
pub(super) enum Queries<'a> {
    Texts(&'a [String]),
    Vectors(&'a [Vec<f32>]),
    Coordinates(&'a [Vec<f32>]),
}

/// Texts, vectors and coordinates of a request, which should have one of them.
#[derive(Clone, Copy, Default)]
pub(super) struct Given<'a> {
    texts: Option<&'a [String]>,
    vectors: Option<&'a [Vec<f32>]>,
    coordinates: Option<&'a [Vec<f32>]>,
    allowed: &'static str,
}

impl<'a> Given<'a> {
    pub(super) fn any(
        texts: &'a Option<Vec<String>>,
        vectors: &'a Option<Vec<Vec<f32>>>,
        coordinates: &'a Option<Vec<Vec<f32>>>,
    ) -> Self {
        let allowed = "exactly one of texts, vectors and coordinates";
        let coordinates = coordinates.as_deref();
        Self { coordinates, allowed, ..Self::inputs(texts, vectors) }
    }

    pub(super) fn inputs(
        texts: &'a Option<Vec<String>>,
        vectors: &'a Option<Vec<Vec<f32>>>,
    ) -> Self {
        let (texts, vectors) = (texts.as_deref(), vectors.as_deref());
        Self { texts, vectors, coordinates: None, allowed: "exactly one of texts and vectors" }
    }

    /// Number of queries.
    pub(super) fn len(&self) -> usize {
        let rows = self.vectors.or(self.coordinates).map_or(0, <[_]>::len);
        self.texts.map_or(0, <[_]>::len) + rows
    }

    /// The queries, if they are of one kind and within the limits.
    pub(super) fn queries(self, limits: &Limits) -> Result<Queries<'a>, Problem> {
        let (key, queries) = match (self.texts, self.vectors, self.coordinates) {
            (Some(texts), None, None) => ("texts", Queries::Texts(texts)),
            (None, Some(vectors), None) => ("vectors", Queries::Vectors(vectors)),
            (None, None, Some(coordinates)) => ("coordinates", Queries::Coordinates(coordinates)),
            (texts, vectors, coordinates) => {
                let found = [texts.is_some(), vectors.is_some(), coordinates.is_some()];
                let found = found.iter().filter(|&&given| given).count();
                return Err(Problem::value("queries", format!("{found} kinds"), self.allowed));
            }
        };
        if !(1..=limits.queries).contains(&queries.len()) {
            let allowed = format!("1 to {}", limits.queries);
            return Err(Problem::value(key, format!("{} queries", queries.len()), allowed));
        }
        let rows = match queries {
            Queries::Texts(texts) => {
                for (at, text) in texts.iter().enumerate() {
                    let (key, length) = (format!("texts[{at}]"), text.chars().count());
                    if length > limits.text {
                        let found = format!("a text of {length} characters");
                        let allowed = format!("at most {} characters", limits.text);
                        return Err(Problem::value(&key, found, allowed));
                    }
                    if text.trim().is_empty() {
                        let allowed = "a text that is not empty";
                        return Err(Problem::value(&key, format!("{text:?}"), allowed));
                    }
                }
                return Ok(queries);
            }
            Queries::Vectors(rows) | Queries::Coordinates(rows) => rows,
        };
        let width = rows[0].len();
        for (at, row) in rows.iter().enumerate() {
            let key = format!("{key}[{at}]");
            if row.len() != width || width == 0 {
                let allowed = "as many numbers as the first row has, at least one";
                return Err(Problem::value(&key, format!("{} numbers", row.len()), allowed));
            }
            if row.iter().any(|value| !value.is_finite()) {
                return Err(Problem::value(&key, "a number beyond 32 bits", "finite numbers"));
            }
        }
        Ok(queries)
    }
}

impl<'a> Queries<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Vectors(rows) | Self::Coordinates(rows) => rows.len(),
        }
    }

    /// The text of a query; none of others.
    pub(super) fn text(&self, query: usize) -> Option<&'a str> {
        match self {
            Self::Texts(texts) => texts.get(query).map(String::as_str),
            Self::Vectors(_) | Self::Coordinates(_) => None,
        }
    }

    /// The queries as a run reads them.
    pub(super) fn read(&self, run: &Run) -> Result<Split, Error> {
        match self {
            Self::Texts(texts) => run.texts(&texts.iter().map(String::as_str).collect::<Vec<_>>()),
            Self::Vectors(rows) | Self::Coordinates(rows) => {
                let vectors = DenseRows::new(rows[0].len(), rows.concat())?;
                let ids = vec![String::new(); rows.len()];
                let inputs = Inputs::Vectors(Features::Dense(vectors));
                Ok(Split::new(ids, inputs, vec![None; rows.len()]))
            }
        }
    }

    /// The predictions of a model.
    pub(super) fn ask(&self, model: &Model) -> Result<QueryAnswers, Error> {
        match self {
            Self::Coordinates(rows) => {
                let (found, width) = (rows[0].len(), model.run().candidates.dim());
                if found != width {
                    let allowed = format!("{width}, as many as the model has");
                    return Err(Error::value("coordinates", format!("{found} numbers"), allowed));
                }
                model.runs.ask_coordinates(rows.len(), &rows.concat())
            }
            Self::Texts(_) | Self::Vectors(_) => model.runs.ask(|run| self.read(run), None),
        }
    }
}
