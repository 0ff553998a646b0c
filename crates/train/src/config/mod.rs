//! The configuration: TOML, one typed struct a table, unknown keys refused.
//!
//! [`Config`] is what a file says; [`Config::validate`] turns it into a [`Checked`] one, and only a
//! checked configuration can be trained.

mod decoding;
mod embedding;
mod encoder;
mod ensemble;
mod load;
mod loss;
mod output;
mod reference;
mod ridge;
mod training;

pub use decoding::{DecodingConfig, HubConfig};
pub use embedding::EmbeddingConfig;
pub use encoder::EncoderConfig;
pub use ensemble::EnsembleConfig;
pub use load::{Override, load};
pub use loss::LossConfig;
pub use output::{OutputConfig, SketchConfig};
pub use reference::reference;
pub use ridge::{InputScaling, InputSketchConfig, RidgeConfig};
pub use training::{Decay, EvaluationConfig, GroupConfig, Metric, OptimizerName, TrainingConfig};

use dsokr_basis::Kernel;
use dsokr_data::config::DataConfig;
use dsokr_data::{Source, SplitName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Recipe};

/// Version of the configuration and of run directories that this program reads and writes.
pub const FORMAT: u32 = 1;

/// One training: data, output kernel and sketch, encoder, optimisation, evaluation.
// R is the type of the `[encoder]` table, one's own for one's own encoder
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config<R = EncoderConfig> {
    /// Version of this format; 1 is the only one.
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
    pub encoder: R,
    /// Optimisation.
    #[serde(default)]
    pub training: TrainingConfig,
    /// How candidates are scored.
    #[serde(default)]
    pub decoding: DecodingConfig,
    /// What is measured, and on which split.
    #[serde(default)]
    pub evaluation: EvaluationConfig,
    /// Several models that vote; one, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<EnsembleConfig>,
}

fn format() -> u32 {
    FORMAT
}

/// A configuration whose values have been checked; `R` is the [`Recipe`] of its encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<R = EncoderConfig>(Config<R>);

impl<R> std::ops::Deref for Checked<R> {
    type Target = Config<R>;

    fn deref(&self) -> &Config<R> {
        &self.0
    }
}

impl<R> Config<R> {
    /// What the configuration says of the data.
    pub fn source(&self) -> Source<'_> {
        Source { data: &self.data, outputs: self.output.source(), seed: self.seed }
    }
}

impl<R: Recipe> Config<R> {
    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(self) -> Result<Checked<R>, Error> {
        check(self.format == FORMAT, "format", self.format, "1")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name = &self.name;
        let named = !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
        check(named, "name", name, "letters, digits, '-', '_' and '.', not starting with '.'")?;
        self.data.validate()?;
        self.output.validate(&self.data)?;
        self.sketch.validate()?;
        self.encoder.validate()?;
        if self.encoder.reads_vectors() && !self.data.has_vectors() {
            return Err(value(
                "data.inputs",
                "absent",
                "the feature vectors that this encoder reads",
            ));
        }
        let combined = self.encoder.ridge().is_some_and(|ridge| ridge.kernels.is_some());
        if combined != self.data.kernels.is_some() {
            let (key, allowed) = match combined {
                true => ("data.kernels", "the kernels that encoder.kernels combines"),
                false => ("encoder.kernels", "\"uniform\" or \"alignf\", of kind \"ridge\""),
            };
            return Err(value(key, "absent", allowed));
        }
        if !self.encoder.reads_vectors() && self.data.has_vectors() {
            let data = &self.data;
            let key = match (&data.pool, &data.synthetic, &data.kernels) {
                (Some(_), ..) => "data.pool",
                (_, Some(_), _) => "data.synthetic",
                (.., Some(_)) => "data.kernels",
                _ => "data.inputs",
            };
            return Err(value(key, "vectors", "absent, or texts: this encoder reads the texts"));
        }
        self.training.validate()?;
        self.evaluation.validate()?;
        self.decoding.validate()?;
        self.ensemble.as_ref().map_or(Ok(()), EnsembleConfig::validate)?;
        let ridge = self.encoder.ridge();
        ridge.map_or(Ok(()), |ridge| ridge.goes_with(self.sketch.full, &self.decoding))?;
        let tempering = self.output.tempering();
        if self.sketch.full && !tempering.changes_nothing() {
            let allowed = "0, as it is without a sketch: there is no basis to temper";
            return Err(value("output.power", tempering.power, allowed));
        }
        if self.sketch.full
            && ridge.is_none()
            && !matches!(self.output.kernel, Kernel::Linear | Kernel::Cosine)
        {
            let allowed = "false: encoders without a sketch learn feature rows as they are, for the \
                           kernels linear and cosine";
            return Err(value("sketch.full", true, allowed));
        }
        let metric = self.training.metric;
        let quantiles = ridge.is_some_and(|ridge| ridge.levels().is_some());
        if quantiles != (metric == Metric::Pinball) {
            let allowed = match quantiles {
                true => "\"pinball\", for quantiles",
                false => "another figure: \"pinball\" needs an encoder.loss of that name",
            };
            return Err(value("training.metric", metric, allowed));
        }
        if quantiles && self.output.kernel != Kernel::Linear {
            let allowed = "\"linear\": quantiles are of numbers";
            return Err(value("output.kernel.name", self.output.kernel.name(), allowed));
        }
        let corrected = self.decoding.hubs.is_some() && !self.output.is_normalised();
        if metric == Metric::SquaredError && (corrected || self.sketch.full && ridge.is_some()) {
            let allowed = "another figure: with sketch.full or decoding.hubs it is not known here";
            return Err(value("training.metric", metric, allowed));
        }
        if metric == Metric::F1 && !self.output.features.are_labels() {
            let allowed = "another figure: F1 needs features of kind \"labels\"";
            return Err(value("training.metric", metric, allowed));
        }
        if metric.is_a_distance() && !self.output.features.are_molecules() {
            let allowed = "a figure of ranks: edit distances need features of kind \"molecules\"";
            return Err(value("training.metric", format!("{metric:?}"), allowed));
        }
        if self.evaluation.split == SplitName::Test && !self.data.has_test() {
            let allowed = "\"validation\", or a file in data.test";
            return Err(value("evaluation.split", "\"test\"", allowed));
        }
        Ok(Checked(self))
    }
}

impl<R: Recipe> Checked<R> {
    /// The configuration as TOML, every default written out.
    ///
    /// # Errors
    /// [`Error::Serialise`], which no configuration that was read from TOML brings about.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(&self.0).map_err(|e| Error::Serialise(e.to_string()))
    }
}

/// An error about a key's value.
fn value(key: &str, found: impl std::fmt::Display, allowed: impl Into<String>) -> Error {
    Error::Value { key: key.into(), found: found.to_string(), allowed: allowed.into() }
}

/// `Ok` when `holds`.
fn check(
    holds: bool,
    key: &str,
    found: impl std::fmt::Display,
    allowed: &str,
) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(value(key, found, allowed)) }
}
