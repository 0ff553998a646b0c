use std::path::Path;

use dsokr_basis::random::generator;

use crate::config::{DataConfig, DataSource, OutputSource, SplitName};
use crate::pool::PoolFile;
use crate::table::read_official;
use crate::{DataRoot, Error, Inputs, Outputs, Truth, official, synthetic, tables};

/// Pairs of an input and an output.
#[derive(Clone, Debug)]
pub struct Split {
    /// The output's id of each pair.
    pub ids: Vec<String>,
    /// The inputs.
    pub inputs: Inputs,
    /// The output's index in [`Outputs`]; `None` for an output without features, which is allowed
    /// in evaluation only.
    pub outputs: Vec<Option<usize>>,
    /// What the outputs are, where figures say more than ranks do and all are known; not of
    /// training pairs.
    pub truth: Option<Truth>,
}

impl Split {
    /// Some of the pairs.
    ///
    /// # Errors
    /// A row out of range, where inputs are vectors.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let text = |all: &[String]| rows.iter().map(|&row| all[row].clone()).collect();
        let outputs: Vec<Option<usize>> = rows.iter().map(|&row| self.outputs[row]).collect();
        let (ids, inputs) = (text(&self.ids), self.inputs.select(rows)?);
        Ok(Self { ids, inputs, outputs, truth: None })
    }

    /// Gives a drawn share of the pairs, at least two, each the output of the next one.
    fn corrupt(&mut self, share: f64, seed: u64) {
        let count = ((share * self.ids.len() as f64).round() as usize).max(2);
        let mut random = generator(seed, "corrupted", 0);
        let chosen =
            rand::seq::index::sample(&mut random, self.ids.len(), count.min(self.ids.len()));
        let chosen = chosen.into_vec();
        for pair in chosen.windows(2) {
            self.ids.swap(pair[0], pair[1]);
            self.outputs.swap(pair[0], pair[1]);
        }
        tracing::info!(pairs = chosen.len(), "outputs of training pairs were exchanged");
    }

    /// Texts without outputs.
    pub fn texts(texts: Vec<String>) -> Self {
        let (ids, outputs) = (vec![String::new(); texts.len()], vec![None; texts.len()]);
        Self { ids, inputs: Inputs::Texts(texts), outputs, truth: None }
    }
}

/// Everything that a configuration's `[data]` and `[output]` name.
pub struct Dataset {
    /// The outputs.
    pub outputs: Outputs,
    /// Pairs to learn from; each has an output.
    pub train: Split,
    /// Pairs that choose the best checkpoint.
    pub validation: Split,
    /// Pairs that nothing is chosen on.
    pub test: Option<Split>,
}

/// What a configuration says of the data.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The pairs: `[data]`.
    pub data: &'a DataConfig,
    /// The outputs: those keys of `[output]` that do not say how they are compared.
    pub outputs: OutputSource<'a>,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

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
                let file = root.file(&pool.file);
                PoolFile::read(&file, pool, self.outputs.columns())?.dataset(self, root)?
            }
            DataSource::MultiLabel(pool) => {
                let file = root.file(&pool.file);
                PoolFile::read_multi_label(&file, pool, features)?.dataset(self, root)?
            }
            DataSource::Official(config) => official::load(config, root)?,
            DataSource::Synthetic(drawn) => synthetic::load(drawn, self.seed)?,
        };
        if self.outputs.only_training {
            dataset.only_training()?;
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
                let file = PoolFile::read(&root.file(&pool.file), pool, features.truth())?;
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

    /// Reads a file of queries, in the layout of the configuration's own files, without its outputs.
    /// `root` is needed where [`DataConfig::has_input_files`] holds.
    ///
    /// # Errors
    /// As [`Source::load`]; [`Error::Value`] where all data are drawn.
    pub fn read_queries(&self, path: &Path, root: Option<&DataRoot>) -> Result<Split, Error> {
        let features = self.outputs.features;
        match &self.data.source {
            DataSource::Tables(tables) => tables::read_queries(path, tables, self.seed, root),
            DataSource::Pool(pool) => PoolFile::read(path, pool, features.truth())?.queries(self),
            DataSource::MultiLabel(pool) => {
                PoolFile::read_multi_label(path, pool, features)?.queries(self)
            }
            DataSource::Official(_) => Ok(official::without_outputs(read_official(path)?)),
            DataSource::Synthetic(_) => {
                let allowed = "absent: the inputs of this run are drawn, not read";
                Err(Error::value("--queries", path.display(), allowed))
            }
        }
    }
}

impl Dataset {
    /// Leaves only the candidates that are outputs of training pairs.
    fn only_training(&mut self) -> Result<(), Error> {
        let mut seen = vec![false; self.outputs.ids.len()];
        self.train.outputs.iter().flatten().for_each(|&output| seen[output] = true);
        self.outputs.candidates.retain(|&output| seen[output]);
        if self.outputs.candidates.is_empty() {
            let allowed = "false: no output of a training pair is a candidate";
            return Err(Error::value("output.only_training", true, allowed));
        }
        Ok(())
    }

    /// Outputs that belong to no pair of any split, as indices.
    pub fn unlabelled(&self) -> Vec<usize> {
        let mut paired = vec![false; self.outputs.ids.len()];
        let splits = [Some(&self.train), Some(&self.validation), self.test.as_ref()];
        let outputs = splits.into_iter().flatten().flat_map(|split| &split.outputs);
        outputs.flatten().for_each(|&output| paired[output] = true);
        (0..paired.len()).filter(|&output| !paired[output]).collect()
    }

    /// A split by its name; `None` for a test split that the configuration does not name.
    pub fn split(&self, name: SplitName) -> Option<&Split> {
        match name {
            SplitName::Validation => Some(&self.validation),
            SplitName::Test => self.test.as_ref(),
        }
    }
}
