//! Scores that are sums over items and their ranks: the linear sum assignment problem.

use dsokr_basis::OutputKernel;

use super::assignment;
use super::ranking::{Ranking, check_items, whole_weights};
use crate::Error;

/// Most items of a ranking: sums of their weights fit 64 bits.
const MOST: usize = 2048;

/// The best of all orders of K items for a direction w in feature space, the lexicographically first of those that
/// tie: by the Hungarian method, K³ steps. `w_{iK + r}` counts where item i has rank r, as
/// [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot) orders its columns.
pub(crate) fn best_by_positions(
    kernel: &dyn OutputKernel,
    direction: &[f32],
) -> Result<Ranking, Error> {
    let items = direction.len().isqrt();
    check_items(items, items * items, direction.len(), "K*K bits", MOST)?;
    let (whole, unit) = whole_weights(kernel, direction, items)?;
    // of rank r and item i at r · K + i
    let weights: Vec<i64> =
        (0..whole.len()).map(|at| whole[at % items * items + at / items]).collect();
    let order = assignment::first_best(items, &weights);
    let total: i64 =
        order.iter().zip(weights.chunks(items)).map(|(&item, row)| row[item as usize]).sum();
    Ok(Ranking { order, score: total as f64 * unit })
}
