//! Scores of candidates by the words of a text.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use dsokr_core::Error;

use super::FirstRow;

/// Pairs of words that a text may have and a fact that may hold of an output.
pub trait Lexicon: Debug + Send + Sync {
    /// Returns the number of pairs.
    fn len(&self) -> usize;

    /// Returns whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns, for each pair, whether a text has the words.
    fn said(&self, text: &str) -> Vec<bool>;

    /// Returns, for each pair, whether the fact holds for the output with this [label](crate::Candidates::label); none
    /// where that is not known.
    fn holds(&self, label: &str) -> Vec<Option<bool>>;

    /// Returns the lexicon as a text, which the file of a reranker keeps.
    fn text(&self) -> &str;
}

/// The words of a text as evidence for a candidate.
///
/// For each pair of words and a fact, a text says the words or not (s), and the fact holds for a candidate or not (h).
/// Among n training pairs `n_s` texts say the words, the fact holds for `n_h` outputs, and `n_sh` pairs are of both
/// kinds. The sum over the lexicon of
///
/// `log((n_sh + 1) / (n_s n_h / n + 1))`
///
/// is the evidence of a text for a candidate: the log-likelihood ratio of the facts with and without the text, as if
/// they were independent, with one further pair that is counted and expected. Words that are a bad sign of their fact
/// have weights near 0. A fact that is not known to hold or not is not counted and adds nothing.
#[derive(Clone, Debug)]
pub struct Words {
    lexicon: Arc<dyn Lexicon>,
    /// The weight of each pair of words and fact at `2 s + h`.
    pub(super) weights: Vec<[f64; 4]>,
    /// The facts of each distinct row of the candidates, found when they are needed.
    rows: Arc<Vec<OnceLock<Vec<Option<bool>>>>>,
}

/// Files keep the lexicon as a text, and rows are found again.
impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.lexicon.text() == other.lexicon.text() && self.weights == other.weights
    }
}

impl Words {
    /// Fits the weights to training pairs, each with what its text says and what holds of its output.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one value for each pair of words and fact.
    pub fn fit<'p>(
        lexicon: Arc<dyn Lexicon>,
        pairs: impl IntoIterator<Item = (&'p [bool], &'p [Option<bool>])>,
    ) -> Result<Self, Error> {
        let mut counts = vec![[0.0_f64; 4]; lexicon.len()];
        for (said, holds) in pairs {
            Error::check_length("values of what a text says", said.len(), lexicon.len())?;
            Error::check_length("values of what holds", holds.len(), lexicon.len())?;
            for (counts, (&said, &holds)) in counts.iter_mut().zip(said.iter().zip(holds)) {
                if let Some(holds) = holds {
                    counts[cell(said, holds)] += 1.0;
                }
            }
        }
        let weight = |counts: [f64; 4]| {
            let n: f64 = counts.iter().sum();
            let mut weights = [0.0; 4];
            for (said, holds) in [(false, false), (false, true), (true, false), (true, true)] {
                let count = |said, holds| counts[cell(said, holds)];
                let expected = (count(said, false) + count(said, true))
                    * (count(false, holds) + count(true, holds))
                    / n.max(1.0);
                weights[cell(said, holds)] = ((count(said, holds) + 1.0) / (expected + 1.0)).ln();
            }
            weights
        };
        let weights = counts.into_iter().map(weight).collect();
        Ok(Self { lexicon, weights, rows: Arc::default() })
    }

    /// Creates words with stored weights, `[pairs × 4]` row-major; none for a wrong number, or one that is not finite.
    pub(super) fn from_weights(lexicon: Arc<dyn Lexicon>, weights: &[f64]) -> Option<Self> {
        let (weights, rest) = weights.as_chunks::<4>();
        let finite = weights.iter().flatten().all(|weight| weight.is_finite());
        let whole = weights.len() == lexicon.len() && rest.is_empty() && finite;
        whole.then(|| Self { lexicon, weights: weights.to_vec(), rows: Arc::default() })
    }

    /// Replaces the candidates by others, of `distinct` rows. The facts of a row are found when they are first needed.
    pub fn for_rows(self, distinct: usize) -> Self {
        Self { rows: Arc::new((0..distinct).map(|_| OnceLock::new()).collect()), ..self }
    }

    /// Takes what is known to hold of some of the [rows](Self::for_rows), so that it is not found again. Other rows are
    /// passed over.
    pub fn with_known<'k>(
        self,
        known: impl IntoIterator<Item = (usize, &'k [Option<bool>])>,
    ) -> Self {
        for (row, holds) in known {
            if let Some(place) = self.rows.get(row) {
                place.get_or_init(|| holds.to_vec());
            }
        }
        self
    }

    /// Shares with `other` what holds of the rows. Both have the same candidates and the same lexicon.
    pub fn with_rows_of(self, other: &Self) -> Self {
        Self { rows: Arc::clone(&other.rows), ..self }
    }

    /// Returns the pairs of words and facts.
    pub fn lexicon(&self) -> &dyn Lexicon {
        self.lexicon.as_ref()
    }

    /// Returns the number of distinct rows whose facts are kept.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the scores of some distinct rows by the words of a text.
    pub(super) fn scores(&self, text: &str, rows: &[FirstRow]) -> Vec<f32> {
        let said = self.lexicon.said(text);
        let score = |first: &FirstRow| {
            let &FirstRow { row, is_candidate, .. } = first;
            let holds = || self.lexicon.holds(first.label());
            let holds = if is_candidate {
                Cow::Borrowed(self.rows[row].get_or_init(holds))
            } else {
                Cow::Owned(holds())
            };
            let pairs = said.iter().zip(&*holds).zip(&self.weights);
            let weight = |((&said, &holds), weights): ((&bool, &Option<bool>), &[f64; 4])| {
                holds.map_or(0.0, |holds| weights[cell(said, holds)])
            };
            pairs.map(weight).sum::<f64>() as f32
        };
        rows.iter().map(score).collect()
    }
}

fn cell(said: bool, holds: bool) -> usize {
    2 * usize::from(said) + usize::from(holds)
}
