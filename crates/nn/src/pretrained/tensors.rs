//! Tensors by name, from safetensors or PyTorch files, whole or in shards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_core::store::{Entry, Mapping, open_input};
use half::{bf16, f16};
use pytorch_reader::PytorchReader;
use serde_json::Value;

use super::json::JsonFile;
use crate::error::{Error, POINTER, PULL};

/// The possible weight files, the preferred one first: a file, or an index of several.
pub const WEIGHT_FILES: [&str; 4] = [
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
];

/// Weights of other libraries, and how transformers 4 is told to read them.
const OF_OTHERS: [(&str, &str); 2] =
    [("tf_model.h5", "from_tf"), ("flax_model.msgpack", "from_flax")];
/// Files of ONNX, which hold weights under names of their own.
const ONNX: [&str; 2] = ["model.onnx", "onnx/model.onnx"];

/// Returns the weight file whose name this is but for a variant in it, such as `model.fp16.safetensors`. A shard of such a
/// file is none.
fn without_variant(name: &str) -> Option<&'static str> {
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        [_, variant, _] if variant.contains("-of-") => None,
        ["model", _, "safetensors"] => Some("model.safetensors"),
        ["pytorch_model", _, "bin"] => Some("pytorch_model.bin"),
        _ => None,
    }
}

/// Returns the weight file that a folder has under the name of a variant: its name without the variant, and with it.
fn variant(folder: &Path) -> Option<(&'static str, String)> {
    let entries = fs::read_dir(folder).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // safetensors come first
    names.filter_map(|name| Some((without_variant(&name)?, name))).min()
}

/// Returns the weight file of a folder, or the index of several.
pub(super) fn weight_file(folder: &Path) -> Result<PathBuf, Error> {
    WEIGHT_FILES.iter().map(|name| folder.join(name)).find(|path| path.exists()).ok_or_else(|| {
        let mut message = format!("no weights: the folder has none of {}", WEIGHT_FILES.join(", "));
        let is_there = |name: &str| folder.join(name).exists();
        let other = OF_OTHERS.iter().find(|(name, _)| is_there(name));
        let onnx = ONNX.iter().find(|name| is_there(name));
        if let Some((name, variant)) = variant(folder) {
            message += &format!("; rename {variant} to {name}");
        } else if let Some((name, option)) = other {
            message += &format!(
                "; from {name} transformers 4 makes them: \
                 `AutoModel.from_pretrained(…, {option}=True).save_pretrained(…)`"
            );
        } else if let Some(name) = onnx {
            message += &format!(
                "; {name} is not read: take them from the model of which it was made, by \
                 `AutoModel.from_pretrained(…).save_pretrained(…)`"
            );
        }
        Error::file(folder, message)
    })
}

/// The tensors of a weight file; values are read on demand.
pub(super) struct Tensors {
    /// The file, or the index of several.
    pub(super) path: PathBuf,
    pub(super) by_name: BTreeMap<String, Tensor>,
}

/// One tensor of a file.
pub(super) struct Tensor {
    path: Arc<Path>,
    name: String,
    pub(super) shape: Vec<usize>,
    /// Gives the values, row-major.
    read: Box<dyn Fn() -> Result<Vec<f32>, String> + Send + Sync>,
}

impl Tensors {
    /// Opens a [`weight_file`], or all its shards.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let mut by_name = BTreeMap::new();
        for file in weight_parts(path)? {
            for tensor in open(&file)? {
                let name = tensor.name.clone();
                if let Some(first) = by_name.insert(name.clone(), tensor) {
                    let message = format!("`{name}` is also in {}", first.path.display());
                    return Err(Error::file(&file, message));
                }
            }
        }
        Ok(Self { path: path.to_path_buf(), by_name })
    }
}

/// Returns the files with the tensors of a weight file: itself, or the shards in its folder that an index names.
///
/// # Errors
/// [`dsokr_core::Error::File`] for an index that cannot be read.
pub fn weight_parts(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(vec![path.to_path_buf()]);
    }
    let index = JsonFile::read(path)?;
    let allowed = "an object whose values are names of files in the same folder";
    let refuse = || index.refuse("weight_map", allowed);
    let map = index.json.get("weight_map").and_then(Value::as_object).ok_or_else(refuse)?;
    let mut names = BTreeSet::new();
    for name in map.values() {
        let name = name.as_str().ok_or_else(refuse)?;
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return Err(refuse());
        }
        names.insert(name);
    }
    Ok(names.into_iter().map(|name| path.with_file_name(name)).collect())
}

/// Returns whether a file is a pointer of Git LFS; what else is wrong with it, its reader says.
fn is_pointer(file: &Path) -> bool {
    let Ok(opened) = open_input(file) else { return false };
    let mut start = Vec::new();
    let read = opened.take(POINTER.len() as u64).read_to_end(&mut start);
    read.is_ok() && start == POINTER.as_bytes()
}

fn open(file: &Path) -> Result<Vec<Tensor>, Error> {
    if is_pointer(file) {
        return Err(Error::file(file, PULL));
    }
    let path: Arc<Path> = file.into();
    if path.extension().is_some_and(|extension| extension == "safetensors") {
        let mapping = Arc::new(Mapping::open(&path)?);
        let tensor = |(name, entry): (&String, &Entry)| {
            let path = Arc::clone(&path);
            let name = name.clone();
            let shape = entry.shape.clone();
            let mapping = mapping.clone();
            let entry = entry.clone();
            let read = move || decode(&entry.dtype.to_string(), mapping.bytes(entry.bytes.clone()));
            Tensor { path, name, shape, read: Box::new(read) }
        };
        return Ok(mapping.entries().iter().map(tensor).collect());
    }
    let reader = PytorchReader::new(&path).map_err(|e| {
        Error::file(file, format!("not a file of PyTorch's tensors, or a truncated one: {e}"))
    })?;
    let tensor = |(name, tensor): (String, pytorch_reader::Tensor)| {
        let path = Arc::clone(&path);
        let shape = tensor.shape().to_vec();
        let read = move || {
            let bytes = tensor.read().map_err(|e| format!("cannot be read: {e}"))?;
            decode(&format!("{:?}", tensor.dtype()), &bytes)
        };
        Tensor { path, name, shape, read: Box::new(read) }
    };
    Ok(reader.into_tensors().into_iter().map(tensor).collect())
}

/// Returns numbers of a type of floats.
fn decode(kind: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|element| number(*element)).collect()
    }

    match kind {
        "F32" => Ok(each(bytes, f32::from_le_bytes)),
        "F64" => Ok(each(bytes, |b| f64::from_le_bytes(b) as f32)),
        "F16" => Ok(each(bytes, |b| f16::from_le_bytes(b).to_f32())),
        "BF16" => Ok(each(bytes, |b| bf16::from_le_bytes(b).to_f32())),
        _ => Err(format!("is {kind}: F64, F32, F16 or BF16")),
    }
}

impl Tensor {
    /// Returns the file and name, for messages.
    pub(super) fn place(&self) -> String {
        format!("{}: `{}`", self.path.display(), self.name)
    }

    /// Refuses a tensor of another shape.
    pub(super) fn check_shape(&self, expected: &[usize]) -> Result<(), Error> {
        if self.shape == expected {
            return Ok(());
        }
        let found = self.shape.clone();
        Err(Error::Shape { tensor: self.place(), found, expected: expected.to_vec() })
    }

    /// Returns the values, row-major.
    pub(super) fn read(&self) -> Result<Vec<f32>, Error> {
        (self.read)().map_err(|e| Error::file(&self.path, format!("`{}` {e}", self.name)))
    }

    /// Returns the values, all of them finite.
    pub(super) fn read_finite(&self) -> Result<Vec<f32>, Error> {
        let values = self.read()?;
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(element) => Err(Error::NotFinite { tensor: self.place(), element }),
        }
    }
}
