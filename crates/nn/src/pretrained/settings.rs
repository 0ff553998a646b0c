//! The settings of a pretrained encoder, and what makes one of its folder.

use dsokr_kernels::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pretrained, TextReader};
use crate::encoder::PartSize;
use crate::error::{Error, check};
use crate::init::Start;
use crate::pass::check_dropout;
use crate::transformer::{Architecture, Pooling, Readout, SentenceLayer, Transformer};

/// A pretrained encoder of the families of BERT, DeBERTa, T5 and Llama (BERT, SciBERT, MiniLM, RoBERTa, …) from a local folder,
/// fine-tuned with a linear head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PretrainedConfig {
    /// The folder, as transformers saves it: `config.json`; `tokenizer.json`, `vocab.txt`, or `vocab.json` with
    /// `merges.txt`; and `model.safetensors` or `pytorch_model.bin`, whole or in shards with their `….index.json`. A
    /// relative path starts at the working directory.
    /// `hub:OWNER/NAME` and `hub:OWNER/NAME@REVISION` are models of the Hugging Face Hub, downloaded once. The
    /// folder is read when training starts; the run keeps everything that it needs.
    pub folder: String,
    /// Longest text in tokens, special ones and those of the prompt included, at most the number of the model's
    /// positions; of T5, which has none, at most 65536. Longer texts are truncated, and their number is reported. The
    /// default is the length of a model of sentence-transformers, and 256 for others, or the model's positions if they are
    /// fewer.
    pub max_length: Option<usize>,
    /// The token vectors that the head reads. The default is what a folder of sentence-transformers says in
    /// `modules.json`, with its layers behind pooling (`Dense`, `Normalize`), and `mean` for others. A pooling that is
    /// named here reads the transformer alone, without such layers.
    pub pooling: Option<Pooling>,
    /// What is put before each text, such as `"query: "` for E5. The default is the prompt for queries of a folder of
    /// sentence-transformers, and nothing for others; `""` is no prompt.
    pub prompt: Option<String>,
    /// Number of the lowest layers that are frozen, together with the embeddings; 0 freezes nothing.
    #[serde(default)]
    pub freeze: usize,
    /// Share of units dropped in training, in `[0, 1)`. It replaces the two shares in `config.json`, of
    /// hidden units and of attention probabilities, or the one of T5 or of decoders; 0 switches off `mlp_dropout` of
    /// ModernBERT too.
    pub dropout: Option<f32>,
    /// The numbers that matrix products multiply; all else has 32 bits. `bf16` is fast on GPUs
    /// and on CPUs with AVX-512 BF16, `tf32` on NVIDIA GPUs from Ampere.
    #[serde(default)]
    pub precision: Precision,
    /// Layers keep only their input and are computed again in the backward pass: about a third more
    /// time, a fraction of the memory.
    #[serde(default)]
    pub activation_checkpointing: bool,
}

/// Longest text in tokens of a folder that does not say it.
const MAX_LENGTH: usize = 256;

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
        model.check(self.max_length(model))?;
        let layers = model.architecture().own_layers();
        let allowed = format!("at most {layers}, the model's layers with parameters of their own");
        check(self.freeze <= layers, "freeze", self.freeze, allowed)
    }

    /// Returns the longest text in tokens.
    pub fn max_length(&self, model: &Pretrained) -> usize {
        let longest = model.architecture().longest();
        let length = match &model.sentences {
            Some(sentences) => sentences.max_length.unwrap_or(longest),
            None => MAX_LENGTH,
        };
        self.max_length.unwrap_or(length.min(longest))
    }

    /// Returns how the model reads texts.
    pub fn reader(&self, model: &Pretrained) -> TextReader {
        let sentences = model.sentences.as_ref();
        let prompt = match &self.prompt {
            Some(prompt) => prompt.clone(),
            None => sentences.map_or_else(String::new, |sentences| sentences.prompt().to_owned()),
        };
        TextReader {
            tokenizer: model.tokenizer.clone(),
            prompt,
            max_length: self.max_length(model),
        }
    }

    /// Returns what reads the token vectors, and the layers behind it.
    fn layers<'m>(&self, model: &'m Pretrained) -> Result<(Readout, &'m [SentenceLayer]), Error> {
        match (self.pooling, &model.sentences) {
            (Some(pooling), _) => Ok((pooling.into(), &[])),
            (None, None) => Ok((Pooling::Mean.into(), &[])),
            (None, Some(sentences)) => {
                let skipped = if sentences.include_prompt {
                    0
                } else {
                    self.reader(model).prompt_tokens()?
                };
                let pooling = sentences.pooling.clone();
                Ok((Readout { pooling, skipped }, &sentences.layers))
            }
        }
    }

    /// Returns the size of the encoder with `coordinates` coordinates, on texts of `length` tokens.
    pub fn size(&self, model: &Pretrained, length: f64, coordinates: usize) -> Vec<PartSize> {
        let mut architecture = model.architecture().clone();
        self.set(&mut architecture);
        let (pooling, layers) = match (self.pooling, &model.sentences) {
            (None, Some(sentences)) => (sentences.pooling.len(), &sentences.layers[..]),
            _ => (1, &[][..]),
        };
        let mut widths = vec![pooling * architecture.width];
        widths.extend(layers.iter().filter_map(|layer| match layer {
            SentenceLayer::Dense { outputs, .. } => Some(*outputs),
            SentenceLayer::Normalize => None,
        }));
        widths.push(coordinates);
        architecture.size(length, &widths)
    }

    /// Sets what is not said in config.json, or is replaced.
    fn set(&self, architecture: &mut Architecture) {
        architecture.precision = self.precision;
        architecture.recompute = self.activation_checkpointing;
        if let Some(dropout) = self.dropout {
            architecture.dropout = dropout;
            architecture.attention_dropout = dropout;
            if dropout == 0.0 {
                architecture.inner_dropout = 0.0;
            }
        }
    }

    /// Returns an encoder, and the names of the weight file's tensors that it does not use. The offset becomes the bias
    /// of its head. Where the folder was opened without weights, the body is drawn, and the caller reads its parameters
    /// from elsewhere.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check) and [`Pretrained::body`].
    pub fn init(
        &self,
        model: &Pretrained,
        start: Start,
    ) -> Result<(Transformer, Vec<String>), Error> {
        self.check(model)?;
        let (mut body, unused) = match model.weights {
            Some(_) => model.body(start.device)?,
            None => (model.drawn(start.device), Vec::new()),
        };
        self.set(&mut body.architecture);
        if self.freeze > 0 {
            body = body.freeze(self.freeze);
        }
        let (readout, layers) = self.layers(model)?;
        let sentence = model.sentence_layers(layers, start.device)?;
        Ok((Transformer::behind(body, readout, sentence, start), unused))
    }
}
