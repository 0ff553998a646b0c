//! A body written back as a folder that transformers loads.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::store::{self, Tensor, write_atomically};

use super::Pretrained;
use super::layout::layout;
use super::tensors::Tensors;
use super::weights;
use crate::Error;
use crate::parameters::{Parameters, check};

pub(super) const CONFIG: &str = "config.json";
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const WEIGHTS: &str = "model.safetensors";

/// Kind and version in the metadata of the weight files that are written.
const KIND: &str = "transformer-body";
const VERSION: u32 = 1;

impl Pretrained {
    /// Writes `body` in the layout of transformers into a folder, which is created if it is missing:
    /// `AutoModel.from_pretrained` and `AutoTokenizer.from_pretrained` load it.
    ///
    /// The folder holds config.json (as read, except for `architectures` and `dtype`),
    /// tokenizer.json, the tokenizer's other files, and model.safetensors in 32-bit floats, written
    /// last. Each file is replaced as a whole or not at all.
    ///
    /// A pooler in the weights that were read is written back unchanged, because `AutoModel` would
    /// otherwise draw one at random. It has not been trained with the body: use the token vectors, not
    /// `pooler_output`. A folder that was opened without weights is written without a pooler. Heads of
    /// other tasks are not written.
    ///
    /// # Errors
    /// [`Error::Names`], [`Error::Shape`] or [`Error::NotFinite`] for a body of a different
    /// architecture, before anything is written; [`Error::File`] for a file that cannot be written,
    /// or if `folder` is the one that was opened, whose weights would be lost.
    pub fn write(&self, folder: &Path, body: &Parameters) -> Result<(), Error> {
        let pieces = layout(self.architecture());
        let shapes = pieces.iter().map(|piece| (piece.path.clone(), piece.shape.clone())).collect();
        check(body, &shapes)?;
        create(folder)?;
        let mut pooler = Vec::new();
        if let Some(file) = &self.weights {
            let same = |a: &Path, b: &Path| a.canonicalize().ok() == b.canonicalize().ok();
            if same(folder, &self.folder) {
                let message = "the weights were read from this folder; write to a different one";
                return Err(Error::file(folder, message));
            }
            pooler = weights::pooler(&Tensors::open(file)?)?;
        }
        for (name, bytes) in &self.companions {
            write_bytes(&folder.join(name), bytes)?;
        }
        write_bytes(&folder.join(TOKENIZER), self.tokenizer.to_json().as_bytes())?;
        let path = folder.join(CONFIG);
        let config = serde_json::to_vec_pretty(&self.config.of_written_body());
        write_bytes(&path, &config.map_err(|e| Error::file(&path, e))?)?;

        let mut parts = Vec::new();
        for piece in &pieces {
            for (name, values) in piece.names.iter().zip(piece.split(&body[&piece.path].values)) {
                parts.push((name, piece.file_shape(), values));
            }
        }
        let tensors = parts.iter().map(|(name, shape, values)| Tensor::f32(name, shape, values));
        let pooler =
            pooler.iter().map(|(name, tensor)| Tensor::f32(name, &tensor.shape, &tensor.values));
        write_weights(folder, KIND, &tensors.chain(pooler).collect::<Vec<_>>())
    }

    /// Name and text of the small files: config.json, tokenizer.json and those of the tokenizer's
    /// other files that are text. [`open_without_weights`](Self::open_without_weights) reads a folder
    /// that holds them.
    ///
    /// # Errors
    /// [`Error::File`] for a configuration that cannot be written as JSON.
    pub fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        let config = serde_json::to_string_pretty(&self.config.json)
            .map_err(|e| Error::file(Path::new("config.json"), e))?;
        let mut files = vec![("config.json", config)];
        files.push(("tokenizer.json", self.tokenizer.to_json().to_owned()));
        for (name, bytes) in &self.companions {
            files.extend(String::from_utf8(bytes.clone()).map(|text| (*name, text)));
        }
        Ok(files)
    }
}

pub(super) fn create(folder: &Path) -> Result<(), Error> {
    store::create_folder(folder).map_err(|e| Error::file(folder, e))
}

pub(super) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomically(path, |file| file.write_all(bytes)).map_err(|e| failed(path, e))
}

/// Writes the weights of a folder, of a kind that their metadata name.
pub(super) fn write_weights(folder: &Path, kind: &str, tensors: &[Tensor]) -> Result<(), Error> {
    // transformers refuses files without this entry
    let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    let path = folder.join(WEIGHTS);
    let contents = store::Contents::new(kind, VERSION, &metadata, tensors);
    contents.write(&path).map_err(|e| failed(&path, e))
}

fn failed(path: &Path, error: dsokr_basis::Error) -> Error {
    match error {
        dsokr_basis::Error::Io { source, .. } => Error::file(path, source),
        other => Error::file(path, other),
    }
}
