//! Inputs of some pairs as kernel machines take them.

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_basis::features::{HeldRows, Selected};
use dsokr_basis::kernel::OutputKernel;
use dsokr_basis::{Features, RowSource};
use dsokr_core::Processes;
use dsokr_core::processes::Held;
use dsokr_machines::{GramMatrix, KernelModel, TrainingInputs};

use super::computed::ComputedRows;
use crate::error::Error;

/// Inputs that are predicted by one process at once, where several predict: a part begins with a whole number of them.
const PREDICTED: usize = 1024;

/// The inputs of some pairs as a machine takes them.
pub(super) enum MachineRows<'s> {
    /// Rows, and the kernel that compares them.
    Features(Cow<'s, Features>, Arc<dyn OutputKernel>),
    /// Rows of which this process holds a part, and the kernel that compares them.
    Held(HeldRows<'static, ComputedRows<'s>>, Arc<dyn OutputKernel>),
    /// Values of a precomputed kernel with the n training inputs, pairs × n.
    Gram(GramMatrix),
}

impl MachineRows<'_> {
    /// Returns the rows, and the kernel that compares them.
    pub(super) fn features(&self) -> Result<(&dyn RowSource, &Arc<dyn OutputKernel>), Error> {
        match self {
            Self::Features(rows, kernel) => Ok((rows.as_ref(), kernel)),
            Self::Held(rows, kernel) => Ok((rows, kernel)),
            Self::Gram(_) => Err(Self::no_rows()),
        }
    }

    /// Returns the features of all rows, in memory of their own, and the kernel that compares them.
    pub(super) fn into_features(self) -> Result<(Features, Arc<dyn OutputKernel>), Error> {
        match self {
            Self::Features(rows, kernel) => Ok((rows.into_owned(), kernel)),
            Self::Held(rows, kernel) => {
                Ok((rows.select(&(0..rows.len()).collect::<Vec<_>>())?, kernel))
            }
            Self::Gram(_) => Err(Self::no_rows()),
        }
    }

    /// Returns the error of values of a precomputed kernel where rows are needed.
    fn no_rows() -> Error {
        let allowed = "rows that a kernel compares";
        Error::value("the inputs", "values of a precomputed kernel", allowed)
    }

    /// Returns the number of inputs.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Features(rows, _) => rows.len(),
            Self::Held(rows, _) => rows.len(),
            Self::Gram(values) => values.values().nrows(),
        }
    }

    /// Returns the predictions of a model, row-major.
    pub(super) fn predictions(&self, model: &KernelModel) -> Result<Vec<f32>, Error> {
        Ok(match self {
            Self::Features(rows, _) => model.predict(rows.as_ref())?,
            Self::Held(rows, _) => model.predict(rows)?,
            Self::Gram(values) => model.predict_gram(values.values())?,
        })
    }

    /// Returns the predictions of a model like [`predictions`](Self::predictions), where each of these processes predicts for the
    /// rows that it holds.
    pub(super) fn shared_predictions(
        &self,
        model: &KernelModel,
        processes: &Processes,
    ) -> Result<Vec<f32>, Error> {
        let Self::Held(rows, _) = self else { return self.predictions(model) };
        let part: Vec<usize> = rows.held().each().collect();
        let predictions = model.predict(&Selected::new(rows, &part));
        Ok(processes.join(processes.agree(predictions)?)?)
    }

    /// Returns these rows as training inputs.
    pub(super) fn training(&self) -> TrainingInputs<'_> {
        match self {
            Self::Features(rows, kernel) => TrainingInputs::rows(Arc::clone(kernel), rows.as_ref()),
            Self::Held(rows, kernel) => TrainingInputs::rows(Arc::clone(kernel), rows),
            Self::Gram(gram) => TrainingInputs::Gram(gram),
        }
    }
}

/// Returns the pairs of a split that a process holds where several predict for it, by consecutive parts.
pub(super) fn predicted_part(pairs: usize, processes: &Processes) -> Held {
    Held::new(pairs, std::iter::once(processes.part_in_blocks(pairs, PREDICTED)))
}
