//! A body written back as a folder that transformers loads, and with pooling and head as one that the Python library
//! sentence-transformers loads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_core::store::{self, Tensor, write_atomically};
use serde_json::{Value, json};

use super::sentence_files::{MODES, MODULES, PROMPTS, QUERY};
use super::sentences::Sentences;
use super::tensors::Tensors;
use super::weights::{layout, pooler, transposed};
use super::{COMPANIONS, Pretrained, TextReader};
use crate::error::Error;
use crate::parameters::{Parameter, Parameters, check, check_finite, collect};
use crate::transformer::{Activation, Readout, SentenceLayer, Transformer};

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const SETTINGS: &str = "tokenizer_config.json";
const WEIGHTS: &str = "model.safetensors";
const BERT: &str = "sentence_bert_config.json";
/// The classes of modules that have a folder, which their number precedes: `1_Pooling`.
const CLASSES: [&str; 3] = ["Pooling", "Dense", "Normalize"];

/// Returns whether [`Pretrained::export`] gives a file, or a folder, this name.
pub fn is_exported(name: &str) -> bool {
    let written = [CONFIG, TOKENIZER, WEIGHTS, BERT, PROMPTS, MODULES];
    let is_module = name
        .split_once('_')
        .is_some_and(|(number, class)| number.parse::<usize>().is_ok() && CLASSES.contains(&class));
    is_module || written.iter().chain(&COMPANIONS).any(|file| *file == name)
}

impl Pretrained {
    /// Writes `body` in the layout of transformers into a folder, which is created if it is missing:
    /// `AutoModel.from_pretrained`, or of T5 the class in `architectures`, and `AutoTokenizer.from_pretrained` load it.
    ///
    /// The folder holds config.json (as read, except for `architectures` and `dtype`, and with the keys of
    /// transformers' class for a Nomic model that has those of its own code),
    /// tokenizer.json, the tokenizer's other files (as read, except that texts are padded at their ends), and
    /// model.safetensors in 32-bit floats, written last. Each file is replaced as a whole or not at all.
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
        let names = self.config.family.names;
        let pieces = layout(self.architecture(), names);
        let shapes = pieces.iter().map(|piece| (piece.path.clone(), piece.shape.clone())).collect();
        check(body, &shapes)?;
        create(folder)?;
        let mut unchanged = Vec::new();
        if let Some(file) = &self.weights {
            let here = folder.canonicalize().ok();
            // the transformer may lie in a folder below
            let mut sources = self.source.iter().map(PathBuf::as_path).chain(file.parent());
            if sources.any(|source| source.canonicalize().ok() == here) {
                let message = "the weights were read from this folder; write to a different one";
                return Err(Error::file(folder, message));
            }
            unchanged = pooler(&Tensors::open(file)?, names)?;
        }
        for (name, bytes) in &self.companions {
            let bytes =
                if *name == SETTINGS { padded_at_ends(bytes) } else { Cow::Borrowed(&bytes[..]) };
            write_bytes(&folder.join(name), &bytes)?;
        }
        let tokenizer = padded_at_ends(self.tokenizer.json.as_bytes());
        write_bytes(&folder.join(TOKENIZER), &tokenizer)?;
        let config = format!("{:#}", Value::Object(self.config.of_written_body()));
        write_bytes(&folder.join(CONFIG), config.as_bytes())?;

        let mut parts = Vec::new();
        for piece in &pieces {
            for (part, values) in piece.parts.iter().zip(piece.split(&body[&piece.path].values)) {
                parts.push((&part.name, piece.file_shape(part), values));
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
        let config = format!("{:#}", Value::Object(self.config.file.json.clone()));
        let mut files = vec![(CONFIG, config), (TOKENIZER, self.tokenizer.json.clone())];
        for (name, bytes) in &self.companions {
            files.extend(String::from_utf8(bytes.clone()).map(|text| (*name, text)));
        }
        if let Some(sentences) = &self.sentences {
            let json = serde_json::to_string_pretty(sentences).unwrap_or_default();
            files.push((Sentences::KEPT, json));
        }
        files
    }

    /// [Writes](Self::write) the body of an encoder, and pooling, the layers behind it and the head in the same folder,
    /// as sentence-transformers saves its modules `Transformer`, `Pooling`, `Dense` and `Normalize`:
    /// `SentenceTransformer(folder).encode(texts)` then returns z of texts that `reader` reads, scaled to unit length
    /// where `unit_length` says so.
    ///
    /// The files of the layers are `sentence_bert_config.json`, `config_sentence_transformers.json` with the prompt,
    /// `1_Pooling/config.json`, `config.json` and `model.safetensors` in the folder of each dense layer, of which the
    /// head is the last (`2_Dense` if there is no other), and, written last, `modules.json`.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write); [`Error::Shape`] or [`Error::NotFinite`] for a layer.
    pub fn export(
        &self,
        folder: &Path,
        encoder: &Transformer,
        reader: &TextReader,
        unit_length: bool,
    ) -> Result<(), Error> {
        let mut layers = collect(&encoder.sentence);
        let mut head = collect(&encoder.head);
        check_finite(&layers)?;
        check_finite(&head)?;
        self.write(folder, &collect(&encoder.body))?;
        let length = reader.max_length;
        let lower_case = self.sentences.as_ref().is_some_and(|sentences| sentences.lower_case);
        let settings = json!({ "max_seq_length": length, "do_lower_case": lower_case });
        write_json(folder, BERT, &settings)?;
        // candidates are ranked by inner products
        let prompts = if reader.prompt.is_empty() {
            json!({ "prompts": {}, "default_prompt_name": null, "similarity_fn_name": "dot" })
        } else {
            let prompts = json!({ QUERY: reader.prompt });
            json!({ "prompts": prompts, "default_prompt_name": QUERY, "similarity_fn_name": "dot" })
        };
        write_json(folder, PROMPTS, &prompts)?;

        let mut modules = Modules { folder, entries: Vec::new() };
        modules.add("Transformer");
        let width = encoder.body.architecture.width;
        write_json(&modules.add("Pooling"), CONFIG, &pooling_config(&encoder.readout, width))?;
        let mut dense = 0;
        for layer in &encoder.sentence.layers {
            match layer {
                SentenceLayer::Normalize => drop(modules.add("Normalize")),
                SentenceLayer::Dense { activation, .. } => {
                    let mut take = |leaf| layers.remove(&format!("dense.{dense}.{leaf}"));
                    let bias = take("bias");
                    if let Some(weight) = take("weight") {
                        write_dense(&modules.add("Dense"), &weight, bias.as_ref(), *activation)?;
                    }
                    dense += 1;
                }
            }
        }
        let scale = encoder.head_scale();
        let bias = head.remove("bias");
        if let Some(mut weight) = head.remove("weight") {
            if scale != 1.0 {
                let scaled: Vec<f32> = weight.values.iter().map(|value| value * scale).collect();
                weight.values = scaled.into();
            }
            write_dense(&modules.add("Dense"), &weight, bias.as_ref(), Activation::Identity)?;
        }
        if unit_length {
            modules.add("Normalize");
        }
        write_json(folder, MODULES, &modules.entries.into())
    }
}

/// Returns a tokenizer_config.json or tokenizer.json that does not pad texts at their starts: positions in a table are
/// counted from the first token of a batch's row, padding or not.
fn padded_at_ends(file: &[u8]) -> Cow<'_, [u8]> {
    let mut json: Value = serde_json::from_slice(file).unwrap_or_default();
    if json["padding_side"] == "left" {
        json["padding_side"] = "right".into();
    } else if json["padding"]["direction"] == "Left" {
        json["padding"] = Value::Null;
    } else {
        return Cow::Borrowed(file);
    }
    Cow::Owned(format!("{json:#}\n").into_bytes())
}

/// The entries of modules.json.
struct Modules<'f> {
    folder: &'f Path,
    entries: Vec<Value>,
}

impl Modules<'_> {
    /// Adds a module of a class, and returns its folder.
    fn add(&mut self, class: &str) -> PathBuf {
        let at = self.entries.len();
        let path = if at == 0 { String::new() } else { format!("{at}_{class}") };
        let folder = self.folder.join(&path);
        let class = format!("sentence_transformers.models.{class}");
        let entry = json!({ "idx": at, "name": at.to_string(), "path": path, "type": class });
        self.entries.push(entry);
        folder
    }
}

/// Returns the config.json of a pooling module, with a key for each kind of pooling, as all versions of the library
/// read it. These have one order, so others are written as the list of newer versions.
fn pooling_config(readout: &Readout, width: usize) -> Value {
    let mut config = json!({ "word_embedding_dimension": width });
    let in_order = MODES.iter().filter(|(.., mode)| readout.pooling.contains(mode));
    if in_order.map(|(.., mode)| *mode).eq(readout.pooling.iter().copied()) {
        for (_, key, mode) in MODES {
            config[key] = readout.pooling.contains(&mode).into();
        }
    } else {
        let name = |mode| MODES.iter().find(|(.., known)| known == mode).map(|(name, ..)| *name);
        let names: Vec<&str> = readout.pooling.iter().filter_map(name).collect();
        config["pooling_mode"] = names.into();
    }
    if readout.skipped > 0 {
        config["include_prompt"] = false.into();
    }
    config
}

/// Writes the folder of a dense layer, whose weights are `[in, out]`.
fn write_dense(
    folder: &Path,
    weight: &Parameter,
    bias: Option<&Parameter>,
    activation: Activation,
) -> Result<(), Error> {
    let [inputs, outputs] = [weight.shape[0], weight.shape[1]];
    let sizes = json!({
        "in_features": inputs,
        "out_features": outputs,
        "bias": bias.is_some(),
        "activation_function": activation.class(),
    });
    write_json(folder, CONFIG, &sizes)?;
    // PyTorch's linear layers are `[out, in]`
    let transposed = transposed(&weight.values, outputs);
    let mut tensors = vec![Tensor::f32("linear.weight", &[outputs, inputs], &transposed)];
    if let Some(bias) = bias {
        tensors.push(Tensor::f32("linear.bias", &[outputs], &bias.values));
    }
    write_weights(folder, "sentence-head", &tensors)
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
