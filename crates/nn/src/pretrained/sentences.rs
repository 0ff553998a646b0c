//! The files of a model of sentence-transformers: which layers lie behind the transformer, how long texts may be, and
//! what is put before them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::JsonFile;
use super::sentence_files::{
    DOCUMENT, MODULES, PROMPTS, QUERY, SETTINGS, check_names_of_features, modules, read_dense,
    read_pooling, read_prompts, read_settings,
};
use super::tensors::{Tensors, weight_file};
use super::weights::transposed;
use crate::error::{Error, check_names};
use crate::parameters::{Parameter, Parameters};
use crate::transformer::{Pooling, SentenceLayer};

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
    let folders = modules(&path)?.into_iter().skip(1).map(|module| ModuleFolder {
        name: name(&module.folder),
        has_weights: module.class == "Dense",
    });
    Ok(folders.collect())
}

/// Returns the folder of the transformer that the modules.json of a folder names, with `/` between its parts: empty if
/// it is the folder itself, or if there is no such file.
///
/// # Errors
/// The errors of [`module_folders`].
pub fn transformer_folder(folder: &Path) -> Result<String, Error> {
    let path = folder.join(MODULES);
    if !path.exists() {
        return Ok(String::new());
    }
    Ok(modules(&path)?.first().map_or_else(String::new, |module| name(&module.folder)))
}

/// Returns a folder with `/` between its parts.
fn name(folder: &Path) -> String {
    let parts: Vec<_> = folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.join("/")
}

/// Returns the width of `count` vectors side by side, which must be a size that can be; errors name `folder`.
fn bounded(width: usize, count: usize, folder: &Path) -> Result<usize, Error> {
    let most = i32::MAX as usize;
    width.checked_mul(count).filter(|all| (1..=most).contains(all)).ok_or_else(|| {
        let message = format!("vectors of width {width} × {count}: from 1 to {most}");
        Error::file(folder, message)
    })
}

/// Returns the folder of the transformer of a model of sentence-transformers, or of any other.
pub(super) fn below(folder: &Path, sentences: Option<&Sentences>) -> PathBuf {
    match sentences {
        // joined with nothing, a path would end with a slash
        Some(sentences) if sentences.transformer != Path::new("") => {
            folder.join(&sentences.transformer)
        }
        _ => folder.to_path_buf(),
    }
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
    /// The width of token vectors, where the folder says it.
    #[serde(skip)]
    pub(super) token_width: Option<usize>,
    /// The folder of the transformer, below the model's.
    #[serde(skip)]
    pub(super) transformer: PathBuf,
    /// The folder of each dense layer, below the model's.
    #[serde(skip)]
    pub(super) dense: Vec<PathBuf>,
}

impl Sentences {
    /// Reads the files of a folder, which has none if it is not a model of sentence-transformers. A run keeps them as
    /// one file, [`KEPT`](Self::KEPT).
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, Error> {
        let kept = folder.join(Self::KEPT);
        if kept.exists() {
            return Self::read_kept(&kept).map(Some);
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
                "modules = {}: a Transformer, a Pooling, and then any number of Dense, Dropout and Normalize",
                classes.join(", ")
            );
            return Err(Error::file(&path, message));
        };

        let (pooling, include_prompt, width) = read_pooling(&folder.join(&pooling.folder))?;
        let mut layers = Vec::new();
        let mut dense = Vec::new();
        let token_width = width;
        let mut width = match width {
            Some(width) => Some(bounded(width, pooling.len(), folder)?),
            None => None,
        };
        for module in rest {
            let file = folder.join(&module.folder).join("config.json");
            match module.class.as_str() {
                "Normalize" => {
                    if file.exists() {
                        check_names_of_features(&JsonFile::read(&file)?)?;
                    }
                    layers.push(SentenceLayer::Normalize);
                }
                // `encode` drops nothing
                "Dropout" => {}
                "Dense" => {
                    let (layer, outputs) = read_dense(&file, width)?;
                    layers.push(layer);
                    dense.push(module.folder.clone());
                    width = Some(outputs);
                }
                other => {
                    let message =
                        format!("type = {other:?}: Dense, Dropout or Normalize behind the pooling");
                    return Err(Error::file(&path, message));
                }
            }
        }

        let below = folder.join(&transformer.folder);
        let (max_length, lower_case) = read_settings(&below)?;
        let prompts = read_prompts(folder)?;
        let transformer = transformer.folder.clone();
        Ok(Some(Self {
            pooling,
            include_prompt,
            layers,
            max_length,
            lower_case,
            prompts,
            token_width,
            transformer,
            dense,
        }))
    }

    /// The file in which a run keeps what the folder says.
    pub const KEPT: &str = "sentence-transformers.json";

    /// Reads the file of a run.
    fn read_kept(path: &Path) -> Result<Self, Error> {
        let mut file = JsonFile::read(path)?;
        let former = file.json.remove("default_prompt");
        let read = serde_json::from_value(Value::Object(file.json));
        let mut kept: Self = read.map_err(|e| Error::file(path, e))?;
        // former versions put it before texts where there was none for queries
        let former = former.as_ref().and_then(Value::as_str);
        if let Some(prompt) = former.and_then(|name| kept.prompts.get(name)).cloned() {
            kept.prompts.entry(QUERY.into()).or_insert(prompt);
        }
        Ok(kept)
    }

    /// Checks that the layers fit to token vectors of `width`; errors name `folder`.
    pub(super) fn check(&self, width: usize, folder: &Path) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::file(folder, what));
        if self.pooling.is_empty() {
            return refuse("no kind of pooling".into());
        }
        if let Some(said) = self.token_width.filter(|said| *said != width) {
            return refuse(format!(
                "the pooling is one of vectors of width {said}: the model's have {width}"
            ));
        }
        let mut width = bounded(width, self.pooling.len(), folder)?;
        for layer in &self.layers {
            match layer {
                SentenceLayer::Normalize => {}
                SentenceLayer::Dense { inputs, outputs, .. } => {
                    if *inputs != width {
                        return refuse(format!(
                            "a dense layer with in_features = {inputs}: {width}, the width of what it reads"
                        ));
                    }
                    width = bounded(*outputs, 1, folder)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the prompt of queries, the one named `query`; empty where there is none: `encode_query` does not read
    /// the default one.
    pub fn prompt(&self) -> &str {
        self.prompts.get(QUERY).map_or("", String::as_str)
    }

    /// Returns the names of the prompts where none of them is put before texts, since there is no prompt of queries. The
    /// prompt for what is searched is not one of them.
    pub fn unused_prompts(&self) -> Vec<&str> {
        if !self.prompt().is_empty() {
            return Vec::new();
        }
        let others =
            self.prompts.iter().filter(|(name, text)| *name != DOCUMENT && !text.is_empty());
        others.map(|(name, _)| name.as_str()).collect()
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
                tensor.check_shape(&expected)?;
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
