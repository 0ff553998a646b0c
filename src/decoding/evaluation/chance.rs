//! The metrics of an order of candidates by chance.

use dsokr_core::random::{Generator, generator};
use dsokr_data::{Split, Truth};
use dsokr_decode::{Candidates, Pool};
use rand::RngExt;

use super::outputs::truth_of;
use crate::config::Checked;
use crate::error::Error;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::scores::{OutputScores, Scores};

/// The metrics of [`Evaluation::chance`]. Where other outputs are compared, one candidate is drawn for each query, as the
/// first of a random order: it is compared with the first right output of that order.
pub(super) fn chance(
    (split, pool): (&Split, Pool),
    evaluation: &Evaluation,
    candidates: &Candidates,
    config: &Checked,
) -> Result<Scores, Error> {
    let scores = evaluation.chance()?;
    match &evaluation.outputs {
        None | Some((Truth::Numbers(_) | Truth::Classes(_), _)) => return Ok(scores),
        Some((
            Truth::Molecules(_) | Truth::Graphs(_) | Truth::Labels(_) | Truth::Rankings(_),
            _,
        )) => {}
    }
    let mut random = generator(config.seed, "chance", 0);
    let mut drawn = Vec::with_capacity(split.ids.len());
    let mut counted = Vec::with_capacity(split.ids.len());
    for (query, golds) in split.golds().into_iter().enumerate() {
        let first = match pool {
            Pool::Shared => random.random_range(0..candidates.len()),
            Pool::PerQuery(lists) => {
                let list = lists.list(query);
                list[random.random_range(0..list.len())] as usize
            }
        };
        let competes = |gold: &str| {
            let candidate = candidates.find(gold);
            candidate.is_some_and(|candidate| match pool {
                Pool::Shared => true,
                Pool::PerQuery(lists) => lists.list(query).contains(&(candidate as u32)),
            })
        };
        let gold = first_gold(&golds, candidates.id(first), competes, &mut random);
        counted.push(gold.clone());
        drawn.push(candidates.label(first));
    }
    let features = &config.output.features;
    let Some(truth) = truth_of(split, &counted, candidates, features)? else { return Ok(scores) };
    let drawn = features.truth_of_labels(drawn)?;
    let compare = |drawn| OutputScores::with_queries(&truth, &drawn, &evaluation.facts);
    let outputs = drawn.map(compare).transpose()?;
    Ok(Scores { outputs: outputs.map(|(scores, _)| scores), ..scores })
}

/// The first right output of a query in a random order of its candidates that begins with the one with the id `first`; of
/// outputs none of which is a candidate the first.
fn first_gold<'g>(
    golds: &'g [String],
    first: &str,
    competes: impl Fn(&str) -> bool,
    random: &mut Generator,
) -> &'g String {
    if let Some(gold) = golds.iter().find(|gold| *gold == first) {
        return gold;
    }
    let competing: Vec<&String> = golds.iter().filter(|gold| competes(gold)).collect();
    match competing.as_slice() {
        [] => &golds[0],
        [gold] => gold,
        several => several[random.random_range(0..several.len())],
    }
}
