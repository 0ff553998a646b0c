use crate::Error;
use crate::decode::Combination::{Max, Mean};
use crate::run::EnsembleRun;

/// How several runs are combined.
#[derive(clap::Args)]
pub struct Combine {
    /// How several runs are combined: mean or max, the mean or the largest of scores; rank, the mean of ranks;
    /// reciprocal-rank, the mean of 1 / (60 + rank). Default: the rule stored in an ensemble's directory, else mean.
    #[arg(long, value_parser = ["mean", "max", "rank", "reciprocal-rank"])]
    combine: Option<String>,
    /// Combine scores without standardising them for each query: for runs with the same kernel.
    #[arg(long, requires = "combine")]
    plain: bool,
    /// Weights of the runs, separated by commas; they sum to 1.
    #[arg(long, value_delimiter = ',')]
    weights: Option<Vec<f64>>,
}

impl Combine {
    /// Gives `runs` the rule that was asked for, if one was.
    pub fn apply(&self, runs: &mut EnsembleRun) -> Result<(), Error> {
        if let Some(name) = &self.combine {
            runs.rule = serde_json::from_value(serde_json::json!({"name": name}))?;
            if let Mean { standardise, .. } | Max { standardise } = &mut runs.rule {
                *standardise = !self.plain;
            }
        }
        if let Some(weights) = &self.weights {
            runs.rule = runs.rule.with_weights(Some(weights.clone()))?;
        }
        Ok(())
    }
}
