//! Codes of digits, which are no numbers.

use super::super::kind::ColumnKind;
use super::names::{is_id, most_classes_named, names_ids};
use super::numbers::{are_row_numbers, fill_from_a_digit, notation_of};
use super::{
    CLASSES, MANY_CLASSES, MOST, classes_of, count_different, most, present, recur_as_classes,
};

/// Returns the first cell that begins with 0, where cells are codes, such as `0222` and `4019`, or bits: nearly all are digits, as
/// many in each, and some begin with 0 before another digit than 0. None of others.
pub(super) fn first_with_zero<'c>(cells: &[&'c str]) -> Option<&'c str> {
    let is_digits = |cell: &&str| cell.bytes().all(|byte| byte.is_ascii_digit());
    let codes: Vec<&str> = cells.iter().copied().filter(is_digits).collect();
    let first = codes.first()?;
    let are_most = codes.len() as f64 >= MOST * cells.len() as f64;
    let are_as_long = codes.iter().all(|code| code.len() == first.len());
    let has_zero = |code: &&&str| has_zero_in_front(code);
    codes.iter().find(has_zero).copied().filter(|_| are_most && are_as_long)
}

/// Returns the first cell that begins with 0 before other digits, in a column of numbers that are nearly all
/// digits, not as many in each: codes such as `0389` and `25000` are read as numbers. None of others.
pub(crate) fn first_number_with_zero<'c>(cells: &[&'c str]) -> Option<&'c str> {
    let present = present(cells);
    let is_digits = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_digit());
    if !most(&present, is_digits) || first_with_zero(&present).is_some() {
        return None;
    }
    let has_zero = |cell: &&str| is_digits(cell) && has_zero_in_front(cell);
    present.into_iter().find(has_zero)
}

/// Returns whether digits begin with 0 and are not all 0.
fn has_zero_in_front(digits: &str) -> bool {
    digits.starts_with('0') && digits.contains(|c: char| c != '0')
}

/// Returns the kind of the cells of the column with this name that are codes where they are `present`: classes where they recur,
/// else ids, numbers that count something, such as `01` to `99`, or texts, which are inputs only where there are no others.
pub(super) fn kind_of_codes(name: &str, cells: &[&str], present: &[&str]) -> ColumnKind {
    let distinct = count_different(present);
    if names_ids(name) || 2 * distinct > present.len() {
        return ColumnKind::Ids;
    }
    let recur = recur_as_classes(distinct, present.len());
    let are_counts = fill_from_a_digit(present);
    // more rows of a count make it no class
    let most = if are_counts { most_classes_named(name).unwrap_or(CLASSES) } else { MANY_CLASSES };
    if recur && (2..=most).contains(&distinct) {
        classes_of(cells)
    } else if are_counts {
        ColumnKind::Numbers(notation_of(present))
    } else {
        ColumnKind::Texts
    }
}

/// Returns the first code with a 0 before it in the column with this position, name and kind, which nobody has stated: what says
/// that its cells are no numbers. None of ids that are named or count the rows.
pub(crate) fn first_code<'c>(
    (position, name): (usize, &str),
    kind: &ColumnKind,
    cells: &[&'c str],
) -> Option<&'c str> {
    let names_rows = || names_ids(name) || is_id(name) || are_row_numbers(position, cells);
    let are_named = matches!(kind, ColumnKind::Classes(_) | ColumnKind::Texts);
    if !are_named && (*kind != ColumnKind::Ids || names_rows()) {
        return None;
    }
    first_with_zero(&present(cells))
}
