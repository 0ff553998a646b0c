use std::path::Path;

use serde_json::{Map, Value, json};

use super::differences::LONGEST_WITHOUT_TABLE;
use super::families::{self, Defaults, Family, HeadWidth};
use super::json::{JsonFile, LARGEST};
use crate::error::Error;
use crate::transformer::{Activation, Architecture, Positions};

/// The file that says that a folder has an adapter, which changes a model.
pub const ADAPTER: &str = "adapter_config.json";
/// Upper bound for the number of layers; a configuration with more is broken.
const MOST_LAYERS: u64 = 1000;

/// What to do with a model that is not read.
pub(super) const VECTORS: &str =
    "or embed the texts elsewhere and give the vectors: data.inputs of kind \"features\"";

/// A model's `config.json`, checked.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) family: &'static Family,
    pub(super) architecture: Architecture,
    /// The file as read.
    pub(super) file: JsonFile,
}

impl Config {
    /// Reads and checks a config.json.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        refuse_adapter(path)?;
        let keys = JsonFile::read(path)?;
        let family = families::of(&keys).ok_or_else(|| {
            let names = families::names();
            let allowed = if keys.json.contains_key("model_type") {
                format!("one of {names}, {VECTORS}")
            } else {
                format!(
                    "config.json of older models does not say it: add `\"model_type\": \"bert\"` for a BERT, or \
                     another one of {names}"
                )
            };
            keys.refuse("model_type", &allowed)
        })?;
        let names = family.keys;
        let Defaults { activation, epsilon, dropout } = names.defaults;
        let activation =
            keys.value(names.activation, Some(activation), &Activation::names(), |value| {
                Activation::named(value.as_str()?)
            })?;
        if !family.has_position_kinds {
            let allowed = format!("null or \"absolute\", {VECTORS}");
            keys.only_value("position_embedding_type", "absolute", &allowed)?;
        }
        for key in ["is_decoder", "add_cross_attention"] {
            keys.only_value(key, false, "false")?;
        }
        for key in ["quantization_config", "pruned_heads"] {
            let empty =
                |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            keys.only(key, empty, "nothing, such models are not supported")?;
        }

        let width = keys.size(names.width)?;
        let heads = keys.size(names.heads)?;
        let head_key = match names.head {
            HeadWidth::Shared => None,
            HeadWidth::Key(key) => Some(key),
            HeadWidth::KeyOrShared(key) => {
                keys.json.get(key).filter(|width| !width.is_null()).map(|_| key)
            }
        };
        let head_width = match head_key {
            Some(key) => {
                let most = LARGEST / heads as u64;
                keys.integer(key, 1..=most, None)?
            }
            None if width.is_multiple_of(heads) => 0,
            None => {
                let allowed = format!("a divisor of {} = {width}", names.width);
                return Err(keys.refuse(names.heads, &allowed));
            }
        };
        let inside = |value: &Value| value.as_f64().filter(|value| 0.0 < *value && *value < 1.0);
        let mut architecture = Architecture {
            vocabulary: keys.size("vocab_size")?,
            positions: names.positions.map_or(Ok(LONGEST_WITHOUT_TABLE), |key| keys.size(key))?,
            types: names.types.map_or(Ok(0), |key| keys.size(key))?,
            layers: keys.integer(names.layers, 1..=MOST_LAYERS, None)?,
            width,
            heads,
            head_width,
            feed_forward: keys.size(names.feed_forward)?,
            activation,
            epsilon: keys.value(names.epsilon, Some(epsilon), "a number in (0, 1)", inside)?,
            dropout: names.dropout.map_or(Ok(dropout), |key| keys.rate(key, dropout))?,
            attention_dropout: keys.rate(names.attention_dropout, dropout)?,
            ..Architecture::default()
        };
        (family.differences)(&keys, &mut architecture)?;
        architecture.validate().map_err(|e| Error::file(path, e))?;
        Ok(Self { family, architecture, file: keys })
    }

    /// Returns the configuration of a body that is written back in 32-bit floats.
    pub(super) fn of_written_body(&self) -> Map<String, Value> {
        let mut json = self.file.json.clone();
        // the encoder of a DPR is written as the BERT that it is
        if let Some(name) = self.family.written_as {
            json.insert("model_type".into(), name.into());
        }
        if self.family.has_own_keys {
            json.extend(self.keys_of_nomic());
        }
        json.insert("architectures".into(), vec![self.family.class].into());
        json.insert("dtype".into(), "float32".into());
        // the name of `dtype` before transformers 4.56, which newer versions still read
        if let Some(dtype) = json.get_mut("torch_dtype") {
            *dtype = "float32".into();
        }
        json
    }

    /// Returns the keys of transformers' class for the architecture of a Nomic model.
    fn keys_of_nomic(&self) -> Vec<(String, Value)> {
        let sizes = &self.architecture;
        let activation = if sizes.activation == Activation::Silu { "silu" } else { "gelu" };
        let mut keys = vec![
            ("hidden_size", json!(sizes.width)),
            ("num_attention_heads", json!(sizes.heads)),
            ("num_hidden_layers", json!(sizes.layers)),
            ("intermediate_size", json!(sizes.feed_forward)),
            ("max_position_embeddings", json!(sizes.positions)),
            ("hidden_act", json!(activation)),
            ("layer_norm_eps", json!(sizes.epsilon)),
            ("hidden_dropout_prob", json!(sizes.dropout)),
            ("attention_probs_dropout_prob", json!(sizes.attention_dropout)),
        ];
        if let Positions::Rotary { base, .. } = sizes.position_kind {
            let parameters = json!({ "rope_type": "default", "rope_theta": base });
            keys.push(("rope_parameters", parameters));
        }
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Refuses a folder with an adapter, which transformers puts into the model, whether that lies beside it or elsewhere.
fn refuse_adapter(config: &Path) -> Result<(), Error> {
    let adapter = config.with_file_name(ADAPTER);
    if !adapter.exists() {
        return Ok(());
    }
    let adapter = JsonFile::read(&adapter)?;
    // adapters of the library adapters call it `model_name`
    let names = ["base_model_name_or_path", "model_name"];
    let base = names.into_iter().find_map(|key| adapter.json.get(key)?.as_str());
    let base = base.unwrap_or("another model");
    let message = format!(
        "an adapter of {base}: merge it (`merge_and_unload().save_pretrained(…)` of peft) and name that folder"
    );
    Err(Error::file(&adapter.path, message))
}
