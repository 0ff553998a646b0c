use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dsokr_basis::random::generator;
use dsokr_basis::{Features, RowSource};

use super::input_files::InputFiles;
use super::pool::PoolFile;
use super::row_index::InputIds;
use super::structure::inputs;
use super::table::{Table, read_official};
use super::{DataRoot, Outputs, Truth, pool, synthetic};
use crate::Error;
use crate::config::{DataConfig, OutputSource, SplitName};

/// Pairs of an input and an output.
#[derive(Clone, Debug)]
pub struct Split {
    /// The output's id of each pair.
    pub ids: Vec<String>,
    /// The input's text; empty strings where inputs are vectors.
    pub texts: Vec<String>,
    /// The inputs' vectors, a row each, where inputs are vectors.
    pub vectors: Option<Features>,
    /// The output's index in [`Outputs`]; `None` for an output without features, which is allowed
    /// in evaluation only.
    pub outputs: Vec<Option<usize>>,
    /// What the outputs are, where predictions are judged by more than ranks and all are known; not of
    /// training pairs.
    pub truth: Option<Truth>,
}

impl Split {
    /// Some of the pairs.
    ///
    /// # Errors
    /// A row that there is not, where inputs are vectors.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let text = |all: &[String]| rows.iter().map(|&row| all[row].clone()).collect();
        let outputs: Vec<Option<usize>> = rows.iter().map(|&row| self.outputs[row]).collect();
        let vectors = self.vectors.as_ref().map(|vectors| vectors.select(rows)).transpose()?;
        let (ids, texts) = (text(&self.ids), text(&self.texts));
        Ok(Self { ids, texts, vectors, outputs, truth: None })
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

    /// One text, without an output.
    pub fn query(text: &str) -> Self {
        let texts = vec![text.to_string()];
        let ids = vec![String::new()];
        Self { ids, texts, vectors: None, outputs: vec![None], truth: None }
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
    /// What is drawn is drawn from this number.
    pub seed: u64,
}

impl Source<'_> {
    /// Reads all files.
    ///
    /// # Errors
    /// Whatever is wrong with a file, with its name and place.
    pub fn load(&self, root: &DataRoot) -> Result<Dataset, Error> {
        let mut dataset = match (&self.data.pool, &self.data.synthetic) {
            (_, Some(drawn)) => synthetic::load(drawn, self.seed)?,
            (Some(pool), None) => pool::load(pool, self, root)?,
            (None, None) => Dataset::from_files(self, root)?,
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
        let data = self.data;
        if let Some(drawn) = &data.synthetic {
            return synthetic::read_split(drawn, self.seed, name)?.ok_or_else(absent);
        }
        if let Some(pool) = &data.pool {
            return pool::read_split(pool, self, name, root)?.ok_or_else(absent);
        }
        let file = match name {
            SplitName::Validation => &data.validation,
            SplitName::Test => data.test.as_ref().ok_or_else(absent)?,
        };
        self.read_queries(&root.file(file), Some(root))
    }

    /// Reads a table of queries (or an official file) without its outputs. Vectors of inputs that lie in
    /// files of their own are read if `root` is given.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub fn read_queries(&self, path: &Path, root: Option<&DataRoot>) -> Result<Split, Error> {
        let pairs = read_pairs(path, self)?;
        let mut train = None;
        let vectors = match root {
            Some(root) => InputFiles::load(self.data, root, || {
                let read = read_pairs(&root.file(&self.data.train), self)?;
                Ok(train.insert(read).input_ids())
            })?,
            None => None,
        };
        pairs.join(&HashMap::new(), vectors.as_ref(), false)
    }
}

impl Dataset {
    fn from_files(source: &Source, root: &DataRoot) -> Result<Self, Error> {
        let data = source.data;
        let read = |file: &String| read_pairs(&root.file(file), source);
        let (train, validation) = (read(&data.train)?, read(&data.validation)?);
        let test = data.test.as_ref().map(read).transpose()?;
        let outputs = match source.outputs.table {
            Some(table) => Outputs::read(&root.file(table), &source.outputs, root)?,
            None => official(&train, &validation, test.as_ref())?,
        };
        let vectors = InputFiles::load(data, root, || Ok(train.input_ids()))?;
        let index: HashMap<&str, usize> =
            outputs.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        let held = |pairs: Pairs| {
            let mut split = pairs.join(&index, vectors.as_ref(), false)?;
            // the outputs' own, so that it need not stand in the table of pairs too
            split.truth = outputs.truth_of(&split.outputs);
            Ok::<_, Error>(split)
        };
        Ok(Self {
            train: train.join(&index, vectors.as_ref(), true)?,
            validation: held(validation)?,
            test: test.map(held).transpose()?,
            outputs,
        })
    }

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

/// A file of pairs as it was read.
struct Pairs {
    path: PathBuf,
    ids: Vec<String>,
    texts: Vec<String>,
    /// Ids of the inputs, where they are looked up in files of their own.
    inputs: Vec<String>,
    lines: Vec<usize>,
    /// Output features that an official file carries.
    features: Option<Features>,
    /// Vectors that a multi-label file carries.
    vectors: Option<Features>,
    truth: Option<Truth>,
}

fn read_pairs(path: &Path, source: &Source) -> Result<Pairs, Error> {
    let data = source.data;
    let text = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt"));
    if text && data.pool.is_none() {
        let official = read_official(path)?;
        return Ok(Pairs {
            path: path.into(),
            lines: (1..=official.ids.len()).collect(),
            ids: official.ids,
            texts: official.descriptions,
            inputs: Vec::new(),
            features: Some(Features::Dense(official.features)),
            vectors: None,
            truth: None,
        });
    }
    // an id may occur twice: two texts that describe the same output
    let (table, vectors, truth) = match &data.pool {
        Some(_) => {
            // queries for a run on a pool are rows as the pool has them
            let PoolFile { table, vectors } =
                PoolFile::read(path, source, source.outputs.features.truth())?;
            let truth = Truth::column(&table, source.outputs.features)?;
            (table, vectors, truth)
        }
        None if data.has_input_files() => {
            let mut columns = vec![data.id.as_str()];
            columns.extend(data.kernels.iter().map(|kernels| kernels.column.as_str()));
            (Table::read(path, &columns)?, None, None)
        }
        None => (Table::read(path, &[&data.id, &data.text])?, None, None),
    };
    let ids = table.column(&data.id)?.to_vec();
    let texts = match data.has_vectors() {
        true => vec![String::new(); ids.len()],
        false => inputs(&table, source)?,
    };
    let inputs = match &data.kernels {
        Some(kernels) => table.column(&kernels.column)?.to_vec(),
        None if data.inputs.is_some() => ids.clone(),
        None => Vec::new(),
    };
    let lines = (0..ids.len()).map(|row| table.line(row)).collect();
    Ok(Pairs { path: path.into(), ids, texts, inputs, lines, features: None, vectors, truth })
}

impl Pairs {
    fn input_ids(&self) -> InputIds<'_> {
        InputIds { ids: &self.inputs, path: &self.path, lines: &self.lines }
    }

    fn join(
        self,
        outputs: &HashMap<&str, usize>,
        vectors: Option<&InputFiles>,
        required: bool,
    ) -> Result<Split, Error> {
        let found: Vec<Option<usize>> =
            self.ids.iter().map(|id| outputs.get(id.as_str()).copied()).collect();
        let missing = found.iter().position(Option::is_none);
        if let (true, Some(row)) = (required, missing) {
            let id = &self.ids[row];
            let message =
                format!("id {id:?} is not among the outputs of the configuration's output.table");
            return Err(Error::line(&self.path, self.lines[row], message));
        }
        let vectors = match vectors {
            Some(vectors) => Some(vectors.of(self.input_ids())?),
            None => self.vectors,
        };
        let (ids, texts, truth) = (self.ids, self.texts, self.truth);
        Ok(Split { ids, texts, vectors, outputs: found, truth })
    }
}

/// The outputs of the official layout: all rows of all files, each id once.
fn official(train: &Pairs, validation: &Pairs, test: Option<&Pairs>) -> Result<Outputs, Error> {
    let mut ids = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut rows: Option<Features> = None;
    for pairs in [Some(train), Some(validation), test].into_iter().flatten() {
        let Some(features) = &pairs.features else {
            let message = "output.features.kind = \"official\" reads .txt files of the official ChEBI-20 layout";
            return Err(Error::file(&pairs.path, message));
        };
        for (row, id) in pairs.ids.iter().enumerate() {
            if seen.contains_key(id.as_str()) {
                continue;
            }
            seen.insert(id, ids.len());
            ids.push(id.clone());
            let block = features.block(row..row + 1)?;
            match &mut rows {
                Some(rows) => rows.append(&block)?,
                None => {
                    let mut first = Features::empty(features.kind(), features.width())?;
                    first.append(&block)?;
                    rows = Some(first);
                }
            }
        }
    }
    // every file has at least one row, so there are rows
    let rows: Box<dyn RowSource> = match rows {
        Some(rows) => Box::new(rows),
        None => return Err(Error::empty(&train.path)),
    };
    let candidates = (0..ids.len()).collect();
    let labels = vec![String::new(); ids.len()];
    Ok(Outputs { labels, ids, rows, candidates, truth: None })
}
