use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dsokr_basis::features::{NgramOptions, NgramVocabulary};
use dsokr_basis::{Features, RowSource};

use super::DataRoot;
use super::feature_file::{read_features, read_packed};
use super::table::{Table, read_official, unique_ids};
use crate::Error;
use crate::config::{
    Checked, DataConfig, FeatureFileConfig, OutputConfig, OutputFeatures, SplitName,
};

/// The outputs y: ids, labels to show, feature rows, and which of them are candidates.
pub struct Outputs {
    /// Unique ids.
    pub ids: Vec<String>,
    /// What `search` shows; empty strings where no column is named.
    pub labels: Vec<String>,
    /// One feature row an output.
    pub rows: Box<dyn RowSource>,
    /// Indices of the candidates, ascending.
    pub candidates: Vec<usize>,
}

/// Pairs of an input and an output.
#[derive(Clone, Debug)]
pub struct Split {
    /// The output's id of each pair.
    pub ids: Vec<String>,
    /// The input's text; empty strings where inputs are vectors.
    pub texts: Vec<String>,
    /// The input's vector, where inputs are vectors.
    pub vectors: Vec<Vec<f32>>,
    /// The output's index in [`Outputs`]; `None` for an output without features, which is allowed
    /// in evaluation only.
    pub outputs: Vec<Option<usize>>,
}

impl Split {
    /// One text, without an output.
    pub fn query(text: &str) -> Self {
        let texts = vec![text.to_string()];
        Self { ids: vec![String::new()], texts, vectors: Vec::new(), outputs: vec![None] }
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

impl Dataset {
    /// Reads all files of a configuration.
    ///
    /// # Errors
    /// Whatever is wrong with a file, with its name and place.
    pub fn load<R>(config: &Checked<R>, root: &DataRoot) -> Result<Self, Error> {
        let data = &config.data;
        let train = read_pairs(&root.file(&data.train), data)?;
        let validation = read_pairs(&root.file(&data.validation), data)?;
        let test = data.test.as_ref().map(|file| read_pairs(&root.file(file), data)).transpose()?;
        let outputs = match &config.output.table {
            Some(table) => Outputs::from_table(&root.file(table), &config.output, root)?,
            None => Outputs::from_official(&train, &validation, test.as_ref())?,
        };
        let vectors = Vectors::load(data, root)?;
        let index: HashMap<&str, usize> =
            outputs.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        let join = |pairs: Pairs, required: bool| pairs.join(&index, vectors.as_ref(), required);
        Ok(Self {
            train: join(train, true)?,
            validation: join(validation, false)?,
            test: test.map(|pairs| join(pairs, false)).transpose()?,
            outputs,
        })
    }

    /// A split by its name; `None` for a test split that the configuration does not name.
    pub fn split(&self, name: SplitName) -> Option<&Split> {
        match name {
            SplitName::Validation => Some(&self.validation),
            SplitName::Test => self.test.as_ref(),
        }
    }
}

/// Reads a table of queries (or an official file) without its outputs, for `evaluate --queries`.
///
/// # Errors
/// As [`Dataset::load`].
pub fn read_queries<R>(
    path: &Path,
    config: &Checked<R>,
    root: Option<&DataRoot>,
) -> Result<Split, Error> {
    let pairs = read_pairs(path, &config.data)?;
    let vectors = match root {
        Some(root) => Vectors::load(&config.data, root)?,
        None => None,
    };
    pairs.join(&HashMap::new(), vectors.as_ref(), false)
}

/// A file of pairs as it was read.
struct Pairs {
    path: PathBuf,
    ids: Vec<String>,
    texts: Vec<String>,
    lines: Vec<usize>,
    /// Output features that an official file carries.
    features: Option<Features>,
}

fn read_pairs(path: &Path, data: &DataConfig) -> Result<Pairs, Error> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt")) {
        let official = read_official(path)?;
        return Ok(Pairs {
            path: path.into(),
            lines: (1..=official.ids.len()).collect(),
            ids: official.ids,
            texts: official.descriptions,
            features: Some(Features::Dense(official.features)),
        });
    }
    let columns: &[&str] =
        if data.inputs.is_some() { &[&data.id] } else { &[&data.id, &data.text] };
    // an id may occur twice: two texts that describe the same output
    let table = Table::read(path, columns)?;
    let ids = table.column(&data.id)?.to_vec();
    let texts = match columns.len() {
        1 => vec![String::new(); ids.len()],
        _ => table.column(&data.text)?.to_vec(),
    };
    let lines = (0..ids.len()).map(|row| table.line(row)).collect();
    Ok(Pairs { path: path.into(), ids, texts, lines, features: None })
}

impl Pairs {
    fn join(
        self,
        outputs: &HashMap<&str, usize>,
        vectors: Option<&Vectors>,
        required: bool,
    ) -> Result<Split, Error> {
        let found: Vec<Option<usize>> =
            self.ids.iter().map(|id| outputs.get(id.as_str()).copied()).collect();
        let missing = found.iter().position(Option::is_none);
        if let (true, Some(row)) = (required, missing) {
            return Err(Error::UnknownOutput {
                path: self.path,
                line: self.lines[row],
                id: self.ids[row].clone(),
                outputs: "the configuration's output.table".into(),
            });
        }
        let vectors = match vectors {
            Some(vectors) => self
                .ids
                .iter()
                .zip(&self.lines)
                .map(|(id, &line)| vectors.of(id, &self.path, line))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Split { ids: self.ids, texts: self.texts, vectors, outputs: found })
    }
}

/// The inputs' vectors by id.
struct Vectors {
    path: PathBuf,
    rows: HashMap<String, Vec<f32>>,
}

impl Vectors {
    fn load(data: &DataConfig, root: &DataRoot) -> Result<Option<Self>, Error> {
        let Some(inputs) = &data.inputs else { return Ok(None) };
        let path = root.file(&inputs.table);
        let table = Table::read(&path, &[&inputs.id])?;
        unique_ids(&table, &inputs.id)?;
        let source = feature_rows(&inputs.features, root, &path, table.len())?;
        let ids = table.column(&inputs.id)?.iter().cloned();
        let all: Vec<usize> = (0..table.len()).collect();
        let Features::Dense(dense) = source.select(&all)? else {
            return Err(Error::Value {
                key: "data.inputs.features.file".into(),
                found: format!("{} rows", source.kind()),
                allowed: "dense rows".into(),
            });
        };
        let rows = dense.values().chunks_exact(dense.width()).map(<[f32]>::to_vec);
        Ok(Some(Self { path, rows: ids.zip(rows).collect() }))
    }

    fn of(&self, id: &str, path: &Path, line: usize) -> Result<Vec<f32>, Error> {
        self.rows.get(id).cloned().ok_or_else(|| Error::UnknownOutput {
            path: path.into(),
            line,
            id: id.into(),
            outputs: self.path.display().to_string(),
        })
    }
}

/// The rows of a feature file that must follow a table.
fn feature_rows(
    config: &FeatureFileConfig,
    root: &DataRoot,
    table: &Path,
    expected: usize,
) -> Result<Box<dyn RowSource>, Error> {
    let path = root.file(&config.file);
    let key = config.key.as_deref();
    let rows = if config.packed { read_packed(&path, key)? } else { read_features(&path, key)? };
    if rows.len() != expected {
        return Err(Error::RowCount {
            features: path,
            found: rows.len(),
            table: table.into(),
            expected,
        });
    }
    Ok(Box::new(rows))
}

impl Outputs {
    fn from_table(path: &Path, config: &OutputConfig, root: &DataRoot) -> Result<Self, Error> {
        let mut columns = vec![config.id.as_str()];
        columns.extend(config.label.as_deref());
        columns.extend(config.candidate.as_ref().map(|c| c.column.as_str()));
        if let OutputFeatures::Ngrams { column, .. } = &config.features {
            columns.push(column);
        }
        let table = Table::read(path, &columns)?;
        unique_ids(&table, &config.id)?;
        let ids = table.column(&config.id)?.to_vec();
        let labels = match &config.label {
            Some(column) => table.column(column)?.to_vec(),
            None => vec![String::new(); ids.len()],
        };
        let candidates = match &config.candidate {
            None => (0..ids.len()).collect(),
            Some(rule) => {
                let values = table.column(&rule.column)?.iter().enumerate();
                let chosen: Vec<usize> =
                    values.filter(|(_, v)| **v == rule.value).map(|(i, _)| i).collect();
                if chosen.is_empty() {
                    let (column, value) = (rule.column.clone(), rule.value.clone());
                    return Err(Error::NoCandidate { path: path.into(), column, value });
                }
                chosen
            }
        };
        let rows: Box<dyn RowSource> = match &config.features {
            OutputFeatures::File(file) => feature_rows(file, root, path, ids.len())?,
            OutputFeatures::Ngrams { column, min, max } => {
                let texts = table.column(column)?;
                let options = NgramOptions { min: *min, max: *max, boundaries: false };
                let vocabulary = NgramVocabulary::fit(options, texts)?;
                Box::new(Features::Sparse(vocabulary.rows(texts)?))
            }
            OutputFeatures::Official {} => {
                return Err(Error::Value {
                    key: "output.table".into(),
                    found: format!("{:?}", path.display()),
                    allowed: "no table beside official features".into(),
                });
            }
        };
        Ok(Self { ids, labels, rows, candidates })
    }

    /// The outputs of the official layout: all rows of all files, each id once.
    fn from_official(
        train: &Pairs,
        validation: &Pairs,
        test: Option<&Pairs>,
    ) -> Result<Self, Error> {
        let mut ids = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut rows: Option<Features> = None;
        for pairs in [Some(train), Some(validation), test].into_iter().flatten() {
            let Some(features) = &pairs.features else {
                return Err(Error::NotOfficial { path: pairs.path.clone() });
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
            None => return Err(Error::NotFound { path: train.path.clone(), hint: String::new() }),
        };
        let candidates = (0..ids.len()).collect();
        Ok(Self { labels: vec![String::new(); ids.len()], ids, rows, candidates })
    }
}
