//! Answers to queries.

use dsokr_decode::{SomeCandidates, Standing};
use serde::Serialize;

use crate::Error;
use crate::decoder::PredictedOutput;
use crate::quantiles;

/// The answer to a query. Nothing else is needed to read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The best candidates, best first. Duplicates are one hit.
    pub hits: Vec<Hit>,
    /// The predicted output where it need not be a candidate: the best of all outputs with `decoding.search =
    /// "exact"`, the label set with the largest expected F1, and that F1, with `decoding.expected_f1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<PredictedOutput>,
    /// Predicted quantiles, where a single model answers with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// The gap of the best candidate of all, wanted or not.
    #[serde(skip)]
    pub gap: Option<f32>,
}

/// A candidate with its place among all.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Hit {
    /// One more than the number of candidates with a higher score, among all.
    pub rank: usize,
    /// Its id; of duplicates, that of the first one that is wanted.
    pub id: String,
    /// Its label: the SMILES of a molecule, a set of labels, a ranking, a number or a graph.
    pub label: String,
    /// Its score.
    pub score: f32,
    /// The score minus that of the next candidate that is not a duplicate; absent for the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f32>,
    /// Number of candidates with the same score that are not duplicates.
    pub tied: usize,
    /// Ids of duplicates, which score the same bit for bit, wanted or not.
    pub duplicates: Vec<String>,
}

impl Hit {
    /// A distinct candidate with its ids and its label. A number without a label is its own label; `levels` are
    /// those of a model of quantiles.
    pub(crate) fn of(
        found: Standing,
        names: &SomeCandidates,
        levels: Option<&[f64]>,
    ) -> Result<Self, Error> {
        let Standing { candidates, score, above, tied, gap } = found;
        let all = &names.candidates;
        let places = candidates.iter().map(|&number| names.place(number as usize));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let first = places.first().copied().unwrap_or_default();
        let label = match (all.label(first), levels) {
            ("", Some(levels)) => quantiles::number(levels, all, all.class_of(first))?.to_string(),
            (label, _) => label.to_owned(),
        };
        let (rank, tied) = (above as usize + 1, tied as usize);
        let mut ids = places.into_iter().map(|at| all.id(at).to_owned());
        let (id, duplicates) = (ids.next().unwrap_or_default(), ids.collect());
        Ok(Self { rank, id, label, score, gap, tied, duplicates })
    }
}

/// A predicted quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Quantile {
    /// The level, from 0 to 1.
    pub level: f64,
    /// The quantile.
    pub value: f32,
}

impl Quantile {
    /// The quantiles of a query.
    pub(crate) fn all(levels: &[f64], values: &[f32]) -> Vec<Self> {
        levels.iter().zip(values).map(|(&level, &value)| Self { level, value }).collect()
    }
}
