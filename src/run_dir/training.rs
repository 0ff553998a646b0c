//! What a training writes as it goes: the lines of its log, scalars for TensorBoard, and its best parameters.

use std::fs;
use std::io::Write;

use dsokr_core::store::{Contents, Stored, Tensor, read_text, sync_file};
use dsokr_nn::parameters::Parameters;
use dsokr_train::{Checkpoint, CheckpointSink, LogLine, StepNumbers, check_basis, read_parameters};

use super::log::{LoggedLine, SolvedLine, validation_scalars};
use super::{ENCODER, LOG, RunDir, check_format, read_optional, write_text};
use crate::error::Error;
use crate::metrics::scores::Scores;

const ENCODER_KIND: &str = "encoder";
const ENCODER_VERSION: u32 = 1;

/// The key of the step of the evaluation that the parameters are of.
const STEP: &str = "step";

/// The log.
impl RunDir {
    /// Returns the lines of `log.jsonl` that have steps, without an unfinished last one; none where there is no log.
    pub(crate) fn log(&self) -> Result<Option<Vec<LogLine<Scores>>>, Error> {
        let lines = self.lines()?;
        Ok(lines.map(|lines| lines.into_iter().filter_map(LoggedLine::of_steps).collect()))
    }

    /// Returns all lines of `log.jsonl`, without an unfinished last one; none where there is no log.
    pub(super) fn lines(&self) -> Result<Option<Vec<LoggedLine>>, Error> {
        check_format(self.path())?;
        let file = self.path().join(LOG);
        let Some(text) = read_optional(&file)? else { return Ok(None) };
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines: Result<Vec<LoggedLine>, _> = whole.map(serde_json::from_str).collect();
        lines.map(Some).map_err(|error| Error::run(file, error))
    }

    /// Writes the log of a model without steps, which is one line.
    pub(crate) fn log_solved(&mut self, line: &SolvedLine) -> Result<(), Error> {
        write_text(&self.path().join(LOG), &(serde_json::to_string(line)? + "\n"))?;
        self.scalars(0, &validation_scalars(&line.metrics).collect::<Vec<_>>())
    }

    /// Writes a line of the log, and its scalars.
    fn append(&mut self, line: &LogLine<Scores>) -> Result<(), Error> {
        let file = self.path().join(LOG);
        let text = serde_json::to_string(line)? + "\n";
        let out = fs::OpenOptions::new().append(true).create(true).open(&file);
        // one write: a kill leaves a whole line or a torn last one, which `rewind` drops
        out.and_then(|mut out| out.write_all(text.as_bytes()).and_then(|()| sync_file(&out)))
            .map_err(Error::io(&file))?;
        let of_training = [
            ("training/loss", Some(line.loss)),
            ("training/learning_rate", Some(line.learning_rate)),
            ("training/gradient_norm", line.gradient_norm),
            ("training/pairs_per_second", Some(line.pairs_per_second)),
            ("validation/loss", line.validation_loss),
        ];
        let measured =
            of_training.into_iter().filter_map(|(tag, value)| Some((tag.to_owned(), value?)));
        let values = measured.chain(validation_scalars(&line.metrics));
        self.scalars(line.step, &values.collect::<Vec<_>>())
    }

    /// Removes what a training that is resumed at `step` writes again: the log lines after it, and an unfinished last line;
    /// the same for TensorBoard; and checkpoints that are not kept.
    pub(crate) fn rewind(&mut self, step: u64) -> Result<(), Error> {
        self.remove_checkpoints(step, self.checkpoints)?;
        if let Some(events) = &mut self.events {
            events.resume(step);
        }
        let file = self.path().join(LOG);
        let text = read_text(&file).map_err(Error::reading(&file))?;
        let parsed = |line: &str| serde_json::from_str::<LogLine<Scores>>(line);
        let kept = text.lines().filter(|line| parsed(line).is_ok_and(|line| line.step <= step));
        write_text(&file, &kept.flat_map(|line| [line, "\n"]).collect::<String>())
    }

    /// Writes scalars for TensorBoard, if they are wanted.
    fn scalars(&mut self, step: u64, values: &[(String, f64)]) -> Result<(), Error> {
        match &mut self.events {
            Some(events) => events.scalars(step, values),
            None => Ok(()),
        }
    }
}

/// The best parameters.
impl RunDir {
    /// Returns whether there are parameters that were the best of an evaluation.
    pub(crate) fn has_best(&self) -> bool {
        self.path().join(ENCODER).exists()
    }

    /// Returns the best parameters so far.
    pub(crate) fn best(&self) -> Result<Parameters, Error> {
        let file = self.path().join(ENCODER);
        if !self.has_best() {
            return Err(self.no_model(&file));
        }
        let stored = Stored::open(&file, ENCODER_KIND, ENCODER_VERSION)?;
        check_basis(&stored, self.space())?;
        self.check_preparation(&stored)?;
        Ok(read_parameters(&stored, "")?)
    }

    /// Returns the step of the evaluation that the best parameters so far are of; none where there are none yet, or where no
    /// evaluation chose them. The log may have a better one already, whose parameters are not written before the next
    /// checkpoint.
    pub(crate) fn best_step(&self) -> Result<Option<u64>, Error> {
        if !self.has_best() {
            return Ok(None);
        }
        let stored = Stored::open(&self.path().join(ENCODER), ENCODER_KIND, ENCODER_VERSION)?;
        let names_step = stored.all_metadata().contains_key(STEP);
        Ok(names_step.then(|| stored.parsed(STEP, "a number of steps")).transpose()?)
    }

    /// Returns the step of the best evaluation in the log.
    pub(crate) fn logged_best_step(&self) -> Result<Option<u64>, Error> {
        let log = self.log()?.unwrap_or_default();
        Ok(log.iter().rev().find(|line| line.best).map(|line| line.step))
    }

    /// Writes the best parameters so far, and the step of their evaluation where it is known.
    pub(crate) fn save_best(
        &self,
        parameters: &Parameters,
        step: Option<u64>,
    ) -> Result<(), Error> {
        let tensors = parameters.iter();
        let tensors =
            tensors.map(|(name, tensor)| Tensor::f32(name, &tensor.shape, &tensor.values));
        let tensors: Vec<Tensor> = tensors.collect();
        let mut metadata = self.belongs();
        metadata.extend(step.map(|step| (STEP.to_owned(), step.to_string())));
        let contents = Contents::new(ENCODER_KIND, ENCODER_VERSION, &metadata, &tensors);
        Ok(contents.write(&self.path().join(ENCODER))?)
    }
}

impl CheckpointSink<Scores> for RunDir {
    fn step(&mut self, numbers: StepNumbers) -> Result<(), dsokr_train::Error> {
        let StepNumbers { step, loss, learning_rate, gradient_norm } = numbers;
        let values = [
            ("step/loss", Some(loss)),
            ("step/learning_rate", Some(learning_rate)),
            ("step/gradient_norm", gradient_norm),
        ];
        let measured = values.into_iter().filter_map(|(tag, value)| Some((tag.to_owned(), value?)));
        Ok(self.scalars(step, &measured.collect::<Vec<_>>())?)
    }

    fn log(&mut self, line: &LogLine<Scores>) -> Result<(), dsokr_train::Error> {
        Ok(self.append(line)?)
    }

    fn best(
        &mut self,
        step: u64,
        parameters: Parameters,
    ) -> Result<Option<Parameters>, dsokr_train::Error> {
        self.save_best(&parameters, Some(step))?;
        Ok(None)
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), dsokr_train::Error> {
        Ok(self.save_checkpoint(checkpoint, self.checkpoints)?)
    }

    fn interrupted(&mut self, checkpoint: &Checkpoint) -> Result<(), dsokr_train::Error> {
        Ok(self.save_last(checkpoint)?)
    }
}
