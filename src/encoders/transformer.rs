//! The recipe of a transformer over the tokens of texts, from scratch.

use dsokr_nn::{PartSize, Start, TokenIds, Transformer, TransformerConfig};

use crate::encoders::check_precision;
use crate::encoders::inputs::{Recipe, sizes};
use crate::encoders::tokens::{TokenInputs, TokenInputsConfig};
use crate::error::Error;

impl Recipe for TransformerConfig {
    type Preparation = TokenInputs;
    type Encoder = Transformer;

    fn validate(&self) -> Result<(), Error> {
        Ok(Self::validate(self)?)
    }

    fn preparation(&self) -> TokenInputsConfig {
        TokenInputsConfig { tokens: self.tokens.clone(), max_length: self.max_length }
    }

    fn size(&self, tokens: &TokenInputs, texts: &[TokenIds], coordinates: usize) -> Vec<PartSize> {
        sizes(texts.iter().map(|text| text.len()), |length| {
            TransformerConfig::size(self, tokens.vocabulary(), length, coordinates)
        })
    }

    fn encoder(&self, tokens: &TokenInputs, start: Start) -> Result<Transformer, Error> {
        check_precision(self.precision, start.device)?;
        Ok(self.init(tokens.vocabulary(), start))
    }
}
