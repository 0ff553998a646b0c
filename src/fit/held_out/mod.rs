//! Predictions for training pairs by models that have not seen them. Where a fit leaves none behind, the learner is fitted
//! anew without parts of the pairs, which these models then predict: `plan` says which fits that takes, `run` makes them.

mod plan;
mod run;

pub(crate) use plan::FurtherFits;
pub(crate) use run::AllHeldOut;
