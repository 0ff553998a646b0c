//! The output that `evaluate` and `rank` share: queries are ranked, compared with another run, and shown as text, JSON, a report
//! and drawings.

mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_core::store::write_atomically;
use dsokr_core::{Argument, Processes};
use dsokr_data::{Inputs, Truth};
use dsokr_decode::report::{ReliabilityBin, compare};
use dsokr_decode::{Decoded, Rank};
use serde_json::json;
use tracing::warn;

use self::text::{MemberMetrics, Results, pools_text};
use crate::cli::output::{PROGRAM, print, print_json};
use crate::cli::plot::check_svg;
use crate::cli::queries::QueryArguments;
use crate::cli::report::{self, Evaluated, compared_molecules};
use crate::error::{Error, ensure};
use crate::metrics::compare::{EvaluatedRun, check_compared};
use crate::metrics::evaluation::{Evaluation, connected_groups, warn_of_few_groups};
use crate::metrics::metric::{RESAMPLES, intervals};
use crate::metrics::molecules::{EXAMPLES, drawing};
use crate::metrics::scores::Scores;
use crate::run::{LearningCurve, Member, PoolMetrics, PredictedQueries, QueryRequest, Run};

/// Options for the output of an evaluation.
#[derive(clap::Args)]
pub struct EvaluationOutput {
    /// Compare the molecules of ranked first candidates with the true ones by graph edit distance, where labels of
    /// candidates are SMILES; up to a second a query of large molecules. Features of kind molecules are compared without it.
    #[arg(long)]
    edit_distances: bool,
    /// Names in tables and figures, in the place of directories: one for each run, then one for --against.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    labels: Vec<String>,
    /// Draw true molecules or graphs next to the predicted ones in this SVG file.
    #[arg(long)]
    draw: Option<PathBuf>,
    /// Number of queries to draw, from the first; default: 20, or all where there are fewer.
    #[arg(long, requires = "draw")]
    examples: Option<usize>,
    /// Print 95 % confidence intervals of all metrics, by bootstrap over queries, or over the groups of data.splits.group.
    #[arg(long)]
    ci: bool,
    /// Write a report into this folder: metrics, tables of queries, figures of Hits@k, ranks, the
    /// reliability of scores and learning curves, and drawings of molecules and graphs; book/src/files.md
    /// describes each file. The folder appears as a whole; an earlier report that it holds is replaced.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Compare ranks with those of this run or ensemble on the same queries, among the candidates of the first run's
    /// configuration unless --candidates names others, by a paired bootstrap.
    #[arg(long)]
    against: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The name of a run, and the ranks of the right outputs under it.
type NamedRanks = (String, Vec<Option<Rank>>);

/// The most members that plots show together with their ensemble.
const DRAWN: usize = 5;

/// A run with the queries that it is asked.
pub struct QueriedRun<'a> {
    pub processes: &'a Processes,
    pub run: &'a Run,
    /// The run directories.
    pub folders: &'a [PathBuf],
    /// The queries and the predictions for them.
    pub queries: &'a PredictedQueries,
    pub request: &'a QueryRequest,
    /// The arguments that `request` was made of.
    pub arguments: &'a QueryArguments,
}

/// The names of runs in tables and figures.
struct Names {
    /// One for each run.
    members: Vec<String>,
    /// The name of the run of `--against`.
    against: Option<String>,
}

/// The evaluation of the runs, and what is shown of it.
struct Measured<'a> {
    evaluated: EvaluatedRun<'a>,
    /// The decoded predictions.
    decoded: Vec<Decoded>,
    /// The ranks under each run that figures show, those of the evaluation first.
    ranks: Vec<NamedRanks>,
    results: Results,
}

impl EvaluationOutput {
    /// Ranks the queries, prints the metrics and writes what was asked for. `caution` says why the metrics are too good, or
    /// say less about new queries, if they do.
    pub fn show(&self, queried: &QueriedRun, caution: Option<String>) -> Result<(), Error> {
        self.check_places(queried.processes)?;
        let names = self.names(queried.run)?;
        let mut measured = self.measure(queried, &names, caution)?;
        self.compare_with_other(queried, &names, &mut measured)?;
        self.write_report(queried, &names, &measured)?;
        let Measured { evaluated, results, .. } = measured;
        if self.json {
            return print_json(&results);
        }
        let chance = evaluated.evaluation.chance()?;
        print(&results.text(queried.run, &chance, &self.labels, names.against.as_deref()))
    }

    /// Refuses a report and a drawing that cannot be written, before anything is computed.
    fn check_places(&self, processes: &Processes) -> Result<(), Error> {
        if let Some(folder) = &self.report {
            report::FOLDER.check(folder)?;
        }
        processes.of_first(|| self.draw.as_ref().map_or(Ok(()), |file| check_svg("draw", file)))
    }

    /// Ranks the queries, by all runs and, where there are several, by each of them, and draws and compares molecules.
    fn measure<'a>(
        &self,
        queried: &QueriedRun<'a>,
        names: &Names,
        caution: Option<String>,
    ) -> Result<Measured<'a>, Error> {
        let QueriedRun { run, queries, request, .. } = *queried;
        let (mut evaluation, decoded) = run.evaluate(queries)?;
        if self.against.is_none() {
            evaluation.warn_of_few_groups();
        }
        let first = queried.processes.is_first();
        self.compare_molecules(run, queries, &mut evaluation, &decoded, first)?;
        let has_intervals = self.ci || self.report.is_some();
        if has_intervals && request.file.is_some() {
            let caution = run.caution_of_groups(queries);
            caution.iter().for_each(|caution| warn!("{caution}: intervals may be too short"));
        }
        let mut metrics = evaluation.scores.clone();
        let intervals = if has_intervals {
            intervals(&evaluation, RESAMPLES, run.config().seed)?
        } else {
            BTreeMap::new()
        };
        metrics.ranks.mrr_ci95 = intervals.get("mrr").copied();
        let several = run.members().len() > 1;
        let name = if several { "ensemble".to_owned() } else { names.members[0].clone() };
        let mut ranks = vec![(name.clone(), evaluation.ranks.clone())];
        let members =
            if several { members(run, queries, &names.members, &mut ranks)? } else { Vec::new() };
        let results = Results {
            split: request.split,
            file: request.file.clone(),
            metrics,
            groups: evaluation.group_count(),
            intervals,
            caution,
            members,
            against: None,
        };
        let evaluated = EvaluatedRun { name, queries: queries.split().names(), evaluation };
        Ok(Measured { evaluated, decoded, ranks, results })
    }

    /// Compares the ranks with those of the run of `--against`, if there is one.
    fn compare_with_other(
        &self,
        queried: &QueriedRun,
        names: &Names,
        measured: &mut Measured,
    ) -> Result<(), Error> {
        let (Some(folder), Some(name)) = (&self.against, &names.against) else { return Ok(()) };
        let QueriedRun { processes, run, request, arguments, .. } = *queried;
        let ours = &measured.evaluated;
        check_ranks(folder, ours)?;
        let other = arguments.open(processes, std::slice::from_ref(folder), None)?;
        let request = request.with_candidates_of(run)?;
        let predicted = request.predict(processes, &other, Member::coordinates)?;
        let (evaluation, _) = other.evaluate(&predicted)?;
        let queries = predicted.split().names();
        let theirs = EvaluatedRun { name: name.clone(), queries, evaluation };
        check_ranks(folder, &theirs)?;
        check_compared(Argument::new("against"), ours, &theirs)?;
        let EvaluatedRun { name, evaluation, .. } = theirs;
        let both = [&ours.evaluation, &evaluation];
        let groups = connected_groups(both.into_iter().map(|run| run.groups.as_slice()));
        let seed = run.config().seed;
        let compared =
            compare(&ours.evaluation.ranks, &evaluation.ranks, &groups, RESAMPLES, seed)?;
        warn_of_few_groups(compared.queries, compared.groups);
        measured.results.against = Some(compared);
        measured.ranks.push((name, evaluation.ranks));
        Ok(())
    }

    /// Writes the report, if it is asked for. All processes compute it, and the first one writes it.
    fn write_report(
        &self,
        queried: &QueriedRun,
        names: &Names,
        measured: &Measured,
    ) -> Result<(), Error> {
        let Some(folder) = &self.report else { return Ok(()) };
        let QueriedRun { run, queries, folders, .. } = *queried;
        let Measured { evaluated, decoded, ranks, results } = measured;
        let contents = Evaluated {
            run,
            queries,
            evaluation: &evaluated.evaluation,
            decoded,
            ranks,
            gaps: &gaps(run, queries, &results.metrics)?,
            learning: &self.learning(folders, &names.members)?,
            intervals: &results.intervals,
        };
        if queried.processes.is_first() {
            report::FOLDER.write(folder, |here| report::fill(here, &contents, results))?;
        }
        Ok(())
    }

    /// Prints the metrics in several pools of candidates.
    pub fn show_pools(&self, pools: &[PoolMetrics]) -> Result<(), Error> {
        if self.json { print_json(&json!({"pools": pools})) } else { print(&pools_text(pools)) }
    }

    /// Draws outputs, and compares molecules by edit distances, if either is asked for. Only the `first` process writes.
    fn compare_molecules(
        &self,
        run: &Run,
        queries: &PredictedQueries,
        evaluation: &mut Evaluation,
        decoded: &[Decoded],
        first: bool,
    ) -> Result<(), Error> {
        let named = evaluation.named.as_ref().unwrap_or(&run.members()[0].candidates);
        let molecules = |count| compared_molecules(&evaluation.golds, decoded, named, count);
        if let Some(file) = self.draw.as_ref().filter(|_| first) {
            let examples = self.examples.unwrap_or_else(|| EXAMPLES.min(decoded.len()));
            let drawn = match &evaluation.outputs {
                None => molecules(examples)?,
                outputs => outputs.clone(),
            };
            let inputs = &queries.split().inputs;
            draw(file, examples, decoded.len(), inputs, drawn.as_ref())?;
        }
        if self.edit_distances && evaluation.outputs.is_none() {
            let allowed = "absent: the labels of candidates are not SMILES, or a true output is not a candidate";
            let refused = || Error::value(Argument::new("edit-distances"), true, allowed);
            let outputs = molecules(decoded.len())?.ok_or_else(refused)?;
            evaluation.compare(outputs)?;
        }
        Ok(())
    }

    /// Returns the learning curves of the runs, by the labels that are given.
    fn learning(&self, folders: &[PathBuf], names: &[String]) -> Result<Vec<LearningCurve>, Error> {
        let mut learning = curves(folders)?;
        if !self.labels.is_empty() && learning.len() == names.len() {
            for (curve, name) in learning.iter_mut().zip(names) {
                curve.name.clone_from(name);
            }
        }
        Ok(learning)
    }

    /// Returns the names of the runs, and of the run that they are compared with: the labels that are given, else their own.
    fn names(&self, run: &Run) -> Result<Names, Error> {
        let members = run.members().len();
        let others = usize::from(self.against.is_some());
        let all = members + others;
        let count = self.labels.len();
        let allowed = format_args!("{all} names: {members} of runs, {others} of --against");
        ensure([0, all].contains(&count), Argument::new("labels"), self.labels.join(","), allowed)?;
        if count == 0 {
            let against = self.against.as_ref().map(|other| other.display().to_string());
            return Ok(Names { members: run.names(), against });
        }
        let (of_members, of_other) = self.labels.split_at(members);
        Ok(Names { members: of_members.to_vec(), against: of_other.first().cloned() })
    }
}

/// Refuses a comparison by ranks with the run in a folder where the ranks of one of the two carry no information.
fn check_ranks(folder: &Path, run: &EvaluatedRun) -> Result<(), Error> {
    let program = PROGRAM.as_str();
    let allowed = format_args!(
        "absent: {} has no ranks to compare; `{program} compare` compares all metrics",
        run.name
    );
    let has_ranks = run.evaluation.scores.has_ranks();
    ensure(has_ranks, Argument::new("against"), folder.display(), allowed)
}

/// Returns how often first candidates are right by their gap to the next one, where ranks carry information. All processes rank
/// the candidates for that.
fn gaps(
    run: &Run,
    queries: &PredictedQueries,
    metrics: &Scores,
) -> Result<Vec<ReliabilityBin>, Error> {
    if metrics.has_ranks() { run.gap_reliability(queries, report::BINS) } else { Ok(Vec::new()) }
}

/// Returns the metrics of each member of an ensemble; the ranks under the first ones, which figures show, go to `ranks`.
fn members(
    run: &Run,
    queries: &PredictedQueries,
    names: &[String],
    ranks: &mut Vec<NamedRanks>,
) -> Result<Vec<MemberMetrics>, Error> {
    let mut members = Vec::new();
    for (at, evaluation) in run.evaluate_members(queries)?.into_iter().enumerate() {
        let name = names[at].clone();
        if at < DRAWN {
            ranks.push((name.clone(), evaluation.ranks));
        }
        let weight = run.rule.weights().map(|weights| weights[at]);
        members.push(MemberMetrics { run: name, weight, metrics: evaluation.scores });
    }
    Ok(members)
}

/// Returns the learning curves of all runs; those of one name have their folders before it.
fn curves(folders: &[PathBuf]) -> Result<Vec<LearningCurve>, Error> {
    let mut all = Vec::new();
    for folder in folders {
        all.extend(LearningCurve::read(folder)?.into_iter().map(|curve| (folder, curve)));
    }
    let named = |(folder, curve): &(&PathBuf, LearningCurve)| {
        let name_of_run = &curve.name;
        let only = all.iter().filter(|(_, other)| other.name == *name_of_run).count() == 1;
        let name = match (only, folder.ends_with(name_of_run)) {
            (true, _) => name_of_run.clone(),
            (false, true) => folder.display().to_string(),
            (false, false) => folder.join(name_of_run).display().to_string(),
        };
        LearningCurve { name, ..curve.clone() }
    };
    Ok(all.iter().map(named).collect())
}

/// Draws the first `count` true molecules or graphs next to the predicted ones.
fn draw(
    file: &Path,
    count: usize,
    queries: usize,
    inputs: &Inputs,
    outputs: Option<&(Truth, Truth)>,
) -> Result<(), Error> {
    let allowed = format!("1 to {queries}, the number of queries");
    ensure((1..=queries).contains(&count), Argument::new("examples"), count, allowed)?;
    let drawn = match outputs {
        Some((truth, predicted)) => drawing(inputs, truth, predicted, count)?,
        None => None,
    };
    let Some(svg) = drawn else {
        let allowed = "absent: no true molecules or graphs are known";
        return Err(Error::value(Argument::new("draw"), file.display(), allowed));
    };
    Ok(write_atomically(file, |out| out.write_all(svg.as_bytes()))?)
}
