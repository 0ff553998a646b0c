//! The tables of a sweep, and those that its folder has already.

use std::path::Path;

use dsokr_basis::store::write_atomically;
use dsokr_data::SplitName;
use serde::Deserialize;

use super::{SEED, SeedSpread, Setting, Sweep, SweepRequest, SweepRun, folder};
use crate::run_dir::{Folder, read_optional};
use crate::sketch::Spread;
use crate::table::{Table, interval, places};
use crate::{Error, Metric};

impl Sweep {
    /// A Markdown table: the values of the keys, the metric that chooses with its 95 % interval, and the run
    /// directory, best first. A second one has every metric over the seeds of each setting, where `seed` is a key.
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
        if self.seeds.is_empty() {
            return runs;
        }
        let row = |SeedSpread { setting, metric, spread, seeds, .. }: &SeedSpread| {
            let Spread { mean, deviation } = spread;
            let places = places(*mean);
            let spread = format!("{mean:.places$} ± {deviation:.places$}");
            let last = [(*metric).to_owned(), spread, seeds.join(", ")];
            setting.iter().cloned().chain(last).collect::<Vec<_>>()
        };
        let names = [format!("{} metric", self.split), "mean ± deviation".into(), "seeds".into()];
        let names = self.keys.iter().filter(|key| *key != SEED).cloned().chain(names);
        let seeds = Table::new(names, self.keys.len()).with(self.seeds.iter().map(row));
        format!("{runs}\n{}", seeds.markdown())
    }

    /// Comma-separated values: a row for each run, best first, with the values of the keys, all metrics of the split, the interval of the one that chooses, and why it failed.
    pub fn csv(&self) -> String {
        let known =
            |metric: &Metric| self.runs.iter().any(|run| run.metrics.contains_key(metric.name()));
        let metrics: Vec<&str> = Metric::all().filter(known).map(|metric| metric.name()).collect();
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
            [("sweep.csv", self.csv()), ("sweep.md", self.markdown()), ("sweep.json", json + "\n")]
        {
            write_atomically(&self.path.join(name), |file| file.write_all(text.as_bytes()))?;
        }
        Ok(())
    }
}

/// What is read of `sweep.json`.
#[derive(Deserialize)]
struct Before {
    keys: Vec<String>,
    runs: Vec<SweepRun>,
}

impl SweepRequest<'_> {
    /// The runs of the folder's table that are not among `settings`, and stay in it. Those that are gone are
    /// left out.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::File`] where the folder has a sweep over other keys or of a different configuration, or a table
    /// that cannot be read.
    pub(super) fn others(
        &self,
        path: &Path,
        settings: &[Setting],
        split: SplitName,
    ) -> Result<Vec<SweepRun>, Error> {
        let file = path.join("sweep.json");
        let refused = |message: String| Error::run(&file, message);
        let Some(text) = read_optional(&file)? else { return Ok(Vec::new()) };
        let before: Before = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        let keys: Vec<&str> = self.axes.iter().map(|axis| axis.key.as_str()).collect();
        if before.keys != keys {
            let (found, given) = (before.keys.join(", "), keys.join(", "));
            let message = format!(
                "the folder has a sweep over {found}, not {given}: choose a different one with the argument out"
            );
            return Err(refused(message));
        }
        let mut others = Vec::new();
        for SweepRun { setting, failure, .. } in before.runs {
            let setting: Setting = before.keys.iter().cloned().zip(setting).collect();
            let out = path.join(folder(&setting));
            if settings.contains(&setting) || !out.exists() {
                continue;
            }
            let config = self.config_of(&setting, split)?;
            if Folder::config(&out)? != config {
                let message = format!(
                    "the folder has a sweep of a different configuration, as {} says: choose a different one \
                     with the argument out",
                    out.join("config.toml").display()
                );
                return Err(refused(message));
            }
            let report = match (Folder::finished(&out)?, failure) {
                (Some(report), _) => Ok(report),
                (None, Some(failure)) => Err(failure),
                (None, None) => continue,
            };
            others.push(SweepRun::of(&setting, out, config.evaluation.metric, report));
        }
        Ok(others)
    }
}
