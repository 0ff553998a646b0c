//! Where pairs come from, one kind a file.

mod inputs;
mod multi_label;
mod official;
mod pool;
mod rows;
mod synthetic;
mod tables;

use std::path::Path;

pub use inputs::{FeatureInputsConfig, InputsConfig, KernelInputsConfig, TextConfig};
pub use multi_label::MultiLabelConfig;
pub use official::{Official, OfficialConfig, read_official};
pub use pool::{MemoryConfig, PoolConfig};
pub use rows::{RowOrder, SplitsConfig};
pub use synthetic::{NoiseConfig, SyntheticConfig, SyntheticMap};
pub use tables::TablesConfig;

use crate::outputs::OutputSource;
use crate::table::OnBadRow;
use crate::{DataRoot, Dataset, Error, InputKind, Split, SplitName, check_inside};

/// A kind of pairs: what its keys say, and how they are read.
pub(crate) trait Pairs {
    /// What its keys say.
    fn facts(&self) -> PairFacts<'_>;

    /// Checks every value that the types leave open.
    fn validate(&self) -> Result<(), Error>;

    /// Checks what is particular to outputs of such pairs.
    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error>;

    /// Bytes that drawing the data, or reading their files, takes, by the keys that determine them.
    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)>;

    /// Reads all pairs and outputs.
    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error>;

    /// Reads a split without its outputs; none if there is no such split.
    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        let file = self.facts().files.and_then(|files| files.of(name));
        file.map(|file| self.queries(&wanted.root()?.file(file), wanted)).transpose()
    }

    /// Reads a file of queries without their outputs.
    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error>;
}

/// What keys of every kind of pairs say.
#[derive(Default)]
pub(crate) struct PairFacts<'a> {
    /// The folder of the files; empty where there are none.
    pub folder: &'a str,
    /// The files of splits, where each has its own.
    pub files: Option<SplitFiles<'a>>,
    /// Which rows of the one file belong to which split.
    pub splits: Option<&'a SplitsConfig>,
    pub has_test: bool,
    pub inputs: InputKind,
    /// The texts of a column, where inputs are texts and the files have columns.
    pub texts: Option<&'a TextConfig>,
    /// Files of kernels as inputs.
    pub kernel_files: &'a [String],
    /// Whether rows that cannot be read may be skipped.
    pub skips_rows: bool,
    /// Column of the ids in a table of further outputs, where `output.id` does not say it.
    pub id: Option<&'a str>,
}

/// What the reading of pairs needs to know beside their own keys.
pub(crate) struct Wanted<'a> {
    pub outputs: &'a OutputSource<'a>,
    pub on_bad_row: OnBadRow,
    pub seed: u64,
    /// The folder of the files; not needed where queries are read that are whole without them.
    pub root: Option<&'a DataRoot>,
}

impl<'a> Wanted<'a> {
    pub fn root(&self) -> Result<&'a DataRoot, Error> {
        let absent = || Error::value("the data root", "absent", "a folder, in which inputs lie");
        self.root.ok_or_else(absent)
    }

    /// Whether `path` is the file `name` under the root.
    fn is_own(&self, path: &Path, name: &str) -> bool {
        let own = self.root.and_then(|root| root.file(name).canonicalize().ok());
        own.is_some_and(|own| path.canonicalize().is_ok_and(|path| path == own))
    }
}

fn id() -> String {
    "id".into()
}

/// A file for each split.
#[derive(Clone, Copy)]
pub(crate) struct SplitFiles<'a> {
    pub train: &'a str,
    pub validation: &'a str,
    pub test: Option<&'a str>,
}

impl<'a> SplitFiles<'a> {
    fn of(self, name: SplitName) -> Option<&'a str> {
        match name {
            SplitName::Validation => Some(self.validation),
            SplitName::Test => self.test,
        }
    }

    fn by_key(self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let test = self.test.map(|test| ("data.test", test));
        [("data.train", self.train), ("data.validation", self.validation)].into_iter().chain(test)
    }

    /// Files of splits stay inside the folder, and the folder inside the data root.
    fn validate(self, folder: &str) -> Result<(), Error> {
        check_inside("data.folder", folder)?;
        self.by_key().try_for_each(|(key, file)| check_inside(key, file))
    }

    /// The memory of each file.
    fn memory(self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        self.by_key().map(|(key, file)| (key, root.size(file))).collect()
    }
}
