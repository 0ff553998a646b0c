use dsokr_molecule::kernels::GraphKernel;
use dsokr_molecule::{MoleculeFeatures, Substructures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DataConfig, DataSource};
use crate::error::check;
use crate::{Error, check_inside};

/// Outputs that are candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateConfig {
    /// Column that says so.
    pub column: String,
    /// Its value for a candidate.
    #[serde(default = "yes")]
    pub value: String,
}

fn yes() -> String {
    "1".into()
}

/// How rankings become rows (Korba et al. 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankingEmbedding {
    /// Which of two items comes first, a sign for every pair: for the kernel `kemeny`. Ties may be.
    Kemeny,
    /// Which item has which rank: for the kernel `hamming`. Each rank occurs once.
    Hamming,
}

fn separator() -> char {
    ' '
}

fn one() -> usize {
    1
}

/// A matrix in a file, one row an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureFileConfig {
    /// A .safetensors or .npy file.
    pub file: String,
    /// Name of the tensor; may be left out if the file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether the rows are packed bits, eight a byte, the most significant first.
    #[serde(default)]
    pub packed: bool,
}

/// Where the outputs' features come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OutputFeatures {
    /// A matrix whose rows follow the table's.
    File(FeatureFileConfig),
    /// Counts of the character n-grams of a column.
    Ngrams {
        /// The column, e.g. `smiles`.
        column: String,
        /// Length of the shortest n-grams.
        min: usize,
        /// Length of the longest n-grams.
        max: usize,
        /// Whether `ln(1 + count)` takes the place of a count.
        #[serde(default)]
        log: bool,
        /// N-grams of fewer outputs are left out.
        #[serde(default = "one")]
        min_outputs: usize,
    },
    /// Counts of what the molecules whose SMILES a column holds are made of.
    Substructures {
        /// The column, e.g. `smiles`.
        column: String,
        /// What is counted.
        of: Substructures,
        /// Whether `ln(1 + count)` takes the place of a count.
        #[serde(default)]
        log: bool,
        /// Whether every value of a count is a feature of its own, which molecules share that have
        /// exactly as many.
        #[serde(default)]
        exact: bool,
        /// Parts that are in fewer outputs are left out.
        #[serde(default = "one")]
        min_outputs: usize,
    },
    /// Sets of labels: one bit for each label that occurs. A column holds the labels of each output with
    /// a separator between; an empty cell is the empty set.
    Labels {
        /// The column.
        column: String,
        /// The separator of two labels; spaces around labels are ignored.
        #[serde(default = "separator")]
        separator: char,
    },
    /// Rankings of items. A column holds the rank of each item, from 1, the best, with spaces between.
    /// Predictions are compared with the true rankings by Kendall's τ.
    Rankings {
        /// The column.
        column: String,
        /// How they become rows.
        embedding: RankingEmbedding,
    },
    /// Numbers of a column, one for each output: with the linear kernel, for squared errors and quantiles.
    Numbers {
        /// The column.
        column: String,
    },
    /// Counts of what a graph kernel compares, of the molecules whose SMILES a column holds. With the
    /// linear kernel on them it is that graph kernel, with the cosine kernel the normalised one.
    /// Predictions are evaluated by graph edit distance.
    Molecules {
        /// The column, e.g. `smiles`.
        column: String,
        /// What is counted.
        graph: GraphKernel,
    },
    /// Counts of what a graph kernel compares, of graphs of any kind, which a file holds. With the linear
    /// kernel on them it is that graph kernel, with the cosine kernel the normalised one. Predictions are
    /// evaluated by graph edit distance, and shown as the graphs themselves.
    Graphs {
        /// JSON lines (.jsonl) with a graph each, or a folder in the layout of the TUDataset collection,
        /// whose files bear its name. Outputs are found by the graphs' ids: those of the lines, else
        /// the numbers of the graphs, from 1.
        file: String,
        /// What is counted.
        graph: GraphKernel,
    },
    /// The vectors of the source itself, which official files hold and a synthetic source draws; the
    /// default.
    Source {},
}

/// What the outputs are: those keys of `[output]` that do not say how they are compared.
#[derive(Clone, Debug)]
pub struct OutputSource<'a> {
    /// Table of outputs, where there is one.
    pub table: Option<&'a str>,
    /// Column of the outputs' ids.
    pub id: &'a str,
    /// Column that `search` shows beside the id.
    pub label: Option<&'a str>,
    /// Which outputs are candidates; all, if left out.
    pub candidate: Option<&'a CandidateConfig>,
    /// Whether only outputs of training pairs, and of no split, are candidates.
    pub only_training: bool,
    /// Rows of features that the kernel compares.
    pub features: &'a OutputFeatures,
    /// Those that each of several kernels compares, in the place of `features`; none for one kernel.
    pub summands: Vec<&'a OutputFeatures>,
}

impl Default for OutputFeatures {
    fn default() -> Self {
        Self::Source {}
    }
}

impl OutputFeatures {
    /// The column that predictions are compared by, where figures say more than ranks do.
    pub fn truth(&self) -> Option<&str> {
        let compared =
            matches!(self, Self::Molecules { .. } | Self::Labels { .. } | Self::Rankings { .. });
        self.column().filter(|_| compared)
    }

    /// The name that a configuration has for them.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Ngrams { .. } => "ngrams",
            Self::Substructures { .. } => "substructures",
            Self::Labels { .. } => "labels",
            Self::Rankings { .. } => "rankings",
            Self::Numbers { .. } => "numbers",
            Self::Molecules { .. } => "molecules",
            Self::Graphs { .. } => "graphs",
            Self::Source {} => "source",
        }
    }

    /// Whether outputs are graphs, molecules among them.
    pub fn are_graphs(&self) -> bool {
        matches!(self, Self::Molecules { .. } | Self::Graphs { .. })
    }

    /// Whether outputs are sets of labels.
    pub fn are_labels(&self) -> bool {
        matches!(self, Self::Labels { .. })
    }

    /// Whether outputs are numbers.
    pub fn are_numbers(&self) -> bool {
        matches!(self, Self::Numbers { .. })
    }

    /// Whether outputs are rankings.
    pub fn are_rankings(&self) -> bool {
        matches!(self, Self::Rankings { .. })
    }

    /// Whether the features are the rows of a matrix that follows the table of outputs.
    pub(crate) fn follow_rows(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// The column that features are computed from.
    pub(crate) fn column(&self) -> Option<&str> {
        match self {
            Self::Ngrams { column, .. }
            | Self::Labels { column, .. }
            | Self::Rankings { column, .. }
            | Self::Numbers { column }
            | Self::Substructures { column, .. }
            | Self::Molecules { column, .. } => Some(column),
            Self::File(_) | Self::Graphs { .. } | Self::Source {} => None,
        }
    }

    /// Checks the values under a key.
    fn validate(&self, key: &str) -> Result<(), Error> {
        let at = |name: &str| format!("{key}.{name}");
        match self {
            Self::File(file) => check_inside(&at("file"), &file.file),
            Self::Ngrams { min, max, .. } => {
                let holds = 1 <= *min && min <= max && *max <= 64;
                let found = format!("min {min}, max {max}");
                check(holds, key, found, "1 ≤ min ≤ max ≤ 64")
            }
            Self::Substructures { log: true, exact: true, .. } => {
                let allowed = "false beside exact: logarithms tell counts apart as they do";
                Err(Error::value(&at("log"), true, allowed))
            }
            Self::Substructures { of, .. } => {
                of.validate().map_err(|error| Error::setting(&at("of"), error))
            }
            Self::Graphs { file, graph } => {
                check_inside(&at("file"), file)?;
                graph.validate().map_err(|error| Error::setting(&at("graph"), error))
            }
            Self::Molecules { graph, .. } => {
                graph.validate().map_err(|error| Error::setting(&at("graph"), error))
            }
            Self::Labels { .. }
            | Self::Rankings { .. }
            | Self::Numbers { .. }
            | Self::Source {} => Ok(()),
        }
    }
}

impl<'a> OutputSource<'a> {
    /// The columns that are read of the table of outputs, beside the ids.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let candidate = self.candidate.map(|candidate| &candidate.column[..]);
        let summands: Vec<_> = self.summands.iter().map(|features| features.column()).collect();
        [self.label, candidate, self.features.column()].into_iter().chain(summands).flatten()
    }

    /// Checks every value that the types leave open, beside the pairs of `data`.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(&self, data: &DataConfig) -> Result<(), Error> {
        if let Some(table) = self.table {
            check_inside("output.table", table)?;
        }
        self.features.validate("output.features")?;
        for (at, features) in self.summands.iter().enumerate() {
            let key = format!("output.kernels[{at}].features");
            let allowed = "\"file\", \"ngrams\" or \"substructures\", for several kernels";
            let independent = matches!(
                features,
                OutputFeatures::File(_)
                    | OutputFeatures::Ngrams { .. }
                    | OutputFeatures::Substructures { .. }
            );
            check(independent, &format!("{key}.kind"), features.kind(), allowed)?;
            features.validate(&key)?;
        }
        if let Some(column) = self.features.truth() {
            let label = self.label.unwrap_or("absent");
            let allowed = format!("{column:?}: predictions must equal the compared column");
            check(label == column, "output.label", label, &allowed)?;
        }
        if let OutputFeatures::Graphs { .. } = self.features {
            let allowed = "absent: graphs are shown as they are";
            check(self.label.is_none(), "output.label", "given", allowed)?;
        }
        let several = !self.summands.is_empty();
        let own = *self.features == OutputFeatures::Source {} && !several;
        let holds = match &data.source {
            DataSource::Official(_) | DataSource::Synthetic(_) => own,
            DataSource::MultiLabel(_) => self.features.are_labels(),
            DataSource::Tables(_) | DataSource::Pool(_) => !own,
        };
        let allowed = match &data.source {
            DataSource::Official(_) | DataSource::Synthetic(_) => {
                "absent: the vectors of this data.source are the features"
            }
            DataSource::MultiLabel(_) => "\"labels\", which the rows of a multi-label file are",
            DataSource::Tables(_) | DataSource::Pool(_) => "the features of outputs",
        };
        let sourced = matches!(data.source, DataSource::Tables(_) | DataSource::Pool(_));
        let one = "absent: several kernels need outputs in a table or a pool";
        check(sourced || !several, "output.kernels", "given", one)?;
        check(holds, "output.features.kind", self.features.kind(), allowed)?;
        match (&data.source, self.table) {
            (DataSource::Tables(_), None) => {
                return Err(Error::value("output.table", "absent", "the table of outputs"));
            }
            (DataSource::Tables(_), Some(_)) | (_, None) => {}
            (_, Some(table)) => {
                let allowed = "absent: this data.source holds the outputs";
                return Err(Error::value("output.table", format!("{table:?}"), allowed));
            }
        }
        let all = "absent: all outputs of official files, and all drawn outputs of validation and test \
                   pairs, are candidates, without labels";
        check(!own || self.label.is_none(), "output.label", "given", all)?;
        check(!own || self.candidate.is_none(), "output.candidate", "given", all)?;
        let drawn = matches!(data.source, DataSource::Synthetic(_));
        check(!(drawn && self.only_training), "output.only_training", true, all)
    }
}
