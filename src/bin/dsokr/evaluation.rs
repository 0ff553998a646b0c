//! What `evaluate` and `rank` share: which queries are ranked, and what is shown of their ranks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr::basis::Ranks;
use dsokr::basis::store::write_atomically;
use dsokr::data::config::OnBadRow;
use dsokr::data::{Inputs, Split, SplitName, Truth};
use dsokr::decode::Rank;
use dsokr::decode::report::{Comparison, Difference, compare};
use dsokr::device::Processor;
use dsokr::run::{EnsembleRun, LearningCurve, QueryAnswers, Run, check_output, tables};
use dsokr::{EXAMPLES, Error, Evaluation, Metric, RESAMPLES, Scores, drawing, intervals};
use serde::Serialize;

use crate::report::{self, Evaluated};
use crate::{print, print_json};

/// Which queries are ranked, among which candidates.
#[derive(clap::Args)]
pub struct Queries {
    /// A table of queries, with columns for id and text as in the run's configuration; default: a
    /// split of the run's data.
    #[arg(long)]
    queries: Option<PathBuf>,
    /// The split of the run's data: validation or test; default: evaluation.split of its configuration.
    #[arg(long, conflicts_with = "queries", value_parser = split)]
    split: Option<SplitName>,
    /// The column of --queries that names the query of each row; rows of one query are its right outputs.
    #[arg(long, requires = "queries")]
    query_id: Option<String>,
    /// Leave the outputs that training pairs give the same query, or the same text where queries have no
    /// ids, out of its candidates.
    #[arg(long)]
    filter_known: bool,
    /// JSON lines {"query": id, "candidates": [id, …]}: the candidates of each query. Default: for a
    /// split, evaluation.candidates of the configuration, if given; else all candidates.
    #[arg(long)]
    candidates: Option<PathBuf>,
    /// The data root; default: the folder of the data that each run was trained on, else the
    /// environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// What happens at rows of tables that cannot be read: stop or skip; default: what each run's
    /// configuration says.
    #[arg(long)]
    on_bad_row: Option<OnBadRow>,
}

/// What is shown of an evaluation.
#[derive(clap::Args)]
pub struct Shown {
    /// Draw true molecules or graphs beside the predicted ones in this SVG file.
    #[arg(long)]
    draw: Option<PathBuf>,
    /// Number of queries to draw, from the first.
    #[arg(long, default_value_t = EXAMPLES, requires = "draw")]
    examples: usize,
    /// Print 95 % confidence intervals of all metrics, by bootstrap over queries.
    #[arg(long)]
    ci: bool,
    /// Write a report into this folder: metrics, tables of queries, figures of Hits@k, ranks, the
    /// reliability of scores and learning curves, and drawings of molecules and graphs; book/src/files.md
    /// describes each file. The folder appears as a whole; an earlier report that it holds is replaced.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Compare with this run or ensemble on the same queries, by a paired bootstrap.
    #[arg(long)]
    against: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Found {
    /// The split of the run's data, if queries are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<SplitName>,
    /// The file of queries, if they come from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(flatten)]
    metrics: Scores,
    /// 95 % intervals of all metrics, with `--ci`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    intervals: BTreeMap<String, [f64; 2]>,
    /// Each run alone, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<Own>,
    /// The run compared with `--against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Comparison>,
}

#[derive(Serialize)]
struct Own {
    run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    #[serde(flatten)]
    metrics: Scores,
}

/// The most members that figures show beside their ensemble.
const DRAWN: usize = 5;

/// Ranks of the gold candidates under a run or an ensemble, with its name.
type NamedRanks = (String, Vec<Option<Rank>>);

fn split(text: &str) -> Result<SplitName, String> {
    match text {
        "validation" => Ok(SplitName::Validation),
        "test" => Ok(SplitName::Test),
        other => Err(format!("{other:?} is neither \"validation\" nor \"test\"")),
    }
}

/// The requested queries.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    File(&'a Path),
    Split(SplitName),
}

impl std::fmt::Display for Wanted<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(out),
            Self::Split(name) => name.fmt(out),
        }
    }
}

impl Queries {
    /// Runs that read the queries.
    pub fn apply(&self, runs: EnsembleRun) -> Result<EnsembleRun, Error> {
        match self.on_bad_row {
            Some(on_bad_row) => runs.on_bad_row(on_bad_row),
            None => Ok(runs),
        }
    }

    /// The queries that the command names, else the split that the configuration evaluates.
    pub fn wanted(&self, runs: &EnsembleRun) -> Wanted<'_> {
        match &self.queries {
            Some(file) => Wanted::File(file),
            None => Wanted::Split(self.split.unwrap_or(runs.config().evaluation.split)),
        }
    }

    /// The predictions of every run for the queries.
    pub fn ask(&self, runs: &EnsembleRun, wanted: Wanted) -> Result<QueryAnswers, Error> {
        self.ask_with(runs, wanted, Run::coordinates)
    }

    /// The same with the coordinates that `predict` gives.
    pub fn ask_with(
        &self,
        runs: &EnsembleRun,
        wanted: Wanted,
        predict: impl Fn(&Run, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        let data = self.data.as_deref();
        let read = |run: &Run| {
            let split = match wanted {
                Wanted::File(file) => run.read_queries(file, self.query_id.as_deref(), data)?,
                Wanted::Split(name) => run.read_split(name, data)?,
            };
            let known = match self.filter_known {
                true => run.known_outputs(&split, data)?,
                false => Vec::new(),
            };
            Ok(Split { known, ..split })
        };
        let lists = match (&self.candidates, wanted) {
            (Some(file), _) => Some(file.clone()),
            (None, Wanted::Split(_)) => runs.members()[0].candidate_lists(data)?,
            (None, Wanted::File(_)) => None,
        };
        runs.ask_with(read, lists.as_deref(), predict)
    }
}

impl Shown {
    /// Ranks the queries, prints the metrics and writes what was asked for. `folders` are the run
    /// directories.
    pub fn show(
        &self,
        (runs, folders): (&EnsembleRun, &[PathBuf]),
        asked: &QueryAnswers,
        (queries, wanted): (&Queries, Wanted),
        device: Processor,
    ) -> Result<(), Error> {
        if let Some(folder) = &self.report {
            report::FOLDER.check(folder)?;
        }
        if let Some(file) = &self.draw {
            check_output("--draw", file)?;
        }
        let (found, decoded) = runs.evaluate(asked)?;
        let first = Ranks::current().is_first();
        if let Some(file) = self.draw.as_ref().filter(|_| first) {
            draw(file, self.examples, &asked.split().inputs, found.outputs.as_ref())?;
        }
        let mut between = BTreeMap::new();
        let mut metrics = found.scores.clone();
        if self.ci || self.report.is_some() {
            between = intervals(&found, RESAMPLES, runs.config().seed)?;
            metrics.ranks.mrr_ci95 = between.get("mrr").copied();
        }
        let chance = found.chance()?;
        let (members, mut drawn) =
            if runs.members().len() > 1 { each(runs, asked)? } else { Default::default() };
        drawn.truncate(DRAWN);
        let seed = runs.config().seed;
        let against = match &self.against {
            Some(name) => {
                let other = EnsembleRun::open(std::slice::from_ref(name), &device.open()?)?;
                let (theirs, _) = other.evaluate(&queries.ask(&other, wanted)?)?;
                let comparison = compare(&found.ranks, &theirs.ranks, RESAMPLES, seed)?;
                drawn.push((name.display().to_string(), theirs.ranks));
                Some(comparison)
            }
            None => None,
        };
        let distances = found.edit_distances().map(|both| both.map(<[f64]>::to_vec));
        let (golds, outputs, named) = (found.golds, found.outputs, found.named);
        let name = if members.is_empty() { runs.names()[0].clone() } else { "ensemble".into() };
        let ranks: Vec<NamedRanks> = [(name, found.ranks)].into_iter().chain(drawn).collect();
        let (split, file) = match wanted {
            Wanted::Split(name) => (Some(name), None),
            Wanted::File(file) => (None, Some(file.to_path_buf())),
        };
        let found = Found { split, file, metrics, intervals: between, members, against };
        if let Some(folder) = self.report.as_ref().filter(|_| first) {
            let candidates = named.as_ref().unwrap_or(&runs.members()[0].candidates);
            let (split, resamples) = (asked.split(), RESAMPLES);
            let (decoded, ranks, golds) = (&decoded, &ranks, &golds);
            let learning = curves(folders)?;
            let quantiles = runs.quantiles(asked);
            let quantiles = quantiles.as_ref();
            let evaluated = Evaluated {
                split,
                decoded,
                golds,
                scores: &found.metrics,
                ranks,
                learning: &learning,
                outputs: outputs.as_ref(),
                distances: distances.as_ref(),
                candidates,
                quantiles,
                resamples,
                seed,
            };
            report::write(folder, &evaluated, &found)?;
        }
        if self.json {
            return print_json(&found);
        }
        let Found { metrics, intervals, members, against, .. } = &found;
        let mut rows: Vec<(&str, &Scores)> =
            members.iter().map(|own| (own.run.as_str(), &own.metrics)).collect();
        rows.push((if members.is_empty() { "model" } else { "ensemble" }, metrics));
        rows.push(("chance", &chance));
        let mut text = tables::counts(&wanted.to_string(), metrics);
        text += "\n";
        text += &tables::metrics(&rows);
        if let Some(weights) = runs.rule.weights() {
            let weights: Vec<String> =
                weights.iter().map(|weight| format!("{weight:.3}")).collect();
            text += &format!("\n{} with weights {}\n", runs.rule.name(), weights.join(", "));
        }
        let ranked = metrics.has_ranks();
        text += if intervals.is_empty() { "" } else { "\n" };
        for metric in Metric::all() {
            let known = metric.known(metrics).zip(intervals.get(metric.name()));
            if let Some((value, [low, high])) = known {
                let title = metric.title();
                text += &format!("{title} {value:.4}, 95 % interval [{low:.4}, {high:.4}]\n");
            }
        }
        if let (true, Some(other), Some(found)) = (ranked, &self.against, against) {
            text += &format!(
                "\ndifference from {}, 95 % intervals of a paired bootstrap:\n",
                other.display()
            );
            for (name, difference) in
                [("MRR", found.mrr), ("Hits@1", found.hits_1), ("Hits@10", found.hits_10)]
            {
                let Difference { difference, ci95: [low, high], first_better, .. } = difference;
                text += &format!(
                    "{name:<8} {difference:+.4} [{low:+.4}, {high:+.4}], better in {:.1} % of resamples\n",
                    100.0 * first_better
                );
            }
        }
        print(&text)
    }
}

/// The learning curves of all runs; those of one name have their folders before it.
fn curves(folders: &[PathBuf]) -> Result<Vec<(String, LearningCurve)>, Error> {
    let mut all = Vec::new();
    for folder in folders {
        all.extend(LearningCurve::read(folder)?.into_iter().map(|own| (folder, own)));
    }
    let of_one_name = |name: &String| all.iter().filter(|(_, (own, _))| own == name).count() > 1;
    let named = |(folder, (name, curve)): &(&PathBuf, (String, LearningCurve))| {
        let name = match of_one_name(name) {
            true if folder.ends_with(name) => folder.display().to_string(),
            true => folder.join(name).display().to_string(),
            false => name.clone(),
        };
        (name, curve.clone())
    };
    Ok(all.iter().map(named).collect())
}

/// The metrics of each run alone, and its ranks.
fn each(runs: &EnsembleRun, asked: &QueryAnswers) -> Result<(Vec<Own>, Vec<NamedRanks>), Error> {
    let own = |(at, evaluation): (usize, Evaluation)| {
        let weight = runs.rule.weights().map(|weights| weights[at]);
        let (run, metrics) = (runs.names()[at].clone(), evaluation.scores);
        (Own { run: run.clone(), weight, metrics }, (run, evaluation.ranks))
    };
    Ok(runs.evaluate_members(asked)?.into_iter().enumerate().map(own).unzip())
}

/// Draws the first `count` true molecules or graphs beside the predicted ones.
fn draw(
    file: &Path,
    count: usize,
    inputs: &Inputs,
    outputs: Option<&(Truth, Truth)>,
) -> Result<(), Error> {
    let wrong = |key: &str, found: String, allowed: String| {
        Err(Error::Value { key: key.into(), found, allowed })
    };
    let drawn = outputs.map(|outputs| drawing(inputs, outputs, count)).transpose()?.flatten();
    let (Some(svg), Some((truth, _))) = (drawn, outputs) else {
        let allowed = "absent: no true molecules or graphs are known".into();
        return wrong("--draw", file.display().to_string(), allowed);
    };
    if !(1..=truth.len()).contains(&count) {
        let allowed = format!("1 to {}, the number of queries", truth.len());
        return wrong("--examples", count.to_string(), allowed);
    }
    Ok(write_atomically(file, |out| out.write_all(svg.as_bytes()))?)
}
