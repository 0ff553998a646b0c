//! All numbers that the network has of a candidate.

use super::neighbourhood::{self, Neighbourhood};
use super::words::Words;
use crate::{Candidates, Error, Queries};

/// What tells the first candidates of a query apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Clues {
    /// The training pairs that are near.
    pub neighbourhood: Neighbourhood,
    /// The words of the query's text; then every query needs a [text](Queries::with_texts).
    pub words: Option<Words>,
}

impl Clues {
    /// Numbers that describe a candidate, with words or without.
    pub(super) fn features(words: bool) -> usize {
        neighbourhood::FEATURES + usize::from(words)
    }

    /// The numbers of the first rows of a query, `[rows × features]`, each less its mean over the rows.
    pub(super) fn of(
        &self,
        queries: &Queries,
        query: usize,
        first: &[(usize, f32)],
        candidates: &Candidates,
    ) -> Result<Vec<f32>, Error> {
        let near = self.neighbourhood.features(queries.row(query), first, candidates)?;
        let mut features = match &self.words {
            None => near,
            Some(words) => {
                let text = queries.text(query).ok_or_else(|| {
                    let query = queries.name(query);
                    Error::Unsupported(format!(
                        "query {query} has no text: the second look compares its words with candidates"
                    ))
                })?;
                let says = words.scores(text, first.iter().map(|&(row, _)| row), candidates);
                let rows = near.chunks_exact(neighbourhood::FEATURES).zip(says);
                rows.flat_map(|(near, says)| near.iter().copied().chain([says])).collect()
            }
        };
        centre(&mut features, Self::features(self.words.is_some()));
        Ok(features)
    }
}

/// Subtracts the mean over the rows from each feature.
fn centre(values: &mut [f32], features: usize) {
    let rows = (values.len() / features).max(1) as f64;
    let mut means = vec![0.0; features];
    for row in values.chunks_exact(features) {
        means.iter_mut().zip(row).for_each(|(mean, &value)| *mean += f64::from(value) / rows);
    }
    for row in values.chunks_exact_mut(features) {
        row.iter_mut().zip(&means).for_each(|(value, mean)| *value -= *mean as f32);
    }
}
