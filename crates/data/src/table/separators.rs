//! What the first records of a file tell: the sign that separates fields, comments, blanks behind separators, and names of rows.

use std::collections::HashSet;

use dsokr_core::store::BYTE_ORDER_MARK;

use super::record::{Dialect, Record, SEPARATORS};

/// The most records that tell the separator.
const RECORDS: usize = 50;

/// Returns the sign that separates the fields of the records at the start of a file: of those that divide the first
/// record, the one that divides most others into as many fields. A comma where there is none.
pub(super) fn separator(start: &[u8]) -> u8 {
    let share = |separator: u8| {
        let counts = field_counts(start, separator);
        let first = counts.first().copied().filter(|&count| count > 1)?;
        let equal = counts.iter().filter(|&&count| count == first).count();
        Some(equal as f64 / counts.len() as f64)
    };
    let mut best = (b',', 0.0);
    for separator in SEPARATORS {
        if let Some(share) = share(separator).filter(|&share| share > best.1) {
            best = (separator, share);
        }
    }
    best.0
}

/// Returns the number of lines at the start that are comments: they begin with `#`, and the line behind them has several fields.
/// The last one that begins with `#` may have the names of the columns: as many fields as the line behind it, and no blank
/// behind the mark, unless it is alone. Where one of the others is like it, these are rows, and without a line of names so are they
/// where one has as many fields, whatever is behind the mark.
pub(super) fn comment_count(start: &[u8], has_tabs: bool, has_names: bool) -> usize {
    let mut rest = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut marked = Vec::new();
    while rest.starts_with(b"#") {
        let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
        let (line, behind) = rest.split_at(end);
        marked.push(line);
        rest = behind;
    }
    let Some((last, before)) = marked.split_last() else { return 0 };
    let separator = if has_tabs { b'\t' } else { separator(rest) };
    let width = |text: &[u8]| field_counts(text, separator).first().copied().unwrap_or_default();
    let expected = width(rest);
    let has_width = |line: &[u8]| width(line) == expected;
    let is_remark = |line: &[u8]| [b"# ", b"##"].iter().any(|m| line.starts_with(*m));
    let is_row = |line: &&[u8]| has_width(line) && !(has_names && is_remark(line));
    if expected < 2 || before.iter().any(is_row) {
        return 0;
    }
    let is_last_comment = !has_width(last) || (!before.is_empty() && is_remark(last));
    before.len() + usize::from(is_last_comment)
}

/// Returns whether blanks follow each separator of the first record, at least one, as in tables of the UCI repository.
pub(super) fn blanks_follow(start: &[u8], dialect: Dialect) -> bool {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut record = Record::new(Dialect { skips_blanks: true, ..dialect });
    for line in start.split_inclusive(|&byte| byte == b'\n') {
        if record.add(line) {
            break;
        }
    }
    record.skipped > 0 && record.skipped + 1 == record.fields.len()
}

/// Returns whether a separator divides all of the first records into as many fields, at least two.
pub(super) fn separator_divides_all(start: &[u8], separator: u8) -> bool {
    let counts = field_counts(start, separator);
    let first = counts.first().copied().unwrap_or_default();
    first > 1 && counts.len() > 1 && counts.iter().all(|&count| count == first)
}

/// Returns whether each of the first records, at least two, has a field more than the names of the columns before them: a name of
/// its own in front, as R writes them. Fields behind the last separators of lines are empty.
pub(super) fn have_names_of_rows(start: &[u8], dialect: Dialect) -> bool {
    let records = first_records(start, dialect);
    let Some((names, rows)) = records.split_first() else { return false };
    let columns = names.fields.len();
    let have_one_more = rows.iter().all(|row| row.fields.len() == columns + 1);
    let names_of_rows: HashSet<&Vec<u8>> =
        rows.iter().filter_map(|row| row.fields.first()).collect();
    let are_names =
        names_of_rows.len() == rows.len() && names_of_rows.iter().all(|name| !name.is_empty());
    let ends_filled = rows.iter().filter_map(|row| row.fields.last()).any(|end| !end.is_empty());
    columns > 1 && rows.len() > 1 && have_one_more && are_names && ends_filled
}

/// Returns the number of fields of each of the first records.
fn field_counts(start: &[u8], separator: u8) -> Vec<usize> {
    let records = first_records(start, Dialect { separator, ..Dialect::default() });
    records.iter().map(|record| record.fields.len()).collect()
}

/// Returns the first records.
fn first_records(start: &[u8], dialect: Dialect) -> Vec<Record> {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut records = Vec::new();
    let mut record = Record::new(dialect);
    for line in start.split_inclusive(|&byte| byte == b'\n') {
        let is_blank = record.fields.is_empty() && line.trim_ascii().is_empty();
        // the last line may be cut
        let is_whole = line.ends_with(b"\n") || records.is_empty();
        if !is_blank && is_whole && record.add(line) {
            records.push(std::mem::replace(&mut record, Record::new(dialect)));
        }
        if records.len() == RECORDS {
            break;
        }
    }
    records
}
