//! The training inputs of which each of several processes holds a part.

use dsokr_basis::Features;
use dsokr_basis::features::HeldRows;
use dsokr_core::Processes;
use dsokr_core::processes::Held;
use dsokr_data::Split;

use super::computed::ComputedRows;
use super::rows::MachineRows;
use crate::encoders::inputs::PrepareRows;
use crate::error::Error;

/// The pairs of a split, and which of them this process holds the features of.
pub(super) struct SplitPart<'a> {
    pub split: &'a Split,
    pub held: Held,
    /// The processes that hold the others; this one alone, where it holds all.
    pub processes: Processes,
    /// The held pairs, where these are not all.
    part: Option<Split>,
}

impl<'a> SplitPart<'a> {
    /// Creates the pairs of a split that is divided among processes; `held` is of its pairs, and none where each process
    /// holds all.
    pub(super) fn new(
        split: &'a Split,
        held: Option<Held>,
        processes: &Processes,
    ) -> Result<Self, Error> {
        let Some(held) = held else {
            let held = Held::all(split.ids.len());
            return Ok(Self { split, held, processes: Processes::default(), part: None });
        };
        let rows: Vec<usize> = held.each().collect();
        let part = Some(split.select(&rows)?);
        Ok(Self { split, held, processes: processes.clone(), part })
    }

    /// Returns whether this process holds some of the pairs alone.
    pub(super) fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// Returns the pairs that this process holds.
    pub(super) fn part(&self) -> &Split {
        self.part.as_ref().unwrap_or(self.split)
    }

    /// Returns the rows of one preparation, which are computed when they are read.
    pub(super) fn computed<'r>(
        &'r self,
        prepared: &'r dyn PrepareRows,
    ) -> Result<ComputedRows<'r>, Error> {
        ComputedRows::new(self.split, |split| Ok(prepared.rows(split)?.into_owned()))
    }

    /// Returns all rows as a machine takes them, of which this process holds `rows`; `compute` makes rows of pairs.
    pub(super) fn machine_rows(
        &self,
        rows: MachineRows,
        compute: impl Fn(&Split) -> Result<Features, Error> + Send + Sync + 'a,
    ) -> Result<MachineRows<'a>, Error> {
        let (rows, kernel) = rows.into_features()?;
        let source = ComputedRows::new(self.split, compute)?;
        Ok(MachineRows::Held(HeldRows::new(source, self.held.clone(), rows)?, kernel))
    }
}
