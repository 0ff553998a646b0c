//! Local search with restarts, whatever the neighbourhood.

use dsokr_basis::random::{Generator, below};

/// The best of what `climb` makes of `start` and of `restarts` random orders: it improves an order
/// in place and returns the score. Of equal scores the lexicographically first order found.
pub(super) fn best_of(
    start: Vec<u32>,
    restarts: usize,
    random: &mut Generator,
    mut climb: impl FnMut(&mut [u32]) -> i64,
) -> (Vec<u32>, i64) {
    let mut best = start;
    let mut score = climb(&mut best);
    let mut order: Vec<u32> = (0..best.len() as u32).collect();
    for _ in 0..restarts {
        for at in (1..order.len()).rev() {
            order.swap(at, below(random, at as u64 + 1) as usize);
        }
        let mut found = order.clone();
        let reached = climb(&mut found);
        if reached > score || reached == score && found < best {
            (best, score) = (found, reached);
        }
    }
    (best, score)
}
