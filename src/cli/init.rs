use std::path::{Path, PathBuf};

use serde_json::json;

use crate::Error;
use crate::cli::output::{print, print_json};
use crate::init::{Holds, Survey};
use crate::table::Table;

/// Looks at a table and writes a configuration that trains on it.
///
/// The table (.csv, .tsv, .jsonl, .parquet, also .gz) has a row for each pair: a text, and an output. The command finds out which
/// columns they are, and whether outputs are molecules (SMILES), label sets, rankings, numbers or texts, and writes
/// the recommended configuration for them, with comments. One row in ten is for validation, and one for the test.
#[derive(clap::Args)]
pub struct Arguments {
    /// The table.
    table: PathBuf,
    /// The column of the texts; default: found out.
    #[arg(long, value_name = "COLUMN")]
    input: Option<String>,
    /// The column of the outputs; default: found out.
    #[arg(long, value_name = "COLUMN")]
    output: Option<String>,
    /// The configuration; default: the table's name with the extension .toml, in the current folder if the table is in or
    /// below it, else next to the table.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { table, input, output, out, force, json } = arguments;
    let survey = Survey::read(table, input.as_deref(), output.as_deref())?;
    let stem = table.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = stem.trim_start_matches('.').chars().map(plain).collect();
    let near = Path::new(".").canonicalize().is_ok_and(|here| survey.table.starts_with(here));
    let folder = if near { Path::new("") } else { table.parent().unwrap_or(Path::new("")) };
    let config = out.clone().unwrap_or_else(|| folder.join(format!("{stem}.toml")));
    survey.write(&config, *force)?;
    if *json {
        return print_json(&json!({
            "config": config,
            "rows": survey.rows,
            "skipped": survey.skipped(),
            "input": survey.input.name,
            "output": survey.output.name,
            "id": survey.id,
            "left_out": survey.nested,
            "holds": survey.output.holds.to_string(),
            "training": survey.training(),
            "validation": survey.held_out(),
            "test": survey.held_out(),
        }));
    }
    let name = config.file_stem().unwrap_or_default().to_string_lossy();
    let held_out = survey.held_out();
    print(&format!(
        "{}: {} rows\n\n{}{}\nwrote {}: {} training, {held_out} validation and {held_out} test pairs\n\n\
         next:\n  dsokr train {}\n  dsokr search runs/{name} {:?}\n",
        table.display(),
        survey.rows,
        columns(&survey),
        remarks(&survey),
        config.display(),
        survey.training(),
        config.display(),
        shortened(&survey.input.example, 80),
    ))
}

/// The columns as a table.
fn columns(survey: &Survey) -> String {
    let names = ["column", "holds", "used as", "example", "distinct", "empty"];
    let mut table = Table::new(names, 4);
    for column in &survey.columns {
        let used = match &column.name {
            name if *name == survey.input.name => "input",
            name if *name == survey.output.name => "output",
            name if Some(name) == survey.id.as_ref() => "id",
            _ => "",
        };
        table.push([
            column.name.clone(),
            column.holds.to_string(),
            used.to_owned(),
            shortened(&column.example, 40),
            column.distinct.to_string(),
            column.empty.to_string(),
        ]);
    }
    table.text()
}

/// Remarks on the rows.
fn remarks(survey: &Survey) -> String {
    let Survey { input, output, rows, .. } = survey;
    let mut text = String::new();
    let mut remark = |count: usize, what: &str| {
        if count > 0 {
            text += &format!("{count} {what}\n");
        }
    };
    let skipped = format!("rows are skipped: their output is empty or not {}", output.holds.one());
    remark(survey.skipped(), &skipped);
    remark(input.empty, "rows have an empty text");
    remark(rows - input.empty - input.distinct, "rows repeat the text of an earlier row");
    if output.holds == Holds::Smiles {
        let repeated = survey.pairs().saturating_sub(output.distinct);
        remark(repeated, "rows repeat the output of an earlier row: equal candidates tie");
    }
    if !survey.nested.is_empty() {
        let names = survey.nested.join(", ");
        text += &format!(
            "left out, since their values are objects or lists of several kinds: {names}\n"
        );
    }
    if survey.id.is_none() {
        text += "no column has an id for every row: the numbers of the lines are ids\n";
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The first characters of a text.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
