//! The files of a model of sentence-transformers: which layers lie behind the transformer, how long texts may be, and
//! what is put before them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::config::JsonFile;
use super::tensors::{Tensors, weight_file};
use super::weights::transposed;
use crate::error::{Error, check_names};
use crate::parameters::{Parameter, Parameters};
use crate::transformer::{Activation, Pooling, SentenceLayer};

/// The list of modules; a folder with it is one of sentence-transformers.
pub(super) const MODULES: &str = "modules.json";
/// Prompts, and the comparison of vectors.
pub(super) const PROMPTS: &str = "config_sentence_transformers.json";
/// The name of the prompt for queries.
pub(super) const QUERY: &str = "query";

/// The settings of the transformer, under the names that versions of the library gave the file.
const SETTINGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// The kinds of pooling by their names in `pooling_mode`, and by their older keys, in the order in which the library
/// puts the vectors side by side.
pub(super) const MODES: [(&str, &str, Pooling); 6] = [
    ("cls", "pooling_mode_cls_token", Pooling::First),
    ("max", "pooling_mode_max_tokens", Pooling::Max),
    ("mean", "pooling_mode_mean_tokens", Pooling::Mean),
    ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::MeanSqrtLength),
    ("weightedmean", "pooling_mode_weightedmean_tokens", Pooling::WeightedMean),
    ("lasttoken", "pooling_mode_lasttoken", Pooling::Last),
];

/// Returns the names of the files, in the folder of a model, that say whether and how it is one of
/// sentence-transformers. Any may be absent.
pub fn sentence_files() -> impl Iterator<Item = &'static str> {
    [MODULES, PROMPTS].into_iter().chain(SETTINGS)
}

/// A folder of a module behind the transformer, below the model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFolder {
    /// The folder, with `/` between its parts.
    pub name: String,
    /// Whether it holds weights.
    pub has_weights: bool,
}

/// Returns the folders of the modules behind the transformer that the modules.json of a folder names: none if it has
/// no such file.
///
/// # Errors
/// [`dsokr_core::Error::File`] for a file that cannot be read, or names modules that are not supported.
pub fn module_folders(folder: &Path) -> Result<Vec<ModuleFolder>, Error> {
    let path = folder.join(MODULES);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let folders = modules(&path)?.into_iter().skip(1).map(|module| {
        let parts: Vec<_> =
            module.folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        ModuleFolder { name: parts.join("/"), has_weights: module.class == "Dense" }
    });
    Ok(folders.collect())
}

/// What a folder says beyond transformer and tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentences {
    /// The kinds of pooling, whose vectors lie side by side.
    pub pooling: Vec<Pooling>,
    /// Whether the tokens of a prompt are pooled.
    pub include_prompt: bool,
    /// The layers behind pooling.
    pub layers: Vec<SentenceLayer>,
    /// The longest text in tokens, where the folder says it.
    pub max_length: Option<usize>,
    /// Whether texts are lower-cased before they become tokens.
    pub lower_case: bool,
    /// Texts that are put before inputs, by name.
    pub prompts: BTreeMap<String, String>,
    /// The name of the prompt of inputs of no particular kind.
    pub default_prompt: Option<String>,
    /// The folder of the transformer, below the model's.
    #[serde(skip)]
    pub(super) transformer: PathBuf,
    /// The folder of each dense layer, below the model's.
    #[serde(skip)]
    pub(super) dense: Vec<PathBuf>,
}

/// A module of modules.json.
struct Module {
    class: String,
    folder: PathBuf,
}

impl Sentences {
    /// Reads the files of a folder, which has none if it is not a model of sentence-transformers. A run keeps them as
    /// one file, [`KEPT`](Self::KEPT).
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, Error> {
        let kept = folder.join(Self::KEPT);
        if kept.exists() {
            let file = JsonFile::read(&kept)?;
            let read = serde_json::from_value(Value::Object(file.json));
            return read.map(Some).map_err(|e| Error::file(&kept, e));
        }
        if !folder.join(MODULES).exists() {
            return Ok(None);
        }
        let modules = modules(&folder.join(MODULES))?;
        let path = folder.join(MODULES);
        let classes: Vec<&str> = modules.iter().map(|module| module.class.as_str()).collect();
        let (["Transformer", "Pooling", ..], [transformer, pooling, rest @ ..]) =
            (&classes[..], &modules[..])
        else {
            let message = format!(
                "modules = {}: a Transformer, a Pooling, and then any number of Dense and Normalize",
                classes.join(", ")
            );
            return Err(Error::file(&path, message));
        };

        let (pooling, include_prompt, width) = read_pooling(&folder.join(&pooling.folder))?;
        let mut layers = Vec::new();
        let mut dense = Vec::new();
        let mut width = width.map(|width| width * pooling.len());
        for module in rest {
            let file = folder.join(&module.folder).join("config.json");
            match module.class.as_str() {
                "Normalize" => {
                    if file.exists() {
                        check_names_of_features(&JsonFile::read(&file)?)?;
                    }
                    layers.push(SentenceLayer::Normalize);
                }
                "Dense" => {
                    let (layer, outputs) = read_dense(&file, width)?;
                    layers.push(layer);
                    dense.push(module.folder.clone());
                    width = Some(outputs);
                }
                other => {
                    let message =
                        format!("type = {other:?}: Dense or Normalize behind the pooling");
                    return Err(Error::file(&path, message));
                }
            }
        }

        let below = folder.join(&transformer.folder);
        let (max_length, lower_case) = read_settings(&below)?;
        let (prompts, default_prompt) = read_prompts(folder)?;
        let transformer = transformer.folder.clone();
        Ok(Some(Self {
            pooling,
            include_prompt,
            layers,
            max_length,
            lower_case,
            prompts,
            default_prompt,
            transformer,
            dense,
        }))
    }

    /// The file in which a run keeps what the folder says.
    pub const KEPT: &str = "sentence-transformers.json";

    /// Returns the prompt of queries: the one named `query`, else the one of inputs of no particular kind; empty without
    /// prompts.
    pub fn prompt(&self) -> &str {
        let default = self.default_prompt.as_deref();
        let named = [Some(QUERY), default].into_iter().flatten();
        named.filter_map(|name| self.prompts.get(name)).next().map_or("", String::as_str)
    }

    /// Returns the weight file of each dense layer of a folder.
    pub(super) fn weights(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        self.dense.iter().map(|dense| weight_file(&folder.join(dense))).collect()
    }

    /// Reads the weights of the dense layers from these files: the parameters of
    /// [`SentenceLayers`](crate::transformer::SentenceLayers) by path.
    pub(super) fn parameters(&self, files: &[PathBuf]) -> Result<Parameters, Error> {
        let mut parameters = Parameters::new();
        let layers = self.layers.iter().filter_map(|layer| match *layer {
            SentenceLayer::Dense { inputs, outputs, bias, .. } => Some((inputs, outputs, bias)),
            SentenceLayer::Normalize => None,
        });
        for (index, ((inputs, outputs, bias), file)) in layers.zip(files).enumerate() {
            let tensors = Tensors::open(file)?;
            let mut shapes = BTreeMap::from([("linear.weight", vec![outputs, inputs])]);
            if bias {
                shapes.insert("linear.bias", vec![outputs]);
            }
            let missing = shapes.iter().filter(|(name, _)| !tensors.by_name.contains_key(**name));
            let missing = missing.map(|(name, shape)| (name.to_string(), shape.clone()));
            let others = tensors.by_name.iter();
            let others = others.filter(|(name, _)| !shapes.contains_key(name.as_str()));
            let unknown = others.map(|(name, tensor)| (name.clone(), tensor.shape.clone()));
            check_names(
                || format!("{}: not the weights of a Dense layer", file.display()),
                missing,
                unknown,
            )?;
            for (name, expected) in shapes {
                let tensor = &tensors.by_name[name];
                if tensor.shape != expected {
                    let found = tensor.shape.clone();
                    return Err(Error::Shape { tensor: tensor.place(), found, expected });
                }
                let values = tensor.read_finite()?;
                let (leaf, shape, values) = match expected[..] {
                    [_] => ("bias", vec![outputs], values),
                    // PyTorch's linear layers are `[out, in]`
                    _ => ("weight", vec![inputs, outputs], transposed(&values, inputs)),
                };
                let values = values.into();
                parameters.insert(format!("dense.{index}.{leaf}"), Parameter { shape, values });
            }
        }
        Ok(parameters)
    }
}

/// Reads modules.json: classes without their packages, and folders below the model's.
fn modules(path: &Path) -> Result<Vec<Module>, Error> {
    let text = dsokr_core::store::read_text(path).map_err(|e| Error::file(path, e))?;
    let list: Vec<Map<String, Value>> = serde_json::from_str(&text)
        .map_err(|e| Error::file(path, format!("not a list of modules: {e}")))?;
    list.into_iter().map(|json| module(JsonFile { path: path.to_path_buf(), json })).collect()
}

fn module(file: JsonFile) -> Result<Module, Error> {
    const CLASSES: [&str; 4] = ["Transformer", "Pooling", "Dense", "Normalize"];
    let class = file.json.get("type").and_then(Value::as_str).unwrap_or_default();
    let class = class.strip_prefix("sentence_transformers.").unwrap_or_default();
    let class = class.rsplit('.').next().unwrap_or_default().to_owned();
    if !CLASSES.contains(&class.as_str()) {
        let allowed = format!("a class of sentence_transformers: {}", CLASSES.join(", "));
        return Err(file.refuse("type", &allowed));
    }
    let allowed = "a folder below the model's";
    let folder = file.value("path", None, allowed, |value| {
        let folder = PathBuf::from(value.as_str()?);
        folder.components().all(|part| matches!(part, Component::Normal(_))).then_some(folder)
    })?;
    Ok(Module { class, folder })
}

/// Reads the config.json of a pooling module: its kinds, whether prompts are pooled, and the width of token vectors,
/// where it is said.
fn read_pooling(folder: &Path) -> Result<(Vec<Pooling>, bool, Option<usize>), Error> {
    let file = JsonFile::read(&folder.join("config.json"))?;
    let names = MODES.map(|(name, ..)| format!("{name:?}")).join(", ");
    let allowed = format!("one or several of {names}");
    let mode = |value: &Value| {
        let name = value.as_str()?;
        MODES.iter().find(|(known, ..)| *known == name).map(|(.., pooling)| *pooling)
    };
    let modes = file.value("pooling_mode", Some(None), &allowed, |value| match value {
        Value::Array(names) if !names.is_empty() => {
            names.iter().map(mode).collect::<Option<Vec<_>>>().map(Some)
        }
        one => Some(Some(vec![mode(one)?])),
    })?;
    for key in file.json.keys().filter(|key| key.starts_with("pooling_mode_")) {
        let is_known = MODES.iter().any(|(_, old, _)| old == key);
        if file.flag(key, false)? && !is_known {
            let keys = MODES.map(|(_, old, _)| old).join(", ");
            return Err(file.refuse(key, &format!("false; known are {keys}")));
        }
    }
    let pooling = match modes {
        Some(modes) => modes,
        None => {
            let mut pooling = Vec::new();
            for (_, key, mode) in MODES {
                if file.flag(key, false)? {
                    pooling.push(mode);
                }
            }
            // the library's default
            if pooling.is_empty() { vec![Pooling::Mean] } else { pooling }
        }
    };
    let size = |key: &str| {
        file.value(key, Some(None), "a whole number from 1 on", |value| {
            let size = usize::try_from(value.as_u64()?).ok()?;
            (size > 0).then_some(Some(size))
        })
    };
    let width = size("embedding_dimension")?.or(size("word_embedding_dimension")?);
    Ok((pooling, file.flag("include_prompt", true)?, width))
}

/// Refuses a module that reads or writes anything but the vectors of texts.
fn check_names_of_features(file: &JsonFile) -> Result<(), Error> {
    const VECTORS: &str = "sentence_embedding";
    for key in ["module_input_name", "module_output_name"] {
        let supported = |value: &Value| (value.is_null() || value == VECTORS).then_some(());
        file.value(key, Some(()), &format!("{VECTORS:?}"), supported)?;
    }
    Ok(())
}

/// Reads the config.json of a dense module, which follows vectors of `width`, where that is known; and its width.
fn read_dense(path: &Path, width: Option<usize>) -> Result<(SentenceLayer, usize), Error> {
    let file = JsonFile::read(path)?;
    check_names_of_features(&file)?;
    if file.flag("use_residual", false)? {
        return Err(file.refuse("use_residual", "false"));
    }
    let size = |key: &str| {
        file.value(key, None, "a whole number from 1 on", |value| {
            let size = usize::try_from(value.as_u64()?).ok()?;
            (0 < size && size <= i32::MAX as usize).then_some(size)
        })
    };
    let inputs = size("in_features")?;
    let outputs = size("out_features")?;
    if let Some(width) = width.filter(|width| *width != inputs) {
        return Err(file.refuse("in_features", &format!("{width}, the width of what it reads")));
    }
    // the library's default is Tanh
    let allowed = Activation::classes();
    let default = Some(Activation::Tanh);
    let activation = file.value("activation_function", default, &allowed, |value| {
        Activation::of_class(value.as_str()?)
    })?;
    let bias = file.flag("bias", true)?;
    Ok((SentenceLayer::Dense { inputs, outputs, bias, activation }, outputs))
}

/// Reads the settings of the transformer: the longest text, and whether texts are lower-cased.
fn read_settings(folder: &Path) -> Result<(Option<usize>, bool), Error> {
    let length = |file: &JsonFile, key: &str| {
        file.value(key, Some(None), "a whole number from 1 on", |value| {
            // tokenizers without a limit have 10³⁰
            let length = value.as_f64().filter(|length| *length >= 1.0);
            let length = length.filter(|length| *length <= f64::from(i32::MAX));
            match length {
                Some(length) => Some(Some(length as usize)),
                None => (value.is_null() || value.is_number()).then_some(None),
            }
        })
    };
    let mut max_length = None;
    let mut lower_case = false;
    let path = SETTINGS.iter().map(|name| folder.join(name)).find(|path| path.exists());
    if let Some(path) = path {
        let file = JsonFile::read(&path)?;
        max_length = length(&file, "max_seq_length")?;
        lower_case = file.flag("do_lower_case", false)?;
        let only = |key: &str, supported: &str| {
            let read = |value: &Value| (value.is_null() || value == supported).then_some(());
            file.value(key, Some(()), &format!("{supported:?}"), read)
        };
        only("transformer_task", "feature-extraction")?;
        only("module_output_name", "token_embeddings")?;
        let allowed = "texts whose vectors are {\"method\": \"forward\", \"method_output_name\": \
                       \"last_hidden_state\"}";
        file.value("modality_config", Some(()), allowed, |value| {
            let text = value.get("text")?;
            let fits =
                text["method"] == "forward" && text["method_output_name"] == "last_hidden_state";
            (value.is_null() || fits).then_some(())
        })?;
    }
    let tokenizer = folder.join("tokenizer_config.json");
    if max_length.is_none() && tokenizer.exists() {
        max_length = length(&JsonFile::read(&tokenizer)?, "model_max_length")?;
    }
    Ok((max_length, lower_case))
}

/// Reads the prompts by name, and the name of the default one.
fn read_prompts(folder: &Path) -> Result<(BTreeMap<String, String>, Option<String>), Error> {
    let path = folder.join(PROMPTS);
    if !path.exists() {
        return Ok((BTreeMap::new(), None));
    }
    let file = JsonFile::read(&path)?;
    let allowed = "an object of texts";
    let prompts = file.value("prompts", Some(BTreeMap::new()), allowed, |value| {
        if value.is_null() {
            return Some(BTreeMap::new());
        }
        let texts = value.as_object()?.iter().map(|(name, text)| {
            // the library leaves out those that are null
            Some((name.clone(), text.as_str().or(text.is_null().then_some(""))?.to_owned()))
        });
        texts.collect()
    })?;
    let names = prompts.keys().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let allowed = format!("null or one of the prompts: {names}");
    let default = file.value("default_prompt_name", Some(None), &allowed, |value| match value {
        Value::Null => Some(None),
        name => {
            let name = name.as_str()?;
            prompts.contains_key(name).then(|| Some(name.to_owned()))
        }
    })?;
    Ok((prompts, default))
}
