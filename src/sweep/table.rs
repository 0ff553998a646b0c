//! A sweep as tables.

use dsokr_basis::store::write_atomically;

use super::{SEED, SeedSpread, Sweep, SweepRun};
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
