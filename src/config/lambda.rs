use dsokr_machines::LARGEST_LAMBDA;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::ensure;

/// λ of a kernel machine: one number, or several to choose from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Lambda {
    /// One.
    One(f64),
    /// The one with the least leave-one-out error on the training pairs, where the solver has it in
    /// closed form; else the best on the validation split, one fit for each.
    Several(Vec<f64>),
}

impl Lambda {
    /// Every value.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::One(lambda) => std::slice::from_ref(lambda),
            Self::Several(lambdas) => lambdas,
        }
    }

    /// Checks the values of a key.
    pub(super) fn validate(&self, key: &str) -> Result<(), Error> {
        let lambdas = self.values();
        ensure(!lambdas.is_empty(), key, "[]", "at least one number above 0")?;
        lambdas.iter().try_for_each(|&lambda| {
            let holds = lambda > 0.0 && lambda <= LARGEST_LAMBDA;
            ensure(holds, key, lambda, "numbers above 0, at most 1e100")
        })
    }
}
