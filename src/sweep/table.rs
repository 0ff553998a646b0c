//! A sweep as tables.

use dsokr_basis::store::write_atomically;

use super::{Sweep, SweepRun};
use crate::table::{Table, interval, places};
use crate::{Error, Metric};

impl Sweep {
    /// A Markdown table: the values of the keys, the metric that chooses with its 95 % interval, and the
    /// run directory, best first.
    pub fn markdown(&self) -> String {
        let arrow = if self.larger_is_better { "↑" } else { "↓" };
        let metric = format!("validation {} {arrow}", self.metric);
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
        Table::new(names, self.keys.len()).with(self.runs.iter().map(row)).markdown()
    }

    /// Comma-separated values: a row for each run, best first, with the values of the keys, all metrics
    /// of the validation split, the interval of the one that chooses, and why it failed.
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
        let json =
            serde_json::to_string_pretty(self).map_err(|e| Error::Serialise(e.to_string()))?;
        for (name, text) in
            [("sweep.csv", self.csv()), ("sweep.md", self.markdown()), ("sweep.json", json + "\n")]
        {
            write_atomically(&self.path.join(name), |file| file.write_all(text.as_bytes()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn tables_have_every_run() {
        let run = |value: Option<f64>, setting: &str| SweepRun {
            setting: vec![setting.into()],
            path: "runs/s".into(),
            value,
            ci95: value.map(|value| [value - 0.25, value + 0.25]),
            metrics: value
                .iter()
                .map(|&value| ("mrr".to_owned(), value))
                .collect::<BTreeMap<_, _>>(),
            failure: value.is_none().then(|| "step 3, loss".into()),
        };
        let sweep = Sweep {
            path: "runs".into(),
            metric: "mrr".into(),
            larger_is_better: true,
            keys: vec!["a.b".into()],
            runs: vec![run(Some(0.5), "[1, 2]"), run(None, "3")],
        };
        let expected = "a.b,mrr,mrr_low,mrr_high,run,failure\n\"[1, 2]\",0.5,0.25,0.75,runs/s,\n\
                        3,,,,runs/s,\"step 3, loss\"\n";
        assert_eq!(sweep.csv(), expected);
        let markdown = "| a.b | validation mrr ↑ | 95 % interval | run |\n|---|---|---|---|\n\
                        | [1, 2] | 0.5000 | [0.2500, 0.7500] | runs/s |\n| 3 | failed |  | runs/s |\n";
        assert_eq!(sweep.markdown(), markdown);
        assert_eq!(sweep.best().map(|run| &run.setting[0][..]), Some("[1, 2]"));
    }
}
