use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};

/// Reads a value from the name that it has in configurations.
///
/// ```
/// use dsokr_core::parse_name;
///
/// #[derive(Debug, PartialEq, serde::Deserialize)]
/// #[serde(rename_all = "kebab-case")]
/// enum Rule {
///     Error,
///     RankInfinity,
/// }
///
/// assert_eq!(parse_name("rank-infinity"), Ok(Rule::RankInfinity));
/// let error = parse_name::<Rule>("none").unwrap_err();
/// assert_eq!(error, "unknown variant `none`, expected `error` or `rank-infinity`");
/// ```
///
/// # Errors
/// A message with the names that there are.
pub fn parse_name<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    T::deserialize(StrDeserializer::<Error>::new(name)).map_err(|error| error.to_string())
}
