//! Kernels as a configuration names them, whose γ may be left to the training outputs or inputs.

use std::iter;

use dsokr_basis::kernel::median_squared_distance;
use dsokr_basis::{Kernel, RowSource};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::error::{Error, ensure};

/// γ from the median heuristic, as a configuration says it.
const MEDIAN: &str = "median";

/// A kernel of outputs, or of the inputs of a kernel machine. γ of a Gaussian one may be `"median"`: it is 1 over the
/// median of the squared distances d² between training outputs, or training inputs, so `2 width²` is that median.
#[derive(Clone, Debug, derive_more::Deref, PartialEq)]
pub struct KernelConfig {
    /// The kernel; its γ is 1 where the median decides.
    #[deref]
    kernel: Kernel,
    median: bool,
}

impl From<Kernel> for KernelConfig {
    fn from(kernel: Kernel) -> Self {
        Self { kernel, median: false }
    }
}

impl KernelConfig {
    /// Returns the kernel as the configuration states it; none where its γ comes from the training outputs or inputs.
    pub(crate) fn stated(&self) -> Option<&Kernel> {
        (!self.median).then_some(&self.kernel)
    }

    /// Returns the kernel, with γ from the rows of the training outputs, or inputs, where the configuration says so; `seed`
    /// draws the rows that are compared. `key` is the kernel's in the configuration.
    ///
    /// # Errors
    /// Rows that the kernel is not defined on; [`dsokr_core::Error::Value`] where at least half of the pairs of
    /// rows are equal, so that the median is 0.
    pub fn fit(&self, key: &str, rows: &dyn RowSource, seed: u64) -> Result<Kernel, Error> {
        let Some(space) = self.kernel.distance_space().filter(|_| self.median) else {
            return Ok(self.kernel.clone());
        };
        let median = match rows.len() {
            0 | 1 => 0.0,
            _ => median_squared_distance(&space, rows, seed)?,
        };
        let gamma = 1.0 / median;
        let allowed = format_args!(
            "a number: the median of the squared distances that it compares is {median}"
        );
        let holds = gamma.is_finite() && gamma > 0.0;
        ensure(holds, format_args!("{key}.gamma"), "\"median\"", allowed)?;
        // all digits, so that the number itself gives the same run
        let name = self.name();
        tracing::info!("{key}.gamma = {gamma}, from the median distance, for the kernel {name}");
        Ok(self.kernel.with_gamma(gamma))
    }
}

impl Serialize for KernelConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.median {
            return self.kernel.serialize(serializer);
        }
        let mut parameters = toml::Table::try_from(&self.kernel).map_err(S::Error::custom)?;
        parameters.remove("name");
        parameters.insert("gamma".into(), MEDIAN.into());
        let name = ("name".to_owned(), self.name().into());
        serializer.collect_map(iter::once(name).chain(parameters))
    }
}

/// Returns the message about a γ that is not allowed.
fn refused(gamma: impl std::fmt::Display) -> String {
    format!("gamma = {gamma}: expected a number above 0 or {MEDIAN:?}")
}

impl<'de> Deserialize<'de> for KernelConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let gamma = table.get("gamma").and_then(toml::Value::as_str);
        let median = gamma == Some(MEDIAN);
        if let Some(text) = gamma
            && !median
        {
            return Err(D::Error::custom(refused(format_args!("{text:?}"))));
        }
        if median {
            table.insert("gamma".into(), 1.0.into());
        }
        let kernel: Kernel = table.try_into().map_err(|error| D::Error::custom(error.message()))?;
        if let Some(gamma) = kernel.gamma()
            && !(gamma > 0.0 && gamma.is_finite())
        {
            return Err(D::Error::custom(refused(gamma)));
        }
        Ok(Self { kernel, median })
    }
}

impl JsonSchema for KernelConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "KernelConfig".into()
    }

    /// Returns the schema of [`Kernel`], whose γ may also be `"median"`.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Kernel::json_schema(generator);
        let kernels = schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
        for kernel in kernels {
            if let Some(gamma) = kernel.pointer_mut("/properties/gamma") {
                let number = gamma.get("description").and_then(Value::as_str).unwrap_or_default();
                let description = format!(
                    "{number} `\"median\"` is the median heuristic: γ is 1 over the median of d² over all pairs of 1000 \
                     training outputs, or inputs, that the seed draws, so that half of the pairs have a kernel above 1/e. \
                     The log has the number, and the run keeps it."
                );
                *gamma = json!({
                    "description": description,
                    "anyOf": [{ "type": "number" }, { "enum": [MEDIAN] }],
                });
            }
        }
        schema
    }
}
