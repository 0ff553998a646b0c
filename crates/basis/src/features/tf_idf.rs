use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ngram_block::NgramBlock;
use super::ngram_config::CasedText;
use super::{NgramConfig, SparseRows, check_width};
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
    /// As [`NgramConfig::validate`]; [`Error::Unsupported`] when no n-gram occurs often enough; [`Error::Shape`] for
    /// more columns than 32 bits number.
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
        check_width(fitted.width())?;
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
    /// None for what [`fit`](Self::fit) or [`read`](Self::read) gave.
    pub fn rows<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Result<SparseRows, Error> {
        let rows: Vec<SparseRow> =
            texts.par_iter().map(|text| self.transform(text.as_ref())).collect();
        let entries = rows.into_iter().map(|row| row.indices.into_iter().zip(row.values));
        SparseRows::from_rows(self.width(), entries)
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
        let text = crate::store::read_text(path).map_err(|e| fail(e.to_string()))?;
        let mut read: Self = serde_json::from_str(&text).map_err(|e| fail(e.to_string()))?;
        for block in &mut read.blocks {
            block.complete().map_err(&fail)?;
        }
        check_width(read.width()).map_err(|error| fail(error.to_string()))?;
        Ok(read)
    }
}
