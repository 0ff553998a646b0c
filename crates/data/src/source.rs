//! What a configuration says of data, read from its files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::config::{DataConfig, OutputSource};
use crate::output_features::OutputFiles;
use crate::pairs::Wanted;
use crate::table::Table;
use crate::{DataRoot, Dataset, Error, FittedFeatures, Inputs, Outputs, Split, SplitName};

/// What a configuration says of the data.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The pairs: `[data]`.
    pub data: &'a DataConfig,
    /// The outputs: those keys of `[output]` that do not say how they are compared.
    pub outputs: OutputSource<'a>,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

impl Source<'_> {
    fn wanted<'a>(&'a self, root: Option<&'a DataRoot>) -> Wanted<'a> {
        let (outputs, on_bad_row) = (&self.outputs, self.data.on_bad_row);
        Wanted { outputs, on_bad_row, seed: self.seed, root }
    }

    /// Reads all files.
    ///
    /// # Errors
    /// Whatever is wrong with a file, with its name and place.
    pub fn load(&self, root: &DataRoot) -> Result<Dataset, Error> {
        let mut dataset = self.data.pairs().load(&self.wanted(Some(root)))?;
        if let Some(limit) = self.data.limit {
            dataset.train = dataset.train.drawn(limit, self.seed)?;
        }
        if self.outputs.only_training {
            let unpaired = self.data.pairs().facts().splits.is_some_and(|splits| splits.unpaired);
            dataset.only_training(unpaired)?;
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
        let allowed = "a file, or the argument split validation, or the argument queries";
        let split = self.data.pairs().split(name, &self.wanted(Some(root)))?;
        split.ok_or_else(|| Error::value("data.test", "absent", allowed))
    }

    /// Reads the training pairs, where a file holds only them, without the features of their outputs.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub fn read_training(&self, root: &DataRoot) -> Result<Split, Error> {
        match self.data.pairs().facts().files {
            Some(files) => self.read_queries(&root.file(files.train), Some(root)),
            None => Ok(self.load(root)?.train),
        }
    }

    /// Reads a file of queries, in the layout of the configuration's own files, without its outputs.
    /// `root` is needed where [`has_input_files`](DataConfig::has_input_files) holds. Rows that have
    /// their numbers as ids are outputs of their own, unless the file is that of the configuration under `root`.
    ///
    /// # Errors
    /// As [`Source::load`]; [`Error::Value`] where all data are drawn.
    pub fn read_queries(&self, path: &Path, root: Option<&DataRoot>) -> Result<Split, Error> {
        self.data.pairs().queries(path, &self.wanted(root))
    }

    /// The text of a query that is not a row of a table: with further SMILES behind it where the
    /// configuration asks for them.
    ///
    /// # Errors
    /// [`Error::Value`] for one that should be a SMILES and is not.
    pub fn query(&self, text: &str) -> Result<String, Error> {
        match self.data.pairs().facts().texts {
            Some(texts) => texts.query(text, self.seed),
            None => Ok(text.to_owned()),
        }
    }

    /// Reads further outputs: a table with the columns of the outputs that a training read (but for the
    /// one that says which are candidates), and in `files` the rows of features, or the graphs, that are no
    /// column of it. All are candidates. Returns the table too, for messages about its rows.
    ///
    /// # Errors
    /// As [`Source::load`]; a label that the training did not know; rows of a different width.
    pub fn read_further(
        &self,
        path: &Path,
        files: &[PathBuf],
        fitted: &FittedFeatures,
    ) -> Result<(Outputs, Table), Error> {
        let id = self.data.pairs().facts().id.unwrap_or(self.outputs.id);
        let config = OutputSource { id, candidate: None, ..self.outputs.clone() };
        let table = config.read(path, self.data.on_bad_row)?;
        let files = OutputFiles::Given(files);
        let outputs = Outputs::from_table(&table, id, &config, files, Some(fitted))?;
        Ok((outputs, table))
    }

    /// For each query of a split the outputs that training pairs give it, by id: those of the same query
    /// id, or without query ids those of the same text.
    ///
    /// # Errors
    /// As [`Source::load`]; [`Error::Value`] for inputs that are not texts, without query ids.
    pub fn known_outputs(&self, split: &Split, root: &DataRoot) -> Result<Vec<Vec<String>>, Error> {
        let train = self.load(root)?.train;
        let (asked, trained) = match (&split.queries, &train.queries) {
            (Some(asked), Some(trained)) => (asked, trained),
            (None, _) | (_, None) => match (&split.inputs, &train.inputs) {
                (Inputs::Texts(asked), Inputs::Texts(trained)) => (asked, trained),
                _ => {
                    let found = "inputs that are not texts, without query ids";
                    return Err(Error::value(
                        "the argument filter-known",
                        found,
                        "texts, or ids in data.query",
                    ));
                }
            },
        };
        let mut outputs: HashMap<&str, Vec<&String>> = HashMap::new();
        for (query, id) in trained.iter().zip(&train.ids) {
            outputs.entry(query).or_default().push(id);
        }
        let known = |query: &String| {
            let ids = outputs.get(query.as_str()).map_or(&[][..], Vec::as_slice);
            ids.iter().map(|&id| id.clone()).collect()
        };
        Ok(asked.iter().map(known).collect())
    }

    /// Bytes that drawing the data, or reading their files, takes, by the keys that determine them. A file
    /// that cannot be read counts as nothing: reading it says what is wrong.
    pub fn memory(&self, root: &DataRoot) -> Vec<(String, f64)> {
        let pairs = self.data.pairs().memory(root);
        let mut needs: Vec<_> =
            pairs.into_iter().map(|(key, need)| (key.to_owned(), need)).collect();
        if let Some(name) = self.outputs.table {
            needs.push(("output.table".to_owned(), root.size(name)));
        }
        needs.push(("output.features.file".to_owned(), self.outputs.features.kind().memory(root)));
        for (at, summand) in self.outputs.summands.iter().enumerate() {
            let key = format!("output.kernels[{at}].features.file");
            needs.push((key, summand.kind().memory(root)));
        }
        needs.retain(|(_, bytes)| *bytes > 0.0);
        needs
    }
}
