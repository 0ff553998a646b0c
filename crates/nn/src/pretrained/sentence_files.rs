//! The files of a model of sentence-transformers, one by one.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::config::VECTORS;
use super::json::JsonFile;
use crate::error::Error;
use crate::transformer::{Activation, Pooling, SentenceLayer};

/// The file that lists the modules of a model; a folder with it is one of sentence-transformers.
pub const MODULES: &str = "modules.json";
/// Prompts, and the comparison of vectors.
pub(super) const PROMPTS: &str = "config_sentence_transformers.json";
/// The name of the prompt for queries.
pub(super) const QUERY: &str = "query";
/// The name of the prompt for what is searched; like the one for queries, every model has it.
pub(super) const DOCUMENT: &str = "document";

/// The settings of the transformer, under the names that versions of the library gave the file.
pub(super) const SETTINGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// Settings of the transformer that change vectors, under their present and their former names.
const NO_SETTINGS: [&str; 10] = [
    "processing_kwargs",
    "query_length",
    "query_expansion",
    "processor_kwargs",
    "tokenizer_args",
    "model_kwargs",
    "model_args",
    "config_kwargs",
    "config_args",
    "tokenizer_name_or_path",
];

/// Returns whether a setting is one of nothing. The library takes no permission to run code from a file.
fn says_nothing(value: &Value) -> bool {
    let is_empty = |own: &Map<String, Value>| own.keys().all(|key| key == "trust_remote_code");
    value.is_null() || value.as_object().is_some_and(is_empty)
}

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

/// A module of modules.json.
pub(super) struct Module {
    /// The class, without its package.
    pub(super) class: String,
    /// The folder, below the model's.
    pub(super) folder: PathBuf,
}

/// Reads modules.json: classes without their packages, and folders below the model's.
pub(super) fn modules(path: &Path) -> Result<Vec<Module>, Error> {
    let text = dsokr_core::store::read_text(path).map_err(|e| Error::file(path, e))?;
    let list: Vec<Map<String, Value>> = serde_json::from_str(&text)
        .map_err(|e| Error::file(path, format!("not a list of modules: {e}")))?;
    list.into_iter().map(|json| module(JsonFile { path: path.to_path_buf(), json })).collect()
}

fn module(file: JsonFile) -> Result<Module, Error> {
    const CLASSES: [&str; 5] = ["Transformer", "Pooling", "Dense", "Dropout", "Normalize"];
    let class = file.json.get("type").and_then(Value::as_str).unwrap_or_default();
    let class = class.strip_prefix("sentence_transformers.").unwrap_or_default();
    let class = class.rsplit('.').next().unwrap_or_default().to_owned();
    if !CLASSES.contains(&class.as_str()) {
        let classes = CLASSES.join(", ");
        let allowed = format!("a class of sentence_transformers: {classes}, {VECTORS}");
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
pub(super) fn read_pooling(folder: &Path) -> Result<(Vec<Pooling>, bool, Option<usize>), Error> {
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
    let width = file.optional_size("embedding_dimension")?;
    let width = width.or(file.optional_size("word_embedding_dimension")?);
    Ok((pooling, file.flag("include_prompt", true)?, width))
}

/// Refuses a module that reads or writes anything but the vectors of texts.
pub(super) fn check_names_of_features(file: &JsonFile) -> Result<(), Error> {
    const VECTORS: &str = "sentence_embedding";
    for key in ["module_input_name", "module_output_name"] {
        file.only_value(key, VECTORS, &format!("{VECTORS:?}"))?;
    }
    Ok(())
}

/// Reads the config.json of a dense module, which follows vectors of `width`, where that is known; and its width.
pub(super) fn read_dense(
    path: &Path,
    width: Option<usize>,
) -> Result<(SentenceLayer, usize), Error> {
    let file = JsonFile::read(path)?;
    check_names_of_features(&file)?;
    if file.flag("use_residual", false)? {
        return Err(file.refuse("use_residual", "false"));
    }
    let inputs = file.size("in_features")?;
    let outputs = file.size("out_features")?;
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
pub(super) fn read_settings(folder: &Path) -> Result<(Option<usize>, bool), Error> {
    let length = |file: &JsonFile, key: &str| {
        file.value_or_null(key, None, "null or a whole number from 1 on", |value| {
            // tokenizers without a limit have 10³⁰
            let is_limit = value.as_f64().is_some_and(|length| length <= f64::from(i32::MAX));
            match value.as_u64().filter(|length| *length >= 1) {
                Some(length) if is_limit => Some(Some(length as usize)),
                _ => (value.is_number() && !is_limit).then_some(None),
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
        for (key, supported) in
            [("transformer_task", "feature-extraction"), ("module_output_name", "token_embeddings")]
        {
            file.only_value(key, supported, &format!("{supported:?}"))?;
        }
        let allowed = "only texts, whose vectors are {\"method\": \"forward\", \"method_output_name\": \
                       \"last_hidden_state\"}";
        let is_text = |modality: &Value| {
            modality["method"] == "forward" && modality["method_output_name"] == "last_hidden_state"
        };
        let only_text = |modalities: &Map<String, Value>| {
            modalities.len() == 1 && modalities.get("text").is_some_and(is_text)
        };
        let fits = |value: &Value| value.is_null() || value.as_object().is_some_and(only_text);
        file.only("modality_config", fits, allowed)?;
        for key in NO_SETTINGS {
            file.only(key, says_nothing, "null: such settings are not supported")?;
        }
    }
    if max_length.is_none() {
        let tokenizer = JsonFile::read_if_there(&folder.join("tokenizer_config.json"))?;
        max_length = length(&tokenizer, "model_max_length")?;
    }
    Ok((max_length, lower_case))
}

/// Reads the prompts by name, and refuses vectors of which the library returns a part. The prompt of texts of no
/// particular kind, which `encode` puts before them and `encode_query` does not, must be one of them.
pub(super) fn read_prompts(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let path = folder.join(PROMPTS);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let file = JsonFile::read(&path)?;
    let allowed = "null: shortened vectors are not supported, the head reads whole vectors";
    file.only("truncate_dim", Value::is_null, allowed)?;
    let allowed = "an object of texts";
    let prompts = file.value_or_null("prompts", BTreeMap::new(), allowed, |value| {
        let texts = value.as_object()?.iter().map(|(name, text)| {
            // the library leaves out those that are null
            Some((name.clone(), text.as_str().or(text.is_null().then_some(""))?.to_owned()))
        });
        texts.collect()
    })?;
    let names = prompts.keys().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let allowed = format!("null or one of the prompts: {names}");
    let is_known = |name: &str| prompts.contains_key(name) || [QUERY, DOCUMENT].contains(&name);
    let fits = |value: &Value| value.is_null() || value.as_str().is_some_and(is_known);
    file.only("default_prompt_name", fits, &allowed)?;
    Ok(prompts)
}
