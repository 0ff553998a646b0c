use std::path::PathBuf;

use dsokr::device::Processor;
use dsokr::run::{EnsembleRun, SearchAnswer};
use dsokr::{Error, PredictedOutput};
use serde::Serialize;

use crate::{print, print_json};

/// Ranks the candidates for one text.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory of a model or an ensemble.
    run: PathBuf,
    /// The query, a text.
    text: String,
    /// Number of candidates to show.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found<'a> {
    query: &'a str,
    /// The predicted quantiles, if outputs are numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quantiles: Vec<Quantile>,
    /// The best of all outputs, where the configuration searches them.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<PredictedOutput>,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Serialize)]
struct Quantile {
    level: f64,
    value: f32,
}

#[derive(Serialize)]
struct Candidate<'a> {
    rank: usize,
    id: &'a str,
    label: &'a str,
    score: f32,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let device = arguments.device.open()?;
    let run: EnsembleRun = EnsembleRun::open(std::slice::from_ref(&arguments.run), &device)?;
    let SearchAnswer { hits, exact, quantiles } = run.search(&arguments.text, arguments.top)?;
    let known = &run.members()[0].candidates;
    let candidates = hits.iter().enumerate().map(|(i, hit)| Candidate {
        rank: i + 1,
        id: known.id(hit.candidate),
        label: known.label(hit.candidate),
        score: hit.score,
    });
    let quantiles = quantiles.into_iter().flat_map(|q| q.levels.into_iter().zip(q.values));
    let quantiles = quantiles.map(|(level, value)| Quantile { level, value }).collect();
    let candidates = candidates.collect();
    let found = Found { query: &arguments.text, quantiles, exact, candidates };
    if arguments.json {
        return print_json(&found);
    }
    let width = found.candidates.iter().map(|c| c.id.chars().count()).max().unwrap_or(0).max(2);
    let mut text = String::new();
    for Quantile { level, value } in &found.quantiles {
        text += &format!("{:>14}  {value}\n", format!("quantile {level}"));
    }
    text += &format!("{:>4} {:>8}  {:<width$}  label\n", "rank", "score", "id");
    if let Some(PredictedOutput { label, score }) = &found.exact {
        text += &format!("{:>4} {score:>8.4}  {:<width$}  {label}\n", "all", "");
    }
    for c in &found.candidates {
        text += &format!("{:>4} {:>8.4}  {:<width$}  {}\n", c.rank, c.score, c.id, c.label);
    }
    print(&text)
}
