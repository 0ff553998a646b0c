use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_basis::store::{self, Stored, Tensor, read_text, sync_folder, write_atomically};
use dsokr_decode::{Candidates, SecondLook};
use dsokr_nn::parameters::Parameters;

use super::card;
use super::create::{create_whole, io};
use super::data_folder::load_data_folder;
use super::preparation_files::check_preparation;
use super::tensorboard::EventFile;
use super::{HeldOut, HeldPart, PreparationFiles, Record, Report, RunLock, fingerprints, held_out};
use crate::config::{Checked, Config, FORMAT, LoggingConfig};
use crate::run_files::{
    CANDIDATES, CARD, CHANGES, CHECKPOINT, CHECKPOINTS, CONFIG, ENCODER, EXAMPLES, HELD_OUT,
    HELD_OUT_PART, LOG, MEMBERS, METRICS, SECOND_LOOK, SECOND_LOOK_PART, read_json, read_optional,
};
use crate::{Error, Metric, Scores};
use dsokr_train::{Checkpoint, CheckpointSink, LogLine, check_basis, read_parameters};

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
    /// Scalars for TensorBoard, if they are wanted; created with the first one.
    events: Events,
}

/// The event file of TensorBoard.
#[derive(Clone, Debug)]
enum Events {
    /// None is written.
    Off,
    /// None has been written yet; with the steps of the checkpoint from which training goes on.
    Wanted(Option<u64>),
    /// It exists.
    Open(EventFile),
}

impl Folder {
    /// Creates a run directory at `path`, complete or not at all: it is filled under a temporary
    /// name beside its place and renamed. `space` is the fingerprint of the coordinates; `save` writes the files of
    /// outputs and candidates.
    pub(crate) fn create(
        path: &Path,
        config: &Checked,
        prepared: &PreparationFiles,
        space: String,
        save: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let lock = create_whole(path, |here| {
            write_config(here, config)?;
            write_card(here, config, None)?;
            save(here)?;
            prepared.save(here)?;
            fingerprints::save(here)?;
            let inner = here.join(CHECKPOINTS);
            fs::create_dir(&inner).map_err(|e| io(&inner, &e))?;
            Ok(write_atomically(&here.join(LOG), |_| Ok(()))?)
        })?;
        Ok(Self { _lock: lock.map(Arc::new), ..Self::open(path, space, prepared) })
    }

    /// A run directory that exists, with the fingerprint of its coordinates.
    pub(crate) fn open(path: &Path, space: String, prepared: &PreparationFiles) -> Self {
        let (path, preparation) = (path.into(), prepared.fingerprint());
        Self { path, basis: space, preparation, _lock: None, events: Events::Off }
    }

    /// The run directory, with scalars for TensorBoard if `logging` asks for them.
    pub(crate) fn logging(self, logging: &LoggingConfig) -> Self {
        let events = if logging.tensorboard { Events::Wanted(None) } else { Events::Off };
        Self { events, ..self }
    }

    /// Writes scalars for TensorBoard, if they are wanted.
    pub(crate) fn scalars(&mut self, step: u64, values: &[(String, f64)]) -> Result<(), Error> {
        if let Events::Wanted(resumed) = self.events {
            self.events = Events::Open(EventFile::create(&self.path, resumed)?);
        }
        match &self.events {
            Events::Open(file) => file.scalars(step, values),
            Events::Wanted(_) | Events::Off => Ok(()),
        }
    }

    /// Reads the configuration of a run.
    pub(crate) fn config(path: &Path) -> Result<Checked, Error> {
        if !path.is_dir() {
            return Err(Error::NotFound { path: path.into(), hint: " (a run directory)".into() });
        }
        let file = path.join(CONFIG);
        let text = read_text(&file);
        if text.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
            let message = "no run directory: it has no config.toml".into();
            return Err(Error::Run { path: path.into(), message });
        }
        // first, because a different version may have different keys
        let table: Option<toml::Table> = text.ok().and_then(|text| text.parse().ok());
        let format = table.as_ref().and_then(|t| t.get("format")).and_then(toml::Value::as_integer);
        if let Some(found) = format.filter(|&found| found != i64::from(FORMAT)) {
            let message = format!("a run of format {found}; this program reads format {FORMAT}");
            return Err(Error::Run { path: path.into(), message });
        }
        fingerprints::check(path)?;
        Ok(Config::load(&file)?.trained_on(load_data_folder(path)?))
    }

    /// The run directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces a text file of the run atomically, for [`Predictor::save`](crate::Predictor::save).
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        fingerprints::replace(&self.path, name, text)
    }

    /// The fingerprints that a model file names: of the candidates' coordinates, and of the
    /// preparation of the inputs.
    pub fn belongs(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("basis".to_string(), self.basis.clone()),
            ("preparation".to_string(), self.preparation.clone()),
        ])
    }

    fn encoder_file(&self) -> PathBuf {
        self.path.join(ENCODER)
    }

    fn checkpoint_file(&self) -> PathBuf {
        self.path.join(CHECKPOINT)
    }

    /// Whether the run at `path` has a state to resume from.
    pub(crate) fn has_checkpoint(path: &Path) -> bool {
        path.join(CHECKPOINT).exists()
    }

    /// Removes the unfinished files of a killed process from the run or the ensemble at `path`.
    pub(crate) fn tidy(path: &Path) {
        store::remove_partial(path);
        store::remove_partial(&path.join(CHECKPOINTS));
    }

    /// The last state, if there is one.
    pub(crate) fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Error> {
        let file = self.checkpoint_file();
        if !file.exists() {
            return Ok(None);
        }
        Ok(Some(Checkpoint::load(&file, &self.basis)?))
    }

    /// Refuses data that differ from those that the run was started with.
    pub(crate) fn check_data(path: &Path, data: &str) -> Result<(), Error> {
        let stored = super::candidates::open(path)?;
        if stored.metadata("data")? == data {
            return Ok(());
        }
        Err(Error::DataChanged { path: path.into() })
    }

    /// Replaces the candidates by ones with different constants.
    pub(crate) fn replace_candidates(
        &self,
        candidates: &Candidates,
        data: &str,
    ) -> Result<(), Error> {
        super::candidates::save(&self.path.join(CANDIDATES), candidates, &self.basis, data)
    }

    /// Writes the second look at the candidates.
    pub(crate) fn save_second_look(&self, look: &SecondLook) -> Result<(), Error> {
        let metadata = BTreeMap::from([("basis".to_string(), self.basis.clone())]);
        Ok(look.save(&self.path.join(SECOND_LOOK), &metadata)?)
    }

    /// Writes answers to training inputs that were held out, as they are (`whole`) or at unit length in 16
    /// bits; `ids` are those of all training pairs.
    pub(crate) fn save_held_out(
        &self,
        answers: &HeldOut,
        ids: &[String],
        whole: bool,
    ) -> Result<(), Error> {
        held_out::save(&self.path.join(HELD_OUT), answers, ids, None, whole)
    }

    /// Writes a part of the training pairs as queries that the second look has not seen; `ids` are those of all
    /// training pairs.
    pub(crate) fn save_held_part(&self, part: &HeldPart, ids: &[String]) -> Result<(), Error> {
        let metadata = BTreeMap::from([("basis".to_string(), self.basis.clone())]);
        part.look.save(&self.path.join(SECOND_LOOK_PART), &metadata)?;
        let texts = part.texts.as_deref();
        held_out::save(&self.path.join(HELD_OUT_PART), &part.answers, ids, texts, true)
    }

    /// Removes the log lines after `step`, which a resumed training writes again, and an unfinished
    /// last line; the same for TensorBoard.
    pub(crate) fn rewind_log(&mut self, step: u64) -> Result<(), Error> {
        if let Events::Wanted(resumed) = &mut self.events {
            *resumed = EventFile::exists(&self.path).then_some(step);
        }
        let file = self.path.join(LOG);
        let text = read_text(&file).map_err(|e| Error::reading(&file, &e))?;
        let kept: String = text
            .lines()
            .filter(|line| {
                serde_json::from_str::<LogLine<Scores>>(line)
                    .is_ok_and(|parsed| parsed.step <= step)
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        Ok(write_atomically(&file, |out| out.write_all(kept.as_bytes()))?)
    }

    /// The lines of `log.jsonl`; an unfinished last one is left out.
    pub(crate) fn log_lines(&self) -> Result<Vec<LogLine<Scores>>, Error> {
        Self::log(&self.path).map(Option::unwrap_or_default)
    }

    /// As [`log_lines`](Self::log_lines), of the run at `path`; none where there is no log.
    pub(crate) fn log(path: &Path) -> Result<Option<Vec<LogLine<Scores>>>, Error> {
        let file = path.join(LOG);
        let Some(text) = read_optional(&file)? else { return Ok(None) };
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines = whole.map(serde_json::from_str).collect::<Result<_, _>>();
        lines.map(Some).map_err(|e| Error::Run { path: file, message: e.to_string() })
    }

    /// The best parameters so far.
    pub(crate) fn best(&self) -> Result<Parameters, Error> {
        let file = self.encoder_file();
        if !file.exists() {
            let message =
                "no model has been evaluated yet: train it, or go on with the argument resume";
            return Err(Error::Run { path: file, message: message.into() });
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
            fs::create_dir(&members).map_err(|e| io(&members, &e))?;
            write_config(here, config)?;
            write_card(here, config, None)?;
            fingerprints::save(here)
        })
    }

    /// Replaces the configuration of the run at `path` by one with other settings of the optimisation, and
    /// adds lines that say so to `changes.jsonl`.
    pub(crate) fn change(path: &Path, config: &Checked, lines: &str) -> Result<(), Error> {
        let file = path.join(CHANGES);
        let before = read_optional(&file)?.unwrap_or_default();
        fingerprints::replace(path, CHANGES, &(before + lines))?;
        fingerprints::replace(path, CONFIG, &config.to_toml()?)?;
        write_card(path, config, None)
    }

    /// Removes the final report of the run at `path`, if there is one, so that it is not complete.
    pub(crate) fn reopen(path: &Path) -> Result<(), Error> {
        let file = path.join(METRICS);
        match fs::remove_file(&file).and_then(|()| sync_folder(path)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Io { path: file, message: e.to_string() })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The final report of the run at `path`, if it is complete.
    pub(crate) fn finished(path: &Path) -> Result<Option<Report>, Error> {
        read_json(&path.join(METRICS))
    }

    /// Writes drawings of the first true outputs beside the predicted ones.
    pub(crate) fn save_examples(&self, svg: &str) -> Result<(), Error> {
        let file = self.path.join(EXAMPLES);
        Ok(write_atomically(&file, |out| out.write_all(svg.as_bytes()))?)
    }

    /// Writes the final report into the run at `path`, and before it the card, because a run with a report
    /// is complete.
    pub(crate) fn finish(path: &Path, config: &Checked, report: &Report) -> Result<(), Error> {
        write_card(path, config, Some(report))?;
        fingerprints::replace_json(path, METRICS, &Record::now(config, report)?)
    }
}

impl Folder {
    fn append(&self, line: &LogLine<Scores>) -> Result<(), Error> {
        let file = self.path.join(LOG);
        let text = serde_json::to_string(line).map_err(|e| Error::Serialise(e.to_string()))?;
        let io = |e: std::io::Error| Error::Io { path: file.clone(), message: e.to_string() };
        let mut out = fs::OpenOptions::new().append(true).create(true).open(&file).map_err(io)?;
        // one write: a kill leaves a whole line or a torn last one, which `rewind_log` drops
        out.write_all(format!("{text}\n").as_bytes()).map_err(io)?;
        out.sync_data().map_err(io)
    }

    /// Writes the best parameters so far.
    pub(crate) fn save_best(&self, parameters: &Parameters) -> Result<(), Error> {
        let tensors: Vec<Tensor> = parameters
            .iter()
            .map(|(name, parameter)| Tensor::f32(name, &parameter.shape, &parameter.values))
            .collect();
        let belongs = self.belongs();
        let contents = store::Contents::new(ENCODER_KIND, ENCODER_VERSION, &belongs, &tensors);
        Ok(contents.write(&self.encoder_file())?)
    }
}

impl CheckpointSink<Scores> for Folder {
    fn step(&mut self, step: u64, loss: f64, rate: f64) -> Result<(), dsokr_train::Error> {
        let values = [("step/loss".to_owned(), loss), ("step/learning_rate".to_owned(), rate)];
        Ok(self.scalars(step, &values)?)
    }

    fn log(&mut self, line: &LogLine<Scores>) -> Result<(), dsokr_train::Error> {
        self.append(line)?;
        let of_training = [
            ("training/loss", line.loss),
            ("training/learning_rate", line.learning_rate),
            ("training/pairs_per_second", line.pairs_per_second),
        ];
        let of_training = of_training.map(|(tag, value)| (tag.to_owned(), value));
        let values: Vec<_> =
            of_training.into_iter().chain(validation_scalars(&line.metrics)).collect();
        Ok(self.scalars(line.step, &values)?)
    }

    fn best(&mut self, parameters: Parameters) -> Result<Option<Parameters>, dsokr_train::Error> {
        self.save_best(&parameters)?;
        Ok(None)
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), dsokr_train::Error> {
        checkpoint.save(&self.checkpoint_file(), &self.basis)
    }
}

fn write_config(folder: &Path, config: &Checked) -> Result<(), Error> {
    let toml = config.to_toml()?;
    Ok(write_atomically(&folder.join(CONFIG), |file| file.write_all(toml.as_bytes()))?)
}

fn write_card(folder: &Path, config: &Checked, report: Option<&Report>) -> Result<(), Error> {
    let text = card::card(config, report)?;
    Ok(write_atomically(&folder.join(CARD), |file| file.write_all(text.as_bytes()))?)
}

/// The metrics of the validation split as scalars.
pub(crate) fn validation_scalars(scores: &Scores) -> impl Iterator<Item = (String, f64)> {
    Metric::known_of(scores).map(|(metric, value)| (format!("validation/{}", metric.name()), value))
}
