//! Enums of kinds, each with keys of its own, and tables whose keys depend on a tag that may be left out.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};

/// An enum of kinds, which serde tags with their names, and of which each is a type with a trait of its own.
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
            /// Its name in configurations.
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

/// The keys and values of a table, whatever format they come from, and the keys that may have been taken out.
pub(crate) struct Table(Map<String, Value>, Vec<&'static str>);

impl Table {
    pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|map| Self(map, Vec::new()))
    }

    /// Takes a key out, if it is there.
    pub(crate) fn take<T: DeserializeOwned, E: Error>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, E> {
        self.1.push(key);
        let value = self.0.remove(key).map(T::deserialize).transpose();
        value.map_err(|error| E::custom(format!("{key}: {error}")))
    }

    /// The rest as an enum that serde tags with the key `tag`, which has the value `default` if it is not
    /// there; the message about an unknown key names also those that were taken out before.
    pub(crate) fn tagged<T: DeserializeOwned, E: Error>(
        mut self,
        tag: &str,
        default: &str,
    ) -> Result<T, E> {
        self.0.entry(tag).or_insert_with(|| default.into());
        T::deserialize(Value::Object(self.0)).map_err(|error| {
            let mut message = error.to_string();
            if message.starts_with("unknown field") {
                self.1.iter().for_each(|other| message += &format!(", `{other}`"));
            }
            E::custom(message)
        })
    }
}
