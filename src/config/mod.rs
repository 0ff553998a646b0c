//! The configuration: TOML, one typed struct a table, unknown keys refused.
//!
//! [`Config`] is what a file says; [`Config::validate`] turns it into a [`Checked`] one, and only a
//! checked configuration can be trained.

mod abilities;
mod adapted;
mod beyond;
pub(crate) mod candidate_rule;
mod checked;
mod checks;
mod data;
mod decoding;
mod encoder;
mod ensemble;
pub(crate) mod folds;
mod in_memory;
mod kernel;
mod kernel_machine;
mod kernel_machine_rules;
mod load;
mod lowered;
mod machine_inputs;
pub(crate) mod masses;
pub(crate) mod output;
mod output_matrix;
mod overrides;
mod predictions;
mod reference;
mod rules;
mod table;

pub use abilities::{Abilities, HeldOutPredictions};
pub use beyond::BeyondConfig;
pub use checked::Checked;
#[cfg(feature = "command")]
pub(crate) use checks::too_good;
pub(crate) use decoding::IN_ENSEMBLES;
pub use decoding::{
    DecodingConfig, ExpectedF1Config, HubConfig, RerankerConfig, Search, SpectraConfig, WordsConfig,
};
pub use dsokr_train::{Decay, Every, GroupConfig, LossConfig, OptimizerName, TrainingConfig};
pub use encoder::EncoderTable;
pub(crate) use encoder::{EncoderSettings, register};
pub use ensemble::{EnsembleConfig, MemberWeights};
pub use kernel::KernelConfig;
pub use kernel_machine::KernelMachineConfig;
pub use lowered::Lowered;
pub use machine_inputs::{BinWeights, InputSummandConfig, MachineInputsConfig, NgramWeights};
pub use output::{ColumnScaling, HeldOutWeights, OutputConfig, SketchConfig, SummandConfig};
pub use output_matrix::OutputMatrixConfig;
pub use overrides::Override;
pub use predictions::{EmbeddingConfig, Lambda, LambdaChoice, PredictionsConfig};
pub use reference::reference;

use dsokr_data::config::DataConfig;
use dsokr_data::{Source, SplitName};
use dsokr_decode::MissingGold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::metrics::metric::{Metric, Needs};

/// Version of the configuration and of run directories that this program reads and writes.
pub const FORMAT: u32 = 3;

/// One training: data, output kernel and sketch, encoder, optimisation, evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of this format; 3 is the only one.
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
    /// Metrics, and the split that they are measured on.
    #[serde(default)]
    pub evaluation: EvaluationConfig,
    /// Logs in addition to `log.jsonl`.
    #[serde(default)]
    pub logging: LoggingConfig,
    /// Several models that vote; one, if left out.
    pub ensemble: Option<EnsembleConfig>,
}

/// Metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationConfig {
    /// The split whose metrics `train` prints at the end.
    #[default(SplitName::Validation)]
    pub split: SplitName,
    /// A query whose gold is not among its candidates.
    pub missing_gold: MissingGold,
    /// The candidates of each query: a file of JSON lines `{"query": id, "candidates": [id, …]}`; or for spectra, of
    /// candidates whose labels are SMILES, `"mass:10"`, those that have the precursor's m/z within 10 ppm with the
    /// spectrum's adduct (`[M+H]+` where it names none), or `"formula"`, those of the spectrum's formula; or `"queries"`,
    /// the right outputs of all queries; or `"sample:63"`, the right outputs of the query and 63 others, which are drawn
    /// for each query (`"sample:63:1"` with the seed 1). Left out, all queries share all candidates.
    #[schemars(with = "Option<String>")]
    pub candidates: Option<CandidateRule>,
    /// Queries encoded at once.
    #[default(64)]
    pub batch: usize,
    /// The figure of the validation split that chooses: the best checkpoint, λ, weights.
    pub metric: Metric,
}

impl EvaluationConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        ensure(self.batch > 0, "evaluation.batch", self.batch, "at least 1")?;
        self.candidates.as_ref().map_or(Ok(()), |rule| rule.validate("evaluation.candidates"))
    }

    /// Returns whether the metric compares outputs of every kind by their kernel.
    pub(crate) fn compares(&self) -> bool {
        self.metric.needs() == Needs::ComparedOutputs
    }
}

/// Logs of a run in addition to `log.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoggingConfig {
    /// Whether every evaluation, and the loss of steps, is also written as TensorBoard scalars, into the
    /// folder `tensorboard` of the run: `tensorboard --logdir runs` shows all runs.
    pub tensorboard: bool,
}

dsokr_core::defaults!(format: u32 = FORMAT);

impl Config {
    /// Returns the source of the data.
    pub fn source(&self) -> Source<'_> {
        let outputs = self.output.source();
        Source { data: &self.data, outputs, seed: self.seed, input_columns: None }
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(self) -> Result<Checked, Error> {
        ensure(self.format == FORMAT, "format", self.format, FORMAT)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name = &self.name;
        let named = !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
        ensure(named, "name", name, "letters, digits, '-', '_' and '.', not starting with '.'")?;
        self.data.validate()?;
        self.output.validate(&self.data)?;
        self.sketch.validate()?;
        self.check_encoder()?;
        self.training.validate()?;
        self.evaluation.validate()?;
        self.decoding.validate(self.encoder.abilities().held_out)?;
        if let Some(ensemble) = &self.ensemble {
            ensemble.validate()?;
        }
        self.encoder.settings.check(&self)?;
        self.check_held_out()?;
        self.decoding.check_beyond(&self)?;
        if self.sketch.full {
            self.output.check_untempered("sketch.full leaves no basis to temper")?;
        }
        self.check_metric()?;
        self.check_splits()?;
        Ok(Checked {
            config: self,
            file: None,
            trained_on: None,
            input_columns: None,
            text: None,
            overrides: Vec::new(),
        })
    }
}
