//! Inputs of some pairs as kernel machines take them.

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_basis::kernel::OutputKernel;
use dsokr_basis::{Features, RowSource};
use dsokr_machines::{GramMatrix, KernelModel, TrainingInputs};

use crate::error::Error;

/// The inputs of some pairs as a machine takes them.
pub(super) enum MachineRows<'s> {
    /// Rows, and the kernel that compares them.
    Features(Cow<'s, Features>, Arc<dyn OutputKernel>),
    /// Values of a precomputed kernel with the n training inputs, pairs × n.
    Gram(GramMatrix),
}

impl MachineRows<'_> {
    /// Rows, and the kernel that compares them.
    pub(super) fn features(&self) -> Result<(&Features, &Arc<dyn OutputKernel>), Error> {
        match self {
            Self::Features(rows, kernel) => Ok((rows, kernel)),
            Self::Gram(_) => {
                let allowed = "rows that a kernel compares";
                Err(Error::value("the inputs", "values of a precomputed kernel", allowed))
            }
        }
    }

    /// Number of inputs.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Features(rows, _) => rows.len(),
            Self::Gram(values) => values.values().nrows(),
        }
    }

    /// The predictions of a model, row-major.
    pub(super) fn predictions(&self, model: &KernelModel) -> Result<Vec<f32>, Error> {
        Ok(match self {
            Self::Features(rows, _) => model.predict(rows.as_ref())?,
            Self::Gram(values) => model.predict_gram(values.values())?,
        })
    }

    /// Returns these rows as training inputs.
    pub(super) fn training(&self) -> TrainingInputs<'_> {
        match self {
            Self::Features(rows, kernel) => TrainingInputs::rows(Arc::clone(kernel), rows.as_ref()),
            Self::Gram(gram) => TrainingInputs::Gram(gram),
        }
    }
}
