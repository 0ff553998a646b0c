//! The recipes of the built-in encoders; `config/encoder.rs` lists them.

mod bag_beside;
pub(crate) mod ngram_bag;
mod spectra;

pub mod inputs;
pub mod spectrum_inputs;
pub(crate) mod tokens;

use std::path::Path;
use std::sync::Once;

use burn::tensor::Device;
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};
use dsokr_nn::{
    Mlp, MlpConfig, PartSize, Precision, Start, TokenIds, Transformer, TransformerConfig,
};
use tracing::info;

use crate::encoders::inputs::{Recipe, VectorInputs, sizes};
use crate::encoders::tokens::{
    PretrainedInputs, TokenInputs, TokenInputsConfig, pretrained_folder,
};
use crate::error::Error;

pub use bag_beside::{BagBesideConfig, BothInputs};
pub use spectra::{PeakBagConfig, PeakInputs};

/// Checks that a device supports a precision, and warns once where its products are emulated.
fn check_precision(precision: Precision, device: &Device) -> Result<(), Error> {
    static WARNING: Once = Once::new();
    precision.check(device)?;
    if dsokr_nn::emulated(precision, device) {
        WARNING.call_once(|| {
            tracing::warn!(
                "encoder.precision = \"bf16\" is emulated: this processor has no AVX-512 BF16, and 32 bits \
                 (\"f32\") take less time"
            );
        });
    }
    Ok(())
}

impl Recipe for MlpConfig {
    type Preparation = VectorInputs;
    type Encoder = Mlp;

    fn validate(&self) -> Result<(), Error> {
        Ok(Self::validate(self)?)
    }

    fn reads_vectors(&self) -> bool {
        true
    }

    fn preparation(&self) {}

    fn size(&self, vectors: &VectorInputs, _: &[Vec<f32>], coordinates: usize) -> Vec<PartSize> {
        vec![MlpConfig::size(self, vectors.width(), coordinates)]
    }

    fn encoder(&self, vectors: &VectorInputs, start: Start) -> Result<Mlp, Error> {
        Ok(self.init(vectors.width(), start))
    }
}

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
        let mut model = inputs.model().clone();
        model.find_weights(&pretrained_folder(self)?)?;
        make(self, &model, start)
    }

    /// A run keeps all of the folder but the weights that training starts from.
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

fn make(config: &PretrainedConfig, model: &Pretrained, start: Start) -> Result<Transformer, Error> {
    check_precision(config.precision, start.device)?;
    let (encoder, unused) = config.init(model, start)?;
    if !unused.is_empty() {
        info!(tensors = unused.join(", "), "not used of the pretrained weights");
    }
    Ok(encoder)
}
