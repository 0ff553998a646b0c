//! Which column of a table is the input, which one the output, and which one names the rows.

use dsokr_core::Argument;
use dsokr_core::message::{first_of, list, shorten};
use dsokr_data::cells::NumberNotation;
use dsokr_data::table::{Table, TextFormat};

use super::columns::Column;
use super::copies::copies_of;
use super::guess::names::{is_id, most_classes_named, words_of};
use super::guess::{CLASSES, is_inchikey};
use super::inputs::InputChoice;
use super::kind::ColumnKind;
use super::notations::remarks_on_notations;
use super::uses::{are_numbers, is_aside, is_set_aside, varies};
use crate::error::{Error, ensure};

/// Names of the numbers that ChEMBL's and BindingDB's tables are about, beside properties of molecules and names of targets.
const MEASURED: [&str; 8] = [
    "pchembl value",
    "pchembl_value",
    "ki (nm)",
    "ic50 (nm)",
    "kd (nm)",
    "ec50 (nm)",
    "kon (m-1-s-1)",
    "koff (s-1)",
];

/// Names that numbers and classes have which are learned, beside names of what they are of.
const LEARNED: [&str; 4] = ["y", "label", "labels", "affinity"];

/// Names of what is measured of several molecules together, as of a reaction.
const RESULTS: [&str; 3] = ["output", "yield", "target"];

/// The fewest rows that each molecule has in the mean, where those of two columns are measured together.
const ROWS_OF_A_MOLECULE: usize = 5;

/// The fewest neighbouring columns whose names differ in a number at the end alone, which are most likely one vector.
const LEAST_NUMBERED: usize = 3;

/// The fewest characters, in the mean, of ids that may say more than which row it is.
const LETTERS_OF_AN_INPUT: f64 = 10.0;

/// The fewest items whose ranks stand in columns of their own.
const LEAST_ITEMS: usize = 3;

/// The arguments that name columns.
const INPUT: &str = "input";
const OUTPUT: &str = "output";

/// The columns that a configuration uses.
#[derive(Clone, Debug)]
pub struct Roles {
    /// The column of the inputs.
    pub input: Column,
    /// The column of the outputs.
    pub output: Column,
    /// Further columns of numbers, which are outputs too.
    pub further: Vec<Column>,
    /// Whether nobody has chosen the outputs.
    pub are_found: bool,
    /// The columns whose molecules are those of the input, and which are therefore no outputs that nobody has chosen.
    pub copies: Vec<String>,
    /// The column of the ids; `None` if the numbers of the lines are.
    pub id: Option<String>,
}

impl Roles {
    /// Returns the columns of the outputs, the first one first.
    pub fn outputs(&self) -> impl Iterator<Item = &Column> {
        [&self.output].into_iter().chain(&self.further)
    }

    /// Returns whether the outputs are of several columns, each row of which has the numbers from 1 on in some order, as ranks of items.
    ///
    /// # Errors
    /// Columns that the table was not read with.
    pub(super) fn are_ranks(&self, table: &Table) -> Result<bool, Error> {
        let count = 1 + self.further.len();
        if count < LEAST_ITEMS {
            return Ok(false);
        }
        let mut columns = Vec::with_capacity(count);
        for output in self.outputs() {
            columns.push(table.column(&output.name)?);
        }
        let is_ranked = |row: usize| {
            let mut ranks: Vec<usize> =
                columns.iter().filter_map(|cells| cells[row].parse().ok()).collect();
            ranks.sort_unstable();
            ranks.into_iter().eq(1..=count)
        };
        Ok((0..table.len()).all(is_ranked))
    }

    /// Chooses among columns of a table; `input` and `outputs` are names that the caller gives, and `left_out` says in errors
    /// which other columns there are.
    ///
    /// # Errors
    /// Names of no column; no column of texts or of outputs; inputs that are numbers in a notation of their own; the same column
    /// for both.
    pub(super) fn choose(
        columns: &[Column],
        table: &Table,
        input: Option<&str>,
        outputs: &[String],
        left_out: &dyn Fn() -> String,
    ) -> Result<Self, Error> {
        let input = input.map(|name| named(columns, INPUT, name)).transpose()?;
        let outputs = outputs.iter().map(|name| named(columns, OUTPUT, name));
        let outputs = outputs.collect::<Result<Vec<&Column>, Error>>()?;
        check_together(&outputs)?;

        let taken = outputs.first().map(|output| output.name.as_str());
        let input = input
            .or_else(|| InputChoice { columns, output: taken }.choose())
            .ok_or_else(|| missing(columns, table, INPUT, "texts", &left_out()))?;
        check_numbers(input)?;
        let rows = table.len();
        let copies =
            if outputs.is_empty() { copies_of(input, columns, table)? } else { Vec::new() };
        let are_found = outputs.is_empty();
        let (output, further) = match outputs.split_first() {
            Some((output, further)) => (*output, further.to_vec()),
            None => {
                let what = "SMILES, rankings, labels, classes, numbers or further texts";
                let output = output_of(columns, input, &copies).ok_or_else(|| {
                    let left_out = left_out() + &said_of_copies(&copies, input);
                    missing(columns, table, OUTPUT, what, &left_out)
                })?;
                (output, numbers_beside(columns, input, output, rows))
            }
        };
        ensure(
            input.name != output.name,
            Argument::new(OUTPUT),
            format!("{:?}", output.name),
            "a column other than the input's",
        )?;

        let is_free = |column: &&Column| {
            let outputs = [output].into_iter().chain(further.iter().copied());
            column.name != input.name
                && !outputs.into_iter().any(|output| output.name == column.name)
        };
        let id = columns.iter().filter(is_free).find(|column| names_rows(column, rows));
        Ok(Self {
            input: input.clone(),
            output: output.clone(),
            further: further.into_iter().cloned().collect(),
            are_found,
            copies,
            id: id.map(|column| column.name.clone()),
        })
    }
}

/// Returns what an error says of columns with the molecules of the input: nothing where there are none.
fn said_of_copies(copies: &[String], input: &Column) -> String {
    if copies.is_empty() {
        return String::new();
    }
    let names = list(copies);
    format!("; no outputs, since their molecules are those of {:?}: {names}", input.name)
}

/// Returns the column of a name that an argument gives.
fn named<'c>(
    columns: &'c [Column],
    argument: &'static str,
    name: &str,
) -> Result<&'c Column, Error> {
    let column = columns.iter().find(|column| column.name == name);
    let names = || columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    column.ok_or_else(|| Error::value(Argument::new(argument), format!("{name:?}"), list(&names())))
}

/// Returns the error for a table without a column that an argument could name.
fn missing(
    columns: &[Column],
    table: &Table,
    argument: &'static str,
    what: &str,
    left_out: &str,
) -> Error {
    let name = |column: &Column| {
        let time = if column.are_times { ", points in time" } else { "" };
        format!("{:?} ({}{time})", shorten(&column.name), column.kind)
    };
    let names = first_of(columns.iter().map(name));
    let mut allowed = if names.is_empty() {
        "a table that has one".to_owned()
    } else {
        format!("the name of one: {names}")
    };
    allowed += left_out;
    allowed += &said_of_notations(columns);
    if argument == INPUT {
        allowed += &said_of_inchikeys(columns);
        allowed += &said_of_ids(columns);
    } else {
        allowed += &said_of_columns_aside(columns);
    }
    allowed += &said_of_kinds(columns);
    if argument == INPUT {
        allowed += &said_of_numbers(columns, table);
    }
    Error::value(Argument::new(argument), format!("no column of {what}"), allowed)
}

/// Returns what an error says of columns of molecules that are not written as SMILES; nothing where there is none.
fn said_of_notations(columns: &[Column]) -> String {
    remarks_on_notations(columns).into_iter().map(|remark| format!(" ({remark})")).collect()
}

/// Returns what an error says of a column of InChIKeys, which are no inputs; nothing where there is none.
fn said_of_inchikeys(columns: &[Column]) -> String {
    let are_keys =
        |column: &&Column| column.kind == ColumnKind::Ids && is_inchikey(&column.example);
    columns.iter().find(are_keys).map_or(String::new(), |Column { name, .. }| {
        format!(
            " (the InChIKeys in {name:?} are alike only where molecules are the same, so that nothing is learned from them: write \
             the SMILES beside them)"
        )
    })
}

/// Returns what an error says of columns of points in time, years and the like, which are outputs only where somebody says so;
/// nothing where there are none.
fn said_of_columns_aside(columns: &[Column]) -> String {
    let first = |is_one: fn(&Column) -> bool| {
        let column = columns.iter().find(|column| is_one(column) && varies(column))?;
        Some(Argument::new(OUTPUT).with(&column.name))
    };
    let mut text = String::new();
    if let Some(output) = first(|column| column.are_times) {
        text += &format!("; points in time are learned only where {output} says so");
    }
    if let Some(output) = first(is_set_aside) {
        text += &format!("; years, folds and the like are learned only where {output} says so");
    }
    text
}

/// Returns what an error says of kinds that columns are wrongly found to be of.
fn said_of_kinds(columns: &[Column]) -> String {
    let mut text = String::new();
    if columns.iter().any(|column| column.kind != ColumnKind::Nothing) {
        let kind = Argument::new("as").with("COLUMN=KIND");
        text += &format!("; {kind} says what a column holds, where what is found out is wrong");
    }
    for Column { name, classes, .. } in columns {
        let Some(code) = &classes.code else { continue };
        let as_numbers = Argument::new("as").with(format_args!("{name}=numbers"));
        text += &format!(
            "; cells such as {code:?} in {name:?} are taken for codes: {as_numbers} reads numbers"
        );
    }
    text
}

/// Returns what an error says of ids that may be more than names of rows, which are inputs only where somebody says so: those with the
/// most characters, if these are many; nothing of others.
fn said_of_ids(columns: &[Column]) -> String {
    let may_be_inputs = |column: &&Column| {
        column.kind == ColumnKind::Ids
            && column.words.length >= LETTERS_OF_AN_INPUT
            && !is_id(&column.name)
            && !is_inchikey(&column.example)
    };
    let longest = columns
        .iter()
        .filter(may_be_inputs)
        .max_by(|a, b| a.words.length.total_cmp(&b.words.length));
    longest.map_or(String::new(), |Column { name, .. }| {
        let input = Argument::new(INPUT).with(name);
        format!("; {input} learns from the characters of {name:?}, which else are ids")
    })
}

/// Returns what an error says of several columns of numbers, or of bits, which can be one input; nothing where there are few.
fn said_of_numbers(columns: &[Column], table: &Table) -> String {
    // bits are classes
    let are_bits = |column: &Column| {
        matches!(column.kind, ColumnKind::Classes(_)) && column.example.parse::<f64>().is_ok()
    };
    let are_one_input = |column: &Column| are_numbers(column) || are_bits(column);
    let runs = columns.split(|column| !are_one_input(column));
    let run = runs.max_by_key(|run| run.len()).unwrap_or_default();
    let is_numbered_alike = |a: &Column, b: &Column| stem(&a.name) == stem(&b.name);
    let numbered = run.chunk_by(is_numbered_alike).max_by_key(|group| group.len());
    let numbered = numbered.filter(|group| (LEAST_NUMBERED..columns.len()).contains(&group.len()));
    let others = || match run.split_last() {
        // one is left to learn
        Some((_, others)) if run.len() == columns.len() => others,
        Some(_) | None => run,
    };
    let [first, .., last] = numbered.unwrap_or_else(others) else { return String::new() };
    if !TextFormat::from_path(table.path()).has_separators() {
        return "; several columns of numbers are one vector as a list in one column, which pandas makes by \
                frame[columns].values.tolist()"
            .to_owned();
    }
    let range = Argument::new(INPUT).with(format!("{}..{}", first.name, last.name));
    format!(
        "; neighbouring columns of numbers are one vector by the names of the first and the last of them, as in {range}"
    )
}

/// Returns a name without the number at its end.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Refuses inputs that are numbers which only outputs may be, or vectors of numbers with decimal commas.
fn check_numbers(input: &Column) -> Result<(), Error> {
    if let Some(cell) = &input.lists.decimal_commas {
        let found = format!("{:?} (vectors such as {:?})", input.name, shorten(cell));
        let as_texts = Argument::new("as").with(format_args!("{}=texts", input.name));
        let allowed = format!(
            "numbers with decimal points: commas stand between the numbers of an input, and not before decimals; or texts, by \
             {as_texts}"
        );
        return Err(Error::value(Argument::new(INPUT), found, allowed));
    }
    let ColumnKind::Numbers(notation) = &input.kind else { return Ok(()) };
    let found = format!("{:?} ({})", input.name, input.kind);
    let as_texts = Argument::new("as").with(format_args!("{}=texts", input.name));
    let allowed =
        format!("numbers with a decimal point and without units, or texts, by {as_texts}");
    ensure(*notation == NumberNotation::default(), Argument::new(INPUT), found, allowed)
}

/// Refuses several columns of outputs that are not all plain numbers.
fn check_together(outputs: &[&Column]) -> Result<(), Error> {
    let other = outputs.iter().find(|column| !are_plain_numbers(column));
    match other {
        Some(other) if outputs.len() > 1 => {
            let columns = format!("{:?} beside others", other.name);
            let mut allowed =
                "one column, or several of numbers with decimal points and without units"
                    .to_owned();
            if are_numbers(other) {
                allowed += &format!("; this one has {}", other.kind);
            }
            if matches!(other.kind, ColumnKind::Classes(_)) {
                let as_numbers = Argument::new("as").with("COLUMN=numbers");
                allowed += &format!(
                    "; columns of classes are joined to one column of labels, or read by {as_numbers}"
                );
            }
            Err(Error::value(Argument::new(OUTPUT), columns, allowed))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether a column has an id of its own for each row.
fn names_rows(column: &Column, rows: usize) -> bool {
    (column.kind == ColumnKind::Ids || column.words.would_be_ids) && column.distinct == rows
}

/// Returns the column of the outputs, whose cells differ, and whose molecules are not those of the input: the first of the kind
/// that says most.
fn output_of<'c>(columns: &'c [Column], input: &Column, copies: &[String]) -> Option<&'c Column> {
    let is_free = |column: &&Column| {
        column.name != input.name && !copies.contains(&column.name) && !is_aside(column)
    };
    let free = columns.iter().filter(is_free);
    let ranked = free.filter(|column| varies(column)).filter_map(|column| {
        if are_measured_together(columns, input, column) {
            return Some((UNLESS_NOTHING_ELSE, column));
        }
        Some((preference(column, input, is_learned(columns, column))?, column))
    });
    // where two kinds say as much, one that few cells are not of
    let is_doubtful = |column: &Column| 10 * column.readings.invalid.count > column.filled;
    // of what is measured, each row has one or two
    let gaps = |column: &Column| if is_measured(column) { column.unusable() } else { 0 };
    let best =
        ranked.min_by_key(|&(preference, column)| (preference, is_doubtful(column), gaps(column)));
    best.map(|(_, column)| column)
}

/// Returns whether the molecules of the input and of another column are rather measured together than one learned from the other, as
/// those of a reaction: there is a column of numbers or classes, and both recur, or the name of a column of numbers says so.
fn are_measured_together(columns: &[Column], input: &Column, other: &Column) -> bool {
    if input.kind != ColumnKind::Smiles || other.kind != ColumnKind::Smiles {
        return false;
    }
    let recurs = |column: &Column| ROWS_OF_A_MOLECULE * column.distinct <= column.filled;
    let is_result = |column: &Column| {
        let words = words_of(&column.name);
        are_numbers(column) && words.len() == 1 && RESULTS.contains(&words[0].as_str())
    };
    let are_values =
        |column: &Column| are_numbers(column) || matches!(column.kind, ColumnKind::Classes(_));
    let mut values = columns.iter().filter(|column| are_values(column) && varies(column));
    let both_recur = recurs(input) && recurs(other);
    values.any(|column| !is_aside(column) && (both_recur || is_result(column)))
}

/// Returns whether a column has the name of what is measured in ChEMBL's or BindingDB's tables.
fn is_measured(column: &Column) -> bool {
    are_numbers(column) && MEASURED.contains(&column.name.to_lowercase().as_str())
}

/// Returns whether a column has the name of what is learned. Beside `x`, `y` is a coordinate.
fn is_learned(columns: &[Column], column: &Column) -> bool {
    let name = column.name.to_lowercase();
    let is_x = |other: &Column| other.name.eq_ignore_ascii_case("x");
    let is_yield = words_of(&name) == ["yield"];
    let is_named = is_yield || LEARNED.contains(&name.as_str());
    is_named && !(name == "y" && columns.iter().any(is_x))
}

/// Returns whether a column holds numbers without units or decimal commas, which can be read together with others.
fn are_plain_numbers(column: &Column) -> bool {
    let plain = ColumnKind::Numbers(NumberNotation::default());
    column.kind == plain && !column.name.contains("..")
}

/// The largest share of rows that may lack a number of a further column, as a divisor.
const GAPS: usize = 20;

/// Returns the columns of numbers beside an output that is one, in a table of so many rows.
fn numbers_beside<'c>(
    columns: &'c [Column],
    input: &Column,
    output: &Column,
    rows: usize,
) -> Vec<&'c Column> {
    if !are_plain_numbers(output) || is_measured(output) {
        return Vec::new();
    }
    let is_further = |column: &&Column| {
        let is_free = column.name != input.name && column.name != output.name;
        let is_full = GAPS * (column.empty + column.readings.invalid.count) <= rows;
        is_free && is_full && varies(column) && are_plain_numbers(column) && !is_aside(column)
    };
    columns.iter().filter(is_further).collect()
}

/// The place of columns in the order in which outputs are preferred that are outputs unless nothing else is learned.
const UNLESS_NOTHING_ELSE: usize = 7;

/// Returns the place of a column in the order in which outputs are preferred, beside this input; none of kinds that are no
/// outputs. Numbers and classes may have the name of what is learned.
fn preference(column: &Column, input: &Column, is_learned: bool) -> Option<usize> {
    if is_measured(column) {
        return Some(1);
    }
    // codes of many things, and many names beside molecules, say what a row is about
    let are_codes = column.words.have_digits || input.kind == ColumnKind::Smiles;
    let is_named = most_classes_named(&column.name).is_some();
    let name_rows = are_codes && !is_named;
    match column.kind {
        ColumnKind::Smiles => Some(0),
        ColumnKind::Rankings(_) | ColumnKind::Orders(_) => Some(1),
        // names and phrases, unless nothing else is learned
        ColumnKind::Labels(' ' | ',') if column.classes.are_phrases => Some(UNLESS_NOTHING_ELSE),
        ColumnKind::Labels(' ') => Some(4),
        ColumnKind::Labels(_) => Some(2),
        ColumnKind::Classes(_) | ColumnKind::Numbers(_) if is_learned => Some(3),
        ColumnKind::Classes(count) if count > CLASSES && name_rows => Some(UNLESS_NOTHING_ELSE),
        // months and the like, unless nothing else is learned
        ColumnKind::Classes(_) if column.classes.code.is_some() && !is_named => {
            Some(UNLESS_NOTHING_ELSE)
        }
        ColumnKind::Classes(_) => Some(5),
        ColumnKind::Numbers(_) | ColumnKind::Vectors(_) => Some(6),
        ColumnKind::Texts => Some(8),
        ColumnKind::Ids | ColumnKind::Inchi | ColumnKind::Dates | ColumnKind::Nothing => None,
    }
}
