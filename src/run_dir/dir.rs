//! A run directory as a handle: how it is made, what is written into it, and what is read again.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsokr_core::Argument;
use dsokr_core::store::{Stored, Tensor, read_text, sync_folder};
use dsokr_decode::{Candidates, Reranker};
use tracing::warn;

use super::new_run::create_whole;
use super::preparation::{PreparationFile, check_name, check_names, save_files};
use super::tensorboard::Events;
use super::{
    CANDIDATES, CARD, CHANGES, CHECKPOINTS, CONFIG, CardExample, INPUT_COLUMNS, LOG, LearnedFrom,
    MEMBERS, METRICS, MeasuredOn, RERANKER, Record, Report, RunLock, candidates, card,
    changed_tables, check_fingerprints, check_format, fingerprint_of, initial_weights,
    load_data_folder, named, read_json, read_optional, replace, replace_json, save_candidates,
    save_fingerprints, seal, started_tables, write_text,
};
use crate::config::{Checked, Config, DecodingConfig};
use crate::error::{Error, ensure_run};

/// A run directory, which may be read and written, or be about to be made.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
    /// The fingerprint of the space that candidates and predictions are points of: of the basis, if there is one.
    space: String,
    /// The fingerprint of the preparation of inputs.
    preparation: String,
    /// The fingerprint of the data.
    data: String,
    /// The checksums of the tables that the training learns from.
    tables: BTreeMap<String, String>,
    /// The checksum of the weights of a file that the training starts from.
    initial_weights: Option<String>,
    /// The right to write a run that this process makes or has made.
    lock: Option<Arc<RunLock>>,
    /// Scalars for TensorBoard, if they are wanted.
    pub(super) events: Option<Events>,
    /// How many checkpoints are kept.
    pub(super) checkpoints: usize,
}

impl RunDir {
    /// Creates the handle of the run directory at a path, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            path,
            space: String::new(),
            preparation: String::new(),
            data: String::new(),
            tables: BTreeMap::new(),
            initial_weights: None,
            lock: None,
            events: None,
            checkpoints: 1,
        }
    }

    /// Adds the right to make the run directory, where that has been taken.
    pub(crate) fn reserved(self, lock: Option<Arc<RunLock>>) -> Self {
        Self { lock, ..self }
    }

    /// Sets the fingerprint of the space that candidates and predictions are points of.
    pub(crate) fn in_space(self, fingerprint: &str) -> Self {
        Self { space: fingerprint.into(), ..self }
    }

    /// Sets the fingerprint of the data.
    pub(crate) fn of_data(self, fingerprint: &str) -> Self {
        Self { data: fingerprint.into(), ..self }
    }

    /// Sets the checksums of the tables that the training learns from.
    pub(crate) fn learning_from(self, tables: BTreeMap<String, String>) -> Self {
        Self { tables, ..self }
    }

    /// Sets the checksum of the weights that the training starts from.
    pub(crate) fn starting_from(self, initial_weights: Option<String>) -> Self {
        Self { initial_weights, ..self }
    }

    /// Sets the fingerprint of the preparation of inputs, which these files hold.
    ///
    /// # Errors
    /// Files whose names are not plain, occur twice, or are those of other files of a run.
    pub(crate) fn prepared(self, files: &[PreparationFile]) -> Result<Self, Error> {
        check_names(files)?;
        let tensors =
            files.iter().map(|(name, text)| Tensor::u8(name, &[text.len()], text.as_bytes()));
        let preparation = fingerprint_of("preparation", &tensors.collect::<Vec<_>>());
        Ok(Self { preparation, ..self })
    }

    /// Adds scalars for TensorBoard and as many checkpoints as the configuration asks for.
    pub(crate) fn writing(self, config: &Config) -> Self {
        let events = config.logging.tensorboard.then(|| Events::new(&self.path));
        Self { events, checkpoints: config.training.checkpoints, ..self }
    }

    /// Returns the checksum of the weights of a file that the training starts from.
    pub(crate) fn initial_weights(&self) -> Option<&str> {
        self.initial_weights.as_deref()
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the fingerprint of the space that candidates and predictions are points of.
    pub(crate) fn space(&self) -> &str {
        &self.space
    }

    /// Returns the fingerprints that a model file names: of the candidates' coordinates, and of the
    /// preparation of the inputs.
    pub fn belongs(&self) -> BTreeMap<String, String> {
        named([("basis", &self.space), ("preparation", &self.preparation)])
    }

    /// Refuses a model whose preparation of inputs differs from the run's.
    pub(crate) fn check_preparation(&self, model: &Stored) -> Result<(), Error> {
        let of_model = model.metadata("preparation")?;
        let of_run = &self.preparation;
        let message = format_args!(
            "it belongs to inputs prepared with fingerprint {of_model}, the run's have {of_run}"
        );
        ensure_run(of_model == of_run, model.path(), message)
    }
}

/// Making run directories.
impl RunDir {
    /// Makes the run directory, complete or not at all: it is filled under a temporary
    /// name next to its place and renamed. `save` writes the files of outputs and candidates.
    pub(crate) fn create(
        &self,
        config: &Checked,
        files: &[PreparationFile],
        save: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let lock = create_whole(&self.path, self.lock.clone(), |here| {
            write_head(here, config)?;
            save(here)?;
            save_files(here, files)?;
            save_fingerprints(here, &self.tables, self.initial_weights.as_deref())?;
            let checkpoints = here.join(CHECKPOINTS);
            fs::create_dir(&checkpoints).map_err(Error::io(&checkpoints))?;
            write_text(&here.join(LOG), "")
        })?;
        Ok(Self { lock, ..self.clone() })
    }

    /// Makes the directory of an ensemble; the right to write it.
    pub(crate) fn create_ensemble(&self, config: &Checked) -> Result<Option<Arc<RunLock>>, Error> {
        create_whole(&self.path, self.lock.clone(), |here| {
            let members = here.join(MEMBERS);
            fs::create_dir(&members).map_err(Error::io(&members))?;
            write_head(here, config)?;
            save_fingerprints(here, &self.tables, None)
        })
    }
}

/// Reading.
impl RunDir {
    /// Reads the configuration.
    pub(crate) fn config(&self) -> Result<Checked, Error> {
        let path = &self.path;
        if !path.is_dir() {
            return Err(Error::NotFound { path: path.clone(), hint: " (a run directory)".into() });
        }
        let file = path.join(CONFIG);
        ensure_run(file.exists(), path, "not a run directory: it has no config.toml")?;
        check_format(path)?;
        check_fingerprints(path)?;
        let mut config = Config::load(&file)?;
        config.trained_on = load_data_folder(path)?;
        config.input_columns = read_json(&path.join(INPUT_COLUMNS))?;
        Ok(config)
    }

    /// Returns the text of a file that [`write_text`](Self::write_text) has written.
    ///
    /// # Errors
    /// A file that is missing or is not text.
    pub fn read_text(&self, name: &str) -> Result<String, Error> {
        let path = self.path.join(name);
        read_text(&path).map_err(Error::reading(&path))
    }

    /// Returns whether the run is trained to its end, with a warning where it is not.
    pub(crate) fn warn_of_end(&self) -> bool {
        let is_complete = self.path.join(METRICS).exists();
        if !is_complete {
            let resume = Argument::switch("resume");
            let path = self.path.display();
            warn!(
                "{path}: the run is not trained to its end, and is used as far as it came; {resume} goes on"
            );
        }
        is_complete
    }

    /// Warns of a run that is not trained to its end, and refuses one that lacks a correction of `decoding`: its answers
    /// would be others than those of the complete run.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] of the run.
    pub(crate) fn check_end(
        &self,
        decoding: &DecodingConfig,
        candidates: &Candidates,
    ) -> Result<(), Error> {
        if self.warn_of_end() {
            return Ok(());
        }
        let lacks_hubs = decoding.hubs.is_some() && candidates.hubs().is_none();
        let lacks_reranker = decoding.reranker.is_some() && !self.path.join(RERANKER).exists();
        let lacking = [("decoding.hubs", lacks_hubs), ("decoding.reranker", lacks_reranker)];
        let Some((key, _)) = lacking.into_iter().find(|(_, lacks)| *lacks) else { return Ok(()) };
        let resume = Argument::switch("resume");
        let message = format_args!(
            "the run is not trained to its end, and has no {key} yet: go on with {resume}"
        );
        Err(self.lacks(&self.path, message))
    }

    /// Returns the error of a run without the `file` of its model.
    pub(crate) fn no_model(&self, file: &Path) -> Error {
        let resume = Argument::switch("resume");
        let message = format_args!("there is no model: remove {METRICS}, if any, and use {resume}");
        self.lacks(file, message)
    }

    /// Returns the error of a run that lacks what its training writes: `message` of the `file`, unless a process is about to
    /// write it.
    pub(crate) fn lacks(&self, file: &Path, message: impl Display) -> Error {
        let Some(holder) = RunLock::other_holder(&self.path) else {
            return Error::run(file, message);
        };
        let message =
            format_args!("{holder} is training it; its first evaluation is still to come");
        Error::run(&self.path, message)
    }

    /// Returns the final report; none where the run is not complete.
    pub(crate) fn report(&self) -> Result<Option<Report>, Error> {
        Ok(Record::read(&self.path)?.map(|record| record.report))
    }

    /// Refuses data that differ from those that the run was started with.
    pub(crate) fn check_data(&self) -> Result<(), Error> {
        let candidates = candidates::open(&self.path)?;
        if candidates.metadata("data")? == self.data { Ok(()) } else { Err(self.data_changed()?) }
    }

    /// Returns the error of data that differ from those that the run was started with, with the tables that do.
    pub(crate) fn data_changed(&self) -> Result<Error, Error> {
        let started = started_tables(&self.path)?;
        let tables = changed_tables(&started, &self.tables).map(str::to_owned).collect();
        Ok(Error::DataChanged { path: self.path.clone(), tables })
    }

    /// Refuses weights that differ from those that the training of the run started from; none are not needed any more.
    pub(crate) fn check_initial_weights(&self, found: Option<&str>) -> Result<(), Error> {
        let (Some(found), Some(expected)) = (found, initial_weights(&self.path)?) else {
            return Ok(());
        };
        let message = format_args!(
            "the pretrained weights have changed since the run was started: their checksum is {found}, it was \
             {expected}; put the earlier ones back, or start a new run"
        );
        ensure_run(found == expected, &self.path, message)
    }

    /// Returns candidates with the coordinates of the run's file, which is theirs or has candidates that were added behind them.
    pub(crate) fn stored(&self, placed: Candidates) -> Result<Candidates, Error> {
        Ok(placed.stored_in(&Arc::new(candidates::open(&self.path)?))?)
    }

    /// Returns the candidates, if some were added to those of the training.
    pub(crate) fn candidates_with_added(&self) -> Result<Option<Candidates>, Error> {
        let all = Candidates::read(&Arc::new(candidates::open(&self.path)?))?;
        Ok(Some(all).filter(|all| all.added() > 0))
    }
}

/// Writing.
impl RunDir {
    /// Replaces a text file of the run atomically, for [`Predictor::save`](crate::Predictor::save).
    ///
    /// # Errors
    /// A name that is no plain file name, or that of a file that every run has, such as `data.json`; the file system's
    /// errors.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        check_name(name)?;
        replace(&self.path, name, text)
    }

    /// Writes the files of the preparation of inputs, unless the run was made with them.
    pub(crate) fn save_preparation(self, files: &[PreparationFile]) -> Result<Self, Error> {
        let prepared = self.clone().prepared(files)?;
        if prepared.preparation != self.preparation {
            for (name, text) in files {
                prepared.write_text(name, text)?;
            }
        }
        Ok(prepared)
    }

    /// Replaces the candidates by ones with different constants.
    pub(crate) fn replace_candidates(&self, all: &Candidates) -> Result<(), Error> {
        save_candidates(&self.path.join(CANDIDATES), all, &self.space, &self.data)
    }

    /// Writes the candidates anew if `placed`, as the data have them, have other labels or further columns.
    pub(crate) fn describe_candidates(&self, placed: &Candidates) -> Result<(), Error> {
        let all = Candidates::read(&Arc::new(candidates::open(&self.path)?))?;
        let Some(described) = all.described_as(placed)? else { return Ok(()) };
        warn!(
            "labels or further columns of candidates have changed, and the run gets the new ones"
        );
        self.replace_candidates(&described)
    }

    /// Writes a reranker at the candidates into the file `name`.
    pub(crate) fn save_reranker(&self, name: &str, reranker: &Reranker) -> Result<(), Error> {
        Ok(reranker.save(&self.path.join(name), &named([("basis", &self.space)]))?)
    }

    /// Replaces the configuration by one with other settings of the optimisation, and
    /// adds lines that say so to `changes.jsonl`.
    pub(crate) fn change(&self, config: &Checked, lines: &str) -> Result<(), Error> {
        let before = read_optional(&self.path.join(CHANGES))?.unwrap_or_default();
        // one that was killed between the two files has written the lines already
        let all = if before.ends_with(lines) { before } else { before + lines };
        replace(&self.path, CHANGES, &all)?;
        replace(&self.path, CONFIG, &config.to_toml()?)?;
        write_card(&self.path, config, None)
    }

    /// Removes the final report, if there is one, so that the run is not complete.
    pub(crate) fn reopen(&self) -> Result<(), Error> {
        let file = self.path.join(METRICS);
        match fs::remove_file(&file).and_then(|()| sync_folder(&self.path)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&file)(e)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the final report, with the fingerprints of what it is measured on and what the training has learned from, and
    /// before it the card, because a run with a report is complete.
    pub(crate) fn finish(
        &self,
        config: &Checked,
        report: &Report,
        measured_on: MeasuredOn,
        learned_from: LearnedFrom,
    ) -> Result<(), Error> {
        write_card(&self.path, config, Some(report))?;
        seal(&self.path, config)?;
        let record = Record::now(config, report, measured_on, learned_from)?;
        replace_json(&self.path, METRICS, &record)?;
        self.forget_fits()
    }

    /// Returns whether the card of a complete run is as [`finish`](Self::finish) has written it: a killed process left it without
    /// an example.
    pub(crate) fn lacks_example(&self, config: &Checked, report: &Report) -> Result<bool, Error> {
        let card = read_optional(&self.path.join(CARD))?;
        Ok(card.is_some_and(|card| {
            card::card(config, Some(report), None).is_ok_and(|plain| plain == card)
        }))
    }

    /// Writes the card of a complete run again, with what its model answers to an example.
    pub(crate) fn show_example(
        &self,
        config: &Checked,
        report: &Report,
        example: &CardExample,
    ) -> Result<(), Error> {
        let card = card::card(config, Some(report), Some(example))?;
        write_text(&self.path.join(CARD), &card)
    }
}

fn write_head(folder: &Path, config: &Checked) -> Result<(), Error> {
    write_text(&folder.join(CONFIG), &config.to_toml()?)?;
    write_card(folder, config, None)
}

fn write_card(folder: &Path, config: &Checked, report: Option<&Report>) -> Result<(), Error> {
    write_text(&folder.join(CARD), &card::card(config, report, None)?)
}
