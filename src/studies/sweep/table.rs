//! The tables of a sweep, and those that its folder has already.

use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_data::SplitName;

use super::seeds::SeedSpread;
use super::{SEED, Setting, Sweep, SweepRequest, SweepRun, chooses, folder, repeats, with_keys};
use crate::config::Checked;
use crate::error::Error;
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::metric::Metric;
use crate::metrics::table::{Table, interval, places};
use crate::run_dir::{RunDir, read_json, write_text};

/// The file of a sweep's table.
pub(super) const TABLE: &str = "sweep.json";

impl Sweep {
    /// Returns whether a folder holds the table of a sweep.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(TABLE).exists()
    }

    /// Returns a Markdown table: the values of the keys, the metric that chooses with its 95 % interval, and the run
    /// directory, best first. A second one is that of [`spreads`](Self::spreads).
    pub fn markdown(&self) -> String {
        let arrow = if self.larger_is_better { "↑" } else { "↓" };
        let metric = format!("{} {} {arrow}", self.split, self.metric);
        let names = [metric, "95 % interval".to_owned(), "run".to_owned()];
        let row = |run: &SweepRun| {
            let places = run.value.map_or(4, places);
            let value = match (&run.failure, run.value) {
                (Some(_), _) => "failed".to_owned(),
                (None, Some(value)) => format!("{value:.places$}"),
                (None, None) => "not known".to_owned(),
            };
            let last = [value, interval(run.ci95, places), run.path.display().to_string()];
            run.setting.iter().cloned().chain(last).collect::<Vec<_>>()
        };
        let names = self.keys.iter().cloned().chain(names);
        let runs = Table::new(names, self.keys.len()).with(self.runs.iter().map(row)).markdown();
        if self.seeds.is_empty() { runs } else { format!("{runs}\n{}", self.spreads().markdown()) }
    }

    /// Returns every metric over the runs of each setting that only repeat it: by seeds, and by parts of the pairs.
    pub fn spreads(&self) -> Table {
        let seeds = self.keys.iter().filter(|key| repeats(key)).all(|key| key == SEED);
        let row = |SeedSpread { setting, metric, spread, seeds: runs, .. }: &SeedSpread| {
            let MeanAndDeviation { mean, deviation } = spread;
            let places = places(*mean);
            let spread = format!("{mean:.places$} ± {deviation:.places$}");
            let runs = if seeds { runs.join(", ") } else { runs.len().to_string() };
            let last = [metric.to_string(), spread, runs];
            setting.iter().cloned().chain(last).collect::<Vec<_>>()
        };
        let runs = if seeds { "seeds" } else { "runs" };
        let names = [format!("{} metric", self.split), "mean ± deviation".into(), runs.into()];
        let names = self.keys.iter().filter(|key| !repeats(key)).cloned().chain(names);
        Table::new(names, self.keys.len().max(1)).with(self.seeds.iter().map(row))
    }

    /// Returns comma-separated values: a row for each run, best first, with the values of the keys, all metrics of the split, the interval
    /// of the one that chooses, and why it failed.
    pub fn csv(&self) -> String {
        let is_measured =
            |metric: &Metric| self.runs.iter().any(|run| run.metrics.contains_key(metric.name()));
        let metrics: Vec<&str> =
            Metric::all().filter(is_measured).map(|metric| metric.name()).collect();
        let ends = ["low", "high"].map(|end| format!("{}_{end}", self.metric));
        let names = self.keys.iter().cloned().chain(metrics.iter().map(|&name| name.to_owned()));
        let names = names.chain(ends).chain(["run", "failure"].map(String::from));
        let row = |run: &SweepRun| {
            let ends = run.ci95.map_or([None; 2], |ends| ends.map(Some));
            let numbers = metrics.iter().map(|name| run.metrics.get(*name).copied()).chain(ends);
            let numbers = numbers.map(|value| value.map(|v| v.to_string()).unwrap_or_default());
            let failure = run.failure.clone().unwrap_or_default();
            let cells = run.setting.iter().cloned().chain(numbers);
            cells.chain([run.path.display().to_string(), failure]).collect::<Vec<_>>()
        };
        Table::new(names, self.keys.len()).with(self.runs.iter().map(row)).csv("\n")
    }

    /// Writes the tables into the sweep's folder.
    pub(super) fn write(&self) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(self)?;
        for (name, text) in
            [("sweep.csv", self.csv()), ("sweep.md", self.markdown()), (TABLE, json + "\n")]
        {
            write_text(&self.path.join(name), &text)?;
        }
        Ok(())
    }
}

/// Returns the sweep of a folder, if there is one.
pub(super) fn stored(folder: &Path) -> Result<Option<Sweep>, Error> {
    read_json(&folder.join(TABLE))
}

impl SweepRequest<'_> {
    /// Returns the folders of the runs of settings: of the setting's name, or that of a run of the folder's table with the same
    /// configuration, so that a value in other words is not trained again.
    ///
    /// # Errors
    /// A run whose configuration cannot be read.
    pub(super) fn folders(
        path: &Path,
        before: Option<&Sweep>,
        settings: &[Setting],
        configs: &[Checked],
    ) -> Result<Vec<PathBuf>, Error> {
        let named: Vec<PathBuf> =
            settings.iter().map(|setting| path.join(folder(setting))).collect();
        let mut earlier = Vec::new();
        for run in before.into_iter().flat_map(|before| &before.runs) {
            let out = path.join(run.path.file_name().unwrap_or_default());
            if !named.contains(&out) && out.exists() {
                earlier.push((RunDir::at(&out).config()?, out));
            }
        }
        let place = |(named, config): (PathBuf, &Checked)| match earlier
            .iter()
            .find(|(stored, _)| stored == config)
        {
            Some((_, out)) if !named.exists() => out.clone(),
            Some(_) | None => named,
        };
        Ok(named.into_iter().zip(configs).map(place).collect())
    }

    /// Returns the runs of the folder's table that are not among those of `configs` in `folders`, with the values of all
    /// `keys`. Those that are gone are left out.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] where the folder has a sweep of a different configuration, or evaluated on another split.
    pub(super) fn others(
        &self,
        path: &Path,
        before: Sweep,
        keys: &[String],
        configs: &[Checked],
        folders: &[PathBuf],
        split: SplitName,
    ) -> Result<Vec<SweepRun>, Error> {
        let mut others = Vec::new();
        for SweepRun { setting, failure, seconds, path: run, .. } in before.runs {
            let setting: Setting = before.keys.iter().cloned().zip(setting).collect();
            let out = path.join(run.file_name().unwrap_or_default());
            if !out.exists() {
                continue;
            }
            let is_own = folders.contains(&out);
            let config = self.config_of(&setting, split)?;
            let stored = RunDir::at(&out).config()?;
            if stored != config {
                let stored_split = stored.evaluation.split;
                let is_of_split = self.config_of(&setting, stored_split)? == stored;
                // the training goes on with what may be changed, and refuses the rest
                if is_own && !is_of_split {
                    continue;
                }
                let difference = if is_of_split {
                    format!(
                        "evaluated on the {stored_split} split, and this one is on the {split} split"
                    )
                } else {
                    let file = out.join("config.toml");
                    format!("of a different configuration, as {} says", file.display())
                };
                let mut message = format!(
                    "the folder has a sweep {difference}: choose a different one with {}",
                    Argument::new("out")
                );
                // a sweep that chooses has no other split
                if is_of_split && !chooses(keys) {
                    let set = Argument::new("set").with(format!("evaluation.split={stored_split}"));
                    message += &format!(", or go on with {set}");
                }
                return Err(Error::run(path.join(TABLE), message));
            }
            // one that this sweep has under other keys or with a value in other words
            if is_own || configs.contains(&config) {
                continue;
            }
            let report = match (RunDir::at(&out).report()?, failure) {
                // a run beyond the budget of time has a report, and failed
                (_, Some(failure)) => Err(failure),
                (Some(report), None) => Ok(report),
                (None, None) => {
                    tracing::warn!("the run {} is not complete, and left out", out.display());
                    continue;
                }
            };
            let setting = with_keys(&setting, keys, &config)?;
            let metric = self.config.evaluation.metric;
            let run = SweepRun::from_report(setting, out, metric, report);
            others.push(SweepRun { seconds, ..run });
        }
        Ok(others)
    }
}
