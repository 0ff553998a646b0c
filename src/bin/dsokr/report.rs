//! What `evaluate --report` writes into a folder.

use std::fmt::Write;
use std::path::Path;

use dsokr::basis::store::write_atomically;
use dsokr::data::{Inputs, Split, Truth};
use dsokr::decode::report::{
    QueryRow, ReliabilityBin, hits_curve, query_rows, rank_histogram, reliability, worst,
};
use dsokr::decode::{Candidates, Decoded, Rank};
use dsokr::run::{LearningCurve, is_run, tables};
use dsokr::{Error, LabelScores, Quantiles, Scores};

use crate::plot::{self, Figures, Format};

/// The largest k of the curve of hits@k.
const MOST: usize = 50;

/// Bins of the histogram between a rank and ten times that rank.
const PER_DECADE: u32 = 4;

/// Bins of scores.
const BINS: usize = 10;

/// Number of queries in the table of the worst.
const WORST: usize = 20;

/// The contents of a report.
pub struct Evaluated<'a> {
    /// The queries.
    pub split: &'a Split,
    /// The decoded predictions.
    pub decoded: &'a [Decoded],
    /// The right output of each query that counts, by id.
    pub golds: &'a [String],
    /// The metrics.
    pub scores: &'a Scores,
    /// Ranks of these outputs under each run or ensemble that figures show; the first ones are those of
    /// the report.
    pub ranks: &'a [(String, Vec<Option<Rank>>)],
    /// The learning curves of the runs.
    pub learning: &'a [(String, LearningCurve)],
    /// The true and the predicted outputs, where they are compared.
    pub outputs: Option<&'a (Truth, Truth)>,
    /// The candidates.
    pub candidates: &'a Candidates,
    /// The predicted quantiles, if outputs are numbers.
    pub quantiles: Option<&'a Quantiles>,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Its seed.
    pub seed: u64,
    /// File formats of the figures.
    pub figures: &'a [Format],
}

/// Refuses a run directory, whose files a report would replace.
///
/// # Errors
/// [`Error::Value`] of `key`.
pub fn check_folder(key: &str, folder: &Path) -> Result<(), Error> {
    match is_run(folder) {
        false => Ok(()),
        true => {
            let allowed =
                "a place outside of run directories: a report would replace files of the run";
            Err(Error::value(key, folder.display(), allowed))
        }
    }
}

/// Writes the files that book/src/files.md describes. Where ranks carry no information, `ranks.tsv`
/// alone is written of those about ranks.
pub fn write(
    folder: &Path,
    found: &Evaluated,
    metrics: &impl serde::Serialize,
) -> Result<(), Error> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Io { path: folder.into(), message: e.to_string() })?;
    let put = |name: &str, text: &str| {
        write_atomically(&folder.join(name), |file| file.write_all(text.as_bytes()))
    };
    let json =
        serde_json::to_string_pretty(metrics).map_err(|e| Error::Serialise(e.to_string()))?;
    put("metrics.json", &format!("{json}\n"))?;
    let (ids, golds) = (found.split.query_ids(), found.golds);
    let to = Figures { folder, formats: found.figures };
    if let Some(quantiles) = found.quantiles {
        put("quantiles.tsv", &predicted(quantiles, (&ids, golds), found.candidates))?;
    }
    if let Some(scores) = &found.scores.quantiles {
        plot::coverage(to, &scores.coverage)?;
    }
    if let Some((_, first)) = found.learning.first() {
        let same = |(_, curve): &&(String, LearningCurve)| curve.metric == first.metric;
        let curves: Vec<_> = found.learning.iter().filter(same).cloned().collect();
        plot::learning(to, &curves)?;
    }
    if let Some((Truth::Labels(truth), Truth::Labels(predicted))) = found.outputs {
        let mut table = LabelScores::COLUMNS.join("\t") + "\n";
        let labels = LabelScores::of(truth, predicted)?;
        labels.iter().for_each(|label| table += &line(&label.cells()));
        put("labels.tsv", &table)?;
    }
    let Some((_, ranks)) = found.ranks.first() else { return Ok(()) };
    let rows = query_rows(&ids, golds, found.decoded, found.candidates)?;
    let mut table = QueryRow::COLUMNS.join("\t") + "\n";
    rows.iter().for_each(|row| table += &line(&row.cells()));
    put("ranks.tsv", &table)?;
    if !found.scores.has_ranks() {
        return Ok(());
    }

    let mut table = String::from("text\tgold_label\t") + &QueryRow::COLUMNS.join("\t") + "\n";
    for query in worst(ranks, WORST) {
        let gold = found.candidates.find(&golds[query]);
        let gold = gold.map_or("", |candidate| found.candidates.label(candidate));
        let text = match &found.split.inputs {
            Inputs::Texts(texts) => texts[query].clone(),
            Inputs::Vectors(_) | Inputs::Kernels(_) => String::new(),
        };
        let own = [text, gold.to_owned()];
        let cells: Vec<String> = own.into_iter().chain(rows[query].cells()).collect();
        table += &line(&cells);
    }
    put("worst.tsv", &table)?;

    let bins = reliability(found.decoded, BINS)?;
    let mut table = ReliabilityBin::COLUMNS.join("\t") + "\n";
    bins.iter().for_each(|bin| table += &line(&bin.cells()));
    put("reliability.tsv", &table)?;
    plot::reliability(to, &bins)?;

    let most = MOST.min(found.candidates.len());
    let (mut hits, mut histograms) = (Vec::new(), Vec::new());
    for (name, ranks) in found.ranks {
        hits.push((name.clone(), hits_curve(ranks, most, found.resamples, found.seed)?));
        histograms.push((name.clone(), rank_histogram(ranks, PER_DECADE)?));
    }
    plot::hits(to, &hits)?;
    plot::ranks(to, &histograms)
}

/// The quantiles of each query, and its true number if it is known.
fn predicted(
    quantiles: &Quantiles,
    (ids, golds): (&[String], &[String]),
    candidates: &Candidates,
) -> String {
    let levels = quantiles.levels.iter().map(|level| format!("quantile {level}"));
    let names = ["query", "number"].map(String::from).into_iter().chain(levels);
    let mut table = line(&names.collect::<Vec<_>>());
    let values = quantiles.values.chunks(quantiles.levels.len());
    for ((id, gold), values) in ids.iter().zip(golds).zip(values) {
        let gold = candidates.find(gold);
        let number = gold.map(|gold| quantiles.number(candidates, gold).to_string());
        let own = [id.clone(), number.unwrap_or_default()];
        let values = values.iter().map(f32::to_string);
        table += &line(&own.into_iter().chain(values).collect::<Vec<_>>());
    }
    table
}

/// A row of a table whose cells hold neither tabs nor line breaks.
pub fn line(cells: &[String]) -> String {
    let mut line = String::new();
    for (at, cell) in cells.iter().enumerate() {
        let between = if at == 0 { "" } else { "\t" };
        // writing to a string cannot fail
        let _ = write!(line, "{between}{}", tables::cell(cell));
    }
    line + "\n"
}
