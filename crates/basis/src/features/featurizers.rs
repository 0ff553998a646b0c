use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use dsokr_core::Error;
use dsokr_core::random::hash;
use rayon::prelude::*;

use super::ngram_config::{character_runs, character_starts};
use super::{BitRows, DenseRows, SparseRows, check_width};

/// Character n-grams with a column each, fitted on some texts.
///
/// ```
/// use dsokr_basis::features::NgramVocabulary;
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
    /// The n-grams of these lengths, all runs of so many Unicode characters, that occur in `texts`, sorted by their bytes.
    ///
    /// # Errors
    /// [`Error::Value`] for lengths that are not 1 and more; [`Error::Shape`] when
    /// no n-gram occurs.
    pub fn fit<S: AsRef<str>>(lengths: RangeInclusive<usize>, texts: &[S]) -> Result<Self, Error> {
        let mut ngrams = BTreeSet::new();
        for text in texts {
            each(&lengths, text.as_ref(), &mut |ngram| {
                if !ngrams.contains(ngram) {
                    ngrams.insert(ngram.to_owned());
                }
            });
        }
        Self::from_ngrams(lengths, ngrams)
    }

    /// The vocabulary of n-grams that were fitted before, in any order.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn from_ngrams(
        lengths: RangeInclusive<usize>,
        ngrams: impl IntoIterator<Item = String>,
    ) -> Result<Self, Error> {
        let holds = *lengths.start() > 0 && !lengths.is_empty();
        let found = format_args!("{lengths:?}");
        Error::ensure(holds, "lengths of n-grams", found, "a range of 1 and more")?;
        Ok(Self { lengths, columns: numbered(ngrams.into_iter().collect())? })
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
        let row = |text: &S| {
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

/// The bucket of a term, `h mod buckets` with h the [`hash`] of its UTF-8 bytes.
///
/// It does not change within a major version. `buckets` must be at least 1; 0 counts as 1.
pub fn bucket(term: &str, buckets: u32) -> u32 {
    (hash(term.as_bytes()) % u64::from(buckets.max(1))) as u32
}

/// A column for each name, in their order.
fn numbered(names: BTreeSet<String>) -> Result<BTreeMap<String, u32>, Error> {
    check_width(names.len())?;
    Ok(names.into_iter().zip(0..).collect())
}

/// Labels with a column each, fitted on the label sets of some objects.
///
/// ```
/// use dsokr_basis::features::LabelVocabulary;
///
/// let sets = [vec!["red", "round"], vec![], vec!["round", "big"]];
/// let labels = LabelVocabulary::fit(&sets)?;
/// assert_eq!(labels.names().collect::<Vec<_>>(), ["big", "red", "round"]);
/// assert_eq!(labels.rows(&sets)?.values(), [0b110, 0b000, 0b101]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelVocabulary {
    columns: BTreeMap<String, u32>,
}

impl LabelVocabulary {
    /// The labels that occur in `sets`, sorted by their bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no label at all.
    pub fn fit<S: AsRef<str>>(sets: &[Vec<S>]) -> Result<Self, Error> {
        let labels = sets.iter().flatten().map(|label| label.as_ref().to_owned());
        Ok(Self { columns: numbered(labels.collect())? })
    }

    /// The labels, in the order of their columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// One row of bits for each set of labels; a label given twice counts once.
    ///
    /// # Errors
    /// [`Error::Row`] for a label that is not known.
    pub fn rows<S: AsRef<str>>(&self, sets: &[Vec<S>]) -> Result<BitRows, Error> {
        let known = self.columns.len();
        let columns = |(row, set): (usize, &Vec<S>)| {
            let column = |label: &S| {
                let column = self.columns.get(label.as_ref()).copied();
                column.ok_or_else(|| {
                    let label = label.as_ref();
                    Error::row(row, format!("unknown label {label:?}; {known} labels are known"))
                })
            };
            set.iter().map(column).collect::<Result<Vec<u32>, Error>>()
        };
        let rows = sets.iter().enumerate().map(columns).collect::<Result<Vec<_>, _>>()?;
        BitRows::from_indices(known, rows)
    }
}

/// The rank of an item that a partial ranking leaves out.
pub const UNRANKED: u32 = u32::MAX;

/// Kemeny embedding of rankings: the order of every pair of items, K(K−1)/2 signs a row.
///
/// `ranks[r][i]` is the rank of item i in ranking r (smaller is better; equal ranks are ties;
/// [`UNRANKED`] is an item that the ranking leaves out). The column of items i < j, in lexicographic
/// order, holds `sign(ranks[j] − ranks[i])`: +1 when i is ranked before j, −1 after, 0 for a tie and
/// where one of them is not ranked. The kernel on these rows is Kendall's τ
/// (Korba et al. 2018; thesis, section 2.1).
///
/// ```
/// use dsokr_basis::features::{UNRANKED, kemeny_signs};
///
/// let rows = kemeny_signs(&[vec![0, 1, 2], vec![2, 0, 0], vec![1, UNRANKED, 0]])?;
/// assert_eq!(rows.values(), [1.0, 1.0, 1.0, -1.0, -1.0, 0.0, 0.0, -1.0, 0.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for no rankings and for fewer than two items; [`Error::Row`] when rankings have
/// different numbers of items.
pub fn kemeny_signs(ranks: &[Vec<u32>]) -> Result<DenseRows, Error> {
    let items = items(ranks)?;
    let mut signs = Vec::with_capacity(ranks.len() * items * items.saturating_sub(1) / 2);
    for ranks in ranks {
        for (i, &first) in ranks.iter().enumerate() {
            let sign = |&second: &u32| {
                if first == UNRANKED || second == UNRANKED {
                    0.0
                } else {
                    // an order is 1, 0 or -1
                    f32::from(second.cmp(&first) as i8)
                }
            };
            signs.extend(ranks[i + 1..].iter().map(sign));
        }
    }
    DenseRows::new(items * (items - 1) / 2, signs)
}

/// Hamming embedding of rankings: which item has which rank, K² bits a row, K of them set.
///
/// `ranks[r][i]`, in `0..K`, is the rank of item i in ranking r; bit `i·K + ranks[r][i]` is set.
/// The kernel on these rows is the share of items with equal ranks (Korba et al. 2018).
///
/// # Errors
/// [`Error::Shape`] for no rankings or no items; [`Error::Row`] when rankings have different numbers
/// of items, for a rank of K or more, and for two items of the same rank.
pub fn hamming_one_hot(ranks: &[Vec<u32>]) -> Result<BitRows, Error> {
    let items = permutations(ranks)?;
    let width = items.saturating_mul(items);
    check_width(width)?;
    let bit = |(item, rank): (usize, &u32)| (item * items) as u32 + rank;
    BitRows::from_indices(width, ranks.iter().map(|ranks| ranks.iter().enumerate().map(bit)))
}

/// Lehmer codes of rankings: for each item i how many items j < i are ranked behind it, K numbers a row.
///
/// `ranks[r][i]`, in `0..K`, is the rank of item i in ranking r. The code of item i is in `0..=i`, and every
/// row of such numbers is the code of one ranking, so that the nearest code to a prediction is found
/// number by number (Korba et al. 2018).
///
/// ```
/// use dsokr_basis::features::lehmer_codes;
///
/// assert_eq!(lehmer_codes(&[vec![1, 0, 3, 2]])?.values(), [0.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// As [`hamming_one_hot`].
pub fn lehmer_codes(ranks: &[Vec<u32>]) -> Result<DenseRows, Error> {
    let items = permutations(ranks)?;
    let code = |ranks: &Vec<u32>, i: usize| ranks[..i].iter().filter(|&&j| j > ranks[i]).count();
    let codes = ranks.iter().flat_map(|ranks| (0..items).map(move |i| code(ranks, i) as f32));
    DenseRows::new(items, codes.collect::<Vec<_>>())
}

/// The number of items of rankings in which each rank occurs once.
fn permutations(ranks: &[Vec<u32>]) -> Result<usize, Error> {
    let items = items(ranks)?;
    let mut taken = vec![usize::MAX; items];
    for (row, ranks) in ranks.iter().enumerate() {
        for (item, &rank) in ranks.iter().enumerate() {
            let Some(taken) = taken.get_mut(rank as usize) else {
                let column = rank as usize;
                return Err(Error::column(row, column, items));
            };
            if *taken == row {
                let message = format!("item {item} has rank {rank}, which an earlier item has too");
                return Err(Error::row(row, message));
            }
            *taken = row;
        }
    }
    Ok(items)
}

fn items(ranks: &[Vec<u32>]) -> Result<usize, Error> {
    let expected = ranks.first().ok_or_else(Error::no_rows)?.len();
    match ranks.iter().position(|ranks| ranks.len() != expected) {
        Some(row) => {
            let found = ranks[row].len();
            Err(Error::row(row, format!("{found} entries, expected {expected}")))
        }
        None => check_width(expected).map(|()| expected),
    }
}
