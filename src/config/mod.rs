//! The configuration: TOML, one typed struct a table, unknown keys refused.
//!
//! [`Config`] is what a file says; [`Config::validate`] turns it into a [`Checked`] one, and only a
//! checked configuration can be trained.

mod decoding;
mod encoder;
mod ensemble;
mod kernel;
mod kernel_machine;
mod load;
mod output;
mod reference;

pub(crate) use decoding::IN_ENSEMBLES;
pub use decoding::{
    DecodingConfig, ExpectedF1Config, HubConfig, Search, SecondLookConfig, WordsConfig,
};
pub use dsokr_train::{Decay, GroupConfig, LossConfig, OptimizerName, TrainingConfig};
pub use encoder::{Abilities, EncoderTable};
pub(crate) use encoder::{EncoderSettings, register};
pub use ensemble::EnsembleConfig;
pub use kernel::{GaussianKernel, KernelConfig};
pub use kernel_machine::{
    AnswersConfig, ColumnScaling, EmbeddingConfig, KernelMachineConfig, Lambda,
    MachineInputsConfig, NgramWeights,
};
pub use load::Override;
pub use output::{HeldOutWeights, OutputConfig, SketchConfig, SummandConfig};
pub use reference::reference;

use crate::error::ensure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_basis::store::{Contents, Tensor};
use dsokr_data::config::{DataConfig, OnBadRow};
use dsokr_data::{DataRoot, InputKind, Source, SplitName, check_inside};
use dsokr_decode::MissingGold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Needs;
use crate::{Error, Metric};

/// Version of the configuration and of run directories that this program reads and writes.
pub const FORMAT: u32 = 2;

/// One training: data, output kernel and sketch, encoder, optimisation, evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of this format; 2 is the only one.
    #[serde(default = "format")]
    pub format: u32,
    /// Name of the run, and of its folder under `runs/`; the file's own name if empty.
    #[serde(default)]
    pub name: String,
    /// Everything random is drawn from this number.
    #[serde(default)]
    pub seed: u64,
    /// The pairs to learn from.
    pub data: DataConfig,
    /// The outputs: features and kernel.
    pub output: OutputConfig,
    /// The sketch of the output kernel.
    #[serde(default)]
    pub sketch: SketchConfig,
    /// The encoder, of the kind that `kind` names.
    pub encoder: EncoderTable,
    /// Optimisation.
    #[serde(default)]
    pub training: TrainingConfig,
    /// How candidates are scored.
    #[serde(default)]
    pub decoding: DecodingConfig,
    /// What is measured, and on which split.
    #[serde(default)]
    pub evaluation: EvaluationConfig,
    /// What is logged beside `log.jsonl`.
    #[serde(default)]
    pub logging: LoggingConfig,
    /// Several models that vote; one, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<EnsembleConfig>,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationConfig {
    /// The split whose metrics `train` prints at the end.
    pub split: SplitName,
    /// A query whose gold is not among its candidates.
    pub missing_gold: MissingGold,
    /// JSON lines `{"query": id, "candidates": [id, …]}`: each query is ranked against its own
    /// list. Left out, all queries share all candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<String>,
    /// Queries encoded at once.
    pub batch: usize,
    /// The figure of the validation split that chooses: the best checkpoint, λ, weights.
    pub metric: Metric,
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        Self {
            split: SplitName::Validation,
            missing_gold: MissingGold::Error,
            candidates: None,
            batch: 64,
            metric: Metric::default(),
        }
    }
}

impl EvaluationConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        ensure(self.batch > 0, "evaluation.batch", self.batch, "at least 1")?;
        self.candidates
            .as_ref()
            .map_or(Ok(()), |file| Ok(check_inside("evaluation.candidates", file)?))
    }
}

/// What a run logs beside `log.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoggingConfig {
    /// Whether every evaluation, and the loss of steps, is also written as TensorBoard scalars, into the
    /// folder `tensorboard` of the run: `tensorboard --logdir runs` shows all runs.
    pub tensorboard: bool,
}

fn format() -> u32 {
    FORMAT
}

/// A configuration whose values have been checked.
#[derive(Clone, Debug)]
pub struct Checked {
    config: Config,
    /// The file that it was read from.
    file: Option<PathBuf>,
    /// Of a run: the folder of the data that it was trained on.
    pub(crate) trained_on: Option<PathBuf>,
    /// The keys that overrides have set.
    set: Vec<String>,
}

/// Two configurations are equal if their values are, wherever they were read from.
impl PartialEq for Checked {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl std::ops::Deref for Checked {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl Config {
    /// What the configuration says of the data.
    pub fn source(&self) -> Source<'_> {
        Source { data: &self.data, outputs: self.output.source(), seed: self.seed }
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(self) -> Result<Checked, Error> {
        ensure(self.format == FORMAT, "format", self.format, "2")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name = &self.name;
        let named = !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
        ensure(named, "name", name, "letters, digits, '-', '_' and '.', not starting with '.'")?;
        self.data.validate()?;
        self.output.validate(&self.data)?;
        self.sketch.validate()?;
        self.encoder.settings.validate()?;
        self.check_inputs()?;
        let several = !self.output.kernels.is_empty();
        let allowed = "false: several output.kernels are compared in a basis";
        ensure(!(several && self.sketch.full), "sketch.full", true, allowed)?;
        let machine = self.encoder.get::<KernelMachineConfig>();
        let known = machine.is_some_and(KernelMachineConfig::has_held_out_answers);
        let allowed = "absent, or beside encoder.kind = \"kernel-machine\" with encoder.solver.name \
                       \"closed-form\" or \"sketched\" and without encoder.answers of kind \"embedded\"";
        ensure(self.output.weights.is_none() || known, "output.weights", "\"held-out\"", allowed)?;
        self.check_second_look(known)?;
        self.training.validate()?;
        self.evaluation.validate()?;
        self.decoding.validate()?;
        self.ensemble.as_ref().map_or(Ok(()), EnsembleConfig::validate)?;
        self.encoder.settings.check_compatible(&self)?;
        self.decoding.check_search(&self)?;
        self.decoding.check_expected_f1(&self)?;
        let tempering = self.output.tempering();
        if self.sketch.full && !tempering.changes_nothing() {
            let allowed = "0, as it is without a sketch: there is no basis to temper";
            return Err(Error::value("output.power", tempering.power, allowed));
        }
        self.check_metric()?;
        if self.evaluation.split == SplitName::Test && !self.data.facts().has_test {
            let allowed = "\"validation\", or a file in data.test";
            return Err(Error::value("evaluation.split", "\"test\"", allowed));
        }
        Ok(Checked { config: self, file: None, trained_on: None, set: Vec::new() })
    }

    /// Checks that there is what a second look needs; `known` says whether the encoder's leave-one-out
    /// answers are.
    fn check_second_look(&self, known: bool) -> Result<(), Error> {
        if self.decoding.second_look.is_none() {
            return Ok(());
        }
        let rows = known
            && self.encoder.get::<KernelMachineConfig>().is_some_and(|machine| {
                !matches!(machine.inputs, MachineInputsConfig::Kernels { .. })
            });
        let allowed = "absent, or beside encoder.kind = \"kernel-machine\" with encoder.inputs of kind \"ngrams\" or \
             \"vectors\", encoder.solver.name \"closed-form\" or \"sketched\" and without \
             encoder.answers of kind \"embedded\"";
        ensure(rows, "decoding.second_look", "given", allowed)?;
        let allowed = "absent, with sketch.full = true: answers have no basis";
        ensure(!self.sketch.full, "decoding.second_look", "given", allowed)
    }

    /// Checks that the figure that chooses is known.
    fn check_metric(&self) -> Result<(), Error> {
        let (metric, features) = (self.evaluation.metric, &self.output.features);
        let quantiles = self.encoder.abilities().levels.is_some();
        let (holds, allowed) = match metric.needs() {
            _ if quantiles => {
                (metric.needs() == Needs::Quantiles, "\"pinball\" or \"crossing\", for quantiles")
            }
            Needs::Quantiles => {
                (false, "a metric other than pinball and crossing, which need the loss pinball")
            }
            Needs::FeatureSpace => (
                self.decoding.hubs.is_none() || self.output.is_normalised(),
                "a metric other than squared_error, which is not known with sketch.full or decoding.hubs",
            ),
            Needs::Labels => (
                features.are_labels(),
                "a metric other than those of label sets, which need features of kind \"labels\"",
            ),
            Needs::Rankings => (
                features.are_rankings(),
                "a metric other than kendall_tau, which needs features of kind \"rankings\"",
            ),
            Needs::Graphs => (
                features.are_graphs(),
                "a figure of ranks: edit distances need features of kind \"molecules\" or \"graphs\"",
            ),
            Needs::GraphsOrRankings => (
                features.are_graphs() || features.are_rankings(),
                "a metric other than exact, which needs features of kind \"molecules\", \"graphs\" or \
                 \"rankings\"",
            ),
            Needs::Ranks | Needs::FiniteRanks => (true, ""),
        };
        ensure(holds, "evaluation.metric", metric, allowed)
    }

    /// Checks that `[data]` has what the learner reads.
    fn check_inputs(&self) -> Result<(), Error> {
        let allowed = match self.encoder.abilities().reads {
            InputKind::Texts => "texts, which this encoder reads",
            InputKind::Vectors => {
                "feature vectors, which this encoder reads; kernels need encoder.inputs of kind \"kernels\""
            }
            InputKind::Kernels => "kernels, which encoder.inputs combines",
        };
        let inputs = self.data.facts().inputs;
        ensure(inputs == self.encoder.abilities().reads, "data.inputs", inputs, allowed)
    }
}

impl Checked {
    /// The folder of the data: under `data` if that is given; else, for a run, the one that it was
    /// trained on, if it exists; else, for `datasets/…`, beside the folder of the configuration's file
    /// or in the current one; else under the variable `DSOKR_DATA`; else under `data/`.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the ways to say where the data are.
    pub fn data_root(&self, data: Option<&Path>) -> Result<DataRoot, Error> {
        let folder = self.data.facts().folder;
        let find = || DataRoot::find(folder, self.file.as_deref(), data);
        let Some(known) = self.trained_on.as_ref().filter(|_| data.is_none()) else {
            return Ok(find()?);
        };
        if known.is_dir() {
            return Ok(DataRoot::at(known));
        }
        let Ok(root) = find() else {
            let hint = format!(
                ", the folder of the data that the run was trained on; the argument data DIR stands \
                 for DIR/{folder}"
            );
            return Err(Error::NotFound { path: known.clone(), hint });
        };
        tracing::warn!(
            "{}, the folder of the data that the run was trained on, is gone: {} is read in its place",
            known.display(),
            root.folder().unwrap_or(known).display()
        );
        Ok(root)
    }

    /// The same with a different action at rows of tables that cannot be read.
    ///
    /// # Errors
    /// [`Error::Value`] for [`OnBadRow::Skip`] of pairs that do not come from tables.
    pub(crate) fn with_on_bad_row(mut self, on_bad_row: OnBadRow) -> Result<Self, Error> {
        self.config.data.on_bad_row = on_bad_row;
        self.config.data.validate()?;
        Ok(self)
    }

    /// Whether an override has set a key.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.set.iter().any(|set| set == key)
    }

    /// The fingerprint of the configuration with every default written out: a CRC-32 in eight
    /// hexadecimal digits.
    ///
    /// # Errors
    /// As [`to_toml`](Self::to_toml).
    pub fn fingerprint(&self) -> Result<String, Error> {
        let text = self.to_toml()?;
        let text = [Tensor::u8("toml", &[text.len()], text.as_bytes())];
        Ok(Contents::new("configuration", FORMAT, &BTreeMap::new(), &text).checksum())
    }

    /// The configuration as TOML, every default written out.
    ///
    /// # Errors
    /// [`Error::Serialise`]; a configuration that was read from TOML can be written.
    pub fn to_toml(&self) -> Result<String, Error> {
        Ok(toml::to_string(&self.config)?)
    }

    /// The same as a table.
    pub(crate) fn to_table(&self) -> Result<toml::Table, Error> {
        Ok(self.to_toml()?.parse()?)
    }
}
