use std::path::Path;

use dsokr_basis::features::BitRows;

use super::{MultiLabel, each_line, features, number};
use crate::Error;

/// Which attributes of an ARFF file are labels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArffLabels {
    /// The first ones (MEKA's positive class index).
    First(usize),
    /// The last ones.
    Last(usize),
    /// Those of these names.
    Named(Vec<String>),
}

/// An attribute that numbers can be read for.
struct Attribute {
    name: String,
    /// Values of a nominal attribute, each a number.
    nominal: Option<Vec<String>>,
}

/// Reads a multi-label ARFF file, sparse (`{3 1, 17 0.5}`) or dense.
///
/// Attributes are numeric, real, integer, or nominal with numbers for values (`{0,1}`); labels hold 0
/// or 1. Names may be quoted, `%` starts a comment, indices count from 0, and what a sparse row does
/// not list is 0. Inputs are sparse rows when the first row is sparse, else dense.
///
/// # Errors
/// [`Error::Io`]; [`Error::Line`] with the line and what is wrong with it; [`Error::Value`] for more
/// labels than attributes; `NoRows` of the crate `dsokr-basis` for a file without data.
pub fn read_arff(path: &Path, labels: &ArffLabels) -> Result<MultiLabel, Error> {
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut layout: Option<Layout> = None;
    let mut rows = Rows::default();
    each_line(path, |line, text| {
        let text = text.trim();
        if text.is_empty() || text.starts_with('%') {
            return Ok(());
        }
        if let Some(layout) = &layout {
            return rows.push(path, line, text, &attributes, layout);
        }
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match keyword.to_ascii_lowercase().as_str() {
            "@relation" => Ok(()),
            "@attribute" => {
                attributes.push(attribute(path, line, rest.trim())?);
                Ok(())
            }
            "@data" => {
                layout = Some(Layout::new(path, line, &attributes, labels)?);
                Ok(())
            }
            _ => Err(Error::line(
                path,
                line,
                format!("{keyword:?}, allowed: @relation, @attribute, @data"),
            )),
        }
    })?;
    let Some(layout) = layout else {
        return Err(Error::line(path, 1, "no line @data in the file"));
    };
    if rows.inputs.is_empty() {
        return Err(Error::rows(path, dsokr_basis::Error::no_rows()));
    }
    Ok(MultiLabel {
        inputs: features(layout.inputs, rows.inputs, rows.dense)?,
        labels: BitRows::from_indices(layout.names.len(), rows.labels)?,
        names: layout.names,
    })
}

/// Where each attribute goes.
struct Layout {
    /// Column and whether it is a label, for each attribute.
    columns: Vec<(u32, bool)>,
    /// Number of input columns.
    inputs: usize,
    names: Vec<String>,
}

impl Layout {
    fn new(
        path: &Path,
        line: usize,
        attributes: &[Attribute],
        labels: &ArffLabels,
    ) -> Result<Self, Error> {
        let count = attributes.len();
        let mut is_label = vec![false; count];
        match labels {
            ArffLabels::First(number) | ArffLabels::Last(number) => {
                // at least one label and one input
                if *number == 0 || *number >= count {
                    let (found, high) = (*number, count.saturating_sub(1));
                    return Err(number_of_labels(found, high));
                }
                let first = matches!(labels, ArffLabels::First(_));
                let range = if first { 0..*number } else { count - number..count };
                is_label[range].fill(true);
            }
            ArffLabels::Named(names) => {
                for name in names {
                    let at = attributes.iter().position(|found| found.name == *name);
                    let reason = || format!("no attribute is named {name:?}");
                    is_label[at.ok_or_else(|| Error::line(path, line, reason()))?] = true;
                }
                let high = count.saturating_sub(1);
                let found = is_label.iter().filter(|&&label| label).count();
                if found == 0 || found >= count {
                    return Err(number_of_labels(found, high));
                }
            }
        }
        let (mut inputs, mut names, mut columns) = (0u32, Vec::new(), Vec::with_capacity(count));
        for (attribute, &label) in attributes.iter().zip(&is_label) {
            if label {
                columns.push((names.len() as u32, true));
                names.push(attribute.name.clone());
            } else {
                columns.push((inputs, false));
                inputs += 1;
            }
        }
        Ok(Self { columns, inputs: inputs as usize, names })
    }
}

#[derive(Default)]
struct Rows {
    inputs: Vec<Vec<(u32, f32)>>,
    labels: Vec<Vec<u32>>,
    dense: bool,
}

impl Rows {
    fn push(
        &mut self,
        path: &Path,
        line: usize,
        text: &str,
        attributes: &[Attribute],
        layout: &Layout,
    ) -> Result<(), Error> {
        let sparse = text.strip_prefix('{');
        if self.inputs.is_empty() {
            self.dense = sparse.is_none();
        }
        let mut entries: Vec<(usize, &str)> = Vec::new();
        match sparse {
            Some(text) => {
                let Some(text) = text.trim_end().strip_suffix('}') else {
                    return Err(Error::line(path, line, "a sparse row ends with }"));
                };
                for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
                    let found = item.split_once(char::is_whitespace);
                    let index =
                        found.and_then(|(at, value)| Some((at.parse().ok()?, value.trim())));
                    let (at, value): (usize, &str) = index.ok_or_else(|| {
                        Error::line(path, line, format!("{item:?}, allowed: an index and a value"))
                    })?;
                    if at >= attributes.len() {
                        let high = attributes.len() - 1;
                        return Err(Error::line(
                            path,
                            line,
                            format!("index {at}, allowed: 0..={high}"),
                        ));
                    }
                    entries.push((at, value));
                }
                entries.sort_by_key(|entry| entry.0);
                if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Err(Error::line(path, line, format!("index {} twice", pair[0].0)));
                }
            }
            None => {
                entries.extend(text.split(',').map(str::trim).enumerate());
                if entries.len() != attributes.len() {
                    let (found, count) = (entries.len(), attributes.len());
                    return Err(Error::line(
                        path,
                        line,
                        format!("{found} values for {count} attributes"),
                    ));
                }
            }
        }
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        for (at, text) in entries {
            let text = unquoted(text);
            if let Some(allowed) = &attributes[at].nominal
                && !allowed.iter().any(|value| value == text)
            {
                let name = &attributes[at].name;
                let allowed = allowed.join(", ");
                return Err(Error::line(
                    path,
                    line,
                    format!("{name}: {text:?}, allowed: {allowed}"),
                ));
            }
            let value = number(path, line, text)?;
            match layout.columns[at] {
                (column, false) => inputs.push((column, value)),
                (column, true) if value == 1.0 => labels.push(column),
                (_, true) if value == 0.0 => {}
                (_, true) => {
                    let name = &attributes[at].name;
                    return Err(Error::line(
                        path,
                        line,
                        format!("label {name}: {text}, allowed: 0, 1"),
                    ));
                }
            }
        }
        self.inputs.push(inputs);
        self.labels.push(labels);
        Ok(())
    }
}

fn number_of_labels(found: usize, high: usize) -> Error {
    Error::value("number of labels", found, format!("1 to {high}"))
}

fn attribute(path: &Path, line: usize, text: &str) -> Result<Attribute, Error> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let split = match quote {
        Some(quote) => text[1..].split_once(quote),
        None => text.split_once(char::is_whitespace),
    };
    let Some((name, kind)) = split else {
        return Err(Error::line(path, line, "an attribute has a name and a type"));
    };
    let (name, kind) = (name.to_owned(), kind.trim());
    if let Some(values) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
        let values: Vec<String> =
            values.split(',').map(|value| unquoted(value.trim()).to_owned()).collect();
        if let Some(value) = values.iter().find(|value| value.parse::<f32>().is_err()) {
            let reason =
                format!("{name}: nominal value {value:?}, allowed: numbers, as in {{0,1}}");
            return Err(Error::line(path, line, reason));
        }
        return Ok(Attribute { name, nominal: Some(values) });
    }
    match kind.to_ascii_lowercase().as_str() {
        "numeric" | "real" | "integer" => Ok(Attribute { name, nominal: None }),
        _ => {
            let reason = format!("{name}: type {kind:?}, allowed: numeric, real, integer, {{0,1}}");
            Err(Error::line(path, line, reason))
        }
    }
}

fn unquoted(text: &str) -> &str {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}
