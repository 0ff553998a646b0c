use dsokr_basis::{Kernel, OutputKernel, SketchKind, Tempering};
use dsokr_molecule::kernels::GraphKernel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{DataConfig, FeatureFileConfig, inside};
use super::substructures::Substructures;
use super::{check, value};
use crate::Error;

/// The outputs: a table with one row each, their features, and the kernel on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// Table of outputs. Left out for the official ChEBI-20 layout, whose files hold them, and with
    /// `data.pool`, whose rows they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Column of the outputs' ids.
    #[serde(default = "id")]
    pub id: String,
    /// Column that `search` shows beside the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which outputs are candidates; all, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateConfig>,
    /// Whether only outputs of training pairs are candidates: predicting one that was seen, whose
    /// distance to the true one is then measured.
    #[serde(default)]
    pub only_training: bool,
    /// Rows of features that the kernel compares.
    pub features: OutputFeatures,
    /// The output kernel.
    pub kernel: Kernel,
    /// Power α of the tempered kernel: each principal axis of the training outputs is divided by (its
    /// standard deviation)^α, 0 to 1. Few axes hold most of the variance, and others tell candidates
    /// apart.
    #[serde(default)]
    pub power: f64,
    /// Whether coordinates count from the mean of the training outputs; by default where `power` is
    /// above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centred: Option<bool>,
    /// Whether coordinates of outputs are scaled to unit length; by default where `power` is above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalised: Option<bool>,
}

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

fn id() -> String {
    "id".into()
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
        /// What stands between two labels; spaces around labels do not count.
        #[serde(default = "separator")]
        separator: char,
    },
    /// Rankings of items. A column holds the rank of each item, from 1, the best, with spaces between.
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
    /// Predictions are judged by graph edit distance.
    Molecules {
        /// The column, e.g. `smiles`.
        column: String,
        /// What is counted.
        graph: GraphKernel,
    },
    /// The vectors inside the official ChEBI-20 files.
    Official {},
    /// The vectors that `data.synthetic` draws.
    Synthetic {},
}

impl OutputConfig {
    /// The column that says what outputs are, where predictions are judged by more than ranks.
    pub fn truth(&self) -> Option<&str> {
        match &self.features {
            OutputFeatures::Molecules { column, .. } | OutputFeatures::Labels { column, .. } => {
                Some(column)
            }
            _ => None,
        }
    }

    /// What is done to the spectrum of the kernel.
    pub fn tempering(&self) -> Tempering {
        let by_default = self.power > 0.0;
        Tempering {
            power: self.power,
            centred: self.centred.unwrap_or(by_default),
            normalised: self.normalised.unwrap_or(by_default),
        }
    }

    /// Whether `k(c, c) = 1` for all candidates but those at the origin.
    pub fn is_normalised(&self) -> bool {
        let tempering = self.tempering();
        match tempering.changes_nothing() {
            true => self.kernel.is_normalised(),
            false => tempering.normalised,
        }
    }

    /// Whether outputs are molecules.
    pub fn are_molecules(&self) -> bool {
        matches!(self.features, OutputFeatures::Molecules { .. })
    }

    /// The error for a multi-label file beside other features.
    pub(crate) fn not_labels(&self) -> Error {
        let allowed = "\"labels\", which the rows of a multi-label file are";
        value("output.features.kind", "another", allowed)
    }

    /// Whether outputs are sets of labels.
    pub fn are_labels(&self) -> bool {
        matches!(self.features, OutputFeatures::Labels { .. })
    }

    /// The columns that are read of the table of outputs, beside the ids.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        let features = match &self.features {
            OutputFeatures::Ngrams { column, .. }
            | OutputFeatures::Labels { column, .. }
            | OutputFeatures::Rankings { column, .. }
            | OutputFeatures::Numbers { column }
            | OutputFeatures::Substructures { column, .. }
            | OutputFeatures::Molecules { column, .. } => Some(column),
            OutputFeatures::File(_)
            | OutputFeatures::Official {}
            | OutputFeatures::Synthetic {} => None,
        };
        let candidate = self.candidate.as_ref().map(|candidate| &candidate.column);
        [self.label.as_ref(), candidate, features].into_iter().flatten().map(String::as_str)
    }

    pub(super) fn validate(&self, data: &DataConfig) -> Result<(), Error> {
        if let Some(table) = &self.table {
            inside("output.table", table)?;
        }
        let holds = self.tempering().validate().is_ok();
        check(holds, "output.power", self.power, "a number in [0, 1]")?;
        match &self.features {
            OutputFeatures::File(file) => file.validate("output.features.file")?,
            OutputFeatures::Ngrams { min, max, .. } => {
                let holds = 1 <= *min && min <= max && *max <= 64;
                check(
                    holds,
                    "output.features",
                    format!("min {min}, max {max}"),
                    "1 ≤ min ≤ max ≤ 64",
                )?;
            }
            OutputFeatures::Substructures { log: true, exact: true, .. } => {
                let allowed = "false beside exact: logarithms tell counts apart as they do";
                return Err(value("output.features.log", true, allowed));
            }
            OutputFeatures::Substructures { of, .. } => of.validate("output.features.of")?,
            OutputFeatures::Molecules { graph, .. } => {
                graph.validate().map_err(|e| value("output.features.graph", e, "see there"))?;
            }
            OutputFeatures::Labels { .. }
            | OutputFeatures::Rankings { .. }
            | OutputFeatures::Numbers { .. }
            | OutputFeatures::Official {}
            | OutputFeatures::Synthetic {} => {}
        }
        if let Some(column) = self.truth() {
            let label = self.label.as_deref().unwrap_or("absent");
            let allowed = format!("{column:?}: predictions are told by it");
            check(label == column, "output.label", label, &allowed)?;
        }
        let drawn = self.features == OutputFeatures::Synthetic {};
        if drawn != data.synthetic.is_some() {
            let (found, allowed) = match drawn {
                true => ("\"synthetic\"", "another kind, without data.synthetic"),
                false => ("another", "\"synthetic\", beside data.synthetic"),
            };
            return Err(value("output.features.kind", found, allowed));
        }
        if drawn {
            for (key, given) in [
                ("output.table", self.table.is_some()),
                ("output.label", self.label.is_some()),
                ("output.candidate", self.candidate.is_some()),
                ("output.only_training", self.only_training),
            ] {
                let allowed = "absent: candidates are the outputs of validation and test pairs";
                check(!given, key, "given", allowed)?;
            }
            return Ok(());
        }
        let official = self.features == OutputFeatures::Official {};
        if official && (self.label.is_some() || self.candidate.is_some()) {
            let key = if self.label.is_some() { "output.label" } else { "output.candidate" };
            let allowed = "absent: in official files all outputs are candidates, without labels";
            return Err(value(key, "given", allowed));
        }
        if let Some(pool) = &data.pool {
            if pool.is_multi_label() && !self.are_labels() {
                return Err(self.not_labels());
            }
            check(
                !official,
                "output.features.kind",
                "\"official\"",
                "another kind, with data.pool",
            )?;
            let given = self.table.as_deref().unwrap_or_default();
            let allowed = "absent: the rows of data.pool are the outputs";
            return check(self.table.is_none(), "output.table", given, allowed);
        }
        match (official, &self.table) {
            (false, None) => Err(value("output.table", "absent", "the table of outputs")),
            (true, Some(table)) => {
                let allowed = "no table: the official files hold the outputs";
                Err(value("output.table", format!("{table:?}"), allowed))
            }
            _ => Ok(()),
        }
    }
}

/// How the output kernel is sketched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SketchConfig {
    /// No sketch, and the other keys are not used. A model of kind `ridge` then answers with weights of
    /// all training outputs, as IOKR and SIOKR do. Another encoder learns the feature rows themselves,
    /// which is plain regression: for dense rows under the kernels `linear` and `cosine`.
    pub full: bool,
    /// Sketch size m, at most the number of training outputs.
    pub size: usize,
    /// How R is drawn.
    pub method: SketchKind,
    /// Eigenvalues below this share of the largest are cut.
    pub tolerance: f64,
}

impl Default for SketchConfig {
    fn default() -> Self {
        Self { full: false, size: 100, method: SketchKind::Gaussian, tolerance: 1e-10 }
    }
}

impl SketchConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check(self.size > 0, "sketch.size", self.size, "at least 1")?;
        let tolerance = self.tolerance;
        let holds = (1e-12..1.0).contains(&tolerance);
        check(holds, "sketch.tolerance", tolerance, "a number in [1e-12, 1)")
    }
}
