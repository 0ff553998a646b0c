//! The files that a program's learner keeps in a run directory: the tensors of its model, and a checkpoint.

use std::path::Path;

use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_train::check_basis;
use serde::Serialize;

use super::preparation::check_name;
use super::{LEARNER_CHECKPOINT, RunDir};
use crate::error::{Error, ensure_run};

const CHECKPOINT_KIND: &str = "learner-checkpoint";
const MODEL_KIND: &str = "learner-model";
const VERSION: u32 = 1;

/// The key of the value beside the tensors, as JSON.
const VALUE: &str = "value";

impl RunDir {
    /// Writes a file of tensors, with a `value` beside them, into the run, atomically: for
    /// [`Predictor::save`](crate::Predictor::save). The value is what the tensors do not hold, such as settings; `&()` where
    /// there is nothing.
    ///
    /// # Errors
    /// A name that does not end in `.safetensors`, is no plain file name, or is that of a file that every run has; a value that
    /// cannot be written as JSON; the file system's errors.
    pub fn write_tensors(
        &self,
        name: &str,
        value: &impl Serialize,
        tensors: &[Tensor],
    ) -> Result<(), Error> {
        check_name(name)?;
        let is_binary = Path::new(name).extension().is_some_and(|end| end == "safetensors");
        ensure_run(
            is_binary,
            Path::new(name),
            "a file of tensors has a name that ends in .safetensors",
        )?;
        self.write_learned(MODEL_KIND, &self.path().join(name), value, tensors)
    }

    /// Opens a file that [`write_tensors`](Self::write_tensors) has written: for [`Learner::load`](crate::Learner::load).
    /// [`Stored::shaped`] gives a tensor, and [`Stored::json`] with the key `"value"` the value.
    ///
    /// # Errors
    /// A file that is missing, damaged, or belongs to a different run.
    pub fn read_tensors(&self, name: &str) -> Result<Stored, Error> {
        check_name(name)?;
        let stored = Stored::open(&self.path().join(name), MODEL_KIND, VERSION)?;
        check_basis(&stored, self.space())?;
        Ok(stored)
    }

    /// Replaces the checkpoint of a fit in steps, atomically: tensors, and a `value` such as the number of steps. When the run
    /// is resumed, [`read_checkpoint`](Self::read_checkpoint) gives it back. Where several processes share the fit, the
    /// [first](dsokr_core::Processes::is_first) one writes it.
    ///
    /// This learner is a linear map from vectors to coordinates, which gradient descent fits. It keeps a checkpoint after
    /// every tenth step, and so a run that was interrupted goes on from there when it is resumed. Each process computes the
    /// gradient of its part of the pairs.
    ///
    /// ```
    #[doc = include_str!("../../examples/learner_in_steps.rs")]
    /// ```
    ///
    /// # Errors
    /// A value that cannot be written as JSON; the file system's errors.
    pub fn write_checkpoint(
        &self,
        value: &impl Serialize,
        tensors: &[Tensor],
    ) -> Result<(), Error> {
        self.write_learned(CHECKPOINT_KIND, &self.path().join(LEARNER_CHECKPOINT), value, tensors)
    }

    /// Opens the checkpoint that [`write_checkpoint`](Self::write_checkpoint) has written, on each of the processes; none where
    /// the run has none yet. [`Stored::shaped`] gives a tensor, and [`Stored::json`] with the key `"value"` the value.
    ///
    /// Each process reads the file by itself, and a shared file system may show one of them an older file, or none: processes
    /// that share a fit compare the steps that they go on from by [`check_same`](dsokr_core::Processes::check_same).
    ///
    /// # Errors
    /// A file that is damaged or belongs to a different run.
    pub fn read_checkpoint(&self) -> Result<Option<Stored>, Error> {
        let path = self.path().join(LEARNER_CHECKPOINT);
        let stored = match Stored::open(&path, CHECKPOINT_KIND, VERSION) {
            Err(error) if error.is_not_found() => return Ok(None),
            opened => opened?,
        };
        check_basis(&stored, self.space())?;
        self.check_preparation(&stored)?;
        Ok(Some(stored))
    }

    fn write_learned(
        &self,
        kind: &str,
        path: &Path,
        value: &impl Serialize,
        tensors: &[Tensor],
    ) -> Result<(), Error> {
        let mut metadata = self.belongs();
        metadata.insert(VALUE.to_owned(), serde_json::to_string(value)?);
        Ok(Contents::new(kind, VERSION, &metadata, tensors).write(path)?)
    }
}
