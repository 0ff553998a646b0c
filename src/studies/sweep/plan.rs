//! What a sweep is to train, and what its folder has already.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dsokr_core::random::hash;
use dsokr_data::SplitName;
use tracing::info;

use super::axis::Setting;
use super::measured::MeasuredRuns;
use super::table::stored;
use super::{SweepRequest, SweepRun, chooses, title, with_keys};
use crate::config::Checked;
use crate::error::Error;
use crate::run_dir::RunDir;

/// The settings of a sweep, and the runs that it has so far.
pub(super) struct Plan {
    /// The folder of the runs.
    pub path: PathBuf,
    /// The split that the runs are evaluated on.
    pub split: SplitName,
    /// The keys that differ.
    pub keys: Vec<String>,
    /// What is trained, in this order.
    pub planned: Vec<PlannedRun>,
    /// The rows of the folder's table before the sweep.
    pub before: StoredRows,
    /// The complete runs of these settings that the folder's table has, as they are there: a budget may not reach them.
    pub earlier: Vec<SweepRun>,
    /// The runs of the folder's table that are of other settings, and behind them those of the settings so far.
    pub runs: Vec<SweepRun>,
    /// What all runs are measured on.
    pub measured: MeasuredRuns,
    /// How long the trainings of this sweep take.
    pub times: TrainingTimes,
}

/// A setting with its configuration and its run directory.
pub(super) struct PlannedRun {
    pub setting: Setting,
    pub config: Checked,
    pub out: PathBuf,
}

/// The rows of a folder's table.
pub(super) struct StoredRows(Vec<SweepRun>);

impl StoredRows {
    /// Returns the row of a run directory, which the table may name in other words.
    fn listed(&self, out: &Path) -> Option<&SweepRun> {
        self.0.iter().find(|run| run.path.file_name() == out.file_name())
    }

    /// Returns the seconds that a complete run took: a kill may have come before the table was written, but the log is there.
    pub fn seconds(&self, out: &Path) -> Result<Option<f64>, Error> {
        match self.listed(out).and_then(|run| run.seconds) {
            Some(seconds) => Ok(Some(seconds)),
            None => Ok(Some(RunDir::at(out).logged_seconds()?).filter(|&seconds| seconds > 0.0)),
        }
    }
}

/// The number of the trainings of a sweep, and the time that they took together.
#[derive(Default)]
pub(super) struct TrainingTimes {
    trained: u32,
    took: Duration,
}

impl TrainingTimes {
    /// Adds the time of a training.
    pub fn add(&mut self, elapsed: Duration) {
        self.trained += 1;
        self.took += elapsed;
    }

    /// Returns the mean time of a training; 0 before the first one.
    pub fn mean(&self) -> Duration {
        self.took.checked_div(self.trained).unwrap_or_default()
    }
}

impl SweepRequest<'_> {
    /// Returns the plan for some settings in a folder, with what an earlier sweep has left there.
    ///
    /// # Errors
    /// Settings that are not valid; a folder with a sweep of a different configuration; runs that are measured on other queries
    /// or candidates than others, whose files have changed.
    pub(super) fn plan(&self, path: PathBuf, settings: Vec<Setting>) -> Result<Plan, Error> {
        let before = stored(&path)?;
        let keys = self.keys(before.as_ref().map_or(&[], |before| &before.keys));
        let split =
            if chooses(&keys) { SplitName::Validation } else { self.config.evaluation.split };
        let (settings, configs) = self.distinct(settings, split)?;
        let folders = Self::folders(&path, before.as_ref(), &settings, &configs)?;
        let rows: Vec<SweepRun> = before.iter().flat_map(|before| &before.runs).cloned().collect();
        let rows = StoredRows(rows);
        let runs = match before {
            Some(before) => self.others(&path, before, &keys, &configs, &folders, split)?,
            None => Vec::new(),
        };
        let planned = settings.into_iter().zip(configs).zip(folders);
        let planned = planned.map(|((setting, config), out)| PlannedRun { setting, config, out });
        let planned: Vec<PlannedRun> = planned.collect();
        let mut measured = MeasuredRuns::default();
        for run in &runs {
            measured.add(&run.path, &RunDir::at(&run.path).config()?)?;
        }
        for run in &planned {
            measured.add(&run.out, &run.config)?;
        }
        let mut earlier = Vec::new();
        for run in &planned {
            earlier.extend(self.earlier(run, &rows, &keys)?);
        }
        let times = TrainingTimes::default();
        Ok(Plan { path, split, keys, planned, before: rows, earlier, runs, measured, times })
    }

    /// Returns the complete run of a setting that the folder's table has; none where there is none.
    fn earlier(
        &self,
        planned: &PlannedRun,
        rows: &StoredRows,
        keys: &[String],
    ) -> Result<Option<SweepRun>, Error> {
        let PlannedRun { setting, config, out } = planned;
        if let Some(row) = rows.listed(out)
            && let Some(report) = RunDir::at(out).report()?
        {
            let setting = with_keys(setting, keys, config)?;
            let seconds = rows.seconds(out)?;
            let report = row.failure.clone().map_or(Ok(report), Err);
            let metric = self.config.evaluation.metric;
            let run = SweepRun::from_report(setting, out.clone(), metric, report);
            return Ok(Some(SweepRun { seconds, ..run }));
        }
        Ok(None)
    }

    /// Returns the keys of an earlier sweep, and behind them the further keys of this one.
    fn keys(&self, earlier: &[String]) -> Vec<String> {
        let mut keys = earlier.to_vec();
        for axis in self.axes {
            if !keys.contains(&axis.key) {
                keys.push(axis.key.clone());
            }
        }
        keys
    }

    /// Returns the settings with their configurations, each once: `0.5` and `5e-1` are one value.
    fn distinct(
        &self,
        settings: Vec<Setting>,
        split: SplitName,
    ) -> Result<(Vec<Setting>, Vec<Checked>), Error> {
        let mut seen = BTreeSet::new();
        let mut distinct = Vec::new();
        for setting in settings {
            let config = self.config_of(&setting, split)?;
            if seen.insert(hash(config.to_toml()?.as_bytes())) {
                distinct.push((setting, config));
            } else {
                info!("{} is an earlier setting in other words, and left out", title(&setting));
            }
        }
        Ok(distinct.into_iter().unzip())
    }
}
