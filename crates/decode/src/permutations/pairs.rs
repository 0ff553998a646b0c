//! Scores that are sums over pairs of items: the linear ordering problem.

use dsokr_basis::OutputKernel;

use super::ranking::{Ranking, check_items, whole_weights};
use crate::Error;

/// Most items that are ordered by their pairs.
const EXACT_ITEMS: usize = 16;

/// The best of all orders of K items for a direction w in feature space, the lexicographically first of those that
/// tie. `w_ij` counts for i before j and against j before i, for the pairs i < j in lexicographic order, as
/// [`kemeny_signs`](dsokr_basis::features::kemeny_signs) orders its columns.
///
/// By dynamic programming over sets of items (Lawler 1964), 2ᴷ K² steps and 8 · 2ᴷ bytes.
pub(crate) fn best_by_pairs(
    kernel: &dyn OutputKernel,
    direction: &[f32],
) -> Result<Ranking, Error> {
    let width = direction.len();
    let items = (1 + 8 * width).isqrt().div_ceil(2);
    check_items(items, items * (items - 1) / 2, width, "K(K-1)/2 pair signs", EXACT_ITEMS)?;
    let (whole, unit) = whole_weights(kernel, direction, width)?;
    let mut gains = vec![0; items * items];
    let pairs = (0..items).flat_map(|i| (i + 1..items).map(move |j| (i, j)));
    for ((i, j), weight) in pairs.zip(whole) {
        gains[i * items + j] = weight;
        gains[j * items + i] = -weight;
    }
    let members = |set: usize| (0..items).filter(move |item| set >> item & 1 == 1);
    // what an item adds that comes before all others of a set
    let ahead = |item: usize, set: usize| -> i64 {
        members(set).map(|other| gains[item * items + other]).sum()
    };
    // best[set]: the most that the items of a set can add among themselves
    let mut best = vec![0i64; 1 << items];
    for set in 1..best.len() {
        let first = |item: usize| ahead(item, set) + best[set & !(1 << item)];
        best[set] = members(set).map(first).max().unwrap_or(0);
    }
    let mut set = best.len() - 1;
    let mut order = Vec::with_capacity(items);
    while let Some(item) =
        members(set).find(|&item| ahead(item, set) + best[set & !(1 << item)] == best[set])
    {
        order.push(item as u32);
        set &= !(1 << item);
    }
    Ok(Ranking { order, score: best[(1 << items) - 1] as f64 * unit })
}
