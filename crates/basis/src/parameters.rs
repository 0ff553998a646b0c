//! Parameters of variants in configuration files.

/// Reads a variant without parameters in a table with a tag: serde ignores unknown keys next to one.
pub(crate) fn no_parameters<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<(), D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    serde::Deserialize::deserialize(deserializer).map(|Nothing {}| ())
}
