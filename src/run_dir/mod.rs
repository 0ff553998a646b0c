//! Run directories: a training writes their files, and evaluation and search read nothing else.
//!
//! | file | holds |
//! |---|---|
//! | `config.toml` | the configuration, with all defaults |
//! | `README.md` | the card: what it predicts, metrics with intervals, an example with its first answers, data and licence, how to train it again and use it |
//! | `data.json` | the folder of the data that it was trained on |
//! | `fingerprints.safetensors` | the fingerprints of the text files, and the checksums of the binary ones: of those that the run was made with, and once it is complete of the others; of an ensemble those of its members' models; of a pretrained encoder also the checksum of the weights that its training started from |
//! | `basis.safetensors` | the eigenbasis of the sketched output kernel |
//! | `scaling.safetensors` | means and standard deviations of the outputs' features, where they are standardised |
//! | `constants.json` | of numbers: mean, median and quantiles of the training outputs; of classes: the share of each |
//! | `outputs.safetensors` | of a kernel machine: the mean of the targets, and without a sketch the outputs that span the predictions |
//! | `features.safetensors` | the columns of the outputs' features, for added candidates and exact search |
//! | `candidates.safetensors` | ids, labels and coordinates of the candidates |
//! | `candidates.next.safetensors` | of a member of an ensemble, while candidates are added: those that take their place |
//! | `shards/` | the candidates in shards, which several processes share, if [`shard_candidates`](crate::run::shard_candidates) has written them |
//! | `input-columns.json` | of multi-label files, and of inputs and numbers to predict in several columns: what the file of the training pairs tells of them |
//! | `polarities.json` | of a model of mass spectra: whether the training spectra are positive, negative or both, where they say it |
//! | `ngrams.json`, `tokenizer.json`, … | what turns texts or vectors into inputs |
//! | `encoder.safetensors` | the best model so far |
//! | `ridge.safetensors` | of a kernel machine: the fitted model |
//! | `machine.safetensors`, `inputs.safetensors` | of one under a Lipschitz loss: the model, and the basis of the inputs |
//! | `held-out.safetensors` | predictions for training inputs by models that have not seen their pair, where `decoding.held_out` keeps them and where candidates are corrected for hubs; with `reranker-unseen.safetensors` also the pairs that this reranker has not seen |
//! | `reranker.safetensors` | the reranker, with `decoding.reranker` |
//! | `reranker-unseen.safetensors` | a reranker that was fitted without a fold of the training pairs, with `decoding.reranker` and `decoding.held_out` |
//! | `embedding.json`, `embedding.svg` | the validation metric of each rank of a learned embedding |
//! | `checkpoint/last.safetensors` | the last state, for `--resume` |
//! | `checkpoint/step-N.safetensors` | where `training.checkpoints` keeps several, the last ones |
//! | `checkpoint/learner.safetensors` | the last state of a program's learner that is fitted in steps: [`RunDir::write_checkpoint`] |
//! | `log.jsonl` | a line an evaluation: [`LogLine`](dsokr_train::LogLine), of a kernel machine one [`SolvedLine`] |
//! | `tensorboard/` | event files of TensorBoard, if `logging.tensorboard` is true |
//! | `changes.jsonl` | a line for each setting that a resumed training changed |
//! | `examples.svg` | some true outputs next to the predicted ones, if output features are of kind `molecules` or `graphs` |
//! | `metrics.json` | the final metrics with their 95 % intervals, seed, version, date and the configuration's fingerprint; a run that has this file is complete |
//!
//! An ensemble's directory holds `config.toml`, the run directories of its members under `members/`,
//! `combination.json`, the rule with the weights that were fitted, `README.md` and `metrics.json`.
//!
//! While a process writes the run or the sweep `NAME`, the file `.NAME.lock` next to it is locked. A new run is filled as
//! the folder `.NAME.XXXXXX.partial`, with random letters, and renamed.
//!
//! Every file is replaced atomically. Candidates, encoder and checkpoint name their basis, and the
//! encoder also names the preparation of its inputs. A run directory can be moved or copied to a
//! different machine.

pub(crate) mod candidates;
mod card;
mod checkpoints;
mod constants;
mod dir;
mod fingerprints;
pub(crate) mod held_out;
mod learner_files;
mod learning_curve;
mod lock;
mod log;
mod metrics_table;
mod new_run;
mod output_folder;
mod place;
mod preparation;
mod report;
mod scaling;
mod tensorboard;
mod training;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::store::{Contents, Tensor, read_text, write_atomically};
use dsokr_data::{DataRoot, InputColumns};
use dsokr_decode::Candidates;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::FORMAT;
use crate::encoders::spectrum_inputs::Polarities;
use crate::error::{Error, ensure_run};

pub(crate) use card::{CardAnswer, CardAnswers, CardExample, CardQuery};
pub(crate) use constants::{load_constants, save_constants};
pub use dir::RunDir;
use fingerprints::fingerprint;
pub(crate) use fingerprints::{
    candidates_were_replaced, check_fingerprints, check_sealed_files, initial_weights, replace,
    replace_json, save_fingerprints, seal, started_tables, unseal_candidates,
};
pub use held_out::HeldOut;
pub(crate) use held_out::{KNOWS_ALL, UnseenPairs, drawn_pairs};
pub use learning_curve::{LearningCurve, LearningPoint};
pub(crate) use lock::RunLock;
pub use log::SolvedLine;
pub use metrics_table::metrics_table;
pub(crate) use new_run::{create_whole, place_of, reserve};
pub use output_folder::{OutputFolder, check_not_read, check_output};
pub(crate) use place::{check_link, inner, name, run_of};
#[cfg(feature = "command")]
pub(crate) use place::{is_run, parent, remove_made_folders};
pub use preparation::PreparationFile;
pub(crate) use preparation::save_files;
pub(crate) use report::changed_tables;
pub use report::{LearnedFrom, MeasuredOn, Record, Report, counts_line};
pub(crate) use scaling::{load_scaling, save_scaling};

/// A file of [`CHECKPOINTS`].
pub(crate) const CHECKPOINT: &str = "checkpoint/last.safetensors";
/// A file of [`CHECKPOINTS`], of a program's learner.
pub(crate) const LEARNER_CHECKPOINT: &str = "checkpoint/learner.safetensors";
/// The folder of the predictions of further fits, in [`CHECKPOINTS`].
pub(crate) const FURTHER_FITS: &str = "checkpoint/further-fits";
/// The folder of an ensemble's members.
pub(crate) const MEMBERS: &str = "members";

/// Names of files and folders, and their constants.
macro_rules! files {
    ($($name:literal $(=> $constant:ident)?;)*) => {
        $($(pub(crate) const $constant: &str = $name;)?)*
        pub(crate) const ALL: &[&str] = &[$($name),*];
    };
}

// the files and folders of a run directory; all others hold the preparation of inputs, or the model of a
// program's learner
files! {
    "basis.safetensors" => BASIS;
    "candidates.safetensors" => CANDIDATES;
    // Of an ensemble's member: the file that takes the place of [`CANDIDATES`].
    "candidates.next.safetensors" => NEXT_CANDIDATES;
    "README.md" => CARD;
    "changes.jsonl" => CHANGES;
    "checkpoint" => CHECKPOINTS;
    "config.toml" => CONFIG;
    "data.json" => DATA;
    "embedding.json" => EMBEDDING;
    "embedding.svg";
    "encoder.safetensors" => ENCODER;
    "examples.svg" => EXAMPLES;
    // few commands read the features, all are to find that they are damaged
    "features.safetensors" => FEATURES;
    "fingerprints.safetensors" => FINGERPRINTS;
    "held-out.safetensors" => HELD_OUT;
    "input-columns.json" => INPUT_COLUMNS;
    "inputs.safetensors";
    "log.jsonl" => LOG;
    "machine.safetensors";
    "metrics.json" => METRICS;
    "outputs.safetensors" => OUTPUTS;
    "polarities.json" => POLARITIES;
    "ridge.safetensors";
    "constants.json" => CONSTANTS;
    "combination.json" => RULE;
    "scaling.safetensors" => SCALING;
    "reranker.safetensors" => RERANKER;
    // The reranker that has not seen a fold of the training pairs, which [`HELD_OUT`] names.
    "reranker-unseen.safetensors" => UNSEEN_RERANKER;
    "shards" => SHARDS;
    "tensorboard" => TENSORBOARD;
}

/// Returns the text of a file that a run may lack.
pub(crate) fn read_optional(file: &Path) -> Result<Option<String>, Error> {
    match read_text(file) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::reading(file)(e)),
    }
}

/// Returns the value of a JSON file that a run may lack.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, Error> {
    let Some(text) = read_optional(file)? else { return Ok(None) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| Error::run(file, e))
}

/// Reads a file as [`read_json`] does, which a run does not lack.
pub(crate) fn read_needed<T: DeserializeOwned>(file: &Path) -> Result<T, Error> {
    read_json(file)?.ok_or_else(|| Error::NotFound { path: file.into(), hint: String::new() })
}

/// Replaces a text file atomically.
pub(crate) fn write_text(file: &Path, text: &str) -> Result<(), Error> {
    Ok(write_atomically(file, |out| out.write_all(text.as_bytes()))?)
}

/// Refuses a run of another format, before anything else is read of it: the format stands for the layout of all files of a run.
fn check_format(run: &Path) -> Result<(), Error> {
    // a file that cannot be read or parsed counts as one of this format: reading the configuration reports what is wrong
    let text = read_text(&run.join(CONFIG)).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let format = table.get("format").and_then(toml::Value::as_integer);
    let found = format.unwrap_or(FORMAT.into());
    let message = format_args!(
        "a run of format {found}; this program reads format {FORMAT}: train it again, or read it with the version of dsokr \
         that wrote it"
    );
    ensure_run(found == i64::from(FORMAT), run, message)
}

/// The version that fingerprints are made with.
const FINGERPRINT_VERSION: u32 = 1;

/// Returns the fingerprint of some values: the checksum of a file of this kind that holds them.
pub(crate) fn fingerprint_of(kind: &str, values: &[Tensor]) -> String {
    Contents::new(kind, FINGERPRINT_VERSION, &BTreeMap::new(), values).checksum()
}

/// Returns fingerprints as the metadata of a file that names them.
pub(crate) fn named<const N: usize>(values: [(&str, &str); N]) -> BTreeMap<String, String> {
    BTreeMap::from(values.map(|(key, value)| (key.to_owned(), value.to_owned())))
}

/// Writes candidates to a path, with the fingerprints of their coordinates and of the data.
pub(crate) fn save_candidates(
    path: &Path,
    candidates: &Candidates,
    space: &str,
    data: &str,
) -> Result<(), Error> {
    Ok(candidates.save(path, &named([("basis", space), ("data", data)]))?)
}

/// Writes the columns of the training inputs into the run at `run`, where files of queries need them.
///
/// # Errors
/// The file system's errors.
pub(crate) fn save_input_columns(columns: Option<&InputColumns>, run: &Path) -> Result<(), Error> {
    let Some(columns) = columns else { return Ok(()) };
    write_text(&run.join(INPUT_COLUMNS), &(serde_json::to_string(columns)? + "\n"))
}

/// Writes the polarities of the training spectra into the run at `run`.
///
/// # Errors
/// The file system's errors.
pub(crate) fn save_polarities(polarities: &Polarities, run: &Path) -> Result<(), Error> {
    write_text(&run.join(POLARITIES), &(serde_json::to_string(polarities)? + "\n"))
}

/// The folder of the data that a run was trained on, so that the run can be evaluated from any
/// directory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DataFolder {
    /// Absolute, without symbolic links.
    folder: PathBuf,
    /// The fingerprint of `folder`.
    checksum: String,
}

/// Writes the folder of `root` into the run at `run`, unless it is there already; drawn data have none.
///
/// # Errors
/// The file system's errors.
pub(crate) fn save_data_folder(run: &Path, root: &DataRoot) -> Result<(), Error> {
    let Some(folder) = root.folder() else { return Ok(()) };
    let folder = folder.canonicalize().map_err(Error::io(folder))?;
    if folder.to_str().is_none() {
        let name = folder.display();
        tracing::warn!("the name of {name} is not UTF-8, so the run does not keep it");
        return Ok(());
    }
    let checksum = fingerprint(folder.as_os_str().as_encoded_bytes());
    let text = serde_json::to_string_pretty(&DataFolder { folder, checksum })? + "\n";
    let file = run.join(DATA);
    // one that is damaged is replaced
    if read_text(&file).is_ok_and(|before| before == text) {
        Ok(())
    } else {
        write_text(&file, &text)
    }
}

/// Returns the folder of the data that the run at `run` was trained on; none where the run does not say. A file that says
/// nothing reliable is left aside with a warning: few commands need the data, and an argument names them too.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn load_data_folder(run: &Path) -> Result<Option<PathBuf>, Error> {
    let file = run.join(DATA);
    let Some(text) = read_optional(&file)? else { return Ok(None) };
    let problem = match serde_json::from_str(&text) {
        Ok(DataFolder { folder, checksum }) => {
            let found = fingerprint(folder.as_os_str().as_encoded_bytes());
            if found == checksum {
                return Ok(Some(folder));
            }
            format!("the fingerprint of the folder is {found}, the file says {checksum}")
        }
        Err(error) => error.to_string(),
    };
    tracing::warn!(
        "{}: damaged or changed, and left aside: {problem}; remove it, and name the folder of the data by {}",
        file.display(),
        Argument::new("data").with("DIR")
    );
    Ok(None)
}

/// The figure of each rank, c and λ on the validation split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingCurve {
    /// The figure, as `evaluation.metric` names it.
    pub metric: String,
    /// Whether a larger figure is a better one.
    pub larger_is_better: bool,
    /// All embeddings that were tried.
    pub points: Vec<EmbeddingPoint>,
    /// The best of them.
    pub chosen: EmbeddingPoint,
}

/// One embedding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingPoint {
    /// λ of the regression.
    pub lambda: f64,
    /// λ₁, of the regression whose predictions the directions were learned from, where it is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding_lambda: Option<f64>,
    /// c, the share of predictions; outputs without pairs have the rest.
    pub supervised: f64,
    /// The rank.
    pub rank: usize,
    /// The figure on the validation split.
    pub value: f64,
}

impl EmbeddingCurve {
    /// Returns the curve of the run at `run`; none where no embedding was chosen there.
    ///
    /// # Errors
    /// A file that cannot be read, or is not such a curve.
    pub fn read(run: &Path) -> Result<Option<Self>, Error> {
        read_json(&run.join(EMBEDDING))
    }

    /// Writes it into the run at `run`.
    pub(crate) fn save(&self, run: &Path) -> Result<(), Error> {
        replace_json(run, EMBEDDING, self)
    }
}
