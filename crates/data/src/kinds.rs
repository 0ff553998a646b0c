//! Enums of kinds, each with keys of its own, and tables whose keys depend on a tag that may be left out.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use toml::Table;

/// An enum of kinds, which serde tags with their names. Each kind is a type that has their trait.
macro_rules! kinds {
    ($(#[$what:meta])* $all:ident by $tag:literal: $kind:path {
        $($(#[$doc:meta])* $name:ident($config:ty) = $text:literal,)*
    }) => {
        $(#[$what])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = $tag)]
        pub enum $all {
            $($(#[$doc])* #[serde(rename = $text)] $name($config),)*
        }

        impl $all {
            /// Returns the name of the kind in configurations.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $text,)*
                }
            }

            pub(crate) fn kind(&self) -> &dyn $kind {
                match self {
                    $(Self::$name(config) => config,)*
                }
            }
        }
    };
}

pub(crate) use kinds;

/// Reads the keys of a table that have not been read, `others`, as an enum that serde tags with the key `tag`, which
/// has the value `default` if it is not there; the message about an unknown key of the table names the others too.
pub(crate) fn tagged<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
    tag: &str,
    default: &str,
    others: &[&str],
) -> Result<T, D::Error> {
    let mut table = Table::deserialize(deserializer)?;
    table.entry(tag).or_insert_with(|| default.into());
    let unknown = |key: &String| format!("unknown field `{key}`, ");
    let unknown: Vec<String> = table.keys().map(unknown).collect();
    table.try_into().map_err(|error: toml::de::Error| {
        let mut message = error.message().to_owned();
        if unknown.iter().any(|start| message.starts_with(start)) {
            others.iter().for_each(|other| message += &format!(", `{other}`"));
        }
        D::Error::custom(message)
    })
}
