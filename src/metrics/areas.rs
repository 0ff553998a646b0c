//! Areas under curves: how well scores of a label tell the queries that have it from the others.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The most scores of labels, or numbers of targets, of which metrics are computed on every draw of a bootstrap.
pub(super) const DRAWN: usize = 50_000;

/// Scores of each label for the queries, and which queries have it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScoredLabels {
    labels: Vec<ScoredLabel>,
    queries: usize,
}

/// One label.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ScoredLabel {
    /// Queries with a score, the highest first. All others have one lower score in common.
    scored: Vec<(usize, f64)>,
    /// The queries that have the label.
    has: Vec<bool>,
}

/// The number of some queries that have a label, and of those that have not.
#[derive(Clone, Copy, Default)]
struct Counts {
    with: f64,
    without: f64,
}

impl ScoredLabels {
    /// Gathers the scores of each label and the queries that have it; `only` is the one label that counts, if it is given.
    /// Labels that no query has are left out.
    pub fn new<'a>(
        truth: &[Vec<&'a str>],
        scores: impl IntoIterator<Item = Vec<(&'a str, f64)>>,
        only: Option<&str>,
    ) -> Self {
        let queries = truth.len();
        let counts = |label: &&'a str| only.is_none_or(|only| only == *label);
        let names: BTreeSet<&str> = truth.iter().flatten().copied().filter(counts).collect();
        let empty = || ScoredLabel { scored: Vec::new(), has: vec![false; queries] };
        let mut labels: BTreeMap<&str, ScoredLabel> =
            names.into_iter().map(|name| (name, empty())).collect();
        for (query, true_labels) in truth.iter().enumerate() {
            for label in true_labels {
                if let Some(label) = labels.get_mut(label) {
                    label.has[query] = true;
                }
            }
        }
        for (query, scores) in scores.into_iter().enumerate() {
            for (name, score) in scores {
                if let Some(label) = labels.get_mut(name) {
                    label.scored.push((query, score));
                }
            }
        }
        let mut labels: Vec<ScoredLabel> = labels.into_values().collect();
        for label in &mut labels {
            label.scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        }
        Self { labels, queries }
    }

    /// Returns the labels of twice as many queries, the same ones with the scores of two models; none where these are not of
    /// the same labels, such as two positive classes.
    ///
    /// Models may score on different scales, so that each score is replaced by its rank among the queries of its model, those of
    /// equal scores averaged (Venkatraman and Begg 1996). Queries without a score have none here, and so the lowest rank of both
    /// models in common. The areas of either model stay the same.
    pub fn joined(&self, other: &Self) -> Option<Self> {
        let [ours, theirs] = [self, other].map(|model| model.labels.iter().map(|label| &label.has));
        if !ours.eq(theirs) {
            return None;
        }
        let queries = self.queries;
        let of_both = |(ours, theirs): (&ScoredLabel, &ScoredLabel)| {
            let theirs_behind =
                theirs.ranked().into_iter().map(|(query, rank)| (queries + query, rank));
            let mut scored: Vec<(usize, f64)> =
                ours.ranked().into_iter().chain(theirs_behind).collect();
            scored.sort_by(|a, b| b.1.total_cmp(&a.1));
            ScoredLabel { scored, has: [ours.has.as_slice(), &theirs.has].concat() }
        };
        let labels = self.labels.iter().zip(&other.labels).map(of_both).collect();
        Some(Self { labels, queries: queries + other.queries })
    }

    /// Returns whether there are few enough scores to compute areas on every draw of a bootstrap.
    pub fn are_few(&self) -> bool {
        self.labels.iter().map(|label| label.scored.len()).sum::<usize>() <= DRAWN
    }

    /// Returns all queries, once each.
    pub fn all(&self) -> Vec<usize> {
        (0..self.queries).collect()
    }

    /// Returns the mean of `value` over the labels that some of the queries have and some do not; none where there is no
    /// such label. `value` gets the queries in groups of equal scores, the highest first, and all of them together.
    fn mean(&self, queries: &[usize], value: fn(&[Counts], Counts) -> f64) -> Option<f64> {
        let mut drawn = vec![0.0; self.queries];
        for &query in queries {
            drawn[query] += 1.0;
        }
        let mut sum = 0.0;
        let mut count = 0;
        for label in &self.labels {
            let (groups, all) = label.counts(&drawn, queries.len());
            if all.with > 0.0 && all.without > 0.0 {
                sum += value(&groups, all);
                count += 1;
            }
        }
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Returns the mean area under the ROC curve: the probability that a query that has the label scores higher than one that has
    /// not, a tie counted as one half.
    pub fn roc_auc(&self, queries: &[usize]) -> Option<f64> {
        self.mean(queries, |groups, all| {
            let mut above = 0.0;
            let mut area = 0.0;
            for Counts { with, without } in groups {
                // pairs in which the query with the label is higher
                area += with * (all.without - above - without / 2.0);
                above += without;
            }
            area / (all.with * all.without)
        })
    }

    /// Returns the mean area under the precision-recall curve, as average precision: `Σ_k (R_k − R_{k−1}) P_k` over the
    /// thresholds, which are the distinct scores.
    pub fn pr_auc(&self, queries: &[usize]) -> Option<f64> {
        self.mean(queries, |groups, all| {
            let mut above = Counts::default();
            let mut area = 0.0;
            for Counts { with, without } in groups {
                above.with += with;
                above.without += without;
                if *with > 0.0 {
                    area += with / all.with * above.with / (above.with + above.without);
                }
            }
            area
        })
    }

    /// Returns the mean share of the queries that have a label: the area under the precision-recall curve by chance.
    pub fn prevalence(&self) -> Option<f64> {
        self.mean(&self.all(), |_, all| all.with / (all.with + all.without))
    }
}

impl ScoredLabel {
    /// Returns the rank of each score among those of all queries, the number of these for the highest; equal scores share the mean
    /// of their ranks.
    fn ranked(&self) -> Vec<(usize, f64)> {
        let mut above = self.has.len() as f64;
        let mut ranked = Vec::with_capacity(self.scored.len());
        for group in self.scored.chunk_by(|a, b| a.1 == b.1) {
            let rank = above - (group.len() as f64 - 1.0) / 2.0;
            above -= group.len() as f64;
            ranked.extend(group.iter().map(|&(query, _)| (query, rank)));
        }
        ranked
    }

    /// Counts queries as often as they are drawn, `total` times in all: in groups of equal scores, the highest first, and all of
    /// them together.
    fn counts(&self, drawn: &[f64], total: usize) -> (Vec<Counts>, Counts) {
        // most labels are rare, and few queries have them
        let has_label = drawn.iter().zip(&self.has).filter(|&(_, has)| *has);
        let with: f64 = has_label.map(|(times, _)| times).sum();
        let all = Counts { with, without: total as f64 - with };
        let mut unscored = all;
        let mut groups = Vec::new();
        for group in self.scored.chunk_by(|a, b| a.1 == b.1) {
            let mut tied = Counts::default();
            for &(query, _) in group {
                self.count(query, drawn[query], &mut tied);
            }
            unscored.with -= tied.with;
            unscored.without -= tied.without;
            groups.push(tied);
        }
        groups.push(unscored);
        (groups, all)
    }

    /// Adds a query that is drawn so many times.
    fn count(&self, query: usize, times: f64, counts: &mut Counts) {
        if self.has[query] {
            counts.with += times;
        } else {
            counts.without += times;
        }
    }
}
