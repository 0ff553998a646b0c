//! The files of a run directory, as a training writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_core::store::{Contents, Stored, Tensor, read_text, sync_file, sync_folder};
use dsokr_decode::{Candidates, SecondLook};
use dsokr_nn::parameters::Parameters;
use dsokr_train::{Checkpoint, CheckpointSink, LogLine, check_basis, read_parameters};
use serde::{Deserialize, Serialize};

use super::place::create_whole;
use super::tensorboard::Events;
use super::{
    ALL, CANDIDATES, CARD, CHANGES, CHECKPOINT, CHECKPOINTS, CONFIG, ENCODER, LOG, MEMBERS,
    METRICS, Record, Report, RunLock, candidates, check_fingerprints, fingerprint_of,
    load_data_folder, named, read_json, read_optional, replace, replace_json, report,
    save_candidates, save_fingerprints, write_text,
};
use crate::config::{Checked, Config, FORMAT, LoggingConfig};
use crate::error::{Error, ensure_run};
use crate::metrics::metric::Metric;
use crate::metrics::scores::Scores;

const ENCODER_KIND: &str = "encoder";
const ENCODER_VERSION: u32 = 1;

/// A run directory's files.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Fingerprint of the model's coordinates: of the basis, if there is one.
    basis: String,
    /// Fingerprint of the preparation of its inputs.
    preparation: String,
    /// Of a new run: the right to write it.
    _lock: Option<Arc<RunLock>>,
    /// Scalars for TensorBoard, if they are wanted.
    events: Option<Events>,
}

impl Folder {
    /// Creates a run directory at `path`, complete or not at all: it is filled under a temporary
    /// name next to its place and renamed. `space` is the fingerprint of the coordinates; `save` writes the files of
    /// outputs and candidates.
    pub(crate) fn create(
        path: &Path,
        config: &Checked,
        prepared: &PreparationFiles,
        space: String,
        save: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let lock = create_whole(path, |here| {
            write_head(here, config)?;
            save(here)?;
            prepared.save(here)?;
            save_fingerprints(here)?;
            let inner = here.join(CHECKPOINTS);
            fs::create_dir(&inner).map_err(Error::io(&inner))?;
            write_text(&here.join(LOG), "")
        })?;
        Ok(Self { _lock: lock.map(Arc::new), ..Self::open(path, space, prepared) })
    }

    /// A run directory that exists, with the fingerprint of its coordinates.
    pub(crate) fn open(path: &Path, space: String, prepared: &PreparationFiles) -> Self {
        let path = path.into();
        let preparation = prepared.fingerprint();
        Self { path, basis: space, preparation, _lock: None, events: None }
    }

    /// The run directory, with scalars for TensorBoard if `logging` asks for them.
    pub(crate) fn logging(self, logging: &LoggingConfig) -> Self {
        Self { events: logging.tensorboard.then(|| Events::new(&self.path)), ..self }
    }

    /// Reads the configuration of a run.
    pub(crate) fn config(path: &Path) -> Result<Checked, Error> {
        if !path.is_dir() {
            return Err(Error::NotFound { path: path.into(), hint: " (a run directory)".into() });
        }
        let file = path.join(CONFIG);
        let text = read_text(&file);
        let missing = text.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
        ensure_run(!missing, path, "not a run directory: it has no config.toml")?;
        // first, because a different version may have different keys
        let table: Option<toml::Table> = text.ok().and_then(|text| text.parse().ok());
        let format = table.as_ref().and_then(|t| t.get("format")).and_then(toml::Value::as_integer);
        let found = format.unwrap_or(FORMAT.into());
        let message = format_args!("a run of format {found}; this program reads format {FORMAT}");
        ensure_run(found == i64::from(FORMAT), path, message)?;
        check_fingerprints(path)?;
        let mut config = Config::load(&file)?;
        config.trained_on = load_data_folder(path)?;
        Ok(config)
    }

    /// The run directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces a text file of the run atomically, for [`Predictor::save`](crate::Predictor::save).
    ///
    /// # Errors
    /// The file system's errors.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        replace(&self.path, name, text)
    }

    /// The fingerprints that a model file names: of the candidates' coordinates, and of the
    /// preparation of the inputs.
    pub fn belongs(&self) -> BTreeMap<String, String> {
        named([("basis", &self.basis), ("preparation", &self.preparation)])
    }

    /// Whether the run at `path` has a state to resume from.
    pub(crate) fn has_checkpoint(path: &Path) -> bool {
        path.join(CHECKPOINT).exists()
    }

    /// The last state, if there is one.
    pub(crate) fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Error> {
        let load = || Ok(Checkpoint::load(&self.path.join(CHECKPOINT), &self.basis)?);
        Self::has_checkpoint(&self.path).then(load).transpose()
    }

    /// Refuses data that differ from those that the run was started with.
    pub(crate) fn check_data(path: &Path, data: &str) -> Result<(), Error> {
        if candidates::open(path)?.metadata("data")? == data {
            Ok(())
        } else {
            Err(Error::DataChanged { path: path.into() })
        }
    }

    /// Replaces the candidates by ones with different constants.
    pub(crate) fn replace_candidates(&self, all: &Candidates, data: &str) -> Result<(), Error> {
        save_candidates(&self.path.join(CANDIDATES), all, &self.basis, data)
    }

    /// Writes a second look at the candidates into the file `name`.
    pub(crate) fn save_second_look(&self, name: &str, look: &SecondLook) -> Result<(), Error> {
        Ok(look.save(&self.path.join(name), &named([("basis", &self.basis)]))?)
    }

    /// The best parameters so far.
    pub(crate) fn best(&self) -> Result<Parameters, Error> {
        let file = self.path.join(ENCODER);
        if !file.exists() {
            return Err(Error::no_model(&file));
        }
        let stored = Stored::open(&file, ENCODER_KIND, ENCODER_VERSION)?;
        check_basis(&stored, &self.basis)?;
        check_preparation(&stored, &self.preparation)?;
        Ok(read_parameters(&stored, "")?)
    }

    /// Makes the directory of an ensemble.
    pub(crate) fn create_ensemble(path: &Path, config: &Checked) -> Result<Option<RunLock>, Error> {
        create_whole(path, |here| {
            let members = here.join(MEMBERS);
            fs::create_dir(&members).map_err(Error::io(&members))?;
            write_head(here, config)?;
            save_fingerprints(here)
        })
    }

    /// Replaces the configuration of the run at `path` by one with other settings of the optimisation, and
    /// adds lines that say so to `changes.jsonl`.
    pub(crate) fn change(path: &Path, config: &Checked, lines: &str) -> Result<(), Error> {
        let file = path.join(CHANGES);
        let before = read_optional(&file)?.unwrap_or_default();
        replace(path, CHANGES, &(before + lines))?;
        replace(path, CONFIG, &config.to_toml()?)?;
        write_card(path, config, None)
    }

    /// Removes the final report of the run at `path`, if there is one, so that it is not complete.
    pub(crate) fn reopen(path: &Path) -> Result<(), Error> {
        let file = path.join(METRICS);
        match fs::remove_file(&file).and_then(|()| sync_folder(path)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&file)(e)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The final report of the run at `path`, if it is complete.
    pub(crate) fn finished(path: &Path) -> Result<Option<Report>, Error> {
        read_json(&path.join(METRICS))
    }

    /// Writes the final report into the run at `path`, and before it the card, because a run with a report
    /// is complete.
    pub(crate) fn finish(path: &Path, config: &Checked, report: &Report) -> Result<(), Error> {
        write_card(path, config, Some(report))?;
        replace_json(path, METRICS, &Record::now(config, report)?)
    }

    /// The lines of `log.jsonl` of the run at `path` that have steps, without an unfinished last one; none where there is no
    /// log.
    pub(crate) fn log(path: &Path) -> Result<Option<Vec<LogLine<Scores>>>, Error> {
        let file = path.join(LOG);
        let Some(text) = read_optional(&file)? else { return Ok(None) };
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines: Result<Vec<LoggedLine>, _> = whole.map(serde_json::from_str).collect();
        let of_steps = |line| match line {
            LoggedLine::Steps(line) => Some(line),
            LoggedLine::Solved(_) => None,
        };
        let lines = lines.map_err(|error| Error::run(file, error))?;
        Ok(Some(lines.into_iter().filter_map(of_steps).collect()))
    }

    /// Writes the log of a model without steps, which is one line.
    pub(crate) fn log_solved(&self, line: &SolvedLine) -> Result<(), Error> {
        write_text(&self.path.join(LOG), &(serde_json::to_string(line)? + "\n"))
    }

    /// Writes a line of the log, and its scalars.
    fn append(&mut self, line: &LogLine<Scores>) -> Result<(), Error> {
        let file = self.path.join(LOG);
        let text = serde_json::to_string(line)? + "\n";
        let out = fs::OpenOptions::new().append(true).create(true).open(&file);
        // one write: a kill leaves a whole line or a torn last one, which `rewind_log` drops
        out.and_then(|mut out| out.write_all(text.as_bytes()).and_then(|()| sync_file(&out)))
            .map_err(Error::io(&file))?;
        let of_training = [
            ("training/loss", line.loss),
            ("training/learning_rate", line.learning_rate),
            ("training/pairs_per_second", line.pairs_per_second),
        ];
        let of_training = of_training.map(|(tag, value)| (tag.to_owned(), value));
        let values = of_training.into_iter().chain(validation_scalars(&line.metrics));
        self.scalars(line.step, &values.collect::<Vec<_>>())
    }

    /// Removes the log lines after `step`, which a resumed training writes again, and an unfinished
    /// last line; the same for TensorBoard.
    pub(crate) fn rewind_log(&mut self, step: u64) -> Result<(), Error> {
        if let Some(events) = &mut self.events {
            events.resume(step);
        }
        let file = self.path.join(LOG);
        let text = read_text(&file).map_err(Error::reading(&file))?;
        let parsed = |line: &str| serde_json::from_str::<LogLine<Scores>>(line);
        let kept = text.lines().filter(|line| parsed(line).is_ok_and(|line| line.step <= step));
        write_text(&file, &kept.flat_map(|line| [line, "\n"]).collect::<String>())
    }

    /// Writes scalars for TensorBoard, if they are wanted.
    pub(crate) fn scalars(&mut self, step: u64, values: &[(String, f64)]) -> Result<(), Error> {
        self.events.as_mut().map_or(Ok(()), |events| events.scalars(step, values))
    }

    /// Writes the best parameters so far.
    pub(crate) fn save_best(&self, parameters: &Parameters) -> Result<(), Error> {
        let tensors = parameters.iter();
        let tensors = tensors.map(|(name, own)| Tensor::f32(name, &own.shape, &own.values));
        let belongs = self.belongs();
        let tensors = tensors.collect::<Vec<_>>();
        let contents = Contents::new(ENCODER_KIND, ENCODER_VERSION, &belongs, &tensors);
        Ok(contents.write(&self.path.join(ENCODER))?)
    }
}

impl CheckpointSink<Scores> for Folder {
    fn step(&mut self, step: u64, loss: f64, rate: f64) -> Result<(), dsokr_train::Error> {
        let values = [("step/loss".to_owned(), loss), ("step/learning_rate".to_owned(), rate)];
        Ok(self.scalars(step, &values)?)
    }

    fn log(&mut self, line: &LogLine<Scores>) -> Result<(), dsokr_train::Error> {
        Ok(self.append(line)?)
    }

    fn best(&mut self, parameters: Parameters) -> Result<Option<Parameters>, dsokr_train::Error> {
        self.save_best(&parameters)?;
        Ok(None)
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), dsokr_train::Error> {
        checkpoint.save(&self.path.join(CHECKPOINT), &self.basis)
    }
}

/// The line of `log.jsonl` of a model without steps, such as a kernel machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SolvedLine {
    /// 0: there are no steps.
    step: u64,
    /// 0.
    epoch: u64,
    /// True: there is one evaluation.
    best: bool,
    /// Seconds that the fit took.
    pub seconds: f64,
    /// Metrics of the validation split.
    pub metrics: Scores,
}

impl SolvedLine {
    /// The line of a fit that took `seconds`.
    pub fn new(seconds: f64, metrics: Scores) -> Self {
        Self { step: 0, epoch: 0, best: true, seconds, metrics }
    }
}

/// A line of `log.jsonl`.
#[derive(Deserialize)]
#[serde(untagged)]
enum LoggedLine {
    Steps(LogLine<Scores>),
    Solved(#[expect(dead_code, reason = "read, so that it is checked")] SolvedLine),
}

/// The metrics of the validation split as scalars.
pub(crate) fn validation_scalars(scores: &Scores) -> impl Iterator<Item = (String, f64)> {
    Metric::known_of(scores).map(|(metric, value)| (format!("validation/{}", metric.name()), value))
}

fn write_head(folder: &Path, config: &Checked) -> Result<(), Error> {
    write_text(&folder.join(CONFIG), &config.to_toml()?)?;
    write_card(folder, config, None)
}

fn write_card(folder: &Path, config: &Checked, report: Option<&Report>) -> Result<(), Error> {
    write_text(&folder.join(CARD), &report::card(config, report)?)
}

/// The files of the preparation of inputs: name and text of each.
pub(crate) struct PreparationFiles(Vec<(&'static str, String)>);

impl PreparationFiles {
    /// Checks the names of a preparation's files.
    pub(crate) fn new(files: Vec<(&'static str, String)>) -> Result<Self, Error> {
        for (at, (name, _)) in files.iter().enumerate() {
            let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
            let again = files[..at].iter().any(|(other, _)| other == name);
            if !plain || again || ALL.contains(name) {
                let own = ALL.join(", ");
                let message =
                    format!("a preparation's files have plain names, each once, none of {own}");
                return Err(Error::run(name, message));
            }
        }
        Ok(Self(files))
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<(), Error> {
        self.0.iter().try_for_each(|(name, text)| write_text(&folder.join(name), text))
    }

    /// The fingerprint of the preparation; an encoder is trained on one.
    pub(crate) fn fingerprint(&self) -> String {
        let files = self.0.iter();
        let tensors: Vec<Tensor> =
            files.map(|(name, text)| Tensor::u8(name, &[text.len()], text.as_bytes())).collect();
        fingerprint_of("preparation", &tensors)
    }
}

/// Refuses a model whose preparation differs from the run's, whose fingerprint is `own`.
pub(crate) fn check_preparation(model: &Stored, own: &str) -> Result<(), Error> {
    let found = model.metadata("preparation")?;
    let message = format_args!(
        "it belongs to inputs prepared with fingerprint {found}, the run's have {own}"
    );
    ensure_run(found == own, model.path(), message)
}

/// Loss and validation metric of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningCurve {
    /// The name of the run's folder.
    pub name: String,
    /// The metric, as `evaluation.metric` names it.
    pub metric: String,
    /// A point an evaluation.
    pub points: Vec<LearningPoint>,
}

/// The state of a training after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningPoint {
    /// Epochs done, in parts of an epoch.
    pub epoch: f64,
    /// Mean of the loss since the evaluation before.
    pub loss: f64,
    /// The metric on the validation split; none where it is not known or infinite.
    pub value: Option<f64>,
}

impl LearningCurve {
    /// The curves of the run at `path`, or of an ensemble's members.
    /// Models without epochs, such as kernel machines, have none.
    ///
    /// # Errors
    /// A configuration or `log.jsonl` that cannot be read.
    pub fn read(path: &Path) -> Result<Vec<Self>, Error> {
        let mut folders: Vec<PathBuf> = vec![path.into()];
        if let Ok(members) = fs::read_dir(path.join(MEMBERS)) {
            folders.extend(members.flatten().map(|member| member.path()));
            folders.sort();
        }
        let mut curves = Vec::new();
        for folder in folders {
            let Some(lines) = Folder::log(&folder)? else { continue };
            let Some(last) = lines.last() else { continue };
            // the log counts whole epochs; an evaluation within one lies between
            let steps = last.step as f64 / last.epoch.max(1) as f64;
            let metric = Folder::config(&folder)?.evaluation.metric;
            let point = |line: &LogLine<Scores>| {
                let value = Some(metric.value(&line.metrics)).filter(|value| value.is_finite());
                LearningPoint { epoch: line.step as f64 / steps.max(1.0), loss: line.loss, value }
            };
            let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
            let name = name.into_owned();
            let metric = metric.to_string();
            curves.push(Self { name, metric, points: lines.iter().map(point).collect() });
        }
        Ok(curves)
    }
}
