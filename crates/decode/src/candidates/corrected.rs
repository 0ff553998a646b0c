use super::{Candidates, check_constants};
use crate::Error;
use crate::error::check_len;
use crate::hubs::{Correction, Hubs};

impl Candidates {
    /// With the constants `b(c) − w h(c)`, w = `weight`, in the place of b(c); an earlier correction is
    /// replaced, not added to.
    ///
    /// [`constants`](Self::constants) are then the corrected ones, which all decoding uses, and a file
    /// holds both these and what they are made of.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a weight that is negative or not finite; [`Error::Length`] for hubs
    /// of a different number of rows; [`Error::NotFinite`] for a corrected constant that overflows.
    pub fn with_hubs(self, hubs: Hubs, weight: f32) -> Result<Self, Error> {
        if !(weight >= 0.0 && weight.is_finite()) {
            let found = format!("hub weight {weight}");
            return Err(Error::out_of_range(found, "finite numbers from 0"));
        }
        check_len("hub means", hubs.means().len(), self.distinct())?;
        let mut candidates = self.without_hubs();
        let before = candidates.constants;
        let correction = Correction { hubs, weight, before };
        candidates.constants = correction.constants();
        check_constants(&candidates.constants)?;
        candidates.correction = Some(correction);
        Ok(candidates)
    }

    /// With the constants b(c) as they were before any correction.
    pub fn without_hubs(mut self) -> Self {
        if let Some(correction) = self.correction.take() {
            self.constants = correction.before;
        }
        self
    }

    /// The hubs that the constants are corrected for, and the weight w.
    pub fn hubs(&self) -> Option<(&Hubs, f32)> {
        self.correction.as_ref().map(|correction| (&correction.hubs, correction.weight))
    }
}
