//! Cells of tables as programs of the field write them: SMILES with a name behind, numbers with units, lists.

mod mixed;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use dsokr_molecule::Molecule;
use unicode_normalization_alignments::UnicodeNormalization;

pub use self::mixed::{Alike, MixedSigns};

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

/// Returns whether a cell says that there is no value. `NA` and `ND` may be in either case, but `Na` and `Nd` are elements.
///
/// ```
/// use dsokr_data::cells::is_missing;
///
/// assert!(is_missing("N/A") && is_missing("not available") && !is_missing("natrium"));
/// ```
pub fn is_missing(cell: &str) -> bool {
    // of the longest mark
    const BYTES: usize = "not determined".len();
    // in any case
    const MARKS: &[&str] = &[
        "",
        "n/a",
        "n.a.",
        "#n/a",
        "nan",
        "none",
        "null",
        "nil",
        "missing",
        "unknown",
        "n.d.",
        "not available",
        "not determined",
        "<na>",
        "k.a.",
        "k. a.",
        "n/d",
        "s/d",
        "n.v.t.",
        // of Excel, in English and German
        "#nv",
        "#div/0!",
        "#ref!",
        "#bezug!",
        "#value!",
        "#wert!",
        "#name?",
        "#null!",
        "#num!",
        "#zahl!",
        "-",
        "--",
        "?",
    ];
    // as they are written: of pandas, MySQL and SAS the last three
    const EXACT_MARKS: &[&str] = &["NA", "na", "ND", "nd", "NaT", "\\N", "."];
    let cell = cell.trim();
    cell.len() <= BYTES
        && (EXACT_MARKS.contains(&cell) || MARKS.contains(&cell.to_lowercase().as_str()))
}

/// Returns whether a cell says that there is no class: one that is [missing](is_missing), but for `none` and `unknown`, which
/// may be names of classes.
pub fn is_no_class(cell: &str) -> bool {
    let cell = cell.trim();
    let names = ["none", "unknown"].iter().any(|name| cell.eq_ignore_ascii_case(name));
    is_missing(cell) && !names
}

/// Characters that are not seen, nor change what is: soft hyphens, zero-width spaces, and marks of direction, words and bytes.
const UNSEEN: [char; 6] = ['\u{ad}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{feff}'];

/// Hyphens, dashes and the minus sign, as which programs write `-`.
const HYPHENS: [char; 5] = ['\u{2010}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2212}'];

/// Returns the names among cells that differ only in the case of letters, blanks, hyphens, marks that are not seen or the form of
/// Unicode, a text for each such name: all ways in which it is written, with their numbers of cells, the most frequent first.
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
    spellings_of(counts)
}

/// Returns the [spellings] of different names that are in so many cells each.
pub(crate) fn spellings_of<'c>(counts: impl IntoIterator<Item = (&'c str, usize)>) -> Vec<String> {
    let mut ways: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (name, count) in counts {
        ways.entry(read_form(name)).or_default().push((name, count));
    }
    let written = |mut ways: Vec<(&str, usize)>| {
        ways.sort_by_key(|&(_, count)| Reverse(count));
        let ways = ways.into_iter().map(|(name, count)| format!("{name:?} ({count})"));
        ways.collect::<Vec<_>>().join(", ")
    };
    ways.into_values().filter(|ways| ways.len() > 1).map(written).collect()
}

/// Returns the form of a name in which those that are read alike are the same.
fn read_form(name: &str) -> String {
    let seen = name.chars().filter(|c| !UNSEEN.contains(c));
    let hyphen = |c: char| if HYPHENS.contains(&c) { '-' } else { c };
    // NFKC has one form of letters with marks, and of blanks
    let composed: String = seen.nfkc().map(|(c, _)| hyphen(c)).collect();
    let words: Vec<&str> = composed.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// The most names with several [spellings] that [remarks](remarks_on_spellings) show.
const SHOWN_SPELLINGS: usize = 10;

/// Returns what is to be said of names with several [spellings], which are `what`, such as `classes`: a sentence for each of the
/// first ten, and one with the number of the others.
///
/// ```
/// use dsokr_data::cells::{remarks_on_spellings, spellings};
///
/// let cells: Vec<String> = (0..12).flat_map(|i| [format!("a{i}"), format!("A{i}")]).collect();
/// let remarks = remarks_on_spellings("classes", &spellings(cells.iter().map(String::as_str)));
/// assert!(remarks[0].starts_with("classes differ only in the case of letters"));
/// assert!(remarks[0].contains(r#", "A0" (1), "a0" (1); they are different classes"#));
/// assert_eq!((remarks.len(), remarks[10].as_str()), (11, "2 further classes differ so"));
/// ```
pub fn remarks_on_spellings(what: &str, spellings: &[String]) -> Vec<String> {
    let remark = |ways: &String| {
        format!(
            "{what} differ only in the case of letters, blanks, hyphens or marks that are not seen, {ways}; they are different \
             {what}, so write them alike if they are one"
        )
    };
    let further = spellings.len().saturating_sub(SHOWN_SPELLINGS);
    let last = (further > 0).then(|| format!("{further} further {what} differ so"));
    spellings.iter().take(SHOWN_SPELLINGS).map(remark).chain(last).collect()
}

/// Warns that names of a column, which are `what`, have several [spellings].
pub(crate) fn warn_of_spellings(path: &Path, what: &str, column: &str, spellings: &[String]) {
    for remark in remarks_on_spellings(what, spellings) {
        tracing::warn!("{}: in the column {column:?}, {remark}", path.display());
    }
}

/// Returns whether `-` is a class among the cells of a column and no mark of a missing value: some are signs such as `+` and
/// `+/-`, or there is no other cell.
///
/// ```
/// use dsokr_data::cells::are_signs;
///
/// assert!(are_signs(["+", "-", ""]) && are_signs(["-", "-"]) && !are_signs(["dead", "-"]));
/// ```
pub fn are_signs<'c>(cells: impl IntoIterator<Item = &'c str>) -> bool {
    let mut has_minus = false;
    let mut has_others = false;
    for cell in cells.into_iter().map(str::trim).filter(|cell| !cell.is_empty()) {
        let is_sign = cell.chars().all(|c| "+-±/()".contains(c));
        if is_sign && cell.contains(['+', '±']) {
            return true;
        }
        has_minus |= cell == "-";
        has_others |= cell != "-";
    }
    has_minus && !has_others
}

/// Returns whether a cell is `-` or `--`, which are classes among [signs](are_signs), and marks of missing values elsewhere.
///
/// ```
/// use dsokr_data::cells::is_minus;
///
/// assert!(is_minus("-") && is_minus("--") && !is_minus("+/-"));
/// ```
pub fn is_minus(cell: &str) -> bool {
    ["-", "--"].contains(&cell.trim())
}

/// The signs between items of an order that tie.
pub const TIES: [char; 2] = ['=', '~'];

/// The most words of a part of a list without quotation marks; more are a text in brackets.
const WORDS_OF_A_PART: usize = 3;

/// Returns the labels of a cell: its parts at the separator, or those of a [`list`]; none where the cell
/// [says that there is no value](is_no_class). A part that stands between quotation marks may hold the separator.
///
/// ```
/// use dsokr_data::cells::labels;
///
/// assert_eq!(labels("acid, ring", ','), ["acid", "ring"]);
/// assert_eq!(labels(r#"acid,"carbon, organic""#, ','), ["acid", "carbon, organic"]);
/// ```
pub fn labels(cell: &str, separator: char) -> Vec<String> {
    if is_no_class(cell) {
        return Vec::new();
    }
    let labels = match list(cell) {
        Some(parts) => parts,
        None => divided(cell, separator),
    };
    let trimmed = labels.iter().map(|label| label.trim());
    trimmed.filter(|label| !label.is_empty()).map(str::to_owned).collect()
}

/// Returns the parts of a cell at the separator, those between quotation marks without them: as R writes a single text among
/// vectors, and Airtable an option with a comma.
fn divided(cell: &str, separator: char) -> Vec<String> {
    let is_blank = |c: char| c.is_whitespace() && c != separator;
    let mut parts = Vec::new();
    let mut rest = Some(cell);
    while let Some(text) = rest {
        let text = text.trim_start_matches(is_blank);
        let in_marks = if text.starts_with('"') { quoted(text, '"') } else { None };
        let in_marks = in_marks.and_then(|(part, behind)| {
            let behind = behind.trim_start_matches(is_blank);
            let further = behind.strip_prefix(separator);
            (behind.is_empty() || further.is_some()).then_some((part, further))
        });
        let (part, further) = in_marks.unwrap_or_else(|| match text.split_once(separator) {
            Some((part, further)) => (part.to_owned(), Some(further)),
            None => (text.to_owned(), None),
        });
        parts.push(part);
        rest = further;
    }
    parts
}

/// Returns the cell of labels, which [`labels`] reads: the names with the separator between, or a list of JSON where these would
/// be read as others, as where a name has the separator.
///
/// ```
/// use dsokr_data::cells::of_labels;
///
/// assert_eq!(of_labels(&["acid", "ring"], ';'), "acid;ring");
/// assert_eq!(of_labels(&["acid", "carbon; organic"], ';'), r#"["acid","carbon; organic"]"#);
/// ```
pub fn of_labels(names: &[impl AsRef<str>], separator: char) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
    let joined = names.join(&separator.to_string());
    let read = labels(&joined, separator);
    // an empty name is read as none, however it is written
    let kept = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    if read.iter().eq(kept) { joined } else { serde_json::Value::from(names).to_string() }
}

/// Returns the parts of a cell that is a list of texts or numbers, as JSON, Python, NumPy, Spark, PostgreSQL, R or Label Studio
/// writes it; none of other cells, such as a SMILES, a text in brackets, or a list in which a value is missing.
///
/// ```
/// use dsokr_data::cells::list;
///
/// let pair = || Some(vec!["a".to_owned(), "b, c".to_owned()]);
/// assert_eq!(list(r#"["a", "b, c"]"#), pair());
/// assert_eq!(list("['a', 'b, c']"), pair());
/// assert_eq!(list("['a' 'b, c']"), pair());
/// assert_eq!(list("[1, 2.50]"), Some(vec!["1".to_owned(), "2.50".to_owned()]));
/// assert_eq!(list("[ester, ketone]"), Some(vec!["ester".to_owned(), "ketone".to_owned()]));
/// assert_eq!(list("{ester,ketone}"), Some(vec!["ester".to_owned(), "ketone".to_owned()]));
/// assert_eq!(list(r#"{"choices": ["a", "b, c"]}"#), pair());
/// assert_eq!(list("[Na+]"), None);
/// ```
pub fn list(cell: &str) -> Option<Vec<String>> {
    let cell = cell.trim();
    if !cell.ends_with([']', '}', ')']) {
        return None;
    }
    let (name, brackets) = cell.split_at(cell.find(['[', '{', '('])?);
    if name.is_empty() {
        return in_brackets(brackets);
    }
    let inner = brackets.strip_prefix('(')?.strip_suffix(')')?.trim();
    match name {
        "c" => values(inner),
        "character" | "integer" | "numeric" | "logical" if inner == "0" => Some(Vec::new()),
        "set" | "frozenset" if inner.is_empty() => Some(Vec::new()),
        "set" | "frozenset" => in_brackets(inner),
        "array" | "tensor" => {
            let (list, settings) = inner.split_at(inner.rfind(']')? + 1);
            let is_whole = settings.is_empty() || settings.starts_with(',');
            in_brackets(list).filter(|_| is_whole)
        }
        _ => None,
    }
}

/// Returns the parts of a list with its brackets.
fn in_brackets(list: &str) -> Option<Vec<String>> {
    let open = list.chars().next()?;
    let close = list.chars().next_back()?;
    let inner = list.get(1..list.len() - 1)?.trim();
    match (open, close) {
        ('[', ']') => values(inner).or_else(|| words(inner)),
        ('{', '}') => values(inner).or_else(|| elements(inner)).or_else(|| choices(inner)),
        ('(', ')') if inner.is_empty() => Some(Vec::new()),
        // a number in brackets is negative, and a text in both is no list
        ('(', ')') if inner.starts_with(['"', '\'']) => {
            values(inner).filter(|parts| parts.len() > 1 || inner.ends_with(','))
        }
        _ => None,
    }
}

/// Returns the texts in quotation marks and the numbers of a list, with commas between, or blanks as NumPy writes them.
fn values(inner: &str) -> Option<Vec<String>> {
    let mut rest = inner;
    let mut parts = Vec::new();
    let mut has_commas = None;
    while !rest.is_empty() {
        let (part, behind) = match rest.chars().next() {
            Some(mark @ ('"' | '\'')) => quoted(rest, mark)?,
            _ => number_of_list(rest)?,
        };
        parts.push(part);
        rest = behind.trim_start();
        if rest.is_empty() {
            break;
        }
        let behind_comma = rest.strip_prefix(',');
        if *has_commas.get_or_insert(behind_comma.is_some()) != behind_comma.is_some() {
            return None;
        }
        match behind_comma {
            Some(behind_comma) => rest = behind_comma.trim_start(),
            None if rest.len() == behind.len() => return None,
            None => {}
        }
    }
    Some(parts)
}

/// Returns the text in the quotation marks `mark` at the start of a list's rest, and what is behind it. A backslash takes the
/// next character as it is, except in a string of JSON.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => {
                part.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            _ if c == mark => {
                let (whole, behind) = text.split_at(at + 1);
                // Python writes such marks too, but with other escapes
                let string = if mark == '"' { serde_json::from_str(whole).ok() } else { None };
                return Some((string.unwrap_or(part), behind));
            }
            _ => part.push(c),
        }
    }
    None
}

/// Returns the number at the start of a list's rest as it is written, and what is behind it.
fn number_of_list(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(text.len());
    let (number, behind) = text.split_at(end);
    number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some((number.to_owned(), behind))
}

/// Returns the parts of a list without quotation marks, as Spark and DuckDB write it: `[ester, ketone]`. A single one must be
/// a word and no atom.
fn words(inner: &str) -> Option<Vec<String>> {
    let is_part = |part: &&str| {
        let count = part.split_whitespace().count();
        (1..=WORDS_OF_A_PART).contains(&count)
            && !part.contains(['[', ']', '{', '}', '"'])
            && !part.starts_with('\'')
            && !part.ends_with(['.', '!', '?', ':', ','])
            && !is_missing(part)
    };
    let parts: Vec<&str> = inner.split(", ").map(str::trim).collect();
    let is_list = parts.len() > 1
        || (inner.starts_with(char::is_alphanumeric)
            && !inner.contains(|c: char| c == ',' || c.is_whitespace())
            && Molecule::parse(&format!("[{inner}]")).is_err());
    let are_parts = parts.iter().all(is_part);
    (is_list && are_parts).then(|| parts.into_iter().map(str::to_owned).collect())
}

/// Returns the elements of an array as PostgreSQL writes it: `{ester,"carboxylic acid"}`, with quotation marks where an element
/// has a blank, a comma or a bracket.
fn elements(inner: &str) -> Option<Vec<String>> {
    let mut rest = inner;
    let mut parts = Vec::new();
    loop {
        let (part, behind) = if rest.starts_with('"') {
            quoted(rest, '"')?
        } else {
            let (part, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            let is_marked = part.contains(|c: char| c.is_whitespace() || "{}[]\"\\".contains(c));
            if part.is_empty() || part == "NULL" || part.starts_with('\'') || is_marked {
                return None;
            }
            (part.to_owned(), behind)
        };
        parts.push(part);
        if behind.is_empty() {
            return Some(parts);
        }
        rest = behind.strip_prefix(',')?;
    }
}

/// Returns the parts of the list in an object as Label Studio writes it: `{"choices": ["ester", "ketone"]}`.
fn choices(inner: &str) -> Option<Vec<String>> {
    let list = inner.strip_prefix(r#""choices""#)?.trim_start().strip_prefix(':')?.trim_start();
    if list.starts_with('[') { in_brackets(list) } else { None }
}

/// How the numbers of a column are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberNotation {
    /// The sign before decimals: `.` or `,`. The other one may group thousands, and so may apostrophes and spaces.
    pub decimal: char,
    /// The unit or currency before or behind each number; empty where there is none.
    pub unit: String,
    /// Whether the other sign is before decimals too, in some cells, so that neither of both groups thousands.
    pub mixed_decimals: bool,
}

impl Default for NumberNotation {
    fn default() -> Self {
        Self { decimal: '.', unit: String::new(), mixed_decimals: false }
    }
}

/// Signs of currencies, which stand before or behind numbers.
pub const CURRENCIES: [char; 5] = ['€', '$', '£', '¥', '₹'];

/// Codes of currencies, which stand before or behind numbers too.
pub const CURRENCY_CODES: [&str; 16] = [
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CAD", "AUD",
    "US$", "R$", "Rs.",
];

/// The sign that groups thousands in Switzerland, whatever the sign before decimals.
const SWISS_GROUP: &str = "'";

/// Returns a unit, or a cell that may have one, with the micro sign in the place of the Greek letter mu, which some programs
/// write for it.
///
/// ```
/// use dsokr_data::cells::with_micro_sign;
///
/// assert_eq!(with_micro_sign("5.2 \u{3bc}M"), "5.2 \u{b5}M");
/// ```
pub fn with_micro_sign(text: &str) -> Cow<'_, str> {
    // nearly all cells have none
    if text.contains('\u{3bc}') { text.replace('\u{3bc}', "\u{b5}").into() } else { text.into() }
}

/// Spaces at which no line breaks, which group digits: of usual width, narrow, thin, and as wide as a digit.
const NO_BREAK_SPACES: [char; 4] = ['\u{a0}', '\u{202f}', '\u{2009}', '\u{2007}'];

impl NumberNotation {
    /// Returns the number of a cell as Rust reads it; none of a cell that holds anything else.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert_eq!(plain.normalised("1,234.5").as_deref(), Some("1234.5"));
    /// assert_eq!(plain.normalised("1\u{a0}234").as_deref(), Some("1234"));
    /// assert_eq!(plain.normalised("84,44"), None);
    /// assert_eq!(plain.normalised("2,011E+03"), None);
    /// assert_eq!(plain.normalised("(85.12)").as_deref(), Some("-85.12"));
    /// let euros = NumberNotation { decimal: ',', unit: "€".into(), ..plain };
    /// assert_eq!(euros.normalised("€1.234,50").as_deref(), Some("1234.50"));
    /// ```
    pub fn normalised(&self, cell: &str) -> Option<String> {
        let cell = written(cell);
        let (sign, number) = self.amount(&cell);
        let signs = [self.decimal, self.other_sign()];
        let has_other = self.mixed_decimals && number.contains(signs[1]);
        let [decimal, group] = if has_other { [signs[1], signs[0]] } else { signs };
        let whole_end = number.find([decimal, 'e', 'E']).unwrap_or(number.len());
        let (whole, rest) = number.split_at(whole_end);
        let whole = whole.replace('’', SWISS_GROUP).replace(NO_BREAK_SPACES, " ");
        let whole = if whole.contains(SWISS_GROUP) {
            ungrouped(&whole, SWISS_GROUP)?
        } else if whole.contains(' ') {
            ungrouped(&whole, " ")?
        } else if whole.contains(group) && !self.mixed_decimals {
            // one sign before an exponent is before decimals, as in `2,011E+03`
            let has_exponent = rest.starts_with(['e', 'E']);
            if has_exponent && whole.matches(group).count() == 1 {
                return None;
            }
            ungrouped(&whole, group.encode_utf8(&mut [0; 4]))?
        } else {
            whole
        };
        let mut groups_of_decimals = rest.rsplit(NO_BREAK_SPACES).skip(1);
        if !groups_of_decimals.all(|group| group.trim_start_matches(decimal).len() == 3) {
            return None;
        }
        let rest = rest.replace(NO_BREAK_SPACES, "").replacen(decimal, ".", 1);
        let number = format!("{sign}{whole}{rest}");
        // a training computes in 32 bits
        number.parse::<f32>().ok().filter(|value| value.is_finite())?;
        Some(number)
    }

    /// Returns whether blanks in cells group thousands rather than divide numbers. With decimal commas they do; with decimal points a
    /// cell must be a number without a blank, or have a group that begins with 0, as in `1 050`.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert!(plain.blanks_group(["3 799", "950"]) && plain.blanks_group(["1 000 000", "2 500 000"]));
    /// assert!(!plain.blanks_group(["640 480", "320 240"]));
    /// ```
    pub fn blanks_group<'c>(&self, cells: impl IntoIterator<Item = &'c str>) -> bool {
        let begins_with_zero = |group: &str| {
            group.starts_with('0') && group.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
        };
        self.decimal == ','
            || cells.into_iter().any(|cell| {
                let mut groups = cell.split_ascii_whitespace().skip(1).peekable();
                if groups.peek().is_some() {
                    groups.any(begins_with_zero)
                } else {
                    self.normalised(cell).is_some()
                }
            })
    }

    /// Returns the sign of an amount below 0, as accounts write it, and the number that it stands for: before the currency
    /// (`-$85.12`), behind decimals or groups (`85.12-`; `2-` is a charge or a grade), or as brackets (`($85.12)`). With a unit other
    /// than a currency, neither a sign behind nor brackets say so. Other cells have no such sign, and are returned without the
    /// unit.
    fn amount<'c>(&self, cell: &'c str) -> (&'static str, &'c str) {
        let number = self.without_unit(cell);
        let is_of_accounts = self.unit.is_empty() || self.has_currency();
        let in_brackets = number.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let in_brackets = in_brackets.filter(|_| is_of_accounts);
        let is_long = number.contains(['.', ',']);
        let before_sign = number.strip_suffix('-').filter(|_| is_long && is_of_accounts);
        let has_currency =
            |rest: &&str| !self.unit.is_empty() && rest.starts_with(self.unit.as_str());
        let behind_sign = number.strip_prefix('-').map(str::trim_start).filter(has_currency);
        let amount = in_brackets.or(before_sign).or(behind_sign);
        let amount = amount.map(|amount| self.without_unit(amount.trim()));
        match amount {
            Some(amount) if !amount.starts_with(['-', '+', '(']) => ("-", amount),
            Some(_) | None => ("", number),
        }
    }

    /// Returns whether the unit is a currency.
    pub fn has_currency(&self) -> bool {
        let unit = self.unit.as_str();
        let is_sign = unit.strip_prefix(CURRENCIES) == Some("");
        is_sign || CURRENCY_CODES.contains(&unit)
    }

    /// Returns whether a cell is read as a number below 0 without a minus sign before it, be it by brackets or by a sign behind.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert!(plain.is_below_by_account("(85.12)") && plain.is_below_by_account("85.12-"));
    /// assert!(!plain.is_below_by_account("-85.12") && !plain.is_below_by_account("85.12"));
    /// ```
    pub fn is_below_by_account(&self, cell: &str) -> bool {
        let cell = written(cell);
        let unit = with_micro_sign(&self.unit);
        let number = cell.strip_prefix(&*unit).unwrap_or(&cell).trim_start();
        let is_below = self.normalised(&cell).is_some_and(|number| number.starts_with('-'));
        is_below && !number.starts_with('-')
    }

    /// Returns a cell, with its [micro sign](with_micro_sign), without the unit, which need not be there.
    fn without_unit<'c>(&self, cell: &'c str) -> &'c str {
        if self.unit.is_empty() {
            return cell;
        }
        let unit = with_micro_sign(&self.unit);
        let number =
            cell.strip_suffix(&*unit).or_else(|| cell.strip_prefix(&*unit)).unwrap_or(cell);
        number.trim()
    }
}

/// Returns a cell with one sign each for minus and micro.
fn written(cell: &str) -> Cow<'_, str> {
    let cell = with_micro_sign(cell.trim());
    if cell.contains('\u{2212}') { cell.replace('\u{2212}', "-").into() } else { cell }
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
        let comma = NumberNotation { decimal: ',', ..NumberNotation::default() };
        let percent = NumberNotation { unit: "%".into(), ..NumberNotation::default() };
        let mixed = NumberNotation { mixed_decimals: true, ..NumberNotation::default() };
        let cases = [
            (&plain, "12", Some("12")),
            (&plain, "-1,234,567.5e-3", Some("-1234567.5e-3")),
            (&plain, "2,011E+03", None),
            (&comma, "2,011E+03", Some("2.011E+03")),
            (&plain, "\u{2212}3.5", Some("-3.5")),
            (&plain, "1,2", None),
            (&plain, "0,665", None),
            (&plain, "1 334.7", Some("1334.7")),
            (&plain, "1 33", None),
            (&plain, "3\u{a0}799", Some("3799")),
            (&plain, "11\u{202f}397.5", Some("11397.5")),
            (&plain, "10\u{a0}20", None),
            (&plain, "0.123\u{202f}45", Some("0.12345")),
            (&plain, "1.5\u{a0}2", None),
            (&plain, "1e39", None),
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
            (&mixed, "1.667", Some("1.667")),
            (&mixed, "-1,500", Some("-1.500")),
            (&mixed, "1 334,70", Some("1334.70")),
            (&mixed, "2", Some("2")),
            (&mixed, "1,234.5", None),
            (&mixed, "1.234,5", None),
            (&mixed, "1,234,567", None),
        ];
        for (notation, cell, expected) in cases {
            assert_eq!(notation.normalised(cell).as_deref(), expected, "{cell}");
        }
    }

    #[test]
    fn a_micro_sign_and_a_greek_letter_are_one() {
        for unit in ["\u{b5}M", "\u{3bc}M"] {
            let notation = NumberNotation { unit: unit.into(), ..NumberNotation::default() };
            for cell in ["5.2 \u{b5}M", "5.2 \u{3bc}M", "5.2\u{3bc}M", "5.2"] {
                assert_eq!(notation.normalised(cell).as_deref(), Some("5.2"), "{cell} {unit}");
            }
        }
    }

    #[test]
    fn amounts_below_0_are_read_as_accounts_write_them() {
        let dollars = NumberNotation { unit: "$".into(), ..NumberNotation::default() };
        for cell in [
            "-$1,085.12",
            "- $1,085.12",
            "\u{2212}$1,085.12",
            "$-1,085.12",
            "($1,085.12)",
            "$(1,085.12)",
            "$ (1,085.12)",
            "(1,085.12)",
            "(1,085.12 $)",
            "1,085.12-",
            "1,085.12 $-",
            "$1,085.12-",
        ] {
            assert_eq!(dollars.normalised(cell).as_deref(), Some("-1085.12"), "{cell}");
        }
        let euros =
            NumberNotation { decimal: ',', unit: "€".into(), ..NumberNotation::default() };
        assert_eq!(euros.normalised("-€ 85,12").as_deref(), Some("-85.12"));
        let plain = NumberNotation::default();
        assert_eq!(plain.normalised("(7)").as_deref(), Some("-7"));
        assert_eq!(plain.normalised("85.12-").as_deref(), Some("-85.12"));
        // of other units, values that are said to be doubtful or not significant
        let micro = NumberNotation { unit: "\u{b5}M".into(), ..NumberNotation::default() };
        for other in ["(5.8) \u{b5}M", "(5.8 \u{b5}M)", "(5.8)", "5.8- \u{b5}M", "5.8-"] {
            assert_eq!(micro.normalised(other), None, "{other}");
        }
        assert_eq!(micro.normalised("-5.8 \u{b5}M").as_deref(), Some("-5.8"));
        let francs = NumberNotation { unit: "CHF".into(), ..NumberNotation::default() };
        assert_eq!(francs.normalised("(CHF 7.50)").as_deref(), Some("-7.50"));
        assert!(dollars.is_below_by_account("($7.50)") && !dollars.is_below_by_account("$-7.50"));
        // charges and grades, values with their errors, and other texts
        for other in
            ["2-", "(-7)", "((7))", "()", "(a)", "1.23(4)", "12.3 (1.2)", "(7", "-85.12-", "-$7"]
        {
            assert_eq!(plain.normalised(other), None, "{other}");
        }
    }

    /// As of a fingerprint with 167 bits.
    #[test]
    fn digits_beyond_32_bits_are_no_number() {
        let bits = "01".repeat(83) + "1";
        assert_eq!(NumberNotation::default().normalised(&bits), None);
    }

    #[test]
    fn marks_of_missing_values_are_known() {
        let marks =
            ["", " ", "NA", "na", "ND", "nd", "N/A", "\\N", "<NA>", ".", "NaT", "#NV", "k.A.", "-"];
        let of_excel = ["#DIV/0!", "#REF!", "#VALUE!", "#WERT!", "#NAME?", "#NULL!", "#NUM!"];
        let of_languages = ["k. A.", "N/D", "s/d", "n.v.t."];
        for mark in marks.iter().chain(&of_excel).chain(&of_languages) {
            assert!(is_missing(mark) && is_no_class(mark), "{mark:?}");
        }
        assert!(is_missing(" Not Determined "));
        for name in
            ["Na", "Nd", "nat", "N", "..", "0.", "k", "A.", "#1", "#!", "not determined yet"]
        {
            assert!(!is_missing(name), "{name:?}");
        }
        for name in ["none", "Unknown"] {
            assert!(is_missing(name) && !is_no_class(name), "{name:?}");
        }
        assert!(are_signs(["-", " + "]) && are_signs(["-", "+/-"]) && are_signs(["-", "++"]));
        assert!(!are_signs(["-", "+1"]) && !are_signs(["-", "N/A"]) && !are_signs([""]));
    }

    #[test]
    fn names_that_are_read_alike_are_one_in_several_spellings() {
        let alike: [&[&str]; 6] = [
            &["K\u{e4}se", "Ka\u{308}se"],
            &["War", "war", "WAR"],
            &["paper", "paper\u{200b}", "\u{feff}paper"],
            &["glass bottle", "glass  bottle", "glass\u{a0}bottle"],
            &["post-doc", "post\u{2010}doc", "post\u{2011}doc", "post\u{2013}doc"],
            &["CO\u{2082}", "CO2"],
        ];
        for names in alike {
            let cells = names.iter().copied().chain(["another"]);
            let found = spellings(cells);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].matches("(1)").count(), names.len(), "{found:?}");
        }
        let different =
            ["Kase", "K\u{e4}se", "glass", "glassbottle", "post doc", "postdoc", "post-doc"];
        assert_eq!(spellings(different), [""; 0]);
    }

    #[test]
    fn labels_between_quotation_marks_may_hold_the_separator() {
        let cases: [(&str, char, &[&str]); 11] = [
            (r#"c("italian", "vegan")"#, ';', &["italian", "vegan"]),
            (r#""indian""#, ';', &["indian"]),
            ("character(0)", ';', &[]),
            ("NULL", ';', &[]),
            (r#"Fees,"Delivery, returns" , App"#, ',', &["Fees", "Delivery, returns", "App"]),
            (r#""say \"no\"";b"#, ';', &["say \"no\"", "b"]),
            (r#""red wine" white"#, ' ', &["red wine", "white"]),
            // marks that are of the name
            (r#"5" pipe;10" pipe"#, ';', &["5\" pipe", "10\" pipe"]),
            (r#"the "old" way;"old" ways"#, ';', &["the \"old\" way", "\"old\" ways"]),
            (r#""open;b"#, ';', &["\"open", "b"]),
            ("a;; b ;", ';', &["a", "b"]),
        ];
        for (cell, separator, expected) in cases {
            assert_eq!(labels(cell, separator), expected, "{cell}");
        }
        // names with marks of their own are written so that they stay
        for names in [&["\"a\"", "b"][..], &["\"a"], &["\"a;b\""], &["a b\"", "\"c"]] {
            for separator in [';', ' ', ','] {
                assert_eq!(labels(&of_labels(names, separator), separator), names, "{names:?}");
            }
        }
    }

    fn joined(cell: &str) -> Option<String> {
        list(cell).map(|parts| parts.join("|"))
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let cases = [
            ("[]", ""),
            (r#"['it\'s', "b"]"#, "it's|b"),
            (r#"["\u00e4\n\"", 'b']"#, "ä\n\"|b"),
            ("[-1e3, 2]", "-1e3|2"),
            // NumPy, PyTorch
            ("['a' 'b, c'\n 'd']", "a|b, c|d"),
            ("[-1.19 -0.06\n  2. ]", "-1.19|-0.06|2."),
            ("array(['a', 'b'], dtype=object)", "a|b"),
            ("tensor([0.202, -1.013,\n        2.])", "0.202|-1.013|2."),
            ("tensor([1., 2.], device='cuda:0')", "1.|2."),
            // sets and tuples of Python
            ("{'a', 'b'}", "a|b"),
            ("set()", ""),
            ("frozenset({'a'})", "a"),
            ("('a',)", "a"),
            ("('a', 'b')", "a|b"),
            // PostgreSQL
            ("{}", ""),
            ("{ether}", "ether"),
            (r#"{ether,"carboxylic acid",GO:0005515}"#, "ether|carboxylic acid|GO:0005515"),
            ("{1.5,2}", "1.5|2"),
            // Spark, DuckDB
            ("[ester, carboxylic acid, 1,2-diol]", "ester|carboxylic acid|1,2-diol"),
            ("[ester]", "ester"),
            // R
            (r#"c("ester", "thiol")"#, "ester|thiol"),
            ("character(0)", ""),
            ("integer(0)", ""),
            // Label Studio
            (r#"{"choices":["ester"]}"#, "ester"),
        ];
        for (cell, expected) in cases {
            assert_eq!(joined(cell).as_deref(), Some(expected), "{cell}");
        }
    }

    #[test]
    fn molecules_and_texts_in_brackets_are_no_lists() {
        let others = [
            "",
            "a",
            "[",
            "[1, nan]",
            "[1, null]",
            "['a'",
            "['a''b']",
            "['a', 'b' 'c']",
            "[[1, 2], [3, 4]]",
            "[0.1 0.2 ... 0.3]",
            // SMILES and SMARTS
            "[Na+]",
            "[Na+].[Cl-]",
            "[H][H]",
            "[OH-]",
            "[13CH4]",
            "[Cu]",
            "[C,N]",
            "[O-]C(=O)C[NH3+].[Na+]",
            "CC(C)",
            "c(C)",
            // texts
            "[sic!]",
            "[a text of many words, in brackets]",
            "[He came, he saw.]",
            "[no list]",
            "(a text)",
            "character(1)",
            r#""a text""#,
            "('a text')",
            r#"("a text")"#,
            "(3,101.84)",
            "a list (see there)",
            "{a text}",
            "{a, b}",
            "{a,,b}",
            "{a,NULL}",
            r#"{"a": 1}"#,
            "{'a': 1}",
            r#"[{"a": 1}]"#,
            r#"{"choices": "ester"}"#,
            r#"{"choices": ["ester"], "others": ["ketone"]}"#,
            "['tis the season]",
        ];
        for other in others {
            assert_eq!(joined(other), None, "{other}");
        }
    }
}
