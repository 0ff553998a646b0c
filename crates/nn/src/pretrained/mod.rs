//! Pretrained encoders, read from a local folder as Hugging Face's transformers or sentence-transformers saves it, and
//! written back in the same layout.
//!
//! | file | holds |
//! |---|---|
//! | `config.json` | the sizes; `model_type` is `bert` (also SciBERT, MiniLM, …), `roberta`, `xlm-roberta`, `camembert`, `distilbert`, `mpnet`, `electra`, `albert`, `esm`, `modernbert`, `nomic_bert`, `dpr`, `data2vec-text`, `ernie`, `t5` or `mt5` |
//! | `tokenizer.json`, else `vocab.txt`, or of RoBERTa `vocab.json` and `merges.txt`, with `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json` | the [`Tokenizer`] |
//! | `modules.json` and what it names | of a model of sentence-transformers: pooling, layers behind it, lengths, prompts ([`Sentences`]) |
//! | `model.safetensors`, else `pytorch_model.bin`, or their shards with `….index.json` | the weights: 32-bit floats, 16-bit floats that are widened, or 64-bit floats that are rounded |
//!
//! A tokenizer.json is read as transformers reads it: the classes of BERT's and RoBERTa's tokenizers take lower-casing,
//! accents, Chinese characters and the space before a text from tokenizer_config.json, and tokens that the other files
//! name are added to it.
//!
//! Every tensor of a weight file whose name has the prefix of the body (`bert.`, …) becomes a parameter or is known to
//! be unused: the pooler, the heads of pre-training and of other tasks (`cls`, `lm_head`, `classifier`, …), and the
//! buffers of some files. Any other tensor with this prefix, and any missing one, is an error, so the weights of a
//! different architecture are never half loaded. Tensors beside the body, without its prefix, are not used.

mod added_tokens;
mod classes;
mod config;
mod differences;
mod families;
mod json;
mod sentence_files;
mod sentences;
mod tensors;
mod texts;
mod vocabulary;
mod weights;
mod write;

use std::io::Read;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr_core::random::generator;
use dsokr_core::store::{ByteSum, open_input, read_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::check;
use crate::init::Start;
use crate::parameters::{Parameters, restore};
use crate::pass::check_dropout;
pub use crate::tokenizer::Tokenizer;
use dsokr_kernels::Precision;

use crate::encoder::PartSize;
use crate::error::Error;
use crate::transformer::{
    Architecture, Body, Pooling, Readout, SentenceLayer, SentenceLayers, Transformer,
};
use added_tokens::TokenFiles;
pub use config::ADAPTER;
use config::Config;
use json::JsonFile;
pub use sentence_files::MODULES;
use sentences::below;
pub use sentences::{ModuleFolder, Sentences, module_folders, sentence_files, transformer_folder};
use tensors::{Tensors, weight_file};
pub use tensors::{WEIGHT_FILES, weight_parts};
pub use texts::TextReader;
pub use vocabulary::sentence_piece_remedy;
pub use write::is_exported;

/// Other files of the tokenizer, which are kept so that transformers' own tokenizer loads from the
/// folder that is written.
pub const COMPANIONS: [&str; 8] = [
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
];

/// The bytes of a weight file that are read at once.
const PART: usize = 1 << 20;

/// The folder of a pretrained encoder: its architecture and tokenizer, checked, and the path of its
/// weights.
///
/// A safetensors file is mapped into memory while it is read: nothing may write to it meanwhile.
#[derive(Clone, Debug)]
pub struct Pretrained {
    folder: PathBuf,
    config: Config,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// Names and contents of the [`COMPANIONS`] in the folder.
    companions: Vec<(&'static str, Vec<u8>)>,
    /// The layers behind the transformer, lengths and prompts, if it is a model of sentence-transformers.
    pub sentences: Option<Sentences>,
    /// The folder of the weights.
    source: Option<PathBuf>,
    /// The weight file, or the index of several.
    weights: Option<PathBuf>,
    /// The weight file of each dense layer behind the transformer.
    dense_weights: Vec<PathBuf>,
}

impl Pretrained {
    /// Reads configuration and tokenizer, and finds the weights without reading them.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for a file that is missing or cannot be read, and for an
    /// unsupported value, such as a `model_type` of a different family, or a vocabulary larger than
    /// the table of token vectors (it may be smaller, since some models pad the table).
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut model = Self::open_without_weights(folder)?;
        model.find_weights(folder)?;
        Ok(model)
    }

    /// Opens a folder like [`open`](Self::open), where it has only the [`files`](Self::files) and the weights lie
    /// elsewhere.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), except for missing weights.
    pub fn open_without_weights(folder: &Path) -> Result<Self, Error> {
        Self::described(folder, false)
    }

    /// Opens the folder of a run, which has kept the [`files`](Self::files): its tokenizer.json is taken as it is.
    ///
    /// # Errors
    /// The errors of [`open_without_weights`](Self::open_without_weights).
    pub fn open_kept(folder: &Path) -> Result<Self, Error> {
        Self::described(folder, true)
    }

    /// Reads all but the weights, of a folder of transformers or of what a run has kept of one.
    fn described(folder: &Path, is_kept: bool) -> Result<Self, Error> {
        let sentences = Sentences::read(folder)?;
        let folder = &below(folder, sentences.as_ref());
        let config = Config::read(&folder.join("config.json"))?;
        if let Some(sentences) = &sentences {
            sentences.check(config.architecture.width, folder)?;
        }
        let lower_case = sentences.as_ref().is_some_and(|sentences| sentences.lower_case);
        let json = folder.join("tokenizer.json");
        let (path, tokenizer) = if is_kept {
            let tokenizer = Tokenizer::read(&json)?;
            (json, tokenizer)
        } else {
            let settings = JsonFile::read_if_there(&folder.join("tokenizer_config.json"))?;
            let allowed = "\"right\", texts are truncated at their ends";
            settings.only_value("truncation_side", "right", allowed)?;
            let allowed = "false: a special token within a text is one token";
            settings.only_value("split_special_tokens", false, allowed)?;
            if json.exists() {
                let tokenizer = classes::read(&json, &settings, &config, lower_case)?;
                let rows = config.architecture.vocabulary;
                let further = TokenFiles::read(folder)?.beside(&tokenizer, rows)?;
                let tokenizer = tokenizer.with_tokens(further, &json)?;
                (json, tokenizer)
            } else {
                vocabulary::read(folder, &config)?
            }
        };
        let tokenizer = if lower_case { tokenizer.lower_cased(&path)? } else { tokenizer };
        if config.architecture.types > 0 && tokenizer.has_other_types()? {
            let message = "its post_processor gives tokens of a text another type than 0: \"type_id\": 0, the model \
                           reads the vector of that type alone";
            return Err(Error::file(&path, message));
        }
        let rows = config.architecture.vocabulary;
        if let Some(token) = tokenizer.first_beyond(rows) {
            let size = tokenizer.vocabulary();
            let message = format!(
                "size of the vocabulary = {size}: at most {rows}, vocab_size in config.json: {token:?} has no vector; \
                 for tokens that were added, transformers makes vectors: \
                 `model.resize_token_embeddings(len(tokenizer))`, then `save_pretrained` of both"
            );
            return Err(Error::file(&path, message));
        }
        let mut companions = Vec::new();
        for name in COMPANIONS {
            let path = folder.join(name);
            if path.exists() {
                let bytes = read_bytes(&path).map_err(|e| Error::file(&path, e))?;
                companions.push((name, bytes));
            }
        }
        Ok(Self {
            folder: folder.clone(),
            config,
            tokenizer,
            companions,
            sentences,
            source: None,
            weights: None,
            dense_weights: Vec::new(),
        })
    }

    /// Takes the weights from `folder`.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] when the folder has no weight file.
    pub fn find_weights(&mut self, folder: &Path) -> Result<(), Error> {
        // a run keeps what the folder says, and not where its parts lie
        let there = Sentences::read(folder)?;
        self.source = Some(folder.to_path_buf());
        self.weights = Some(weight_file(&below(folder, there.as_ref()))?);
        if let Some(there) = there {
            self.dense_weights = there.weights(folder)?;
        }
        Ok(())
    }

    /// Returns sizes and rates of the body, from config.json.
    pub fn architecture(&self) -> &Architecture {
        &self.config.architecture
    }

    /// Checks a maximum length in tokens, special ones included.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a length beyond the table of positions, or without room for a token
    /// with the special ones.
    pub fn check(&self, max_length: usize) -> Result<(), Error> {
        let longest = self.architecture().longest();
        let allowed = format!("at most {longest}, the positions of {}", self.folder.display());
        check(max_length <= longest, "max_length", max_length, allowed)?;
        self.tokenizer.room(max_length).map(|_| ())
    }

    /// Reads the weights: the body's parameters by path (`tokens`, `positions`, `types`,
    /// `norm.gamma`, `layers.0.qkv.weight`, …), and the sorted names of the tensors that a body does
    /// not use.
    ///
    /// Matrices are `[in, out]`. The matrices of query, key and value lie side by side, `[d, 3 d]`.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for a file that cannot be read, or if the folder was opened without weights;
    /// [`Error::Names`] for missing and unknown tensors; [`Error::Shape`] and [`Error::NotFinite`] for the
    /// first tensor that does not fit.
    pub fn parameters(&self) -> Result<(Parameters, Vec<String>), Error> {
        let names = self.config.family.names;
        weights::body(&Tensors::open(self.weights()?)?, self.architecture(), names)
    }

    /// Returns the checksum of the bytes of all weight files.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for a file that cannot be read, or if the folder was opened without weights.
    pub fn weights_sum(&self) -> Result<ByteSum, Error> {
        let mut sum = ByteSum::default();
        let mut part = vec![0; PART];
        for path in weight_parts(self.weights()?)?.iter().chain(&self.dense_weights) {
            let failed = |error: std::io::Error| Error::file(path, error);
            let mut file = open_input(path).map_err(failed)?;
            loop {
                let count = file.read(&mut part).map_err(failed)?;
                if count == 0 {
                    break;
                }
                sum = sum.followed_by(&part[..count]);
            }
        }
        Ok(sum)
    }

    /// Returns the weight file, or the index of several.
    fn weights(&self) -> Result<&Path, Error> {
        let missing = || Error::file(&self.folder, "the folder was opened without its weights");
        self.weights.as_deref().ok_or_else(missing)
    }

    /// Returns a body with these weights, and the names of the tensors that it does not use.
    ///
    /// # Errors
    /// The errors of [`parameters`](Self::parameters).
    pub fn body(&self, device: &Device) -> Result<(Body, Vec<String>), Error> {
        let (parameters, unused) = self.parameters()?;
        Ok((restore(self.drawn(device), parameters)?, unused))
    }

    /// Returns the layers behind pooling, with their weights where they are at hand.
    fn sentence_layers(
        &self,
        layers: &[SentenceLayer],
        device: &Device,
    ) -> Result<SentenceLayers, Error> {
        // first, because nothing else bounds the sizes that the folder says
        let parameters = match &self.sentences {
            Some(sentences) if self.weights.is_some() && !layers.is_empty() => {
                Some(sentences.parameters(&self.dense_weights)?)
            }
            _ => None,
        };
        let drawn = SentenceLayers::init(layers, &mut generator(0, "sentence", 0), device);
        match parameters {
            Some(parameters) => restore(drawn, parameters),
            None => Ok(drawn),
        }
    }

    fn drawn(&self, device: &Device) -> Body {
        Body::init(self.architecture(), &mut generator(0, "parameters", 0), device)
    }
}

/// A pretrained encoder of the families of BERT and T5 (BERT, SciBERT, MiniLM, RoBERTa, …) from a local folder,
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
    /// hidden units and of attention probabilities, or the one of T5; 0 switches off `mlp_dropout` of ModernBERT too.
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
            (architecture.dropout, architecture.attention_dropout) = (dropout, dropout);
            if dropout == 0.0 {
                architecture.inner_dropout = 0.0;
            }
        }
    }

    /// Returns an encoder, and the names of the weight file's tensors that it does not use. The offset becomes the bias
    /// of its head. If the folder was opened without weights,
    /// the body is drawn, and its parameters are to be read from elsewhere.
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
