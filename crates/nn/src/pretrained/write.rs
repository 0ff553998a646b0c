//! A body written back as a folder that transformers loads.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::store::{self, Tensor, write_atomically};
use serde_json::{Map, Value};

use super::Pretrained;
use super::layout::layout;
use super::tensors::Tensors;
use super::weights;
use crate::Error;
use crate::parameters::{Parameters, check};

/// Kind and version in the metadata of the weight files that are written.
const KIND: &str = "transformer-body";
const VERSION: u32 = 1;

/// See [`Pretrained::write`].
pub(super) fn write(model: &Pretrained, folder: &Path, body: &Parameters) -> Result<(), Error> {
    let pieces = layout(model.architecture());
    let shapes = pieces.iter().map(|piece| (piece.path.clone(), piece.shape.clone())).collect();
    check(body, &shapes)?;
    create(folder)?;
    let path = folder.join("model.safetensors");
    let mut pooler = Vec::new();
    if let Some(file) = &model.weights {
        let same = |a: &Path, b: &Path| a.canonicalize().ok() == b.canonicalize().ok();
        if same(folder, &model.folder) {
            let message = "the weights were read from this folder; write to a different one";
            return Err(Error::file(folder, message));
        }
        pooler = weights::pooler(&Tensors::open(file)?)?;
    }
    description(model, folder, &model.config.of_written_body())?;

    let mut parts = Vec::new();
    for piece in &pieces {
        let values = &body[&piece.path].values;
        parts.extend(piece.names.iter().zip(piece.split(values)));
    }
    let shapes = pieces.iter().flat_map(|piece| piece.names.iter().map(|_| piece.file_shape()));
    let tensors = parts.iter().zip(shapes);
    let tensors = tensors.map(|((name, values), shape)| Tensor::f32(name, &shape, values));
    let kept = pooler.iter().map(|(name, kept)| Tensor::f32(name, &kept.shape, &kept.values));
    let tensors: Vec<Tensor> = tensors.chain(kept).collect();
    // transformers refuses files that do not say this
    let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    store::Contents::new(KIND, VERSION, &metadata, &tensors)
        .write(&path)
        .map_err(|e| failed(&path, e))
}

/// See [`Pretrained::write_without_weights`].
pub(super) fn write_without_weights(model: &Pretrained, folder: &Path) -> Result<(), Error> {
    create(folder)?;
    description(model, folder, &model.config.json)
}

/// See [`Pretrained::files`].
pub(super) fn files(model: &Pretrained) -> Result<Vec<(&'static str, String)>, Error> {
    let config = serde_json::to_string_pretty(&model.config.json)
        .map_err(|e| Error::file(Path::new("config.json"), e))?;
    let mut files =
        vec![("config.json", config), ("tokenizer.json", model.tokenizer.to_json().to_owned())];
    let texts = model.companions.iter();
    files.extend(
        texts.filter_map(|(name, bytes)| Some((*name, String::from_utf8(bytes.clone()).ok()?))),
    );
    Ok(files)
}

/// All that the folder holds but the weights.
fn description(
    model: &Pretrained,
    folder: &Path,
    config: &Map<String, Value>,
) -> Result<(), Error> {
    for (name, bytes) in &model.companions {
        write_bytes(&folder.join(name), bytes)?;
    }
    write_bytes(&folder.join("tokenizer.json"), model.tokenizer.to_json().as_bytes())?;
    let path = folder.join("config.json");
    let config = serde_json::to_vec_pretty(config).map_err(|e| Error::file(&path, e))?;
    write_bytes(&path, &config)
}

fn create(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomically(path, |file| file.write_all(bytes)).map_err(|e| failed(path, e))
}

fn failed(path: &Path, error: dsokr_basis::Error) -> Error {
    match error {
        dsokr_basis::Error::Io { source, .. } => Error::file(path, source),
        other => Error::file(path, other),
    }
}
