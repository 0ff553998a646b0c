//! Counts of character n-grams.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use dsokr_basis::features::SparseRows;
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use super::ngram_config::{character_runs, character_starts};
use super::numbered::numbered;

/// Character n-grams with a column each, fitted on some texts.
///
/// ```
/// use dsokr_data::featurizers::NgramVocabulary;
///
/// let vocabulary = NgramVocabulary::fit(1..=2, &["CCO", "CN"])?;
/// assert_eq!(vocabulary.ngrams().collect::<Vec<_>>(), ["C", "CC", "CN", "CO", "N", "O"]);
/// let rows = vocabulary.rows(&["CCC"])?;
/// assert_eq!(rows.row(0), (&[0, 1][..], &[3.0, 2.0][..]));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgramVocabulary {
    lengths: RangeInclusive<usize>,
    columns: BTreeMap<String, u32>,
}

/// Calls `visit` with every run of so many characters of a text, shortest first, from left to right.
fn each(lengths: &RangeInclusive<usize>, text: &str, visit: &mut dyn FnMut(&str)) {
    let mut starts = Vec::new();
    character_starts(text, &mut starts);
    let min = *lengths.start();
    let max = *lengths.end();
    character_runs(text, &starts, min..=max.min(text.len()), visit);
}

impl NgramVocabulary {
    /// Creates the n-grams of these lengths, all runs of so many Unicode characters, that occur in `texts`, sorted by
    /// their bytes.
    ///
    /// # Errors
    /// [`Error::Value`] for lengths that are not 1 and more; [`Error::Shape`] when
    /// no n-gram occurs; [`Error::Cancelled`].
    pub fn fit<S: AsRef<str>>(lengths: RangeInclusive<usize>, texts: &[S]) -> Result<Self, Error> {
        let stage = Cancellation::current().stage("vocabulary of n-grams", texts.len());
        let mut ngrams = BTreeSet::new();
        for text in texts {
            stage.advance(1)?;
            each(&lengths, text.as_ref(), &mut |ngram| {
                if !ngrams.contains(ngram) {
                    ngrams.insert(ngram.to_owned());
                }
            });
        }
        Self::from_ngrams(lengths, ngrams)
    }

    /// Creates the vocabulary of n-grams that were fitted before, in any order.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit).
    pub fn from_ngrams(
        lengths: RangeInclusive<usize>,
        ngrams: impl IntoIterator<Item = String>,
    ) -> Result<Self, Error> {
        let holds = *lengths.start() > 0 && !lengths.is_empty();
        let found = format_args!("{lengths:?}");
        Error::ensure(holds, "lengths of n-grams", found, "a range of 1 and more")?;
        Ok(Self { lengths, columns: numbered(ngrams.into_iter().collect())? })
    }

    /// Returns the n-grams, in the order of their columns.
    pub fn ngrams(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Counts of the n-grams of each text; n-grams outside of the vocabulary are not counted.
    ///
    /// # Errors
    /// The errors of [`SparseRows::from_rows`], which accepts the rows of a fitted vocabulary.
    pub fn rows<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<SparseRows, Error> {
        let stage = Cancellation::current().stage("n-grams of the texts", texts.len());
        let row = |text: &S| {
            stage.count(1);
            let mut counts: BTreeMap<u32, f32> = BTreeMap::new();
            each(&self.lengths, text.as_ref(), &mut |ngram| {
                if let Some(&column) = self.columns.get(ngram) {
                    *counts.entry(column).or_default() += 1.0;
                }
            });
            counts
        };
        SparseRows::from_rows(self.columns.len(), texts.par_iter().map(row).collect::<Vec<_>>())
    }
}
