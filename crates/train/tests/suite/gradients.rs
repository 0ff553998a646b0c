//! Gradients of parts of a batch, by rows, and of several ranks.

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Tensor, TensorData};
use dsokr_core::processes::threads;
use dsokr_core::random::generator;
use dsokr_nn::parameters::visit;
use dsokr_nn::{Encoder, Gradients, Model};
use dsokr_train::{LossConfig, TrainingConfig, Update};
use rand::Rng;
use rand::seq::SliceRandom;

use crate::common::{Problem, Steps, apart, bag, dense, device, mlp, one_step, rows, values};

#[test]
fn parts_of_a_batch_add_up_to_its_gradient() {
    let targets: Vec<f32> = (0..14).map(|i| (i % 3) as f32).collect();
    let gradient = |micro_batch| {
        let config = TrainingConfig { micro_batch, clip: 0.5, ..TrainingConfig::default() };
        Problem::new(config, dense(7), &targets).gradients(Model::new(mlp(5, &[6], 0.0)))
    };
    let (loss, whole) = gradient(0);
    assert!(whole.values().flatten().any(|v| v.abs() > 0.05));
    for micro_batch in [1, 2, 3, 7, 100] {
        let (same, sum) = gradient(micro_batch);
        assert!((same - loss).abs() < 1e-6 * loss, "{micro_batch}");
        assert!(apart(&whole, &sum) < 1e-6, "{micro_batch}");
    }
}

#[test]
fn a_contrastive_batch_in_parts_and_on_several_ranks_is_one_large_batch() {
    let n = 24;
    // some outputs occur several times
    let targets: Vec<f32> = (0..2 * n).map(|i| ((i / 2 % 17 * 5 + i % 2) as f32).sin()).collect();
    let loss = LossConfig::Contrastive { temperature: 0.2 };
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    let problem = |micro_batch| {
        let config = TrainingConfig { loss, micro_batch, clip: 0.0, ..TrainingConfig::default() };
        Problem { weights: weights.clone(), ..Problem::new(config, dense(n), &targets) }
    };
    let model = || Model::new(mlp(5, &[6], 0.0)).with_temperature(0.2, &device());
    let (loss, whole) = problem(0).gradients(model());
    assert!(
        whole["scale"][0].abs() > 1e-3
            && whole["encoder.layers.0.weight"].iter().any(|v| v.abs() > 1e-3)
    );
    for micro_batch in [1, 5, 8, 100] {
        let (same, sum) = problem(micro_batch).gradients(model());
        assert!((same / loss - 1.0).abs() < 1e-5, "{micro_batch}: {same} {loss}");
        assert!(apart(&whole, &sum) < 1e-5, "{micro_batch}");
        for size in [2, 3] {
            let shared =
                threads(size, |ranks| problem(micro_batch).shared_by(ranks).gradients(model()));
            for (rank, (same, sum)) in shared.into_iter().enumerate() {
                assert!((same / loss - 1.0).abs() < 1e-5 || rank > 0, "{same} {loss}");
                assert!(apart(&whole, &sum) < 1e-5, "{micro_batch} on rank {rank} of {size}");
            }
        }
    }
}

#[test]
fn clipped_descent_by_rows_is_clipped_descent() {
    for clip in [0.0, 0.05] {
        // parts of a batch have gradients that are not by rows
        let gradients = |micro_batch| {
            let config = TrainingConfig { clip, micro_batch, ..TrainingConfig::default() };
            let problem = Problem::new(config, rows(6), &[1.0; 12]);
            problem.gradients(Model::new(bag(false, 40))).1
        };
        let apart = apart(&gradients(6), &gradients(0));
        assert!(apart < if clip > 0.0 { 1e-7 } else { f32::MIN_POSITIVE }, "{clip}: {apart}");
    }
}

/// Returns the model after one step of several ranks, whose gradients each rank takes when its backward passes have ended, and
/// adds up one parameter after the other.
fn after_the_passes<E: Encoder>(problem: &Problem<E::Input>, model: Model<E>) -> Model<E> {
    let ranks = &problem.ranks;
    let n = problem.inputs.len();
    let mut keys = generator(0, "dropout", 0);
    let mut sum = GradientsAccumulator::new();
    let mut batch: Vec<usize> = (0..n).collect();
    batch.shuffle(&mut generator(0, "batches", 0));
    let size = if problem.config.micro_batch == 0 { n } else { problem.config.micro_batch };
    for part in batch.chunks(size) {
        let key = keys.next_u64();
        // inputs have the same length: shares end at the inputs whose middle is nearest to the rank's bound
        let bound = |rank: usize| (2 * part.len() * rank).div_ceil(ranks.size()) / 2;
        let from = bound(ranks.rank());
        let to = bound(ranks.rank() + 1);
        if from == to {
            continue;
        }
        let input = |&i: &usize| &problem.inputs[i];
        let pass = model.pass_after(key, part[..from].iter().map(input));
        let own = &part[from..to];
        let z = model.encoder.forward(&own.iter().map(input).collect::<Vec<_>>(), pass);
        let targets = own.iter().flat_map(|&i| problem.targets[2 * i..][..2].to_vec()).collect();
        let targets = TensorData::new::<f32, _>(targets, [own.len(), 2]);
        let loss = (z.clone() - Tensor::from_data(targets, &z.device())).square().sum() / n as f32;
        sum.accumulate(&model, GradientsParams::from_grads(loss.backward(), &model));
    }
    let mut own = Gradients::from(sum.grads());
    let mut all = Gradients::default();
    visit(&model, |_, parameter| {
        let zeros = || vec![0.0; parameter.shape().iter().product()];
        let mut values = parameter.take_gradient(&mut own).unwrap_or_else(zeros);
        ranks.sum(&mut values).unwrap();
        parameter.set_gradient(&mut all, values);
    });
    Update::new(&problem.config, &model).step(1.0, model, all, None)
}

fn check<E: Encoder>(init: impl Fn() -> E + Sync, inputs: &[E::Input])
where
    E::Input: Clone,
{
    let targets: Vec<f32> = (0..2 * inputs.len()).map(|i| (i as f32 * 0.7).cos()).collect();
    for (size, micro_batch) in [(2, 0), (2, 3), (3, 0), (9, 0), (9, 3)] {
        let found = threads(size, |ranks| {
            let config = TrainingConfig { micro_batch, clip: 0.0, ..TrainingConfig::default() };
            let problem = Problem::new(one_step(config), inputs.to_vec(), &targets);
            let problem = problem.shared_by(ranks);
            let after = after_the_passes(&problem, Model::new(init()));
            let during = problem.train(Model::new(init()), &mut Steps::default()).unwrap().model;
            (values(&during), values(&after))
        });
        for (during, after) in found {
            assert!(during == after, "{size} ranks, parts of {micro_batch}");
        }
    }
}

/// Parameters of more than 2¹⁶ values are sums of their own, which begin before the backward pass ends.
#[test]
fn sums_during_the_backward_pass_are_those_after_it_bit_for_bit() {
    check(|| mlp(5, &[260, 260, 260], 0.3), &dense(8));
    check(|| bag(true, 1 << 16), &rows(8));
}
