use std::path::Path;

use dsokr_nn::{BuiltIn, parameters};

use super::{Predictor, Run};
use crate::{Error, Preparation};

impl Run {
    /// Writes the fine-tuned encoder, without its head, as a folder that transformers loads
    /// (`AutoModel.from_pretrained`, `AutoTokenizer.from_pretrained`).
    ///
    /// # Errors
    /// A run whose encoder was not read from such a folder; what cannot be written.
    pub fn export(&self, folder: &Path) -> Result<(), Error> {
        let Predictor::Network(network) = &self.predictor else { return Err(Error::NotPretrained) };
        match (&network.preparation, &network.model.encoder) {
            (Preparation::Pretrained(inputs), BuiltIn::Transformer(encoder)) => {
                Ok(inputs.model().write(folder, &parameters::collect(encoder.body()))?)
            }
            _ => Err(Error::NotPretrained),
        }
    }
}
