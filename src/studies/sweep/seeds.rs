//! Metrics over runs that differ in their seeds, or in the parts that are held out, only.

use serde::{Deserialize, Serialize};

use super::{SweepRun, repeats};
use crate::metrics::metric::Metric;
use crate::studies::sketch::Spread;

/// A metric of the runs that differ in their seeds, or in the parts that are held out, only. Those that failed are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedSpread {
    /// The values of the other keys, in their order.
    pub setting: Vec<String>,
    /// The metric.
    pub metric: Metric,
    /// Mean and standard deviation over these runs.
    #[serde(flatten)]
    pub spread: Spread,
    /// The seeds, ascending; of parts `SEED:PART`.
    pub seeds: Vec<String>,
    /// The value of each run.
    pub values: Vec<f64>,
}

/// Every metric that all runs of a setting have, the keys that only repeat it left out.
pub(super) fn over_seeds(keys: &[String], runs: &[SweepRun]) -> Vec<SeedSpread> {
    let part = |run: &SweepRun, repeated: bool| -> Vec<String> {
        let kept = keys.iter().zip(&run.setting).filter(|(key, _)| repeats(key) == repeated);
        kept.map(|(_, value)| value.clone()).collect()
    };
    if !keys.iter().any(|key| repeats(key)) {
        return Vec::new();
    }
    let mut groups: Vec<(Vec<String>, Vec<&SweepRun>)> = Vec::new();
    let mut runs: Vec<&SweepRun> = runs.iter().filter(|run| run.failure.is_none()).collect();
    let number = |text: &String| text.parse().unwrap_or(u64::MAX);
    runs.sort_by_key(|run| part(run, true).iter().map(number).collect::<Vec<u64>>());
    for run in runs {
        let setting = part(run, false);
        match groups.iter_mut().find(|(grouped, _)| *grouped == setting) {
            Some((_, group)) => group.push(run),
            None => groups.push((setting, vec![run])),
        }
    }
    let spreads = groups.iter().flat_map(|(setting, runs)| {
        Metric::all().filter_map(move |metric| {
            let values = runs.iter().map(|run| run.metrics.get(metric.name()).copied());
            let values = values.collect::<Option<Vec<f64>>>()?;
            let seeds = runs.iter().map(|run| part(run, true).join(":")).collect();
            let setting = setting.clone();
            let spread = Spread::from_values(&values);
            Some(SeedSpread { setting, metric, spread, seeds, values })
        })
    });
    spreads.collect()
}
