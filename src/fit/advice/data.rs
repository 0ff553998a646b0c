//! Advice on the data: what splits share, and inputs and outputs that look wrong.

use std::collections::{BTreeSet, HashSet};

use dsokr_basis::features::Block;
use dsokr_data::Split;
use dsokr_data::config::OutputFeatures;

use super::Findings;
use crate::error::Error;

/// Ids that a line names.
const NAMED: usize = 5;

/// Rows of a feature file that are looked at.
const LOOKED_AT: usize = 1_000;

/// The splits with their names, training first.
fn splits<'a>(findings: &Findings<'a>) -> Vec<(&'static str, &'a Split)> {
    let dataset = &findings.problem.dataset;
    let test = dataset.test.as_ref().map(|test| ("test", test));
    [("training", &dataset.train), ("validation", &dataset.validation)]
        .into_iter()
        .chain(test)
        .collect()
}

fn texts(split: &Split) -> &[String] {
    split.inputs.texts().unwrap_or_default()
}

/// The first ids, and how many more there are.
fn named(ids: &[&str]) -> String {
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    ids[..ids.len().min(NAMED)].join(", ") + &more
}

/// Pairs, else texts, else outputs of the held-out splits that are training ones too.
pub(super) fn shared_between_splits(findings: &Findings) -> Result<Option<String>, Error> {
    let splits = splits(findings);
    let Some(((_, train), held_out)) = splits.split_first() else { return Ok(None) };
    let pairs: HashSet<(&str, &str)> = pairs(train).collect();
    let known_texts: HashSet<&str> = texts(train).iter().map(String::as_str).collect();
    let outputs: HashSet<&str> = train.ids.iter().map(String::as_str).collect();
    // label sets, classes, rankings and numbers are few, and occur again by nature
    let repeated = matches!(
        findings.problem.config.output.features,
        OutputFeatures::Labels(_)
            | OutputFeatures::Classes(_)
            | OutputFeatures::Rankings(_)
            | OutputFeatures::Numbers(_)
    );
    let mut lines = Vec::new();
    for (name, split) in held_out {
        let texts = texts(split);
        let names = |shared: &dyn Fn(usize) -> bool| -> Vec<&str> {
            let shared = (0..split.ids.len()).filter(|&row| shared(row));
            shared.map(|row| split.names()[row].as_str()).collect()
        };
        let text = |row: usize| texts.get(row).map(String::as_str);
        let pair = |row: usize| Some((split.ids[row].as_str(), text(row)?));
        let kinds: [(&str, Vec<&str>); 3] = [
            ("pairs", names(&|row| pair(row).is_some_and(|pair| pairs.contains(&pair)))),
            ("texts", names(&|row| text(row).is_some_and(|text| known_texts.contains(text)))),
            ("outputs", names(&|row| !repeated && outputs.contains(split.ids[row].as_str()))),
        ];
        if let Some((kind, ids)) = kinds.into_iter().find(|(_, ids)| !ids.is_empty()) {
            let count = ids.len();
            let all = split.ids.len();
            let ids = named(&ids);
            lines.push(format!("{count} of {all} {name} {kind} are training {kind} too ({ids})"));
        }
    }
    let warning = ": the metrics say less about new ones";
    Ok((!lines.is_empty()).then(|| lines.join("; ") + warning))
}

fn pairs(split: &Split) -> impl Iterator<Item = (&str, &str)> {
    split.ids.iter().map(String::as_str).zip(texts(split).iter().map(String::as_str))
}

pub(super) fn empty_texts(findings: &Findings) -> Result<Option<String>, Error> {
    let lines = splits(findings).into_iter().filter_map(|(name, split)| {
        let empty = split.ids.iter().zip(texts(split)).filter(|(_, text)| text.trim().is_empty());
        let ids: Vec<&str> = empty.map(|(id, _)| id.as_str()).collect();
        let count = ids.len();
        (count > 0).then(|| format!("{count} {name} texts are empty ({})", named(&ids)))
    });
    let lines: Vec<String> = lines.collect();
    Ok((!lines.is_empty()).then(|| lines.join("; ") + ": they carry no information"))
}

pub(super) fn packed_bits(findings: &Findings) -> Result<Option<String>, Error> {
    let OutputFeatures::File(file) = &findings.problem.config.output.features else {
        return Ok(None);
    };
    let rows = findings.problem.dataset.outputs.rows.as_ref();
    if file.packed {
        return Ok(None);
    }
    let Block::Dense(block) = rows.block(0..rows.len().min(LOOKED_AT))? else { return Ok(None) };
    let bytes = block.values().iter().all(|&v| v.fract() == 0.0 && (0.0..=255.0).contains(&v));
    // counts and truth values are small
    let high = block.values().iter().any(|&v| v >= 128.0);
    let line = || {
        format!(
            "all values of {} are whole numbers from 0 to 255: if they are packed bits, set \
             output.features.packed = true",
            file.file
        )
    };
    Ok((bytes && high).then(line))
}

/// Candidates that differ in their labels, but are the same point. Equal numbers are, whatever their labels, and so are sets of
/// labels in different orders.
pub(super) fn duplicate_candidates(findings: &Findings) -> Result<Option<String>, Error> {
    let features = &findings.problem.config.output.features;
    if matches!(features, OutputFeatures::Numbers(_) | OutputFeatures::Labels(_)) {
        return Ok(None);
    }
    let outputs = &findings.problem.dataset.outputs;
    let scores = &findings.report.metrics;
    let shown = outputs.candidates.iter().map(|&at| outputs.labels[at].as_str());
    let labels: BTreeSet<&str> = shown.filter(|label| !label.is_empty()).collect();
    let different = if labels.is_empty() { scores.candidates } else { labels.len() };
    let points = scores.candidates - scores.duplicate_candidates;
    let lost = different.saturating_sub(points);
    let line = || {
        format!(
            "{lost} of {different} different candidates share their point with others under this kernel, \
             and tie with them: use features that tell them apart"
        )
    };
    Ok((2 * lost > different).then(line))
}
