//! What the ranks of a training give one another in each step.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use dsokr_basis::Ranks;
use dsokr_nn::{Encoder, Model};

use crate::Error;

/// A rank's share of a part of a batch: the shares follow one another and have similar sums of lengths.
pub(super) fn share(lengths: &[usize], ranks: &Ranks) -> Range<usize> {
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

/// The sums over all ranks of the losses and of the gradients of a step, and whether one of the ranks is to
/// stop. None in the place of gradients if the loss is not finite.
///
/// All ranks get the same bits. A rank without pairs gives no gradients.
pub(super) fn sum<E: Encoder>(
    ranks: &Ranks,
    model: &Model<E>,
    loss: f64,
    mut gradients: GradientsParams,
    stop: bool,
) -> Result<(f64, Option<GradientsParams>, bool), Error> {
    let mut presence = Presence { gradients: &gradients, present: Vec::new() };
    model.visit(&mut presence);
    let mut own = loss.to_le_bytes().to_vec();
    own.push(stop.into());
    own.append(&mut presence.present);
    let all = ranks.gather(&own)?;
    let losses = all.iter().filter_map(|own| own.first_chunk().copied().map(f64::from_le_bytes));
    let loss: f64 = losses.sum();
    let any = |place: usize| all.iter().any(|own| own.get(place).is_some_and(|&flag| flag != 0));
    let stop = any(size_of::<f64>());
    if !loss.is_finite() {
        return Ok((loss, None, stop));
    }
    let present: Vec<bool> = (size_of::<f64>() + 1..own.len()).map(any).collect();
    let mut flat = Flat { gradients: &mut gradients, present: present.iter(), values: Vec::new() };
    model.visit(&mut flat);
    let mut values = flat.values;
    ranks.sum(&mut values)?;
    let mut summed = GradientsParams::new();
    let (present, values) = (present.iter(), values.as_slice());
    model.visit(&mut Apart { gradients: &mut summed, present, values });
    Ok((loss, Some(summed), stop))
}

/// Which parameters have a gradient.
struct Presence<'a> {
    gradients: &'a GradientsParams,
    present: Vec<u8>,
}

impl ModuleVisitor for Presence<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.present.push(self.gradients.get::<D>(param.id).is_some().into());
    }
}

/// Puts gradients one behind the other, zeros where a rank has none.
struct Flat<'a> {
    gradients: &'a mut GradientsParams,
    present: std::slice::Iter<'a, bool>,
    values: Vec<f32>,
}

impl ModuleVisitor for Flat<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.present.next() != Some(&true) {
            return;
        }
        let end = self.values.len() + param.val().shape().num_elements();
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let own = gradient.into_data().convert::<f32>().try_into_vec::<f32>();
            self.values.append(&mut own.unwrap_or_default());
        }
        self.values.resize(end, 0.0);
    }
}

/// Takes them apart again.
struct Apart<'a> {
    gradients: &'a mut GradientsParams,
    present: std::slice::Iter<'a, bool>,
    values: &'a [f32],
}

impl ModuleVisitor for Apart<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.present.next() != Some(&true) {
            return;
        }
        let weights = param.val().inner();
        let (own, rest) = self.values.split_at(weights.shape().num_elements());
        self.values = rest;
        let gradient = TensorData::new(own.to_vec(), weights.shape());
        self.gradients.register(param.id, Tensor::<D>::from_data(gradient, &weights.device()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use burn::tensor::Device;
    use dsokr_basis::random::generator;
    use dsokr_basis::ranks::threads;
    use dsokr_nn::parameters::collect;
    use dsokr_nn::{FrozenBasis, MlpConfig};

    use super::*;
    use crate::{LossConfig, OptimizerName, Softmax, Task, TrainingConfig, Validation, train};

    #[test]
    fn shares_cover_a_batch_and_are_balanced() {
        for size in 1..6 {
            for n in [0, 1, 2, 3, 7, 64] {
                let lengths: Vec<usize> = (0..n).map(|i| 1 + i * i).collect();
                let shares = threads(size, || share(&lengths, &Ranks::current()));
                let all: Vec<usize> = shares.iter().cloned().flatten().collect();
                assert_eq!(all, (0..n).collect::<Vec<_>>());
                let of = |share: &Range<usize>| lengths[share.clone()].iter().sum::<usize>();
                let (total, longest) = (lengths.iter().sum::<usize>(), 1 + n * n);
                assert!(shares.iter().all(|share| of(share) <= total / size + longest));
            }
        }
        // lengths may all be zero
        let shares = threads(2, || share(&[0, 0, 0], &Ranks::current()));
        assert_eq!(shares.into_iter().flatten().count(), 3);
    }

    /// The parameters after a training of 13 pairs in batches of five, the last of which has three.
    fn trained(
        size: usize,
        config: &TrainingConfig,
    ) -> Vec<Result<BTreeMap<String, Vec<f32>>, Error>> {
        let inputs: Vec<Vec<f32>> =
            (0..13).map(|i| (0..4).map(|j| ((i * 4 + j) as f32).sin()).collect()).collect();
        let targets: Vec<f32> = (0..26).map(|i| (i as f32 * 0.7).cos()).collect();
        threads(size, || {
            let device = Device::flex().autodiff();
            let encoder = MlpConfig { hidden: vec![9], dropout: 0.4 };
            let encoder = encoder.init(4, &[0.1; 2], &mut generator(1, "test", 0), &device);
            let basis = FrozenBasis::new(vec![1.0, 0.0, 0.0, 1.0], 2, &device);
            let mut model = Model::new(encoder, basis);
            if let Some(temperature) = config.loss.temperature() {
                model = model.with_temperature(temperature, &device);
            }
            let task = Task {
                config,
                seed: 3,
                device: &device,
                inputs: &inputs,
                targets: &targets,
                residuals: &[0.5; 13],
                validate: &|_| {
                    assert_eq!(Ranks::current().size(), 1);
                    Ok(Validation { metrics: 0.0, score: 0.0 })
                },
            };
            let outcome = train(&task, model, None, &mut (), &mut ())?;
            let parameters = collect(&outcome.model).into_iter();
            Ok(parameters.map(|(name, parameter)| (name, parameter.values.to_vec())).collect())
        })
    }

    #[test]
    fn several_ranks_train_as_one() {
        let softmax = LossConfig::Softmax(Softmax { temperature: 0.2 });
        for (loss, optimizer, micro_batch) in [
            (LossConfig::default(), OptimizerName::AdamW, 0),
            (LossConfig::default(), OptimizerName::Sgd, 2),
            (softmax, OptimizerName::AdamW, 0),
        ] {
            let weight_decay = if optimizer == OptimizerName::AdamW { 0.01 } else { 0.0 };
            let rest = TrainingConfig { learning_rate: 0.01, ..TrainingConfig::default() };
            let sizes = TrainingConfig { epochs: 17, batch: 5, micro_batch, warmup: 4, ..rest };
            let config = TrainingConfig { loss, optimizer, weight_decay, ..sizes };
            let one = trained(1, &config).remove(0).unwrap();
            // more ranks than pairs of a batch too
            for size in [2, 4, 7] {
                let ranks: Vec<_> =
                    trained(size, &config).into_iter().map(Result::unwrap).collect();
                assert!(ranks.iter().all(|rank| *rank == ranks[0]));
                assert_eq!(trained(size, &config).remove(0).unwrap(), ranks[0]);
                for (name, values) in &one {
                    let values = values.iter().zip(&ranks[0][name]);
                    let apart = values.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(apart < 1e-5, "{size} {optimizer:?} {name}: {apart}");
                }
            }
        }
    }

    #[test]
    fn a_contrastive_loss_is_of_one_process() {
        let loss = LossConfig::Contrastive(crate::Contrastive { temperature: 0.1 });
        let config = TrainingConfig { loss, epochs: 1, batch: 5, ..TrainingConfig::default() };
        assert!(trained(1, &config)[0].is_ok());
        for refused in trained(2, &config) {
            assert!(
                matches!(refused, Err(Error::Value { key, .. }) if key == "training.loss.name")
            );
        }
    }
}
