//! What `[data]` and the outputs of a configuration say.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;
pub use crate::dataset::SplitName;
use crate::error::check;
pub use crate::inputs::InputKind;
use crate::kinds::{Table, kinds};
pub use crate::output_features::{
    FeatureFileConfig, GraphFeatures, LabelFeatures, MoleculeGraphFeatures, NgramFeatures,
    NumberFeatures, OutputFeatures, OwnVectors, RankingEmbedding, RankingFeatures,
    SubstructureFeatures,
};
pub use crate::outputs::{CandidateConfig, OutputSource};
use crate::pairs::Pairs;
pub use crate::pairs::{
    FeatureInputsConfig, InputsConfig, KernelInputsConfig, MemoryConfig, MultiLabelConfig,
    NoiseConfig, OfficialConfig, PoolConfig, RowOrder, SplitsConfig, SyntheticConfig, SyntheticMap,
    TablesConfig, TextConfig,
};
pub use crate::table::OnBadRow;

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

kinds! {
    /// Where pairs come from. Files are named inside `folder`, a folder under the data root (`--data`, else
    /// the variable `DSOKR_DATA`, else `data`); one that starts with `datasets/` is the project's own and lies
    /// beside the folder of the config file.
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

impl DataConfig {
    pub(crate) fn pairs(&self) -> &dyn Pairs {
        self.source.kind()
    }

    /// The folder of the files; empty where there are none.
    pub fn folder(&self) -> &str {
        self.pairs().facts().folder
    }

    /// What inputs are.
    pub fn inputs(&self) -> InputKind {
        self.pairs().facts().inputs
    }

    /// The column of the texts; none where inputs are not texts, or the files have no columns.
    pub fn text_column(&self) -> Option<&str> {
        self.pairs().facts().texts.map(|texts| texts.column.as_str())
    }

    /// The same with the queries' ids in the column `column` of the tables of pairs.
    ///
    /// # Errors
    /// [`Error::Value`] for pairs that do not come from tables.
    pub fn with_query_ids(&self, column: &str) -> Result<Self, Error> {
        let DataSource::Tables(tables) = &self.source else {
            let allowed = "absent: only tables of pairs (data.source = \"tables\") name queries";
            return Err(Error::value("data.query", format!("{column:?}"), allowed));
        };
        let tables = TablesConfig { query: Some(column.to_owned()), ..tables.clone() };
        Ok(Self { source: DataSource::Tables(tables), ..self.clone() })
    }

    /// Whether inputs lie in files beside the tables of pairs.
    pub fn has_input_files(&self) -> bool {
        matches!(self.source, DataSource::Tables(_)) && self.inputs() != InputKind::Texts
    }

    /// Files of kernels as inputs.
    pub fn kernel_files(&self) -> &[String] {
        self.pairs().facts().kernel_files
    }

    /// Whether there is a test split.
    pub fn has_test(&self) -> bool {
        self.pairs().facts().has_test
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
        if let Some(licence) = &self.licence {
            let holds = !licence.trim().is_empty() && !licence.contains(char::is_control);
            check(holds, "data.licence", format!("{licence:?}"), "one line of text, or absent")?;
        }
        let holds = self.pairs().facts().skips_rows || self.on_bad_row == OnBadRow::Stop;
        let allowed = "\"stop\": rows are skipped where data.source is \"tables\" or \"pool\"";
        check(holds, "data.on_bad_row", "\"skip\"", allowed)?;
        self.pairs().validate()
    }

    /// Checks what `[output]` says, beside these pairs.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.validate()?;
        self.pairs().validate_outputs(outputs)
    }
}
