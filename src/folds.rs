//! Parts of the training pairs that models are fitted without.

use dsokr_basis::random::{generator, shuffle};

use crate::Error;
use crate::config::{Checked, SecondLookConfig};
use crate::error::ensure;

/// The parts of n training pairs, `count` by the configuration's `key`, drawn by a seed, of sizes that
/// differ by one at most.
pub(crate) fn folds(
    key: &str,
    count: usize,
    n: usize,
    seed: u64,
) -> Result<Vec<Vec<usize>>, Error> {
    let allowed = format_args!("2 to {n}, the number of training pairs");
    ensure((2..=n).contains(&count), key, count, allowed)?;
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, &mut generator(seed, "folds", 0));
    let mut folds = vec![Vec::new(); count];
    order.into_iter().enumerate().for_each(|(at, row)| folds[at % count].push(row));
    folds.iter_mut().for_each(|fold| fold.sort_unstable());
    Ok(folds)
}

/// The parts of n training pairs that encoders are trained without.
pub(crate) fn held_out_folds(config: &Checked, n: usize) -> Result<Vec<Vec<usize>>, Error> {
    let hubs = config.decoding.hubs.clone().unwrap_or_default();
    let mut folds = folds("decoding.hubs.folds", hubs.folds(), n, config.seed)?;
    folds.truncate(hubs.answered());
    Ok(folds)
}

/// The parts of n training pairs that a second look learns from.
pub(crate) fn answered(
    settings: &SecondLookConfig,
    n: usize,
    seed: u64,
) -> Result<Vec<Vec<usize>>, Error> {
    let mut parts = folds("decoding.second_look.folds", settings.folds, n, seed)?;
    parts.truncate(settings.answered);
    Ok(parts)
}

/// The others of n pairs.
pub(crate) fn rest(held: &[usize], n: usize) -> Vec<usize> {
    (0..n).filter(|pair| held.binary_search(pair).is_err()).collect()
}
