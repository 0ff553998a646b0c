//! The sources of pairs, one kind a file.

mod inputs;
mod multi_label;
mod official;
mod pool;
mod rows;
mod splits;
mod synthetic;
mod tables;
mod training;

use std::path::Path;

pub use inputs::{
    FeatureInputsConfig, GraphInputsConfig, InputsConfig, KernelInputsConfig, TextConfig,
};
pub use multi_label::MultiLabelConfig;
pub use official::{Official, OfficialConfig, read_official};
pub use pool::{MemoryConfig, PoolConfig};
pub use splits::{RowOrder, SplitSize, SplitsConfig};
pub use synthetic::{NoiseConfig, SyntheticConfig, SyntheticMap};
pub use tables::TablesConfig;
pub(crate) use training::joined;
pub use training::{TrainingFile, TrainingFiles, WeightedFile};

use dsokr_core::store::check_inside;

use crate::dataset::{Dataset, Split, SplitName};
use crate::error::{Error, check};
use crate::input_columns::InputColumns;
use crate::inputs::InputKind;
use crate::outputs::OutputSource;
use crate::root::DataRoot;
use crate::table::OnBadRow;

/// A kind of pairs: what its keys say, and how they are read.
pub(crate) trait Pairs {
    /// Returns the facts of its keys.
    fn facts(&self) -> PairFacts<'_>;

    /// Checks the values that the facts do not tell.
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks what is particular to outputs of such pairs.
    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_features()?;
        outputs.check_no_table()?;
        let Some(source_id) = self.facts().id else { return Ok(()) };
        let fits = outputs.id == source_id || outputs.id == id();
        let allowed = format!("absent: data.id = {source_id:?} says it");
        check(fits, "output.id", format_args!("{:?}", outputs.id), &allowed)
    }

    /// Returns bytes that drawing the data, or reading their files, takes, by the keys that determine them.
    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        self.facts().files.into_iter().map(|(key, file)| (key, root.size(file))).collect()
    }

    /// Reads all pairs and outputs.
    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error>;

    /// Reads a split without its outputs; none if there is no such split.
    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let facts = self.facts();
        let files = facts.files_of_split(name);
        let parts = files.map(|file| self.queries(&wanted.root()?.file(file), wanted));
        joined(parts.collect::<Result<Vec<_>, Error>>()?)
    }

    /// Reads a file of queries without their outputs.
    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error>;

    /// Reads the inputs of a file of queries, with the ids of its rows. Which outputs are right need not stand in it, where the rows
    /// of a table have inputs and outputs at once.
    fn inputs(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        self.queries(path, wanted)
    }
}

/// Facts that the keys of every kind of pairs state.
#[derive(Debug, Default)]
pub struct PairFacts<'a> {
    /// The folder of the files; empty where there are none.
    pub folder: &'a str,
    /// The files of the pairs, by their keys.
    pub files: Vec<(&'static str, &'a str)>,
    /// The rule that assigns the rows of the one file to splits.
    pub splits: Option<&'a SplitsConfig>,
    /// Whether there is a test split.
    pub has_test: bool,
    /// The kind of the inputs.
    pub inputs: InputKind,
    /// Whether inputs are rows of packed bits.
    pub packed: bool,
    /// The texts of a column, where inputs are texts and the files have columns.
    pub texts: Option<&'a TextConfig>,
    /// The file of graphs that are inputs.
    pub graphs: Option<&'a str>,
    /// Whether some training pairs weigh more than others.
    pub weighted: bool,
    /// Files of kernels as inputs.
    pub kernel_files: &'a [String],
    /// Whether rows that cannot be read may be skipped.
    pub skips_rows: bool,
    /// Column of the ids in a table of further outputs, where `output.id` says nothing.
    pub id: Option<&'a str>,
    /// The column of the tables of pairs by which each row is named: of queries' ids, else of ids where the rows are the outputs.
    pub row_names: Option<&'a str>,
    /// Whether the ids of outputs are the numbers of their rows, so that further tables need not have ids.
    pub numbered: bool,
}

impl<'a> PairFacts<'a> {
    /// Returns the files that a key names.
    pub(crate) fn files_of(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.files.iter().filter(move |(file_key, _)| *file_key == key).map(|&(_, file)| file)
    }

    /// Returns the files that hold the pairs of a split and no others.
    pub(crate) fn files_of_split(&self, name: SplitName) -> impl Iterator<Item = &'a str> {
        self.files_of(match name {
            SplitName::Train => "data.train",
            SplitName::Validation => "data.validation",
            SplitName::Test => "data.test",
        })
    }

    /// Returns what people call the source of the training pairs: the file that all pairs are drawn from, else the folder of
    /// the files. Where that is the folder of the configuration, these are the training files. Data without files have no name.
    pub fn trained_on(&self) -> String {
        if let Some(file) = self.files_of("data.file").next() {
            return file.to_owned();
        }
        let folder = self.folder.strip_prefix("./").unwrap_or(self.folder).trim_end_matches('/');
        if !matches!(folder, "" | ".") {
            return folder.to_owned();
        }
        let files: Vec<&str> = self.files_of("data.train").collect();
        match files.as_slice() {
            [] => String::new(),
            [only] => (*only).to_owned(),
            [first, _] => format!("{first} and 1 other"),
            [first, others @ ..] => format!("{first} and {} others", others.len()),
        }
    }

    /// Checks what the facts tell: files of pairs stay inside the folder, and the folder inside the data root.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let folder = self.files.first().map(|_| ("data.folder", self.folder));
        let mut paths = folder.into_iter().chain(self.files.iter().copied());
        paths.try_for_each(|(key, path)| check_inside(key, path))?;
        self.texts.map_or(Ok(()), TextConfig::validate)?;
        self.splits.map_or(Ok(()), SplitsConfig::validate)
    }
}

/// Settings for the reading of pairs other than their own keys.
pub(crate) struct Wanted<'a> {
    pub outputs: &'a OutputSource<'a>,
    pub on_bad_row: OnBadRow,
    pub seed: u64,
    /// The column of the groups of pairs that are not divided, where pairs are divided.
    pub group: Option<&'a str>,
    /// The folder of the files; not needed where queries are read that are whole without them.
    pub root: Option<&'a DataRoot>,
    /// The columns of the training inputs, where a run keeps them.
    pub input_columns: Option<&'a InputColumns>,
    /// Whether all pairs are read, to train with: what 32 bits do not tell apart is refused then, and not in queries, of which a
    /// few may differ by less.
    pub for_training: bool,
}

impl<'a> Wanted<'a> {
    pub fn root(&self) -> Result<&'a DataRoot, Error> {
        let absent = || Error::value("the data root", "absent", "a folder, in which inputs lie");
        self.root.ok_or_else(absent)
    }

    /// Returns whether `path` is the file `name` under the root.
    fn is_own(&self, path: &Path, name: &str) -> bool {
        let configured = self.root.and_then(|root| root.file(name).canonicalize().ok());
        configured
            .is_some_and(|configured| path.canonicalize().is_ok_and(|path| path == configured))
    }
}

dsokr_core::defaults!(id: String = "id".into());

/// Returns the facts of pairs with a file for each split.
fn split_files<'a>(
    folder: &'a str,
    train: impl Iterator<Item = &'a str>,
    validation: &'a str,
    test: Option<&'a str>,
) -> PairFacts<'a> {
    let mut files: Vec<(&str, &str)> = train.map(|file| ("data.train", file)).collect();
    files.push(("data.validation", validation));
    files.extend(test.map(|test| ("data.test", test)));
    PairFacts { folder, files, has_test: test.is_some(), ..PairFacts::default() }
}
