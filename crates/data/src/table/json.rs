//! Rows that are JSON objects.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use dsokr_core::message::{list, shorten};
use dsokr_spectra::{PARTS, Record, SPECTRUM};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::cells;
use crate::error::Error;

/// Reads an object with its keys in order, so that one given twice is seen, and its values as written,
/// so that a number keeps its digits.
struct Entries;

#[derive(Deserialize)]
struct Key<'l>(#[serde(borrow)] Cow<'l, str>);

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((Key(key), value)) = map.next_entry()? {
            entries.push((key, value));
        }
        Ok(entries)
    }
}

/// Returns a line with null for each bare `NaN`, `Infinity` and `-Infinity`, which Python's `json.dumps` writes for numbers that
/// are none.
fn without_nan(text: &str) -> Cow<'_, str> {
    const MARKS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
    if !text.contains(MARKS[0]) && !text.contains(MARKS[1]) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + MARKS[0].len());
    let mut rest = text;
    let mut is_in_string = false;
    while let Some(c) = rest.chars().next() {
        let mark = MARKS.iter().find(|mark| !is_in_string && rest.starts_with(**mark));
        if let Some(mark) = mark {
            plain.push_str("null");
            rest = &rest[mark.len()..];
            continue;
        }
        let mut end = c.len_utf8();
        if c == '"' {
            is_in_string = !is_in_string;
        } else if c == '\\' {
            end += rest[end..].chars().next().map_or(0, char::len_utf8);
        }
        plain.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Cow::Owned(plain)
}

/// The keys of peaks that are pairs of m/z and intensity, as matchms and GNPS write them, in any case.
const PAIRS: [&str; 2] = ["peaks", "peaks_json"];

/// How the text of a line begins the keys of [`PAIRS`].
const STARTS_OF_PAIRS: [&str; 3] = ["\"peaks", "\"Peaks", "\"PEAKS"];

/// The key of a molecule in libraries of spectra.
pub(super) const SMILES: &str = "smiles";

/// A line as it may be of a spectrum whose peaks are pairs.
enum PairedLine {
    /// The line has no precursor, no peaks by the keys of [`PAIRS`], or has [`PARTS`] already.
    Other,
    /// The line with [`PARTS`] behind its keys.
    WithParts(String),
    /// What is wrong with its peaks.
    Wrong(String),
}

/// Returns a line of a spectrum whose peaks are pairs, by the first of [`PAIRS`] that has some, with [`PARTS`] behind its keys, and
/// its molecule by the key [`SMILES`], so far as it lacks them.
fn with_parts(text: &str) -> PairedLine {
    // most lines have none, and are not read twice
    if !STARTS_OF_PAIRS.iter().any(|start| text.contains(start)) {
        return PairedLine::Other;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let Ok(entries) = reader.deserialize_map(Entries) else { return PairedLine::Other };
    let [precursor, mzs, intensities] = PARTS;
    let has = |name: &str| entries.iter().any(|(key, _)| key == name);
    if has(mzs) || has(intensities) {
        return PairedLine::Other;
    }
    let field = |name: &str| {
        let mut named = entries.iter().filter(|(key, _)| Record::common_name(key) == Some(name));
        named.next().map(|(_, value)| value.get())
    };
    let Some(precursor_mz) = field(precursor) else { return PairedLine::Other };
    let mut wrong = None;
    for (key, value) in &entries {
        if !PAIRS.iter().any(|name| key.eq_ignore_ascii_case(name)) {
            continue;
        }
        let [mz_list, intensity_list] = match peak_lists(value.get()) {
            PeakLists::Read(lists) => lists,
            PeakLists::NoPeaks => continue,
            PeakLists::Wrong(reason) => {
                wrong.get_or_insert_with(|| format!("key {key:?} holds {reason}"));
                continue;
            }
        };
        let Some(start) = text.trim_end().strip_suffix('}') else { return PairedLine::Other };
        let mut line =
            format!("{start}, \"{mzs}\": [{mz_list}], \"{intensities}\": [{intensity_list}]");
        if !has(precursor) {
            line += &format!(", \"{precursor}\": {precursor_mz}");
        }
        if let Some(smiles) = field(SMILES).filter(|_| !has(SMILES)) {
            line += &format!(", \"{SMILES}\": {smiles}");
        }
        return PairedLine::WithParts(line + "}");
    }
    wrong.map_or(PairedLine::Other, PairedLine::Wrong)
}

/// The peaks that a value has.
pub(super) enum PeakLists {
    /// The m/z and the intensities, as JSON has them within brackets.
    Read([String; 2]),
    /// The reason why a list is not one of peaks.
    Wrong(String),
    /// No list, such as the number of peaks.
    NoPeaks,
}

/// Returns the peaks of a list of pairs of m/z and intensity, which may be objects, of two lists, or of a text of either or of
/// `m/z:intensity` with blanks between. A further value of a pair is an annotation.
pub(super) fn peak_lists(raw: &str) -> PeakLists {
    let text: Cow<str> = if raw.starts_with('"') {
        let Ok(text) = serde_json::from_str::<String>(raw) else { return PeakLists::NoPeaks };
        Cow::Owned(text)
    } else {
        Cow::Borrowed(raw)
    };
    if !text.trim_start().starts_with('[') {
        return lists_of_words(&text).map_or(PeakLists::NoPeaks, PeakLists::Read);
    }
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(&text) else {
        return PeakLists::NoPeaks;
    };
    let peaks: Vec<_> = entries.iter().map(|entry| numbers_of_peak(entry.get())).collect();
    let are_numbers = |values: &[&str]| values.iter().all(|value| is_number(value));
    if let [Some(mzs), Some(intensities)] = peaks.as_slice()
        && mzs.len() > 2
        && mzs.len() == intensities.len()
        && are_numbers(mzs)
        && are_numbers(intensities)
    {
        let rises = mzs.windows(2).all(|pair| number_of(pair[0]) < number_of(pair[1]));
        if rises {
            return PeakLists::Read([mzs.join(", "), intensities.join(", ")]);
        }
        let reason = "two lists, of which the first does not rise as m/z do; pairs of m/z and intensity are needed";
        return PeakLists::Wrong(reason.into());
    }
    let mut lists = [Vec::new(), Vec::new()];
    for (entry, peak) in entries.iter().zip(&peaks) {
        let pair = peak.as_deref().and_then(|values| match values {
            [mz, intensity, others @ ..] if are_numbers(&[*mz, *intensity]) => {
                let further = others.iter().filter(|other| is_number(other)).count();
                (further < 2).then_some([*mz, *intensity])
            }
            _ => None,
        });
        let Some(pair) = pair else {
            let peak = shorten(entry.get());
            return PeakLists::Wrong(format!(
                "the peak {peak}; pairs of m/z and intensity are needed"
            ));
        };
        lists.iter_mut().zip(pair).for_each(|(list, number)| list.push(number));
    }
    PeakLists::Read(lists.map(|list| list.join(", ")))
}

/// Returns the m/z and the intensities of words `m/z:intensity`; none of a text with other words.
fn lists_of_words(text: &str) -> Option<[String; 2]> {
    let mut lists = [Vec::new(), Vec::new()];
    for word in text.split_whitespace() {
        let (mz, intensity) = word.split_once(':')?;
        for (list, number) in lists.iter_mut().zip([mz, intensity]) {
            // as it is, the number stands in JSON
            serde_json::from_str::<f64>(number).ok()?;
            list.push(number);
        }
    }
    Some(lists.map(|list| list.join(", "))).filter(|[mzs, _]| !mzs.is_empty())
}

/// Returns the values of a peak: of a list, or m/z and intensity of an object; none of others.
fn numbers_of_peak(raw: &str) -> Option<Vec<&str>> {
    if raw.starts_with('{') {
        let mut reader = serde_json::Deserializer::from_str(raw);
        let entries = reader.deserialize_map(Entries).ok()?;
        let value = |name: &str| {
            let mut named = entries.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            named.next().map(|(_, value)| value.get())
        };
        return Some(vec![value("mz")?, value("intensity")?]);
    }
    let values: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(values.into_iter().map(RawValue::get).collect())
}

/// Returns whether a value of JSON is a number.
fn is_number(raw: &str) -> bool {
    raw.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

/// Returns the number that a value of JSON is.
fn number_of(raw: &str) -> f64 {
    raw.parse().unwrap_or(f64::NAN)
}

/// Returns the keys and values of a line that is an object.
fn entries<'t>(
    path: &Path,
    line: usize,
    text: &'t str,
) -> Result<Vec<(Cow<'t, str>, &'t RawValue)>, Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = reader.deserialize_map(Entries).and_then(|read| reader.end().map(|()| read));
    read.map_err(|error| match error.classify() {
        Category::Data => {
            let content = shorten(text.trim());
            Error::line(path, line, format!("found {content}; each line must be one JSON object"))
        }
        Category::Io | Category::Syntax | Category::Eof => syntax(path, line, 0, &error),
    })
}

/// The kind of the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Null or an empty text, which do not say what other lines hold.
    Empty,
    /// An empty list, which does not say what lists of other lines hold.
    EmptyList,
    /// A list of texts, also in an object of Label Studio, which a cell can hold.
    List,
    /// A list of numbers, which a cell can hold.
    Numbers,
    /// Any other value that a cell can hold.
    Cell,
    /// A value that no cell can hold.
    Nested,
}

impl ValueKind {
    fn of(raw: &str) -> Self {
        if ["null", "\"\""].contains(&raw) {
            return Self::Empty;
        }
        if raw == "[]" {
            return Self::EmptyList;
        }
        if !matches!(json_cell(raw, None), Ok(Some(_))) {
            return Self::Nested;
        }
        match raw.strip_prefix('[').map(str::trim_start) {
            Some(rest) if rest.starts_with('"') => Self::List,
            Some(_) => Self::Numbers,
            // the list of an object
            None if raw.starts_with('{') => Self::List,
            None => Self::Cell,
        }
    }
}

/// Returns the keys of a line that is an object, each with the kind of its value.
pub(super) fn json_names(
    path: &Path,
    line: usize,
    text: &str,
) -> Result<Vec<(String, ValueKind)>, Error> {
    let plain = without_nan(text);
    let text = match with_parts(&plain) {
        PairedLine::WithParts(line) => Cow::Owned(line),
        PairedLine::Other | PairedLine::Wrong(_) => plain,
    };
    let entries = entries(path, line, &text)?.into_iter();
    Ok(entries.map(|(key, value)| (key.into_owned(), ValueKind::of(value.get()))).collect())
}

/// A line that is an object.
struct Object<'t> {
    path: &'t Path,
    line: usize,
    text: &'t str,
    /// Whether bare NaN and Infinity are null in the text.
    is_changed: bool,
    entries: Vec<(Cow<'t, str>, &'t RawValue)>,
}

impl Object<'_> {
    /// Returns whether the spectrum of the line states no MS level, or the level 2. The line may lack its parts.
    fn is_tandem(&self) -> bool {
        let mut cells = Vec::new();
        for (at, (name, _)) in self.entries.iter().enumerate() {
            if Record::states_level(name)
                && let Ok(cell) = self.cell(at, None)
            {
                cells.push((&**name, cell));
            }
        }
        let record = Record::of_cells(cells.iter().map(|(name, cell)| (*name, cell.as_str())));
        record.map_or(true, |record| record.is_tandem())
    }

    /// Returns the cell of the value of a key, by the place of its entry.
    fn cell(&self, at: usize, separator: Option<char>) -> Result<String, Error> {
        let (name, value) = &self.entries[at];
        let raw = value.get();
        let cell = json_cell(raw, separator).map_err(|error| {
            // The value is a slice of the line: its place is the difference of the addresses.
            let before = raw.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
            syntax(self.path, self.line, before, &error)
        })?;
        cell.ok_or_else(|| {
            let value = shorten(raw);
            let needed = if raw.starts_with('[') {
                "a list of strings or of numbers is needed"
            } else {
                "a string, a number, null or a list of strings or of numbers is needed"
            };
            let is_changed = self.is_changed && raw.contains("null");
            let read = if is_changed { " (bare NaN and Infinity are read as null)" } else { "" };
            Error::line(self.path, self.line, format!("key {name:?} holds {value}{read}; {needed}"))
        })
    }

    /// Returns the error about a key that the line lacks.
    fn missing_key(&self, name: &str) -> Error {
        let keys: Vec<String> = self.entries.iter().map(|(key, _)| key.to_string()).collect();
        let parts = if name == SPECTRUM {
            let [precursor, mzs, intensities] = PARTS;
            format!(", nor all of {precursor:?}, {mzs:?} and {intensities:?}")
        } else {
            String::new()
        };
        let message = format!("no key {name:?}{parts}; this line has: {}", list(&keys));
        Error::line(self.path, self.line, message)
    }

    /// Returns the spectrum whose parts are the values of keys.
    fn spectrum(&self) -> Result<String, Error> {
        let mut cells = Vec::new();
        for (at, (name, _)) in self.entries.iter().enumerate() {
            if !Record::has_column(name) {
                continue;
            }
            match self.cell(at, None) {
                Ok(cell) => cells.push((&**name, cell)),
                Err(error) if PARTS.contains(&&**name) => return Err(error),
                // a value that no cell holds says nothing of a spectrum
                Err(_) => {}
            }
        }
        let record = Record::of_cells(cells.iter().map(|(name, cell)| (*name, cell.as_str())));
        let text = record.and_then(|record| record.spectrum(self.path.parent()));
        text.map_err(|(_, reason)| Error::line(self.path, self.line, reason))
    }
}

/// The keys of a line that are read.
pub(super) struct Keys<'k> {
    pub names: &'k [String],
    /// The separator of each key that holds sets of labels.
    pub separators: &'k [Option<char>],
    /// Whether a line may lack any of them, which then have the value of null.
    pub are_optional: bool,
    /// The key that a line may lack in any case.
    pub optional: Option<&'k str>,
}

/// Returns the values of keys of a line that is an object, in the order of their names. The key [`SPECTRUM`] stands for [`PARTS`]
/// where the line has these in its place, also as pairs: `holds_spectra` is then set. None of a line whose spectrum states another
/// MS level than 2.
pub(super) fn json_row(
    path: &Path,
    line: usize,
    text: &str,
    keys: Keys,
    holds_spectra: &mut bool,
) -> Result<Option<Vec<String>>, Error> {
    let Keys { names, separators, are_optional, optional } = keys;
    let mut values = Vec::with_capacity(names.len());
    let plain = without_nan(text);
    let is_changed = matches!(plain, Cow::Owned(_));
    let (text, wrong_peaks) = match with_parts(&plain) {
        PairedLine::WithParts(line) => (Cow::Owned(line), None),
        PairedLine::Other => (plain, None),
        PairedLine::Wrong(reason) => (plain, Some(reason)),
    };
    let entries = entries(path, line, &text)?;
    let object = Object { path, line, text: &text, is_changed, entries };
    let entries = &object.entries;
    // the first two places of each key: a search for each name would be quadratic in the number of columns
    let mut places: HashMap<&str, (usize, Option<usize>)> = HashMap::with_capacity(entries.len());
    for (at, (key, _)) in entries.iter().enumerate() {
        let seen = places.entry(key).and_modify(|(_, second)| {
            second.get_or_insert(at);
        });
        seen.or_insert((at, None));
    }
    let refuse_second = |name: &str, first: usize, second: Option<usize>| match second {
        Some(second) => Err(Error::duplicate_column(path, line, name, [first + 1, second + 1])),
        None => Ok(()),
    };
    for (name, &separator) in names.iter().zip(separators) {
        if let Some(&(first, second)) = places.get(name.as_str()) {
            refuse_second(name, first, second)?;
            values.push(object.cell(first, separator)?);
            continue;
        }
        if name == SPECTRUM && !object.is_tandem() {
            return Ok(None);
        }
        if name == SPECTRUM && PARTS.iter().all(|part| places.contains_key(part)) {
            *holds_spectra = true;
            for part in PARTS {
                let (first, second) = places[part];
                refuse_second(part, first, second)?;
            }
            values.push(object.spectrum()?);
            continue;
        }
        let is_part = name == SPECTRUM || PARTS.contains(&name.as_str());
        if let Some(reason) = wrong_peaks.as_ref().filter(|_| is_part) {
            *holds_spectra = true;
            return Err(Error::line(path, line, reason));
        }
        if are_optional || optional == Some(name.as_str()) {
            values.push(String::new());
            continue;
        }
        return Err(object.missing_key(name));
    }
    Ok(Some(values))
}

/// The object in which Label Studio writes a list of texts: `{"choices": ["ester", "ketone"]}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choices {
    choices: Vec<String>,
}

/// Returns the text of a value: a string's characters, a number's digits, nothing for null, and the parts of a list with the
/// `separator` between, which is ";" of strings and a space of numbers if there is none. A list that would be read as another is one
/// of JSON, as [`cells::of_labels`] writes it. The texts of an object of Label Studio are those of its list. `None` for other values.
fn json_cell(raw: &str, separator: Option<char>) -> Result<Option<String>, serde_json::Error> {
    Ok(match raw.as_bytes().first() {
        Some(b'"') => Some(serde_json::from_str(raw)?),
        Some(b'-' | b'0'..=b'9' | b't' | b'f') => Some(raw.to_owned()),
        Some(b'n') => Some(String::new()),
        Some(b'[') => {
            let parts: Vec<serde_json::Value> = serde_json::from_str(raw)?;
            let text = |part: &serde_json::Value| part.as_str().map(str::to_owned);
            let number = |part: &serde_json::Value| part.is_number().then(|| part.to_string());
            let texts: Option<Vec<String>> = parts.iter().map(text).collect();
            let numbers: Option<Vec<String>> = parts.iter().map(number).collect();
            match texts {
                Some(texts) => Some(cells::of_labels(&texts, separator.unwrap_or(';'))),
                None => numbers.map(|numbers| match separator {
                    Some(separator) => cells::of_labels(&numbers, separator),
                    None => numbers.join(" "),
                }),
            }
        }
        Some(b'{') => {
            let object: Option<Choices> = serde_json::from_str(raw).ok();
            object.map(|object| cells::of_labels(&object.choices, separator.unwrap_or(';')))
        }
        _ => None,
    })
}

fn syntax(path: &Path, line: usize, before: usize, error: &serde_json::Error) -> Error {
    // The parser sees a single line, so that its own "at line 1 column 7" would mislead.
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ") {
        message.truncate(end);
    }
    let position = before + error.column();
    let message =
        format!("not JSON at position {position}: {message}; each line must be one JSON object");
    Error::line(path, line, message)
}
