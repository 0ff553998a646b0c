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
    /// The evaluated runs.
    pub runs: &'a Run,
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
};

/// The files that a report may have.
const FILES: &str = "metrics.json ranks.tsv worst.tsv quantiles.tsv labels.tsv reliability.tsv hits.svg ranks.svg \
                     reliability.svg learning.svg examples.svg report.html";

/// The figures of the page, with their captions.
const FIGURES: [(&str, &str); 4] = [
    ("hits.svg", "Share of queries whose right output is among the first k candidates."),
    ("ranks.svg", "Ranks of the right outputs."),
    (
        "reliability.svg",
        "How often the first candidate is right, by its score and by its gap to the next one.",
    ),
    ("learning.svg", "Loss and validation metric by epochs."),
];

/// Writes the files that book/src/files.md describes. Where ranks carry no information, `ranks.tsv` is the only
/// file about ranks, and `worst.tsv` is about edit distances.
pub fn fill(folder: &Path, evaluated: &Evaluated, metrics: &impl Serialize) -> Result<(), Error> {
    let put = |name: &str, text: &str| {
        write_atomically(&folder.join(name), |file| file.write_all(text.as_bytes()))
    };
    put("metrics.json", &(serde_json::to_string_pretty(metrics)? + "\n"))?;
    let Evaluated { runs, queries, evaluation, .. } = evaluated;
    let Evaluation { scores, golds, outputs, named, .. } = evaluation;
    let candidates = named.as_ref().unwrap_or(&runs.members()[0].candidates);
    let ids = queries.split().query_ids();
    let inputs = &queries.split().inputs;
    let quantiles = runs.quantiles(queries);
    if let Some(first) = quantiles.first() {
        let levels = first.iter().map(|quantile| format!("quantile {}", quantile.level));
        let names = ["query", "number"].map(String::from).into_iter().chain(levels);
        let mut table = Table::new(names, 1);
        for ((id, gold), predicted) in ids.iter().zip(golds).zip(&quantiles) {
            let gold = candidates.find(gold);
            let number = gold.map(|gold| runs.number(candidates, gold)).transpose()?;
            let number = number.map(|number| number.to_string()).unwrap_or_default();
            let values = predicted.iter().map(|predicted| predicted.value.to_string());
            table.push([id.clone(), number].into_iter().chain(values));
        }
        put("quantiles.tsv", &table.tsv())?;
    }
    if let Some(scores) = &scores.quantiles {
        plot::coverage(&folder.join("reliability.svg"), &scores.coverage)?;
    }
    if let Some(first) = evaluated.learning.first() {
        let same = evaluated.learning.iter().filter(|curve| curve.metric == first.metric);
        let curves: Vec<_> = same.cloned().collect();
        plot::learning(&folder.join("learning.svg"), &curves)?;
    }
    if let Some((Truth::Labels(truth), Truth::Labels(predicted))) = outputs {
        let labels = LabelScores::from_sets(truth, predicted)?;
        let rows = labels.iter().map(LabelScores::cells);
        put("labels.tsv", &Table::new(LabelScores::COLUMNS, 1).with(rows).tsv())?;
    }
    let examples = match outputs {
        Some(outputs) => Some(outputs.clone()),
        None => compared_molecules(golds, evaluated.decoded, candidates, EXAMPLES)?,
    };
    let drawn = examples.map(|outputs| drawing(inputs, &outputs, EXAMPLES)).transpose()?;
    if let Some(svg) = drawn.flatten() {
        put("examples.svg", &svg)?;
    }
    let Some((_, ranks)) = evaluated.ranks.first() else { return Ok(()) };
    let rows = query_rows(&ids, golds, evaluated.decoded, candidates)?;
    let edits = evaluation.edit_distances();
    let cells = |query: usize| {
        let distances = edits.iter().flatten().map(move |all| all[query].to_string());
        rows[query].cells().into_iter().chain(distances)
    };
    let distances: &[&str] = if edits.is_some() { &DISTANCES } else { &[] };
    let columns = || QueryRow::COLUMNS.iter().chain(distances).copied();
    put("ranks.tsv", &Table::new(columns(), 1).with((0..rows.len()).map(cells)).tsv())?;
    let worst = match (scores.has_ranks(), edits) {
        (true, _) => worst(ranks, WORST),
        (false, Some([_, distances])) => farthest(distances),
        (false, None) => return Ok(()),
    };

    let mut table = Table::new(["text", "gold_label"].into_iter().chain(columns()), 2);
    for query in worst {
        let gold = candidates.find(&golds[query]);
        let gold = gold.map_or("", |candidate| candidates.label(candidate));
        let text = inputs.texts().map_or_else(|_| String::new(), |texts| texts[query].clone());
        table.push([text, gold.to_owned()].into_iter().chain(cells(query)));
    }
    put("worst.tsv", &table.tsv())?;
    if !scores.has_ranks() {
        return Ok(());
    }

    let bins = reliability(evaluated.decoded, BINS)?;
    let table = Table::new(ReliabilityBin::COLUMNS, 0).with(bins.iter().map(ReliabilityBin::cells));
    put("reliability.tsv", &table.tsv())?;
    plot::reliability(&folder.join("reliability.svg"), [&bins, evaluated.gaps])?;

    let most = MOST.min(candidates.len());
    let mut hits = Vec::new();
    let mut histograms = Vec::new();
    for (name, ranks) in evaluated.ranks {
        hits.push((name.clone(), hits_curve(ranks, most, RESAMPLES, runs.config().seed)?));
        histograms.push((name.clone(), rank_histogram(ranks, PER_DECADE)?));
    }
    plot::hits(&folder.join("hits.svg"), &hits)?;
    plot::ranks(&folder.join("ranks.svg"), &histograms)?;

    let label = |id: &String| candidates.find(id).map_or("", |at| candidates.label(at));
    let texts = inputs.texts().unwrap_or_default();
    let queries = rows.iter().zip(golds).enumerate();
    let queries = queries.map(|(at, (row, gold))| Query {
        text: texts.get(at).map_or("", |text| text),
        gold_label: label(gold),
        row,
    });
    let page = Page {
        title: evaluated.ranks[0].0.clone(),
        subtitle: counts_line("evaluation", scores),
        scores,
        intervals: &|name| evaluated.intervals.get(name).copied(),
        figures: figures(folder)?,
        queries: queries.collect(),
    };
    Ok(put("report.html", &page.html())?)
}

/// The figures that the folder has, as SVG documents.
fn figures(folder: &Path) -> Result<Vec<(&'static str, String)>, Error> {
    let mut figures = Vec::new();
    for (name, caption) in FIGURES {
        let path = folder.join(name);
        if path.exists() {
            figures.push((caption, fs::read_to_string(&path).map_err(FileError::io(&path))?));
        }
    }
    Ok(figures)
}

/// The right and the predicted molecules of the first `count` queries, where labels of candidates are SMILES; none where
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

/// The queries of the largest distances, the largest first.
fn farthest(distances: &[f64]) -> Vec<usize> {
    let mut queries: Vec<usize> = (0..distances.len()).collect();
    queries.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]));
    queries.truncate(WORST);
    queries
}
