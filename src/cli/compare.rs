//! `dsokr compare`: metrics of several runs on the same queries, and their differences from the first run.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use dsokr_core::{Argument, Processes};

use crate::cli::output::print;
use crate::cli::plot;
use crate::cli::plot::check_svg;
use crate::cli::queries::QueryArguments;
use crate::error::{Error, ensure};
use crate::metrics::compare::{Compared, EvaluatedRun, Format, RunComparison, compare};
use crate::metrics::evaluation::warn_of_few_groups;
use crate::metrics::metric::RESAMPLES;
use crate::run::Member;
use crate::studies::sweep::{Sweep, compare_folds};

/// Compares runs on the same queries: all metrics with 95 % intervals, and paired differences from
/// the first run.
///
/// Where nothing else is said, the first run's configuration says which queries they are and which candidates each has.
/// Intervals are from a paired bootstrap over queries, or over the groups of data.splits.group; two-sided p-values
/// are from the signs of the differences of queries where a metric is their mean, else from exchanges of the runs' answers.
/// Holm's correction is over the runs of each metric. A directory of an ensemble counts as one run. Folders of cross-validations (dsokr cv)
/// are compared over their parts, by the corrected resampled t-test (Nadeau and Bengio 2003).
#[derive(clap::Args)]
pub struct Arguments {
    /// Run directories, or folders of cross-validations; the others are compared with the first.
    #[arg(required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    queries: QueryArguments,
    /// Names of the runs in the table, in the place of directories.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    labels: Vec<String>,
    /// The format: text, markdown, latex (a tabular for booktabs), csv or json.
    #[arg(long, default_value = "text", conflicts_with = "json", value_parser = formats())]
    format: Format,
    /// Print one JSON object, as --format json does.
    #[arg(long)]
    json: bool,
    /// Draw the first four metrics with their 95 % intervals as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(|(name, _)| name);
    PossibleValuesParser::new(names).map(|chosen| {
        let format = Format::ALL.into_iter().find(|(name, _)| *name == chosen);
        format.map_or(Format::Text, |(_, format)| format)
    })
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    if let Some(file) = &arguments.plot {
        check_svg("plot", file)?;
    }
    let queries = &arguments.queries;
    let count = arguments.runs.len();
    let names: Vec<String> = match arguments.labels.as_slice() {
        [] => arguments.runs.iter().map(|path| path.display().to_string()).collect(),
        labels => {
            let allowed = format!("{count} names, one for each run");
            ensure(labels.len() == count, Argument::new("labels"), labels.join(","), allowed)?;
            labels.to_vec()
        }
    };
    if arguments.runs.iter().any(|run| Sweep::is_in(run)) {
        queries.refuse("absent: cross-validations are compared by the metrics of their parts")?;
        return show(&compare_folds(&arguments.runs, &names)?, arguments);
    }
    let alone = &Processes::default();
    let open = |path| queries.open(alone, std::slice::from_ref(path), None);
    let runs = arguments.runs.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
    let request = queries.request(&runs[0]).with_candidates_of(&runs[0])?;
    let predictions = runs.iter().map(|run| request.predict(alone, run, Member::coordinates));
    let predictions = predictions.collect::<Result<Vec<_>, Error>>()?;
    let mut evaluated = Vec::new();
    let mut caution = None;
    for ((run, predicted), name) in runs.iter().zip(&predictions).zip(names) {
        if caution.is_none() {
            let caution_of_run = match request.split {
                Some(split) => run.caution_about(split),
                None => run.caution_of_learned(predicted)?,
            };
            caution = caution_of_run.map(|caution| format!("{name}: {caution}"));
        }
        let (evaluation, _) = run.evaluate(predicted)?;
        evaluated.push(EvaluatedRun { name, queries: predicted.split().names(), evaluation });
    }
    let comparison = compare(&evaluated, RESAMPLES, runs[0].config().seed)?;
    match comparison.compared {
        Compared::Queries { queries, groups, .. } => warn_of_few_groups(queries, groups),
        Compared::Parts { .. } => {}
    }
    let comparison = RunComparison { caution, ..comparison };
    show(&comparison, arguments)
}

/// Draws a comparison, if that is wanted, and prints it.
fn show(comparison: &RunComparison, arguments: &Arguments) -> Result<(), Error> {
    let drawn = match &arguments.plot {
        Some(file) => plot::comparison(file, comparison),
        None => Ok(()),
    };
    // a comparison that cannot be drawn is shown
    let format = if arguments.json { Format::Json } else { arguments.format };
    print(&comparison.render(format)?)?;
    drawn
}
