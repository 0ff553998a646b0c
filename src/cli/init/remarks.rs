//! Remarks on the rows and columns of a table.

use dsokr_core::message::{first_of, list, shell_word, shorten_to};

use super::doubts::{doubts, lines};
use crate::studies::init::{Column, ColumnKind, Qualifier, Roles, Survey, remarks_on_notations};

/// A remark, without a line break behind it; none where there is nothing to say.
type Remark = fn(&Survey) -> Option<String>;

/// All remarks, in the order in which they are printed.
const REMARKS: [Remark; 26] = [
    comments,
    malformed,
    unusable,
    empty_inputs,
    repeated_inputs,
    repeated_outputs,
    nested,
    repeated_names,
    nameless,
    copies,
    outputs_together,
    further_classes,
    further_numbers,
    further_learned,
    further_molecules,
    further_texts,
    further_inputs,
    further_ids,
    header_line,
    alone_in_front,
    names_splits,
    no_header,
    doubts_of_columns,
    qualifiers,
    notations,
    line_numbers,
];

/// Returns the remarks on a table, a line each, below a blank line; empty where there are none.
pub(super) fn remarks(survey: &Survey) -> String {
    let remarks = lines(REMARKS.iter().filter_map(|remark| remark(survey)));
    remarks.map(|remarks| format!("\n{remarks}\n")).unwrap_or_default()
}

/// Returns a remark on so many rows or lines; none of 0.
fn counted(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}"))
}

fn comments(survey: &Survey) -> Option<String> {
    let what = "lines before the columns begin with # and are left out as comments";
    counted(survey.table.comments, what)
}

fn malformed(survey: &Survey) -> Option<String> {
    let (line, message) = survey.table.malformed.first.as_ref()?;
    let what =
        format!("lines cannot be read and are skipped, the first one, line {line}: {message}");
    counted(survey.table.malformed.count, &what)
}

fn unusable(survey: &Survey) -> Option<String> {
    let output = &survey.roles.output;
    let what = if survey.unusable == output.unusable() {
        format!("rows are skipped: their output is empty or not {}", output.kind.one())
    } else {
        "rows are skipped: an input or output is empty or not what its column holds".to_owned()
    };
    counted(survey.unusable, &what)
}

fn empty_inputs(survey: &Survey) -> Option<String> {
    counted(survey.roles.input.empty, "rows have an empty text")
}

fn repeated_inputs(survey: &Survey) -> Option<String> {
    let input = &survey.roles.input;
    counted(input.filled - input.distinct, "rows repeat the text of an earlier row")
}

fn repeated_outputs(survey: &Survey) -> Option<String> {
    let output = &survey.roles.output;
    if output.kind != ColumnKind::Smiles {
        return None;
    }
    let repeated = survey.pairs().saturating_sub(output.distinct);
    counted(repeated, "rows repeat the output of an earlier row: equal candidates tie")
}

fn nested(survey: &Survey) -> Option<String> {
    if survey.table.nested.is_empty() {
        return None;
    }
    let names = survey.table.nested.join(", ");
    Some(format!(
        "left out, since their values are objects, or lists that are not of texts alone or numbers \
         alone: {names} (pandas.json_normalize makes columns of the keys of objects)"
    ))
}

fn repeated_names(survey: &Survey) -> Option<String> {
    if survey.table.repeated.is_empty() {
        return None;
    }
    let names = survey.table.repeated.join(", ");
    Some(format!("left out, since several columns have the same name: {names}"))
}

fn nameless(survey: &Survey) -> Option<String> {
    survey.table.nameless.as_ref().map(|nameless| nameless.to_string())
}

fn copies(survey: &Survey) -> Option<String> {
    let input = &survey.roles.input.name;
    lines(survey.roles.copies.iter().map(|name| {
        format!(
            "{name}: its molecules are those of {input}, so that it is no output; --output {} learns it all the same",
            shell_word(name)
        )
    }))
}

/// Returns the columns of numbers that are outputs together, where nobody has chosen them.
fn outputs_together(survey: &Survey) -> Option<String> {
    let Roles { further, are_found, .. } = &survey.roles;
    if further.is_empty() || !are_found {
        return None;
    }
    let names: Vec<String> = survey.roles.outputs().map(|column| column.name.clone()).collect();
    let names = list(&names);
    let ranks = if survey.outputs_are_ranks {
        "; each row has the ranks of as many items: one column of them with spaces between, as 2 1 3, is a ranking"
    } else {
        ""
    };
    Some(format!(
        "several columns of numbers are outputs together: {names} (--output COLUMN learns one, --as COLUMN=ids leaves one out){ranks}"
    ))
}

fn further_classes(survey: &Survey) -> Option<String> {
    let mut what =
        "further columns of classes are left out: join them to one column of labels, or --as COLUMN=numbers for each"
            .to_owned();
    if are_bits(&survey.roles.output) {
        what += "; where 1 says that a row has the label by which its column is named, pandas joins them by \
                 frame[\"labels\"] = frame[columns].apply(lambda row: \";\".join(row.index[row == 1]), axis=1)";
    }
    counted(survey.left_out.classes, &what)
}

/// Returns whether a column has the classes 0 and 1, which pandas writes as 0.0 and 1.0 where others are missing.
fn are_bits(column: &Column) -> bool {
    let is_bit = ["0", "1", "0.0", "1.0"].contains(&column.example.as_str());
    is_bit && column.kind == ColumnKind::Classes(2)
}

fn further_numbers(survey: &Survey) -> Option<String> {
    counted(
        survey.left_out.numbers,
        "further columns of numbers are left out: --output for each column learns several together, where they have \
         decimal points and no units",
    )
}

fn further_learned(survey: &Survey) -> Option<String> {
    if survey.left_out.learned.is_empty() {
        return None;
    }
    let Roles { input, output, .. } = &survey.roles;
    let are_molecules = output.kind == ColumnKind::Smiles;
    let reason = if are_molecules { ", since molecules are the output" } else { "" };
    let from = if are_molecules && input.kind != ColumnKind::Smiles {
        format!(", also from molecules by --input {}", shell_word(&output.name))
    } else {
        String::new()
    };
    let names = list(&survey.left_out.learned);
    Some(format!("left out{reason}: {names} (--output COLUMN learns one of them{from})"))
}

/// Returns the columns of molecules from which nothing is learned, beside the one of the input.
fn further_molecules(survey: &Survey) -> Option<String> {
    let names = &survey.left_out.molecules;
    if names.is_empty() {
        return None;
    }
    let all: Vec<&str> =
        [&survey.roles.input.name].into_iter().chain(names).map(String::as_str).collect();
    Some(format!(
        "further molecules are left out as inputs: {}; a column of all SMILES with points between, {}, learns from all",
        list(names),
        all.join(".")
    ))
}

fn further_texts(survey: &Survey) -> Option<String> {
    let what = format!(
        "further columns of texts are left out: join them to one column with {}, where each says something of the output, \
         or --input COLUMN",
        survey.roles.input.name
    );
    counted(survey.left_out.texts, &what)
}

fn further_inputs(survey: &Survey) -> Option<String> {
    if survey.left_out.inputs.is_empty() {
        return None;
    }
    let remedy = if survey.roles.input.kind == ColumnKind::Smiles {
        format!(
            "--output {} learns molecules from one of them",
            shell_word(&survey.roles.input.name)
        )
    } else {
        "learns from one of them".to_owned()
    };
    let names = list(&survey.left_out.inputs);
    Some(format!("left out as inputs: {names} (--input COLUMN {remedy})"))
}

fn further_ids(survey: &Survey) -> Option<String> {
    if survey.left_out.ids.is_empty() {
        return None;
    }
    let input = &survey.roles.input;
    let names = list(&survey.left_out.ids);
    Some(format!(
        "taken for ids, since all cells differ, beside {} different cells of {}: {names} (--input COLUMN learns from one of them)",
        input.distinct, input.name
    ))
}

fn header_line(survey: &Survey) -> Option<String> {
    survey.table.header_line.as_ref().map(|line| line.to_string())
}

/// Returns the classes that only the first row has, as where that is a line of the header.
fn alone_in_front(survey: &Survey) -> Option<String> {
    if survey.table.header_line.is_some() {
        return None;
    }
    lines(survey.columns.iter().filter_map(class_alone_in_front))
}

fn class_alone_in_front(column: &Column) -> Option<String> {
    let line = column.classes.alone_in_front?;
    let name = &column.name;
    let class = shorten_to(&column.example, 40);
    Some(format!(
        "{name}: the class {class:?} stands on line {line} alone, and each other class in several rows (if the line is a second \
         one of names, remove it)"
    ))
}

fn names_splits(survey: &Survey) -> Option<String> {
    let name = survey.names_splits.as_ref()?;
    Some(format!(
        "{name}: its cells name the split of each row, which --split column={} takes",
        shell_word(name)
    ))
}

fn no_header(survey: &Survey) -> Option<String> {
    if survey.table.has_header {
        return None;
    }
    let remark = "the first line is read as a row: columns are named by their places (--header says that it has the names)";
    Some(remark.to_owned())
}

fn doubts_of_columns(survey: &Survey) -> Option<String> {
    lines(survey.columns.iter().filter_map(doubts))
}

/// Returns the units and the signs of bounds of the outputs, which stand in columns of their own and are not read.
fn qualifiers(survey: &Survey) -> Option<String> {
    let remarks = survey.columns.iter().filter_map(|column| {
        let qualifier = column.qualifies.as_ref()?;
        let is_of_output = survey.roles.outputs().any(|output| output.name == qualifier.of);
        is_of_output.then(|| remark_on_qualifier(&column.name, qualifier)).flatten()
    });
    lines(remarks)
}

fn remark_on_qualifier(name: &str, qualifier: &Qualifier) -> Option<String> {
    let Qualifier { of, are_signs, counts } = qualifier;
    let told: Vec<&(String, usize)> = if *are_signs {
        counts.iter().filter(|(sign, _)| sign != "=").collect()
    } else {
        counts.iter().collect()
    };
    let shown = first_of(told.iter().map(|(cell, count)| format!("{cell:?} in {count} rows")));
    if *are_signs {
        let remark = || {
            format!(
                "{of}: {name} has the signs of bounds, {shown}, whose numbers are read as exact values: remove these rows"
            )
        };
        (!told.is_empty()).then(remark)
    } else {
        let remark = || {
            format!(
                "{of}: {name} has several units, {shown}, which are not read: keep the rows of one unit, or write all numbers in one"
            )
        };
        (told.len() > 1).then(remark)
    }
}

/// Returns the columns of molecules that are not written as SMILES, where no input or output is read as molecules.
fn notations(survey: &Survey) -> Option<String> {
    let Roles { input, output, .. } = &survey.roles;
    if [input, output].iter().any(|column| column.kind == ColumnKind::Smiles) {
        return None;
    }
    lines(remarks_on_notations(&survey.columns).into_iter())
}

/// Returns the numbers of lines, where no column has ids.
fn line_numbers(survey: &Survey) -> Option<String> {
    if survey.roles.id.is_some() {
        return None;
    }
    Some("no column has an id for every row: the numbers of the lines are ids".to_owned())
}
