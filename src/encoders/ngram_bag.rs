//! The recipe of a bag of n-grams: TF-IDF, embeddings and an MLP.

use dsokr_basis::features::SparseRow;
use dsokr_data::featurizers::{NgramConfig, NgramKind};
use dsokr_nn::{BagConfig, NgramBag, PartSize, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::encoders::WordsRead;
use crate::encoders::inputs::{NgramInputs, Recipe, sizes};
use crate::error::{Error, ensure};

/// TF-IDF n-grams, a weighted sum of embeddings, and an MLP.
///
/// With a linear path, embeddings have p columns, and the MLP corrects the prediction that their sum
/// is: `z = b + h + MLP(h)`, `h = Σ tfidf_i E_i`. Without a linear path, `z = MLP(h)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct NgramBagConfig {
    /// Blocks of n-grams.
    #[default(vec![
        NgramConfig { min_texts: 2, ..NgramConfig::new(NgramKind::Words, 1, 2) },
        NgramConfig { min_texts: 3, ..NgramConfig::new(NgramKind::Characters, 3, 5) },
    ])]
    pub ngrams: Vec<NgramConfig>,
    /// Whether the sum of embeddings is added to the MLP's output.
    #[default(true)]
    pub linear: bool,
    /// Columns of the embedding without a linear path; with it there are p.
    #[default(256)]
    pub embedding: usize,
    /// Widths of the MLP's hidden layers. If empty, a linear path has no MLP next to it, and without one
    /// there is a single linear layer.
    #[default(vec![256])]
    pub hidden: Vec<usize>,
    /// Share of hidden units dropped in training, in `[0, 1)`.
    #[default(0.5)]
    pub dropout: f32,
    /// Share of a text's n-grams dropped in training, in `[0, 1)`.
    pub ngram_dropout: f32,
}

impl NgramBagConfig {
    /// Returns the encoder of rows of n-grams.
    pub(crate) fn bag(&self) -> BagConfig {
        BagConfig {
            linear: self.linear,
            embedding: self.embedding,
            hidden: self.hidden.clone(),
            dropout: self.dropout,
            entry_dropout: self.ngram_dropout,
        }
    }

    /// Returns its size over `features` n-grams with `coordinates` coordinates, on texts of `length` n-grams.
    pub(crate) fn bag_size(
        &self,
        features: usize,
        length: f64,
        coordinates: usize,
    ) -> Vec<PartSize> {
        self.bag().size(features, length, coordinates, "ngrams")
    }
}

impl Recipe for NgramBagConfig {
    type Preparation = NgramInputs;
    type Encoder = NgramBag;

    fn validate(&self) -> Result<(), Error> {
        let key = "encoder.ngrams";
        ensure(!self.ngrams.is_empty(), key, "[]", "at least one block of n-grams")?;
        let mut blocks = self.ngrams.iter().enumerate();
        blocks.try_for_each(|(at, block)| block.validate(&format!("{key}[{at}]")))?;
        Ok(self.bag().validate("ngram_dropout")?)
    }

    fn words_read(&self) -> WordsRead {
        WordsRead::of_blocks(&self.ngrams)
    }

    fn preparation(&self) -> Vec<NgramConfig> {
        self.ngrams.clone()
    }

    fn size(&self, ngrams: &NgramInputs, rows: &[SparseRow], coordinates: usize) -> Vec<PartSize> {
        sizes(rows.iter().map(|row| row.len()), |length| {
            self.bag_size(ngrams.width(), length, coordinates)
        })
    }

    fn encoder(&self, ngrams: &NgramInputs, start: Start) -> Result<NgramBag, Error> {
        Ok(self.bag().init(ngrams.width(), start))
    }
}
