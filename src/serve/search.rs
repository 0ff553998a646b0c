//! Searches: a request for the best candidates of queries, and the response.

use std::collections::BTreeSet;
use std::fmt::{self, Formatter};

use dsokr_core::{Cancellation, Processes};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::Limits;
use super::answer::{Answer, DrawnOutput, explained};
use super::description::About;
use super::filter::FilterRequest;
use super::model::{Model, ReadPart};
use super::queries::{Endpoint, QueryKind, RequestQueries};
use super::refusal::Refusal;
use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::run::{self, Calibration, PredictedQueries, WantedCandidates};

/// Queries: exactly one of `texts`, `vectors` and `coordinates`.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
    /// Predicted coordinates, made by any program, for models that are not ensembles.
    pub coordinates: Option<Vec<Vec<f32>>>,
    /// The most hits for each query. With several queries it is limited further: `GET /api/models` has the most hits
    /// of all queries together.
    #[serde(default = "ten", deserialize_with = "whole_number")]
    #[schema(default = 10, minimum = 1, maximum = 1000)]
    pub top: usize,
    /// Number of hits to leave out, for further pages.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(default = 0, minimum = 0)]
    pub skip: usize,
    /// Which candidates are wanted.
    pub filter: Option<FilterRequest>,
    /// The candidates of each spectrum: `mass:PPM`, those with the precursor's mass within so many millionths,
    /// `formula`, those of the formula that it names, or `all`; default: `mass:10` where candidates are molecules.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "mass:10")]
    pub candidates: Option<CandidateRule>,
    /// In the place of the best `top` hits, the smallest set that holds a right output with this probability, among the
    /// `candidates`; absent with `filter` and `skip`, and for models of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.9, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub coverage: Option<f64>,
    /// Whether molecules that are not candidates are searched too, as `decoding.beyond` says, or else with its defaults;
    /// default: whether the configuration has `decoding.beyond`. Absent with `coverage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<bool>,
    /// Whether answers say which training texts are nearest to the query, what hits share with their
    /// molecules, and which peaks of a spectrum they explain.
    #[serde(default)]
    pub explain: bool,
    /// How far a peak may be from the m/z of a part of a candidate's ion that explains it, in millionths.
    #[serde(default = "ten_ppm")]
    #[schema(default = 10.0, minimum = 0.001, maximum = 1000.0)]
    pub tolerance: f64,
}

dsokr_core::defaults! {
    ten_ppm: f64 = 10.0,
    ten: usize = 10,
}

/// Reads a whole number from 0. JSON has one type of numbers, so 1.0 and 1e1 are whole numbers too.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    deserializer.deserialize_u64(WholeNumber)
}

/// What [`whole_number`] reads.
struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = usize;

    fn expecting(&self, out: &mut Formatter) -> fmt::Result {
        out.write_str("a whole number from 0")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<usize, E> {
        usize::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<usize, E> {
        usize::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<usize, E> {
        /// The number up to which all whole numbers have a floating-point number of their own.
        const MOST: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
        if number.fract() != 0.0 || !(0.0..=MOST).contains(&number) {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        Ok(number as usize)
    }
}

/// Answers to a search.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchResponse {
    #[serde(flatten)]
    pub about: About,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// Number of candidates that the filter keeps, duplicates counted.
    pub wanted: usize,
    /// The pairs that the sets of candidates were calibrated on, with `coverage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// An answer for each query.
    pub answers: Vec<Answer>,
}

impl Endpoint for SearchRequest {
    const NAME: &'static str = "search";
    const KINDS: &'static [QueryKind] =
        &[QueryKind::Texts, QueryKind::Vectors, QueryKind::Coordinates];
    type Answer = SearchResponse;

    fn queries(&self) -> RequestQueries<'_> {
        RequestQueries::from_model(&self.model)
            .with_inputs(Self::KINDS, &self.texts, &self.vectors)
            .with_coordinates(&self.coordinates)
    }

    fn needs(&self) -> BTreeSet<ReadPart> {
        let explains_texts = self.explain && self.texts.is_some();
        let filter = self.filter.as_ref().and_then(|filter| filter.read().ok());
        let reads_molecules = filter.is_some_and(|filter| filter.reads_molecules());
        let texts = explains_texts.then_some(ReadPart::Texts);
        let properties = reads_molecules.then_some(ReadPart::Properties);
        texts.into_iter().chain(properties).collect()
    }

    fn answer(
        &self,
        processes: &Processes,
        model: &Model,
        limits: &Limits,
    ) -> Result<SearchResponse, Refusal> {
        self.check(limits)?;
        let queries = self.queries().check(limits)?;
        limits.check_all("top", queries.len().saturating_mul(self.top))?;
        let filter = self.filter.as_ref().map(FilterRequest::read).transpose()?;
        let wanted = filter.map(|filter| model.run.wanted(processes, &filter)).transpose()?;
        let rule = match &self.coordinates {
            // coordinates are of no spectrum
            Some(_) => self.candidates.clone(),
            None => model.run.rule_of_search(self.candidates.as_ref())?,
        };
        let rule = rule.as_ref();

        let predicted = queries.predict(processes, model, rule)?;
        let hits = match self.coverage {
            None => self.best(model, &predicted, wanted.as_ref())?,
            Some(coverage) => {
                let most = limits.hits.min(limits.all_hits / queries.len());
                CoveringSets { coverage, most, rule }.answers(processes, model, &predicted)?
            }
        };

        let explain = |(query, answer): (usize, run::Answer)| {
            Cancellation::current().check().map_err(Error::from)?;
            let text = queries.text(query).filter(|_| self.explain);
            let beyond = answer.beyond.iter().cloned();
            let beyond = beyond.map(|output| DrawnOutput::new(output, self.explain)).collect();
            let answer = explained(processes, model, text, self.tolerance, answer, rule.is_some())?;
            let whole = hits.whole.get(query).copied();
            Ok::<_, Refusal>(Answer { whole, beyond, ..answer })
        };
        let answers =
            hits.answers.into_iter().enumerate().map(explain).collect::<Result<_, _>>()?;
        let candidates = model.run.candidates();
        Ok(SearchResponse {
            about: model.about(),
            candidates,
            wanted: wanted.map_or(candidates, |wanted| wanted.count()),
            calibration: hits.calibration,
            answers,
        })
    }
}

/// The answers to the queries of a request, before they are explained.
struct UnexplainedAnswers {
    answers: Vec<run::Answer>,
    /// With a coverage, whether each set of candidates is whole.
    whole: Vec<bool>,
    /// With a coverage, the pairs that the sets were calibrated on.
    calibration: Option<Calibration>,
}

impl SearchRequest {
    /// Refuses numbers out of range, and keys that exclude each other.
    fn check(&self, limits: &Limits) -> Result<(), Error> {
        let allowed = format!("1 to {}", limits.hits);
        ensure((1..=limits.hits).contains(&self.top), "top", self.top, allowed)?;
        let ppm = self.tolerance;
        let allowed = "a number of millionths, 0.001 to 1000";
        ensure((1e-3..=1e3).contains(&ppm), "tolerance", ppm, allowed)?;
        if let Some(rule) = &self.candidates {
            rule.check_search()?;
        }
        if let Some(coverage) = self.coverage {
            let whole_sets = self.filter.is_none() && self.skip == 0;
            ensure(whole_sets, "coverage", coverage, "absent, with filter and skip")?;
            let beyond = json!(self.beyond);
            ensure(self.beyond.is_none(), "beyond", beyond, "absent, with coverage")?;
        }
        Ok(())
    }

    /// Returns the best candidates of each query.
    fn best(
        &self,
        model: &Model,
        queries: &PredictedQueries,
        wanted: Option<&WantedCandidates>,
    ) -> Result<UnexplainedAnswers, Refusal> {
        let places = self.skip..self.skip.saturating_add(self.top);
        let search = model.search(self.beyond)?;
        let answers = model.run.answers_by(search, queries, places, wanted)?;
        Ok(UnexplainedAnswers { answers, whole: Vec::new(), calibration: None })
    }
}

/// The request for the smallest set of candidates of each query that holds a right output with some probability.
struct CoveringSets<'a> {
    /// The probability.
    coverage: f64,
    /// The most candidates of a set.
    most: usize,
    /// The rule of the candidates of each query, on which sets are calibrated too.
    rule: Option<&'a CandidateRule>,
}

impl CoveringSets<'_> {
    /// Returns the sets of the queries, as answers.
    fn answers(
        &self,
        processes: &Processes,
        model: &Model,
        queries: &PredictedQueries,
    ) -> Result<UnexplainedAnswers, Refusal> {
        let data = model.data.as_deref();
        let sets = model.run.sets(processes, self.coverage, None, self.rule, data)?;
        let candidate_sets = model.run.candidate_sets(queries, &sets, self.most)?;
        let whole = candidate_sets.iter().map(|set| set.whole).collect();
        let answers = candidate_sets.into_iter().map(|set| set.answer).collect();
        Ok(UnexplainedAnswers { answers, whole, calibration: Some(sets.calibration) })
    }
}
