//! A configuration that has been checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::store::{Contents, Tensor};
use dsokr_data::config::OnBadRow;
use dsokr_data::{DataRoot, InputColumns, Source};

use super::{Config, EncoderTable, FORMAT, Override};
use crate::error::Error;

/// A configuration whose values have been checked.
#[derive(Clone, Debug, derive_more::Deref)]
pub struct Checked {
    #[deref]
    pub(super) config: Config,
    /// The file that it was read from.
    pub(super) file: Option<PathBuf>,
    /// The folder of the data that a run was trained on; none for a configuration that is not a run's.
    pub(crate) trained_on: Option<PathBuf>,
    /// The columns of the inputs that a run was trained on, where it keeps them.
    pub(crate) input_columns: Option<InputColumns>,
    /// The text that it was read from, without overrides; none of one that a program has made.
    pub(super) text: Option<String>,
    pub(super) overrides: Vec<Override>,
}

/// Two configurations are equal if their values are, wherever they were read from.
impl PartialEq for Checked {
    fn eq(&self, other: &Self) -> bool {
        self.resolved() == other.resolved()
    }
}

impl Checked {
    /// Returns the source of the data, with the columns of inputs that a run keeps.
    pub fn source(&self) -> Source<'_> {
        Source { input_columns: self.input_columns.as_ref(), ..self.config.source() }
    }

    /// Returns the folder of the data: under `data` if that is given; else, for a run, the one that it was
    /// trained on, if it exists; else, for `./…`, in the folder of the configuration's file, or for `datasets/…` next to
    /// that folder or in the current one; else under the variable `DSOKR_DATA`; else under `data/`.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the ways to say where the data are.
    pub fn data_root(&self, data: Option<&Path>) -> Result<DataRoot, Error> {
        let folder = self.data.facts().folder;
        let find = || DataRoot::find(folder, self.file.as_deref(), data);
        let Some(trained_on) = self.trained_on.as_ref().filter(|_| data.is_none()) else {
            return Ok(find()?);
        };
        if trained_on.is_dir() {
            return Ok(DataRoot::at(trained_on));
        }
        let Ok(root) = find() else {
            let hint = format!(
                ", the folder of the data that the run was trained on; {} stands for DIR/{folder}",
                Argument::new("data").with("DIR")
            );
            return Err(Error::NotFound { path: trained_on.clone(), hint });
        };
        tracing::warn!(
            "{}, the folder of the data that the run was trained on, is gone: {} is read in its place",
            trained_on.display(),
            root.folder().unwrap_or(trained_on).display()
        );
        Ok(root)
    }

    /// Returns the configuration as if it had been read from a file.
    pub(crate) fn placed(self, file: &Path) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// Changes what is done with rows of tables that cannot be read.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for [`OnBadRow::Skip`] of pairs that do not come from tables.
    pub(crate) fn set_on_bad_row(&mut self, on_bad_row: OnBadRow) -> Result<(), Error> {
        self.config.data.on_bad_row = on_bad_row;
        Ok(self.config.data.validate()?)
    }

    /// Takes the encoder settings of a program in the place of equal ones that were read from a file: they may also hold
    /// what no file can, such as an object of the program that has registered their kind.
    pub fn given(mut self, encoder: Option<&EncoderTable>) -> Self {
        if let Some(settings) = encoder.filter(|settings| **settings == self.encoder) {
            self.config.encoder = settings.clone();
        }
        self
    }

    /// Returns the fingerprint of the configuration with every default written out: a CRC-32 in eight
    /// hexadecimal digits.
    ///
    /// # Errors
    /// As [`to_toml`](Self::to_toml).
    pub fn fingerprint(&self) -> Result<String, Error> {
        let text = self.to_toml()?;
        let text = [Tensor::u8("toml", &[text.len()], text.as_bytes())];
        Ok(Contents::new("configuration", FORMAT, &BTreeMap::new(), &text).checksum())
    }

    /// Returns the configuration as TOML, every default written out.
    ///
    /// # Errors
    /// [`Error::Serialise`]; a configuration that was read from TOML can be written.
    pub fn to_toml(&self) -> Result<String, Error> {
        Ok(toml::to_string(&self.resolved())?)
    }

    /// Returns the configuration with the defaults that follow from other keys. They are left out of one with members, which have
    /// their own.
    fn resolved(&self) -> Config {
        if self.ensemble.is_some() {
            return self.config.clone();
        }
        let training = self.training.clone().resolved();
        let mut resolved = Config { training, ..self.config.clone() };
        let leaves = self.encoder.abilities().held_out;
        if let Some(reranker) = &mut resolved.decoding.reranker {
            let parts = reranker.parts(leaves);
            reranker.folds = Some(parts.count);
            reranker.held_out_folds = Some(parts.held_out_folds);
        }
        resolved
    }

    /// Returns the configuration as a table of TOML, every default written out.
    pub(crate) fn to_table(&self) -> Result<toml::Table, Error> {
        Ok(self.to_toml()?.parse()?)
    }

    /// Returns the configuration as a table of TOML to which changes can be made: defaults that follow from other keys, such as
    /// the weight decay from the optimiser, are left out.
    pub(super) fn to_changeable(&self) -> Result<toml::Table, Error> {
        Ok(toml::Table::try_from(&self.config)?)
    }
}
