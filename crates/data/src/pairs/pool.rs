//! Pairs that are drawn from one table or text file.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{PairedRows, RowInputs, SplitsConfig};
use super::{PairFacts, Pairs, Wanted};
use crate::error::extension_of;
use crate::memory::size;
use crate::output_source::OutputSource;
use crate::table::{OnBadRow, Table};
use crate::texts::TextConfig;
use crate::{DataRoot, Dataset, Error, Split, SplitName, check_inside};

/// A file whose rows are pairs and outputs at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `datasets/` is beside the folder of the configuration, or in the current one.
    pub folder: String,
    /// A table (.csv, .tsv, .jsonl), or a file with one text a line and nothing else (.txt, .smi), whose
    /// ids are the numbers of the lines, from 1.
    pub file: String,
    /// Column of the ids.
    #[serde(default = "super::id")]
    pub id: String,
    /// The texts of the rows.
    #[serde(default)]
    pub inputs: TextConfig,
    /// Which rows belong to which split.
    pub splits: SplitsConfig,
}

impl PoolConfig {
    /// Reads ids, texts and the given columns of outputs.
    fn read<'a>(
        &'a self,
        path: &Path,
        outputs: impl IntoIterator<Item = &'a str>,
        wanted: &Wanted,
    ) -> Result<PairedRows<'a>, Error> {
        let Self { id, inputs, splits, .. } = self;
        let mut columns = vec![id.as_str(), inputs.column.as_str()];
        columns.extend(outputs);
        let numbered = ["txt", "smi"].contains(&&*extension_of(path));
        let read = |on_bad_row| match numbered {
            true => {
                let table = Table::read_lines(path, id, &inputs.column, on_bad_row)?;
                columns.iter().try_for_each(|column| table.column(column).map(|_| ()))?;
                Ok(table)
            }
            false => Table::read_rows(path, &columns, on_bad_row),
        };
        let table = wanted.outputs.features.good_rows(id, wanted.on_bad_row, read)?;
        let table = inputs.good_rows(table, wanted.on_bad_row)?;
        table.log_skipped();
        Ok(PairedRows { table, id, inputs: RowInputs::Texts(inputs), splits, numbered })
    }
}

impl Pairs for PoolConfig {
    fn facts(&self) -> PairFacts<'_> {
        PairFacts {
            folder: &self.folder,
            splits: Some(&self.splits),
            has_test: self.splits.test > 0,
            texts: Some(&self.inputs),
            skips_rows: true,
            id: Some(&self.id),
            ..PairFacts::default()
        }
    }

    fn validate(&self) -> Result<(), Error> {
        check_inside("data.folder", &self.folder)?;
        check_inside("data.file", &self.file)?;
        self.inputs.validate()?;
        self.splits.validate()
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_features()?;
        outputs.check_no_table()
    }

    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        vec![("data.file", size(&root.file(&self.file)))]
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let path = wanted.root()?.file(&self.file);
        self.read(&path, wanted.outputs.columns(), wanted)?.dataset(wanted)
    }

    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        // rows are skipped for the columns that the training read, so that the splits are the same
        let columns: Vec<&str> = match wanted.on_bad_row {
            OnBadRow::Stop => wanted.outputs.features.truth().into_iter().collect(),
            OnBadRow::Skip => wanted.outputs.columns().collect(),
        };
        self.read(&wanted.root()?.file(&self.file), columns, wanted)?.split(name, wanted)
    }

    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        let own = wanted.is_own(path, &self.file);
        self.read(path, wanted.outputs.features.truth(), wanted)?.queries(wanted, own)
    }
}
