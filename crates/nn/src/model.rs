use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::{Encoder, Pass};

/// An encoder and what is trained with it: the content of a run's `encoder.safetensors`.
#[derive(Module, Debug)]
pub struct Model<E: Module> {
    /// Maps inputs to coordinates.
    pub encoder: E,
    /// ln 1/τ for a loss with a temperature τ, shape `[1]`. Predictions do not depend on it.
    pub scale: Option<Param<Tensor<1>>>,
}

impl<E: Encoder> Model<E> {
    /// The model of an encoder.
    pub fn new(encoder: E) -> Self {
        Self { encoder, scale: None }
    }

    /// The model with a temperature τ that is trained with the encoder.
    pub fn with_temperature(self, temperature: f64, device: &Device) -> Self {
        let scale = Tensor::from_floats([-temperature.ln() as f32], device);
        Self { scale: Some(Param::from_tensor(scale)), ..self }
    }

    /// Coordinates `z` `[batch, p]` in the eigenbasis, which training and decoding use.
    pub fn coordinates(&self, batch: &[&E::Input], pass: Pass) -> Tensor<2> {
        self.encoder.forward(batch, pass)
    }

    /// The training pass over the part of a batch behind the inputs `preceding`, with the dropout masks of a pass over
    /// the whole batch: processes that share a batch encode a part each.
    pub fn pass_behind<'i>(&self, key: u64, preceding: impl Iterator<Item = &'i E::Input>) -> Pass
    where
        E::Input: 'i,
    {
        let counts =
            preceding.map(|input| (self.encoder.length(input), self.encoder.entries(input)));
        Pass::train(key).behind(counts)
    }
}
