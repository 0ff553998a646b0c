//! TF-IDF rows of n-grams.

use std::collections::HashMap;
use std::path::Path;

use dsokr_basis::features::{SparseRow, SparseRows, check_width};
use dsokr_core::random::hash;
use dsokr_core::{Cancellation, Error, RowWeights};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ngram_config::{CasedText, NgramConfig, NgramKind};

/// TF-IDF weights of n-grams as scikit-learn's `TfidfVectorizer(sublinear_tf=True)` gives them:
/// `(1 + ln tf) · (ln((1 + n) / (1 + df)) + 1)`, every block of a row normalised to length 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TfIdf {
    blocks: Vec<NgramBlock>,
}

impl TfIdf {
    /// Collects the vocabulary and the document frequencies of `texts`, in parallel.
    ///
    /// # Errors
    /// The errors of [`NgramConfig::validate`]; [`Error::Unsupported`] when no n-gram occurs often enough;
    /// [`Error::Shape`] for more columns than 32 bits number.
    pub fn fit<'t>(
        configs: &[NgramConfig],
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> Result<Self, Error> {
        Self::fit_weighted(configs, texts, &RowWeights::equal())
    }

    /// Fits like [`fit`](Self::fit), where a text counts as often as its weight says: n is `Σ_i w_i`, and df the sum of
    /// the weights of the texts that have the n-gram. For [`min_texts`](NgramConfig::min_texts) a text counts ⌈w⌉
    /// times, so that no n-gram is left out because its text weighs less than 1.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit); [`Error::Shape`] unless there is one weight for each text, or none.
    pub fn fit_weighted<'t>(
        configs: &[NgramConfig],
        texts: impl Iterator<Item = &'t str> + Clone,
        weights: &RowWeights,
    ) -> Result<Self, Error> {
        let texts: Vec<CasedText> = texts.map(CasedText::new).collect();
        weights.check(texts.len())?;
        let block = |ngrams| NgramBlock::fit(ngrams, &texts, weights);
        let blocks = configs.iter().map(block).collect::<Result<Vec<_>, _>>()?;
        let fitted = Self { blocks };
        if fitted.width() == 0 {
            let mut remedies = Vec::new();
            if configs.iter().any(|ngrams| ngrams.min_texts > 1) {
                remedies.push("lower min_texts");
            }
            if shorter_words_help(configs, &texts) {
                remedies.push("set min_characters = 1 in blocks of words");
            }
            remedies.push("give longer texts");
            let texts = texts.len();
            let remedies = remedies.join(", or ");
            return Err(Error::Unsupported(format!(
                "the {texts} training texts give no n-gram: {remedies}"
            )));
        }
        check_width(fitted.width())?;
        Ok(fitted)
    }

    /// Returns the number of features.
    pub fn width(&self) -> usize {
        self.blocks.iter().map(|block| block.idf.len()).sum()
    }

    /// Returns the TF-IDF row of a text. N-grams outside the vocabulary are ignored, so a text may give an
    /// empty row.
    pub fn transform(&self, text: &str) -> SparseRow {
        let mut row = SparseRow::new();
        let mut first = 0;
        let text = CasedText::new(text);
        for block in &self.blocks {
            let start = row.len();
            let weight = |(index, count): (u32, u32)| {
                let weight = (1.0 + (count as f32).ln()) * block.idf[index as usize];
                (first + index, weight)
            };
            row.extend(block.counts(&text).into_iter().map(weight));
            let row_terms = &mut row[start..];
            let norm =
                row_terms.iter().map(|(_, v)| f64::from(*v).powi(2)).sum::<f64>().sqrt() as f32;
            row_terms.iter_mut().for_each(|(_, v)| *v /= norm);
            first += block.idf.len() as u32;
        }
        row
    }

    /// Returns the TF-IDF rows of some texts, computed in parallel.
    ///
    /// ```
    /// use dsokr_data::featurizers::{NgramConfig, NgramKind, TfIdf};
    ///
    /// let words = NgramConfig::new(NgramKind::Words, 1, 1);
    /// let texts = ["red wine", "red ink"];
    /// let rows = TfIdf::fit(&[words], texts.into_iter())?.rows(&texts)?;
    /// assert_eq!((rows.len(), rows.width(), rows.entries()), (2, 3, 4));
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// None for what [`fit`](Self::fit) or [`read`](Self::read) gave.
    pub fn rows<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<SparseRows, Error> {
        let stage = Cancellation::current().stage("TF-IDF of the texts", texts.len());
        let rows = texts.par_iter().map(|text| {
            stage.count(1);
            self.transform(text.as_ref())
        });
        SparseRows::from_rows(self.width(), rows.collect::<Vec<_>>())
    }

    /// Writes the vocabulary and weights as JSON.
    pub fn to_json(&self) -> String {
        // strings and numbers only: serialising them cannot fail
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read or holds something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = dsokr_core::store::read_text(path);
        Self::from_json(&text.map_err(|error| Error::file(path, error.to_string()))?, path)
    }

    /// Reads features like [`read`](Self::read), from a text in memory; errors call it `path`.
    ///
    /// # Errors
    /// [`Error::File`] for a text that is something else.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::file(path, reason);
        let mut read: Self = serde_json::from_str(text).map_err(|e| fail(e.to_string()))?;
        for block in &mut read.blocks {
            block.complete().map_err(&fail)?;
        }
        check_width(read.width()).map_err(|error| fail(error.to_string()))?;
        Ok(read)
    }
}

/// Weights of n-grams, `ln((1 + n) / (1 + df)) + 1` with df ≤ n, of any number of texts.
const WEIGHTS: std::ops::RangeInclusive<f32> = 1.0..=64.0;

/// Number of texts whose n-grams one task counts.
const TEXTS: usize = 256;

/// Number of texts whose hashed n-grams are held at once.
const WAVE: usize = 1 << 14;

/// Terms are short: a hasher that is faster on them than the standard one.
type TermMap<V> = HashMap<String, V, foldhash::fast::RandomState>;

/// The n-grams of one configuration that were kept of the training texts, and their weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NgramBlock {
    ngrams: NgramConfig,
    /// Terms in the order of their indices; empty when hashed.
    terms: Vec<String>,
    idf: Vec<f32>,
    #[serde(skip)]
    index: TermMap<u32>,
}

impl NgramBlock {
    /// Counts in how many texts each n-gram occurs, in parallel.
    ///
    /// # Errors
    /// The errors of [`NgramConfig::validate`].
    fn fit(ngrams: &NgramConfig, texts: &[CasedText], weights: &RowWeights) -> Result<Self, Error> {
        ngrams.validate("ngrams")?;
        let stage = Cancellation::current().stage("vocabulary of n-grams", texts.len());
        let count = weights.total(texts.len());
        // the sums of weights that make df may be above that of all by rounding
        let idf = |df: f64| ((1.0 + count) / (1.0 + df.min(count))).ln() as f32 + 1.0;
        let mut block = Self {
            ngrams: ngrams.clone(),
            terms: Vec::new(),
            idf: Vec::new(),
            index: TermMap::default(),
        };
        if ngrams.buckets > 0 {
            let mut frequency = vec![0.0; ngrams.buckets];
            // Texts are hashed in parallel, a wave of them at once, and counted in their order.
            for (wave, texts) in texts.chunks(WAVE).enumerate() {
                stage.advance(texts.len())?;
                let counts: Vec<_> = texts.par_iter().map(|text| block.counts(text)).collect();
                for (at, counts) in counts.into_iter().enumerate() {
                    let weight = weights.get(wave * WAVE + at);
                    counts.into_iter().for_each(|(index, _)| frequency[index as usize] += weight);
                }
            }
            block.idf = frequency.into_iter().map(idf).collect();
            return Ok(block);
        }
        // Chunks do not depend on the threads and are added up in their order; terms are sorted in the end.
        let chunks = texts.par_chunks(TEXTS).enumerate();
        let counted: Vec<TermMap<Frequency>> = chunks
            .map(|(chunk, texts)| {
                stage.count(texts.len());
                frequencies(ngrams, texts, chunk * TEXTS, weights)
            })
            .collect();
        let mut frequency: TermMap<Frequency> = TermMap::default();
        for (term, part) in counted.into_iter().flatten() {
            let sum = frequency.entry(term).or_default();
            sum.weight += part.weight;
            sum.texts += part.texts;
        }
        let mut kept: Vec<(String, f64)> = frequency
            .into_iter()
            .filter(|(_, sum)| sum.texts >= ngrams.min_texts as f64)
            .map(|(term, sum)| (term, sum.weight))
            .collect();
        kept.par_sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        block.idf = kept.iter().map(|(_, df)| idf(*df)).collect();
        block.terms = kept.into_iter().map(|(term, _)| term).collect();
        block.fill_index();
        Ok(block)
    }

    /// Checks a block that was read from a file, and makes what the file does not hold.
    fn complete(&mut self) -> Result<(), String> {
        self.ngrams.validate("ngrams").map_err(|error| error.to_string())?;
        let terms = self.terms.len();
        let weights = self.idf.len();
        let whole = match self.ngrams.buckets {
            0 => terms == weights,
            buckets => terms == 0 && weights == buckets,
        };
        if !whole {
            return Err("terms and weights do not belong together".into());
        }
        if let Some(weight) = self.idf.iter().find(|weight| !WEIGHTS.contains(*weight)) {
            let least = WEIGHTS.start();
            let most = WEIGHTS.end();
            return Err(format!("a weight of {weight}, allowed: {least} to {most}"));
        }
        self.fill_index();
        Ok(())
    }

    fn fill_index(&mut self) {
        self.index = self.terms.iter().cloned().zip(0..).collect();
    }

    /// Returns (index, count) of the block's n-grams in a text, ascending.
    fn counts(&self, text: &CasedText) -> Vec<(u32, u32)> {
        let mut indices: Vec<u32> = Vec::new();
        let buckets = self.ngrams.buckets;
        self.ngrams.each(text, &mut |term| {
            if buckets > 0 {
                indices.push(bucket(term, buckets as u32));
            } else if let Some(&index) = self.index.get(term) {
                indices.push(index);
            }
        });
        indices.sort_unstable();
        let runs = indices.chunk_by(|a, b| a == b);
        runs.map(|run| (run[0], run.len() as u32)).collect()
    }
}

/// Returns whether some of the blocks are of words, of which texts have shorter ones alone.
fn shorter_words_help(configs: &[NgramConfig], texts: &[CasedText]) -> bool {
    let longer =
        |ngrams: &&NgramConfig| ngrams.kind == NgramKind::Words && ngrams.shortest_word() > 1;
    let gives_some = |ngrams: &NgramConfig| {
        let mut some = false;
        texts.iter().for_each(|text| ngrams.each(text, &mut |_| some = true));
        some
    };
    configs.iter().filter(longer).any(|ngrams| {
        let shorter = NgramConfig { min_characters: Some(1), ..ngrams.clone() };
        !gives_some(ngrams) && gives_some(&shorter)
    })
}

/// The number of texts in which an n-gram occurs.
#[derive(Default)]
struct Frequency {
    /// The sum of the weights of these texts.
    weight: f64,
    /// The number of texts; a text with a weight above 1 counts as its weight, rounded up.
    texts: f64,
    /// The last of them.
    last: usize,
}

/// Returns, for each n-gram of some texts, the texts in which it occurs; the first text is number `first` of all.
fn frequencies(
    ngrams: &NgramConfig,
    texts: &[CasedText],
    first: usize,
    weights: &RowWeights,
) -> TermMap<Frequency> {
    let mut frequency: TermMap<Frequency> = TermMap::default();
    for (text, number) in texts.iter().zip(first..) {
        let weight = weights.get(number);
        let texts = weight.ceil();
        ngrams.each(text, &mut |term| match frequency.get_mut(term) {
            Some(seen) if seen.last == number => {}
            Some(seen) => {
                seen.weight += weight;
                seen.texts += texts;
                seen.last = number;
            }
            None => {
                frequency.insert(term.to_string(), Frequency { weight, texts, last: number });
            }
        });
    }
    frequency
}

/// Returns the bucket of a term, `h mod buckets` with h the [`hash`] of its UTF-8 bytes.
///
/// It does not change within a major version. `buckets` must be at least 1; 0 counts as 1.
pub fn bucket(term: &str, buckets: u32) -> u32 {
    (hash(term.as_bytes()) % u64::from(buckets.max(1))) as u32
}
