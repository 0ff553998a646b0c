//! Advice on the data: what splits share, and inputs and outputs that look wrong.

use std::collections::{BTreeSet, HashSet};

use dsokr_basis::features::Block;
use dsokr_basis::{RowKind, RowSource};
use dsokr_data::config::OutputFeatures;
use dsokr_data::{Inputs, Split, Truth, Vectors, input_numbers, text_numbers};

use super::Findings;
use crate::error::Error;

/// Ids that a line names.
const NAMED: usize = 5;

/// Rows of a feature file that are looked at.
const LOOKED_AT: usize = 1_000;

/// Returns the splits with their names, training first.
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

/// Returns the first ids, and how many more there are.
fn named(ids: &[&str]) -> String {
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    ids[..ids.len().min(NAMED)].join(", ") + &more
}

/// What stands before the id of an output that is compared by its id, so that it is no SMILES.
const BY_ID: char = '\u{1f}';

/// A split with a number for each of its inputs and outputs, which equal ones share.
struct NumberedSplit<'s> {
    name: &'static str,
    split: &'s Split,
    inputs: Vec<Option<u64>>,
    outputs: Vec<Option<u64>>,
}

impl<'s> NumberedSplit<'s> {
    /// Returns the numbers of the input and the output of a pair, where it has both.
    fn pair(&self, row: usize) -> Option<(u64, u64)> {
        self.inputs[row].zip(self.outputs[row])
    }

    /// Returns the names of some of the pairs.
    fn names(&self, is_one: impl Fn(usize) -> bool) -> Vec<&'s str> {
        let rows = (0..self.split.ids.len()).filter(|&row| is_one(row));
        rows.map(|row| self.split.names()[row].as_str()).collect()
    }
}

/// The numbers of the training pairs, with which held-out ones are compared.
struct TrainingNumbers<'s> {
    inputs: HashSet<u64>,
    outputs: HashSet<u64>,
    pairs: HashSet<(u64, u64)>,
    groups: HashSet<&'s String>,
    /// What inputs are called.
    inputs_name: &'static str,
    /// Whether outputs are few, and occur again by nature.
    outputs_recur: bool,
}

impl<'s> TrainingNumbers<'s> {
    /// Gathers the numbers of training pairs, whose outputs have these features.
    fn new(train: &NumberedSplit<'s>, features: &OutputFeatures) -> Self {
        let inputs_name = match &train.split.inputs {
            Inputs::Texts(_) => "texts",
            Inputs::Vectors(_) => "vectors",
            Inputs::Kernels(_) => "inputs",
        };
        let outputs_recur = matches!(
            features,
            OutputFeatures::Labels(_)
                | OutputFeatures::Classes(_)
                | OutputFeatures::Rankings(_)
                | OutputFeatures::Numbers(_)
        );
        Self {
            inputs: train.inputs.iter().copied().flatten().collect(),
            outputs: train.outputs.iter().copied().flatten().collect(),
            pairs: (0..train.inputs.len()).filter_map(|row| train.pair(row)).collect(),
            groups: train.split.groups_among_files().iter().collect(),
            inputs_name,
            outputs_recur,
        }
    }

    /// Returns a line for each kind of things that a held-out split has in common with training.
    fn shared_with(&self, held_out: &NumberedSplit) -> Vec<String> {
        let NumberedSplit { name, split, .. } = *held_out;
        let all = split.ids.len();
        let has_pair =
            |row: usize| held_out.pair(row).is_some_and(|pair| self.pairs.contains(&pair));
        let has_input =
            |row: usize| held_out.inputs[row].is_some_and(|input| self.inputs.contains(&input));
        let has_output = |row: usize| {
            let is_known = |output: u64| self.outputs.contains(&output);
            !self.outputs_recur && held_out.outputs[row].is_some_and(is_known)
        };
        let pairs = held_out.names(has_pair);
        let inputs = held_out.names(has_input);
        let outputs = held_out.names(has_output);
        // every row whose pair is known is a row whose input and output are
        let kinds = [
            ("pairs", 0, &pairs),
            (self.inputs_name, pairs.len(), &inputs),
            ("outputs", pairs.len(), &outputs),
        ];
        let mut lines = Vec::new();
        for (kind, said, names) in kinds {
            let count = names.len();
            if count > said {
                let names = named(names);
                lines.push(format!(
                    "{count} of {all} {name} {kind} are training {kind} too ({names})"
                ));
            }
        }
        // splits that are not drawn may divide groups
        let is_connected = |row: usize| {
            let group = split.groups_among_files().get(row);
            let is_new = !has_input(row) && !has_output(row);
            is_new && group.is_some_and(|group| self.groups.contains(group))
        };
        let connected = held_out.names(is_connected);
        if !connected.is_empty() {
            let count = connected.len();
            let names = named(&connected);
            lines.push(format!(
                "{count} of {all} {name} pairs are new, but in groups of training pairs ({names})"
            ));
        }
        lines
    }
}

/// Advises where pairs, inputs and outputs of the held-out splits are training ones too. Inputs and outputs are named where
/// more of them are known than pairs, and other pairs where training pairs are in their groups. Two SMILES of one molecule
/// are one input, and one output. Label sets, classes, rankings and numbers are few, and occur again by nature.
pub(super) fn shared_between_splits(findings: &Findings) -> Result<Option<String>, Error> {
    if findings.problem.config.data.keeps_repeated_texts() {
        return Ok(None);
    }
    let splits = splits(findings);
    let inputs: Vec<&Inputs> = splits.iter().map(|(_, split)| &split.inputs).collect();
    let inputs = input_numbers(&inputs)?;
    let outputs = output_numbers(findings, &splits);
    let numbers = inputs.into_iter().zip(outputs);
    let mut numbered = splits
        .into_iter()
        .zip(numbers)
        .map(|((name, split), (inputs, outputs))| NumberedSplit { name, split, inputs, outputs });
    let Some(train) = numbered.next() else { return Ok(None) };
    let training = TrainingNumbers::new(&train, &findings.problem.config.output.features);
    let lines: Vec<String> =
        numbered.flat_map(|held_out| training.shared_with(&held_out)).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    Ok(Some(lines.join("; ") + ": the metrics say less about new ones"))
}

/// Returns a number for each output of the splits, which equal outputs share: those with one id, and molecules and texts with one
/// label.
fn output_numbers(findings: &Findings, splits: &[(&str, &Split)]) -> Vec<Vec<Option<u64>>> {
    let features = &findings.problem.config.output.features;
    let labels = &findings.problem.dataset.outputs.labels;
    let by_label = features.are_molecules() || matches!(features, OutputFeatures::Ngrams(_));
    let key = |(id, output): (&String, &Option<usize>)| {
        let label = output.map_or("", |output| labels[output].as_str());
        if by_label && !label.is_empty() { label.to_owned() } else { format!("{BY_ID}{id}") }
    };
    let keys = |(_, split): &(&str, &Split)| -> Vec<String> {
        split.ids.iter().zip(&split.outputs).map(key).collect()
    };
    let keys: Vec<Vec<String>> = splits.iter().map(keys).collect();
    let texts: Vec<Vec<&str>> =
        keys.iter().map(|keys| keys.iter().map(String::as_str).collect()).collect();
    text_numbers(&texts)
}

/// Advises where training pairs have a single class, of which a model learns nothing.
pub(super) fn one_class(findings: &Findings) -> Result<Option<String>, Error> {
    let splits = splits(findings);
    let Some(((_, train), held_out)) = splits.split_first() else { return Ok(None) };
    let known: BTreeSet<&str> = classes(findings, train).into_iter().collect();
    let Some(&class) = known.first().filter(|_| known.len() == 1) else { return Ok(None) };
    let mut others = Vec::new();
    for (name, split) in held_out {
        let of_split = classes(findings, split).into_iter().filter(|&other| other != class);
        let of_split: BTreeSet<&str> = of_split.collect();
        if !of_split.is_empty() {
            let names: Vec<&str> = of_split.into_iter().collect();
            others.push(format!("; {name} pairs have others ({})", named(&names)));
        }
    }
    Ok(Some(format!(
        "all {} training pairs have one class, {class}{}: the model predicts no other one, so add or divide pairs such that \
         training has more",
        train.ids.len(),
        others.concat()
    )))
}

/// Returns the classes of the pairs of a split whose output is known; none where outputs are no classes.
fn classes<'a>(findings: &Findings<'a>, split: &Split) -> Vec<&'a str> {
    let Some(Truth::Classes(all)) = &findings.problem.dataset.outputs.truth else {
        return Vec::new();
    };
    split.outputs.iter().flatten().map(|&output| all[output].as_str()).collect()
}

/// Advises where texts of inputs are empty.
pub(super) fn empty_texts(findings: &Findings) -> Result<Option<String>, Error> {
    let mut lines = Vec::new();
    for (name, split) in splits(findings) {
        let empty = split.ids.iter().zip(texts(split)).filter(|(_, text)| text.trim().is_empty());
        let ids: Vec<&str> = empty.map(|(id, _)| id.as_str()).collect();
        if !ids.is_empty() {
            let count = ids.len();
            lines.push(format!("{count} {name} texts are empty ({})", named(&ids)));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    Ok(Some(lines.join("; ") + ": they carry no information"))
}

/// Advises where features of outputs in a file look like bits that are packed into bytes.
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
    if !bytes || !high {
        return Ok(None);
    }
    Ok(Some(format!(
        "all values of {} are whole numbers from 0 to 255: if they are packed bits, set \
         output.features.packed = true",
        file.file
    )))
}

/// A column of the inputs is in other units than another one if it is so many times as large.
const OTHER_UNITS: f64 = 100.0;

/// Advises where one column of vectors drowns the others in a network, which has no scaling of inputs as kernel machines
/// have. The size of a column is the root mean square of its values; columns of zeros do not count.
pub(super) fn columns_in_other_units(findings: &Findings) -> Result<Option<String>, Error> {
    let problem = findings.problem;
    if problem.config.encoder.kind() != "mlp" {
        return Ok(None);
    }
    let rows = problem.dataset.train.inputs.vectors()?;
    let count = rows.len().min(LOOKED_AT);
    let mut squares = vec![0.0; rows.width()];
    for row in 0..count {
        for (sum, value) in squares.iter_mut().zip(rows.dense_row(row)) {
            *sum += f64::from(value).powi(2);
        }
    }
    let sizes = squares.iter().map(|sum| (sum / count as f64).sqrt());
    let sizes: Vec<(usize, f64)> = sizes.enumerate().filter(|&(_, size)| size > 0.0).collect();
    let by_size = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
    let smallest = sizes.iter().min_by(by_size);
    let Some((&(low, small), &(high, large))) = smallest.zip(sizes.iter().max_by(by_size)) else {
        return Ok(None);
    };
    let are_in_other_units = large > OTHER_UNITS * small;
    if !are_in_other_units {
        return Ok(None);
    }
    Ok(Some(format!(
        "values of column {high} of the inputs are about {large:.1e} and those of column {low} about {small:.1e} \
         (counted from 0): give columns similar sizes, such as by their means and deviations, as the encoder \
         \"mlp\" has no scaling"
    )))
}

/// Advises on columns of vectors that are constant in training, and other numbers in held-out pairs. Standardising leaves
/// their unit as it is, so that one of them can outweigh all columns that a model knows. A number that is at most 1 away, such
/// as a bit that no training pair has, does not count, and rows that stay in a file are not read for it.
pub(super) fn constant_columns(findings: &Findings) -> Result<Option<String>, Error> {
    let splits = splits(findings);
    let Some(((_, train), held_out)) = splits.split_first() else { return Ok(None) };
    let Inputs::Vectors(Vectors::Held(rows)) = &train.inputs else { return Ok(None) };
    if rows.kind() != RowKind::Dense || rows.len() < 2 {
        return Ok(None);
    }
    let first = rows.dense_row(0);
    let mut constant: Vec<usize> = (0..rows.width()).collect();
    for row in 1..rows.len() {
        if constant.is_empty() {
            return Ok(None);
        }
        let values = rows.dense_row(row);
        constant.retain(|&column| values[column] == first[column]);
    }
    let mut differing: BTreeSet<usize> = BTreeSet::new();
    for (_, split) in held_out {
        let Inputs::Vectors(Vectors::Held(rows)) = &split.inputs else { continue };
        for row in 0..rows.len().min(LOOKED_AT) {
            let values = rows.dense_row(row);
            let is_far = |column: &&usize| (values[**column] - first[**column]).abs() > 1.0;
            differing.extend(constant.iter().filter(is_far));
        }
    }
    let names: Vec<String> = differing.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "{} of {} columns of the inputs are constant in training pairs and differ in others ({}, counted from 0): leave them \
         out, as training does not show how much they count",
        names.len(),
        rows.width(),
        named(&names)
    )))
}

/// Advises where candidates differ in their labels, but are the same point. Equal numbers and equal sets of labels are,
/// however they are written.
pub(super) fn duplicate_candidates(findings: &Findings) -> Result<Option<String>, Error> {
    let features = &findings.problem.config.output.features;
    if matches!(features, OutputFeatures::Numbers(_) | OutputFeatures::Labels(_)) {
        return Ok(None);
    }
    // all candidates, which the metrics count only where queries have no lists of their own
    let candidates = findings.evaluator.candidates();
    let shown = (0..candidates.len()).map(|candidate| candidates.label(candidate));
    let labels: BTreeSet<&str> = shown.filter(|label| !label.is_empty()).collect();
    let different = if labels.is_empty() { candidates.len() } else { labels.len() };
    let lost = different.saturating_sub(candidates.distinct());
    if 2 * lost <= different {
        return Ok(None);
    }
    Ok(Some(format!(
        "{lost} of {different} different candidates share their point with others under this kernel, \
         and tie with them: use features that tell them apart"
    )))
}
