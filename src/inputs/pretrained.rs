use std::path::{Path, PathBuf};

use dsokr_nn::TokenIds;
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};

use super::tokens::tokenise;
use crate::{Error, Prepare};
use dsokr_data::Split;

/// The tokenizer and the sizes of a pretrained encoder, and its maximal length of texts.
#[derive(Clone, Debug)]
pub struct PretrainedInputs {
    model: Pretrained,
    max_length: usize,
}

impl PretrainedInputs {
    /// The encoder's folder.
    pub fn model(&self) -> &Pretrained {
        &self.model
    }
}

/// The folder of an encoder, which `hub:NAME` has in the cache of the hub.
pub(crate) fn pretrained_folder(config: &PretrainedConfig) -> Result<PathBuf, Error> {
    match config.folder.strip_prefix("hub:") {
        None => Ok(PathBuf::from(&config.folder)),
        #[cfg(feature = "fetch")]
        Some(name) => crate::fetch::hub::folder(name, &crate::fetch::Network::default()),
        #[cfg(not(feature = "fetch"))]
        Some(_) => {
            let allowed = "a folder: this program was built without the feature \"fetch\"";
            Err(Error::value("encoder.folder", format!("{:?}", config.folder), allowed))
        }
    }
}

impl Prepare for PretrainedInputs {
    type Settings = PretrainedConfig;
    type Input = TokenIds;

    /// Nothing is learned from the texts.
    fn fit(config: &PretrainedConfig, _: &Split) -> Result<Self, Error> {
        let model = Pretrained::open(&pretrained_folder(config)?)?;
        config.check(&model)?;
        Ok(Self { model, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        let tokenizer = self.model.tokenizer();
        tokenise(split, tokenizer.special_tokens(), |text| tokenizer.encode(text, self.max_length))
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(self.model.files()?)
    }

    fn load(config: &PretrainedConfig, folder: &Path) -> Result<Self, Error> {
        let model = Pretrained::open_without_weights(folder)?;
        config.check(&model)?;
        Ok(Self { model, max_length: config.max_length })
    }
}
