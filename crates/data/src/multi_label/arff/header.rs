//! What an ARFF file says before its rows: its relation and its attributes.

use std::collections::HashSet;

use super::outputs::OutputAttributes;

/// An attribute that numbers can be read for.
pub(super) struct Attribute {
    pub(super) name: String,
    /// Values of a nominal attribute, each a number.
    pub(super) nominal: Option<Vec<String>>,
}

/// What an ARFF file says before its rows.
#[derive(Default)]
pub(super) struct Header {
    pub(super) relation: String,
    pub(super) attributes: Vec<Attribute>,
    /// The names of the attributes.
    names: HashSet<String>,
    /// Attributes that are not 0 where a sparse row does not list them.
    pub(super) implied: Vec<usize>,
}

impl Header {
    /// Reads a line; returns whether rows follow.
    pub(super) fn declare(&mut self, text: &str) -> Result<bool, String> {
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
    pub(super) fn outputs(&self, places: &OutputAttributes) -> impl Iterator<Item = &str> {
        let outputs = self.attributes[places.outputs.clone()].iter();
        outputs.map(|attribute| attribute.name.as_str())
    }

    /// Returns the names of the attributes that are inputs.
    pub(super) fn inputs(&self, places: &OutputAttributes) -> impl Iterator<Item = &str> {
        let attributes = self.attributes.iter().enumerate();
        let inputs = attributes.filter(move |(at, _)| places.output(*at).is_none());
        inputs.map(|(_, attribute)| attribute.name.as_str())
    }
}

impl Attribute {
    /// Returns the value that a sparse row need not list.
    pub(super) fn first(&self) -> &str {
        self.nominal.as_ref().and_then(|values| values.first()).map_or("0", String::as_str)
    }
}

/// Returns the attribute that a line declares behind its keyword.
fn attribute(text: &str) -> Result<Attribute, String> {
    let (name, kind) = name(text).ok_or("an attribute has a name and a type")?;
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

/// Returns the name at the beginning of a text, and what follows it. A name ends at a blank or before `{`, unless it is between
/// quotation marks; there a backslash stands before what is meant as it is, and in `\n`, `\r` and `\t`, as Weka writes them.
fn name(text: &str) -> Option<(String, &str)> {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let end = text.find(|c: char| c.is_whitespace() || c == '{')?;
        let (name, rest) = text.split_at(end);
        return Some((name.to_owned(), rest));
    };
    let mut name = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            c if c == quote => return Some((name, &text[at + c.len_utf8()..])),
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

/// Returns a text without the quotation marks around it.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    ['\'', '"'].into_iter().find_map(inner).unwrap_or(text)
}
