//! Several columns of a table that are read as one.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_untagged::UntaggedEnumVisitor;

/// The separator between the names of columns that are read as one: the unit separator, which no header has.
const BETWEEN: char = '\u{1f}';

/// Returns the names of the columns that a name stands for: the name itself, or the names in [`ColumnNames`].
pub(crate) fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(BETWEEN)
}

/// Returns the name of a column as messages show it.
pub(crate) fn shown(name: &str) -> String {
    parts(name).map(|part| format!("{part:?}")).collect::<Vec<_>>().join(", ")
}

/// A column, or several that are read as one, whose cells are joined with a space between. A configuration writes the
/// name, or a list of names.
///
/// ```
/// use dsokr_data::config::ColumnNames;
///
/// let both: ColumnNames = serde_json::from_str(r#"["logp", "tpsa"]"#)?;
/// assert_eq!(both.names().collect::<Vec<_>>(), ["logp", "tpsa"]);
/// assert_eq!(ColumnNames::from("logp").names().count(), 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnNames(String);

impl ColumnNames {
    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        parts(&self.0)
    }

    /// Returns the name by which [`Table`](crate::table::Table) reads them as one column.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ColumnNames {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<String> for ColumnNames {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl<S: AsRef<str>> FromIterator<S> for ColumnNames {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        Self(names.join(&BETWEEN.to_string()))
    }
}

impl Serialize for ColumnNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.names().count() == 1 {
            return serializer.serialize_str(&self.0);
        }
        let mut list = serializer.serialize_seq(None)?;
        self.names().try_for_each(|name| list.serialize_element(name))?;
        list.end()
    }
}

impl<'de> Deserialize<'de> for ColumnNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("the name of a column, or a list of names")
            .string(|name| Ok(Self::from(name)))
            .seq(|list| {
                let names: Vec<String> = list.deserialize()?;
                if names.is_empty() {
                    let message = "column = []: at least one name is needed";
                    return Err(serde_untagged::de::Error::custom(message));
                }
                Ok(names.iter().collect())
            })
            .deserialize(deserializer)
            .map_err(|error: D::Error| D::Error::custom(error))
    }
}

impl JsonSchema for ColumnNames {
    fn schema_name() -> Cow<'static, str> {
        "ColumnNames".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}
