//! Cells of tables as programs of the field write them: SMILES with a name behind, numbers with units, lists.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Returns the SMILES of a cell: what stands before the first white space. Behind it are the name of the molecule, as
/// in .smi files, or the extensions of CXSMILES (`|$;;R1$|`), which say nothing that a SMILES says.
///
/// ```
/// use dsokr_data::cells::smiles;
///
/// assert_eq!(smiles(" CCO ethanol"), "CCO");
/// assert_eq!(smiles("C[C@H](O)N |&1:1|"), "C[C@H](O)N");
/// ```
pub fn smiles(cell: &str) -> &str {
    cell.split_whitespace().next().unwrap_or_default()
}

/// Returns whether a cell says that there is no value.
///
/// ```
/// use dsokr_data::cells::is_missing;
///
/// assert!(is_missing("N/A") && is_missing("not available") && !is_missing("natrium"));
/// ```
pub fn is_missing(cell: &str) -> bool {
    const MARKS: [&str; 18] = [
        "",
        "na",
        "n/a",
        "n.a.",
        "#n/a",
        "nan",
        "none",
        "null",
        "nil",
        "missing",
        "unknown",
        "nd",
        "n.d.",
        "not available",
        "not determined",
        "-",
        "--",
        "?",
    ];
    MARKS.contains(&cell.trim().to_lowercase().as_str())
}

/// Returns whether a cell says that there is no class: one that is [missing](is_missing), but for `none` and `unknown`, which
/// may be names of classes.
pub fn is_no_class(cell: &str) -> bool {
    let cell = cell.trim();
    let names = ["none", "unknown"].iter().any(|name| cell.eq_ignore_ascii_case(name));
    is_missing(cell) && !names
}

/// Returns the names among cells that differ in the case of letters only, a text for each such name: all ways in which it is
/// written, with their numbers of cells, the most frequent first.
///
/// ```
/// use dsokr_data::cells::spellings;
///
/// let found = spellings(["true", "TRUE ", "false", "true"]);
/// assert_eq!(found, [r#""true" (2), "TRUE" (1)"#]);
/// ```
pub fn spellings<'c>(cells: impl IntoIterator<Item = &'c str>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in cells {
        *counts.entry(cell.trim()).or_default() += 1;
    }
    let mut ways: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (name, count) in counts {
        ways.entry(name.to_lowercase()).or_default().push((name, count));
    }
    let written = |mut ways: Vec<(&str, usize)>| {
        ways.sort_by_key(|&(_, count)| Reverse(count));
        let ways = ways.into_iter().map(|(name, count)| format!("{name:?} ({count})"));
        ways.collect::<Vec<_>>().join(", ")
    };
    ways.into_values().filter(|ways| ways.len() > 1).map(written).collect()
}

/// Returns the parts of a cell that is a list as JSON or Python writes it, of texts or numbers; none of other cells.
///
/// ```
/// use dsokr_data::cells::list;
///
/// let pair = || Some(vec!["a".to_owned(), "b, c".to_owned()]);
/// assert_eq!(list(r#"["a", "b, c"]"#), pair());
/// assert_eq!(list("['a', 'b, c']"), pair());
/// assert_eq!(list("[1, 2.50]"), Some(vec!["1".to_owned(), "2.50".to_owned()]));
/// assert_eq!(list("[Na+]"), None);
/// ```
pub fn list(cell: &str) -> Option<Vec<String>> {
    let inner = cell.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut rest = inner.trim();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (part, behind) = match rest.chars().next() {
            Some(mark @ ('"' | '\'')) => quoted(&rest[1..], mark)?,
            _ => number_of_list(rest)?,
        };
        parts.push(part);
        rest = behind.trim_start();
        if !rest.is_empty() {
            rest = rest.strip_prefix(',')?.trim_start();
        }
    }
    Some(parts)
}

/// Returns the text before the next quotation mark `mark`, and what is behind the mark. A backslash takes the next
/// character as it is.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                part.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            _ if c == mark => return Some((part, &text[at + c.len_utf8()..])),
            _ => part.push(c),
        }
    }
    None
}

/// Returns the number at the start of a list's rest as it is written, and what is behind it.
fn number_of_list(text: &str) -> Option<(String, &str)> {
    let end = text.find(',').unwrap_or(text.len());
    let number = text[..end].trim();
    number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some((number.to_owned(), &text[end..]))
}

/// How the numbers of a column are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberNotation {
    /// The sign before decimals: `.` or `,`. The other one may group thousands, and so may apostrophes.
    pub decimal: char,
    /// The unit or currency before or behind each number; empty where there is none.
    pub unit: String,
}

impl Default for NumberNotation {
    fn default() -> Self {
        Self { decimal: '.', unit: String::new() }
    }
}

/// The sign that groups thousands in Switzerland, whatever the sign before decimals.
const SWISS_GROUP: &str = "'";

impl NumberNotation {
    /// Returns the number of a cell as Rust reads it; none of a cell that holds anything else.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert_eq!(plain.normalised("1,234.5").as_deref(), Some("1234.5"));
    /// assert_eq!(plain.normalised("84,44"), None);
    /// let euros = NumberNotation { decimal: ',', unit: "€".into() };
    /// assert_eq!(euros.normalised("€1.234,50").as_deref(), Some("1234.50"));
    /// ```
    pub fn normalised(&self, cell: &str) -> Option<String> {
        let number = self.without_unit(cell.trim());
        let number =
            number.replace('\u{2212}', "-").replace(['\u{a0}', '\u{202f}', '\u{2009}'], "");
        let whole_end = number.find([self.decimal, 'e', 'E']).unwrap_or(number.len());
        let (whole, rest) = number.split_at(whole_end);
        let group = if self.decimal == ',' { '.' } else { ',' };
        let whole = whole.replace('’', SWISS_GROUP);
        let whole = if whole.contains(SWISS_GROUP) {
            ungrouped(&whole, SWISS_GROUP)?
        } else if whole.contains(' ') {
            ungrouped(&whole, " ")?
        } else if whole.contains(group) {
            ungrouped(&whole, group.encode_utf8(&mut [0; 4]))?
        } else {
            whole
        };
        let number = whole + &rest.replacen(self.decimal, ".", 1);
        number.parse::<f64>().ok().filter(|value| value.is_finite())?;
        Some(number)
    }

    /// Returns a cell without the unit, which need not be there.
    fn without_unit<'c>(&self, cell: &'c str) -> &'c str {
        if self.unit.is_empty() {
            return cell;
        }
        let unit = self.unit.as_str();
        let number = cell.strip_suffix(unit).or_else(|| cell.strip_prefix(unit)).unwrap_or(cell);
        number.trim()
    }
}

/// Returns the digits of a whole number whose thousands a sign groups; none where groups are not of three digits, or the first
/// one begins with 0 and others follow.
fn ungrouped(whole: &str, group: &str) -> Option<String> {
    let mut groups = whole.split(group);
    let first = groups.next()?.trim_start_matches(['-', '+']);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let leads = (1..=3).contains(&first.len()) && digits(first);
    let is_grouped = !first.starts_with('0') || !whole.contains(group);
    let all = leads && is_grouped && groups.all(|part| part.len() == 3 && digits(part));
    all.then(|| whole.replace(group, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_other_notations_are_read_or_refused() {
        let plain = NumberNotation::default();
        let comma = NumberNotation { decimal: ',', unit: String::new() };
        let percent = NumberNotation { decimal: '.', unit: "%".into() };
        let cases = [
            (&plain, "12", Some("12")),
            (&plain, "-1,234,567.5e-3", Some("-1234567.5e-3")),
            (&plain, "\u{2212}3.5", Some("-3.5")),
            (&plain, "1,2", None),
            (&plain, "0,665", None),
            (&plain, "1 334.7", Some("1334.7")),
            (&plain, "1 33", None),
            (&comma, "0,665", Some("0.665")),
            (&comma, "1 334,70", Some("1334.70")),
            (&plain, "12,345,6", None),
            (&plain, "1'234.5", Some("1234.5")),
            (&comma, "12’345’678,9", Some("12345678.9")),
            (&plain, "1'23", None),
            (&plain, "inf", None),
            (&plain, "64.9%", None),
            (&plain, ">10", None),
            (&comma, "84,44", Some("84.44")),
            (&comma, "1.234", Some("1234")),
            (&comma, "1.5", None),
            (&comma, "1,5,5", None),
            (&percent, "64.9%", Some("64.9")),
            (&percent, "64.9 %", Some("64.9")),
            (&percent, "64.9", Some("64.9")),
            (&percent, "64.9 mg", None),
        ];
        for (notation, cell, expected) in cases {
            assert_eq!(notation.normalised(cell).as_deref(), expected, "{cell}");
        }
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let list = |cell| list(cell).map(|parts| parts.join("|"));
        assert_eq!(list("[]").as_deref(), Some(""));
        assert_eq!(list(r#"['it\'s', "b"]"#).as_deref(), Some("it's|b"));
        assert_eq!(list("[-1e3, 2]").as_deref(), Some("-1e3|2"));
        for other in ["", "a", "[a]", "[1, nan]", "['a'", "['a' 'b']", "[Na+].[Cl-]"] {
            assert_eq!(list(other), None, "{other}");
        }
    }
}
