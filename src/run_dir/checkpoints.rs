//! The checkpoints of a training, and going on from one of them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use dsokr_core::store::write_atomically;
use dsokr_train::{Checkpoint, RateChange};
use tracing::warn;

use super::{CHECKPOINT, CHECKPOINTS, RunDir};
use crate::error::Error;

/// What precedes the step in the names of checkpoints that are kept beside the last one.
const STEP: &str = "step-";

impl RunDir {
    /// Returns whether there is a state to resume from.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.path().join(CHECKPOINT).exists()
    }

    /// Returns the last state, if there is one.
    pub(crate) fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Error> {
        if !self.has_checkpoint() {
            return Ok(None);
        }
        Ok(Some(Checkpoint::load(&self.path().join(CHECKPOINT), self.space())?))
    }

    /// Writes the last state alone, of a training that is interrupted.
    pub(super) fn save_last(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        Ok(checkpoint.save(&self.path().join(CHECKPOINT), self.space())?)
    }

    /// Writes the last state, and a file with the name of its step too where more than one is `kept`. The last ones of these
    /// stay, and none of a later step.
    pub(super) fn save_checkpoint(
        &self,
        checkpoint: &Checkpoint,
        kept: usize,
    ) -> Result<(), Error> {
        if kept == 1 {
            self.save_last(checkpoint)?;
        } else {
            // before the last state, from which a killed training would go on without it
            let named = self.numbered(checkpoint.step);
            checkpoint.save(&named, self.space())?;
            // a file of its own: whoever copies a checkpoint over the last one does not change it
            write_atomically(&self.path().join(CHECKPOINT), |copy| {
                io::copy(&mut File::open(&named)?, copy).map(drop)
            })?;
        }
        self.remove_checkpoints(checkpoint.step, kept)
    }

    /// Returns the file with the name of a step.
    fn numbered(&self, step: u64) -> PathBuf {
        self.path().join(CHECKPOINTS).join(format!("{STEP}{step}.safetensors"))
    }

    /// Removes the files with the names of steps that are not `kept`, where the last state is of this step.
    pub(super) fn remove_checkpoints(&self, step: u64, kept: usize) -> Result<(), Error> {
        let folder = self.path().join(CHECKPOINTS);
        let mut steps = BTreeSet::new();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io(&folder)(error)),
        };
        for entry in entries {
            let name = entry.map_err(Error::io(&folder))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(STEP));
            let number = number.and_then(|name| name.strip_suffix(".safetensors"));
            steps.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        let later = steps.split_off(&(step + 1));
        // one is the last state itself
        let most = if kept == 1 { 0 } else { kept };
        let earlier = steps.len().saturating_sub(most);
        for step in steps.into_iter().take(earlier).chain(later) {
            let file = self.numbered(step);
            fs::remove_file(&file).map_err(Error::io(&file))?;
        }
        Ok(())
    }

    /// Adapts the last state to a training that goes on with other settings. It keeps no rate that an observer has set, if
    /// the settings change the rate, and no best evaluation if the best parameters on disk are of a later step: these are of
    /// a training that is given up, and earlier ones are not kept. With `renews_patience` evaluations without improvement are counted anew.
    pub(crate) fn adapt_checkpoint(
        &self,
        mut last: Checkpoint,
        changes_rate: bool,
        renews_patience: bool,
    ) -> Result<(), Error> {
        let mut is_adapted = renews_patience;
        if renews_patience {
            last.stale = 0;
        }
        if let (true, RateChange::Fixed(rate)) = (changes_rate, last.rate) {
            warn!(
                rate,
                "the learning rate that a callback has set is given up for that of the settings"
            );
            last.rate = RateChange::Factor(1.0);
            is_adapted = true;
        }
        let best = self.best_step()?;
        if let Some(best) = best.filter(|best| *best > last.step && last.best.is_some()) {
            warn!(
                step = last.step,
                best,
                "the best evaluation is of a later step than the checkpoint and is given up; the next one is the best so far"
            );
            last.best = None;
            last.stale = 0;
            last.waited = 0;
            is_adapted = true;
        }
        if !is_adapted {
            return Ok(());
        }
        Ok(last.save(&self.path().join(CHECKPOINT), self.space())?)
    }
}
