//! A body written back as a folder that transformers loads, and with pooling and head as one that the Python library
//! sentence-transformers loads.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_core::store::{self, Tensor, write_atomically};
use serde_json::{Value, json};

use super::tensors::Tensors;
use super::weights::{layout, pooler, transposed};
use super::{COMPANIONS, Pretrained};
use crate::error::Error;
use crate::parameters::{Parameters, check, check_finite, collect};
use crate::transformer::{Pooling, Transformer};

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const WEIGHTS: &str = "model.safetensors";
const BERT: &str = "sentence_bert_config.json";
const SENTENCES: &str = "config_sentence_transformers.json";
const MODULES: &str = "modules.json";
const POOLING: &str = "1_Pooling";
const HEAD: &str = "2_Dense";

/// Returns whether [`Pretrained::export`] gives a file, or a folder, this name.
pub fn is_exported(name: &str) -> bool {
    let written = [CONFIG, TOKENIZER, WEIGHTS, BERT, SENTENCES, MODULES, POOLING, HEAD];
    written.iter().chain(&COMPANIONS).any(|file| *file == name)
}

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
    /// architecture, before anything is written; [`dsokr_core::Error::File`] for a file that cannot be written,
    /// or if `folder` is the one that was opened, whose weights would be lost.
    pub fn write(&self, folder: &Path, body: &Parameters) -> Result<(), Error> {
        let pieces = layout(self.architecture());
        let shapes = pieces.iter().map(|piece| (piece.path.clone(), piece.shape.clone())).collect();
        check(body, &shapes)?;
        create(folder)?;
        let mut unchanged = Vec::new();
        if let Some(file) = &self.weights {
            let same = |a: &Path, b: &Path| a.canonicalize().ok() == b.canonicalize().ok();
            if same(folder, &self.folder) {
                let message = "the weights were read from this folder; write to a different one";
                return Err(Error::file(folder, message));
            }
            unchanged = pooler(&Tensors::open(file)?)?;
        }
        for (name, bytes) in &self.companions {
            write_bytes(&folder.join(name), bytes)?;
        }
        write_bytes(&folder.join(TOKENIZER), self.tokenizer.json.as_bytes())?;
        let config = format!("{:#}", Value::Object(self.config.of_written_body()));
        write_bytes(&folder.join(CONFIG), config.as_bytes())?;

        let mut parts = Vec::new();
        for piece in &pieces {
            for (name, values) in piece.names.iter().zip(piece.split(&body[&piece.path].values)) {
                parts.push((name, piece.file_shape(), values));
            }
        }
        let tensors = parts.iter().map(|(name, shape, values)| Tensor::f32(name, shape, values));
        let unchanged = unchanged.iter();
        let unchanged =
            unchanged.map(|(name, tensor)| Tensor::f32(name, &tensor.shape, &tensor.values));
        write_weights(folder, "transformer-body", &tensors.chain(unchanged).collect::<Vec<_>>())
    }

    /// Returns the name and text of the small files: config.json, tokenizer.json and the other text files of the
    /// tokenizer. [`open_without_weights`](Self::open_without_weights) reads a folder that holds them.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let config = format!("{:#}", Value::Object(self.config.json.clone()));
        let mut files = vec![(CONFIG, config), (TOKENIZER, self.tokenizer.json.clone())];
        for (name, bytes) in &self.companions {
            files.extend(String::from_utf8(bytes.clone()).map(|text| (*name, text)));
        }
        files
    }

    /// [Writes](Self::write) the body of an encoder, and pooling and head in the same folder, as sentence-transformers
    /// saves its modules `Transformer`, `Pooling`, `Dense` and `Normalize`: `SentenceTransformer(folder).encode(texts)`
    /// then returns z of texts of at most `max_length` tokens, scaled to unit length where `unit_length` says so.
    ///
    /// The files of the layers are `sentence_bert_config.json`, `config_sentence_transformers.json`,
    /// `1_Pooling/config.json`, `2_Dense/config.json`, `2_Dense/model.safetensors` and, written last,
    /// `modules.json`.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write); [`Error::Shape`] or [`Error::NotFinite`] for the head.
    pub fn export(
        &self,
        folder: &Path,
        encoder: &Transformer,
        max_length: usize,
        unit_length: bool,
    ) -> Result<(), Error> {
        let layer = collect(&encoder.head);
        check_finite(&layer)?;
        self.write(folder, &collect(&encoder.body))?;
        let [width, outputs] = encoder.head.weight.dims();
        let is = |pooling| encoder.pooling == pooling;
        let pooling = folder.join(POOLING);
        let head = folder.join(HEAD);
        let settings = json!({ "max_seq_length": max_length, "do_lower_case": false });
        write_json(folder, BERT, &settings)?;
        // candidates are ranked by inner products
        let ranking =
            json!({ "prompts": {}, "default_prompt_name": null, "similarity_fn_name": "dot" });
        write_json(folder, SENTENCES, &ranking)?;
        let modes = json!({
            "word_embedding_dimension": width,
            "pooling_mode_cls_token": is(Pooling::First),
            "pooling_mode_mean_tokens": is(Pooling::Mean),
            "pooling_mode_max_tokens": is(Pooling::Max),
            "pooling_mode_mean_sqrt_len_tokens": false,
        });
        write_json(&pooling, CONFIG, &modes)?;
        let sizes = json!({
            "in_features": width,
            "out_features": outputs,
            "bias": true,
            "activation_function": "torch.nn.modules.linear.Identity",
        });
        write_json(&head, CONFIG, &sizes)?;
        // PyTorch's linear layers are `[out, in]`
        let weight = transposed(&layer["weight"].values, outputs);
        let tensors = [
            Tensor::f32("linear.weight", &[outputs, width], &weight),
            Tensor::f32("linear.bias", &[outputs], &layer["bias"].values),
        ];
        write_weights(&head, "sentence-head", &tensors)?;
        let modules = [
            ("", "Transformer"),
            (POOLING, "Pooling"),
            (HEAD, "Dense"),
            ("3_Normalize", "Normalize"),
        ];
        let modules = &modules[..if unit_length { 4 } else { 3 }];
        let entry = |(at, (path, class)): (usize, &(&str, &str))| {
            let class = format!("sentence_transformers.models.{class}");
            json!({ "idx": at, "name": at.to_string(), "path": path, "type": class })
        };
        write_json(folder, MODULES, &modules.iter().enumerate().map(entry).collect())
    }
}

fn create(folder: &Path) -> Result<(), Error> {
    store::create_folder(folder).map_err(|e| Error::file(folder, e))
}

fn write_json(folder: &Path, name: &str, value: &Value) -> Result<(), Error> {
    create(folder)?;
    write_bytes(&folder.join(name), format!("{value:#}\n").as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Ok(write_atomically(path, |file| file.write_all(bytes))?)
}

/// Writes the weights of a folder, of a kind that their metadata name.
fn write_weights(folder: &Path, kind: &str, tensors: &[Tensor]) -> Result<(), Error> {
    // transformers refuses files without this entry
    let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    Ok(store::Contents::new(kind, 1, &metadata, tensors).write(&folder.join(WEIGHTS))?)
}
