//! Rules between keys of the configuration, a row each.

use serde::Serialize;

use crate::error::Error;

/// A value that is possible by itself, and that the rest of the configuration rules out.
pub(super) struct Rule<'a> {
    /// The key of the value.
    pub key: &'a str,
    /// Whether the configuration breaks the rule.
    pub refused_when: bool,
    /// Why the value is not possible, and what to write in its place.
    pub because: &'a str,
}

/// Checks rules in their order; `settings` holds the values, and lies at the key `place` of the configuration, which is
/// empty for the configuration itself.
///
/// # Errors
/// [`dsokr_core::Error::Refused`] for the first rule that is broken, with the value of its key.
pub(super) fn check<T: Serialize>(settings: &T, place: &str, rules: &[Rule]) -> Result<(), Error> {
    let Some(broken) = rules.iter().find(|rule| rule.refused_when) else { return Ok(()) };
    let below = broken.key.strip_prefix(place).unwrap_or(broken.key).trim_start_matches('.');
    Err(Error::refused(broken.key, written(settings, below)?, broken.because))
}

/// Returns the value of a key as the configuration writes it; `absent` without one, and `given` for a table.
fn written<T: Serialize>(settings: &T, key: &str) -> Result<String, Error> {
    let settings = toml::Value::try_from(settings)?;
    let mut value = Some(&settings);
    // `kernels[2].weight` is the keys `kernels`, `2` and `weight`
    for part in key.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        value = value.and_then(|value| match part.parse::<usize>() {
            Ok(position) => value.get(position),
            Err(_) => value.get(part),
        });
    }
    Ok(match value {
        None => "absent".to_owned(),
        Some(toml::Value::Table(_)) => "given".to_owned(),
        Some(toml::Value::Array(items)) if items.iter().any(toml::Value::is_table) => {
            "given".to_owned()
        }
        Some(value) => value.to_string(),
    })
}
