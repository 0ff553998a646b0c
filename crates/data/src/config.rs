//! `[data]` and the outputs of a configuration, and how they are read from their files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::store::ByteSum;
use dsokr_molecule::Molecule;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::dataset::SplitName;
use crate::dataset::{Dataset, Split};
use crate::error::Error;
use crate::error::{CANDIDATES, check};
pub use crate::folds::FoldConfig;
use crate::groups::GroupRule;
use crate::input_columns::InputColumns;
pub use crate::inputs::InputKind;
use crate::inputs::Inputs;
pub use crate::joined::ColumnNames;
use crate::kinds::{kinds, tagged};
use crate::output_features::FittedFeatures;
use crate::output_features::OutputFiles;
pub use crate::output_features::{
    ClassFeatures, FeatureFileConfig, GraphFeatures, LabelFeatures, MoleculeGraphFeatures,
    NgramFeatures, NumberFeatures, OutputFeatures, OwnVectors, RankingEmbedding, RankingFeatures,
    SubstructureFeatures,
};
use crate::outputs::Known;
use crate::outputs::Outputs;
pub use crate::outputs::{CandidateConfig, OutputSource};
pub use crate::pairs::{
    FeatureInputsConfig, GraphInputsConfig, InputsConfig, KernelInputsConfig, MemoryConfig,
    MultiLabelConfig, NoiseConfig, OfficialConfig, PairFacts, PoolConfig, RowOrder, SplitSize,
    SplitsConfig, SyntheticConfig, SyntheticMap, TablesConfig, TextConfig, TrainingFile,
    TrainingFiles, WeightedFile,
};
use crate::pairs::{Pairs, Wanted};
use crate::root::DataRoot;
use crate::table;
pub use crate::table::OnBadRow;

/// The pairs to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataConfig {
    /// Share of the training pairs, 0 to 1, whose outputs are exchanged among themselves, drawn by the
    /// seed: for experiments with wrong outputs. Validation and test pairs stay as they are.
    #[serde(default)]
    pub corrupted: f64,
    /// The seed that draws `limit` and `corrupted`; the seed of the configuration, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Number of training pairs that are kept, drawn by the seed; all, if left out. The pairs of a smaller
    /// number are among those of a larger one, for learning curves. Outputs stay, and so do candidates
    /// without `output.only_training`; inputs are not kernels.
    pub limit: Option<usize>,
    /// Whether a row of a table that cannot be read stops the reading or is skipped. Such a row has a wrong number of
    /// fields, is not UTF-8 or JSON, is blank, has an empty id or repeats a unique one, holds an invalid SMILES,
    /// ranking or number, or is a training pair whose output is unknown; a mass spectrum also has no peaks, no
    /// precursor or is a profile. Rows that a matrix follows are never skipped.
    #[serde(default)]
    pub on_bad_row: OnBadRow,
    /// The licence of the data, such as `"CC-BY-4.0"`, for the card of the run; unknown if left out.
    pub licence: Option<String>,
    /// One part of a cross-validation; `dsokr cv` sets it.
    pub fold: Option<FoldConfig>,
    /// The source of the pairs.
    #[serde(flatten, deserialize_with = "tables")]
    pub source: DataSource,
}

kinds! {
    /// The source of the pairs. Files are named inside `folder`, a folder under the data root (`--data`, else the
    /// variable `DSOKR_DATA`, else `data`). A folder that starts with `./` lies in the folder of the configuration. A
    /// folder that starts with `datasets/` is the project's own and lies next to that folder.
    DataSource by "source": Pairs {
        /// A table for each split, whose rows name outputs; the default.
        Tables(TablesConfig) = "tables",
        /// One table or text file that all pairs are drawn from: the output of a pair is the row itself.
        Pool(PoolConfig) = "pool",
        /// No files: a program holds texts and outputs in memory (`Config::in_memory`).
        Memory(MemoryConfig) = "memory",
        /// One multi-label file, whose rows hold a vector and a set of labels each.
        MultiLabel(MultiLabelConfig) = "multi-label",
        /// Files of the official ChEBI-20 release, which hold texts and vectors of the outputs.
        Official(OfficialConfig) = "official",
        /// No files: vectors are drawn.
        Synthetic(SyntheticConfig) = "synthetic",
    }
}

/// Reads the table without a `source` as the source `tables`.
fn tables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DataSource, D::Error> {
    let others = ["corrupted", "seed", "limit", "on_bad_row", "licence", "fold"];
    tagged(deserializer, "source", "tables", &others)
}

impl DataConfig {
    /// Returns the facts of its keys.
    pub fn facts(&self) -> PairFacts<'_> {
        let facts = self.source.kind().facts();
        let nested = self.fold.as_ref().is_some_and(|fold| fold.nested);
        PairFacts { has_test: facts.has_test || nested, ..facts }
    }

    /// Returns whether splits are drawn from one file such that rows that repeat a text, a molecule or an id are on one side.
    pub fn keeps_repeated_texts(&self) -> bool {
        let facts = self.facts();
        let keeps_repeats = |splits: &SplitsConfig| {
            splits.column.is_none() && splits.rule() == Some(GroupRule::Repeats)
        };
        let [validation, test] = [SplitName::Validation, SplitName::Test];
        let mut files = facts.files_of_split(validation).chain(facts.files_of_split(test));
        self.fold.is_none()
            && facts.inputs == InputKind::Texts
            && facts.splits.is_some_and(keeps_repeats)
            && files.next().is_none()
    }

    /// Returns whether there are validation pairs.
    pub fn has_validation(&self) -> bool {
        match &self.fold {
            Some(fold) if !fold.nested => true,
            Some(_) | None => {
                let facts = self.facts();
                let has_file = facts.files_of("data.validation").next().is_some();
                has_file || facts.splits.is_none_or(SplitsConfig::may_have_validation)
            }
        }
    }

    /// Returns the files that say which pairs a split has, by their names in the folder of the data: its own, or those that
    /// its pairs are drawn from.
    pub fn files_of_split(&self, name: SplitName) -> Vec<&str> {
        let facts = self.facts();
        if self.is_part(name) {
            let divided = facts.files.iter().filter(|(key, _)| *key != "data.test");
            return divided.map(|&(_, file)| file).collect();
        }
        let files: Vec<&str> = facts.files_of_split(name).collect();
        if files.is_empty() { facts.files_of("data.file").collect() } else { files }
    }

    /// Returns whether a split is drawn from rows that other splits have too, so that it is another one where rows are added: not
    /// where it has files of its own, nor where a column names the split of each row.
    pub fn draws_split(&self, name: SplitName) -> bool {
        let facts = self.facts();
        let has_file = facts.files_of_split(name).next().is_some();
        let is_drawn = facts.splits.is_some_and(|splits| splits.column.is_none());
        self.is_part(name) || (is_drawn && !has_file)
    }

    /// Returns whether a split consists of parts of a cross-validation.
    fn is_part(&self, name: SplitName) -> bool {
        let fold = self.fold.as_ref();
        fold.is_some_and(|fold| fold.nested || name != SplitName::Test)
    }

    /// Returns whether the training pairs are drawn, or their outputs exchanged: by `limit` or `corrupted`.
    pub fn draws_training_pairs(&self) -> bool {
        self.limit.is_some() || self.corrupted > 0.0
    }

    /// Returns whether the training pairs of two configurations, each with its seed, are drawn alike where they are drawn from
    /// the same ones.
    pub fn draws_as(&self, seed: u64, other: &Self, other_seed: u64) -> bool {
        let is_same_draw = self.limit == other.limit && self.corrupted == other.corrupted;
        let is_same_seed = self.draw_seed(seed) == other.draw_seed(other_seed);
        is_same_draw && (is_same_seed || !self.draws_training_pairs())
    }

    /// Returns the seed that draws training pairs, in a configuration with this seed.
    fn draw_seed(&self, seed: u64) -> u64 {
        self.seed.unwrap_or(seed)
    }

    /// Returns the same with the queries' ids in the column `column` of the tables of pairs.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for pairs that do not come from tables.
    pub fn with_query_ids(&self, column: &str) -> Result<Self, Error> {
        let DataSource::Tables(tables) = &self.source else {
            let allowed = "absent: only tables of pairs (data.source = \"tables\") name queries";
            return Err(Error::value("data.query", format!("{column:?}"), allowed));
        };
        let tables = TablesConfig { query: Some(column.to_owned()), ..tables.clone() };
        Ok(Self { source: DataSource::Tables(tables), ..self.clone() })
    }

    /// Returns whether inputs lie in files other than the tables of pairs.
    pub fn has_input_files(&self) -> bool {
        let files = matches!(self.source, DataSource::Tables(_) | DataSource::Pool(_));
        files && self.facts().texts.is_none()
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Error> {
        let facts = self.facts();
        let holds = (0.0..=1.0).contains(&self.corrupted);
        check(holds, "data.corrupted", self.corrupted, "a number in [0, 1]")?;
        if let Some(limit) = self.limit {
            check(limit > 0, "data.limit", limit, "at least 1")?;
            let allowed = "absent: inputs that are kernels are files of all training pairs";
            check(facts.inputs != InputKind::Kernels, "data.limit", limit, allowed)?;
        }
        if let Some(seed) = self.seed {
            let allowed = "absent, unless data.limit or data.corrupted draws training pairs";
            check(self.draws_training_pairs(), "data.seed", seed, allowed)?;
        }
        if let Some(licence) = &self.licence {
            let holds = !licence.trim().is_empty() && !licence.contains(char::is_control);
            check(holds, "data.licence", format!("{licence:?}"), "one line of text, or absent")?;
        }
        let holds = facts.skips_rows || self.on_bad_row != OnBadRow::Skip;
        let allowed =
            "\"stop\" or \"skip-spectra\": rows are skipped in tables, pools and .arff files";
        check(holds, "data.on_bad_row", "\"skip\"", allowed)?;
        facts.validate()?;
        if let Some(fold) = &self.fold {
            fold.validate(self.source.name(), &facts)?;
        }
        self.source.kind().validate()
    }

    /// Checks `[output]` together with these pairs.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.validate()?;
        self.source.kind().validate_outputs(outputs)
    }
}

/// The data of a configuration.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The pairs: `[data]`.
    pub data: &'a DataConfig,
    /// The outputs: those keys of `[output]` that do not say how they are compared.
    pub outputs: OutputSource<'a>,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// The columns of the training inputs ([`Dataset::input_columns`]), where a run keeps them.
    pub input_columns: Option<&'a InputColumns>,
}

impl Source<'_> {
    fn wanted<'a>(&'a self, root: Option<&'a DataRoot>) -> Wanted<'a> {
        let outputs = &self.outputs;
        let on_bad_row = self.data.on_bad_row;
        let input_columns = self.input_columns;
        let seed = self.seed;
        let for_training = false;
        Wanted { outputs, on_bad_row, seed, group: None, root, input_columns, for_training }
    }

    /// Reads all files.
    ///
    /// # Errors
    /// Whatever is wrong with a file, with its name and place.
    pub fn load(&self, root: &DataRoot) -> Result<Dataset, Error> {
        let fold = self.data.fold.as_ref();
        let group = fold.and_then(FoldConfig::column);
        let wanted = Wanted { group, for_training: true, ..self.wanted(Some(root)) };
        let mut dataset = self.data.source.kind().load(&wanted)?;
        if let Some(fold) = fold {
            dataset = fold.divide(dataset, &self.outputs)?;
        }
        if let Some(limit) = self.data.limit {
            dataset.train = dataset.train.drawn(limit, self.data.draw_seed(self.seed))?;
        }
        if self.outputs.only_training {
            let unpaired = self.data.facts().splits.is_some_and(|splits| splits.unpaired);
            dataset.only_training(unpaired)?;
        }
        if self.data.corrupted > 0.0 {
            dataset.train.corrupt(self.data.corrupted, self.data.draw_seed(self.seed));
        }
        Ok(dataset)
    }

    /// Reads a split without the features of its outputs, for evaluation. Training pairs are those that a training learns from,
    /// with the outputs that it learns.
    ///
    /// # Errors
    /// The errors of [`Source::load`]; [`dsokr_core::Error::Value`] for a test split where the configuration names
    /// none.
    pub fn read_split(&self, name: SplitName, root: &DataRoot) -> Result<Split, Error> {
        let split_argument = Argument::new("split").with(SplitName::Validation);
        let queries_argument = Argument::new("queries");
        let split = if self.data.fold.is_some() {
            self.load(root)?.into_split(name)
        } else if self.data.draws_training_pairs() && name == SplitName::Train {
            let Dataset { train, outputs, .. } = self.load(root)?;
            let rows: Vec<usize> = (0..train.ids.len()).collect();
            let queries = train.held_out(&rows, &outputs)?;
            Some(Split { outputs: vec![None; queries.ids.len()], ..queries })
        } else {
            self.data.source.kind().split(name, &self.wanted(Some(root)))?
        };
        split.ok_or_else(|| {
            let allowed = format_args!("a file, or {split_argument}, or {queries_argument}");
            Error::value("data.test", "absent", allowed)
        })
    }

    /// Reads a file of queries, in the layout of the configuration's own files, without its outputs. `root` is needed
    /// where [`has_input_files`](DataConfig::has_input_files) holds. Rows whose ids are their numbers are outputs of
    /// their own, unless the file is the one of the configuration under `root`.
    ///
    /// # Errors
    /// The errors of [`Source::load`]; [`dsokr_core::Error::Value`] where all data are drawn.
    pub fn read_queries(&self, path: &Path, root: Option<&DataRoot>) -> Result<Split, Error> {
        self.data.source.kind().queries(path, &self.wanted(root))
    }

    /// Reads the inputs of a file of queries as [`read_queries`](Self::read_queries) does, with the ids of its rows. A table whose
    /// rows are inputs and outputs at once may lack the columns of outputs.
    ///
    /// # Errors
    /// The errors of [`read_queries`](Self::read_queries).
    pub fn read_inputs(&self, path: &Path, root: Option<&DataRoot>) -> Result<Split, Error> {
        self.data.source.kind().inputs(path, &self.wanted(root))
    }

    /// Returns the text of a query that is not a row of a table: with further SMILES behind it where the
    /// configuration asks for them.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for one that should be a SMILES and is not.
    pub fn query(&self, text: &str) -> Result<String, Error> {
        match self.data.facts().texts {
            Some(texts) => texts.query(text, self.seed),
            None => Ok(text.to_owned()),
        }
    }

    /// Reads further outputs: a table with the columns of the outputs that a training read (but for the
    /// one that says which are candidates), and in `files` the rows of features, or the graphs, that are not a
    /// column of it. All are candidates. Where ids are the numbers of rows, a table without the column of ids has the
    /// ids `FILE row LINE`. Returns the table too, for messages about its rows.
    ///
    /// # Errors
    /// The errors of [`Source::load`]; a label that the training did not know; rows of a different width.
    pub fn read_further(
        &self,
        path: &Path,
        files: &[PathBuf],
        fitted: &FittedFeatures,
    ) -> Result<(Outputs, table::Table), Error> {
        let (config, has_ids) = self.further(path)?;
        let id = config.id;
        let on_bad_row = self.data.on_bad_row;
        let table = if has_ids {
            config.read(path, on_bad_row)?
        } else {
            config.read_numbered(path, on_bad_row)?
        };
        let files = OutputFiles::Given(files);
        let context = Known { fitted: Some(fitted), ..Known::default() };
        Ok((Outputs::from_table(&table, id, &config, files, context)?, table))
    }

    /// Reads the ids that the rows of a table of further outputs have ([`read_further`](Self::read_further)). Where it has the
    /// column of ids, it needs no other. Returns the table too, for messages about its rows.
    ///
    /// # Errors
    /// The errors of [`Source::load`].
    pub fn read_further_ids(&self, path: &Path) -> Result<(Vec<String>, table::Table), Error> {
        let (config, has_ids) = self.further(path)?;
        let table = if has_ids {
            config.read_ids(path)?
        } else {
            config.read_numbered(path, self.data.on_bad_row)?
        };
        Ok((table.column(config.id)?.to_vec(), table))
    }

    /// Returns how a table of further outputs is read, and whether it has the column of ids: it may lack it where ids are the
    /// numbers of rows.
    fn further(&self, path: &Path) -> Result<(OutputSource<'_>, bool), Error> {
        let facts = self.data.facts();
        let id = facts.id.unwrap_or(self.outputs.id);
        let config = OutputSource { id, candidate: None, ..self.outputs.clone() };
        let on_bad_row = self.data.on_bad_row;
        let options = table::TableOptions { on_bad_row, ..table::TableOptions::default() };
        let has_ids = !facts.numbered || table::Table::header(path, options)?.has(id);
        Ok((config, has_ids))
    }

    /// Returns molecules that no table has, as outputs with their rows of features; ids are numbers from 1. `smiles`
    /// has the SMILES of at least one molecule.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where features are not computed from the molecules that outputs are shown by.
    pub fn made(
        &self,
        smiles: Vec<String>,
        molecules: Vec<Molecule>,
        fitted: &FittedFeatures,
    ) -> Result<Outputs, Error> {
        let column = self.outputs.molecule_column()?;
        let id = self.outputs.id;
        let table = table::Table::numbered(Path::new(CANDIDATES), id, [(column, smiles)]);
        let config = OutputSource { candidate: None, further: &[], ..self.outputs.clone() };
        let molecules = HashMap::from([(column.to_owned(), molecules)]);
        let context = Known { fitted: Some(fitted), molecules };
        let outputs = Outputs::from_table(&table, id, &config, OutputFiles::Given(&[]), context)?;
        // no table says more about them
        let empty = |name: &String| (name.clone(), vec![String::new(); outputs.ids.len()]);
        let columns = self.outputs.further.iter().map(empty).collect();
        Ok(Outputs { columns, ..outputs })
    }

    /// Returns, for each query of a split, the outputs that training pairs give it, by id: the outputs of the same
    /// query id, or without query ids of the same text.
    ///
    /// # Errors
    /// The errors of [`Source::load`]; [`dsokr_core::Error::Value`] for inputs that are not texts, without query ids.
    pub fn known_outputs(&self, split: &Split, root: &DataRoot) -> Result<Vec<Vec<String>>, Error> {
        let train = self.load(root)?.train;
        let (queried, training) =
            match (&split.queries, &train.queries, &split.inputs, &train.inputs) {
                (Some(queried), Some(training), ..) => (queried, training),
                (.., Inputs::Texts(queried), Inputs::Texts(training)) => (queried, training),
                _ => {
                    let key = Argument::new("filter-known");
                    let found = "inputs that are not texts, without query ids";
                    return Err(Error::value(key, found, "texts, or ids in data.query"));
                }
            };
        let mut outputs: HashMap<&str, Vec<&String>> = HashMap::new();
        for (query, id) in training.iter().zip(&train.ids) {
            outputs.entry(query).or_default().push(id);
        }
        let known_outputs = |query: &String| outputs.get(query.as_str()).into_iter().flatten();
        Ok(queried
            .iter()
            .map(|query| known_outputs(query).map(|&id| id.clone()).collect())
            .collect())
    }

    /// Returns the labels of the outputs of a split, from the table of outputs; empty where there is no such table, or
    /// it has no labels.
    ///
    /// # Errors
    /// The errors of [`Source::load`].
    pub fn output_labels(
        &self,
        split: &Split,
        root: &DataRoot,
    ) -> Result<Vec<Option<String>>, Error> {
        let OutputSource { table: Some(name), label: Some(label), id, .. } = self.outputs else {
            return Ok(Vec::new());
        };
        let options = self.outputs.table_options(self.data.on_bad_row);
        let table = table::Table::read_with(&root.file(name), &[id, label], options)?;
        let ids = table.column(id)?;
        let labels = table.column(label)?;
        let labels: HashMap<&String, &String> = ids.iter().zip(labels).collect();
        Ok(split.ids.iter().map(|id| labels.get(id).map(|&label| label.clone())).collect())
    }

    /// Returns the checksums of the tables that a training learns from, by their names in the folder of the data: those of pairs
    /// but for the test pairs, and that of outputs. A table that cannot be read has none, since reading it says what is wrong, and
    /// neither has a pipe.
    pub fn table_sums(&self, root: &DataRoot) -> BTreeMap<String, String> {
        let facts = self.data.facts();
        let pairs = facts.files.iter().filter(|(key, _)| *key != "data.test");
        let names = pairs.map(|&(_, name)| name).chain(self.outputs.table);
        let sums = names.filter_map(|name| {
            let path = root.file(name);
            // what a pipe gives is read once
            let is_read_again = path.metadata().is_ok_and(|file| file.is_file());
            let sum = is_read_again.then(|| ByteSum::of_file_once(&path))?.ok()?;
            Some((name.to_owned(), sum.to_string()))
        });
        sums.collect()
    }

    /// Returns bytes that drawing the data, or reading their files, takes, by the keys that determine them. A file
    /// that cannot be read counts as nothing: reading it says what is wrong.
    pub fn memory(&self, root: &DataRoot) -> Vec<(String, f64)> {
        let pairs = self.data.source.kind().memory(root).into_iter();
        let mut needs: Vec<_> = pairs.map(|(key, need)| (key.to_owned(), need)).collect();
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
