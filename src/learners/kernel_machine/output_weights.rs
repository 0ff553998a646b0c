//! The weights of several output kernels, from leave-one-out predictions for training pairs: they are fitted before the targets,
//! which lie in the basis of the weighted sum.

use dsokr_basis::features::PartRows;
use dsokr_basis::{Basis, Projection, RowKind, RowSource};
use dsokr_core::message::four_digits;
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, Ensemble, Hubs, Member, MissingGold, Pool, Queries,
    likely_weights,
};
use dsokr_machines::Targets;
use tracing::info;

use super::left_out_together;
use super::rows::MachineRows;
use crate::config::{HubConfig, KernelMachineConfig};
use crate::error::Error;
use crate::run_dir::drawn_pairs;
use crate::targets::{Problem, summand_candidates};

/// Returns the basis of the sum of the configuration's kernels, weighted so that leave-one-out predictions for training
/// pairs make their outputs most likely (`dsokr_decode::likely_weights`), each as its weight counts.
///
/// The machine is fitted once to the coordinates of all kernels side by side, with the first λ. Each kernel
/// then is a member of an ensemble whose scores are summed as they are, corrected for hubs with the first
/// weight and number of neighbours of the configuration.
pub(super) fn weighted_basis(
    settings: &KernelMachineConfig,
    inputs: &MachineRows,
    problem: &Problem,
) -> Result<Basis, Error> {
    let config = &problem.config;
    let dataset = &problem.dataset;
    let weighted = problem.weighted_rows();
    let bases = problem.summands(&weighted)?;
    let project = |(basis, rows): (&Basis, PartRows)| basis.project_shared(&problem.ranks, &rows);
    let projections: Vec<Projection> =
        bases.iter().zip(PartRows::all(&weighted.rows)).map(project).collect::<Result<_, _>>()?;
    let predictions = predictions(settings, inputs, problem, &projections)?;
    let width: usize = projections.iter().map(|part| part.dimension()).sum();
    let unit = Queries::new(width, &predictions)?.normalised();

    let pairs = drawn_pairs(problem.len(), config.seed);
    let ids: Vec<String> = pairs.iter().map(|&pair| dataset.train.ids[pair].clone()).collect();
    let mut queries = Vec::new();
    let mut candidates = Vec::new();
    let mut start = 0;
    for (at, basis) in bases.iter().enumerate() {
        let part = |&pair: &usize| &unit[pair * width + start..][..basis.dimension()];
        let z: Vec<f32> = pairs.iter().flat_map(part).copied().collect();
        let placed = summand_candidates(basis, at, &dataset.outputs, &problem.ranks)?;
        candidates.push(match &config.decoding.hubs {
            Some(hubs) => corrected(hubs, placed, &z)?,
            None => placed,
        });
        queries.push(z);
        start += basis.dimension();
    }
    let names: Vec<String> = (0..bases.len()).map(|at| format!("output.kernels[{at}]")).collect();
    let mut members = Vec::new();
    for ((name, z), candidates) in names.iter().zip(&queries).zip(&candidates) {
        let queries = Queries::new(z.len() / pairs.len(), z)?;
        members.push(Member { name, queries, candidates, normalised: true });
    }
    let ensemble = Ensemble::new(members)?;
    let gold = ensemble.gold(Pool::Shared, &ids, MissingGold::RankInfinity)?;
    if gold.iter().all(Option::is_none) {
        let allowed = "absent: no output of a training pair is a candidate";
        return Err(Error::value("output.weights", "\"held-out\"", allowed));
    }
    let pair_weights = dataset.train.weights.select(&pairs);
    let rule = Combination::default();
    let fitted = likely_weights(&ensemble, Pool::Shared, &rule, &gold, &pair_weights)?;
    let weights: Vec<f64> = fitted.weights.iter().copied().map(four_digits).collect();
    info!(?weights, log_likelihood = fitted.log_likelihood, "kernels weighted");
    problem.sum(bases, &fitted.weights, &weighted)
}

/// Returns leave-one-out predictions for the training pairs in the coordinates of all kernels side by side.
fn predictions(
    settings: &KernelMachineConfig,
    rows: &MachineRows,
    problem: &Problem,
    projections: &[Projection],
) -> Result<Vec<f32>, Error> {
    let width = projections.iter().map(|part| part.dimension()).sum();
    let row = |row: usize| projections.iter().flat_map(move |part| part.row(row));
    let values = (0..problem.len()).flat_map(row).copied().map(f64::from);
    let targets = Targets::new(width, values.collect::<Vec<f64>>())?;
    let targets = targets.weighted(&problem.dataset.train.weights)?;
    let targets = targets.grouped(&left_out_together(problem)?)?;
    let seed = problem.config.seed;
    let systems = problem.factors.clone();
    let inputs = rows.training();
    Ok(settings.fit_once(inputs, &targets, seed, systems, None, &problem.ranks)?.1)
}

/// Returns the candidates of one kernel, corrected for hubs of the predictions.
fn corrected(hubs: &HubConfig, candidates: Candidates, z: &[f32]) -> Result<Candidates, Error> {
    let Some(&weight) = hubs.weights.first() else {
        return Ok(candidates);
    };
    let Some(&neighbours) = hubs.neighbours.first() else {
        return Ok(candidates);
    };
    let queries = Queries::new(candidates.dim(), z)?;
    let means = Hubs::fit(&queries, &candidates, neighbours.min(queries.len()))?;
    Ok(candidates.with_hubs(means, weight)?)
}

/// Returns the weights of the kernels of a sum, 0 for one that is left out.
pub(super) fn summary(basis: &Basis, outputs: &dyn RowSource) -> String {
    let kept = basis.weights();
    let mut start = 0;
    let part = |(_, width): (RowKind, usize)| {
        let weight = kept.iter().find(|(columns, _)| columns.start == start);
        start += width;
        format!("{:.3}", weight.map_or(0.0, |(_, weight)| *weight))
    };
    let weights: Vec<String> = outputs.parts().into_iter().map(part).collect();
    format!("weights of the kernels {}", weights.join(", "))
}
