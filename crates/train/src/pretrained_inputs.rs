use std::path::Path;

use dsokr_nn::TokenIds;
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};

use crate::token_inputs::tokenise;
use crate::{Error, Prepare};
use dsokr_data::Split;

/// The tokenizer and the sizes of a pretrained encoder, and where it cuts texts.
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

    /// Number of tokens of an empty text.
    pub(crate) fn special_tokens(&self) -> usize {
        self.model.tokenizer().special_tokens()
    }
}

impl Prepare for PretrainedInputs {
    type Settings = PretrainedConfig;
    type Input = TokenIds;

    /// Nothing is learnt from the texts.
    fn fit(config: &PretrainedConfig, _: &Split) -> Result<Self, Error> {
        let model = Pretrained::open(Path::new(&config.folder))?;
        config.check(&model)?;
        Ok(Self { model, max_length: config.max_length })
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        let encode = |text: &str| Ok(self.model.tokenizer().encode(text, self.max_length)?);
        tokenise(&split.texts, encode)
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
