use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::{Encoder, FrozenBasis, Pass};

/// An encoder and the frozen basis that it is trained onto: what a run's `encoder.safetensors` holds.
#[derive(Module, Debug)]
pub struct Model<E: Module> {
    /// The part that learns.
    pub encoder: E,
    /// The last layer, frozen.
    pub basis: FrozenBasis,
    /// ln 1/τ of a loss that has a temperature, one number; none for others. Answers do not depend on it.
    pub scale: Option<Param<Tensor<1>>>,
}

impl<E: Encoder> Model<E> {
    /// Joins an encoder of dimension p with a basis of rank p.
    ///
    /// # Panics
    /// If the two differ: the caller sizes the encoder by the basis.
    pub fn new(encoder: E, basis: FrozenBasis) -> Self {
        assert_eq!(encoder.dimension(), basis.rank(), "encoder and basis differ in dimension");
        Self { encoder, basis, scale: None }
    }

    /// The model with a temperature τ that learns beside the encoder.
    pub fn with_temperature(self, temperature: f64, device: &Device) -> Self {
        let scale = Tensor::from_floats([-temperature.ln() as f32], device);
        Self { scale: Some(Param::from_tensor(scale)), ..self }
    }

    /// Coordinates `z` `[batch, p]` in the eigenbasis: what training and decoding use.
    pub fn coordinates(&self, batch: &[&E::Input], pass: Pass) -> Tensor<2> {
        self.encoder.forward(batch, pass)
    }

    /// The predicted point of the output kernel's feature space, in the basis's atoms `[batch, q]`:
    /// for a kernel that is linear in features, the predicted feature vector itself.
    pub fn feature_point(&self, batch: &[&E::Input], pass: Pass) -> Tensor<2> {
        self.basis.forward(self.coordinates(batch, pass))
    }
}
