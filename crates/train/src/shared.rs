//! How the ranks of a training share its batches.

use std::ops::Range;

use dsokr_basis::Processes;

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dsokr_basis::processes::threads;
    use dsokr_nn::Model;
    use dsokr_nn::parameters::collect;

    use super::*;
    use crate::problem::{Problem, dense, mlp};
    use crate::{Error, LossConfig, OptimizerName, Softmax, TrainingConfig, Validation, train};

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

    /// The parameters after a training of 13 pairs in batches of five, the last of which has three.
    fn trained(
        size: usize,
        config: &TrainingConfig,
    ) -> Vec<Result<BTreeMap<String, Vec<f32>>, Error>> {
        let targets: Vec<f32> = (0..26).map(|i| (i as f32 * 0.7).cos()).collect();
        threads(size, || {
            let problem = Problem::new(config.clone(), dense(13), &targets);
            let mut model = Model::new(mlp(5, &[9], 0.4, &problem.device));
            if let Some(temperature) = config.loss.temperature() {
                model = model.with_temperature(temperature, &problem.device);
            }
            let validate = &|_: &_| {
                assert_eq!(Processes::current().size(), 1);
                Ok(Validation { metrics: 0.0, score: 0.0 })
            };
            let task = problem.validated(validate);
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
