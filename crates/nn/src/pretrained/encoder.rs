use burn::tensor::Device;
use dsokr_basis::random::generator;
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Pretrained;
use crate::error::check;
use crate::pass::check_dropout;
use crate::transformer::{Architecture, Body};
use crate::{Error, PartSize, Pooling, Precision, Transformer};

/// A pretrained encoder of the BERT family (BERT, SciBERT, MiniLM, RoBERTa, …) from a local folder,
/// fine-tuned with a linear head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PretrainedConfig {
    /// The folder, as transformers saves it: `config.json`, `tokenizer.json` or `vocab.txt`, and
    /// `model.safetensors` or `pytorch_model.bin`. A relative path starts at the working directory.
    /// `hub:OWNER/NAME` and `hub:OWNER/NAME@REVISION` are models of the Hugging Face Hub, downloaded once. The
    /// folder is read when training starts; the run keeps everything that it needs.
    pub folder: String,
    /// Longest text in tokens, special ones included, at most the number of the model's positions.
    /// Longer texts are truncated, and their number is reported.
    #[serde(default = "max_length")]
    pub max_length: usize,
    /// Which token vectors the head reads.
    #[serde(default = "pooling")]
    pub pooling: Pooling,
    /// Number of the lowest layers that are frozen, together with the embeddings; 0 freezes nothing.
    #[serde(default)]
    pub freeze: usize,
    /// Share of units dropped in training, in `[0, 1)`. It replaces the two shares in `config.json`, of
    /// hidden units and of attention probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropout: Option<f32>,
    /// The numbers that matrix products multiply; all else has 32 bits. `bf16` is fast on GPUs
    /// and on CPUs with AVX-512 BF16, `f16` on GPUs.
    #[serde(default)]
    pub precision: Precision,
    /// Layers keep only their input and are computed again in the backward pass: about a third more
    /// time, a fraction of the memory.
    #[serde(default)]
    pub activation_checkpointing: bool,
}

fn max_length() -> usize {
    256
}

fn pooling() -> Pooling {
    Pooling::Mean
}

impl PretrainedConfig {
    /// Checks the settings that do not depend on the model.
    ///
    /// # Errors
    /// An empty folder or a dropout outside `[0, 1)`.
    pub fn validate(&self) -> Result<(), Error> {
        check(!self.folder.is_empty(), "folder", "\"\"", "a folder with a model's files")?;
        self.dropout.map_or(Ok(()), |dropout| check_dropout("dropout", dropout))
    }

    /// Checks the settings against the model.
    ///
    /// # Errors
    /// A length beyond the model's positions, or more frozen layers than it has.
    pub fn check(&self, model: &Pretrained) -> Result<(), Error> {
        model.check(self.max_length)?;
        let layers = model.architecture().layers;
        let allowed = format!("at most {layers}, the model's layers");
        check(self.freeze <= layers, "freeze", self.freeze, allowed)
    }

    /// Its size with `coordinates` coordinates, on texts of `length` tokens.
    pub fn size(&self, model: &Pretrained, length: f64, coordinates: usize) -> Vec<PartSize> {
        let mut architecture = model.architecture().clone();
        self.set(&mut architecture);
        architecture.size(length, coordinates)
    }

    /// Sets what is not said in config.json, or is replaced.
    fn set(&self, architecture: &mut Architecture) {
        architecture.precision = self.precision;
        architecture.recompute = self.activation_checkpointing;
        if let Some(dropout) = self.dropout {
            (architecture.dropout, architecture.attention_dropout) = (dropout, dropout);
        }
    }

    /// An encoder with `offset.len()` coordinates, and the names of the weight file's tensors that it
    /// does not use. `offset` becomes the bias of its head. If the folder was opened without weights,
    /// the body is drawn, and its parameters are to be read from elsewhere.
    ///
    /// # Errors
    /// As [`check`](Self::check) and [`Pretrained::body`].
    pub fn init(
        &self,
        model: &Pretrained,
        offset: &[f32],
        random: &mut impl Rng,
        device: &Device,
    ) -> Result<(Transformer, Vec<String>), Error> {
        self.check(model)?;
        let (body, unused) = if model.has_weights() {
            model.body(device)?
        } else {
            let mut random = generator(0, "parameters", 0);
            (Body::init(model.architecture(), &mut random, device), Vec::new())
        };
        let mut body = body.with(|architecture| self.set(architecture));
        if self.freeze > 0 {
            body = body.freeze(self.freeze);
        }
        Ok((Transformer::new(body, self.pooling, offset, random), unused))
    }
}
