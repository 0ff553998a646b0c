//! Numbers of a column, or of several columns.

use dsokr_basis::features::DenseRows;
use dsokr_core::message::shorten;
use dsokr_core::rounding::Rounding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedRows, OutputKind, OutputTable, fixed_rows};
use crate::cells::{self, Alike, MixedSigns, NumberNotation};
use crate::error::{Error, check};
use crate::joined::{ColumnNames, parts, shown};
use crate::rounding::check_rounding;
use crate::table::Table;
use crate::truth::{Truth, bad};

/// Numbers of a column, or of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberFeatures {
    /// The column. Each cell holds one number, or as many as most cells: with spaces or commas between them, or as a list in
    /// brackets. A space may also group thousands (`1 334,70`), where nearly all cells can be read as one number, and with decimal
    /// points one has no space (`950`) or a group that begins with 0 (`1 050`).
    /// A list of columns, such as `["logp", "tpsa"]`, has a number of each.
    pub column: ColumnNames,
    /// The sign before decimals: `"."`, or `","` as in `1.234,50`. The other one may group thousands.
    #[serde(default = "point", skip_serializing_if = "is_point")]
    pub decimal: char,
    /// The unit or currency that may stand before or behind the number of a cell, as in `"€"` or `"mg/L"`. An amount below 0 has
    /// its sign before the currency (`-€85`) or the digits, or, where there is no unit other than a currency, behind decimals (`85.12-`) or is in brackets
    /// (`(€85)`). There a dash behind a point or comma stands for no cents (`25.-`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Whether the other sign is before decimals too, in some cells (`1.5` beside `1,75`), so that neither of both groups
    /// thousands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed_decimals: bool,
}

dsokr_core::defaults!(point: char = '.');

fn is_point(decimal: &char) -> bool {
    *decimal == '.'
}

/// A number, of 32 and of 64 bits.
type Number = (f32, f64);

/// Returns a number; none of a text that is anything else.
fn parse_number(text: &str, notation: &NumberNotation) -> Option<Number> {
    let normalised;
    let text = if text.parse::<f64>().is_ok() && notation.decimal == '.' {
        text
    } else {
        normalised = notation.normalised(text)?;
        &normalised
    };
    let number = text.parse::<f32>().ok().filter(|number| number.is_finite());
    number.zip(text.parse::<f64>().ok())
}

/// The smallest share of cells that must hold several numbers, if blanks divide numbers in all, as a divisor.
const WITH_SEVERAL: usize = 20;

/// What blanks between digits do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blanks {
    /// Blanks may group thousands.
    Group,
    /// Blanks divide numbers.
    Divide,
}

impl Blanks {
    /// Returns the numbers of a cell; none where it holds anything else.
    fn read(self, cell: &str, notation: &NumberNotation) -> Option<Vec<Number>> {
        let may_be_one = match self {
            Self::Group => cell.split_whitespace().nth(cells::GROUPS).is_none(),
            Self::Divide => false,
        };
        let one = if may_be_one { parse_number(cell, notation) } else { None };
        one.map(|number| vec![number]).or_else(|| divided(cell, None, notation))
    }

    /// Returns the numbers of each cell of a column; none where one holds anything else. Blanks that may group thousands divide
    /// numbers in all cells where no cell [says that they group](NumberNotation::blanks_group), or some cells hold several.
    fn read_all<S: AsRef<str>>(
        self,
        cells: &[S],
        notation: &NumberNotation,
    ) -> Vec<Option<Vec<Number>>> {
        let read = |blanks: Self| -> Vec<Option<Vec<Number>>> {
            cells.iter().map(|cell| blanks.read(cell.as_ref(), notation)).collect()
        };
        if self == Self::Divide || !notation.blanks_group(cells.iter().map(AsRef::as_ref)) {
            return read(Self::Divide);
        }
        let grouped = read(Self::Group);
        // where some cells hold several numbers, others that may be one, such as `1 999`, hold several too
        let several = grouped.iter().flatten().filter(|numbers| numbers.len() > 1).count();
        if WITH_SEVERAL * several >= grouped.len() { read(Self::Divide) } else { grouped }
    }
}

/// Returns the numbers of a cell that is to hold so many; none where it does not.
fn numbers_of(cell: &str, count: usize, notation: &NumberNotation) -> Option<Vec<Number>> {
    // a space groups thousands where most cells hold one number
    let one = || parse_number(cell, notation).filter(|_| count == 1);
    divided(cell, Some(count), notation).or_else(|| Some(vec![one()?]))
}

/// Returns the numbers of a list, or of a cell in which blanks, commas or other spaces divide them: so many, if a count is given.
fn divided(cell: &str, count: Option<usize>, notation: &NumberNotation) -> Option<Vec<Number>> {
    let number = |text: &str| parse_number(text, notation);
    let fits = |numbers: &Vec<Number>| {
        !numbers.is_empty() && count.is_none_or(|count| numbers.len() == count)
    };
    if let Some(parts) = cells::list(cell) {
        let numbers: Option<Vec<Number>> = parts.iter().map(|part| number(part)).collect();
        return numbers.filter(fits);
    }
    if !notation.unit.is_empty() {
        return Some(vec![number(cell)?]).filter(fits);
    }
    // an amount below 0, such as `(1,234.50)` or `85.12-`, is no part of several numbers
    let is_amount = |part: &str| part.contains('(') || part.ends_with('-');
    if cell.split([' ', ',']).any(is_amount) {
        return Some(vec![number(cell)?]).filter(fits);
    }
    let at_blanks: Option<Vec<Number>> = cell.split_ascii_whitespace().map(number).collect();
    // `84,44` alone has a decimal comma
    let is_list = cell.contains('.') || cell.matches(',').count() > 1 || count.is_some();
    let at_commas = || -> Option<Vec<Number>> {
        let parts = cell.split(',').map(|part| number(part.trim()));
        if notation.decimal == '.' && is_list { parts.collect() } else { None }
    };
    let at_spaces = || cell.split_whitespace().map(number).collect::<Option<Vec<Number>>>();
    at_blanks.filter(fits).or_else(|| at_commas().filter(fits)).or_else(|| at_spaces().filter(fits))
}

/// Returns the vector of each cell of a column, as long as that of most cells: blanks and commas divide its numbers.
///
/// # Errors
/// [`dsokr_core::Error::File`] for another cell.
pub(crate) fn vectors<'t>(
    table: &'t Table,
    column: &'t str,
) -> Result<impl Iterator<Item = Result<Vec<Number>, Error>> + 't, Error> {
    let remedy = |cell: &str| {
        has_decimal_commas(cell).then_some(
            "numbers with decimal points: commas stand between the numbers of an input, and not before decimals",
        )
    };
    numbers_or(table, column, NumberNotation::default(), Blanks::Divide, remedy)
}

/// Returns whether a cell has numbers between blanks, with a comma before decimals in some.
fn has_decimal_commas(cell: &str) -> bool {
    let is_number = |word: &str| {
        let is_whole = !word.starts_with(',') && !word.ends_with(',');
        is_whole && word.replacen(',', ".", 1).parse::<f64>().is_ok_and(f64::is_finite)
    };
    cell.contains(',') && !cell.contains('.') && cell.split_whitespace().all(is_number)
}

/// Returns which cells of a column that holds one number a row may be wrongly read as thousands; none where none is.
pub(crate) fn doubtful_thousands(
    table: &Table,
    column: &str,
    notation: &NumberNotation,
) -> Option<String> {
    let cells = table.column(column).ok().filter(|_| !notation.mixed_decimals)?;
    let MixedSigns { own, grouped, are_decimals, are_apart, .. } = notation.mixed_signs(cells)?;
    let grouped = grouped.filter(|_| are_decimals || are_apart)?;
    let [sign, other] = notation.names_of_signs();
    let first = |Alike { first, .. }: Alike| {
        format!("{:?} on line {}", shorten(cells[first].trim()), table.line(first))
    };
    Some(format!(
        "the {other} in {} cells of the column {column:?}, first in {}, is read as that of thousands, beside {} cells with a {sign} \
         before decimals, first in {}",
        grouped.count,
        first(grouped),
        own.count,
        first(own),
    ))
}

/// Returns the numbers of each cell of a column; [`dsokr_core::Error::File`] for a cell that does not hold as many
/// finite numbers as most cells, or as there are columns in one.
fn numbers<'t>(
    table: &'t Table,
    column: &'t str,
    notation: NumberNotation,
    blanks: Blanks,
) -> Result<impl Iterator<Item = Result<Vec<Number>, Error>> + 't, Error> {
    numbers_or(table, column, notation, blanks, |_| None)
}

/// Returns the numbers as [`numbers`] does. What `needed` says of a wrong cell stands in the error about it.
fn numbers_or<'t>(
    table: &'t Table,
    column: &'t str,
    notation: NumberNotation,
    blanks: Blanks,
    needed: impl Fn(&str) -> Option<&'static str> + 't,
) -> Result<impl Iterator<Item = Result<Vec<Number>, Error>> + 't, Error> {
    let columns = parts(column).count();
    let cells = table.column(column)?;
    let read = blanks.read_all(cells, &notation);
    let expected = if columns > 1 && !column.contains("..") {
        columns
    } else {
        usual(read.iter().flatten().map(Vec::len)).unwrap_or(1)
    };
    let numbers = move |((row, cell), numbers): ((usize, &String), Option<Vec<Number>>)| {
        let is_expected = |numbers: &Vec<Number>| numbers.len() == expected;
        let numbers = numbers.filter(is_expected);
        numbers.or_else(|| numbers_of(cell, expected, &notation)).ok_or_else(|| {
            let allowed = match (needed(cell), expected) {
                (Some(needed), _) => needed.to_owned(),
                (None, 1) => "a finite number".to_owned(),
                (None, count) if columns > 1 => format!("{count} finite numbers, one of each"),
                (None, count) => format!("{count} finite numbers, as in most rows"),
            };
            let cell = shorten(cell.trim());
            let name = if columns > 1 { "columns" } else { "column" };
            let message = format!("{cell:?} in the {name} {}: expected {allowed}", shown(column));
            table.error(row, message)
        })
    };
    Ok(cells.iter().enumerate().zip(read).map(numbers))
}

/// Returns the most frequent of some numbers, of equally frequent ones that which comes first; none of none.
fn usual(numbers: impl Iterator<Item = usize>) -> Option<usize> {
    let mut counts: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match counts.iter_mut().find(|(counted, _)| *counted == number) {
            Some((_, count)) => *count += 1,
            None => counts.push((number, 1)),
        }
    }
    // of equal ones `max_by_key` takes the last
    counts.into_iter().rev().max_by_key(|&(_, count)| count).map(|(number, _)| number)
}

impl NumberFeatures {
    /// Returns how the numbers of the column are written.
    fn notation(&self) -> NumberNotation {
        NumberNotation {
            decimal: self.decimal,
            unit: self.unit.clone(),
            mixed_decimals: self.mixed_decimals,
        }
    }

    /// Returns what blanks do in cells: those of several columns have one between each two.
    fn blanks(&self) -> Blanks {
        let is_one = self.column.names().count() == 1 && !self.column.as_str().contains("..");
        if is_one { Blanks::Group } else { Blanks::Divide }
    }

    /// Returns numbers as a cell of the column holds them, without a unit. Several that would be read as one, such as `100 200`,
    /// have decimals.
    pub fn cell(&self, numbers: &[f32]) -> String {
        let cell = |write: fn(&f32) -> String| {
            let cell = numbers.iter().map(write).collect::<Vec<_>>().join(" ");
            if self.decimal == '.' { cell } else { cell.replace('.', &self.decimal.to_string()) }
        };
        let plain = cell(f32::to_string);
        let is_ambiguous = numbers.len() > 1 && parse_number(&plain, &self.notation()).is_some();
        if is_ambiguous { cell(|number| format!("{number:?}")) } else { plain }
    }

    /// Returns the numbers of a cell that [`cell`](Self::cell) has written, each with a decimal point.
    pub fn numbers(&self, cell: &str) -> Vec<String> {
        cell.split(' ').map(|number| number.replace(self.decimal, ".")).collect()
    }

    /// Returns the names of the numbers that a row has, where there is a column for each; none elsewhere.
    pub fn targets(&self) -> Vec<String> {
        let names: Vec<&str> = self.column.names().collect();
        if names.len() > 1 && !names.iter().any(|name| name.contains("..")) {
            names.into_iter().map(str::to_owned).collect()
        } else {
            Vec::new()
        }
    }

    /// Refuses numbers of one place in all cells that 32 bits do not tell apart.
    fn check_rounding(
        &self,
        table: &Table,
        numbers: impl Iterator<Item = Number>,
    ) -> Result<(), Error> {
        let mut rounding = Rounding::default();
        numbers.for_each(|(narrow, wide)| rounding.add(narrow, wide));
        let column = shown(self.column.as_str());
        check_rounding(table.path(), &[rounding], false, |_| format!("in the column {column}"))
    }
}

/// Returns rows of numbers, which are compared as 64 bits hold them.
fn wide(rows: &[Vec<Number>]) -> Truth {
    Truth::Numbers(rows.iter().map(|row| row.iter().map(|&(_, wide)| wide).collect()).collect())
}

impl OutputKind for NumberFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(self.column.as_str()), is_compared: true, ..Default::default() }
    }

    fn validate(&self, key: &str) -> Result<(), Error> {
        let holds = ['.', ','].contains(&self.decimal);
        check(holds, format!("{key}.decimal"), format!("{:?}", self.decimal), "\".\" or \",\"")
    }

    fn doubt(&self, table: &Table) -> Option<String> {
        let column = Some(self.column.as_str()).filter(|_| self.blanks() == Blanks::Group)?;
        let doubt = doubtful_thousands(table, column, &self.notation())?;
        let key = "output.features.mixed_decimals = true";
        Some(format!("{doubt}; if both are before decimals, {key} reads them so"))
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(numbers(table, self.column.as_str(), self.notation(), self.blanks())?))
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(wide(
            &numbers(table, self.column.as_str(), self.notation(), self.blanks())?
                .collect::<Result<Vec<_>, _>>()?,
        )))
    }

    /// Returns the numbers that the labels are; none where a label is not numbers.
    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let notation = self.notation();
        let read: Option<Vec<_>> = self.blanks().read_all(labels, &notation).into_iter().collect();
        let count = usual(read.iter().flatten().map(Vec::len)).unwrap_or(1);
        let number = |(label, numbers): (&&str, Vec<Number>)| {
            let is_usual = numbers.len() == count;
            if is_usual { Some(numbers) } else { numbers_of(label, count, &notation) }
        };
        let rows: Option<Vec<_>> =
            read.and_then(|read| labels.iter().zip(read).map(number).collect());
        Ok(rows.as_deref().map(wide))
    }

    /// Refuses numbers that 32 bits do not tell apart.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let rows = numbers(from.table, self.column.as_str(), self.notation(), self.blanks())?
            .collect::<Result<Vec<_>, _>>()?;
        let width = rows.first().map_or(1, Vec::len);
        (0..width)
            .try_for_each(|at| self.check_rounding(from.table, rows.iter().map(|row| row[at])))?;
        from.truth = Some(wide(&rows));
        let narrow: Vec<f32> = rows.iter().flatten().map(|&(narrow, _)| narrow).collect();
        Ok(fixed_rows(DenseRows::new(width, narrow)?))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn features(column: &str, decimal: char) -> NumberFeatures {
        NumberFeatures {
            column: column.into(),
            decimal,
            unit: String::new(),
            mixed_decimals: false,
        }
    }

    /// Returns the numbers of cells; an empty row where a cell cannot be read.
    fn read(features: &NumberFeatures, cells: &[&str]) -> Vec<Vec<f64>> {
        let cells: Vec<String> = cells.iter().map(|&cell| cell.to_owned()).collect();
        let name = features.column.as_str();
        let table = Table::numbered(Path::new("a.csv"), "id", [(name, cells)]);
        let rows = numbers(&table, name, features.notation(), features.blanks()).unwrap();
        let wide = |row: Vec<Number>| -> Vec<f64> { row.iter().map(|&(_, wide)| wide).collect() };
        rows.map(|row| row.map(wide).unwrap_or_default()).collect()
    }

    #[test]
    fn a_space_groups_thousands_where_most_cells_hold_one_number() {
        let plain = features("x", '.');
        for space in [" ", "\u{a0}", "\u{202f}", "\u{2009}"] {
            let cells = ["3 799", "950", "11 397.5"].map(|cell| cell.replace(' ', space));
            let cells = cells.each_ref().map(String::as_str);
            assert_eq!(read(&plain, &cells), [[3799.0], [950.0], [11397.5]], "{space:?}");
        }
        assert_eq!(read(&features("x", ','), &["1 334,70", "0,5"]), [[1334.7], [0.5]]);
        // several numbers, as in most rows
        let rows = [[1.5, 2.0], [100.0, 200.0], [3.0, 45.0]];
        assert_eq!(read(&plain, &["1.5 2", "100 200", "3 45"]), rows);
        assert_eq!(read(&plain, &["1.5\u{a0}2", "100 200", "3\u{a0}45"]), rows);
        // a cell that holds several says that the others do too
        assert_eq!(read(&plain, &["0 1000", "1 999", "2 998"])[1], [1.0, 999.0]);
        let pixels = "255 128 100 255 128 100";
        assert_eq!(read(&plain, &[pixels])[0].len(), 6);
        // where no cell says that blanks group, they divide
        let colours = ["197 118 103", "210 221 186", "114 158 145"];
        assert_eq!(read(&plain, &colours)[0], [197.0, 118.0, 103.0]);
        assert_eq!(read(&plain, &["640 480", "1 200"]), [[640.0, 480.0], [1.0, 200.0]]);
        assert_eq!(read(&plain, &["3 799", "11 050"]), [[3799.0], [11050.0]]);
        assert_eq!(read(&plain, &["3 799", "950"]), [[3799.0], [950.0]]);
        let truth = plain.truth_of_labels(&["640 480", "320 240"]).unwrap();
        assert_eq!(truth, Some(Truth::Numbers(vec![vec![640.0, 480.0], vec![320.0, 240.0]])));
        // several columns have a blank between each two
        for column in ["a\u{1f}b", "a..b"] {
            let cells = ["100 200", "3\u{a0}799 1"];
            assert_eq!(read(&features(column, '.'), &cells), [[100.0, 200.0], [3799.0, 1.0]]);
        }
    }

    #[test]
    fn commas_and_lists_divide_numbers() {
        let plain = features("x", '.');
        let rows = [[0.5, 1.0, -2.0], [100.0, 200.0, 300.0]];
        for cells in [
            ["0.5,1,-2", "100,200,300"],
            ["0.5, 1, -2", "100, 200, 300"],
            ["[0.5 1. -2]", "[100 200\n 300]"],
            ["tensor([0.5, 1, -2])", "{100,200,300}"],
        ] {
            assert_eq!(read(&plain, &[cells[0], cells[0], cells[1]])[1..], rows, "{cells:?}");
        }
        // one number with a comma before decimals is refused, and one with groups is one
        assert_eq!(read(&plain, &["84,44", "1,234"]), [vec![], vec![1234.0]]);
        // an amount below 0 is one number, and no part of several
        let amounts = ["(1,234.50)", "85.12-", "7.25"];
        assert_eq!(read(&plain, &amounts), [[-1234.5], [-85.12], [7.25]]);
        assert_eq!(read(&plain, &["5 (3)", "7 (2)"]), [vec![], Vec::<f64>::new()]);
    }

    #[test]
    fn commas_before_decimals_of_inputs_are_named() {
        let error = |cell: &str| {
            let cells = vec![cell.to_owned()];
            let table = Table::numbered(Path::new("a.csv"), "id", [("x", cells)]);
            vectors(&table, "x").unwrap().find_map(Result::err).unwrap().to_string()
        };
        for cell in ["3,431E+03 7,102E+04 2,707E+02", "3431,3 71021,7 270,7", "7,08", "-7,08 3"] {
            let error = error(cell);
            assert!(error.contains("expected numbers with decimal points"), "{error}");
        }
        for cell in ["abc", "7,08 NaN", "7.5 x", "1,2,x"] {
            let error = error(cell);
            assert!(error.ends_with("expected a finite number"), "{error}");
        }
    }

    #[test]
    fn both_signs_may_be_before_decimals_and_thousands_beside_decimals_are_doubtful() {
        let plain = features("x", '.');
        let mixed = NumberFeatures { mixed_decimals: true, ..plain.clone() };
        let cells = ["1.667", "1,500", "2,125", "0.954"];
        assert_eq!(read(&mixed, &cells), [[1.667], [1.5], [2.125], [0.954]]);
        assert_eq!(mixed.cell(&[1.5]), "1.5");
        let doubt = |features: &NumberFeatures, cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|&cell| cell.to_owned()).collect();
            features.doubt(&Table::numbered(Path::new("a.csv"), "id", [("x", cells)]))
        };
        let said = doubt(&plain, &cells).unwrap();
        for part in ["the comma in 2 cells", "\"1,500\"", "2 cells with a point", "\"1.667\""] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(doubt(&mixed, &cells), None);
        assert!(doubt(&features("x", ','), &cells).unwrap().contains("the point in 1 cells"));
        // thousands may follow on hundreds, and vectors have commas between
        for other in [&["1,234", "950.5", "12.25", "80"][..], &["1.5, 2", "0.5, 1"], &["1,234"]] {
            assert_eq!(doubt(&plain, other), None, "{other:?}");
        }
    }

    #[test]
    fn several_numbers_are_written_so_that_they_are_read_again() {
        let [plain, comma] = ['.', ','].map(|decimal| features("x", decimal));
        assert_eq!(plain.cell(&[100.0]), "100");
        assert_eq!(plain.cell(&[1.5, 2.0]), "1.5 2");
        assert_eq!(plain.cell(&[100.0, 200.0]), "100.0 200.0");
        assert_eq!(comma.cell(&[1.0, 200.5]), "1,0 200,5");
        for features in [plain, comma] {
            for numbers in [[100.0, 200.0], [1.0, 200.5], [12.0, 999.0]] {
                let truth = features.truth_of_labels(&[&features.cell(&numbers)]).unwrap();
                let expected = numbers.map(f64::from).to_vec();
                assert_eq!(truth, Some(Truth::Numbers(vec![expected])));
            }
        }
    }
}
