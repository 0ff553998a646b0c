use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr_basis::random::generator;
use dsokr_basis::store::read_bytes;

use super::config::Config;
use super::tensors::{Tensors, weight_file};
use super::{Tokenizer, weights};
use crate::Error;
use crate::error::check;
use crate::parameters::{Parameters, restore};
use crate::transformer::{Architecture, Body};

/// Other files of the tokenizer, which are kept so that transformers' own tokenizer loads from the
/// folder that is written.
pub const COMPANIONS: [&str; 7] = [
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
];

/// The folder of a pretrained encoder: its architecture and tokenizer, checked, and the path of its
/// weights.
///
/// A safetensors file is mapped into memory while it is read: nothing may write to it meanwhile.
#[derive(Clone, Debug)]
pub struct Pretrained {
    pub(super) folder: PathBuf,
    pub(super) config: Config,
    pub(super) tokenizer: Tokenizer,
    /// Names and contents of the [`COMPANIONS`] in the folder.
    pub(super) companions: Vec<(&'static str, Vec<u8>)>,
    /// The weight file, or the index of several.
    pub(super) weights: Option<PathBuf>,
}

impl Pretrained {
    /// Reads configuration and tokenizer, and finds the weights without reading them.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is missing or cannot be read; [`Error::FileValue`] for an
    /// unsupported value, such as a `model_type` of a different family, or a vocabulary larger than
    /// the table of token vectors (it may be smaller, since some models pad the table).
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut model = Self::open_without_weights(folder)?;
        model.weights = Some(weight_file(folder)?);
        Ok(model)
    }

    /// As [`open`](Self::open) for a folder of the [`files`](Self::files), whose weights lie elsewhere.
    ///
    /// # Errors
    /// As [`open`](Self::open), except for missing weights.
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
                let bytes = read_bytes(&path).map_err(|e| Error::file(&path, e))?;
                companions.push((name, bytes));
            }
        }
        Ok(Self { folder: folder.to_path_buf(), config, tokenizer, companions, weights: None })
    }

    /// Takes the weights from `folder`.
    ///
    /// # Errors
    /// [`Error::File`] when the folder has no weight file.
    pub fn find_weights(&mut self, folder: &Path) -> Result<(), Error> {
        self.weights = Some(weight_file(folder)?);
        Ok(())
    }

    /// Whether the path of the weights is known.
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
    /// [`Error::Setting`] for a length beyond the table of positions, or without room for a token
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
    /// Matrices are `[in, out]`; those of query, key and value lie side by side, `[d, 3 d]`.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read, or if the folder was opened without weights;
    /// [`Error::Names`] for missing and unknown tensors; [`Error::Shape`]; [`Error::NotFinite`].
    pub fn parameters(&self) -> Result<(Parameters, Vec<String>), Error> {
        match &self.weights {
            Some(file) => weights::body(&Tensors::open(file)?, self.architecture()),
            None => Err(Error::file(&self.folder, "the folder was opened without its weights")),
        }
    }

    /// A body with these weights, and the names of the tensors that it does not use.
    ///
    /// # Errors
    /// As [`parameters`](Self::parameters).
    pub fn body(&self, device: &Device) -> Result<(Body, Vec<String>), Error> {
        let (parameters, unused) = self.parameters()?;
        let body = Body::init(self.architecture(), &mut generator(0, "parameters", 0), device);
        Ok((restore(body, parameters)?, unused))
    }
}
