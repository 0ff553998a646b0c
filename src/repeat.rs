//! One configuration trained with several seeds.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use dsokr_basis::store::write_atomically;
use dsokr_train::Observer;
use serde::Serialize;
use tracing::info;

use crate::sketch::Spread;
use crate::table::places;
use crate::{Error, Metric, Request, Trained};

/// The most seeds of one request.
const MOST: usize = 10_000;

/// Seeds as the command line names them: `0..5` is 0 to 4, `0..=5` is 0 to 5, `1,2,7` are these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

impl Seeds {
    /// The seeds, each once, at least one.
    pub fn values(&self) -> &[u64] {
        &self.0
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: allowed is 0..5 (0 to 4), 0..=5 or distinct seeds 1,2,7");
        let seed = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let seeds: Vec<u64> = match text.split_once("..") {
            Some((first, last)) => {
                let first = seed(first)?;
                let end = match last.strip_prefix('=') {
                    Some(last) => seed(last)?.checked_add(1).ok_or_else(wrong)?,
                    None => seed(last)?,
                };
                (first..end).take(MOST + 1).collect()
            }
            None => text.split(',').map(seed).collect::<Result<_, _>>()?,
        };
        let distinct = (1..seeds.len()).all(|at| !seeds[..at].contains(&seeds[at]));
        match seeds.len() {
            1..=MOST if distinct => Ok(Self(seeds)),
            _ => Err(wrong()),
        }
    }
}

/// Runs of one configuration with several seeds.
#[derive(Serialize)]
pub struct Repeats {
    /// The folder of the runs, which also holds this summary as `seeds.json`.
    pub path: PathBuf,
    /// The evaluated split.
    pub split: String,
    /// The runs, in the order of the seeds.
    pub runs: Vec<SeedRun>,
    /// Every metric that all runs have.
    pub metrics: Vec<MetricSpread>,
}

/// A run of a seed.
#[derive(Serialize)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// The run directory.
    pub path: PathBuf,
}

/// A metric over several runs.
#[derive(Serialize)]
pub struct MetricSpread {
    /// Its name.
    pub metric: &'static str,
    /// Mean and standard deviation over the runs.
    #[serde(flatten)]
    pub spread: Spread,
    /// The value of each run.
    pub values: Vec<f64>,
}

impl Request<'_> {
    /// Trains one run for each seed in the folder `seed-N` of the run directory (default:
    /// `runs/NAME-seeds`), and summarises their metrics on the evaluated split. Everything random
    /// depends on the seed, also the rows of the splits where `[data]` draws them.
    ///
    /// With [`resume`](Self::resume), finished runs are kept as they are.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn repeat(&self, seeds: &Seeds, observer: &mut dyn Observer) -> Result<Repeats, Error> {
        let default = || PathBuf::from("runs").join(format!("{}-seeds", self.config.name));
        let path = self.out.clone().unwrap_or_else(default);
        if path.exists() && !self.resume {
            return Err(Error::RunExists { path });
        }
        let mut trained = Vec::new();
        for &seed in seeds.values() {
            info!("seed {seed}");
            let config = self.config.with_seed(seed)?;
            let out = Some(path.join(format!("seed-{seed}")));
            let request = Request { config: &config, out, resume: true, ..self.clone() };
            trained.push((seed, request.run(observer)?));
        }
        let repeats = Repeats::of(path, self.config.evaluation.split.to_string(), trained);
        let json =
            serde_json::to_string_pretty(&repeats).map_err(|e| Error::Serialise(e.to_string()))?;
        write_atomically(&repeats.path.join("seeds.json"), |out| writeln!(out, "{json}"))?;
        Ok(repeats)
    }
}

impl Repeats {
    fn of(path: PathBuf, split: String, trained: Vec<(u64, Trained)>) -> Self {
        let spread = |metric: Metric| {
            let values = trained.iter().map(|(_, run)| metric.known(&run.report.metrics));
            let values = values.collect::<Option<Vec<f64>>>()?;
            Some(MetricSpread { metric: metric.name(), spread: Spread::of(&values), values })
        };
        let metrics = Metric::all().filter_map(spread).collect();
        let run = |(seed, run): (u64, Trained)| SeedRun { seed, path: run.path };
        Self { path, split, metrics, runs: trained.into_iter().map(run).collect() }
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let seeds: Vec<String> = self.runs.iter().map(|run| run.seed.to_string()).collect();
        writeln!(
            out,
            "{}: mean ± standard deviation over seeds {}\n",
            self.split,
            seeds.join(", ")
        )?;
        let width = self.metrics.iter().map(|own| own.metric.len()).max().unwrap_or_default();
        for MetricSpread { metric, spread: Spread { mean, deviation }, .. } in &self.metrics {
            let places = places(*mean);
            writeln!(out, "{metric:<width$}  {mean:.places$} ± {deviation:.places$}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_ranges_or_lists() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.0);
        assert_eq!(seeds("0..5"), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(seeds("2..=4"), Ok(vec![2, 3, 4]));
        assert_eq!(seeds("7, 3"), Ok(vec![7, 3]));
        for wrong in ["", "5..5", "a", "1,1", "-1", "0..99999999999", "0..=18446744073709551615"] {
            assert!(seeds(wrong).unwrap_err().contains(&format!("{wrong:?}")), "{wrong}");
        }
    }
}
