//! Files of vectors with labels or numbers: ARFF, sparse and dense, and libsvm.

use std::path::Path;

use dsokr_basis::Error::File;
use dsokr_basis::Features;
use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_basis::memory::{Bytes, available};

use crate::Error;
use crate::error::open;
use crate::table::{Lines, Pieces};

/// The largest index of a feature of a libsvm file that is taken; a wider file is more likely a spelling mistake than
/// data.
const WIDEST: usize = 1 << 28;

/// The most labels of a libsvm file where their number is not given: each takes memory, whether it occurs or not.
const MOST_LABELS: usize = 1 << 22;

/// Bytes of the name of a label.
const A_NAME: f64 = 56.0;

/// Input rows and the label set of each.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiLabel {
    /// Input features: dense or sparse, as the file is.
    pub inputs: Features,
    /// A bit for each label.
    pub labels: BitRows,
    /// Names of the labels, in the order of their bits.
    pub names: Vec<String>,
}

/// Rows by their number, from 0, with what is wrong with each.
pub(crate) type BadRows = Vec<(usize, Error)>;

/// The number of rows that an error lists.
const LISTED: usize = 10;

/// The first error, with the number of rows that cannot be read and their lines.
///
/// # Errors
/// That one, if there is one.
pub(crate) fn check_rows(bad: BadRows) -> Result<(), Error> {
    let line = |(_, error): &(usize, Error)| match error {
        Error::Basis(File { line, .. }) => *line,
        _ => None,
    };
    let lines = bad.iter().filter_map(line).take(LISTED).map(|line| line.to_string());
    let (count, lines) = (bad.len(), lines.collect::<Vec<_>>().join(", "));
    let more = if count > LISTED { ", …" } else { "" };
    match bad.into_iter().next() {
        None => Ok(()),
        Some((_, Error::Basis(File { path, line: Some(line), message }))) => {
            let message = format!(
                "{message}; rows that cannot be read: {count} (lines {lines}{more}); data.on_bad_row = \"skip\" leaves \
                 them out"
            );
            Err(Error::line(&path, line, message))
        }
        Some((_, error)) => Err(error),
    }
}

/// Calls `visit` with every line and its number from 1, without the line's end.
fn each_line(
    path: &Path,
    mut visit: impl FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lines = Lines::new(path, open(path)?, Pieces::Lines);
    while lines.advance()? {
        let (line, text) = lines.current()?;
        visit(line, text)?;
    }
    Ok(())
}

/// A finite number, or what is wrong with the text.
fn number(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|value: &f32| value.is_finite());
    number.ok_or_else(|| format!("{text:?}, allowed: a finite number"))
}

/// The rows of a file while they are read: inputs as (column, value), by column, and numbers of labels.
#[derive(Default)]
struct Rows {
    /// Number of columns of inputs.
    width: usize,
    inputs: Vec<Vec<(u32, f32)>>,
    /// Whether inputs become dense rows.
    dense: bool,
    /// Rows that cannot be read, which are empty.
    bad: BadRows,
}

impl Rows {
    /// The features. A row also has `count` labels or numbers, and takes `bytes`; zeros are not stored in
    /// sparse rows.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::File`] for no rows, and for more rows, columns and labels than there is memory
    /// for: a short file may name many.
    fn features(self, path: &Path, count: usize, bytes: f64) -> Result<Features, Error> {
        let Self { width, inputs, dense, .. } = self;
        if inputs.is_empty() {
            return Err(Error::rows(path, dsokr_basis::Error::no_rows()));
        }
        let len = inputs.len() as f64;
        let columns = if dense { 4.0 * width as f64 } else { 0.0 };
        let bytes = len * (columns + bytes) + A_NAME * count as f64;
        if let Some(limit) = available().filter(|limit| bytes > limit.bytes) {
            let bytes = Bytes(bytes);
            let message = format!(
                "{len} rows of {width} features and {count} labels need about {bytes}, available is {limit}"
            );
            return Err(Error::file(path, message));
        }
        Ok(if dense {
            let mut values = vec![0.0; inputs.len() * width];
            for (row, entries) in values.chunks_exact_mut(width.max(1)).zip(&inputs) {
                entries.iter().for_each(|&(column, value)| row[column as usize] = value);
            }
            DenseRows::new(width, values)?.into()
        } else {
            let stored = |row: Vec<(u32, f32)>| row.into_iter().filter(|entry| entry.1 != 0.0);
            SparseRows::from_rows(width, inputs.into_iter().map(stored))?.into()
        })
    }

    /// The rows with a set of labels of these names each.
    fn named(
        self,
        path: &Path,
        labels: Vec<Vec<u32>>,
        names: impl ExactSizeIterator<Item = String>,
    ) -> Result<MultiLabel, Error> {
        let count = names.len();
        let bits = (count as f64 / 64.0).ceil() * 8.0;
        let inputs = self.features(path, count, bits)?;
        let (labels, names) = (BitRows::from_indices(count, labels)?, names.collect());
        Ok(MultiLabel { inputs, labels, names })
    }
}

/// An attribute that numbers can be read for.
struct Attribute {
    name: String,
    /// Values of a nominal attribute, each a number.
    nominal: Option<Vec<String>>,
}

/// Reads a multi-label ARFF file, sparse (`{3 1, 17 0.5}`) or dense, whose last `labels` attributes are
/// the labels.
///
/// Attributes are numeric, real, integer, or nominal with numbers for values (`{0,1}`); labels hold 0
/// or 1. Names may be quoted, `%` starts a comment, indices count from 0, and what a sparse row does
/// not list is 0. Inputs are sparse rows when the first row is sparse, else dense.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_basis::Error::File`] with the line and what is wrong with it, a missing value (`?`) among others,
/// and the number of such rows, and for a file without data; [`dsokr_basis::Error::Value`] unless at least one attribute is a label and one is none.
pub fn read_arff(path: &Path, labels: usize) -> Result<MultiLabel, Error> {
    let (read, bad) = arff_labels(path, labels)?;
    check_rows(bad).map(|()| read)
}

/// As [`read_arff`], with the rows that cannot be read, which are empty.
pub(crate) fn arff_labels(path: &Path, labels: usize) -> Result<(MultiLabel, BadRows), Error> {
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let (mut rows, names) = arff(path, labels, |outputs| {
        let set = outputs.iter().filter_map(|&(label, name, value, text)| match value {
            1.0 => Some(Ok(label as u32)),
            0.0 => None,
            _ => Some(Err(format!("label {name}: {text}, allowed: 0, 1"))),
        });
        sets.push(set.collect::<Result<_, _>>()?);
        Ok(())
    })?;
    let bad = std::mem::take(&mut rows.bad);
    Ok((rows.named(path, sets, names.into_iter())?, bad))
}

/// Inputs, a row of numbers for each, and the rows that cannot be read, which are zeros.
pub(crate) type Numbers = (Features, Vec<Vec<f32>>, BadRows);

/// Reads a multi-target ARFF file, whose last `targets` attributes are numbers to predict: the features, and a row of
/// numbers for each. The rest is as in [`read_arff`].
pub(crate) fn arff_numbers(path: &Path, targets: usize) -> Result<Numbers, Error> {
    let mut numbers: Vec<Vec<f32>> = Vec::new();
    let (mut rows, _) = arff(path, targets, |outputs| {
        let mut row = vec![0.0; targets];
        outputs.iter().for_each(|&(target, _, value, _)| row[target] = value);
        numbers.push(row);
        Ok(())
    })?;
    let bad = std::mem::take(&mut rows.bad);
    Ok((rows.features(path, targets, 4.0 * targets as f64)?, numbers, bad))
}

/// An output that a row lists: its number, its name, its value, and that as text.
type Listed<'a> = (usize, &'a str, f32, &'a str);

/// Reads the rows of an ARFF file whose last `count` attributes are outputs, and the names of these; `output` takes
/// what each row lists of them, or says what is wrong with it.
fn arff(
    path: &Path,
    count: usize,
    mut output: impl FnMut(&[Listed]) -> Result<(), String>,
) -> Result<(Rows, Vec<String>), Error> {
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut rows: Option<Rows> = None;
    each_line(path, |line, text| {
        let text = text.trim();
        if text.is_empty() || text.starts_with('%') {
            return Ok(());
        }
        let wrong = |message: String| Error::line(path, line, message);
        if let Some(rows) = &mut rows {
            if rows.inputs.is_empty() {
                rows.dense = !text.starts_with('{');
            }
            let mut read = || {
                let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
                for (at, text) in entries(text, attributes.len())? {
                    let Attribute { name, .. } = &attributes[at];
                    let (value, text) = attributes[at].value(text)?;
                    match at.checked_sub(rows.width) {
                        Some(at) => outputs.push((at, name.as_str(), value, text)),
                        None => inputs.push((at as u32, value)),
                    }
                }
                output(&outputs).map(|()| inputs)
            };
            let inputs = match read() {
                Ok(inputs) => inputs,
                Err(message) => {
                    rows.bad.push((rows.inputs.len(), wrong(message)));
                    output(&[]).map_err(wrong)?;
                    Vec::new()
                }
            };
            rows.inputs.push(inputs);
            return Ok(());
        }
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match keyword.to_ascii_lowercase().as_str() {
            "@relation" => {}
            "@attribute" => attributes.push(attribute(rest.trim()).map_err(wrong)?),
            "@data" if count == 0 || count >= attributes.len() => {
                let allowed = format!("1 to {}", attributes.len().saturating_sub(1));
                return Err(Error::value("data.labels", count, allowed));
            }
            "@data" => rows = Some(Rows { width: attributes.len() - count, ..Rows::default() }),
            _ => return Err(wrong(format!("{keyword:?}, allowed: @relation, @attribute, @data"))),
        }
        Ok(())
    })?;
    let rows = rows.ok_or_else(|| Error::line(path, 1, "no line @data in the file"))?;
    let names = attributes.into_iter().skip(rows.width).map(|output| output.name).collect();
    Ok((rows, names))
}

impl Attribute {
    /// The number in the text of an entry, and the text without quotes.
    fn value<'t>(&self, text: &'t str) -> Result<(f32, &'t str), String> {
        let (Self { name, nominal }, text) = (self, unquoted(text));
        match nominal.as_ref().filter(|all| !all.iter().any(|value| value == text)) {
            Some(allowed) => Err(format!("{name}: {text:?}, allowed: {}", allowed.join(", "))),
            None => Ok((number(text).map_err(|reason| format!("{name}: {reason}"))?, text)),
        }
    }
}

/// Attribute and value of each entry of a row, in the order of the attributes.
fn entries(text: &str, attributes: usize) -> Result<Vec<(usize, &str)>, String> {
    let Some(text) = text.strip_prefix('{') else {
        let entries: Vec<_> = text.split(',').map(str::trim).enumerate().collect();
        if entries.len() != attributes {
            return Err(format!("{} values for {attributes} attributes", entries.len()));
        }
        return Ok(entries);
    };
    let text = text.trim_end().strip_suffix('}').ok_or("a sparse row ends with }")?;
    let mut entries: Vec<(usize, &str)> = Vec::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let split = item.split_once(char::is_whitespace);
        match split.and_then(|(at, value)| Some((at.parse().ok()?, value.trim()))) {
            Some((at, value)) if at < attributes => entries.push((at, value)),
            Some((at, _)) => return Err(format!("index {at}, allowed: 0..={}", attributes - 1)),
            None => return Err(format!("{item:?}, allowed: an index and a value")),
        }
    }
    entries.sort_by_key(|entry| entry.0);
    match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(format!("index {} twice", pair[0].0)),
        None => Ok(entries),
    }
}

fn attribute(text: &str) -> Result<Attribute, String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let split = match quote {
        Some(quote) => text[1..].split_once(quote),
        None => text.split_once(char::is_whitespace),
    };
    let (name, kind) = split.ok_or("an attribute has a name and a type")?;
    let (name, kind) = (name.to_owned(), kind.trim());
    if let Some(values) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
        let values: Vec<String> =
            values.split(',').map(|value| unquoted(value.trim()).to_owned()).collect();
        if let Some(value) = values.iter().find(|value| value.parse::<f32>().is_err()) {
            return Err(format!(
                "{name}: nominal value {value:?}, allowed: numbers, as in {{0,1}}"
            ));
        }
        return Ok(Attribute { name, nominal: Some(values) });
    }
    match kind.to_ascii_lowercase().as_str() {
        "numeric" | "real" | "integer" => Ok(Attribute { name, nominal: None }),
        _ => Err(format!("{name}: type {kind:?}, allowed: numeric, real, integer, {{0,1}}")),
    }
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    ['\'', '"'].into_iter().find_map(inner).unwrap_or(text)
}

/// Reads a multi-label libsvm file: `label,label feature:value feature:value`. Labels count from 0, and
/// there are as many as occur where `labels` does not say how many; features count from 1.
///
/// A line that starts with a space has no labels; `#` starts a comment; features of a line are in
/// any order, each once. Inputs are sparse rows; labels are named by their numbers.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_basis::Error::File`] with the line and what is wrong with it, and for a file
/// without rows; [`dsokr_basis::Error::Shape`] for one without features or labels.
pub fn read_libsvm(path: &Path, labels: Option<usize>) -> Result<MultiLabel, Error> {
    let (mut rows, mut sets, mut most) = (Rows::default(), Vec::new(), 0);
    each_line(path, |line, text| {
        let text = text.split('#').next().unwrap_or("");
        if text.trim().is_empty() {
            return Ok(());
        }
        let wrong = |message: String| Error::line(path, line, message);
        let index = |text: &str, low: usize, high: usize, what: &str| {
            let index = text.parse().ok().filter(|index| (low..=high).contains(index));
            let message = || format!("{what} {text:?}, allowed: {low}..={high}");
            index.ok_or_else(|| wrong(message())).map(|index| index - low)
        };
        let mut words = text.split_whitespace().peekable();
        let mut set: Vec<u32> = Vec::new();
        let labelled = !text.starts_with([' ', '\t']);
        if labelled && let Some(word) = words.next_if(|word| !word.contains(':')) {
            for label in word.split(',').filter(|label| !label.is_empty()) {
                // "3.0" is how some writers put a label
                let label = label.strip_suffix(".0").unwrap_or(label);
                let high = labels.unwrap_or(MOST_LABELS).saturating_sub(1);
                let label = index(label, 0, high, "label")?;
                most = most.max(label + 1);
                set.push(label as u32);
            }
        }
        let mut row: Vec<(u32, f32)> = Vec::new();
        for word in words {
            let pair = word.split_once(':');
            let (at, value) =
                pair.ok_or_else(|| wrong(format!("{word:?}, allowed: feature:value")))?;
            let column = index(at, 1, WIDEST, "feature")?;
            rows.width = rows.width.max(column + 1);
            row.push((column as u32, number(value).map_err(wrong)?));
        }
        row.sort_by_key(|entry| entry.0);
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong(format!("feature {} twice", pair[0].0 + 1)));
        }
        rows.inputs.push(row);
        sets.push(set);
        Ok(())
    })?;
    let count = labels.unwrap_or(most);
    rows.named(path, sets, (0..count).map(|label| label.to_string()))
}
