use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{SparseRows, check_width};
use crate::Error;
use crate::random::hash;

/// Which character n-grams are counted: all runs of `min..=max` Unicode characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NgramOptions {
    /// Length of the shortest n-grams, at least 1.
    pub min: usize,
    /// Length of the longest n-grams, at least `min`.
    pub max: usize,
    /// Whether a text is put between the marks U+0002 and U+0003 first, so that n-grams at its
    /// ends differ from the same ones inside.
    pub boundaries: bool,
}

impl NgramOptions {
    fn check(&self) -> Result<(), Error> {
        let bad = |option, value: usize, allowed: String| {
            Error::value("featurizer character n-grams", option, value, allowed)
        };
        if self.min == 0 {
            return Err(bad("min", self.min, "1 and more".to_owned()));
        }
        if self.max < self.min {
            return Err(bad("max", self.max, format!("{} (min) and more", self.min)));
        }
        Ok(())
    }

    /// Calls `visit` with every n-gram of a text, shortest first, from left to right.
    fn each(&self, text: &str, buffer: &mut String, mut visit: impl FnMut(&str)) {
        let text = if self.boundaries {
            buffer.clear();
            buffer.push('\u{2}');
            buffer.push_str(text);
            buffer.push('\u{3}');
            buffer.as_str()
        } else {
            text
        };
        let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        starts.push(text.len());
        for length in self.min..=self.max.min(starts.len() - 1) {
            for pair in starts.windows(length + 1) {
                visit(&text[pair[0]..pair[length]]);
            }
        }
    }
}

/// Character n-grams with a column each, fitted on some texts.
///
/// ```
/// use dsokr_basis::features::{NgramOptions, NgramVocabulary};
///
/// let options = NgramOptions { min: 1, max: 2, boundaries: false };
/// let vocabulary = NgramVocabulary::fit(options, &["CCO", "CN"])?;
/// assert_eq!(vocabulary.ngrams().collect::<Vec<_>>(), ["C", "CC", "CN", "CO", "N", "O"]);
/// let rows = vocabulary.rows(&["CCC"])?;
/// assert_eq!(rows.row(0), (&[0, 1][..], &[3.0, 2.0][..]));
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgramVocabulary {
    options: NgramOptions,
    columns: BTreeMap<String, u32>,
}

impl NgramVocabulary {
    /// The n-grams that occur in `texts`, sorted by their bytes.
    ///
    /// # Errors
    /// [`Error::Value`] for lengths that are not `1 ≤ min ≤ max`; [`Error::Shape`] when
    /// no n-gram occurs.
    pub fn fit<S: AsRef<str>>(options: NgramOptions, texts: &[S]) -> Result<Self, Error> {
        options.check()?;
        let mut columns = BTreeMap::new();
        let mut buffer = String::new();
        for text in texts {
            options.each(text.as_ref(), &mut buffer, |ngram| {
                if !columns.contains_key(ngram) {
                    columns.insert(ngram.to_owned(), 0);
                }
            });
        }
        Self::numbered(options, columns)
    }

    /// The vocabulary of n-grams that were fitted before, in any order.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn of(options: NgramOptions, ngrams: Vec<String>) -> Result<Self, Error> {
        options.check()?;
        Self::numbered(options, ngrams.into_iter().map(|ngram| (ngram, 0)).collect())
    }

    fn numbered(options: NgramOptions, mut columns: BTreeMap<String, u32>) -> Result<Self, Error> {
        check_width(columns.len())?;
        columns.values_mut().zip(0..).for_each(|(column, number)| *column = number);
        Ok(Self { options, columns })
    }

    /// Number of n-grams: the width of the rows.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are no n-grams (never, once fitted).
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The n-grams, in the order of their columns.
    pub fn ngrams(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Counts of the n-grams of each text; n-grams outside of the vocabulary are not counted.
    ///
    /// # Errors
    /// As [`SparseRows::from_rows`], which accepts the rows of a fitted vocabulary.
    pub fn rows<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<SparseRows, Error> {
        count(self.options, self.len(), texts, |ngram| self.columns.get(ngram).copied())
    }
}

/// The bucket of a term, `h mod buckets` with h the [`hash`] of its UTF-8 bytes.
///
/// It does not change within a major version. `buckets` must be at least 1; 0 counts as 1.
pub fn bucket(term: &str, buckets: u32) -> u32 {
    (hash(term.as_bytes()) % u64::from(buckets.max(1))) as u32
}

fn count<S: AsRef<str> + Sync>(
    options: NgramOptions,
    width: usize,
    texts: &[S],
    column: impl Fn(&str) -> Option<u32> + Sync,
) -> Result<SparseRows, Error> {
    let rows: Vec<BTreeMap<u32, f32>> = texts
        .par_iter()
        .map(|text| {
            let mut counts = BTreeMap::new();
            let mut buffer = String::new();
            options.each(text.as_ref(), &mut buffer, |ngram| {
                if let Some(column) = column(ngram) {
                    *counts.entry(column).or_insert(0.0f32) += 1.0;
                }
            });
            counts
        })
        .collect();
    SparseRows::from_rows(width, rows)
}
