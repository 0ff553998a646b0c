//! Pretrained encoders, read from a local folder as Hugging Face's transformers or sentence-transformers saves it, and
//! written back in the same layout.
//!
//! | file | holds |
//! |---|---|
//! | `config.json` | the sizes; `model_type` is `bert` (also SciBERT, MiniLM, …), `roberta`, `xlm-roberta`, `camembert`, `distilbert`, `mpnet`, `electra`, `albert`, `deberta-v2`, `esm`, `modernbert`, `nomic_bert`, `dpr`, `data2vec-text`, `ernie`, `t5`, `mt5`, `llama`, `mistral`, `qwen2`, `qwen3` or `gemma3_text` |
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
mod settings;
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

use crate::error::{Error, check};
use crate::parameters::{Parameters, restore};
pub use crate::tokenizer::Tokenizer;
use crate::transformer::{Architecture, Body, SentenceLayer, SentenceLayers};
use added_tokens::TokenFiles;
pub use config::ADAPTER;
use config::Config;
use json::JsonFile;
pub use sentence_files::MODULES;
use sentences::below;
pub use sentences::{ModuleFolder, Sentences, module_folders, sentence_files, transformer_folder};
pub use settings::PretrainedConfig;
use tensors::{Tensors, weight_file};
pub use tensors::{WEIGHT_FILES, weight_parts};
pub use texts::TextReader;
pub use vocabulary::sentence_piece_remedy;
pub use write::is_exported;

/// Other files of the tokenizer, which are kept so that transformers' own tokenizer loads from the
/// folder that is written.
pub const COMPANIONS: [&str; 10] = [
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "tokenizer.model",
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
        let folder = below(folder, sentences.as_ref());
        let config = Config::read(&folder.join("config.json"))?;
        if let Some(sentences) = &sentences {
            sentences.check(config.architecture.width, &folder)?;
        }
        let lower_case = sentences.as_ref().is_some_and(|sentences| sentences.lower_case);
        let tokenizer = read_tokenizer(&folder, &config, lower_case, is_kept)?;
        let companions = read_companions(&folder)?;
        Ok(Self {
            folder,
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
    /// Matrices are `[in, out]`. The matrices of query, key and value lie side by side, `[d, 3 d]` where each head of queries
    /// has keys and values of its own.
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

/// Reads the tokenizer of a folder of transformers, or of what a run has kept of one. Every token has a vector in the model.
fn read_tokenizer(
    folder: &Path,
    config: &Config,
    lower_case: bool,
    is_kept: bool,
) -> Result<Tokenizer, Error> {
    let json = folder.join("tokenizer.json");
    let (path, tokenizer) = if is_kept {
        let tokenizer = Tokenizer::read(&json)?;
        (json, tokenizer)
    } else {
        tokenizer_of_transformers(folder, config, lower_case)?
    };
    let tokenizer = if lower_case { tokenizer.lower_cased(&path)? } else { tokenizer };
    if config.architecture.types > 0 && tokenizer.has_other_types()? {
        let message = "its post_processor gives tokens of a text another type than 0: \"type_id\": 0, the model reads \
                       the vector of that type alone";
        return Err(Error::file(&path, message));
    }
    let rows = config.architecture.vocabulary;
    if let Some(token) = tokenizer.first_beyond(rows) {
        let size = tokenizer.vocabulary();
        let message = format!(
            "size of the vocabulary = {size}: at most {rows}, vocab_size in config.json: {token:?} has no vector; for \
             tokens that were added, transformers makes vectors: `model.resize_token_embeddings(len(tokenizer))`, then \
             `save_pretrained` of both"
        );
        return Err(Error::file(&path, message));
    }
    Ok(tokenizer)
}

/// Reads the tokenizer of a folder as transformers does, and returns it with the path of its vocabulary.
fn tokenizer_of_transformers(
    folder: &Path,
    config: &Config,
    lower_case: bool,
) -> Result<(PathBuf, Tokenizer), Error> {
    let settings = JsonFile::read_if_there(&folder.join("tokenizer_config.json"))?;
    let allowed = "\"right\", texts are truncated at their ends";
    settings.only_value("truncation_side", "right", allowed)?;
    let allowed = "false: a special token within a text is one token";
    settings.only_value("split_special_tokens", false, allowed)?;
    let json = folder.join("tokenizer.json");
    if !json.exists() {
        return vocabulary::read(folder, config);
    }
    let tokenizer = classes::read(&json, &settings, config, lower_case)?;
    let further = TokenFiles::read(folder)?.beside(&tokenizer, config.architecture.vocabulary)?;
    let tokenizer = tokenizer.with_tokens(further, &json)?;
    Ok((json, tokenizer))
}

/// Reads the [`COMPANIONS`] in a folder.
fn read_companions(folder: &Path) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
    let mut companions = Vec::new();
    for name in COMPANIONS {
        let path = folder.join(name);
        if path.exists() {
            let bytes = read_bytes(&path).map_err(|e| Error::file(&path, e))?;
            companions.push((name, bytes));
        }
    }
    Ok(companions)
}
