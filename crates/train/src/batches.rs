//! The batches of training and evaluation, and the ranks' shares of them.

use std::ops::Range;

use burn::module::Module;
use dsokr_basis::random::generator;
use dsokr_basis::{Cancellation, Processes};
use dsokr_nn::{Encoder, Model, Pass};
use rand::seq::SliceRandom;

use crate::Error;

/// Batches of epoch `epoch`: a function of only (seed, epoch, lengths, size), so that a resumed run
/// makes the same ones.
///
/// The pairs are shuffled, cut into groups of 50 batches, and sorted by length inside a group, so
/// that a batch holds texts of similar length; then the batches are shuffled. Every pair occurs once.
pub(super) fn training(seed: u64, epoch: u64, lengths: &[usize], size: usize) -> Vec<Vec<usize>> {
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

/// A rank's share of a part of a batch: the shares follow one another and have similar sums of lengths.
pub(super) fn share(lengths: &[usize], ranks: &Processes) -> Range<usize> {
    let total: usize = lengths.iter().sum();
    // the first place at which a rank's part of the sum is reached
    let bound = |rank: usize| {
        if rank == ranks.size() {
            return lengths.len();
        }
        let mut sum = 0;
        let reached = |&length: &usize| {
            let before = sum;
            sum += length;
            (2 * before + length) * ranks.size() >= 2 * total * rank
        };
        lengths.iter().position(reached).unwrap_or(lengths.len())
    };
    bound(ranks.rank())..bound(ranks.rank() + 1)
}

/// Coordinates `z` of all inputs, `[n × p]` row-major, in evaluation mode, `batch` at a time.
///
/// # Errors
/// [`Cancelled`](dsokr_basis::Error::Cancelled).
pub fn embed<E: Encoder>(
    model: &Model<E>,
    inputs: &[E::Input],
    batch: usize,
) -> Result<Vec<f32>, Error> {
    let (cancellation, model) = (Cancellation::current(), model.valid());
    let p = model.encoder.dimension();
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_cached_key(|&i| model.encoder.length(&inputs[i]));
    let mut all = vec![0.0; inputs.len() * p];
    for rows in order.chunks(batch) {
        cancellation.check()?;
        let chosen: Vec<&E::Input> = rows.iter().map(|&i| &inputs[i]).collect();
        let z = model.coordinates(&chosen, Pass::Evaluate).into_data().convert::<f32>();
        let z = z.try_to_vec::<f32>().unwrap_or_default();
        for (row, values) in rows.iter().zip(z.chunks_exact(p)) {
            all[row * p..(row + 1) * p].copy_from_slice(values);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use dsokr_basis::processes::threads;

    use super::*;

    #[test]
    fn pairs_occur_once_in_batches_of_similar_lengths_by_seed_and_epoch() {
        let lengths: Vec<usize> = (0..1234).map(|i| i * 7919 % 97).collect();
        let all = |seed, epoch| training(seed, epoch, &lengths, 16);
        let mut seen: Vec<usize> = all(1, 0).concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..1234).collect::<Vec<_>>());
        assert_eq!(all(1, 3), all(1, 3));
        assert_ne!(all(1, 3), all(1, 4));
        assert_ne!(all(1, 3), all(2, 3));
        let spread = |batch: &Vec<usize>| {
            let all = || batch.iter().map(|&i| lengths[i]);
            all().max().unwrap_or(0) - all().min().unwrap_or(0)
        };
        let batches = all(1, 0);
        let mean = batches.iter().map(spread).sum::<usize>() as f64 / batches.len() as f64;
        assert!(mean < 10.0, "{mean}");
    }

    #[test]
    fn shares_cover_a_batch_and_are_balanced() {
        for size in 1..6 {
            for n in [0, 1, 2, 3, 7, 64] {
                let lengths: Vec<usize> = (0..n).map(|i| 1 + i * i).collect();
                let shares = threads(size, || share(&lengths, &Processes::current()));
                let all: Vec<usize> = shares.iter().cloned().flatten().collect();
                assert_eq!(all, (0..n).collect::<Vec<_>>());
                let of = |share: &Range<usize>| lengths[share.clone()].iter().sum::<usize>();
                let (total, longest) = (lengths.iter().sum::<usize>(), 1 + n * n);
                assert!(shares.iter().all(|share| of(share) <= total / size + longest));
            }
        }
        // lengths may all be zero
        let shares = threads(2, || share(&[0, 0, 0], &Processes::current()));
        assert_eq!(shares.into_iter().flatten().count(), 3);
    }
}
