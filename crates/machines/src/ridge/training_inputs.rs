use std::sync::Arc;

use dsokr_basis::features::read;
use dsokr_basis::kernel::IntoKernel;
use dsokr_basis::{OutputKernel, RowSource};
use faer::MatRef;

use super::gram::gram;
use super::precomputed;
use crate::Error;
use crate::linear::Panels;

/// The training inputs of a kernel machine.
#[derive(Clone)]
pub enum TrainingInputs<'a> {
    /// Rows, and their kernel.
    Rows(&'a dyn RowSource, Arc<dyn OutputKernel>),
    /// The n × n matrix of a precomputed kernel: for the closed form only.
    Gram(MatRef<'a, f64>),
}

impl<'a> TrainingInputs<'a> {
    /// Rows, and their kernel.
    pub fn rows(kernel: impl IntoKernel, rows: &'a dyn RowSource) -> Self {
        Self::Rows(rows, kernel.into_kernel())
    }

    /// n, the number of inputs.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(rows, _) => rows.len(),
            Self::Gram(gram) => gram.nrows(),
        }
    }

    /// Whether there are no inputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lower half of the Gram matrix, of inputs that are checked.
    ///
    /// # Errors
    /// The kernel's checks; [`Error::NotFinite`] for kernel values that overflow; of a precomputed kernel
    /// [`Error::Basis`] for a matrix of zeros, [`Error::NotSymmetric`] beyond 1e-8 of the largest value, and
    /// [`Error::NotSemidefinite`] for an eigenvalue below −1e-8 of the trace.
    pub(super) fn gram(&self) -> Result<Panels<f64>, Error> {
        match self {
            Self::Rows(rows, kernel) => {
                kernel.validate(rows.kind())?;
                kernel.check(&read(*rows, 0..rows.len())?)?;
                gram(kernel.as_ref(), *rows)
            }
            Self::Gram(gram) => precomputed::checked(*gram),
        }
    }
}
