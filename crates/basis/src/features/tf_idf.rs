use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ngram_block::NgramBlock;
use super::ngram_config::CasedText;
use super::{NgramConfig, SparseRows};
use crate::Error;

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
    blocks: Vec<NgramBlock>,
}

impl TfIdf {
    /// Collects the vocabulary and the document frequencies of `texts`, in parallel.
    ///
    /// # Errors
    /// [`Error::Value`]; [`Error::Unsupported`] when no n-gram occurs often enough.
    pub fn fit<'t>(
        configs: &[NgramConfig],
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> Result<Self, Error> {
        let texts: Vec<CasedText> = texts.map(CasedText::new).collect();
        let block = |ngrams| NgramBlock::fit(ngrams, &texts);
        let blocks = configs.iter().map(block).collect::<Result<Vec<_>, _>>()?;
        let fitted = Self { blocks };
        if fitted.width() == 0 {
            let texts = texts.len();
            return Err(Error::Unsupported(format!(
                "the {texts} training texts give no n-gram: lower min_texts, or give longer texts"
            )));
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
        let text = CasedText::new(text);
        for block in &self.blocks {
            let counts = block.counts(&text);
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
    /// [`Error::File`] for a file that cannot be read or holds something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::file(path, reason);
        let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
        let mut read: Self = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
        for block in &mut read.blocks {
            block.complete().map_err(&fail)?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::NgramKind;

    fn block(kind: NgramKind, min: usize, max: usize) -> NgramConfig {
        NgramConfig { kind, min, max, min_texts: 1, lowercase: true, buckets: 0 }
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
        let config = NgramConfig { min_texts: 3, ..block(NgramKind::Words, 1, 1) };
        let fitted = TfIdf::fit(&[config], ["alpha", "beta"].into_iter());
        let error = fitted.unwrap_err().to_string();
        assert!(error.starts_with("the 2 training texts give no n-gram"), "{error}");
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
            ("char_wb_3_5_min_df_2", NgramConfig { min_texts: 2, ..characters }),
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
