//! The checkpoints of a training, and going on from one of them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;

use dsokr_core::store::write_atomically;
use dsokr_train::{Checkpoint, RateChange};
use tracing::warn;

use super::{CHECKPOINT, CHECKPOINTS, RunDir};
use crate::error::Error;

/// What precedes the step in the names of checkpoints that are kept beside the last one.
const STEP: &str = "step-";

impl RunDir {
    /// Whether there is a state to resume from.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.path().join(CHECKPOINT).exists()
    }

    /// The last state, if there is one.
    pub(crate) fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Error> {
        if !self.has_checkpoint() {
            return Ok(None);
        }
        Ok(Some(Checkpoint::load(&self.path().join(CHECKPOINT), self.space())?))
    }

    /// Writes the last state, and a file with the name of its step too where more than one is `kept`. The last ones of these
    /// stay, and none of a later step.
    pub(super) fn save_checkpoint(
        &self,
        checkpoint: &Checkpoint,
        kept: usize,
    ) -> Result<(), Error> {
        let last = self.path().join(CHECKPOINT);
        checkpoint.save(&last, self.space())?;
        let folder = self.path().join(CHECKPOINTS);
        let named = |step: u64| folder.join(format!("{STEP}{step}.safetensors"));
        let mut steps = BTreeSet::new();
        for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let name = entry.map_err(Error::io(&folder))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(STEP));
            let number = number.and_then(|name| name.strip_suffix(".safetensors"));
            steps.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        let remove = |step: u64| fs::remove_file(named(step)).map_err(Error::io(&named(step)));
        for later in steps.split_off(&checkpoint.step) {
            remove(later)?;
        }
        let before = kept.saturating_sub(1);
        while steps.len() > before {
            let Some(first) = steps.pop_first() else { break };
            remove(first)?;
        }
        if kept == 1 {
            return Ok(());
        }
        // a file of its own: whoever copies a checkpoint over the last one does not change it
        Ok(write_atomically(&named(checkpoint.step), |copy| {
            io::copy(&mut File::open(&last)?, copy).map(drop)
        })?)
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
