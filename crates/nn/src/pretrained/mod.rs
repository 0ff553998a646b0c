//! Pretrained encoders of the BERT family, read from a local folder as Hugging Face's transformers
//! saves it, and written back in the same layout.
//!
//! | file | holds |
//! |---|---|
//! | `config.json` | the sizes; `model_type` is `bert` (also SciBERT, MiniLM, …), `roberta`, `xlm-roberta` or `camembert` |
//! | `tokenizer.json`, else `vocab.txt` with `tokenizer_config.json` | the [`Tokenizer`] |
//! | `model.safetensors`, else `pytorch_model.bin`, or their shards with `….index.json` | the weights: 32-bit floats, or 16-bit ones that are widened |
//!
//! Every tensor of a weight file becomes a parameter or is known to be of no use: the pooler, the
//! heads of pre-training and of other tasks (`cls`, `lm_head`, `classifier`, `qa_outputs`), and the
//! buffers of whole numbers that older files hold. A tensor that is neither, or one that is missing,
//! is an error, so that weights of another architecture are never half loaded.

mod config;
mod encoder;
mod layout;
mod tensors;
mod tokenizer;
mod weights;
mod write;

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr_basis::random::generator;
pub use encoder::PretrainedConfig;
pub use tokenizer::Tokenizer;

use crate::Error;
use crate::parameters::{Parameters, restore};
use crate::transformer::{Architecture, Body};
use config::Config;
use tensors::Tensors;

/// Small files beside configuration and weights that are kept, so that transformers' own tokenizer
/// loads from what is written.
const COMPANIONS: [&str; 7] = [
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
];

/// A pretrained encoder's folder: architecture and tokenizer, read and checked, and where its
/// weights are.
///
/// Weights in safetensors files are mapped into memory while they are read: nothing may write to
/// the file meanwhile.
#[derive(Clone, Debug)]
pub struct Pretrained {
    folder: PathBuf,
    config: Config,
    tokenizer: Tokenizer,
    /// Names and contents of the [`COMPANIONS`] found.
    companions: Vec<(&'static str, Vec<u8>)>,
    /// The weight file, or the index of several.
    weights: Option<PathBuf>,
}

impl Pretrained {
    /// Reads configuration and tokenizer, and finds the weights without reading them.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is missing or cannot be read, [`Error::FileValue`] for a
    /// value in it that this encoder cannot have, such as a `model_type` of another family or a
    /// vocabulary larger than the table of token vectors (a smaller one is fine, some models pad
    /// the table).
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut model = Self::open_without_weights(folder)?;
        model.weights = Some(tensors::weight_file(folder)?);
        Ok(model)
    }

    /// As [`open`](Self::open), for a folder that
    /// [`write_without_weights`](Self::write_without_weights) wrote and whose weights lie elsewhere.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for missing weights.
    pub fn open_without_weights(folder: &Path) -> Result<Self, Error> {
        let config = Config::read(&folder.join("config.json"))?;
        let [json, vocabulary] = ["tokenizer.json", "vocab.txt"].map(|name| folder.join(name));
        let tokenizer = if json.exists() {
            Tokenizer::read(&json)?
        } else if vocabulary.exists() {
            Tokenizer::from_vocabulary(&vocabulary, config.family)?
        } else {
            let message = "no tokenizer: the folder has neither tokenizer.json nor vocab.txt";
            return Err(Error::file(folder, message));
        };
        tokenizer.check_vocabulary(config.architecture.vocabulary)?;
        let mut companions = Vec::new();
        for name in COMPANIONS {
            let path = folder.join(name);
            if path.exists() {
                let bytes = std::fs::read(&path).map_err(|e| Error::file(&path, e))?;
                companions.push((name, bytes));
            }
        }
        Ok(Self { folder: folder.to_path_buf(), config, tokenizer, companions, weights: None })
    }

    /// Takes the weights from `folder`: for one that was opened without.
    ///
    /// # Errors
    /// [`Error::File`] when the folder has no weight file.
    pub fn find_weights(&mut self, folder: &Path) -> Result<(), Error> {
        self.weights = Some(tensors::weight_file(folder)?);
        Ok(())
    }

    /// Whether it knows where its weights are.
    pub fn has_weights(&self) -> bool {
        self.weights.is_some()
    }

    /// Sizes and rates of the body, from config.json.
    pub fn architecture(&self) -> &Architecture {
        &self.config.architecture
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Checks a maximum length in tokens, special ones included.
    ///
    /// # Errors
    /// [`Error::Setting`] for one that is longer than the table of positions, or that has no room
    /// for a token beside the special ones.
    pub fn check(&self, max_length: usize) -> Result<(), Error> {
        let longest = self.architecture().longest();
        if max_length > longest {
            let allowed = format!("at most {longest}, the positions of {}", self.folder.display());
            return Err(Error::setting("max_length", max_length, allowed));
        }
        self.tokenizer.room(max_length).map(|_| ())
    }

    /// Reads the weights: the body's parameters by their paths in it (`tokens`, `positions`,
    /// `types`, `norm.gamma`, `layers.0.qkv.weight`, …), and the names of the file's tensors that a
    /// body does without, sorted.
    ///
    /// Matrices are `[in, out]`, and those of query, key and value lie side by side,
    /// `[d, 3 d]`.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read, or when the folder was opened without
    /// weights; [`Error::Names`] with all tensors that are missing or unknown; [`Error::Shape`],
    /// [`Error::NotFinite`].
    pub fn parameters(&self) -> Result<(Parameters<'static>, Vec<String>), Error> {
        match &self.weights {
            Some(file) => weights::body(&Tensors::open(file)?, self.architecture()),
            None => Err(Error::file(&self.folder, "the folder was opened without its weights")),
        }
    }

    /// A body with these weights, and the names of the file's tensors that it does without.
    ///
    /// # Errors
    /// As [`parameters`](Self::parameters).
    pub fn body(&self, device: &Device) -> Result<(Body, Vec<String>), Error> {
        let (parameters, unused) = self.parameters()?;
        let body = Body::init(self.architecture(), &mut generator(0, "parameters", 0), device);
        Ok((restore(body, &parameters)?, unused))
    }

    /// Writes `body` in the layout of transformers into a folder, which is created where it is
    /// missing: `AutoModel.from_pretrained` and `AutoTokenizer.from_pretrained` load it.
    ///
    /// The folder holds config.json (as read, but for `architectures` and `dtype`), tokenizer.json,
    /// the other files of the tokenizer that were there, and model.safetensors in 32-bit floats,
    /// written last. Each file is replaced as a whole or not at all.
    ///
    /// A pooler in the weights that were read is written back unchanged: `AutoModel` would
    /// otherwise draw one at random. It belongs to the weights before training, so use the token
    /// vectors and not `pooler_output`. Opened without weights, no pooler is written. Heads of other
    /// tasks are not written.
    ///
    /// # Errors
    /// [`Error::Names`], [`Error::Shape`] or [`Error::NotFinite`] for a body that is not of this architecture, before anything is
    /// written; [`Error::File`] for a file that cannot be written, or for the very folder that was
    /// opened, whose weights would be lost.
    pub fn write(&self, folder: &Path, body: &Parameters) -> Result<(), Error> {
        write::write(self, folder, body)
    }

    /// Name and text of the small files: config.json, tokenizer.json and those of the tokenizer's
    /// other files that are text. [`open_without_weights`](Self::open_without_weights) reads a folder
    /// that holds them.
    ///
    /// # Errors
    /// [`Error::File`] for a configuration that cannot be written as JSON.
    pub fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        write::files(self)
    }

    /// Writes all but the weights: config.json as read, tokenizer.json, and the tokenizer's other
    /// files. [`open_without_weights`](Self::open_without_weights) reads the folder.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be written.
    pub fn write_without_weights(&self, folder: &Path) -> Result<(), Error> {
        write::write_without_weights(self, folder)
    }
}
