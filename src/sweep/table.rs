//! A sweep as tables.

use std::fmt::Write;

use dsokr_basis::store::write_atomically;

use super::Sweep;
use crate::compare::{places, quoted};
use crate::{Error, Metric};

impl Sweep {
    /// A Markdown table: the values of the keys, the metric that chooses with its 95 % interval, and the
    /// run directory, best first.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let arrow = if self.larger_is_better { "↑" } else { "↓" };
        let metric = format!("validation {} {arrow}", self.metric);
        let last = [metric, "95 % interval".to_owned(), "run".to_owned()];
        let mut text = line(self.keys.iter().cloned().chain(last).collect());
        text += &format!("|{}\n", "---|".repeat(self.keys.len() + 3));
        for run in &self.runs {
            let places = run.value.map_or(4, places);
            let value = match (&run.failure, run.value) {
                (Some(_), _) => "failed".to_owned(),
                (None, Some(value)) => format!("{value:.places$}"),
                (None, None) => "not known".to_owned(),
            };
            let interval = run
                .ci95
                .map_or(String::new(), |[low, high]| format!("[{low:.places$}, {high:.places$}]"));
            let last = [value, interval, run.path.display().to_string()];
            text += &line(run.setting.iter().cloned().chain(last).collect());
        }
        text
    }

    /// Comma-separated values: a row for each run, best first, with the values of the keys, all metrics
    /// of the validation split, the interval of the one that chooses, and why it failed.
    pub fn csv(&self) -> String {
        let known =
            |metric: &Metric| self.runs.iter().any(|run| run.metrics.contains_key(metric.name()));
        let metrics: Vec<&str> = Metric::all().filter(known).map(|metric| metric.name()).collect();
        let ends = ["low", "high"].map(|end| format!("{}_{end}", self.metric));
        let mut names: Vec<String> = self.keys.iter().map(|key| quoted(key)).collect();
        names.extend(metrics.iter().map(|metric| (*metric).to_owned()));
        names.extend(ends);
        names.extend(["run", "failure"].map(String::from));
        let mut text = names.join(",") + "\n";
        for run in &self.runs {
            let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
            let mut cells: Vec<String> = run.setting.iter().map(|value| quoted(value)).collect();
            cells.extend(metrics.iter().map(|name| number(run.metrics.get(name).copied())));
            let [low, high] = run.ci95.map_or([None, None], |[low, high]| [Some(low), Some(high)]);
            cells.extend([number(low), number(high)]);
            cells.push(quoted(&run.path.display().to_string()));
            cells.push(quoted(run.failure.as_deref().unwrap_or_default()));
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
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

    use super::super::SweepRun;
    use super::*;

    #[test]
    fn tables_have_every_run() {
        let run = |value: Option<f64>, setting: &str| SweepRun {
            setting: vec![setting.into()],
            path: "runs/s".into(),
            value,
            ci95: value.map(|value| [value - 0.25, value + 0.25]),
            metrics: value.iter().map(|&value| ("mrr", value)).collect::<BTreeMap<_, _>>(),
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
        let markdown = sweep.markdown();
        assert!(
            markdown
                .contains("| a.b | validation mrr ↑ | 95 % interval | run |\n|---|---|---|---|")
        );
        assert!(markdown.contains("| [1, 2] | 0.5000 | [0.2500, 0.7500] | runs/s |"), "{markdown}");
        assert!(markdown.contains("| 3 | failed |  | runs/s |"), "{markdown}");
        assert_eq!(sweep.best().map(|run| &run.setting[0][..]), Some("[1, 2]"));
    }
}
