//! The common parts of requests about a model: the model, and queries.

use std::collections::BTreeSet;

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use dsokr_core::Processes;
use dsokr_data::{Inputs, Split};
use dsokr_decode::CandidateBlocks;
use dsokr_spectra::Spectrum;
use serde::Serialize;

use super::Limits;
use super::model::{Model, ReadPart};
use super::refusal::Refusal;
use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::run::{Member, PredictedQueries};

/// A kind of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryKind {
    /// Texts, which the model reads.
    Texts,
    /// Vectors, which it reads as they are.
    Vectors,
    /// Predicted coordinates.
    Coordinates,
}

impl QueryKind {
    /// Returns the key of a request that holds such queries.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Texts => "texts",
            Self::Vectors => "vectors",
            Self::Coordinates => "coordinates",
        }
    }
}

/// A request about a model.
pub(super) trait Endpoint: Serialize + Send + 'static {
    /// The name that other ranks know it by.
    const NAME: &'static str;

    /// The kinds of queries: a request has the key of exactly one of them. Empty for requests without queries.
    const KINDS: &'static [QueryKind] = &[];

    /// The answer that it asks for.
    type Answer: Send + 'static;

    /// Returns the model and the queries.
    fn queries(&self) -> RequestQueries<'_>;

    /// Returns the parts of the model that must be read before.
    fn needs(&self) -> BTreeSet<ReadPart> {
        BTreeSet::new()
    }

    /// Returns the answer, which the processes compute together.
    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<Self::Answer, Refusal>;
}

/// The model of a request, and its texts, vectors and coordinates. It should have one of the three.
#[derive(Clone, Copy, Default)]
pub(super) struct RequestQueries<'a> {
    /// The name of the model; none for the first one.
    pub model: Option<&'a str>,
    texts: Option<&'a [String]>,
    vectors: Option<&'a [Vec<f32>]>,
    coordinates: Option<&'a [Vec<f32>]>,
    /// [`Endpoint::KINDS`] of the request.
    kinds: &'static [QueryKind],
}

impl<'a> RequestQueries<'a> {
    /// Creates the queries of a request that has none.
    pub(super) fn from_model(model: &'a Option<String>) -> Self {
        Self { model: model.as_deref(), ..Self::default() }
    }

    /// Adds the texts and vectors of a request with these [kinds](Endpoint::KINDS) of queries.
    pub(super) fn with_inputs(
        self,
        kinds: &'static [QueryKind],
        texts: &'a Option<Vec<String>>,
        vectors: &'a Option<Vec<Vec<f32>>>,
    ) -> Self {
        Self { texts: texts.as_deref(), vectors: vectors.as_deref(), kinds, ..self }
    }

    /// Adds coordinates, which other programs have predicted.
    pub(super) fn with_coordinates(self, coordinates: &'a Option<Vec<Vec<f32>>>) -> Self {
        Self { coordinates: coordinates.as_deref(), ..self }
    }

    fn rows(&self) -> Option<&'a [Vec<f32>]> {
        self.vectors.or(self.coordinates)
    }

    /// Returns the number of queries.
    pub(super) fn len(&self) -> usize {
        self.texts.map_or(0, <[_]>::len) + self.rows().map_or(0, <[_]>::len)
    }

    /// Refuses queries that are not of one kind or not within the limits.
    pub(super) fn check(self, limits: &Limits) -> Result<Self, Error> {
        let kind = match (self.texts, self.vectors, self.coordinates) {
            (Some(_), None, None) => QueryKind::Texts,
            (None, Some(_), None) => QueryKind::Vectors,
            (None, None, Some(_)) => QueryKind::Coordinates,
            (texts, vectors, coordinates) => {
                let given = [texts.is_some(), vectors.is_some(), coordinates.is_some()];
                let count = given.iter().filter(|&&given| given).count();
                let keys: Vec<&str> = self.kinds.iter().map(|kind| kind.key()).collect();
                let allowed = match keys.as_slice() {
                    [others @ .., last] => {
                        format!("exactly one of {} and {last}", others.join(", "))
                    }
                    [] => "none".to_owned(),
                };
                return Err(Error::value("queries", format!("{count} kinds"), allowed));
            }
        };
        let key = kind.key();
        let count = self.len();
        let allowed = format_args!("1 to {}", limits.queries);
        let holds = (1..=limits.queries).contains(&count);
        ensure(holds, key, format_args!("{count} queries"), allowed)?;
        for (at, text) in self.texts.unwrap_or_default().iter().enumerate() {
            let length = text.chars().count();
            let key = format_args!("texts[{at}]");
            let found = format_args!("a text of {length} characters");
            let allowed = format_args!("at most {} characters", limits.text);
            ensure(length <= limits.text, key, found, allowed)?;
            let allowed = "a text that is not empty";
            ensure(!text.trim().is_empty(), key, format_args!("{text:?}"), allowed)?;
        }
        let rows = self.rows().unwrap_or_default();
        for (at, row) in rows.iter().enumerate() {
            let key = format_args!("{key}[{at}]");
            let holds = row.len() == rows[0].len() && !row.is_empty();
            let length = row.len();
            let allowed = "as many numbers as the first row has, at least one";
            ensure(holds, key, format_args!("{length} numbers"), allowed)?;
        }
        Ok(self)
    }

    /// Returns the text of a query; none of others.
    pub(super) fn text(&self, query: usize) -> Option<&'a str> {
        self.texts?.get(query).map(String::as_str)
    }

    /// Returns the queries as a run reads them, with their places in the request as ids, by which messages name them.
    pub(super) fn read(&self, member: &Member) -> Result<Split, Error> {
        let ids = |key: &str| (0..self.len()).map(|at| format!("{key}[{at}]")).collect();
        if let Some(texts) = self.texts {
            return Ok(Split { ids: ids("texts"), ..member.texts(texts)? });
        }
        let rows = self.rows().unwrap_or_default();
        let vectors = DenseRows::new(rows.first().map_or(0, Vec::len), rows.concat())?;
        let inputs = Inputs::Vectors(Features::Dense(vectors).into());
        Ok(Split::new(ids("vectors"), inputs, vec![None; rows.len()]))
    }

    /// Refuses texts that are no spectra or no molecules, where the model reads these, by their places in the request.
    fn check_texts(&self, model: &Model) -> Result<(), Error> {
        let source = model.member().config.source();
        for (at, text) in self.texts.unwrap_or_default().iter().enumerate() {
            let name = format!("texts[{at}]");
            let query = format!("query {name:?}: ");
            if model.reads_spectra() {
                text.parse::<Spectrum>().map_err(|error| error.of(&query))?;
            }
            source.query(text).map_err(|error| error.of(&query))?;
        }
        Ok(())
    }

    /// Returns the predictions of a model.
    pub(super) fn predict(
        &self,
        processes: &Processes,
        model: &Model,
        among: Option<&CandidateRule>,
    ) -> Result<PredictedQueries, Error> {
        let Some(rows) = self.coordinates else {
            self.check_texts(model)?;
            return model.run.predict(processes, |member| self.read(member), among);
        };
        let allowed = "absent: coordinates are not of spectra";
        ensure(among.is_none(), "candidates", "given, with coordinates", allowed)?;
        let length = rows.first().map_or(0, Vec::len);
        let width = model.member().candidates.dim();
        let allowed = format!("{width}, as many as the model has");
        ensure(length == width, "coordinates", format!("{length} numbers"), allowed)?;
        model.run.with_coordinates(processes, rows.len(), &rows.concat())
    }
}
