use dsokr_nn::{PartSize, TokenIds, Transformer, TransformerConfig};

use super::{check_precision, sizes};
use crate::inputs::{TokenInputs, TokenInputsConfig};
use crate::{Error, Recipe, Start};

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
        Ok(self.init(tokens.vocabulary(), start.offset, start.random, start.device))
    }

    fn recomputes(&self) -> bool {
        self.activation_checkpointing
    }
}
