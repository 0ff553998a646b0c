//! What `[data]` and the outputs of a configuration say.

mod inputs;
mod outputs;
mod sources;
mod synthetic;
mod tagged;

pub use inputs::{FeatureInputsConfig, InputsConfig, KernelInputsConfig, TextConfig};
pub use outputs::{
    CandidateConfig, FeatureFileConfig, OutputFeatures, OutputSource, RankingEmbedding,
};
pub use sources::{
    MultiLabelConfig, OfficialConfig, PoolConfig, RowOrder, SplitsConfig, TablesConfig,
};
pub use synthetic::{NoiseConfig, SyntheticConfig, SyntheticMap};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;
use crate::error::check;
pub use crate::table::OnBadRow;
use tagged::Table;

/// A split of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SplitName {
    /// The split that chooses the best checkpoint.
    Validation,
    /// The split that nothing was chosen on.
    Test,
}

impl std::fmt::Display for SplitName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Validation => "validation",
            Self::Test => "test",
        })
    }
}

/// What inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Texts.
    Texts,
    /// Feature vectors.
    Vectors,
    /// Values of kernels with the training inputs.
    Kernels,
}

impl std::fmt::Display for InputKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Texts => "texts",
            Self::Vectors => "feature vectors",
            Self::Kernels => "kernels",
        })
    }
}

/// The pairs to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DataConfig {
    /// Share of the training pairs, 0 to 1, whose outputs are exchanged among themselves, drawn by the
    /// seed: for experiments with wrong outputs. Validation and test pairs stay as they are.
    #[serde(default)]
    pub corrupted: f64,
    /// Number of training pairs that are kept, drawn by the seed; all, if left out. The pairs of a smaller
    /// number are among those of a larger one, for learning curves. Outputs and candidates stay, and inputs
    /// are not kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// What happens at a row of a table that cannot be read. Such a row has a wrong number of fields, is not
    /// UTF-8 or JSON, is blank, has an empty id or repeats a unique one, holds an invalid SMILES, ranking or
    /// number, or is a training pair whose output is unknown. Rows that a matrix follows are never skipped.
    #[serde(default)]
    pub on_bad_row: OnBadRow,
    /// The licence of the data, such as `"CC-BY-4.0"`, for the card of the run; unknown if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Where the pairs come from.
    #[serde(flatten)]
    pub source: DataSource,
}

/// Where pairs come from. Files are named inside `folder`, a folder under the data root (`--data`, else
/// the variable `DSOKR_DATA`, else `data`); one that starts with `datasets/` is the project's own and lies
/// beside the folder of the config file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum DataSource {
    /// A table for each split, whose rows name outputs; the default.
    Tables(TablesConfig),
    /// One table or text file that all pairs are drawn from: the output of a pair is the row itself.
    Pool(PoolConfig),
    /// One multi-label file, whose rows hold a vector and a set of labels each.
    MultiLabel(MultiLabelConfig),
    /// Files of the official ChEBI-20 release, which hold texts and vectors of the outputs.
    Official(OfficialConfig),
    /// No files: vectors are drawn.
    Synthetic(SyntheticConfig),
}

impl<'de> Deserialize<'de> for DataConfig {
    /// Without a `source`, the tables are meant.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::read(deserializer)?;
        let corrupted = table.take("corrupted")?.unwrap_or_default();
        let limit = table.take("limit")?;
        let on_bad_row = table.take("on_bad_row")?.unwrap_or_default();
        let licence = table.take("licence")?;
        let source =
            table.tagged("source", "tables", &["corrupted", "limit", "on_bad_row", "licence"])?;
        Ok(Self { corrupted, limit, on_bad_row, licence, source })
    }
}

impl DataSource {
    /// Its name in configurations.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tables(_) => "tables",
            Self::Pool(_) => "pool",
            Self::MultiLabel(_) => "multi-label",
            Self::Official(_) => "official",
            Self::Synthetic(_) => "synthetic",
        }
    }
}

impl DataConfig {
    /// The folder of the files; empty where there are none.
    pub fn folder(&self) -> &str {
        match &self.source {
            DataSource::Tables(tables) => &tables.folder,
            DataSource::Pool(pool) => &pool.folder,
            DataSource::MultiLabel(pool) => &pool.folder,
            DataSource::Official(official) => &official.folder,
            DataSource::Synthetic(_) => "",
        }
    }

    /// What inputs are.
    pub fn inputs(&self) -> InputKind {
        match &self.source {
            DataSource::Tables(tables) => match tables.inputs {
                InputsConfig::Text(_) => InputKind::Texts,
                InputsConfig::Features(_) => InputKind::Vectors,
                InputsConfig::Kernels(_) => InputKind::Kernels,
            },
            DataSource::Pool(_) | DataSource::Official(_) => InputKind::Texts,
            DataSource::MultiLabel(_) | DataSource::Synthetic(_) => InputKind::Vectors,
        }
    }

    /// The column of the texts; none where inputs are not texts, or the files have no columns.
    pub fn text_column(&self) -> Option<&str> {
        match &self.source {
            DataSource::Tables(TablesConfig { inputs: InputsConfig::Text(text), .. })
            | DataSource::Pool(PoolConfig { inputs: text, .. }) => Some(&text.column),
            DataSource::Tables(_)
            | DataSource::MultiLabel(_)
            | DataSource::Official(_)
            | DataSource::Synthetic(_) => None,
        }
    }

    /// The same with the queries' ids in the column `column` of the tables of pairs.
    ///
    /// # Errors
    /// [`Error::Value`] for pairs that do not come from tables.
    pub fn with_query_ids(&self, column: &str) -> Result<Self, Error> {
        match &self.source {
            DataSource::Tables(tables) => {
                let tables = TablesConfig { query: Some(column.to_owned()), ..tables.clone() };
                Ok(Self { source: DataSource::Tables(tables), ..self.clone() })
            }
            DataSource::Pool(_)
            | DataSource::MultiLabel(_)
            | DataSource::Official(_)
            | DataSource::Synthetic(_) => {
                let allowed =
                    "absent: only tables of pairs (data.source = \"tables\") name queries";
                Err(Error::value("data.query", format!("{column:?}"), allowed))
            }
        }
    }

    /// Whether inputs lie in files beside the tables of pairs.
    pub fn has_input_files(&self) -> bool {
        matches!(self.source, DataSource::Tables(_)) && self.inputs() != InputKind::Texts
    }

    /// Files of kernels as inputs.
    pub fn kernel_files(&self) -> &[String] {
        match &self.source {
            DataSource::Tables(TablesConfig { inputs: InputsConfig::Kernels(kernels), .. }) => {
                &kernels.files
            }
            DataSource::Tables(_)
            | DataSource::Pool(_)
            | DataSource::MultiLabel(_)
            | DataSource::Official(_)
            | DataSource::Synthetic(_) => &[],
        }
    }

    /// Whether there is a test split.
    pub fn has_test(&self) -> bool {
        match &self.source {
            DataSource::Tables(tables) => tables.test.is_some(),
            DataSource::Pool(pool) => pool.splits.test > 0,
            DataSource::MultiLabel(pool) => pool.splits.test > 0,
            DataSource::Official(official) => official.test.is_some(),
            DataSource::Synthetic(drawn) => drawn.test > 0,
        }
    }

    /// Whether rows of no split are outputs too.
    pub(crate) fn unpaired(&self) -> bool {
        match &self.source {
            DataSource::Pool(PoolConfig { splits, .. })
            | DataSource::MultiLabel(MultiLabelConfig { splits, .. }) => splits.unpaired,
            DataSource::Tables(_) | DataSource::Official(_) | DataSource::Synthetic(_) => false,
        }
    }

    /// Further SMILES behind each text.
    pub(crate) fn more_smiles(&self) -> usize {
        match &self.source {
            DataSource::Tables(TablesConfig { inputs: InputsConfig::Text(text), .. })
            | DataSource::Pool(PoolConfig { inputs: text, .. }) => text.more_smiles,
            DataSource::Tables(_)
            | DataSource::MultiLabel(_)
            | DataSource::Official(_)
            | DataSource::Synthetic(_) => 0,
        }
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Error> {
        let holds = (0.0..=1.0).contains(&self.corrupted);
        check(holds, "data.corrupted", self.corrupted, "a number in [0, 1]")?;
        if let Some(limit) = self.limit {
            check(limit > 0, "data.limit", limit, "at least 1")?;
            let allowed = "absent: inputs that are kernels are files of all training pairs";
            check(self.inputs() != InputKind::Kernels, "data.limit", limit, allowed)?;
        }
        let holds = match &self.source {
            DataSource::Tables(_) | DataSource::Pool(_) => true,
            DataSource::MultiLabel(_) | DataSource::Official(_) | DataSource::Synthetic(_) => {
                self.on_bad_row == OnBadRow::Stop
            }
        };
        if let Some(licence) = &self.licence {
            let holds = !licence.trim().is_empty() && !licence.contains(char::is_control);
            check(holds, "data.licence", format!("{licence:?}"), "one line of text, or absent")?;
        }
        let allowed = "\"stop\": rows are skipped where data.source is \"tables\" or \"pool\"";
        check(holds, "data.on_bad_row", "\"skip\"", allowed)?;
        match &self.source {
            DataSource::Tables(tables) => tables.validate(),
            DataSource::Pool(pool) => pool.validate(),
            DataSource::MultiLabel(pool) => pool.validate(),
            DataSource::Official(official) => official.validate(),
            DataSource::Synthetic(drawn) => drawn.validate(),
        }
    }
}
