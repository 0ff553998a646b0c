//! Predicted sets of labels compared with the true ones, label by label.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dsokr_basis::features::BitRows;
use dsokr_data::LabelSet;
use dsokr_data::featurizers::LabelVocabulary;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};

/// How well one label is predicted, as scikit-learn defines it with `zero_division=0`.
///
/// With t queries that have the label, q predictions of it and c that are right, precision is `c / q`,
/// recall `c / t` and `F1 = 2c / (t + q)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelScores {
    /// The label.
    pub label: String,
    /// Number of queries that have it.
    pub support: usize,
    /// Number of queries for which it is predicted.
    pub predicted: usize,
    /// Share of the predictions that are right; 0 where there are none.
    pub precision: f64,
    /// Share of the queries that have it for which it is predicted; 0 where none have it.
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
}

impl LabelScores {
    /// Names of the columns of [`LabelScores::cells`].
    pub const COLUMNS: [&str; 6] = ["label", "support", "predicted", "precision", "recall", "f1"];

    /// Returns the scores of every label that is true or predicted for some query, the most frequent first, those
    /// of one support by name. A set with a label twice holds it once.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for different numbers of true and predicted sets.
    pub fn from_sets<S: AsRef<[String]>>(truth: &[S], predicted: &[S]) -> Result<Vec<Self>, Error> {
        let counts = format!("{} predicted label sets", predicted.len());
        let allowed = format!("{}, one a query", truth.len());
        ensure(truth.len() == predicted.len(), "outputs", counts, allowed)?;
        let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        for (truth, predicted) in truth.iter().zip(predicted) {
            let [truth, predicted] = [truth, predicted]
                .map(|set| set.as_ref().iter().map(String::as_str).collect::<BTreeSet<_>>());
            for &label in truth.union(&predicted) {
                let is_true = truth.contains(label);
                let said = predicted.contains(label);
                let count = counts.entry(label).or_default();
                for (count, holds) in count.iter_mut().zip([is_true, said, is_true && said]) {
                    *count += usize::from(holds);
                }
            }
        }
        let ratio = |part: usize, all: usize| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        let one = |(label, [support, predicted, both]): (&str, [usize; 3])| Self {
            label: label.into(),
            support,
            predicted,
            precision: ratio(both, predicted),
            recall: ratio(both, support),
            f1: ratio(2 * both, support + predicted),
        };
        let mut all: Vec<Self> = counts.into_iter().map(one).collect();
        all.sort_by_key(|scores| std::cmp::Reverse(scores.support));
        Ok(all)
    }

    /// Returns the scores as texts, for a table.
    pub fn cells(&self) -> [String; 6] {
        let Self { label, support, predicted, precision, recall, f1 } = self;
        [
            label.clone(),
            support.to_string(),
            predicted.to_string(),
            precision.to_string(),
            recall.to_string(),
            f1.to_string(),
        ]
    }
}

/// Returns the labels that a run knows, or that are in a set.
pub(crate) fn all_labels<'l>(known: &'l [String], sets: [&'l [LabelSet]; 2]) -> HashSet<&'l str> {
    let in_sets = sets.into_iter().flatten().flat_map(|set| set.iter());
    known.iter().chain(in_sets).map(String::as_str).collect()
}

/// Returns true and predicted sets as rows, with a column for each label in one of them; with one column where all sets are
/// empty.
pub(crate) fn label_rows(
    truth: &[LabelSet],
    predicted: &[LabelSet],
) -> Result<[BitRows; 2], dsokr_core::Error> {
    let both = [truth, predicted].concat();
    if both.iter().all(|set| set.is_empty()) {
        let empty = |sets: &[LabelSet]| BitRows::from_indices(1, sets.iter().map(|_| []));
        return Ok([empty(truth)?, empty(predicted)?]);
    }
    let vocabulary = LabelVocabulary::fit(&both)?;
    Ok([vocabulary.rows(truth)?, vocabulary.rows(predicted)?])
}
