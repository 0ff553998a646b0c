//! `dsokr init`: looks at a table, and writes a configuration that trains on it.

mod doubts;
mod remarks;

use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::message::{shell_word, shorten_to};
use dsokr_data::library::SpectraFile;
use dsokr_data::table::all_extensions;
use serde_json::{Value, json};

use self::remarks::remarks;
use crate::cli::hints::check_table;
use crate::cli::output::{PROGRAM, print, print_json, quoted, shell_path};
use crate::error::{Error, ensure};
use crate::metrics::table::Table;
use crate::studies::init::{
    Choices, ColumnKind, Division, Joined, LONGEST_EXAMPLE, SpectraSurvey, StatedKind, Survey, join,
};

/// Looks at a table and writes a configuration that trains on it.
///
/// The table has a row for each pair: a text, and an output. The command finds out which columns they are, and
/// whether outputs are molecules (SMILES), label sets, rankings, numbers or texts, and writes the recommended configuration
/// for them, with comments. One row in ten is for validation, and one for the test.
///
/// A file of mass spectra has a row for each spectrum, which names the SMILES of its molecule. It is
/// divided by molecule into tables beside the configuration, as is a table with the columns
/// precursor_mz, mzs, intensities and smiles, unless --input, --output or --as says what it holds.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(required = true, help = tables_help())]
    tables: Vec<PathBuf>,
    /// The column of the inputs, of texts, SMILES, vectors or numbers, or FIRST..LAST, which are neighbouring columns of numbers in a
    /// .csv or .tsv file, one vector in each row; default: found out.
    #[arg(long, value_name = "COLUMN")]
    input: Option<String>,
    /// The column of the outputs; default: found out. Can be given several times, for columns of numbers.
    #[arg(long = "output", value_name = "COLUMN")]
    outputs: Vec<String>,
    /// What a column holds, where what is found out is wrong: smiles, numbers, vectors, labels, classes, rankings, texts, ids or
    /// nothing, as in formula=texts. Can be given several times.
    #[arg(long = "as", value_name = "COLUMN=KIND")]
    kinds: Vec<StatedKind>,
    /// The first line is a row, not the names of the columns, which are then column_1, column_2 and so on; default: found out.
    #[arg(long)]
    no_header: bool,
    /// The first line has the names of the columns, also where they look like a row, such as sentences; default: found out.
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// For a file of mass spectra, a table of further candidates: its column smiles, and id, or else the numbers of its
    /// lines.
    #[arg(long, value_name = "TABLE")]
    candidates: Option<PathBuf>,
    /// How pairs are divided: random, by the seed, where rows with the same molecule, text or id stay together; scaffold,
    /// where molecules with the same Bemis-Murcko scaffold do; the name of a column, where rows with the same value do; or
    /// column=NAME, where the column names the split of each row: train, validation (valid, val, dev) or test.
    #[arg(long, value_name = "random|scaffold|COLUMN|column=NAME")]
    split: Option<String>,
    /// A table of validation pairs with the same columns, in the place of drawn ones.
    #[arg(long, value_name = "FILE")]
    validation: Option<PathBuf>,
    /// A table of test pairs with the same columns, in the place of drawn ones.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
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

impl Arguments {
    /// Returns whether the caller says what the columns of a table hold, which is found out of spectra.
    fn describe_columns(&self) -> bool {
        self.input.is_some() || !self.outputs.is_empty() || !self.kinds.is_empty()
    }

    /// Returns whether the caller describes the columns of a table, its first line or how its rows are divided.
    fn describe_a_table(&self) -> bool {
        let is_divided = self.split.is_some() || self.validation.is_some() || self.test.is_some();
        is_divided || self.describe_columns() || self.header || self.no_header
    }
}

/// Returns the help of `tables`.
fn tables_help() -> String {
    format!(
        "The table ({}); or several, whose rows an id joins: to those of the first the rows of the \
         others with the same id. The joined table is written next to the configuration",
        all_extensions()
    )
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    arguments.tables.iter().try_for_each(|table| check_table(table))?;
    if let [file] = &arguments.tables[..]
        && let Some(file) = SpectraSurvey::open(file, arguments.describe_columns())
    {
        return spectra(arguments, &file);
    }
    let Arguments {
        tables,
        input,
        outputs,
        kinds,
        no_header,
        header,
        candidates,
        out,
        force,
        json,
        ..
    } = arguments;
    let given = candidates.as_ref().map_or(String::new(), |table| table.display().to_string());
    let allowed = "absent: it is for files of mass spectra";
    ensure(candidates.is_none(), Argument::new("candidates"), given, allowed)?;
    let joined = joined(tables, *force)?;
    let table = match (&joined, &tables[..]) {
        (Some(joined), _) => &joined.path,
        (None, [table]) => table,
        (None, _) => return Ok(()),
    };
    let choices = Choices {
        input: input.clone(),
        outputs: outputs.clone(),
        kinds: kinds.clone(),
        header: (*header || *no_header).then_some(*header),
        split: arguments.split.clone(),
        validation: arguments.validation.clone(),
        test: arguments.test.clone(),
        encoder: None,
    };
    let survey = Survey::read(table, &choices)?;
    let config = out.clone().unwrap_or_else(|| config_of(table, &survey.file));
    survey.write(&config, *force)?;
    if *json {
        return print_json(&facts(&survey, &config));
    }
    if let Some(Joined { path, by, rows }) = &joined {
        let by: Vec<String> = by.iter().map(|[mine, other]| format!("{mine} = {other}")).collect();
        let path = path.display();
        let by = by.join(", ");
        print(&format!("joined by {by}: {rows} rows have all parts, written to {path}\n"))?;
    }
    print(&summary(table, &survey, &config))
}

/// Returns what is known of a table, as JSON.
fn facts(survey: &Survey, config: &Path) -> Value {
    let [validation, test] = survey.held_out();
    let further: Vec<&String> = survey.roles.further.iter().map(|column| &column.name).collect();
    json!({
        "config": config,
        "rows": survey.table.rows,
        "skipped": survey.skipped(),
        "input": survey.roles.input.name,
        "output": survey.roles.output.name,
        "further_outputs": further,
        "id": survey.roles.id,
        "left_out": survey.table.nested,
        "holds": survey.roles.output.kind.to_string(),
        "training": survey.training(),
        "validation": validation,
        "test": test,
        "group": survey.division.group,
    })
}

/// Returns what is known of a table, and how to go on, as text.
fn summary(table: &Path, survey: &Survey, config: &Path) -> String {
    let program = &*PROGRAM;
    let run = run_of(config);
    let input = &survey.roles.input;
    let ask = if survey.reads_vectors() {
        format!("  {program} predict {run} {}\n", shell_path(table))
    } else if let Some(example) = &input.readings.short_example {
        format!("  {program} search {run} {}\n", quoted(example))
    } else if input.kind == ColumnKind::Smiles {
        // the first part of a SMILES is none
        String::new()
    } else {
        let example = shorten_to(&input.example, LONGEST_EXAMPLE);
        format!("  {program} search {run} {}\n", quoted(&example))
    };
    format!(
        "{}: {} rows\n\n{}{}\nwrote {}: {}\n\nnext:\n  {program} train {}\n{ask}",
        table.display(),
        survey.table.rows,
        columns(survey),
        remarks(survey),
        config.display(),
        splits(survey),
        shell_path(config),
    )
}

/// Returns the run directory that a training of a configuration makes first, as an argument.
fn run_of(config: &Path) -> String {
    let name = config.file_stem().unwrap_or_default().to_string_lossy();
    shell_word(&format!("runs/{name}"))
}

/// Returns the sizes of the splits, or their files.
fn splits(survey: &Survey) -> String {
    let [validation, test] = survey.held_out();
    let Division { validation: validation_file, test: test_file, .. } = &survey.division;
    let part = |count: usize, name: &str, file: &Option<String>| match file {
        Some(file) => format!("the {name} pairs of {file}"),
        None => format!("{count} {name} pairs"),
    };
    let training = survey.training();
    if validation_file.is_none() && test_file.is_none() {
        return format!("{training} training, {validation} validation and {test} test pairs");
    }
    let validation = part(validation, "validation", validation_file);
    let test = part(test, "test", test_file);
    format!("{training} training pairs, {validation} and {test}")
}

/// Returns the configuration of a table whose absolute path is `whole`.
fn config_of(table: &Path, whole: &Path) -> PathBuf {
    let stem = table.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = stem.trim_start_matches('.').chars().map(plain).collect();
    let near = Path::new(".").canonicalize().is_ok_and(|here| whole.starts_with(here));
    let folder = if near { Path::new("") } else { table.parent().unwrap_or(Path::new("")) };
    folder.join(format!("{stem}.toml"))
}

/// Writes the tables of a file of mass spectra and their configuration.
fn spectra(arguments: &Arguments, file: &SpectraFile) -> Result<(), Error> {
    let Arguments { candidates, out, force, json, .. } = arguments;
    let options = "--input, --output, --as, --header, --no-header, --split, --validation or --test";
    let allowed = "absent: spectra are the inputs, the molecules that they name the outputs, and spectra are divided by molecule";
    ensure(!arguments.describe_a_table(), options, "given", allowed)?;
    let survey = SpectraSurvey::read(file, candidates.as_deref())?;
    let path = file.path();
    let config = out.clone().unwrap_or_else(|| config_of(path, &survey.file));
    survey.write(&config, *force)?;
    let [training, validation, test] = survey.sizes();
    let [unread, unnamed] = survey.library.left_out();
    let molecules = survey.library.molecules().len();
    if *json {
        return print_json(&json!({
            "config": config,
            "rows": survey.library.len() + unread + unnamed,
            "skipped": unread + unnamed,
            "input": "spectrum",
            "output": "smiles",
            "id": "inchikey",
            "left_out": [],
            "holds": ColumnKind::Smiles.to_string(),
            "candidates": molecules,
            "training": training,
            "validation": validation,
            "test": test,
        }));
    }
    let mut remarks = String::new();
    for (count, what) in [
        (unread, "spectra cannot be used and are skipped"),
        (unnamed, "spectra name no SMILES that can be read and are skipped"),
    ] {
        if count > 0 {
            remarks += &format!("{count} {what}\n");
        }
    }
    if let Some(name) = &survey.names_splits {
        remarks += &format!(
            "{name}: its cells name the split of each row, which is not kept: spectra are divided by molecule\n"
        );
    }
    let program = &*PROGRAM;
    let folder = SpectraSurvey::folder(&config);
    print(&format!(
        "{}: {} spectra; candidates are {molecules} molecules\n{remarks}\nwrote {} and {}: {training} training, {validation} \
         validation and {test} test spectra; no molecule has spectra in two of them\n\nnext:\n  {program} train {}\n  \
         {program} predict {} {}\n",
        path.display(),
        survey.library.len(),
        config.display(),
        folder.display(),
        shell_path(&config),
        run_of(&config),
        shell_path(&folder.join("test.mgf")),
    ))
}

/// Writes several tables as one, next to the first; none of one table.
fn joined(tables: &[PathBuf], force: bool) -> Result<Option<Joined>, Error> {
    let [first, _, ..] = tables else { return Ok(None) };
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = tables.iter().map(stem).collect::<Vec<_>>().join("-");
    let path = first.with_file_name(format!("{name}.jsonl"));
    join(tables, &path, force).map(Some)
}

/// Returns the columns as a table.
fn columns(survey: &Survey) -> String {
    let names = ["column", "holds", "used as", "example", "distinct", "empty"];
    let mut table = Table::new(names, 4);
    for column in &survey.columns {
        let name = &column.name;
        let used = if *name == survey.roles.input.name {
            "input"
        } else if survey.roles.outputs().any(|output| output.name == *name) {
            "output"
        } else if survey.roles.id.as_ref() == Some(name) {
            "id"
        } else {
            ""
        };
        table.push([
            name.clone(),
            column.kind.to_string(),
            used.to_owned(),
            shorten_to(&column.example, 40),
            column.distinct.to_string(),
            column.empty.to_string(),
        ]);
    }
    table.text()
}
