//! Training inputs of solvers that compare rows.

use std::sync::Arc;

use dsokr_basis::{Features, OutputKernel, RowSource};
use dsokr_core::Error;

use super::precomputed::GramKernel;
use super::training::TrainingInputs;

/// Training inputs as rows and the kernel that compares them: of a precomputed kernel the numbers of inputs.
pub(crate) enum ComparedInputs<'a> {
    /// Given rows.
    Rows(&'a dyn RowSource, Arc<dyn OutputKernel>),
    /// The numbers of the inputs of a precomputed kernel.
    Numbers(Features, Arc<dyn OutputKernel>),
}

impl<'a> ComparedInputs<'a> {
    /// Returns the rows of training inputs. Of a precomputed kernel it holds a copy.
    ///
    /// # Errors
    /// The errors of [`TrainingInputs::gram`] for a precomputed kernel.
    pub(crate) fn new(inputs: &TrainingInputs<'a>) -> Result<Self, Error> {
        match inputs {
            TrainingInputs::Rows(rows, kernel) => Ok(Self::Rows(*rows, Arc::clone(kernel))),
            TrainingInputs::Gram(gram) => {
                // a matrix that is not a kernel is refused before it is copied
                gram.check()?;
                let (kernel, numbers) = GramKernel::from_gram(gram.values())?;
                Ok(Self::Numbers(numbers, kernel))
            }
        }
    }

    /// Returns the rows.
    pub(crate) fn rows(&self) -> &dyn RowSource {
        match self {
            Self::Rows(rows, _) => *rows,
            Self::Numbers(numbers, _) => numbers,
        }
    }

    /// Returns the kernel of the rows.
    pub(crate) fn kernel(&self) -> &Arc<dyn OutputKernel> {
        match self {
            Self::Rows(_, kernel) | Self::Numbers(_, kernel) => kernel,
        }
    }

    /// Returns the number of inputs of a precomputed kernel, whose values new inputs come with; none for rows.
    pub(crate) fn given(&self) -> Option<usize> {
        match self {
            Self::Rows(..) => None,
            Self::Numbers(numbers, _) => Some(numbers.len()),
        }
    }
}
