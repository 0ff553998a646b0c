//! The scaling of training inputs: columns of vectors that are standardised, and weights that n-grams and bins of spectra learn.
//! It comes before the choice of λ, and a fitted model takes it in, so that it reads inputs as they are.

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_basis::RowSource;
use dsokr_basis::features::{HeldRows, Selected};
use dsokr_core::Processes;
use dsokr_machines::{KernelModel, LastSystem, ScaledRows, Scaling, Targets, TrainingInputs};
use tracing::info;

use crate::config::{BinWeights, KernelMachineConfig, MachineInputsConfig, NgramWeights};
use crate::error::Error;

impl KernelMachineConfig {
    /// Returns how columns of vectors are standardised, or the weights that n-grams and bins learn, by the first `prefix` of the
    /// rows, with the rows that this gives; none where the settings say nothing of it.
    pub(super) fn scale<'s>(
        &self,
        inputs: &TrainingInputs<'s>,
        targets: &Targets,
        prefix: usize,
        seed: u64,
        ranks: &Processes,
    ) -> Result<Option<Scaled<'s>>, Error> {
        let TrainingInputs::Rows(rows, kernel) = inputs else { return Ok(None) };
        let first: Vec<usize> = (0..prefix).collect();
        let part = Selected::new(*rows, &first);
        let (scaled_by, targets) = if prefix == rows.len() {
            (*rows, Cow::Borrowed(targets))
        } else {
            (&part as &dyn RowSource, Cow::Owned(targets.select(&first)?))
        };
        let scaling = match &self.inputs {
            MachineInputsConfig::Vectors { scaling } => {
                scaling.fit(scaled_by, targets.weights())?
            }
            MachineInputsConfig::Ngrams { weights: NgramWeights::Learned, .. }
            | MachineInputsConfig::Spectra { weights: BinWeights::Learned, .. } => {
                let inputs = TrainingInputs::rows(Arc::clone(kernel), scaled_by);
                let solver =
                    self.solver.prepare(inputs, seed, LastSystem::default())?.shared_by(ranks);
                let (model, _) = solver.fit(&targets, self.first_lambda(), false)?;
                info!("columns of inputs weighted by a first fit");
                Some(Scaling::relevance(&model, targets.weights())?)
            }
            MachineInputsConfig::Ngrams { weights: NgramWeights::TfIdf, .. }
            | MachineInputsConfig::Spectra { weights: BinWeights::Equal, .. }
            | MachineInputsConfig::Features { .. }
            | MachineInputsConfig::Mixtures(_)
            | MachineInputsConfig::Kernels { .. } => None,
        };
        let Some(scaling) = scaling else { return Ok(None) };
        let held = self.solver.held(ranks, rows.len(), targets.weights());
        let rows = scaling.held_rows(*rows, &held)?;
        Ok(Some(Scaled { scaling, rows }))
    }
}

/// Rows whose columns are standardised or weighted, and how.
pub(super) struct Scaled<'a> {
    scaling: Scaling,
    rows: HeldRows<'static, ScaledRows<'a>>,
}

/// Returns the inputs with the rows that are standardised in the place of their own.
pub(super) fn scaled_inputs<'a>(
    inputs: TrainingInputs<'a>,
    scaled: &'a Option<Scaled<'a>>,
) -> TrainingInputs<'a> {
    match (inputs, scaled) {
        (TrainingInputs::Rows(_, kernel), Some(Scaled { rows, .. })) => {
            TrainingInputs::Rows(rows, kernel)
        }
        (inputs, _) => inputs,
    }
}

/// Returns the model of rows as they are, of one that was fitted to standardised rows.
pub(super) fn model_of_raw_rows(
    model: KernelModel,
    scaled: &Option<Scaled<'_>>,
) -> Result<KernelModel, Error> {
    Ok(match scaled {
        Some(Scaled { scaling, .. }) => model.with_scaling(scaling.clone())?,
        None => model,
    })
}
