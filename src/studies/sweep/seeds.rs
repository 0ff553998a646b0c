//! Metrics over runs that differ in their seeds, or in the parts that are held out, only.

use serde::{Deserialize, Serialize};

use super::{SweepRun, repeats};
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::metric::Metric;

/// A metric of the runs that differ in their seeds, or in the parts that are held out, only. Those that failed are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedSpread {
    /// The values of the other keys, in their order.
    pub setting: Vec<String>,
    /// The metric.
    pub metric: Metric,
    /// Mean and standard deviation over these runs.
    #[serde(flatten)]
    pub spread: MeanAndDeviation,
    /// The seeds, ascending; of parts `SEED:PART`.
    pub seeds: Vec<String>,
    /// The value of each run.
    pub values: Vec<f64>,
}

/// The values of the keys that only repeat a setting, in the order of the keys, each as a number and as it is written.
pub(super) type Repeat = Vec<(u64, String)>;

/// Returns the values of the keys of a run that only repeat its setting.
pub(super) fn repeat_of(keys: &[String], run: &SweepRun) -> Repeat {
    let repeating = keys.iter().zip(&run.setting).filter(|(key, _)| repeats(key));
    repeating.map(|(_, value)| (value.parse().unwrap_or(u64::MAX), value.clone())).collect()
}

/// Returns the values of the other keys of a run.
pub(super) fn setting_of(keys: &[String], run: &SweepRun) -> Vec<String> {
    let others = keys.iter().zip(&run.setting).filter(|(key, _)| !repeats(key));
    others.map(|(_, value)| value.clone()).collect()
}

/// Returns the seed of a run, of parts `SEED:PART`.
pub(super) fn name(repeat: &[(u64, String)]) -> String {
    // a run that did not set one of the keys has no value of it
    let given = repeat.iter().map(|(_, value)| value.as_str()).filter(|value| !value.is_empty());
    given.collect::<Vec<_>>().join(":")
}

/// Returns every metric that all runs of a setting have, the keys that only repeat it left out.
pub(super) fn over_seeds(keys: &[String], runs: &[SweepRun]) -> Vec<SeedSpread> {
    if !keys.iter().any(|key| repeats(key)) {
        return Vec::new();
    }
    let mut groups: Vec<(Vec<String>, Vec<&SweepRun>)> = Vec::new();
    let mut runs: Vec<&SweepRun> = runs.iter().filter(|run| run.failure.is_none()).collect();
    runs.sort_by_key(|run| repeat_of(keys, run));
    for run in runs {
        let setting = setting_of(keys, run);
        match groups.iter_mut().find(|(grouped, _)| *grouped == setting) {
            Some((_, group)) => group.push(run),
            None => groups.push((setting, vec![run])),
        }
    }
    let spreads = groups.iter().flat_map(|(setting, runs)| {
        Metric::all().filter_map(move |metric| {
            let values = runs.iter().map(|run| run.metrics.get(metric.name()).copied());
            let values = values.collect::<Option<Vec<f64>>>()?;
            let seeds = runs.iter().map(|run| name(&repeat_of(keys, run))).collect();
            let setting = setting.clone();
            let spread = MeanAndDeviation::from_values(&values);
            Some(SeedSpread { setting, metric, spread, seeds, values })
        })
    });
    spreads.collect()
}
