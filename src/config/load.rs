//! Reads configurations: a file or a text, with overrides, becomes a [`Checked`] configuration.

use std::path::Path;

use dsokr_core::Argument;
use dsokr_core::store::read_text;

use super::overrides::overridden;
use super::table::from_text;
use super::{Checked, Config, Override};
use crate::error::Error;

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML, an unknown key, a wrong type ([`Error::Config`], with
    /// the place in the file), or a value out of range ([`dsokr_core::Error::Value`]).
    pub fn load(path: impl AsRef<Path>) -> Result<Checked, Error> {
        Self::load_with(path.as_ref(), &[])
    }

    /// Reads and checks a configuration with overrides.
    ///
    /// # Errors
    /// As [`load`](Self::load); an override that names no key of a table.
    pub fn load_with(path: &Path, overrides: &[Override]) -> Result<Checked, Error> {
        let text = read_text(path).map_err(Error::reading(path))?;
        parse(&text, path, overrides, "set")
    }

    /// Overrides and checks a configuration whose TOML is in memory. Its name is `configuration` if it has none.
    ///
    /// # Errors
    /// As [`load_with`](Self::load_with).
    pub fn parse(text: &str, overrides: &[Override]) -> Result<Checked, Error> {
        let checked = parse(text, Path::new("configuration"), overrides, "set")?;
        Ok(Checked { file: None, ..checked })
    }
}

/// Reads a configuration with overrides, which an argument of this name gives.
fn parse(
    text: &str,
    path: &Path,
    overrides: &[Override],
    argument: &'static str,
) -> Result<Checked, Error> {
    let fail = |message: String| Error::Config { path: path.to_path_buf(), message };
    // once as it stands, since only then does an error know its line
    let (table, mut config) = from_text(text).map_err(&fail)?;
    if !overrides.is_empty() {
        config = overridden(table, overrides)
            .map_err(|message| fail(format!("with {}: {message}", Argument::new(argument))))?;
    }
    if config.name.is_empty() {
        config.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    let checked = config.validate().map_err(|error| match error {
        Error::Core(
            value @ (dsokr_core::Error::Value { .. } | dsokr_core::Error::Refused { .. }),
        ) => fail(value.to_string()),
        other => other,
    })?;
    let file = Some(path.into());
    let overrides = overrides.to_vec();
    Ok(Checked { file, text: Some(text.into()), overrides, ..checked })
}

impl Checked {
    /// Applies further overrides.
    ///
    /// # Errors
    /// As [`Config::load_with`]; [`Error::Serialise`].
    pub fn with(&self, overrides: &[Override]) -> Result<Self, Error> {
        self.with_values_of("set", overrides)
    }

    /// Applies further overrides, which an argument of this name gives.
    pub(crate) fn with_values_of(
        &self,
        argument: &'static str,
        overrides: &[Override],
    ) -> Result<Self, Error> {
        let text = match &self.text {
            Some(text) => text.clone(),
            None => toml::to_string(&self.to_changeable()?)?,
        };
        let path = self.file.as_deref().unwrap_or(Path::new(&self.name));
        let changed = parse(&text, path, &[&self.overrides, overrides].concat(), argument)?;
        Ok(Self { file: self.file.clone(), ..changed })
    }

    /// Returns whether an override has set a key.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.overrides.iter().any(|change| change.path.join(".") == key)
    }
}
