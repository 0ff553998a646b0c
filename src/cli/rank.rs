//! `dsokr rank`: as `evaluate`, with coordinates that a different program has predicted.

use std::path::PathBuf;

use dsokr_core::{Argument, Processes};
use dsokr_data::Split;

use crate::cli::evaluation::{EvaluationOutput, QueriedRun};
use crate::cli::queries::QueryArguments;
use crate::error::{Error, ensure};
use crate::run::Member;

/// Ranks queries with coordinates that were made elsewhere, and prints the metrics as evaluate does.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory of one model, whose candidates are ranked.
    #[arg(long)]
    run: PathBuf,
    /// The coordinates: a matrix of numbers, .npy or .safetensors, a row a query and a column a coordinate
    /// of the run.
    #[arg(long)]
    predictions: PathBuf,
    #[command(flatten)]
    queries: QueryArguments,
    #[command(flatten)]
    output: EvaluationOutput,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let processes = &Processes::default();
    let folders = std::slice::from_ref(&arguments.run);
    let run = arguments.queries.open(processes, folders, None)?;
    let value = format!("{}, an ensemble", arguments.run.display());
    let allowed = "the run of one model, or one of its members/";
    ensure(run.members().len() <= 1, Argument::new("run"), value, allowed)?;
    let file = &arguments.predictions;
    let request = arguments.queries.request(&run);
    let predict =
        |member: &Member, split: &Split| member.read_coordinates(file, split.inputs.len());
    let predicted = request.predict(processes, &run, predict)?;
    let queried = QueriedRun {
        processes,
        run: &run,
        folders,
        queries: &predicted,
        request: &request,
        arguments: &arguments.queries,
    };
    arguments.output.show(&queried, None)
}
