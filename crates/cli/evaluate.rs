use std::path::{Path, PathBuf};

use dsokr_basis::store::write_atomically;
use dsokr_decode::{Metrics, PerQuery, Pool, bootstrap};
use dsokr_train::config::SplitName;
use dsokr_train::data::{DataRoot, Truth, read_queries, read_split};
use dsokr_train::device::Processor;
use dsokr_train::run::{Run, tables};
use dsokr_train::{Error, Evaluation, drawing};

use crate::{print, print_json};

/// Ranks queries with a trained run and prints the metrics.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory.
    run: PathBuf,
    /// A table of queries with the run's columns of id and text; by default a split of the run's
    /// own data.
    #[arg(long)]
    queries: Option<PathBuf>,
    /// The split of the run's own data; by default the one that the configuration names.
    #[arg(long, conflicts_with = "queries", value_parser = split)]
    split: Option<SplitName>,
    /// JSON lines {"query": id, "candidates": [id, …]}: each query against its own candidates. By
    /// default the lists that the configuration names, for its own splits; else all candidates.
    #[arg(long)]
    candidates: Option<PathBuf>,
    /// The data root; by default the variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Draw true molecules beside the predicted ones, into this SVG file.
    #[arg(long)]
    draw: Option<PathBuf>,
    /// How many to draw, the first of the queries.
    #[arg(long, default_value_t = 20, requires = "draw")]
    examples: usize,
    /// 95 % confidence interval of the MRR, by bootstrap over queries.
    #[arg(long)]
    ci: bool,
    /// Where the model is computed: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

const RESAMPLES: usize = 10_000;

fn split(text: &str) -> Result<SplitName, String> {
    match text {
        "validation" => Ok(SplitName::Validation),
        "test" => Ok(SplitName::Test),
        other => Err(format!("{other:?} is neither \"validation\" nor \"test\"")),
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let run: Run = Run::open_on(&arguments.run, &arguments.device.open()?)?;
    let data = &run.config.data;
    let root = || DataRoot::find(&data.folder, None, arguments.data.as_deref());
    let (queries, name) = match &arguments.queries {
        Some(file) => {
            let vectors = if data.inputs.is_some() { Some(root()?) } else { None };
            (read_queries(file, &run.config, vectors.as_ref())?, file.display().to_string())
        }
        None => {
            let name = arguments.split.unwrap_or(run.config.evaluation.split);
            (read_split(&run.config, name, &root()?)?, name.to_string())
        }
    };
    let lists = match (&arguments.candidates, &run.config.evaluation.candidates) {
        (Some(file), _) => Some(PerQuery::read(file, &queries.ids, &run.candidates)?),
        (None, Some(file)) if arguments.queries.is_none() => {
            Some(PerQuery::read(&root()?.file(file), &queries.ids, &run.candidates)?)
        }
        _ => None,
    };
    let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
    let Evaluation { scores: mut metrics, ranks, outputs } = run.evaluate(&queries, pool)?;
    if let Some(file) = &arguments.draw {
        draw(file, arguments.examples, outputs.as_ref())?;
    }
    if arguments.ci {
        let intervals = bootstrap(&ranks, RESAMPLES, run.config.seed)?;
        metrics.ranks = metrics.ranks.with_intervals(&intervals);
    }
    if arguments.json {
        return print_json(&metrics);
    }
    let chance = Metrics::chance(&ranks, metrics.candidates, metrics.duplicate_candidates)?.into();
    let mut text = tables::counts(&name, &metrics);
    text += "\n";
    text += &tables::metrics(&[("model", &metrics), ("chance", &chance)]);
    if let Some([low, high]) = metrics.mrr_ci95 {
        text += &format!("\nMRR {:.4}, 95 % interval [{low:.4}, {high:.4}]\n", metrics.mrr);
    }
    print(&text)
}

/// Draws the first `count` true molecules beside the predicted ones.
fn draw(file: &Path, count: usize, outputs: Option<&(Truth, Truth)>) -> Result<(), Error> {
    let wrong = |key: &str, found: String, allowed: String| {
        Err(Error::Value { key: key.into(), found, allowed })
    };
    let Some((Truth::Molecules(truth), Truth::Molecules(predicted))) = outputs else {
        let allowed = "left out: no true molecules are known".into();
        return wrong("--draw", file.display().to_string(), allowed);
    };
    match (truth.get(..count), predicted.get(..count)) {
        (Some(truth), Some(predicted)) if count > 0 => {
            let svg = drawing(truth, predicted)?;
            Ok(write_atomically(file, |out| out.write_all(svg.as_bytes()))?)
        }
        _ => {
            let allowed = format!("1 to {}, the number of queries", truth.len());
            wrong("--examples", count.to_string(), allowed)
        }
    }
}
