use dsokr_nn::{Transformer, TransformerConfig};

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

    fn encoder(&self, tokens: &TokenInputs, start: Start) -> Result<Transformer, Error> {
        self.precision.check(start.device)?;
        Ok(self.init(tokens.vocabulary(), start.offset, start.random, start.device))
    }

    fn recomputes(&self) -> bool {
        self.activation_checkpointing
    }
}
