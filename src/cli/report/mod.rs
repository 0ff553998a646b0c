//! The folder that `evaluate --report` writes.

mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dsokr_core::Error as FileError;
use dsokr_core::store::write_atomically;
use dsokr_data::{Structure, Truth};
use dsokr_decode::report::{
    QueryRow, ReliabilityBin, hits_curve, query_rows, rank_histogram, reliability, worst,
};
use dsokr_decode::{Candidates, Decoded, Rank};
use serde::Serialize;

use self::page::{Page, Query};
use crate::cli::plot;
use crate::error::Error;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::labels::LabelScores;
use crate::metrics::metric::RESAMPLES;
use crate::metrics::molecules::{EXAMPLES, are_smiles, drawing};
use crate::metrics::table::Table;
use crate::run::{LearningCurve, OutputFolder, PredictedQueries, Run, counts_line};

/// The largest k of the curve of hits@k.
const MOST: usize = 50;

/// Bins of the histogram between a rank and ten times that rank.
const PER_DECADE: u32 = 4;

/// Bins of scores and of gaps.
pub const BINS: usize = 10;

/// Number of queries in the table of the worst.
const WORST: usize = 20;

/// Names of the columns of edit distances.
const DISTANCES: [&str; 2] = ["ged", "ged_bonds"];

/// The contents of a report.
pub struct Evaluated<'a> {
    /// The evaluated run.
    pub run: &'a Run,
    /// The queries and the predictions for them.
    pub queries: &'a PredictedQueries,
    pub evaluation: &'a Evaluation,
    /// The decoded predictions.
    pub decoded: &'a [Decoded],
    /// Ranks of the golds under each run or ensemble that figures show; the first ones are those of
    /// the report.
    pub ranks: &'a [(String, Vec<Option<Rank>>)],
    /// How often first candidates are right by their gap to the next one.
    pub gaps: &'a [ReliabilityBin],
    /// The learning curves of the runs.
    pub learning: &'a [LearningCurve],
    /// 95 % intervals of metrics, by their names.
    pub intervals: &'a BTreeMap<String, [f64; 2]>,
}

/// The folder of a report.
pub const FOLDER: OutputFolder = OutputFolder {
    argument: "report",
    holds: "an earlier report only",
    is_own: |name| FILES.split_whitespace().any(|written| written == name),
    always: &["metrics.json", "report.html"],
};

/// The files that a report may have.
const FILES: &str = "metrics.json ranks.tsv worst.tsv quantiles.tsv labels.tsv reliability.tsv hits.svg ranks.svg \
                     reliability.svg learning.svg examples.svg report.html";

/// Writes the files that book/src/files.md describes. Where ranks carry no information, `ranks.tsv` is the only
/// file about ranks, and `worst.tsv` is about edit distances.
pub fn fill(folder: &Path, evaluated: &Evaluated, metrics: &impl Serialize) -> Result<(), Error> {
    let files = Files::new(folder, evaluated);
    files.put("metrics.json", &(serde_json::to_string_pretty(metrics)? + "\n"))?;
    files.write_quantiles()?;
    files.draw_learning()?;
    files.write_outputs()?;
    let golds = &evaluated.evaluation.golds;
    let rows = query_rows(&files.ids, golds, evaluated.decoded, files.candidates)?;
    files.write_ranks(&rows)?;
    if evaluated.evaluation.scores.has_ranks() {
        files.write_reliability()?;
        files.draw_ranks()?;
    }
    files.write_page(&rows)
}

/// The files of a report on an evaluation.
struct Files<'a> {
    folder: &'a Path,
    evaluated: &'a Evaluated<'a>,
    /// The candidates that hits are numbers of.
    candidates: &'a Candidates,
    /// The id of each query.
    ids: Vec<String>,
}

impl<'a> Files<'a> {
    fn new(folder: &'a Path, evaluated: &'a Evaluated<'a>) -> Self {
        let named = evaluated.evaluation.named.as_ref();
        let candidates = named.unwrap_or(&evaluated.run.members()[0].candidates);
        let ids = evaluated.queries.split().query_ids();
        Self { folder, evaluated, candidates, ids }
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(write_atomically(&self.folder.join(name), |file| file.write_all(text.as_bytes()))?)
    }

    /// Writes predicted quantiles beside the right numbers, and how many of these each has below it.
    fn write_quantiles(&self) -> Result<(), Error> {
        let Evaluated { run, queries, evaluation, .. } = self.evaluated;
        let quantiles = run.quantiles(queries);
        if let Some(first) = quantiles.first() {
            let levels = first.iter().map(|quantile| format!("quantile {}", quantile.level));
            let names = ["query", "number"].map(String::from).into_iter().chain(levels);
            let mut table = Table::new(names, 1);
            for ((id, gold), predicted) in self.ids.iter().zip(&evaluation.golds).zip(&quantiles) {
                let gold = self.candidates.find(gold);
                let number = gold.map(|gold| run.number(self.candidates, gold)).transpose()?;
                let number = number.map(|number| number.to_string()).unwrap_or_default();
                let values = predicted.iter().map(|predicted| predicted.value.to_string());
                table.push([id.clone(), number].into_iter().chain(values));
            }
            self.put("quantiles.tsv", &table.tsv())?;
        }
        if let Some(scores) = &evaluation.scores.quantiles {
            plot::coverage(&self.folder.join("reliability.svg"), &scores.coverage)?;
        }
        Ok(())
    }

    /// Draws the learning curves of runs with the same metric.
    fn draw_learning(&self) -> Result<(), Error> {
        let learning = self.evaluated.learning;
        let Some(first) = learning.first() else { return Ok(()) };
        let same = learning.iter().filter(|curve| curve.metric == first.metric);
        let curves: Vec<_> = same.cloned().collect();
        plot::learning(&self.folder.join("learning.svg"), &curves)
    }

    /// Writes how well each label is predicted, and draws some molecules or graphs.
    fn write_outputs(&self) -> Result<(), Error> {
        let Evaluated { queries, evaluation, decoded, .. } = self.evaluated;
        let outputs = &evaluation.outputs;
        if let Some((Truth::Labels(truth), Truth::Labels(predicted))) = outputs {
            let labels = LabelScores::from_sets(truth, predicted)?;
            let rows = labels.iter().map(LabelScores::cells);
            self.put("labels.tsv", &Table::new(LabelScores::COLUMNS, 1).with(rows).tsv())?;
        }
        let examples = match outputs {
            Some(outputs) => Some(outputs.clone()),
            None => compared_molecules(&evaluation.golds, decoded, self.candidates, EXAMPLES)?,
        };
        let inputs = &queries.split().inputs;
        if let Some((truth, predicted)) = examples
            && let Some(svg) = drawing(inputs, &truth, &predicted, EXAMPLES)?
        {
            self.put("examples.svg", &svg)?;
        }
        Ok(())
    }

    /// Writes the rank of each query, and the queries with the worst ranks, or else the largest edit distances.
    fn write_ranks(&self, rows: &[QueryRow]) -> Result<(), Error> {
        let Evaluated { queries, evaluation, ranks, .. } = self.evaluated;
        let edits = evaluation.edit_distances();
        let cells = |query: usize| {
            let distances = edits.iter().flatten().map(move |all| all[query].to_string());
            rows[query].cells().into_iter().chain(distances)
        };
        let distances: &[&str] = if edits.is_some() { &DISTANCES } else { &[] };
        let columns = || QueryRow::COLUMNS.iter().chain(distances).copied();
        let table = Table::new(columns(), 1).with((0..rows.len()).map(cells));
        self.put("ranks.tsv", &table.tsv())?;

        let worst = match (evaluation.scores.has_ranks(), edits) {
            (true, _) => worst(&ranks[0].1, WORST),
            (false, Some([_, distances])) => farthest(distances),
            (false, None) => return Ok(()),
        };
        let inputs = &queries.split().inputs;
        let mut table = Table::new(["text", "gold_label"].into_iter().chain(columns()), 2);
        for query in worst {
            let gold = self.label(&evaluation.golds[query]).to_owned();
            let text = inputs.texts().map_or_else(|_| String::new(), |texts| texts[query].clone());
            table.push([text, gold].into_iter().chain(cells(query)));
        }
        self.put("worst.tsv", &table.tsv())
    }

    /// Returns the label of a candidate; empty for an output that is not one.
    fn label(&self, id: &str) -> &'a str {
        self.candidates.find(id).map_or("", |at| self.candidates.label(at))
    }

    /// Writes and draws how often first candidates are right, by their score and by their gap.
    fn write_reliability(&self) -> Result<(), Error> {
        let groups = &self.evaluated.evaluation.groups;
        let bins = reliability(self.evaluated.decoded, groups, BINS)?;
        let rows = bins.iter().map(ReliabilityBin::cells);
        self.put("reliability.tsv", &Table::new(ReliabilityBin::COLUMNS, 0).with(rows).tsv())?;
        plot::reliability(&self.folder.join("reliability.svg"), [&bins, self.evaluated.gaps])
    }

    /// Draws hits@k and the ranks of each run.
    fn draw_ranks(&self) -> Result<(), Error> {
        let most = MOST.min(self.candidates.len());
        let seed = self.evaluated.run.config().seed;
        let groups = &self.evaluated.evaluation.groups;
        let mut hits = Vec::new();
        let mut histograms = Vec::new();
        for (name, ranks) in self.evaluated.ranks {
            hits.push((name.clone(), hits_curve(ranks, most, groups, RESAMPLES, seed)?));
            histograms.push((name.clone(), rank_histogram(ranks, PER_DECADE)?));
        }
        plot::hits(&self.folder.join("hits.svg"), &hits)?;
        plot::ranks(&self.folder.join("ranks.svg"), &histograms)
    }

    /// Writes the page with the figures that the folder has, and with the queries where ranks carry information.
    fn write_page(&self, rows: &[QueryRow]) -> Result<(), Error> {
        let Evaluated { queries, evaluation, ranks, intervals, .. } = self.evaluated;
        let texts = queries.split().inputs.texts().unwrap_or_default();
        let mut queries = Vec::new();
        if evaluation.scores.has_ranks() {
            for (at, (row, gold)) in rows.iter().zip(&evaluation.golds).enumerate() {
                let text = texts.get(at).map_or("", |text| text);
                queries.push(Query { text, gold_label: self.label(gold), row });
            }
        }
        let mut subtitle = counts_line("evaluation", &evaluation.scores);
        match evaluation.group_count() {
            Some(groups) if !intervals.is_empty() => {
                subtitle += &format!("; intervals draw {groups} groups of queries whole");
            }
            Some(1) => subtitle += "; all queries are one group",
            Some(groups) => subtitle += &format!("; the queries are {groups} groups"),
            None => {}
        }
        let page = Page {
            title: ranks[0].0.clone(),
            subtitle,
            scores: &evaluation.scores,
            intervals: &|name| intervals.get(name).copied(),
            figures: figures(self.folder, evaluation.scores.quantiles.is_some())?,
            queries,
        };
        self.put("report.html", &page.html())
    }
}

/// Returns the figures that the folder has, as captions and SVG documents.
fn figures(folder: &Path, predicts_quantiles: bool) -> Result<Vec<(&'static str, String)>, Error> {
    let reliability = if predicts_quantiles {
        "Share of numbers that are at most their predicted quantile, by its level."
    } else {
        "How often the first candidate is right, by its score and by its gap to the next one."
    };
    let captions = [
        ("hits.svg", "Share of queries whose right output is among the first k candidates."),
        ("ranks.svg", "Ranks of the right outputs."),
        ("reliability.svg", reliability),
        ("learning.svg", "Loss and validation metric by epochs."),
    ];
    let mut figures = Vec::new();
    for (name, caption) in captions {
        let path = folder.join(name);
        if path.exists() {
            figures.push((caption, fs::read_to_string(&path).map_err(FileError::io(&path))?));
        }
    }
    Ok(figures)
}

/// Returns the right and the predicted molecules of the first `count` queries, where labels of candidates are SMILES; none where
/// they are not, and where a right output is not a candidate.
///
/// # Errors
/// A label that is not a SMILES.
pub fn compared_molecules(
    golds: &[String],
    decoded: &[Decoded],
    candidates: &Candidates,
    count: usize,
) -> Result<Option<(Truth, Truth)>, Error> {
    if !are_smiles(candidates) {
        return Ok(None);
    }
    let right = golds.iter().take(count).map(|gold| candidates.find(gold));
    let first = decoded.iter().take(count).map(|query| query.hits.first().map(|hit| hit.candidate));
    let truth = |all: Vec<usize>| {
        let molecule = |&at: &usize| Structure::from_label(candidates.label(at));
        all.iter().map(molecule).collect::<Result<Vec<_>, _>>().map(Truth::Molecules)
    };
    let both = right.collect::<Option<Vec<usize>>>().zip(first.collect::<Option<Vec<usize>>>());
    both.map(|(right, first)| Ok((truth(right)?, truth(first)?))).transpose()
}

/// Returns the queries of the largest distances, the largest first.
fn farthest(distances: &[f64]) -> Vec<usize> {
    let mut queries: Vec<usize> = (0..distances.len()).collect();
    queries.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]));
    queries.truncate(WORST);
    queries
}
