//! The learning rate of each step.

use std::f64::consts::PI;

use dsokr_core::Error;

use super::decay::Decay;
use super::training::TrainingConfig;

/// The part of the steps after the warm-up in which the decay `wsd` falls, where `cooldown` is left out.
const COOLDOWN: f64 = 0.2;

/// Evaluations without improvement that the decay `plateau` waits for, and what it multiplies the rate by.
const PLATEAU_PATIENCE: usize = 3;
const PLATEAU_FACTOR: f64 = 0.5;

impl TrainingConfig {
    /// Returns the learning rate of step `step` (from 0) of `total`, as a share of the largest: `(step + 1) / warmup` during the
    /// warm-up, then the decay, which would reach the floor at step `total`. `reduced` is the product of the factors by
    /// which evaluations have reduced it.
    pub(crate) fn share_of_rate(&self, step: u64, total: u64, reduced: f64) -> f64 {
        let warmup = self.warmup as u64;
        if step < warmup {
            return (step + 1) as f64 / warmup as f64 * reduced.max(self.floor);
        }
        let steps = total.saturating_sub(warmup).max(1);
        let done = step - warmup;
        let part = done as f64 / steps as f64;
        let share = match self.decay {
            Decay::None | Decay::Plateau => 1.0,
            Decay::Linear => 1.0 - part,
            Decay::Cosine => 0.5 * (1.0 + (PI * part).cos()),
            Decay::Wsd => {
                let cooldown = (self.cooldown.unwrap_or(COOLDOWN) * steps as f64).ceil().max(1.0);
                ((steps - done) as f64 / cooldown).min(1.0)
            }
        };
        let share = self.floor + (1.0 - self.floor) * share;
        (share * reduced).max(self.floor)
    }

    /// Returns the learning rate of a step: see [`share_of_rate`](Self::share_of_rate).
    pub(crate) fn rate(&self, step: u64, total: u64, reduced: f64) -> f64 {
        self.learning_rate * self.share_of_rate(step, total, reduced)
    }

    /// Returns the number of evaluations without improvement after which the rate is multiplied by a factor, and the factor; none
    /// under other decays.
    pub(crate) fn plateau(&self) -> Option<(usize, f64)> {
        let patience = self.plateau_patience.unwrap_or(PLATEAU_PATIENCE);
        let factor = self.plateau_factor.unwrap_or(PLATEAU_FACTOR);
        (self.decay == Decay::Plateau).then_some((patience, factor))
    }

    /// Checks the keys of the schedule.
    pub(super) fn validate_schedule(&self) -> Result<(), Error> {
        let floor = self.floor;
        let allowed = "a number in [0, 1]";
        Error::ensure((0.0..=1.0).contains(&floor), "training.floor", floor, allowed)?;
        if let Some(cooldown) = self.cooldown {
            let key = "training.cooldown";
            let allowed = "left out, unless training.decay is \"wsd\"";
            Error::ensure(self.decay == Decay::Wsd, key, cooldown, allowed)?;
            let holds = cooldown > 0.0 && cooldown <= 1.0;
            Error::ensure(holds, key, cooldown, "a number above 0, at most 1")?;
        }
        let is_plateau = self.decay == Decay::Plateau;
        let allowed = "left out, unless training.decay is \"plateau\"";
        if let Some(patience) = self.plateau_patience {
            Error::ensure(is_plateau, "training.plateau_patience", patience, allowed)?;
        }
        if let Some(factor) = self.plateau_factor {
            let key = "training.plateau_factor";
            Error::ensure(is_plateau, key, factor, allowed)?;
            let holds = factor > 0.0 && factor < 1.0;
            Error::ensure(holds, key, factor, "a number above 0 and below 1")?;
        }
        Ok(())
    }
}
