use crate::Error;
use crate::decode::Combination;
use crate::run::EnsembleRun;

/// How several runs are combined.
#[derive(clap::Args)]
pub struct Combine {
    /// How several runs are combined; default: the rule stored in an ensemble's directory, else mean.
    #[arg(long)]
    combine: Option<Rule>,
    /// Combine scores without standardising them for each query: for runs with the same kernel.
    #[arg(long, requires = "combine")]
    plain: bool,
    /// Weights of the runs, separated by commas; they sum to 1.
    #[arg(long, value_delimiter = ',')]
    weights: Option<Vec<f64>>,
}

/// How scores or ranks are combined.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Rule {
    /// The mean of scores.
    Mean,
    /// The largest score.
    Max,
    /// The mean of ranks.
    Rank,
    /// The mean of 1 / (60 + rank).
    ReciprocalRank,
}

impl Rule {
    fn combination(self, standardise: bool) -> Combination {
        match self {
            Self::Mean => Combination::Mean { weights: None, standardise },
            Self::Max => Combination::Max { standardise },
            Self::Rank => Combination::Rank { weights: None },
            Self::ReciprocalRank => Combination::ReciprocalRank { weights: None, constant: 60.0 },
        }
    }
}

impl Combine {
    /// Gives `runs` the rule that was asked for, if one was.
    pub fn apply(&self, runs: &mut EnsembleRun) -> Result<(), Error> {
        if let Some(rule) = self.combine {
            runs.rule = rule.combination(!self.plain);
        }
        if let Some(weights) = &self.weights {
            runs.rule = runs.rule.with_weights(Some(weights.clone()))?;
        }
        Ok(())
    }
}
