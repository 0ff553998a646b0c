use std::path::Path;

use super::{MultiLabel, Rows, each_line, number};
use crate::Error;

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
/// [`Error::Io`]; [`Error::Line`] with the line and what is wrong with it; [`Error::Value`] unless at
/// least one attribute is a label and one is none; `NoRows` of the crate `dsokr-basis` for a file
/// without data.
pub fn read_arff(path: &Path, labels: usize) -> Result<MultiLabel, Error> {
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut rows: Option<Rows> = None;
    each_line(path, |line, text| {
        let text = text.trim();
        if text.is_empty() || text.starts_with('%') {
            return Ok(());
        }
        let wrong = |message: String| Error::line(path, line, message);
        if let Some(rows) = &mut rows {
            return rows.push(text, &attributes, wrong);
        }
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match keyword.to_ascii_lowercase().as_str() {
            "@relation" => {}
            "@attribute" => attributes.push(attribute(rest.trim()).map_err(wrong)?),
            "@data" if labels == 0 || labels >= attributes.len() => {
                let allowed = format!("1 to {}", attributes.len().saturating_sub(1));
                return Err(Error::value("number of labels", labels, allowed));
            }
            "@data" => {
                rows = Some(Rows { width: attributes.len() - labels, ..Rows::default() });
            }
            _ => {
                let allowed = "@relation, @attribute, @data";
                return Err(wrong(format!("{keyword:?}, allowed: {allowed}")));
            }
        }
        Ok(())
    })?;
    let rows = rows.ok_or_else(|| Error::line(path, 1, "no line @data in the file"))?;
    let names = attributes.into_iter().skip(rows.width).map(|label| label.name);
    rows.named(path, labels, names)
}

impl Rows {
    fn push(
        &mut self,
        text: &str,
        attributes: &[Attribute],
        wrong: impl Fn(String) -> Error,
    ) -> Result<(), Error> {
        let entries = entries(text, attributes.len()).map_err(&wrong)?;
        if self.inputs.is_empty() {
            self.dense = !text.starts_with('{');
        }
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        for (at, text) in entries {
            let (Attribute { name, nominal }, text) = (&attributes[at], unquoted(text));
            if let Some(allowed) = nominal
                && !allowed.iter().any(|value| value == text)
            {
                return Err(wrong(format!("{name}: {text:?}, allowed: {}", allowed.join(", "))));
            }
            let value = number(text).map_err(&wrong)?;
            if at < self.width {
                inputs.push((at as u32, value));
            } else if value == 1.0 {
                labels.push((at - self.width) as u32);
            } else if value != 0.0 {
                return Err(wrong(format!("label {name}: {text}, allowed: 0, 1")));
            }
        }
        self.inputs.push(inputs);
        self.labels.push(labels);
        Ok(())
    }
}

/// Attribute and value of each entry of a row, in the order of the attributes.
fn entries(text: &str, attributes: usize) -> Result<Vec<(usize, &str)>, String> {
    let Some(text) = text.strip_prefix('{') else {
        let entries: Vec<_> = text.split(',').map(str::trim).enumerate().collect();
        return match entries.len() == attributes {
            true => Ok(entries),
            false => Err(format!("{} values for {attributes} attributes", entries.len())),
        };
    };
    let text = text.trim_end().strip_suffix('}').ok_or("a sparse row ends with }")?;
    let mut entries: Vec<(usize, &str)> = Vec::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let split = item.split_once(char::is_whitespace);
        let entry = split.and_then(|(at, value)| Some((at.parse().ok()?, value.trim())));
        let (at, value) =
            entry.ok_or_else(|| format!("{item:?}, allowed: an index and a value"))?;
        if at >= attributes {
            return Err(format!("index {at}, allowed: 0..={}", attributes - 1));
        }
        entries.push((at, value));
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
        return match values.iter().find(|value| value.parse::<f32>().is_err()) {
            Some(value) => {
                Err(format!("{name}: nominal value {value:?}, allowed: numbers, as in {{0,1}}"))
            }
            None => Ok(Attribute { name, nominal: Some(values) }),
        };
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
