//! Outputs that are drawn by chance.

use std::collections::HashSet;

use dsokr_core::random::{Generator, generator};
use dsokr_data::{Split, Truth};
use dsokr_decode::{Ensemble, Pool};
use rand::RngExt;

use super::outputs::truth_of;
use crate::config::Checked;
use crate::error::Error;

/// Returns the outputs of an order by chance that are compared, where predicted outputs `compared` with the true ones are not
/// numbers or classes: for each query the first right output of a random order of its candidates, and the candidate that is
/// the first of all, which is drawn. None where these are not known.
pub(super) fn drawn_outputs(
    split: &Split,
    pool: Pool,
    ensemble: &Ensemble,
    compared: &Truth,
    config: &Checked,
) -> Result<Option<(Truth, Truth)>, Error> {
    match compared {
        Truth::Numbers(_) | Truth::Classes(_) => return Ok(None),
        Truth::Molecules(_) | Truth::Graphs(_) | Truth::Labels(_) | Truth::Rankings(_) => {}
    }
    let all = ensemble.candidates();
    let processes = ensemble.processes();
    let golds = split.golds();
    let places = all.find(processes, &golds.concat())?;
    let mut places = places.iter();
    let mut random = generator(config.seed, "chance", 0);
    let mut drawn = Vec::with_capacity(golds.len());
    let mut counted = Vec::with_capacity(golds.len());
    let mut named = HashSet::new();
    for (query, golds) in golds.into_iter().enumerate() {
        let first = match pool {
            Pool::Shared => random.random_range(0..all.len()),
            Pool::PerQuery(lists) => {
                let list = lists.list(query);
                list[random.random_range(0..list.len())] as usize
            }
        };
        let competes = |candidate: usize| match pool {
            Pool::Shared => true,
            Pool::PerQuery(lists) => lists.list(query).contains(&(candidate as u32)),
        };
        let right: Vec<Option<usize>> = places
            .by_ref()
            .take(golds.len())
            .map(|place| Some(place.as_ref()?.candidate))
            .collect();
        let at = match right.iter().position(|gold| *gold == Some(first)) {
            Some(at) => at,
            None => drawn_place(&right, competes, &mut random),
        };
        named.insert(first);
        named.extend(right[at]);
        counted.push(golds[at].clone());
        drawn.push(first);
    }
    let some = all.some(processes, named)?;
    let candidates = &some.candidates;
    let features = &config.output.features;
    let Some(truth) = truth_of(split, &counted, candidates, features)? else { return Ok(None) };
    let label = |first: usize| Ok::<_, Error>(candidates.label(some.place(first)?));
    let labels = drawn.into_iter().map(label).collect::<Result<Vec<_>, _>>()?;
    Ok(features.truth_of_labels(labels)?.map(|drawn| (truth, drawn)))
}

/// Draws one of the right outputs of a query that compete, by its place among them; the first one where none is a candidate.
fn drawn_place(
    right: &[Option<usize>],
    competes: impl Fn(usize) -> bool,
    random: &mut Generator,
) -> usize {
    let is_competing = |at: &usize| right[*at].is_some_and(&competes);
    let competing: Vec<usize> = (0..right.len()).filter(is_competing).collect();
    match competing.as_slice() {
        [] => 0,
        [at] => *at,
        several => several[random.random_range(0..several.len())],
    }
}
