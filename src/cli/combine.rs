use crate::Error;
use crate::config::BeyondConfig;
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

/// The search beyond the candidates.
#[derive(Default, clap::Args)]
pub struct Beyond {
    /// Search molecules that are no candidates, from the best candidates by moves: settings as in the table
    /// decoding.beyond, such as --beyond=beam=20,rounds=4 or --beyond='formula="first"'; those that are left out have
    /// their defaults. Default: what the run's configuration says.
    #[arg(
        long,
        value_name = "SETTINGS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = |text: &str| text.parse::<BeyondConfig>()
    )]
    beyond: Option<BeyondConfig>,
}

impl Beyond {
    /// The run with the search that was asked for, if one was.
    pub fn apply(&self, runs: EnsembleRun) -> Result<EnsembleRun, Error> {
        match &self.beyond {
            Some(settings) => runs.with_beyond(settings),
            None => Ok(runs),
        }
    }
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
