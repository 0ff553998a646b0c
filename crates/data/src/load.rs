//! Every kind of data source read from its files.

use std::path::Path;

use crate::config::{DataSource, OnBadRow, SplitName};
use crate::pool::PoolFile;
use crate::table::read_official;
use crate::{DataRoot, Dataset, Error, Source, Split, official, synthetic, tables};

impl Source<'_> {
    /// Reads all files.
    ///
    /// # Errors
    /// Whatever is wrong with a file, with its name and place.
    pub fn load(&self, root: &DataRoot) -> Result<Dataset, Error> {
        let features = self.outputs.features;
        let mut dataset = match &self.data.source {
            DataSource::Tables(tables) => tables::load(tables, self, root)?,
            DataSource::Pool(pool) => {
                PoolFile::read(&root.file(&pool.file), pool, self.outputs.columns(), self)?
                    .dataset(self, root)?
            }
            DataSource::MultiLabel(pool) => {
                PoolFile::read_multi_label(&root.file(&pool.file), pool, features)?
                    .dataset(self, root)?
            }
            DataSource::Official(config) => official::load(config, root)?,
            DataSource::Synthetic(drawn) => synthetic::load(drawn, self.seed)?,
        };
        if let Some(limit) = self.data.limit {
            dataset.train = dataset.train.drawn(limit, self.seed)?;
        }
        if self.outputs.only_training {
            dataset.only_training(self.data.unpaired())?;
        }
        if self.data.corrupted > 0.0 {
            dataset.train.corrupt(self.data.corrupted, self.seed);
        }
        Ok(dataset)
    }

    /// Reads a split without its outputs, for evaluation.
    ///
    /// # Errors
    /// As [`Source::load`]; [`Error::Value`] for a test split where the configuration names none.
    pub fn read_split(&self, name: SplitName, root: &DataRoot) -> Result<Split, Error> {
        let allowed = "a file, or --split validation, or --queries";
        let absent = || Error::value("data.test", "absent", allowed);
        let read = |file: Option<&String>| {
            self.read_queries(&root.file(file.ok_or_else(absent)?), Some(root))
        };
        let features = self.outputs.features;
        match &self.data.source {
            DataSource::Tables(tables) => read(tables::file(tables, name)),
            DataSource::Official(config) => read(official::file(config, name)),
            DataSource::Pool(pool) => {
                // rows are skipped for the columns that the training read, so that the splits are the same
                let columns: Vec<&str> = match self.data.on_bad_row {
                    OnBadRow::Stop => features.truth().into_iter().collect(),
                    OnBadRow::Skip => self.outputs.columns().collect(),
                };
                let file = PoolFile::read(&root.file(&pool.file), pool, columns, self)?;
                file.split(name, self)?.ok_or_else(absent)
            }
            DataSource::MultiLabel(pool) => {
                let file = PoolFile::read_multi_label(&root.file(&pool.file), pool, features)?;
                file.split(name, self)?.ok_or_else(absent)
            }
            DataSource::Synthetic(drawn) => {
                synthetic::read_split(drawn, self.seed, name)?.ok_or_else(absent)
            }
        }
    }

    /// Reads the training pairs, where a file holds only them, without the features of their outputs.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub fn read_training(&self, root: &DataRoot) -> Result<Split, Error> {
        match &self.data.source {
            DataSource::Tables(tables) => self.read_queries(&root.file(&tables.train), Some(root)),
            DataSource::Official(files) => self.read_queries(&root.file(&files.train), Some(root)),
            DataSource::Pool(_) | DataSource::MultiLabel(_) | DataSource::Synthetic(_) => {
                Ok(self.load(root)?.train)
            }
        }
    }

    /// Reads a file of queries, in the layout of the configuration's own files, without its outputs.
    /// `root` is needed where [`has_input_files`](crate::config::DataConfig::has_input_files) holds. Rows that have
    /// their numbers as ids are outputs of their own, unless the file is that of the configuration under `root`.
    ///
    /// # Errors
    /// As [`Source::load`]; [`Error::Value`] where all data are drawn.
    pub fn read_queries(&self, path: &Path, root: Option<&DataRoot>) -> Result<Split, Error> {
        let features = self.outputs.features;
        match &self.data.source {
            DataSource::Tables(tables) => tables::read_queries(path, tables, self, root),
            DataSource::Pool(pool) => {
                let own = is_file_of(path, &pool.file, root);
                PoolFile::read(path, pool, features.truth(), self)?.queries(self, own)
            }
            DataSource::MultiLabel(pool) => {
                let own = is_file_of(path, &pool.file, root);
                PoolFile::read_multi_label(path, pool, features)?.queries(self, own)
            }
            DataSource::Official(_) => Ok(official::without_outputs(read_official(path)?)),
            DataSource::Synthetic(_) => {
                let allowed = "absent: the inputs of this run are drawn, not read";
                Err(Error::value("--queries", path.display(), allowed))
            }
        }
    }
}

/// Whether `path` is the file `name` under `root`.
fn is_file_of(path: &Path, name: &str, root: Option<&DataRoot>) -> bool {
    let own = root.and_then(|root| root.file(name).canonicalize().ok());
    own.is_some_and(|own| path.canonicalize().is_ok_and(|path| path == own))
}
