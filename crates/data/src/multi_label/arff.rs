//! ARFF files, sparse and dense, of Weka, Mulan and MEKA.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use dsokr_basis::Features;
use dsokr_core::message::list;
use dsokr_core::rounding::Rounding;

use super::{BadRows, MultiLabel, Rows, check_rows, each_line, number};
use crate::error::{Error, open};
use crate::input_columns::NamedColumns;
use crate::rounding::check_rounding;
use crate::table::{Lines, Pieces};

/// An attribute that numbers can be read for.
struct Attribute {
    name: String,
    /// The name as the file writes it between quotation marks.
    written: String,
    /// Values of a nominal attribute, each a number.
    nominal: Option<Vec<String>>,
}

/// Reads a multi-label ARFF file, sparse (`{3 1, 17 0.5}`) or dense, whose last `labels` attributes are the labels. In
/// a file of MEKA, whose relation ends with `-C n`, the labels are the first n attributes, or the last ones where n is
/// negative; `labels`, if given, must agree.
///
/// Attributes are numeric, real, integer, or nominal with numbers for values (`{0,1}`); labels hold 0
/// or 1. Names may be quoted, and no two are equal. `%` starts a comment, indices count from 0. What a sparse row does not
/// list is 0, or the first value of a nominal attribute: 1 of `{1,0}`. Inputs are sparse rows when the first row is sparse,
/// else dense.
///
/// # Errors
/// [`Error::Io`]; [`dsokr_core::Error::File`] with the line and what is wrong with it, a missing value (`?`) among
/// others, and the number of such rows, and for a file without data; [`dsokr_core::Error::Value`] unless at least one
/// attribute is a label and one is none, for a number of labels that neither the file nor the argument says, and for
/// two that differ.
pub fn read_arff(path: &Path, labels: impl Into<Option<usize>>) -> Result<MultiLabel, Error> {
    let (read, bad, _) = arff_labels(path, labels.into(), Columns::Any, Spelling::Meant, None)?;
    check_rows(bad).map(|()| read)
}

/// What the columns of numbers in a file may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Columns {
    /// Any: a few queries may differ by less than 32 bits tell apart.
    Any,
    /// Columns whose numbers 32 bits tell apart, to train with.
    ToldApart,
}

/// How names of labels are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spelling {
    /// The names as they are meant.
    Meant,
    /// The names with the backslashes between quotation marks, as runs of earlier versions have learned them.
    Written,
}

/// Inputs and sets of labels, the rows that cannot be read, which are empty, and the names of the inputs; labels have their
/// own.
type Labels = (MultiLabel, BadRows, NamedColumns);

/// Reads a file like [`read_arff`], whose inputs are in the order of those of the training, where these are known.
pub(crate) fn arff_labels(
    path: &Path,
    labels: Option<usize>,
    columns: Columns,
    spelling: Spelling,
    training: Option<&NamedColumns>,
) -> Result<Labels, Error> {
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let (mut rows, NamedColumns { inputs, outputs, dense }) =
        arff(path, labels, columns, spelling, training, |_, outputs| {
            let set = outputs.iter().filter_map(|&(label, name, value, text)| match value {
                1.0 => Some(Ok(label as u32)),
                0.0 => None,
                _ => Some(Err(format!("label {name}: {text}, allowed: 0, 1"))),
            });
            sets.push(set.collect::<Result<_, _>>()?);
            Ok(())
        })?;
    let bad = std::mem::take(&mut rows.bad);
    let read = rows.named(path, sets, outputs.into_iter())?;
    Ok((read, bad, NamedColumns { inputs, outputs: Vec::new(), dense }))
}

/// Returns the names of inputs and outputs in a file.
///
/// # Errors
/// The errors of [`read_arff`] for what precedes the rows.
pub(crate) fn arff_names(path: &Path, labels: Option<usize>) -> Result<NamedColumns, Error> {
    let mut header = Header::default();
    let mut lines = Lines::new(path, open(path)?, Pieces::Lines);
    while lines.advance()? {
        let (line, text) = lines.current()?;
        let text = text.trim();
        let wrong = |message: String| Error::line(path, line, message);
        if !is_comment(text) && header.declare(text).map_err(wrong)? {
            let places = OutputAttributes::new(&header.relation, labels, header.attributes.len())?;
            let inputs = header.inputs(&places).map(str::to_owned).collect();
            let outputs = header.outputs(&places).map(str::to_owned).collect();
            return Ok(NamedColumns { inputs, outputs, dense: false });
        }
    }
    Err(without_data(path))
}

/// Returns whether a line has nothing but a comment.
fn is_comment(text: &str) -> bool {
    text.is_empty() || text.starts_with('%')
}

/// Returns the error for a file that ends before its rows.
fn without_data(path: &Path) -> Error {
    Error::line(path, 1, "no line @data in the file")
}

/// Inputs, a row of numbers for each, the rows that cannot be read, which are zeros, and the names of both.
type Numbers = (Features, Vec<Vec<f32>>, BadRows, NamedColumns);

/// Reads a multi-target ARFF file, whose last `targets` attributes are numbers to predict: the features, and a row of
/// numbers for each, in the order of those of the training, where these are known. The rest is as in [`arff_labels`].
pub(crate) fn arff_numbers(
    path: &Path,
    targets: Option<usize>,
    columns: Columns,
    training: Option<&NamedColumns>,
) -> Result<Numbers, Error> {
    let mut numbers: Vec<Vec<f32>> = Vec::new();
    let spelling = Spelling::Meant;
    let (mut rows, named) =
        arff(path, targets, columns, spelling, training, |targets, outputs| {
            let mut row = vec![0.0; targets];
            outputs.iter().for_each(|&(target, _, value, _)| row[target] = value);
            numbers.push(row);
            Ok(())
        })?;
    let bad = std::mem::take(&mut rows.bad);
    let targets = named.outputs.len();
    Ok((rows.features(path, targets, 4.0 * targets as f64)?, numbers, bad, named))
}

/// An output that a row lists: its number, its name, its value, and that as text.
type Listed<'a> = (usize, &'a str, f32, &'a str);

/// The attributes of an ARFF file that are outputs, the others being inputs.
struct OutputAttributes {
    /// The positions of the labels among the attributes.
    outputs: Range<usize>,
    /// The number of all attributes.
    all: usize,
    /// The place of each input among the training inputs, where it is another one.
    input_order: Option<Vec<usize>>,
    /// The place of each output among the training outputs, where it is another one.
    output_order: Option<Vec<usize>>,
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
        Ok(Self { outputs, all, input_order: None, output_order: None })
    }

    /// Returns the number of inputs.
    fn inputs(&self) -> usize {
        self.all - self.outputs.len()
    }

    /// Returns the position of an attribute among the outputs.
    fn output(&self, attribute: usize) -> Option<usize> {
        let position = self.outputs.contains(&attribute).then(|| attribute - self.outputs.start)?;
        Some(self.output_order.as_ref().map_or(position, |order| order[position]))
    }

    /// Returns the position of an attribute among the inputs.
    fn input(&self, attribute: usize) -> usize {
        let position =
            if attribute < self.outputs.start { attribute } else { attribute - self.outputs.len() };
        self.input_order.as_ref().map_or(position, |order| order[position])
    }

    /// Puts inputs, and outputs that the training has by their names, into its order. They must have the same names.
    fn ordered(
        self,
        inputs: &[&str],
        outputs: &[&str],
        training: &NamedColumns,
    ) -> Result<Self, String> {
        let input_order = order("inputs", inputs, &training.inputs)?;
        let output_order = if training.outputs.is_empty() {
            None
        } else {
            order("targets", outputs, &training.outputs)?
        };
        Ok(Self { input_order, output_order, ..self })
    }
}

/// Returns the position of each name among those of the training, which must be the same ones; none where each has its own.
fn order(what: &str, names: &[&str], training: &[String]) -> Result<Option<Vec<usize>>, String> {
    if names.iter().eq(training) {
        return Ok(None);
    }
    let positions: HashMap<&str, usize> =
        training.iter().enumerate().map(|(position, name)| (name.as_str(), position)).collect();
    let is_there: HashSet<&str> = names.iter().copied().collect();
    let lacking = training.iter().filter(|name| !is_there.contains(name.as_str()));
    let lacking: Vec<String> = lacking.cloned().collect();
    let unknown = names.iter().filter(|name| !positions.contains_key(**name));
    let unknown: Vec<String> = unknown.map(|&name| name.to_owned()).collect();
    if !lacking.is_empty() || !unknown.is_empty() {
        return Err(format!(
            "the attributes that are {what} must be those of the training, in any order; lacking: {}; unknown: {}",
            list(&lacking),
            list(&unknown)
        ));
    }
    Ok(Some(names.iter().filter_map(|name| positions.get(name).copied()).collect()))
}

/// Returns the n of `-C n` in the name of a relation, as MEKA writes it: the first n attributes are labels, or the last
/// −n.
fn meka_classes(relation: &str) -> Option<isize> {
    let words: Vec<&str> =
        relation.split([' ', '\t', '\'', '"']).filter(|w| !w.is_empty()).collect();
    // filters of Weka, which the name lists too, have options -C without a number
    let mut options = words.windows(2).filter(|pair| pair[0].ends_with("-C"));
    options.find_map(|pair| pair[1].parse().ok())
}

/// A row of an ARFF file.
#[derive(Default)]
struct Row<'t> {
    /// Place and value of each input that it lists.
    inputs: Vec<(u32, f32)>,
    /// What it lists of its outputs.
    outputs: Vec<Listed<'t>>,
    /// The numbers of all attributes, in 32 and in 64 bits; none of a sparse row, most of whose numbers are 0.
    numbers: Vec<(f32, f64)>,
}

/// What an ARFF file says before its rows.
#[derive(Default)]
struct Header {
    relation: String,
    attributes: Vec<Attribute>,
    /// The names of the attributes.
    names: HashSet<String>,
    /// Attributes that are not 0 where a sparse row does not list them.
    implied: Vec<usize>,
}

impl Header {
    /// Reads a line; returns whether rows follow.
    fn declare(&mut self, text: &str) -> Result<bool, String> {
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match keyword.to_ascii_lowercase().as_str() {
            "@relation" => self.relation = rest.to_owned(),
            "@attribute" => {
                let attribute = attribute(rest.trim())?;
                let name = &attribute.name;
                if !self.names.insert(name.clone()) {
                    return Err(format!(
                        "a second attribute {name:?}: attributes are told apart by their names, so rename one of them"
                    ));
                }
                self.attributes.push(attribute);
            }
            "@data" => {
                let is_implied = |at: &usize| self.attributes[*at].first().parse() != Ok(0.0);
                self.implied = (0..self.attributes.len()).filter(is_implied).collect();
                return Ok(true);
            }
            _ => return Err(format!("{keyword:?}, allowed: @relation, @attribute, @data")),
        }
        Ok(false)
    }

    /// Returns the names of the attributes that are outputs.
    fn outputs(&self, places: &OutputAttributes) -> impl Iterator<Item = &str> {
        let outputs = self.attributes[places.outputs.clone()].iter();
        outputs.map(|attribute| attribute.name.as_str())
    }

    /// Returns the names of the attributes that are inputs.
    fn inputs(&self, places: &OutputAttributes) -> impl Iterator<Item = &str> {
        let attributes = self.attributes.iter().enumerate();
        let inputs = attributes.filter(move |(at, _)| places.output(*at).is_none());
        inputs.map(|(_, attribute)| attribute.name.as_str())
    }

    /// Reads a row.
    fn row<'t>(&'t self, text: &'t str, places: &OutputAttributes) -> Result<Row<'t>, String> {
        let mut listed = entries(text, self.attributes.len())?;
        let is_sparse = text.starts_with('{');
        if is_sparse {
            let is_listed = |at: usize| listed.binary_search_by_key(&at, |entry| entry.0).is_ok();
            let unlisted: Vec<usize> =
                self.implied.iter().copied().filter(|&at| !is_listed(at)).collect();
            listed.extend(unlisted.iter().map(|&at| (at, self.attributes[at].first())));
            listed.sort_by_key(|entry| entry.0);
        }
        let mut row = Row::default();
        for (at, text) in listed {
            let attribute = &self.attributes[at];
            let (value, text) = attribute.value(text)?;
            if !is_sparse {
                row.numbers.push((value, text.parse().unwrap_or(value.into())));
            }
            match places.output(at) {
                Some(at) => row.outputs.push((at, attribute.name.as_str(), value, text)),
                None => row.inputs.push((places.input(at) as u32, value)),
            }
        }
        if places.input_order.is_some() {
            row.inputs.sort_unstable_by_key(|entry| entry.0);
        }
        Ok(row)
    }
}

/// Reads the rows of an ARFF file, of whose attributes some are outputs, as [`OutputAttributes::new`] finds them, and
/// the names of inputs and outputs; `output` takes the number of outputs and what each row lists of them, or says what is
/// wrong with it. Both are in the order of `training`, where it has their names.
fn arff(
    path: &Path,
    count: Option<usize>,
    columns: Columns,
    spelling: Spelling,
    training: Option<&NamedColumns>,
    mut output: impl FnMut(usize, &[Listed]) -> Result<(), String>,
) -> Result<(Rows, NamedColumns), Error> {
    let mut header = Header::default();
    let mut data: Option<(Rows, OutputAttributes)> = None;
    // the roundings of each attribute
    let mut roundings: Vec<Rounding> = Vec::new();
    each_line(path, |line, text| {
        let text = text.trim();
        if is_comment(text) {
            return Ok(());
        }
        let wrong = |message: String| Error::line(path, line, message);
        let Some((rows, places)) = &mut data else {
            if header.declare(text).map_err(wrong)? {
                let mut places =
                    OutputAttributes::new(&header.relation, count, header.attributes.len())?;
                if let Some(training) = training {
                    let inputs: Vec<&str> = header.inputs(&places).collect();
                    let outputs: Vec<&str> = header.outputs(&places).collect();
                    places = places.ordered(&inputs, &outputs, training).map_err(wrong)?;
                }
                roundings.resize(places.all, Rounding::default());
                data = Some((Rows { width: places.inputs(), ..Rows::default() }, places));
            }
            return Ok(());
        };
        if rows.inputs.is_empty() {
            rows.dense = !text.starts_with('{');
        }
        let is_dense = rows.dense;
        let read = header.row(text, places).and_then(|row| {
            output(places.outputs.len(), &row.outputs)?;
            if is_dense && row.numbers.is_empty() {
                // a sparse row among dense ones, with zeros
                roundings.iter_mut().for_each(|rounding| rounding.add(0.0, 0.0));
            } else if is_dense {
                let numbers = roundings.iter_mut().zip(row.numbers);
                numbers.for_each(|(rounding, (narrow, wide))| rounding.add(narrow, wide));
            }
            Ok(row.inputs)
        });
        match read {
            Ok(inputs) => rows.inputs.push(inputs),
            Err(message) => {
                rows.bad.push((rows.inputs.len(), wrong(message)));
                output(places.outputs.len(), &[]).map_err(wrong)?;
                rows.inputs.push(Vec::new());
            }
        }
        Ok(())
    })?;
    let (rows, places) = data.ok_or_else(|| without_data(path))?;
    if columns == Columns::ToldApart {
        let place = |at: usize| format!("of the attribute {:?}", header.attributes[at].name);
        let is_input = |at: &usize| places.output(*at).is_none();
        let inputs: Vec<usize> = (0..roundings.len()).filter(is_input).collect();
        let of_inputs: Vec<Rounding> = inputs.iter().map(|&at| roundings[at]).collect();
        check_rounding(path, &of_inputs, false, |at| place(inputs[at]))?;
        // each output is predicted, so that none may be lost
        places.outputs.clone().try_for_each(|output| {
            check_rounding(path, &roundings[output..=output], false, |_| place(output))
        })?;
    }
    let inputs = header.inputs(&places).map(str::to_owned).collect();
    let outputs = match spelling {
        Spelling::Meant => header.outputs(&places).map(str::to_owned).collect(),
        Spelling::Written => {
            header.attributes.drain(places.outputs).map(|output| output.written).collect()
        }
    };
    Ok((rows, NamedColumns { inputs, outputs, dense: false }))
}

impl Attribute {
    /// Returns the value that a sparse row need not list.
    fn first(&self) -> &str {
        self.nominal.as_ref().and_then(|values| values.first()).map_or("0", String::as_str)
    }

    /// Returns the number in the text of an entry, and the text without quotes.
    fn value<'t>(&self, text: &'t str) -> Result<(f32, &'t str), String> {
        let Self { name, nominal, .. } = self;
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
    let (name, written, kind) = name(text).ok_or("an attribute has a name and a type")?;
    let written = written.to_owned();
    let kind = kind.trim();
    if let Some(values) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
        let values: Vec<String> =
            values.split(',').map(|value| unquoted(value.trim()).to_owned()).collect();
        if let Some(value) = values.iter().find(|value| value.parse::<f32>().is_err()) {
            return Err(format!(
                "{name}: nominal value {value:?}, allowed: numbers, as in {{0,1}}"
            ));
        }
        return Ok(Attribute { name, written, nominal: Some(values) });
    }
    match kind.to_ascii_lowercase().as_str() {
        "numeric" | "real" | "integer" => Ok(Attribute { name, written, nominal: None }),
        _ => Err(format!("{name}: type {kind:?}, allowed: numeric, real, integer, {{0,1}}")),
    }
}

/// Returns the name at the beginning of a text, how it is written there, and what follows it. A name ends at a blank or
/// before `{`, unless it is between quotation marks; there a backslash stands before what is meant as it is, and in `\n`, `\r`
/// and `\t`, as Weka writes them.
fn name(text: &str) -> Option<(String, &str, &str)> {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let end = text.find(|c: char| c.is_whitespace() || c == '{')?;
        let (name, rest) = text.split_at(end);
        return Some((name.to_owned(), name, rest));
    };
    let mut name = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            c if c == quote => return Some((name, &text[1..at], &text[at + c.len_utf8()..])),
            '\\' => name.push(match characters.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                c => c,
            }),
            c => name.push(c),
        }
    }
    None
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    ['\'', '"'].into_iter().find_map(inner).unwrap_or(text)
}
