//! `dsokr evaluate`: ranks queries with their right outputs; `evaluation` shows the metrics.

use std::path::PathBuf;

use crate::config::candidate_rule::CandidateRule;
use crate::config::too_good;
use crate::error::{Error, ensure};
use crate::run::{Member, QueryRequest, Run, SplitUse};
use dsokr_core::{Argument, Processes};
use dsokr_data::SplitName;

use crate::cli::arguments::{BeyondArguments, CombinationArguments};
use crate::cli::evaluation::{EvaluationOutput, QueriedRun};
use crate::cli::queries::QueryArguments;

/// Ranks queries with trained runs and prints the metrics. Several runs are combined as an ensemble.
#[derive(clap::Args)]
#[cfg_attr(
    feature = "mpi",
    doc = "\nmpirun -np P dsokr evaluate RUN divides the candidates among P processes."
)]
pub struct Arguments {
    /// Run directories: of one model, of an ensemble, or several, which are combined as an ensemble.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    queries: QueryArguments,
    #[command(flatten)]
    combine: CombinationArguments,
    #[command(flatten)]
    beyond: BeyondArguments,
    /// Fit the weights of the runs on the validation split.
    #[arg(long, conflicts_with = "weights")]
    fit_weights: bool,
    /// Print the metrics of ranks in the three pools that are published, with 95 % intervals: among all candidates,
    /// among the right outputs of all queries, and among the right output and N others that are drawn at random, 63 if
    /// left out; of these the mean over ten draws.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        default_missing_value = "63",
        conflicts_with_all = ["candidates", "least_candidates", "report", "against", "draw", "edit_distances", "shards", "mces", "ci", "labels", "beyond"],
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pools: Option<u32>,
    #[command(flatten)]
    output: EvaluationOutput,
    /// The folder with the shards of the run's candidates; default: for several processes, shards in the run directory; for
    /// one process, none.
    #[arg(long, value_name = "FOLDER")]
    shards: Option<PathBuf>,
}

pub fn run(processes: &Processes, arguments: &Arguments) -> Result<(), Error> {
    let Arguments { queries, output, .. } = arguments;
    let mut run = queries.open(processes, &arguments.runs, arguments.shards.as_deref())?;
    arguments.combine.apply(&mut run)?;
    run = run.with_beyond(arguments.beyond.beyond.as_ref())?;
    let mut request = queries.request(&run);
    if arguments.pools.is_some() {
        request.candidates = Some(CandidateRule::All);
    }
    if arguments.fit_weights {
        let key = Argument::new("fit-weights");
        ensure(run.members().len() > 1, key, "one model", "several runs, or an ensemble")?;
        let file = None;
        let split = Some(SplitName::Validation);
        let split_use = SplitUse::Weights;
        let validation = QueryRequest { file, split, split_use, ..request.clone() };
        run.fit_weights(&validation.predict(processes, &run, Member::coordinates)?)?;
    }
    let predicted = request.predict(processes, &run, Member::coordinates)?;
    let learned = match &request.file {
        Some(_) if processes.is_first() => run.caution_of_learned(&predicted)?,
        Some(_) | None => None,
    };
    if let Some(others) = arguments.pools {
        if let Some(caution) = learned {
            tracing::warn!("{caution}");
        }
        let pools = run.pools(&predicted, others as usize)?;
        return output.show_pools(&pools);
    }
    let caution = learned.or_else(|| caution(&run, request.split, arguments.fit_weights));
    let queried = QueriedRun {
        processes,
        run: &run,
        folders: &arguments.runs,
        queries: &predicted,
        request: &request,
        arguments: queries,
    };
    output.show(&queried, caution)
}

/// Returns the warning about the metrics of a split of the data on which weights are fitted, or on which a run chooses something;
/// none of a file, and where nothing is chosen.
fn caution(run: &Run, split: Option<SplitName>, fits_weights: bool) -> Option<String> {
    let split = split?;
    if fits_weights && split == SplitName::Validation {
        return Some(too_good("weights of the runs are"));
    }
    run.caution_about(split)
}
