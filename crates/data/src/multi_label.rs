//! Files of vectors with labels or numbers: ARFF, sparse and dense, and libsvm.

use std::ops::Range;
use std::path::Path;

use dsokr_basis::Features;
use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_core::Error::File;
use dsokr_core::memory::{Bytes, available};

use crate::error::{Error, open};
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

/// Refuses bad rows: fails with the first error, the number of rows that cannot be read, and their lines.
///
/// # Errors
/// The first error, if there is one.
pub(crate) fn check_rows(bad: BadRows) -> Result<(), Error> {
    let line = |(_, error): &(usize, Error)| match error {
        Error::Basis(File { line, .. }) => *line,
        _ => None,
    };
    let lines = bad.iter().filter_map(line).take(LISTED).map(|line| line.to_string());
    let count = bad.len();
    let lines = lines.collect::<Vec<_>>().join(", ");
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

/// Returns a finite number, or what is wrong with the text.
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
    /// Returns the features. A row also has `count` labels or numbers, and takes `bytes`; zeros are not stored in
    /// sparse rows.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for no rows, and for more rows, columns and labels than there is memory
    /// for: a short file may name many.
    fn features(self, path: &Path, count: usize, bytes: f64) -> Result<Features, Error> {
        let Self { width, inputs, dense, .. } = self;
        if inputs.is_empty() {
            return Err(Error::rows(path, dsokr_core::Error::no_rows()));
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

    /// Returns the rows with a set of labels of these names each.
    fn named(
        self,
        path: &Path,
        labels: Vec<Vec<u32>>,
        names: impl ExactSizeIterator<Item = String>,
    ) -> Result<MultiLabel, Error> {
        let count = names.len();
        let bits = (count as f64 / 64.0).ceil() * 8.0;
        let inputs = self.features(path, count, bits)?;
        let labels = BitRows::from_indices(count, labels)?;
        let names = names.collect();
        Ok(MultiLabel { inputs, labels, names })
    }
}

/// An attribute that numbers can be read for.
struct Attribute {
    name: String,
    /// Values of a nominal attribute, each a number.
    nominal: Option<Vec<String>>,
}

/// Reads a multi-label ARFF file, sparse (`{3 1, 17 0.5}`) or dense, whose last `labels` attributes are the labels. In
/// a file of MEKA, whose relation ends with `-C n`, the labels are the first n attributes, or the last ones where n is
/// negative; `labels`, if given, must agree.
///
/// Attributes are numeric, real, integer, or nominal with numbers for values (`{0,1}`); labels hold 0
/// or 1. Names may be quoted, `%` starts a comment, indices count from 0. What a sparse row does not list is 0, or the
/// first value of a nominal attribute: 1 of `{1,0}`. Inputs are sparse rows when the first row is sparse, else dense.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_core::Error::File`] with the line and what is wrong with it, a missing value (`?`) among
/// others, and the number of such rows, and for a file without data; [`dsokr_core::Error::Value`] unless at least one
/// attribute is a label and one is none, for a number of labels that neither the file nor the argument says, and for
/// two that differ.
pub fn read_arff(path: &Path, labels: impl Into<Option<usize>>) -> Result<MultiLabel, Error> {
    let (read, bad) = arff_labels(path, labels.into())?;
    check_rows(bad).map(|()| read)
}

/// Reads a file like [`read_arff`], together with the rows that cannot be read, which are empty.
pub(crate) fn arff_labels(
    path: &Path,
    labels: Option<usize>,
) -> Result<(MultiLabel, BadRows), Error> {
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let (mut rows, names) = arff(path, labels, |_, outputs| {
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
pub(crate) fn arff_numbers(path: &Path, targets: Option<usize>) -> Result<Numbers, Error> {
    let mut numbers: Vec<Vec<f32>> = Vec::new();
    let (mut rows, names) = arff(path, targets, |targets, outputs| {
        let mut row = vec![0.0; targets];
        outputs.iter().for_each(|&(target, _, value, _)| row[target] = value);
        numbers.push(row);
        Ok(())
    })?;
    let bad = std::mem::take(&mut rows.bad);
    let targets = names.len();
    Ok((rows.features(path, targets, 4.0 * targets as f64)?, numbers, bad))
}

/// An output that a row lists: its number, its name, its value, and that as text.
type Listed<'a> = (usize, &'a str, f32, &'a str);

/// The attributes of an ARFF file that are outputs, the others being inputs.
struct OutputAttributes {
    /// The positions of the labels among the attributes.
    outputs: Range<usize>,
    /// The number of all attributes.
    all: usize,
}

impl OutputAttributes {
    /// Creates the attributes that the relation of a file of MEKA states, else the last `given` ones.
    fn new(relation: &str, given: Option<usize>, all: usize) -> Result<Self, Error> {
        let stated = meka_classes(relation);
        let key = "data.labels";
        let stated_count = stated.map(|stated| stated.unsigned_abs());
        let Some(count) = stated_count.or(given) else {
            let allowed = "the number of labels or targets, the last attributes of an .arff file";
            return Err(Error::value(key, "absent", allowed));
        };
        if let Some(given) = given
            && let Some(stated) = stated
            && given != count
        {
            let allowed = format!("absent, or {count}: the relation of the file says -C {stated}");
            return Err(Error::value(key, given, allowed));
        }
        if count == 0 || count >= all {
            return Err(Error::value(key, count, format!("1 to {}", all.saturating_sub(1))));
        }
        let first = stated.is_some_and(|stated| stated > 0);
        let outputs = if first { 0..count } else { all - count..all };
        Ok(Self { outputs, all })
    }

    /// Returns the number of inputs.
    fn inputs(&self) -> usize {
        self.all - self.outputs.len()
    }

    /// Returns the place of an attribute among the outputs.
    fn output(&self, attribute: usize) -> Option<usize> {
        self.outputs.contains(&attribute).then(|| attribute - self.outputs.start)
    }

    /// Returns the place of an attribute among the inputs.
    fn input(&self, attribute: usize) -> usize {
        if attribute < self.outputs.start { attribute } else { attribute - self.outputs.len() }
    }
}

/// Returns the n of `-C n` in the name of a relation, as MEKA writes it: the first n attributes are labels, or the last
/// −n.
fn meka_classes(relation: &str) -> Option<isize> {
    let words: Vec<&str> =
        relation.split([' ', '\t', '\'', '"']).filter(|w| !w.is_empty()).collect();
    words.windows(2).find(|pair| pair[0].ends_with("-C")).and_then(|pair| pair[1].parse().ok())
}

/// Reads the rows of an ARFF file, of whose attributes some are outputs, as [`OutputAttributes::new`] finds them, and
/// the names of these; `output` takes the number of outputs and what each row lists of them, or says what is wrong
/// with it.
fn arff(
    path: &Path,
    count: Option<usize>,
    mut output: impl FnMut(usize, &[Listed]) -> Result<(), String>,
) -> Result<(Rows, Vec<String>), Error> {
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut relation = String::new();
    let mut rows: Option<(Rows, OutputAttributes)> = None;
    // attributes that are not 0 where a sparse row does not list them
    let mut implied: Vec<usize> = Vec::new();
    each_line(path, |line, text| {
        let text = text.trim();
        if text.is_empty() || text.starts_with('%') {
            return Ok(());
        }
        let wrong = |message: String| Error::line(path, line, message);
        if let Some((rows, places)) = &mut rows {
            if rows.inputs.is_empty() {
                rows.dense = !text.starts_with('{');
            }
            let mut read = || {
                let mut inputs = Vec::new();
                let mut outputs = Vec::new();
                let mut listed = entries(text, attributes.len())?;
                if text.starts_with('{') {
                    let unlisted =
                        |at: &&usize| listed.binary_search_by_key(*at, |entry| entry.0).is_err();
                    let unlisted: Vec<usize> = implied.iter().filter(unlisted).copied().collect();
                    listed.extend(unlisted.iter().map(|&at| (at, attributes[at].first())));
                    listed.sort_by_key(|entry| entry.0);
                }
                for (at, text) in listed {
                    let Attribute { name, .. } = &attributes[at];
                    let (value, text) = attributes[at].value(text)?;
                    match places.output(at) {
                        Some(at) => outputs.push((at, name.as_str(), value, text)),
                        None => inputs.push((places.input(at) as u32, value)),
                    }
                }
                output(places.outputs.len(), &outputs).map(|()| inputs)
            };
            let inputs = match read() {
                Ok(inputs) => inputs,
                Err(message) => {
                    rows.bad.push((rows.inputs.len(), wrong(message)));
                    output(places.outputs.len(), &[]).map_err(wrong)?;
                    Vec::new()
                }
            };
            rows.inputs.push(inputs);
            return Ok(());
        }
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match keyword.to_ascii_lowercase().as_str() {
            "@relation" => relation = rest.to_owned(),
            "@attribute" => attributes.push(attribute(rest.trim()).map_err(wrong)?),
            "@data" => {
                let places = OutputAttributes::new(&relation, count, attributes.len())?;
                let zero = |at: &usize| attributes[*at].first().parse() == Ok(0.0);
                implied = (0..attributes.len()).filter(|at| !zero(at)).collect();
                rows = Some((Rows { width: places.inputs(), ..Rows::default() }, places));
            }
            _ => return Err(wrong(format!("{keyword:?}, allowed: @relation, @attribute, @data"))),
        }
        Ok(())
    })?;
    let (rows, places) = rows.ok_or_else(|| Error::line(path, 1, "no line @data in the file"))?;
    let outputs = attributes.drain(places.outputs);
    let names = outputs.map(|output| output.name).collect();
    Ok((rows, names))
}

impl Attribute {
    /// Returns the value that a sparse row need not list.
    fn first(&self) -> &str {
        self.nominal.as_ref().and_then(|values| values.first()).map_or("0", String::as_str)
    }

    /// Returns the number in the text of an entry, and the text without quotes.
    fn value<'t>(&self, text: &'t str) -> Result<(f32, &'t str), String> {
        let Self { name, nominal } = self;
        let text = unquoted(text);
        match nominal.as_ref().filter(|all| !all.iter().any(|value| value == text)) {
            Some(allowed) => Err(format!("{name}: {text:?}, allowed: {}", allowed.join(", "))),
            None => Ok((number(text).map_err(|reason| format!("{name}: {reason}"))?, text)),
        }
    }
}

/// Returns attribute and value of each entry of a row, in the order of the attributes.
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
    let name = name.to_owned();
    let kind = kind.trim();
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

/// Reads a multi-label libsvm file: `label,label feature:value feature:value`. Labels count from 0. Where `labels` does
/// not give their number, there are as many as occur. Features count from 1, or from 0 where one is 0.
///
/// A line that starts with a space has no labels; `#` starts a comment; features of a line are in any order, each once.
/// Inputs are sparse rows; labels are named by their numbers. A first line of three numbers is the header of the
/// Extreme Classification Repository: rows, features and labels; features then count from 0. Where all labels are `+1`
/// and `-1`, the classes of a binary problem, there is one label, `+1`. Groups of rows (`qid:3`), which rankers read,
/// are left out.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_core::Error::File`] with the line and what is wrong with it, and for a file
/// without rows; [`dsokr_core::Error::Shape`] for one without features or labels.
pub fn read_libsvm(path: &Path, labels: Option<usize>) -> Result<MultiLabel, Error> {
    let file = LibsvmFile::read(path, labels, None)?;
    file.multi_label(path, labels)
}

/// Reads a file like [`read_libsvm`], with features that count from 0 if `zero_based`, else from 1.
pub(crate) fn read_libsvm_from(
    path: &Path,
    labels: Option<usize>,
    zero_based: bool,
) -> Result<MultiLabel, Error> {
    let file = LibsvmFile::read(path, labels, Some(zero_based))?;
    file.multi_label(path, labels)
}

/// Returns whether the features of a libsvm file count from 0: its header says so, or one of them is 0.
pub(crate) fn libsvm_counts_from_zero(path: &Path) -> Result<bool, Error> {
    let mut zero_based = false;
    let mut first = true;
    each_line(path, |_, text| {
        let text = libsvm_text(text);
        if std::mem::take(&mut first) && header(text).is_some() {
            zero_based = true;
        }
        let zero =
            |word: &str| word.split_once(':').is_some_and(|(at, _)| at.parse() == Ok(0usize));
        zero_based |= text.split_whitespace().any(zero);
        Ok(())
    })?;
    Ok(zero_based)
}

/// Returns a line without its comment.
fn libsvm_text(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

/// Returns the numbers of rows, features and labels in the first line of a file of the Extreme Classification
/// Repository.
fn header(text: &str) -> Option<[usize; 3]> {
    let numbers: Option<Vec<usize>> =
        text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// A libsvm file while it is read.
#[derive(Default)]
struct LibsvmFile {
    rows: Rows,
    /// The labels of each row. A binary problem has the labels 1 and −1.
    sets: Vec<Vec<i64>>,
    /// The numbers in the header: rows, features and labels.
    header: Option<[usize; 3]>,
    /// Whether a label has been `-1`.
    binary: bool,
    /// Number of rows with a group.
    grouped: usize,
}

impl LibsvmFile {
    fn read(path: &Path, labels: Option<usize>, zero_based: Option<bool>) -> Result<Self, Error> {
        let mut file = Self::default();
        let mut first = true;
        let mut has_zero = false;
        each_line(path, |line, text| {
            let text = libsvm_text(text);
            if text.trim().is_empty() {
                return Ok(());
            }
            if std::mem::take(&mut first) {
                file.header = header(text);
                if file.header.is_some() {
                    return Ok(());
                }
            }
            let high = labels.or(file.header.map(|[.., labels]| labels)).unwrap_or(MOST_LABELS);
            let row = file.row(text, high).map_err(|message| Error::line(path, line, message))?;
            has_zero |= row.first().is_some_and(|&(feature, _)| feature == 0);
            if has_zero && zero_based == Some(false) {
                let message = format!("feature \"0\", allowed: 1..={WIDEST}");
                return Err(Error::line(path, line, message));
            }
            file.rows.width =
                file.rows.width.max(row.last().map_or(0, |&(last, _)| last as usize + 1));
            file.rows.inputs.push(row);
            Ok(())
        })?;
        let counts_from_zero = zero_based.unwrap_or(has_zero || file.header.is_some());
        if !counts_from_zero {
            file.rows.width = file.rows.width.saturating_sub(1);
            let entries = file.rows.inputs.iter_mut().flatten();
            entries.for_each(|(feature, _)| *feature -= 1);
        }
        file.check_header(path)?;
        if file.grouped > 0 {
            tracing::warn!(
                rows = file.grouped,
                "{}: groups of rows (qid) are not read",
                path.display()
            );
        }
        Ok(file)
    }

    /// Returns the features of a line, by their numbers as they are written; its labels, which are below `high`, are
    /// kept.
    fn row(&mut self, text: &str, high: usize) -> Result<Vec<(u32, f32)>, String> {
        let mut words = text.split_whitespace().peekable();
        let mut set = Vec::new();
        let labelled = !text.starts_with([' ', '\t']);
        if labelled && let Some(word) = words.next_if(|word| !word.contains(':')) {
            for label in word.split(',').filter(|label| !label.is_empty()) {
                // "3.0" is how some writers put a label
                let number = label.strip_suffix(".0").unwrap_or(label);
                let label = number.parse::<i64>().ok().filter(|&number| {
                    number == -1 || usize::try_from(number).is_ok_and(|number| number < high)
                });
                let allowed = || {
                    format!(
                        "label {number:?}, allowed: 0..={}, or +1 and -1",
                        high.saturating_sub(1)
                    )
                };
                let label = label.ok_or_else(allowed)?;
                self.binary |= label == -1;
                set.push(label);
            }
        }
        self.sets.push(set);
        let mut row: Vec<(u32, f32)> = Vec::new();
        for word in words {
            let (at, value) =
                word.split_once(':').ok_or_else(|| format!("{word:?}, allowed: feature:value"))?;
            if at == "qid" {
                self.grouped += 1;
                continue;
            }
            let feature = at.parse().ok().filter(|feature| (0..=WIDEST).contains(feature));
            let feature =
                feature.ok_or_else(|| format!("feature {at:?}, allowed: 0..={WIDEST}"))?;
            row.push((feature as u32, number(value)?));
        }
        row.sort_by_key(|entry| entry.0);
        match row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(format!("feature {} twice", pair[0].0)),
            None => Ok(row),
        }
    }

    /// Compares the file with its header. The number of features must be the number of columns.
    fn check_header(&mut self, path: &Path) -> Result<(), Error> {
        let Some([rows, features, _]) = self.header else { return Ok(()) };
        let row_count = self.rows.inputs.len();
        let width = self.rows.width;
        if row_count != rows || width > features {
            let message = format!(
                "{row_count} rows with features up to {}; the first line states {rows} rows and {features} features, from 0",
                width.saturating_sub(1)
            );
            return Err(Error::file(path, message));
        }
        self.rows.width = features;
        Ok(())
    }

    fn multi_label(self, path: &Path, labels: Option<usize>) -> Result<MultiLabel, Error> {
        let Self { rows, sets, header, binary, .. } = self;
        if binary {
            return binary_labels(path, rows, &sets);
        }
        let most = sets.iter().flatten().max().map_or(0, |&most| most as usize + 1);
        let count = labels.or(header.map(|[.., labels]| labels)).unwrap_or(most);
        let sets = sets.into_iter().map(|set| set.into_iter().map(|label| label as u32).collect());
        rows.named(path, sets.collect(), (0..count).map(|label| label.to_string()))
    }
}

/// Returns the one label of a binary problem, whose classes are `+1` and `-1`.
fn binary_labels(path: &Path, rows: Rows, sets: &[Vec<i64>]) -> Result<MultiLabel, Error> {
    let is_class = |set: &Vec<i64>| matches!(set.as_slice(), [1] | [-1]);
    if let Some(row) = sets.iter().position(|set| !is_class(set)) {
        let message = format!(
            "row {} has the labels {:?}; where one row has the label -1, every row has the class +1 or -1",
            row + 1,
            sets[row]
        );
        return Err(Error::file(path, message));
    }
    let positive = sets.iter().map(|set| if set[0] == 1 { vec![0] } else { Vec::new() });
    rows.named(path, positive.collect(), std::iter::once("+1".to_owned()))
}
