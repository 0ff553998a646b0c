//! Local search with restarts, whatever the neighbourhood.

use dsokr_basis::random::{Generator, below};

/// The best of the local optima above `start` and above `restarts` random orders; of equal scores the
/// lexicographically first order found.
///
/// `step` changes an order at a place for the better and says whether it did. An order in which no
/// place can be improved is a local optimum.
pub(super) fn best_of(
    start: Vec<u32>,
    restarts: usize,
    random: &mut Generator,
    step: impl Fn(&mut [u32], usize) -> bool,
    score: impl Fn(&[u32]) -> i64,
) -> (Vec<u32>, i64) {
    let climb = |mut order: Vec<u32>| {
        loop {
            let mut better = false;
            for at in 0..order.len() {
                better |= step(&mut order, at);
            }
            if !better {
                let reached = score(&order);
                return (order, reached);
            }
        }
    };
    let mut order: Vec<u32> = (0..start.len() as u32).collect();
    let mut best = climb(start);
    for _ in 0..restarts {
        for at in (1..order.len()).rev() {
            order.swap(at, below(random, at as u64 + 1) as usize);
        }
        let found = climb(order.clone());
        if found.1 > best.1 || found.1 == best.1 && found.0 < best.0 {
            best = found;
        }
    }
    best
}
