//! Second looks of runs, and those that members of an ensemble share.

use std::borrow::Cow;
use std::path::Path;

use dsokr_basis::Basis;
use dsokr_decode::{Candidates, SecondLook};

use super::Run;
use crate::Error;
use crate::error::ensure;
use crate::lexicon::read_look;
use crate::run_dir::SECOND_LOOK_PART;
use crate::targets::OutputSpace;

impl Run {
    /// The second look of another member of an ensemble, in the coordinates of this one.
    pub(super) fn second_look_from(
        &self,
        look: &SecondLook,
        other: &Self,
    ) -> Result<SecondLook, Error> {
        let basis =
            |run: &Self| run.space.as_ref().and_then(OutputSpace::basis).map(Basis::fingerprint);
        let (own, name) = (&self.config.name, format!("{:?}", other.config.name));
        let allowed = format_args!("absent: the member {own} has a different basis");
        ensure(basis(self) == basis(other), "ensemble.second_look", name, allowed)?;
        let origin = |run: &'_ Self| -> Vec<f64> {
            let origin = run.space.as_ref().and_then(OutputSpace::origin);
            origin.map_or_else(|| vec![0.0; look.dim()], Cow::into_owned)
        };
        let (ours, theirs) = (origin(self), origin(other));
        let by = |at| (theirs[at] - ours[at]) as f32;
        let look = look.moved(&(0..look.dim()).map(by).collect::<Vec<f32>>())?;
        Ok(look.among(&self.candidates)?)
    }

    /// The second look that has not seen the part of the training pairs that `held-out-part.safetensors` answers.
    pub(super) fn unseen_look(path: &Path) -> Result<SecondLook, Error> {
        read_look(&SecondLook::open(&path.join(SECOND_LOOK_PART))?)
    }

    /// The candidates as they are to the part of the training pairs that `held-out-part.safetensors` answers, of a run with
    /// a second look of its own: hub constants and second look have not seen it.
    pub(super) fn candidates_for_held_out_part(
        &self,
        path: &Path,
    ) -> Result<(Candidates, SecondLook), Error> {
        let look = Self::unseen_look(path)?.among(&self.candidates)?;
        let own = &self.candidates;
        Ok((own.clone().with_hubs_like(own, look.answers())?, look))
    }
}
