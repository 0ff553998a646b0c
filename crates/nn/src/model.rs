use burn::module::Module;
use burn::tensor::Tensor;

use crate::{Encoder, FrozenBasis, Pass};

/// An encoder and the frozen basis that it is trained onto: what a run's `encoder.safetensors` holds.
#[derive(Module, Debug)]
pub struct Model<E: Module> {
    /// The part that learns.
    pub encoder: E,
    /// The last layer, frozen.
    pub basis: FrozenBasis,
}

impl<E: Encoder> Model<E> {
    /// Joins an encoder of dimension p with a basis of rank p.
    ///
    /// # Panics
    /// If the two differ: the caller sizes the encoder by the basis.
    pub fn new(encoder: E, basis: FrozenBasis) -> Self {
        assert_eq!(encoder.dimension(), basis.rank(), "encoder and basis differ in dimension");
        Self { encoder, basis }
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
