use dsokr_basis::features::NgramConfig;
use dsokr_nn::bag::SparseRow;
use dsokr_nn::{NgramBag, NgramBagConfig, PartSize};

use crate::encoders::inputs::{NgramInputs, Recipe, sizes};
use crate::error::Error;
use dsokr_nn::Start;

impl Recipe for NgramBagConfig {
    type Preparation = NgramInputs;
    type Encoder = NgramBag;

    fn validate(&self) -> Result<(), Error> {
        Ok(Self::validate(self)?)
    }

    fn preparation(&self) -> Vec<NgramConfig> {
        self.ngrams.clone()
    }

    fn size(&self, ngrams: &NgramInputs, rows: &[SparseRow], coordinates: usize) -> Vec<PartSize> {
        sizes(rows.iter().map(|row| row.len()), |length| {
            NgramBagConfig::size(self, ngrams.width(), length, coordinates)
        })
    }

    fn encoder(&self, ngrams: &NgramInputs, start: Start) -> Result<NgramBag, Error> {
        Ok(self.init(ngrams.width(), start))
    }
}
