//! The output kernel of a configuration, whose γ may be left to the training outputs.

use std::borrow::Cow;

use dsokr_basis::kernel::median_squared_distance;
use dsokr_basis::{Kernel, OutputKernel, RowSource};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::Error;

/// γ from the median heuristic, as a configuration says it.
const MEDIAN: &str = "median";

/// The output kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelConfig {
    /// A kernel with its parameters.
    Fixed(Kernel),
    /// A Gaussian kernel with `gamma = "median"`: γ is 1 over the median of the squared distances d² between
    /// training outputs, so `2 width²` is that median.
    Median(GaussianKernel),
}

/// The kernels `exp(−γ d²)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GaussianKernel {
    /// d is the distance of two rows.
    Gaussian,
    /// d is their distance in the feature space of the Tanimoto kernel.
    GaussianTanimoto,
}

impl KernelConfig {
    /// The kernel, whatever its γ.
    fn of_any_width(&self) -> Cow<'_, Kernel> {
        match self {
            Self::Fixed(kernel) => Cow::Borrowed(kernel),
            Self::Median(kernel) => Cow::Owned(kernel.with(1.0)),
        }
    }

    /// The name in configurations.
    pub fn name(&self) -> &'static str {
        self.of_any_width().name()
    }

    /// Whether it is this kernel.
    pub fn is(&self, kernel: &Kernel) -> bool {
        *self == Self::Fixed(kernel.clone())
    }

    /// Whether `k(y, y) = 1` for every row.
    pub fn is_normalised(&self) -> bool {
        self.of_any_width().is_normalised()
    }

    /// Whether it is linear in scaled rows.
    pub fn is_linear(&self) -> bool {
        self.of_any_width().feature_scale(1.0).is_some()
    }

    /// The kernel, with γ from the rows of the training outputs where the configuration says so; `seed`
    /// draws the rows that are compared. `key` is the kernel's in the configuration.
    ///
    /// # Errors
    /// Rows that the kernel is not defined on; [`Error::Value`] where at least half of the pairs of
    /// outputs are equal, so that the median is 0.
    pub fn fit(&self, key: &str, rows: &dyn RowSource, seed: u64) -> Result<Kernel, Error> {
        let kernel = match self {
            Self::Fixed(kernel) => return Ok(kernel.clone()),
            Self::Median(kernel) => kernel,
        };
        let median = match rows.len() {
            0 | 1 => 0.0,
            _ => median_squared_distance(&kernel.space(), rows, seed)?,
        };
        let gamma = 1.0 / median;
        if !gamma.is_finite() || gamma <= 0.0 {
            let allowed = format!(
                "a number: the median of the squared distances between training outputs is {median}"
            );
            return Err(Error::value(format!("{key}.gamma"), "\"median\"", allowed));
        }
        tracing::info!(gamma, kernel = self.name(), "gamma from the median distance of outputs");
        Ok(kernel.with(gamma))
    }
}

impl GaussianKernel {
    fn with(self, gamma: f64) -> Kernel {
        match self {
            Self::Gaussian => Kernel::Gaussian { gamma },
            Self::GaussianTanimoto => Kernel::GaussianTanimoto { gamma },
        }
    }

    /// The kernel in whose feature space d is a distance.
    fn space(self) -> Kernel {
        match self {
            Self::Gaussian => Kernel::Linear,
            Self::GaussianTanimoto => Kernel::Tanimoto,
        }
    }
}

impl From<Kernel> for KernelConfig {
    fn from(kernel: Kernel) -> Self {
        Self::Fixed(kernel)
    }
}

/// A [`KernelConfig::Median`] as a configuration writes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithMedian {
    name: GaussianKernel,
    gamma: String,
}

impl Serialize for KernelConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(kernel) => kernel.serialize(serializer),
            Self::Median(name) => {
                WithMedian { name: *name, gamma: MEDIAN.into() }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for KernelConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        let name = table.get("name").cloned().map(toml::Value::try_into::<GaussianKernel>);
        let gamma = table.get("gamma").and_then(toml::Value::as_str);
        let kernel = match (name, gamma) {
            (Some(Ok(_)), Some(MEDIAN)) => {
                table.try_into().map(|WithMedian { name, .. }| Self::Median(name))
            }
            (Some(Ok(_)), Some(found)) => {
                let message =
                    format!("gamma = {found:?}: allowed is a number above 0 or {MEDIAN:?}");
                return Err(D::Error::custom(message));
            }
            _ => table.try_into().map(Self::Fixed),
        };
        kernel.map_err(|error| D::Error::custom(error.message()))
    }
}

impl JsonSchema for KernelConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OutputKernel".into()
    }

    /// That of [`Kernel`], whose γ may also be `"median"`.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Kernel::json_schema(generator);
        let kernels = schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
        for kernel in kernels {
            if let Some(gamma) = kernel.pointer_mut("/properties/gamma") {
                *gamma = json!({
                    "description": "γ, above 0; `1/(2 width²)`. `\"median\"` is the median heuristic: γ is 1 \
                        over the median of d² over all pairs of 1000 training outputs that the seed draws, so \
                        that half of the pairs have a kernel above 1/e. The log has the number, and the \
                        run keeps it.",
                    "anyOf": [{ "type": "number" }, { "enum": [MEDIAN] }],
                });
            }
        }
        schema
    }
}
