//! The recipe of a multi-layer perceptron on vectors.

use dsokr_nn::{Mlp, MlpConfig, PartSize, Start};

use crate::encoders::inputs::{Recipe, VectorInputs};
use crate::error::Error;

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
