use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::{Encoder, FrozenBasis, Pass};

/// An encoder and the frozen basis behind it: the content of a run's `encoder.safetensors`.
#[derive(Module, Debug)]
pub struct Model<E: Module> {
    /// The trained part.
    pub encoder: E,
    /// The last layer, frozen.
    pub basis: FrozenBasis,
    /// ln 1/τ for a loss with a temperature τ, shape `[1]`. Predictions do not depend on it.
    pub scale: Option<Param<Tensor<1>>>,
}

impl<E: Encoder> Model<E> {
    /// Joins an encoder of dimension p with a basis of rank p.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn new(encoder: E, basis: FrozenBasis) -> Self {
        assert_eq!(encoder.dimension(), basis.rank(), "encoder and basis differ in dimension");
        Self { encoder, basis, scale: None }
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

    /// The predicted point of the output kernel's feature space in the basis's atoms, `[batch, q]`.
    /// For a kernel that is linear in features it is the predicted feature vector.
    pub fn feature_point(&self, batch: &[&E::Input], pass: Pass) -> Tensor<2> {
        self.basis.forward(self.coordinates(batch, pass))
    }
}
