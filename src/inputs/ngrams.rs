use std::path::Path;

use dsokr_basis::features::{NgramConfig, SparseRows, TfIdf};
use dsokr_nn::bag::SparseRow;
use rayon::prelude::*;

use super::warn_unknown;
use crate::{Error, Prepare};
use dsokr_data::Split;

const FILE: &str = "ngrams.json";

/// TF-IDF weights of the n-grams of the training texts.
pub struct NgramInputs(TfIdf);

impl NgramInputs {
    /// Number of n-grams.
    pub fn width(&self) -> usize {
        self.0.width()
    }

    /// The texts of a split as rows that kernels compare.
    ///
    /// # Errors
    /// Texts with more n-grams than rows can hold.
    pub fn rows(&self, split: &Split) -> Result<SparseRows, Error> {
        Ok(self.0.rows(split.inputs.texts()?)?)
    }
}

impl Prepare for NgramInputs {
    type Settings = Vec<NgramConfig>;
    type Input = SparseRow;

    fn fit(blocks: &Vec<NgramConfig>, train: &Split) -> Result<Self, Error> {
        let texts = train.inputs.texts()?.iter().map(String::as_str);
        Ok(Self(TfIdf::fit(blocks, texts).map_err(dsokr_nn::Error::from)?))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<SparseRow>, Error> {
        let texts = split.inputs.texts()?.par_iter();
        let rows: Vec<SparseRow> = texts.map(|text| self.0.transform(text)).collect();
        warn_unknown(rows.iter().filter(|row| row.indices.is_empty()).count(), rows.len());
        Ok(rows)
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(FILE, self.0.to_json())])
    }

    fn load(_: &Vec<NgramConfig>, folder: &Path) -> Result<Self, Error> {
        Ok(Self(TfIdf::read(&folder.join(FILE)).map_err(dsokr_nn::Error::from)?))
    }
}
