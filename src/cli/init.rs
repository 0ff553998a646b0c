use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::message::{list, shell_word};
use dsokr_data::cells::{NumberNotation, remarks_on_spellings};
use dsokr_data::table::all_extensions;
use serde_json::{Value, json};

use crate::cli::meant::check_table;
use crate::cli::output::{print, print_json, quoted, shell_path};
use crate::error::{Error, ensure};
use crate::metrics::table::Table;
use crate::studies::init::{
    Choices, Column, ColumnKind, Division, Exceptions, Joined, LONGEST_EXAMPLE, PointsAndCommas,
    SpectraSurvey, StatedKind, Survey, join,
};

/// Looks at a table and writes a configuration that trains on it.
///
/// The table has a row for each pair: a text, and an output. The command finds out which columns they are, and whether outputs are molecules (SMILES), label sets, rankings, numbers or texts, and writes
/// the recommended configuration for them, with comments. One row in ten is for validation, and one for the test.
///
/// A file of mass spectra has a row for each spectrum, which names the SMILES of its molecule. It is
/// divided by molecule into tables beside the configuration, as is a table with the columns
/// precursor_mz, mzs, intensities and smiles, unless --input, --output or --as says what it holds.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(required = true, help = tables_help())]
    tables: Vec<PathBuf>,
    /// The column of the texts; default: found out.
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
    /// Whether the caller says what the columns of a table hold, which is found out of spectra.
    fn describe_columns(&self) -> bool {
        self.input.is_some() || !self.outputs.is_empty() || !self.kinds.is_empty()
    }

    /// Whether the caller describes the columns of a table, its first line or how its rows are divided.
    fn describe_a_table(&self) -> bool {
        let is_divided = self.split.is_some() || self.validation.is_some() || self.test.is_some();
        is_divided || self.describe_columns() || self.header || self.no_header
    }
}

/// The help of `tables`.
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
        && SpectraSurvey::reads(file, arguments.describe_columns())
    {
        return spectra(arguments, file);
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
    let config = out.clone().unwrap_or_else(|| config_of(table, &survey.table));
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

/// What is known of a table, as JSON.
fn facts(survey: &Survey, config: &Path) -> Value {
    let [validation, test] = survey.held_out();
    let further: Vec<&String> = survey.further.iter().map(|column| &column.name).collect();
    json!({
        "config": config,
        "rows": survey.rows,
        "skipped": survey.skipped(),
        "input": survey.input.name,
        "output": survey.output.name,
        "further_outputs": further,
        "id": survey.id,
        "left_out": survey.nested,
        "holds": survey.output.kind.to_string(),
        "training": survey.training(),
        "validation": validation,
        "test": test,
        "group": survey.division.group,
    })
}

/// What is known of a table, and how to go on, as text.
fn summary(table: &Path, survey: &Survey, config: &Path) -> String {
    let name = config.file_stem().unwrap_or_default().to_string_lossy();
    let run = shell_word(&format!("runs/{name}"));
    let input = &survey.input;
    let ask = if survey.reads_vectors() {
        format!("  dsokr predict {run} {}\n", shell_path(table))
    } else if let Some(example) = &input.short_example {
        format!("  dsokr search {run} {}\n", quoted(example))
    } else if input.kind == ColumnKind::Smiles {
        // the first part of a SMILES is none
        String::new()
    } else {
        let example = shortened(&input.example, LONGEST_EXAMPLE);
        format!("  dsokr search {run} {}\n", quoted(&example))
    };
    format!(
        "{}: {} rows\n\n{}{}\nwrote {}: {}\n\nnext:\n  dsokr train {}\n{ask}",
        table.display(),
        survey.rows,
        columns(survey),
        remarks(survey),
        config.display(),
        splits(survey),
        shell_path(config),
    )
}

/// The sizes of the splits, or their files.
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

/// The configuration of a table whose absolute path is `whole`.
fn config_of(table: &Path, whole: &Path) -> PathBuf {
    let stem = table.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = stem.trim_start_matches('.').chars().map(plain).collect();
    let near = Path::new(".").canonicalize().is_ok_and(|here| whole.starts_with(here));
    let folder = if near { Path::new("") } else { table.parent().unwrap_or(Path::new("")) };
    folder.join(format!("{stem}.toml"))
}

/// Writes the tables of a file of mass spectra and their configuration.
fn spectra(arguments: &Arguments, file: &Path) -> Result<(), Error> {
    let Arguments { candidates, out, force, json, .. } = arguments;
    let options = "--input, --output, --as, --header, --no-header, --split, --validation or --test";
    let allowed = "absent: spectra are the inputs, the molecules that they name the outputs, and spectra are divided by molecule";
    ensure(!arguments.describe_a_table(), options, "given", allowed)?;
    let survey = SpectraSurvey::read(file, candidates.as_deref())?;
    let config = out.clone().unwrap_or_else(|| config_of(file, &survey.file));
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
    let name = config.file_stem().unwrap_or_default().to_string_lossy();
    print(&format!(
        "{}: {} spectra; candidates are {molecules} molecules\n{remarks}\nwrote {} and {}: {training} training, {validation} \
         validation and {test} test spectra; no molecule has spectra in two of them\n\nnext:\n  dsokr train {}\n  dsokr predict \
         {} {}\n",
        file.display(),
        survey.library.len(),
        config.display(),
        SpectraSurvey::folder(&config).display(),
        shell_path(&config),
        shell_word(&format!("runs/{name}")),
        shell_path(&SpectraSurvey::folder(&config).join("test.mgf")),
    ))
}

/// Several tables as one, next to the first; none of one table.
fn joined(tables: &[PathBuf], force: bool) -> Result<Option<Joined>, Error> {
    let [first, _, ..] = tables else { return Ok(None) };
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = tables.iter().map(stem).collect::<Vec<_>>().join("-");
    let path = first.with_file_name(format!("{name}.jsonl"));
    join(tables, &path, force).map(Some)
}

/// The columns as a table.
fn columns(survey: &Survey) -> String {
    let names = ["column", "holds", "used as", "example", "distinct", "empty"];
    let mut table = Table::new(names, 4);
    for column in &survey.columns {
        let used = match &column.name {
            name if *name == survey.input.name => "input",
            name if *name == survey.output.name => "output",
            name if survey.further.iter().any(|column| column.name == *name) => "output",
            name if Some(name) == survey.id.as_ref() => "id",
            _ => "",
        };
        table.push([
            column.name.clone(),
            column.kind.to_string(),
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
    let Survey { input, output, .. } = survey;
    let mut text = String::new();
    let mut remark = |count: usize, what: &str| {
        if count > 0 {
            text += &format!("{count} {what}\n");
        }
    };
    remark(survey.comments, "lines before the columns begin with # and are left out as comments");
    if let Some((line, message)) = &survey.malformed.first {
        let what =
            format!("lines cannot be read and are skipped, the first one, line {line}: {message}");
        remark(survey.malformed.count, &what);
    }
    let skipped = if survey.unusable == output.unusable() {
        format!("rows are skipped: their output is empty or not {}", output.kind.one())
    } else {
        "rows are skipped: an input or output is empty or not what its column holds".to_owned()
    };
    remark(survey.unusable, &skipped);
    remark(input.empty, "rows have an empty text");
    remark(input.filled - input.distinct, "rows repeat the text of an earlier row");
    if output.kind == ColumnKind::Smiles {
        let repeated = survey.pairs().saturating_sub(output.distinct);
        remark(repeated, "rows repeat the output of an earlier row: equal candidates tie");
    }
    if !survey.nested.is_empty() {
        let names = survey.nested.join(", ");
        text += &format!(
            "left out, since their values are objects, or lists that are not of texts alone or numbers \
             alone: {names}\n"
        );
    }
    if !survey.repeated.is_empty() {
        let names = survey.repeated.join(", ");
        text += &format!("left out, since several columns have the same name: {names}\n");
    }
    if let Some(nameless) = &survey.nameless {
        text += &format!("{nameless}\n");
    }
    for name in &survey.copies {
        text += &format!(
            "{name}: its molecules are those of {}, so that it is no output; --output {name} learns it all the same\n",
            input.name
        );
    }
    if survey.further_classes > 0 {
        text += &format!(
            "{} further columns of classes are left out: join them to one column of labels, or --as COLUMN=numbers for each\n",
            survey.further_classes
        );
    }
    if survey.further_numbers > 0 {
        text += &format!(
            "{} further columns of numbers are left out: --output for each column learns several together, where they have \
             decimal points and no units\n",
            survey.further_numbers
        );
    }
    if !survey.further_learned.is_empty() {
        let are_molecules = output.kind == ColumnKind::Smiles;
        let reason = if are_molecules { ", since molecules are the output" } else { "" };
        let from = if are_molecules && input.kind != ColumnKind::Smiles {
            format!(", also from molecules by --input {}", output.name)
        } else {
            String::new()
        };
        text += &format!(
            "left out{reason}: {} (--output COLUMN learns one of them{from})\n",
            list(&survey.further_learned)
        );
    }
    if survey.further_texts > 0 {
        text += &format!(
            "{} further columns of texts are left out: join them to one column with {}, where each says something of the output, \
             or --input COLUMN\n",
            survey.further_texts, input.name
        );
    }
    if !survey.further_inputs.is_empty() {
        let remedy = if input.kind == ColumnKind::Smiles {
            format!("--output {} learns molecules from one of them", shell_word(&input.name))
        } else {
            "learns from one of them".to_owned()
        };
        text += &format!(
            "left out as inputs: {} (--input COLUMN {remedy})\n",
            list(&survey.further_inputs)
        );
    }
    if let Some(line) = &survey.header_line {
        text += &format!("{line}\n");
    } else {
        survey.columns.iter().for_each(|column| text += &alone_in_front(column));
    }
    if let Some(name) = &survey.names_splits {
        text += &format!(
            "{name}: its cells name the split of each row, which --split column={name} takes\n"
        );
    }
    if !survey.header {
        text += "the first line is read as a row: columns are named by their places (--header says that it has the names)\n";
    }
    survey.columns.iter().for_each(|column| text += &doubts(column));
    let inchi = survey.columns.iter().find(|column| column.kind == ColumnKind::Inchi);
    if let Some(Column { name, .. }) = inchi.filter(|_| output.kind != ColumnKind::Smiles) {
        text += &format!(
            "{name}: molecules are read as SMILES, which RDKit's Chem.MolToSmiles(Chem.MolFromInchi(text)) makes of InChI\n"
        );
    }
    if survey.id.is_none() {
        text += "no column has an id for every row: the numbers of the lines are ids\n";
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// What is said of a class that only the first row has, as where that is a line of the header: nothing where there is none.
fn alone_in_front(column: &Column) -> String {
    let Column { name, example, .. } = column;
    let Some(line) = column.alone_in_front else { return String::new() };
    let class = shortened(example, 40);
    format!(
        "{name}: the class {class:?} stands on line {line} alone, and each other class in several rows (if the line is a second \
         one of names, remove it)\n"
    )
}

/// What is not sure of a column: cells that are not what it holds, or only in part.
fn doubts(column: &Column) -> String {
    let Column { name, kind, filled, invalid, repaired, example, .. } = column;
    let mut text = String::new();
    if let Some((line, cell)) = &invalid.first {
        let cell = shortened(cell, 40);
        text += &format!(
            "{name}: {kind} in {} of {filled} cells; the first other one is {cell:?} on line {line} (--as {name}=... \
             says what the column holds)\n",
            filled - invalid.count
        );
    }
    if let Some((line, cell)) = &repaired.first {
        let count = repaired.count;
        let cell = shortened(cell, 40);
        text += &format!(
            "{name}: {count} SMILES have a name or an extension behind them, which is left out (first on line {line}: \
             {cell:?})\n"
        );
    }
    let example = shortened(example, 40);
    if column.are_measures {
        let cell = shortened(column.measure.as_ref().unwrap_or(&column.example), 40);
        text += &format!(
            "{name}: cells such as {cell:?} are measures and read as {kind}; numbers have one number in a cell\n"
        );
    }
    if let Some(cell) = &column.unread_list {
        let cell = shortened(cell, 40);
        text += &format!(
            "{name}: cells such as {cell:?} are lists in a notation that is not read, so that they are {kind}; lists are \
             written [\"a\", \"b\"], and sets of labels a;b\n"
        );
    }
    if let Some(separator) = column.odd_separator {
        let sign = separator.to_string();
        text += &format!(
            "{name}: cells are divided into labels at {separator:?} (separator = {sign:?} beside the column in the configuration, \
             where another sign is between labels; --as {name}=classes or {name}=texts divides no cell)\n"
        );
    }
    if column.has_commas_in_names {
        text += &format!(
            "{name}: commas are read as parts of names (--as {name}=labels divides cells at them)\n"
        );
    }
    if let (ColumnKind::Numbers(notation), Some(cell)) = (kind, &column.thousand) {
        let [_, sign] = notation.names_of_signs();
        let other = notation.other_sign();
        let numbers = if notation.decimal == ',' {
            ", since three digits stand behind each point and the other numbers are below 1,000"
        } else {
            ", though every number has one before three digits"
        };
        text += &format!(
            "{name}: the {sign} in {cell:?} is read as that of thousands{numbers} (decimal = \"{other}\" beside the column in the \
             configuration reads it as a decimal {sign})\n"
        );
    }
    if let (ColumnKind::Numbers(notation), Some((line, cell))) = (kind, &column.unitless.first) {
        let unit = &notation.unit;
        let share =
            if column.are_shares { ", most likely a share (100 times as many %)" } else { "" };
        text += &format!(
            "{name}: {} of {filled} cells lack the unit {unit:?} and are read as numbers of it; the first one, on line {line}, \
             is {:?}{share}: write all in one unit\n",
            column.unitless.count,
            shortened(cell, 40),
        );
    }
    if let Some((line, cell)) = &column.below.first {
        text += &format!(
            "{name}: {} cells are read as amounts below 0, the first one {:?} on line {line}; if brackets or a sign behind mean \
             something else, remove these cells\n",
            column.below.count,
            shortened(cell, 40),
        );
    }
    if let (ColumnKind::Numbers(notation), Some(mixed)) = (kind, &column.mixed) {
        text += &format!("{name}: {}\n", points_and_commas(notation, mixed));
    }
    if let Some(cell) = &column.code {
        text += &format!(
            "{name}: cells such as {cell:?} are codes and no numbers, since all have as many digits and some begin with 0, and read \
             as {kind} (--as {name}=numbers reads numbers)\n"
        );
    }
    if let Some(cell) = &column.zero_in_front {
        text += &format!(
            "{name}: cells such as {cell:?} begin with 0 and are read as numbers, since not all have as many digits (--as \
             {name}=classes reads codes)\n"
        );
    }
    let are_labels = matches!(kind, ColumnKind::Labels(_));
    let what = if are_labels { "labels" } else { "classes" };
    for remark in remarks_on_spellings(what, &column.spellings) {
        text += &format!("{name}: {remark}\n");
    }
    if let Some(parts) = &column.reordered {
        text += &if matches!(kind, ColumnKind::Rankings(_)) {
            format!(
                "{name}: cells such as {example:?} are read as the rank of each item; where they are orders of items, the best \
                 first, write > between ({})\n",
                shortened(&parts.join(">"), 40)
            )
        } else {
            format!(
                "{name}: cells are the same parts in different orders, {example:?} and others; rankings are written {}\n",
                rankings(parts)
            )
        };
    }
    text
}

/// What is read of numbers some of which have a point and others a comma.
fn points_and_commas(notation: &NumberNotation, mixed: &PointsAndCommas) -> String {
    let [sign, other] = notation.names_of_signs();
    let cells = |Exceptions { count, first }: &Exceptions, sign: &str| {
        let first = first.as_ref().map(|(line, cell)| {
            format!(", the first one {:?} on line {line},", shortened(cell, 40))
        });
        format!("{count} cells with a {sign}{}", first.unwrap_or_default())
    };
    let usual = cells(&mixed.usual, sign);
    let others = cells(&mixed.others, other);
    if notation.mixed_decimals {
        format!(
            "{usual} and {others} are read as decimals, and neither sign groups thousands (mixed_decimals = true beside the column \
             in the configuration)"
        )
    } else {
        format!(
            "{others} are read as thousands, beside {usual} which is before decimals; where both are, the ones are 1000 times too \
             large, and mixed_decimals = true beside the column in the configuration reads them as decimals"
        )
    }
}

/// How a ranking is written whose parts are these: as an order of items, or also as the ranks of items.
fn rankings(parts: &[String]) -> String {
    let order = shortened(&parts.join(">"), 40);
    let order = format!("as orders of items, the best first, with > between ({order})");
    let mut ranks: Vec<usize> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    ranks.sort_unstable();
    if ranks.len() == parts.len() && ranks.into_iter().eq(1..=parts.len()) {
        let ranks = shortened(&parts.join(" "), 40);
        format!("as the rank of each item, with spaces between ({ranks}), or {order}")
    } else {
        order
    }
}

/// The first characters of a text.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
