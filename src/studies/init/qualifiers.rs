//! Columns that say something of the numbers beside them: their units, and the signs of bounds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dsokr_data::table::Table;

use super::columns::{Column, Qualifier};
use super::guess::names::words_of;
use super::kind::ColumnKind;
use crate::error::Error;

/// Last words of the names of columns with units.
const WORDS_OF_UNITS: [&str; 2] = ["unit", "units"];

/// Last words of the names of columns with the signs of bounds, such as `>`.
const WORDS_OF_SIGNS: [&str; 3] = ["relation", "qualifier", "operator"];

/// Last words of the names of columns with numbers, beside columns whose names have the same words before.
const WORDS_OF_NUMBERS: [&str; 3] = ["value", "values", "result"];

/// The most different units or signs; more are something else.
const MOST_DIFFERENT: usize = 20;

/// Has columns that say something of the numbers of another one know of which.
///
/// # Errors
/// A column that the table was not read with.
pub(super) fn find_qualifiers(table: &Table, columns: &mut [Column]) -> Result<(), Error> {
    let numbers = columns.iter().filter(|column| matches!(column.kind, ColumnKind::Numbers(_)));
    let numbers: Vec<String> = numbers.map(|column| column.name.clone()).collect();
    for column in columns {
        let may_be_one = match column.kind {
            ColumnKind::Classes(_) | ColumnKind::Texts => column.distinct <= MOST_DIFFERENT,
            ColumnKind::Nothing
            | ColumnKind::Ids
            | ColumnKind::Smiles
            | ColumnKind::Inchi
            | ColumnKind::Rankings(_)
            | ColumnKind::Orders(_)
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Dates
            | ColumnKind::Labels(_) => false,
        };
        if let Some((of, are_signs)) = numbers_of(&column.name, &numbers)
            && may_be_one
        {
            let counts = counts_of(table, &column.name, of)?;
            if !are_signs || counts.iter().all(|(cell, _)| is_sign(cell)) {
                column.qualifies = Some(Qualifier { of: of.to_owned(), are_signs, counts });
            }
        }
    }
    Ok(())
}

/// Returns the column of numbers, among these names, of which a column with this name has the units or signs, and whether it
/// has signs: `Standard Value` of `Standard Units`, and `IC50` of `IC50_unit`.
fn numbers_of<'c>(name: &str, numbers: &'c [String]) -> Option<(&'c str, bool)> {
    let words = words_of(name);
    let (last, before) = words.split_last()?;
    let are_signs = WORDS_OF_SIGNS.contains(&last.as_str());
    if !are_signs && !WORDS_OF_UNITS.contains(&last.as_str()) {
        return None;
    }
    let is_of_it = |number: &&String| {
        let words = words_of(number);
        let Some((last, others)) = words.split_last() else { return false };
        let names_value = WORDS_OF_NUMBERS.contains(&last.as_str()) && others == before;
        names_value || (words == before && !before.is_empty())
    };
    numbers.iter().find(is_of_it).map(|number| (number.as_str(), are_signs))
}

/// Returns the different cells of a column without quotation marks, with the number of rows of each in which the column
/// `numbers` is not empty, the most frequent one first. Empty cells are left out.
fn counts_of(table: &Table, name: &str, numbers: &str) -> Result<Vec<(String, usize)>, Error> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (cell, number) in table.column(name)?.iter().zip(table.column(numbers)?.iter()) {
        let cell = cell.trim().trim_matches(['\'', '"']).trim();
        if !cell.is_empty() && !number.trim().is_empty() {
            *counts.entry(cell).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> =
        counts.into_iter().map(|(cell, count)| (cell.to_owned(), count)).collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    Ok(counts)
}

/// Returns whether a cell is the sign of a bound, or of a number that is exact.
fn is_sign(cell: &str) -> bool {
    cell.chars().all(|c| "=<>~≤≥≈".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_signs_are_of_the_numbers_with_the_same_words() {
        let numbers = ["Standard Value", "IC50", "value", "unit"].map(str::to_owned);
        for (name, expected) in [
            ("Standard Units", Some(("Standard Value", false))),
            ("standard_relation", Some(("Standard Value", true))),
            ("IC50_unit", Some(("IC50", false))),
            ("Unit", Some(("value", false))),
            ("qualifier", Some(("value", true))),
            ("Published Units", None),
            ("Standard Type", None),
            ("", None),
        ] {
            assert_eq!(numbers_of(name, &numbers), expected, "{name}");
        }
        assert!(is_sign(">=") && is_sign("≈") && !is_sign("capital_of"));
    }
}
