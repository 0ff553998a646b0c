//! The batches of training and evaluation.

use dsokr_basis::random::generator;
use rand::seq::SliceRandom;

/// Batches of epoch `epoch`: a function of only (seed, epoch, lengths, size), so that a resumed run
/// makes the same ones.
///
/// The pairs are shuffled, cut into groups of 50 batches, and sorted by length inside a group, so
/// that a batch holds texts of similar length; then the batches are shuffled. Every pair occurs once.
pub fn training(seed: u64, epoch: u64, lengths: &[usize], size: usize) -> Vec<Vec<usize>> {
    let mut random = generator(seed, "batches", epoch);
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.shuffle(&mut random);
    let mut batches: Vec<Vec<usize>> = Vec::with_capacity(order.len().div_ceil(size));
    for group in order.chunks_mut(size * 50) {
        group.sort_by_key(|&i| lengths[i]);
        batches.extend(group.chunks(size).map(<[usize]>::to_vec));
    }
    batches.shuffle(&mut random);
    batches
}

/// Batches for evaluation: all inputs by length.
pub fn evaluation(lengths: &[usize], size: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&i| lengths[i]);
    order.chunks(size).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_occurs_once_and_the_order_depends_on_seed_and_epoch_alone() {
        let lengths: Vec<usize> = (0..1234).map(|i| i * 7919 % 97).collect();
        let all = |seed, epoch| training(seed, epoch, &lengths, 16);
        let mut seen: Vec<usize> = all(1, 0).concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..1234).collect::<Vec<_>>());
        assert_eq!(all(1, 3), all(1, 3));
        assert_ne!(all(1, 3), all(1, 4));
        assert_ne!(all(1, 3), all(2, 3));
    }

    #[test]
    fn batches_hold_similar_lengths() {
        let lengths: Vec<usize> = (0..1600).map(|i| i * 7919 % 97).collect();
        let spread = |batch: &Vec<usize>| {
            let all = || batch.iter().map(|&i| lengths[i]);
            all().max().unwrap_or(0) - all().min().unwrap_or(0)
        };
        let batches = training(0, 0, &lengths, 16);
        let mean = batches.iter().map(spread).sum::<usize>() as f64 / batches.len() as f64;
        assert!(mean < 10.0, "{mean}");
    }
}
