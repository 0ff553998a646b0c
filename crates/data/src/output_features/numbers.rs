//! Numbers of a column, or of several columns.

use dsokr_basis::features::DenseRows;
use dsokr_core::message::shorten;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedRows, OutputKind, OutputTable, fixed_rows};
use crate::cells::{self, NumberNotation};
use crate::error::{Error, check};
use crate::joined::{ColumnNames, parts, shown};
use crate::rounding::Rounding;
use crate::table::Table;
use crate::truth::{Truth, bad};

/// Numbers of a column, or of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberFeatures {
    /// The column. Each cell holds one number, or as many as most cells: with spaces between them, or as a list in
    /// brackets. A space may also group thousands (`1 334,70`), where decimals have a comma or most cells hold one number.
    /// A list of columns, such as `["logp", "tpsa"]`, has a number of each.
    pub column: ColumnNames,
    /// The sign before decimals: `"."`, or `","` as in `1.234,50`. The other one may group thousands.
    #[serde(default = "point", skip_serializing_if = "is_point")]
    pub decimal: char,
    /// The unit or currency that may stand before or behind the number of a cell, as in `"€"` or `"mg/L"`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
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

/// Returns the numbers of a cell; none where it holds anything else.
fn parse_numbers(cell: &str, notation: &NumberNotation) -> Option<Vec<Number>> {
    let number = |text: &str| parse_number(text, notation);
    let list = cells::list(cell);
    // who writes commas before decimals writes spaces between thousands
    if list.is_none()
        && notation.decimal == ','
        && let Some(number) = number(cell)
    {
        return Some(vec![number]);
    }
    let numbers: Vec<_> = match list {
        Some(parts) => parts.iter().map(|part| number(part)).collect::<Option<_>>()?,
        None if notation.unit.is_empty() => {
            cell.split_whitespace().map(number).collect::<Option<_>>()?
        }
        None => vec![number(cell)?],
    };
    (!numbers.is_empty()).then_some(numbers)
}

/// Returns the numbers of each cell of a column; [`dsokr_core::Error::File`] for a cell that does not hold as many
/// finite numbers as most cells, or as there are columns in one.
pub(crate) fn numbers<'t>(
    table: &'t Table,
    column: &'t str,
    notation: NumberNotation,
) -> Result<impl Iterator<Item = Result<Vec<Number>, Error>> + 't, Error> {
    let columns = parts(column).count();
    let cells = table.column(column)?;
    let read: Vec<_> = cells.iter().map(|cell| parse_numbers(cell, &notation)).collect();
    let expected = if columns > 1 && !column.contains("..") {
        columns
    } else {
        usual(read.iter().flatten().map(Vec::len)).unwrap_or(1)
    };
    let numbers = move |((row, cell), numbers): ((usize, &String), Option<Vec<Number>>)| {
        // a space groups thousands where most cells hold one number
        let grouped = || Some(vec![parse_number(cell, &notation).filter(|_| expected == 1)?]);
        numbers.filter(|numbers| numbers.len() == expected).or_else(grouped).ok_or_else(|| {
            let cell = shorten(cell.trim());
            let allowed = match expected {
                1 => "a finite number".to_owned(),
                count if columns > 1 => format!("{count} finite numbers, one of each"),
                count => format!("{count} finite numbers, as in most rows"),
            };
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
        NumberNotation { decimal: self.decimal, unit: self.unit.clone() }
    }

    /// Returns numbers as a cell of the column holds them, without a unit.
    pub fn cell(&self, numbers: &[f32]) -> String {
        let cell = numbers.iter().map(f32::to_string).collect::<Vec<_>>().join(" ");
        if self.decimal == '.' { cell } else { cell.replace('.', &self.decimal.to_string()) }
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
        rounding.check(table.path(), format_args!("in the column {column}"))
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

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(numbers(table, self.column.as_str(), self.notation())?))
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        Ok(Some(wide(
            &numbers(table, self.column.as_str(), self.notation())?
                .collect::<Result<Vec<_>, _>>()?,
        )))
    }

    /// Returns the numbers that the labels are; none where a label is not numbers.
    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let notation = self.notation();
        let rows: Option<Vec<_>> =
            labels.iter().map(|label| parse_numbers(label, &notation)).collect();
        Ok(rows.as_deref().map(wide))
    }

    /// Refuses numbers that 32 bits do not tell apart.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let rows = numbers(from.table, self.column.as_str(), self.notation())?
            .collect::<Result<Vec<_>, _>>()?;
        let width = rows.first().map_or(1, Vec::len);
        (0..width)
            .try_for_each(|at| self.check_rounding(from.table, rows.iter().map(|row| row[at])))?;
        from.truth = Some(wide(&rows));
        let narrow: Vec<f32> = rows.iter().flatten().map(|&(narrow, _)| narrow).collect();
        Ok(fixed_rows(DenseRows::new(width, narrow)?))
    }
}
