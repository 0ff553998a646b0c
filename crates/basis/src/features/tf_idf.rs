use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SparseRows, bucket};
use crate::Error;
use crate::random::{Fnv, finalise};

/// Texts of which one task counts the n-grams.
const TEXTS: usize = 256;

/// A hasher that is the same in every process, and faster on short words than the standard one.
#[derive(Default)]
struct Words(Fnv);

impl Hasher for Words {
    fn finish(&self) -> u64 {
        finalise(self.0.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

type Map<V> = HashMap<String, V, BuildHasherDefault<Words>>;

/// What an n-gram is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NgramKind {
    /// Runs of words; a word is two or more letters, digits or underscores.
    Words,
    /// Runs of characters inside one word, which is padded with a space on both sides
    /// (scikit-learn's `char_wb`).
    Characters,
}

/// One block of n-gram features. Each block is weighted and normalised by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NgramConfig {
    /// What the n-grams are made of.
    pub kind: NgramKind,
    /// Length of the shortest n-grams.
    pub min: usize,
    /// Length of the longest n-grams.
    pub max: usize,
    /// Whether texts are lower-cased. Not for SMILES: `c` is aromatic, `C` is not.
    #[serde(default = "yes")]
    pub lowercase: bool,
    /// An n-gram that occurs in fewer training texts than this is left out; 1 with `buckets`.
    #[serde(default = "one")]
    pub min_texts: usize,
    /// 0 keeps a vocabulary of all n-grams; a positive number hashes them into that many buckets,
    /// which bounds the memory whatever the texts are.
    #[serde(default)]
    pub buckets: usize,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

impl NgramConfig {
    /// Checks lengths.
    ///
    /// # Errors
    /// [`Error::NgramSetting`] for `min` 0 or above `max`, and for more buckets than 32-bit indices reach.
    pub fn validate(&self) -> Result<(), Error> {
        if self.min == 0 || self.min > self.max || self.max > 64 {
            let found = format!("min {}, max {}", self.min, self.max);
            let allowed = "1 ≤ min ≤ max ≤ 64".into();
            return Err(Error::NgramSetting { key: "ngrams", found, allowed });
        }
        if self.buckets > 0 && self.min_texts > 1 {
            let found = self.min_texts.to_string();
            let allowed = "1 with buckets, which keep every n-gram".into();
            return Err(Error::NgramSetting { key: "ngrams.min_texts", found, allowed });
        }
        if self.buckets > 1 << 28 {
            let found = self.buckets.to_string();
            return Err(Error::NgramSetting {
                key: "ngrams.buckets",
                found,
                allowed: "at most 2^28".into(),
            });
        }
        Ok(())
    }

    /// Calls `visit` with every n-gram of `text`.
    fn each(&self, text: &str, visit: &mut dyn FnMut(&str)) {
        let text = if self.lowercase { Cow::Owned(text.to_lowercase()) } else { text.into() };
        match self.kind {
            NgramKind::Words => {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                let words: Vec<&str> =
                    text.split(|c| !word(c)).filter(|w| w.chars().nth(1).is_some()).collect();
                for n in self.min..=self.max {
                    for run in words.windows(n) {
                        if n == 1 { visit(run[0]) } else { visit(&run.join(" ")) }
                    }
                }
            }
            NgramKind::Characters => {
                let mut padded = String::new();
                let mut starts = Vec::new();
                for word in text.split_whitespace() {
                    padded.clear();
                    padded.push(' ');
                    padded.push_str(word);
                    padded.push(' ');
                    starts.clear();
                    starts.extend(padded.char_indices().map(|(i, _)| i));
                    starts.push(padded.len());
                    let characters = starts.len() - 1;
                    for n in self.min..=self.max {
                        if n >= characters {
                            // a word shorter than n counts once, and not again for longer n
                            visit(&padded);
                            break;
                        }
                        for i in 0..=characters - n {
                            visit(&padded[starts[i]..starts[i + n]]);
                        }
                    }
                }
            }
        }
    }
}

/// A sparse row: distinct ascending indices and their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRow {
    /// Feature indices, ascending.
    pub indices: Vec<u32>,
    /// Their values.
    pub values: Vec<f32>,
}

/// TF-IDF weights of n-grams as scikit-learn's `TfidfVectorizer(sublinear_tf=True)` gives them:
/// `(1 + ln tf) · (ln((1 + n) / (1 + df)) + 1)`, every block of a row normalised to length 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TfIdf {
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    ngrams: NgramConfig,
    /// Terms in the order of their indices; empty when hashed.
    terms: Vec<String>,
    idf: Vec<f32>,
    #[serde(skip)]
    index: Map<u32>,
}

impl TfIdf {
    /// Collects the vocabulary and the document frequencies of `texts`, in parallel.
    ///
    /// # Errors
    /// [`Error::NgramSetting`]; [`Error::EmptyVocabulary`] when no n-gram occurs often enough.
    pub fn fit<'t>(
        configs: &[NgramConfig],
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> Result<Self, Error> {
        let texts: Vec<&str> = texts.collect();
        let block = |ngrams| Block::fit(ngrams, &texts);
        let blocks = configs.iter().map(block).collect::<Result<Vec<_>, _>>()?;
        let fitted = Self { blocks };
        if fitted.width() == 0 {
            return Err(Error::EmptyVocabulary { texts: texts.len() });
        }
        Ok(fitted)
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.blocks.iter().map(|block| block.idf.len()).sum()
    }

    /// The TF-IDF row of a text. N-grams outside the vocabulary are ignored, so a text may give an
    /// empty row.
    pub fn transform(&self, text: &str) -> SparseRow {
        let mut row = SparseRow::default();
        let mut first = 0;
        for block in &self.blocks {
            let counts = block.counts(text);
            let start = row.values.len();
            for (index, count) in counts {
                row.indices.push(first + index);
                row.values.push((1.0 + (count as f32).ln()) * block.idf[index as usize]);
            }
            let values = &mut row.values[start..];
            let norm = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt() as f32;
            values.iter_mut().for_each(|v| *v /= norm);
            first += block.idf.len() as u32;
        }
        row
    }

    /// The TF-IDF rows of some texts, computed in parallel.
    ///
    /// ```
    /// use dsokr_basis::features::{NgramConfig, NgramKind, TfIdf};
    ///
    /// let words = NgramConfig {
    ///     kind: NgramKind::Words, min: 1, max: 1, lowercase: true, min_texts: 1, buckets: 0,
    /// };
    /// let texts = ["red wine", "red ink"];
    /// let rows = TfIdf::fit(&[words], texts.into_iter())?.rows(&texts)?;
    /// assert_eq!((rows.len(), rows.width(), rows.entries()), (2, 3, 4));
    /// # Ok::<(), dsokr_basis::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFinite`] for weights that came from a file and overflow.
    pub fn rows<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<SparseRows, Error> {
        let rows: Vec<SparseRow> =
            texts.par_iter().map(|text| self.transform(text.as_ref())).collect();
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        let entries = rows.iter().map(|row| row.values.len()).sum();
        let (mut columns, mut values) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        for row in rows {
            columns.extend_from_slice(&row.indices);
            values.extend_from_slice(&row.values);
            offsets.push(values.len());
        }
        SparseRows::new(self.width(), offsets, columns, values)
    }

    /// Writes the vocabulary and weights as JSON.
    pub fn to_json(&self) -> String {
        // strings and numbers only: serialising them cannot fail
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`Error::BadVocabulary`] for a file that cannot be read or holds something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::BadVocabulary { path: path.to_path_buf(), reason };
        let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
        let mut read: Self = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
        for block in &mut read.blocks {
            block.ngrams.validate().map_err(|e| fail(e.to_string()))?;
            let (terms, weights) = (block.terms.len(), block.idf.len());
            let whole = match block.ngrams.buckets {
                0 => terms == weights,
                buckets => terms == 0 && weights == buckets,
            };
            if !whole || block.idf.iter().any(|v| !v.is_finite()) {
                return Err(fail("terms and weights do not belong together".into()));
            }
            block.fill_index();
        }
        Ok(read)
    }
}

impl Block {
    fn fit(ngrams: &NgramConfig, texts: &[&str]) -> Result<Self, Error> {
        ngrams.validate()?;
        let count = texts.len();
        let idf = |df: u32| ((1.0 + count as f64) / (1.0 + f64::from(df))).ln() as f32 + 1.0;
        let mut block = Self {
            ngrams: ngrams.clone(),
            terms: Vec::new(),
            idf: Vec::new(),
            index: Map::default(),
        };
        if ngrams.buckets > 0 {
            let mut frequency = vec![0u32; ngrams.buckets];
            for text in texts {
                let mut seen = Vec::new();
                ngrams.each(text, &mut |term| seen.push(bucket(term, ngrams.buckets as u32)));
                seen.sort_unstable();
                seen.dedup();
                seen.iter().for_each(|&i| frequency[i as usize] += 1);
            }
            block.idf = frequency.into_iter().map(idf).collect();
            return Ok(block);
        }
        // Counts add up to the same whatever the chunks, and terms are sorted in the end.
        let counted: Vec<Map<(u32, usize)>> =
            texts.par_chunks(TEXTS).map(|texts| frequencies(ngrams, texts)).collect();
        let mut frequency: Map<u32> = Map::default();
        for (term, (df, _)) in counted.into_iter().flatten() {
            *frequency.entry(term).or_default() += df;
        }
        let mut kept: Vec<(String, u32)> =
            frequency.into_iter().filter(|(_, df)| *df as usize >= ngrams.min_texts).collect();
        kept.par_sort_unstable();
        block.idf = kept.iter().map(|(_, df)| idf(*df)).collect();
        block.terms = kept.into_iter().map(|(term, _)| term).collect();
        block.fill_index();
        Ok(block)
    }

    fn fill_index(&mut self) {
        self.index = self.terms.iter().cloned().zip(0..).collect();
    }

    /// (index, count) of the block's n-grams in a text, ascending.
    fn counts(&self, text: &str) -> Vec<(u32, u32)> {
        let mut found: Vec<u32> = Vec::new();
        let buckets = self.ngrams.buckets;
        self.ngrams.each(text, &mut |term| {
            if buckets > 0 {
                found.push(bucket(term, buckets as u32));
            } else if let Some(&index) = self.index.get(term) {
                found.push(index);
            }
        });
        found.sort_unstable();
        let runs = found.chunk_by(|a, b| a == b);
        runs.map(|run| (run[0], run.len() as u32)).collect()
    }
}

/// For each n-gram of some texts, in how many it occurs, and the last of them.
fn frequencies(ngrams: &NgramConfig, texts: &[&str]) -> Map<(u32, usize)> {
    let mut frequency: Map<(u32, usize)> = Map::default();
    for (i, text) in texts.iter().enumerate() {
        ngrams.each(text, &mut |term| match frequency.get_mut(term) {
            Some((_, last)) if *last == i => {}
            Some((df, last)) => (*df, *last) = (*df + 1, i),
            None => {
                frequency.insert(term.to_string(), (1, i));
            }
        });
    }
    frequency
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: NgramKind, min: usize, max: usize) -> NgramConfig {
        NgramConfig { kind, min, max, min_texts: 1, lowercase: true, buckets: 0 }
    }

    fn ngrams(config: &NgramConfig, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        config.each(text, &mut |term| all.push(term.to_string()));
        all
    }

    #[test]
    fn words_have_two_characters_and_join_with_a_space() {
        let found = ngrams(&block(NgramKind::Words, 1, 2), "a methyl-ester of 5 acids");
        let expected = ["methyl", "ester", "of", "acids", "methyl ester", "ester of", "of acids"];
        assert_eq!(found, expected);
    }

    #[test]
    fn characters_stay_inside_padded_words_and_short_words_count_once() {
        let found = ngrams(&block(NgramKind::Characters, 3, 5), "an é");
        assert_eq!(found, [" an", "an ", " an ", " é "]);
    }

    #[test]
    fn hashed_rows_equal_vocabulary_rows_when_buckets_do_not_collide() {
        let texts = ["a methyl ester of an acid", "an ester", "a long chain acid"];
        let exact = [block(NgramKind::Words, 1, 1)];
        let hashed = [NgramConfig { buckets: 1 << 20, ..exact[0].clone() }];
        let exact = TfIdf::fit(&exact, texts.into_iter()).unwrap();
        let hashed = TfIdf::fit(&hashed, texts.into_iter()).unwrap();
        for text in texts {
            let mut a = exact.transform(text).values;
            let mut b = hashed.transform(text).values;
            a.sort_by(f32::total_cmp);
            b.sort_by(f32::total_cmp);
            assert_eq!(a, b);
        }
    }

    #[test]
    fn json_gives_back_the_same_weights() {
        let texts = ["alpha beta", "beta gamma delta"];
        let fitted = TfIdf::fit(&[block(NgramKind::Characters, 2, 3)], texts.into_iter()).unwrap();
        let file = std::env::temp_dir().join(format!("dsokr-tf-idf-{}.json", std::process::id()));
        std::fs::write(&file, fitted.to_json()).unwrap();
        let read = TfIdf::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(read.transform("beta alpha"), fitted.transform("beta alpha"));
    }

    #[test]
    fn nothing_to_learn_from_is_an_error() {
        let config = NgramConfig { min_texts: 3, lowercase: true, ..block(NgramKind::Words, 1, 1) };
        let fitted = TfIdf::fit(&[config], ["alpha", "beta"].into_iter());
        assert!(matches!(fitted, Err(Error::EmptyVocabulary { texts: 2 })));
    }

    /// Values that scikit-learn 1.x computed (smooth idf, sublinear tf, l2).
    #[test]
    fn rows_equal_scikit_learns() {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
        let root = std::env::var_os("DSOKR_DATA").map_or(default.into(), std::path::PathBuf::from);
        let path = root.join("golden/tfidf_sklearn.json");
        let Ok(text) = std::fs::read_to_string(&path) else {
            return eprintln!("skipped: rows_equal_scikit_learns needs {}", path.display());
        };
        let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
        let texts = |key: &str| -> Vec<String> {
            golden[key].as_array().unwrap().iter().map(|t| t.as_str().unwrap().into()).collect()
        };
        let characters = block(NgramKind::Characters, 3, 5);
        for (key, config) in [
            ("word_1_2", block(NgramKind::Words, 1, 2)),
            ("char_wb_3_5_min_df_2", NgramConfig { min_texts: 2, lowercase: true, ..characters }),
        ] {
            let train = texts("texts");
            let fitted = TfIdf::fit(&[config], train.iter().map(String::as_str)).unwrap();
            assert_eq!(golden[key]["features"], fitted.width());
            for part in ["texts", "queries"] {
                for (text, row) in texts(part).iter().zip(golden[key][part].as_array().unwrap()) {
                    let (row, ours) = (row.as_object().unwrap(), fitted.transform(text));
                    assert_eq!(row.len(), ours.indices.len(), "{key}: {text}");
                    for (&index, value) in ours.indices.iter().zip(ours.values) {
                        let term = &fitted.blocks[0].terms[index as usize];
                        let theirs = row[term].as_f64().unwrap();
                        assert!((theirs - f64::from(value)).abs() < 1e-6, "{key}: {term:?}");
                    }
                }
            }
        }
    }
}
