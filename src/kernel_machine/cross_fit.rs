//! Machines that were fitted without a part of the training pairs.

use dsokr_basis::RowSource;
use dsokr_data::Selected;
use dsokr_machines::{LastSystem, TrainingInputs};

use super::PreparedMachine;
use super::solver::scaling;
use crate::Error;
use crate::folds::rest;
use crate::learner::CrossFitted;
use crate::targets::{OutputTargets, TargetValues};

/// The answers of a machine without each part of the pairs, by the first λ. Inputs are prepared with all
/// training inputs, as for leave-one-out answers; columns are scaled by the other pairs only.
pub(super) fn cross_fit(
    machine: &PreparedMachine,
    targets: &OutputTargets,
    without: &[Vec<usize>],
) -> Result<Vec<CrossFitted>, Error> {
    let PreparedMachine { settings, outputs, rows, .. } = machine;
    let seed = outputs.config().seed;
    let TargetValues::Points(targets) = &targets.values else { return Err(targets.unexpected()) };
    let features = rows.features()?;
    let mut fitted = Vec::new();
    for held in without {
        let rest = rest(held, rows.len());
        let (known, targets) = (Selected::new(features, &rest), targets.select(&rest)?);
        let training = |rows| TrainingInputs::rows(settings.kernel.clone(), rows);
        let scaling = scaling(settings, training(&known), &targets, seed)?;
        let scaled = scaling.as_ref().map(|scaling| scaling.rows(&known)).transpose()?;
        let rows = scaled.as_ref().map_or(&known as &dyn RowSource, |rows| rows);
        let prepared = settings.solver.prepare(training(rows), seed, LastSystem::default())?;
        let (mut model, leave_one_out) = prepared.fit(&targets, settings.first_lambda(), true)?;
        if let Some(scaling) = scaling {
            model = model.with_scaling(scaling)?;
        }
        let Some(leave_one_out) = leave_one_out else {
            let allowed = "absent, beside this solver: it has no leave-one-out answers";
            return Err(Error::value("decoding.second_look", "given", allowed));
        };
        let answers = model.predict(&Selected::new(features, held))?;
        tracing::info!(pairs = rest.len(), answered = held.len(), "fitted without a part");
        fitted.push(CrossFitted { answers, leave_one_out });
    }
    Ok(fitted)
}
