//! The recipe of a pretrained transformer.

use std::path::Path;

use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};
use dsokr_nn::{PartSize, Start, TokenIds, Transformer};
use tracing::info;

use crate::encoders::check_precision;
use crate::encoders::inputs::{Recipe, sizes};
use crate::encoders::tokens::{PretrainedInputs, pretrained_folder};
use crate::error::Error;

impl Recipe for PretrainedConfig {
    type Preparation = PretrainedInputs;
    type Encoder = Transformer;

    fn validate(&self) -> Result<(), Error> {
        Ok(Self::validate(self)?)
    }

    fn preparation(&self) -> Self {
        self.clone()
    }

    fn size(
        &self,
        tokens: &PretrainedInputs,
        texts: &[TokenIds],
        coordinates: usize,
    ) -> Vec<PartSize> {
        sizes(texts.iter().map(|text| text.len()), |length| {
            PretrainedConfig::size(self, tokens.model(), length, coordinates)
        })
    }

    fn encoder(&self, inputs: &PretrainedInputs, start: Start) -> Result<Transformer, Error> {
        make(self, &with_weights(self, inputs)?, start)
    }

    fn initial_weights(&self, inputs: &PretrainedInputs) -> Result<Option<String>, Error> {
        Ok(Some(with_weights(self, inputs)?.weights_sum()?.to_string()))
    }

    /// Makes an encoder of what a run keeps of the folder: all but the weights that training starts from.
    fn uninitialised(&self, inputs: &PretrainedInputs, start: Start) -> Result<Transformer, Error> {
        make(self, inputs.model(), start)
    }

    fn export(
        &self,
        inputs: &PretrainedInputs,
        encoder: &Transformer,
        folder: &Path,
        unit_length: bool,
    ) -> Result<(), Error> {
        Ok(inputs.model().export(folder, encoder, &self.reader(inputs.model()), unit_length)?)
    }
}

/// Returns the model with the weights of its folder.
fn with_weights(config: &PretrainedConfig, inputs: &PretrainedInputs) -> Result<Pretrained, Error> {
    let mut model = inputs.model().clone();
    model.find_weights(&pretrained_folder(config)?)?;
    Ok(model)
}

fn make(config: &PretrainedConfig, model: &Pretrained, start: Start) -> Result<Transformer, Error> {
    check_precision(config.precision, start.device)?;
    let (encoder, unused) = config.init(model, start)?;
    if !unused.is_empty() {
        info!(tensors = unused.join(", "), "not used of the pretrained weights");
    }
    Ok(encoder)
}
