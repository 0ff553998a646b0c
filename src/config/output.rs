//! The outputs of a configuration, with their kernel.

use dsokr_basis::{Kernel, OutputKernel, RowSource, SketchKind, Tempering};
use dsokr_core::RowWeights;
use dsokr_data::config::{CandidateConfig, DataConfig, OutputFeatures, OutputSource};
use dsokr_machines::Scaling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use smart_default::SmartDefault;

use super::KernelConfig;
use super::rules::{Rule, check};
use crate::error::{Error, ensure};

/// The outputs: a table with one row each, their features, and the kernel on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputConfig {
    /// Table of outputs, where the pairs come from tables; the other sources hold the outputs.
    pub table: Option<String>,
    /// Column of the outputs' ids.
    #[serde(default = "id")]
    pub id: String,
    /// Column that `search` shows next to the id; where it is left out, numbers are shown as their own column has them.
    pub label: Option<String>,
    /// Further columns of candidates, such as a price: `search`, `predict`, the server and exports show them, and filters such
    /// as `price < 10` compare them. A table of candidates that are added needs them too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Which outputs are candidates; all, if left out.
    pub candidate: Option<CandidateConfig>,
    /// Whether only outputs of training pairs are candidates, and those of no split where
    /// `data.splits.unpaired`: true outputs outside the training set are not candidates; the distance to them is
    /// measured instead.
    pub only_training: bool,
    /// Rows of features that the kernel compares.
    pub features: OutputFeatures,
    /// How columns of the features are standardised, by the outputs of the training pairs: of dense rows, which
    /// features of kind `file`, `numbers` and `source` have.
    pub scaling: ColumnScaling,
    /// The output kernel; left out with `kernels`.
    pub kernel: Option<KernelConfig>,
    /// Power α of the tempered kernel: each principal axis of the training outputs is divided by (its standard
    /// deviation)^α, 0 to 1. Few axes hold most of the variance, and others tell candidates apart. With
    /// `encoder.predictions.supervised` below 1 they are those of the outputs without pairs too.
    pub power: f64,
    /// Whether coordinates count from the mean of the training outputs, and of the outputs without pairs with
    /// `encoder.predictions.supervised` below 1; by default where `power` is above 0.
    pub centred: Option<bool>,
    /// Whether coordinates of outputs are scaled to unit length; by default where `power` is above 0.
    pub normalised: Option<bool>,
    /// Several kernels, whose weighted sum is the output kernel, in the place of `features` and `kernel`.
    /// The leading `sketch.size` principal axes of the sum are kept. `power`, `centred` and `normalised`
    /// above then change the sum, which is normalised by default where all kernels are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<SummandConfig>,
    /// `held-out`: the weights of `kernels` are those under which leave-one-out predictions for training pairs make
    /// their outputs most likely, for kernel machines and normalised kernels. A kernel's own `weight` is then
    /// 1, or 0, which leaves it out.
    pub weights: Option<HeldOutWeights>,
}

/// Names that answers, tables of them and filters use themselves, so that no further column can have them.
pub(crate) const NAMES_IN_USE: [&str; 14] = [
    "rank",
    "id",
    "label",
    "score",
    "gap",
    "tied",
    "duplicates",
    "candidate",
    "query",
    "precursor_mz",
    "mass",
    "formula",
    "group",
    "similarity",
];

/// Where weights of kernels come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldOutWeights {
    /// From leave-one-out predictions for training pairs.
    HeldOut,
}

/// One of several output kernels, with features and a sketch of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummandConfig {
    /// Rows of features that the kernel compares: of kind `file`, `ngrams` or `substructures`.
    pub features: OutputFeatures,
    /// The kernel.
    pub kernel: KernelConfig,
    /// The share of the kernel in the sum, after division by the sum of all; 0 leaves it out.
    #[serde(default = "one")]
    pub weight: f64,
    /// Sketch size m of the kernel.
    pub size: usize,
    /// Power α of the tempered kernel, as `output.power`.
    #[serde(default)]
    pub power: f64,
    /// Whether coordinates count from the mean of the training outputs; by default where `power` is above 0.
    pub centred: Option<bool>,
    /// Whether coordinates of outputs are scaled to unit length; by default where `power` is above 0.
    pub normalised: Option<bool>,
}

dsokr_core::defaults!(one: f64 = 1.0);

impl SummandConfig {
    /// Returns the tempering of the kernel's spectrum.
    pub fn tempering(&self) -> Tempering {
        tempering(self.power, self.centred, self.normalised)
    }

    /// Returns whether `k(y, y) = 1` for all outputs, once it is tempered.
    fn is_normalised(&self) -> bool {
        let tempering = self.tempering();
        tempering.normalised || tempering.changes_nothing() && self.kernel.is_normalised()
    }

    /// Checks the kernel at `key`, whose weight is `fitted` where the configuration says so.
    fn validate(&self, key: &str, fitted: bool) -> Result<(), Error> {
        let at = |name: &str| format!("{key}.{name}");
        let weight = self.weight;
        let holds = weight >= 0.0 && weight.is_finite();
        ensure(holds, at("weight"), weight, "a finite number not below 0")?;
        let allowed = "1 or 0 with output.weights = \"held-out\"";
        ensure(!fitted || [0.0, 1.0].contains(&weight), at("weight"), weight, allowed)?;
        ensure(self.size > 0, at("size"), self.size, "at least 1")?;
        let holds = self.tempering().validate().is_ok();
        ensure(holds, at("power"), self.power, "a number in [0, 1]")
    }
}

/// Coordinates are centred and normalised by default where the power is above 0.
fn tempering(power: f64, centred: Option<bool>, normalised: Option<bool>) -> Tempering {
    let by_default = power > 0.0;
    let centred = centred.unwrap_or(by_default);
    let normalised = normalised.unwrap_or(by_default);
    Tempering { power, centred, normalised }
}

dsokr_core::defaults!(id: String = "id".into());

impl OutputConfig {
    /// Returns the source of the outputs.
    pub fn source(&self) -> OutputSource<'_> {
        OutputSource {
            table: self.table.as_deref(),
            id: &self.id,
            label: self.label.as_deref(),
            further: &self.columns,
            candidate: self.candidate.as_ref(),
            only_training: self.only_training,
            features: &self.features,
            summands: self.summands().map(|kernel| &kernel.features).collect(),
        }
    }

    /// Returns whether it has one kernel, whose features any molecule has: predicted outputs are compared by it.
    pub(crate) fn compares_molecules(&self) -> bool {
        self.kernel.is_some() && self.source().check_made().is_ok()
    }

    /// Returns the kernels of a sum whose weights are above 0; none for one kernel.
    pub fn summands(&self) -> impl Iterator<Item = &SummandConfig> {
        self.kernels.iter().filter(|kernel| kernel.weight > 0.0)
    }

    /// Returns the one output kernel.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where there are several.
    pub fn single_kernel(&self) -> Result<&KernelConfig, Error> {
        let because = "one output.kernel is needed here; give it in their place";
        self.kernel.as_ref().ok_or_else(|| Error::refused("output.kernels", "given", because))
    }

    /// Returns the kernel's name, or how many are summed.
    pub(crate) fn kernel_name(&self) -> String {
        match &self.kernel {
            Some(kernel) => kernel.name().into(),
            None => format!("sum of {}", self.summands().count()),
        }
    }

    /// Returns the tempering of the kernel's spectrum.
    pub fn tempering(&self) -> Tempering {
        let tempering = tempering(self.power, self.centred, self.normalised);
        // the leading axes of a sum of normalised kernels have lost some of the length
        let sum = !self.kernels.is_empty() && self.summands_are_normalised();
        Tempering {
            normalised: self.normalised.unwrap_or(tempering.normalised || sum),
            ..tempering
        }
    }

    fn summands_are_normalised(&self) -> bool {
        self.summands().all(|kernel| kernel.tempering().normalised)
    }

    /// Returns whether `k(c, c) = 1` for all candidates.
    pub fn is_normalised(&self) -> bool {
        let tempering = self.tempering();
        if tempering.changes_nothing() {
            match &self.kernel {
                Some(kernel) => kernel.is_normalised(),
                None => self.summands().all(SummandConfig::is_normalised),
            }
        } else {
            tempering.normalised
        }
    }

    /// Refuses a tempered kernel, for a reason.
    pub(super) fn check_untempered(&self, because: &str) -> Result<(), Error> {
        let Tempering { power, centred, normalised } = self.tempering();
        let rules = [
            Rule { key: "output.power", refused_when: power != 0.0, because },
            Rule { key: "output.centred", refused_when: centred, because },
            Rule { key: "output.normalised", refused_when: normalised, because },
        ];
        check(self, "output", &rules)
    }

    /// Checks that the features that are standardised can be dense rows.
    fn check_scaling(&self) -> Result<(), Error> {
        let dense = match &self.features {
            OutputFeatures::File(file) => !file.packed,
            OutputFeatures::Numbers(_) | OutputFeatures::Source(_) => self.kernels.is_empty(),
            OutputFeatures::Molecules(_)
            | OutputFeatures::Substructures(_)
            | OutputFeatures::Graphs(_)
            | OutputFeatures::Labels(_)
            | OutputFeatures::Classes(_)
            | OutputFeatures::Rankings(_)
            | OutputFeatures::Ngrams(_) => false,
        };
        let allowed = "\"none\", or one kernel on vectors or numbers (output.features of kind \"file\" without \
                       packed bits, \"numbers\" or \"source\")";
        let holds = dense || self.scaling == ColumnScaling::None;
        ensure(holds, "output.scaling", json!(self.scaling), allowed)
    }

    /// Checks that further columns have names that answers and filters do not use themselves.
    fn check_columns(&self) -> Result<(), Error> {
        for name in &self.columns {
            let is_free = !NAMES_IN_USE.contains(&name.as_str());
            let names = NAMES_IN_USE.join(", ");
            let allowed = format_args!(
                "another name of the column, since answers and filters have values of their own with the names {names}"
            );
            ensure(is_free, "output.columns", format_args!("{name:?}"), allowed)?;
        }
        Ok(())
    }

    pub(super) fn validate(&self, data: &DataConfig) -> Result<(), Error> {
        let holds = self.tempering().validate().is_ok();
        ensure(holds, "output.power", self.power, "a number in [0, 1]")?;
        self.check_scaling()?;
        self.check_columns()?;
        let fitted = self.weights.is_some();
        let several = !self.kernels.is_empty();
        let one = self.kernel.is_some();
        let rules = [
            Rule {
                key: "output.kernel",
                refused_when: one && several,
                because: "output.kernels are kernels themselves; remove it, or them",
            },
            Rule {
                key: "output.weights",
                refused_when: one && fitted,
                because: "one output.kernel has no weights; remove it",
            },
            Rule {
                key: "output.kernel",
                refused_when: !one && !several,
                because: "give the output kernel, or several in [[output.kernels]]",
            },
            Rule {
                key: "output.features",
                refused_when: several && self.features != OutputFeatures::default(),
                because: "output.kernels have features of their own; remove it",
            },
        ];
        check(self, "output", &rules)?;
        for (at, kernel) in self.kernels.iter().enumerate() {
            kernel.validate(&format!("output.kernels[{at}]"), fitted)?;
        }
        let rule = Rule {
            key: "output.weights",
            refused_when: several && fitted && !self.summands_are_normalised(),
            because: "held-out weights need normalised kernels, as kernels with a power are; remove it",
        };
        check(self, "output", &[rule])?;
        let any = one || self.summands().next().is_some();
        ensure(any, "output.kernels", "weights that are all 0", "at least one above 0")?;
        // kernels of weight 0 are among them, so that positions are those in the file
        let summands = self.kernels.iter().map(|kernel| &kernel.features).collect();
        Ok(data.validate_outputs(&OutputSource { summands, ..self.source() })?)
    }
}

/// How the output kernel is sketched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct SketchConfig {
    /// No sketch, and the other keys are not used. A kernel machine then predicts weights of all
    /// training outputs, as IOKR and SIOKR do. Any other encoder learns the feature rows themselves, which is
    /// plain regression: for dense rows under the kernels `linear` and `cosine`.
    pub full: bool,
    /// Sketch size m, at most the number of training outputs; of several `output.kernels`, which have
    /// sizes of their own, the number of coordinates that are kept of their sum.
    #[default(100)]
    pub size: usize,
    /// How R is drawn. Left out, `gaussian`; but `subsampling` for more than 20,000 training outputs under a kernel that is
    /// not linear in features, since a Gaussian sketch then needs the kernel of all pairs of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<SketchKind>,
    /// Whether equal training outputs are one row of the sketch, so that R draws from the distinct ones. Left out, they are
    /// for more than 20,000 training outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct: Option<bool>,
    /// Eigenvalues below this share of the largest are cut.
    #[default(1e-10)]
    pub tolerance: f64,
}

/// The most training outputs of which all pairs are compared, and equal ones are rows of their own, where the
/// configuration does not say it.
const MANY: usize = 20_000;

impl SketchConfig {
    /// Returns how R is drawn for so many outputs under a kernel.
    pub fn method_for(&self, kernel: &Kernel, outputs: usize) -> SketchKind {
        if let Some(method) = &self.method {
            return method.clone();
        }
        let linear = kernel.feature_scale(1.0).is_some();
        if linear || outputs <= MANY {
            SketchKind::Gaussian
        } else {
            SketchKind::Subsampling { replacement: false }
        }
    }

    /// Returns whether equal ones of so many outputs are one row of the sketch.
    pub fn is_of_distinct(&self, outputs: usize) -> bool {
        self.distinct.unwrap_or(outputs > MANY)
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        ensure(self.size > 0, "sketch.size", self.size, "at least 1")?;
        if let Some(method) = &self.method {
            method.validate_parameters().map_err(|error| error.of("sketch.method."))?;
        }
        let tolerance = self.tolerance;
        let holds = (1e-12..1.0).contains(&tolerance);
        ensure(holds, "sketch.tolerance", tolerance, "a number in [1e-12, 1)")
    }
}

/// How columns of vectors are standardised, by the training rows' figures. A column that never changes is not divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnScaling {
    /// Not at all.
    #[default]
    None,
    /// Divided by their standard deviation. Enough for kernels of differences, as the Gaussian one;
    /// sparse rows stay sparse.
    Deviation,
    /// The mean subtracted, then divided by the standard deviation.
    Standard,
}

impl ColumnScaling {
    /// Returns the means and deviations of weighted rows by which columns are standardised; none where they are not.
    ///
    /// # Errors
    /// The errors of [`Scaling::fit_weighted`].
    pub(crate) fn fit(
        self,
        rows: &dyn RowSource,
        weights: &RowWeights,
    ) -> Result<Option<Scaling>, Error> {
        let is_centred = match self {
            Self::None => return Ok(None),
            Self::Deviation => false,
            Self::Standard => true,
        };
        Ok(Some(Scaling::fit_weighted(rows, weights, is_centred)?))
    }
}
