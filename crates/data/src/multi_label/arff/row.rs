//! A row of an ARFF file, sparse or dense.

use super::header::{Attribute, Header, unquoted};
use super::outputs::OutputAttributes;
use crate::multi_label::number;

/// An output that a row lists: its number, its name, its value, and that as text.
pub(super) type Listed<'a> = (usize, &'a str, f32, &'a str);

/// A row of an ARFF file.
#[derive(Default)]
pub(super) struct Row<'t> {
    /// Place and value of each input that it lists.
    pub(super) inputs: Vec<(u32, f32)>,
    /// What it lists of its outputs.
    pub(super) outputs: Vec<Listed<'t>>,
    /// The numbers of all attributes, in 32 and in 64 bits; none of a sparse row, most of whose numbers are 0.
    pub(super) numbers: Vec<(f32, f64)>,
}

impl Header {
    /// Reads a row.
    pub(super) fn row<'t>(
        &'t self,
        text: &'t str,
        places: &OutputAttributes,
    ) -> Result<Row<'t>, String> {
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

impl Attribute {
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
