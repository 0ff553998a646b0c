//! The batches of training and evaluation, and the ranks' shares of them.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Tensor;
use dsokr_core::random::generator;
use dsokr_core::{Cancellation, Processes};
use dsokr_nn::{Encoder, Model, Pass, Values};
use rand::seq::SliceRandom;

use crate::error::Error;

/// The batches of the steps of a training.
pub(super) struct Batches {
    seed: u64,
    lengths: Vec<usize>,
    size: usize,
    /// The epoch that the batches are of.
    epoch: Option<u64>,
    batches: Vec<Vec<usize>>,
}

impl Batches {
    /// Creates batches of at most `size` inputs, which have these lengths.
    pub(super) fn new(seed: u64, lengths: Vec<usize>, size: usize) -> Self {
        Self { seed, lengths, size, epoch: None, batches: Vec::new() }
    }

    /// Returns the number of batches of an epoch.
    pub(super) fn per_epoch(&self) -> u64 {
        number(self.lengths.len(), self.size) as u64
    }

    /// Returns the pairs of a step, which is counted from 0.
    pub(super) fn of_step(&mut self, step: u64) -> Vec<usize> {
        let epoch = step / self.per_epoch();
        if self.epoch != Some(epoch) {
            self.batches = training(self.seed, epoch, &self.lengths, self.size);
            self.epoch = Some(epoch);
        }
        let place = (step % self.per_epoch()) as usize;
        // each batch is taken once in its epoch
        std::mem::take(&mut self.batches[place])
    }
}

/// Returns the number of batches of so many pairs.
pub(super) fn number(pairs: usize, size: usize) -> usize {
    pairs.div_ceil(size) - usize::from(leaves_one(pairs, size))
}

/// Returns whether batches of this size leave one pair over, which is then part of the batch before: batch normalisation has no
/// variance in a batch of one pair, and losses that compare pairs have no gradient.
fn leaves_one(pairs: usize, size: usize) -> bool {
    size > 1 && pairs > size && pairs % size == 1
}

/// Makes the batches of epoch `epoch`: a function of only (seed, epoch, lengths, size), so that a resumed run
/// makes the same ones.
///
/// The pairs are shuffled, cut into groups of 50 batches, and sorted by length inside a group, so
/// that a batch holds texts of similar length; then the batches are shuffled. Every pair occurs once. A pair that would be
/// the last batch by itself is in the batch before.
fn training(seed: u64, epoch: u64, lengths: &[usize], size: usize) -> Vec<Vec<usize>> {
    let mut random = generator(seed, "batches", epoch);
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.shuffle(&mut random);
    let mut batches: Vec<Vec<usize>> = Vec::with_capacity(order.len().div_ceil(size));
    for group in order.chunks_mut(size.saturating_mul(50)) {
        group.sort_by_key(|&i| lengths[i]);
        batches.extend(group.chunks(size).map(<[usize]>::to_vec));
    }
    if leaves_one(lengths.len(), size)
        && let Some(last) = batches.pop()
        && let Some(before) = batches.last_mut()
    {
        before.extend(last);
    }
    batches.shuffle(&mut random);
    batches
}

/// Returns a rank's share of a part of a batch: the shares are consecutive and have similar sums of lengths.
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

/// Returns the coordinates `z` `[n × p]` of a batch, whose shape is checked: a tensor of any other would be read at wrong places.
///
/// # Errors
/// [`Error::Encoder`].
pub(super) fn encoded<E: Encoder>(
    encoder: &E,
    inputs: &[&E::Input],
    pass: Pass,
) -> Result<Tensor<2>, Error> {
    let z = encoder.forward(inputs, pass);
    let found = z.dims();
    let expected = [inputs.len(), encoder.dimension()];
    if found == expected { Ok(z) } else { Err(Error::Encoder { found, expected }) }
}

/// Returns the coordinates `z` of all inputs, `[n × p]` row-major, in evaluation mode, `batch` at a time.
///
/// # Errors
/// [`Error::Encoder`] for an encoder whose predictions do not have the shape that it promises;
/// [`Value`](dsokr_core::Error::Value) for a batch of 0; [`Cancelled`](dsokr_core::Error::Cancelled).
pub fn embed<E: Encoder>(
    model: &Model<E>,
    inputs: &[E::Input],
    batch: usize,
) -> Result<Vec<f32>, Error> {
    dsokr_core::Error::ensure(batch > 0, "batch", batch, "at least 1")?;
    let stage = Cancellation::current().stage("predictions of the encoder", inputs.len());
    let model = model.valid();
    let p = model.encoder.dimension();
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_cached_key(|&i| model.encoder.length(&inputs[i]));
    let mut all = vec![0.0; inputs.len() * p];
    for rows in order.chunks(batch) {
        let chosen: Vec<&E::Input> = rows.iter().map(|&i| &inputs[i]).collect();
        let z = encoded(&model.encoder, &chosen, Pass::Evaluate);
        // an encoder that could not go on has cancelled its own pass
        stage.advance(rows.len())?;
        let z = Values::from_tensor(z?);
        for (&row, values) in rows.iter().zip(z.chunks_exact(p.max(1))) {
            all[row * p..(row + 1) * p].copy_from_slice(values);
        }
    }
    Ok(all)
}
