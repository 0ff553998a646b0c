//! Values and gradients of the losses, by a step of descent on the predictions themselves.

use burn::tensor::DType;
use dsokr_core::loss::{
    DistanceLoss, EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Pieces, Square,
};
use dsokr_nn::{Encoder, Mlp, Model, Pass};
use dsokr_train::{Error, GroupConfig, LossConfig, OptimizerName, TrainingConfig, mean_loss};

use crate::common::{Problem, Steps, Table, apart, cast, device, mlp, one_step, values};

const P: usize = 3;
const Z: [f32; 12] = [0.3, -0.2, 1.1, 2.0, 0.4, -1.5, 0.1, 0.2, 0.3, -0.7, 0.6, 0.9];
/// The first and the last pair have the same output.
const Y: [f32; 12] = [0.2, -0.4, 1.0, -1.0, 0.5, 0.5, 0.1, 0.2, 0.3, 0.2, -0.4, 1.0];
const R: [f64; 4] = [0.05, 0.3, 0.0, 0.7];

/// Returns the sum of the losses of all pairs, its gradient in z and, with a temperature, in the scale ln 1/τ.
fn found(loss: &LossConfig, z: &[f32], scale: Option<f64>) -> (f64, Vec<f32>, f32) {
    let config = TrainingConfig { loss: *loss, clip: 0.0, ..TrainingConfig::default() };
    let problem = Problem { residuals: R.to_vec(), ..Problem::new(config, vec![0, 1, 2, 3], &Y) };
    let model = Model::new(Table::new(z, P));
    let model = match scale {
        Some(scale) => model.with_temperature((-scale).exp(), &device()),
        None => model,
    };
    let (mean, gradients) = problem.gradients(model);
    let gradient = gradients["encoder.rows"].iter().map(|v| 4.0 * v).collect();
    (4.0 * mean, gradient, gradients.get("scale").map_or(0.0, |scale| 4.0 * scale[0]))
}

/// Checks that the value is the expected one, and that gradients are its differences where every pair but `skip` is smooth.
fn check(config: &LossConfig, scale: Option<f64>, expected: f64, skip: usize) {
    let (value, gradient, slope) = found(config, &Z, scale);
    assert!((value / expected - 1.0).abs() < 1e-5, "{config:?}: {value} {expected}");
    let step = 1e-2;
    let near = |value: &dyn Fn(f32) -> f64, own: f32| {
        let difference = (value(step) - value(-step)) / f64::from(2.0 * step);
        let apart = (difference - f64::from(own)).abs();
        assert!(apart < 2e-3 * (1.0 + f64::from(own).abs()), "{config:?}: {own} {difference}");
    };
    for at in (0..Z.len()).filter(|at| at / P != skip) {
        let value = |by: f32| {
            let mut z = Z;
            z[at] += by;
            found(config, &z, scale).0
        };
        near(&value, gradient[at]);
    }
    if let Some(scale) = scale {
        near(&|by| found(config, &Z, Some(scale + f64::from(by))).0, slope);
    }
    assert!(gradient.iter().all(|value| value.is_finite()));
}

#[test]
fn losses_are_those_of_kernel_machines_and_gradients_their_differences() {
    let check = |config: LossConfig, loss: Pieces| {
        let root = |((z, y), r): ((&[f32], &[f32]), f64)| {
            let squares = z.iter().zip(y).map(|(&z, &y)| (f64::from(z) - f64::from(y)).powi(2));
            (squares.sum::<f64>() + r).sqrt()
        };
        let roots = Z.chunks(P).zip(Y.chunks(P)).zip(R).map(root);
        // the third pair is met exactly: its distance has no gradient
        check(&config, None, roots.map(|root| loss.value(root)).sum(), 2);
    };
    check(LossConfig::Square(Square {}), Square {}.pieces());
    for kappa in [0.8, 50.0] {
        check(LossConfig::Huber(Huber { kappa }), Huber { kappa }.pieces());
    }
    let loss = EpsilonInsensitive { epsilon: 0.5 };
    check(LossConfig::EpsilonInsensitive(loss), loss.pieces());
    let loss = EpsilonInsensitiveSquare { epsilon: 0.5 };
    check(LossConfig::EpsilonInsensitiveSquare(loss), loss.pieces());
}

#[test]
fn losses_with_a_temperature_are_cross_entropies() {
    // ⟨z_i, y_j⟩ of unit vectors
    let score = |i: usize, j: usize| {
        let unit = |row: &[f32]| {
            let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            row.iter().map(|v| f64::from(v / length)).collect::<Vec<_>>()
        };
        let z = unit(&Z[i * P..][..P]);
        let y = unit(&Y[j * P..][..P]);
        z.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>()
    };
    let log_sum = |scores: [f64; 4], n: usize, by: f64| {
        scores[..n].iter().map(|score| (by * score).exp()).sum::<f64>().ln()
    };
    let all = [0, 1, 2, 3];
    let row = |i, n, by| log_sum(all.map(|j| score(i, j)), n, by) - by * score(i, i);
    // the outputs of two pairs are equal, which are no negatives of each other
    let is_negative = |i: usize, j: usize| i == j || Y[i * P..][..P] != Y[j * P..][..P];
    assert_eq!(
        all.map(|i| all.map(|j| is_negative(i, j)))
            .as_flattened()
            .iter()
            .filter(|is| !**is)
            .count(),
        2
    );
    let masked = |i, j, score: f64| if is_negative(i, j) { score } else { f64::NEG_INFINITY };
    let among = |i, scores: [f64; 4]| log_sum(scores, 4, 2.0) - 2.0 * score(i, i);
    let contrastive = all.map(|i| {
        let found = among(i, all.map(|j| masked(i, j, score(i, j))));
        let asked = among(i, all.map(|j| masked(i, j, score(j, i))));
        0.5 * (found + asked)
    });
    let config = LossConfig::Contrastive { temperature: 0.5 };
    check(&config, Some(2f64.ln()), contrastive.iter().sum(), 9);
    // three of the outputs are distinct
    let config = LossConfig::Softmax { temperature: 0.1 };
    check(&config, Some(3f64.ln()), all.map(|i| row(i, 3, 3.0)).iter().sum(), 9);
}

#[test]
fn losses_clipping_and_descent_on_other_devices_are_those_on_the_cpu() {
    let losses = [
        LossConfig::Square(Square {}),
        LossConfig::Huber(Huber { kappa: 0.8 }),
        LossConfig::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.5 }),
        LossConfig::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: 0.5 }),
    ];
    for (loss, clip, micro_batch) in losses.iter().flat_map(|loss| {
        [0.0, 0.1, 1e9].into_iter().flat_map(move |clip| [0, 3].map(|size| (*loss, clip, size)))
    }) {
        let found = |dtype| {
            let config = TrainingConfig { loss, clip, micro_batch, ..TrainingConfig::default() };
            let problem = Problem::new(config, vec![0, 1, 2, 3], &Y);
            let problem = Problem { residuals: R.to_vec(), ..problem };
            problem.gradients(Model::new(cast(Table::new(&Z, P), dtype)))
        };
        let (here, gradient) = found(DType::F32);
        let (there, same) = found(DType::F64);
        assert!((here - there).abs() < 1e-5, "{loss:?}: {here} {there}");
        assert!(apart(&gradient, &same) < 1e-5, "{loss:?}, {clip}: {gradient:?} {same:?}");
    }
}

#[test]
fn a_pair_of_weight_two_is_the_pair_twice() {
    let losses = [
        LossConfig::Square(Square {}),
        LossConfig::Huber(Huber { kappa: 0.8 }),
        LossConfig::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.5 }),
        LossConfig::Softmax { temperature: 0.1 },
    ];
    let settings = |loss: &LossConfig| {
        let loss = *loss;
        // on the engine of other devices too, where targets of a softmax are of 32 bits
        let wide = !matches!(loss, LossConfig::Softmax { .. });
        [(DType::F32, 0), (DType::F32, 3), (if wide { DType::F64 } else { DType::F32 }, 0)]
            .map(|(dtype, micro_batch)| (loss, dtype, micro_batch))
    };
    for (loss, dtype, micro_batch) in losses.iter().flat_map(settings) {
        let found = |pairs: Vec<i32>, weights: &[f64]| {
            let config =
                TrainingConfig { loss, micro_batch, clip: 0.0, ..TrainingConfig::default() };
            let targets: Vec<f32> =
                pairs.iter().flat_map(|&at| Y[at as usize * P..][..P].to_vec()).collect();
            let residuals = pairs.iter().map(|&at| R[at as usize]).collect();
            let problem = Problem { residuals, ..Problem::new(config, pairs, &targets) };
            let problem = Problem { weights: weights.to_vec(), ..problem };
            let model = Model::new(cast(Table::new(&Z, P), dtype));
            problem.gradients(match loss {
                LossConfig::Softmax { .. } => model.with_temperature(0.1, &device()),
                _ => model,
            })
        };
        let (mean, gradient) = found(vec![0, 1, 2, 3], &[0.5, 1.0, 0.5, 0.5]);
        let (twice, same) = found(vec![0, 1, 1, 2, 3], &[]);
        assert!((mean - twice).abs() < 1e-5, "{loss:?}: {mean} {twice}");
        assert!(apart(&gradient, &same) < 1e-5, "{loss:?}: {gradient:?} {same:?}");
    }
}

#[test]
fn a_weight_has_its_effect_in_batches_of_any_size() {
    let weights = [0.5, 4.0, 1.0, 0.25];
    let total = 5.75;
    for (batch, micro_batch) in [(1, 0), (2, 0), (2, 1), (4, 0), (4, 3)] {
        let config = TrainingConfig { clip: 0.0, ..TrainingConfig::default() };
        let config = TrainingConfig { batch, micro_batch, ..one_step(config) };
        let problem = Problem::new(config, vec![0, 1, 2, 3], &Y);
        let problem = Problem { weights: weights.to_vec(), ..problem };
        let mut steps = Steps::default();
        let model = Model::new(Table::new(&Z, P));
        let trained = values(&problem.train(model, &mut steps).unwrap().model);
        // a row of the table is in one batch of the epoch
        for (at, (before, after)) in Z.iter().zip(&trained["encoder.rows"]).enumerate() {
            let share = weights[at / P] * 4.0 / (total * batch as f64);
            let expected = share as f32 * 2.0 * (before - Y[at]);
            let moved = before - after;
            assert!((moved - expected).abs() < 1e-4, "{batch}, {at}: {moved}, not {expected}");
        }
        let loss = |at: usize| {
            let squares = Z[at * P..][..P].iter().zip(&Y[at * P..]).map(|(z, y)| (z - y).powi(2));
            f64::from(squares.sum::<f32>()) + 0.25
        };
        let expected = (0..4).map(|at| weights[at] * loss(at)).sum::<f64>() / total;
        let mean = steps.0.iter().map(|(loss, _)| loss).sum::<f64>() / steps.0.len() as f64;
        assert!((mean / expected - 1.0).abs() < 1e-5, "{batch}: {mean}, not {expected}");
    }
}

#[test]
fn weights_of_a_contrastive_loss_are_those_of_its_rows() {
    let loss = LossConfig::Contrastive { temperature: 1.0 };
    let config = TrainingConfig { loss, clip: 0.0, ..TrainingConfig::default() };
    let problem = Problem::new(config, vec![0, 1, 2, 3], &Y);
    let value = |weights: &[f64]| {
        let problem = Problem { weights: weights.to_vec(), ..problem.clone() };
        problem.gradients(Model::new(Table::new(&Z, P)).with_temperature(1.0, &device())).0
    };
    let small = 1e-6;
    let one = |own: usize| value(&[0, 1, 2, 3].map(|at| if at == own { 1.0 } else { small }));
    let weights = [1.0, 2.0, 0.5, 4.0];
    let expected: f64 = (0..4).map(|at| weights[at] * one(at)).sum::<f64>() / 7.5;
    assert!((value(&weights) - expected).abs() < 1e-4, "{} {expected}", value(&weights));
}

fn inputs() -> Vec<Vec<f32>> {
    [[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]].map(Vec::from).to_vec()
}

/// Returns the model after 20 steps towards targets, from a model whose encoder hardly learns.
fn trained(model: Model<Mlp>, targets: &[f32], optimizer: OptimizerName) -> Model<Mlp> {
    let parameters = "encoder".into();
    let name = OptimizerName::Sgd;
    let group = GroupConfig {
        parameters,
        optimizer: Some(name),
        learning_rate: Some(1e-9),
        weight_decay: None,
    };
    // the gradient vanishes where targets are met
    let learning_rate = if optimizer == OptimizerName::Sgd { 500.0 } else { 0.5 };
    let loss = LossConfig::Softmax { temperature: 0.01 };
    let config = TrainingConfig { loss, optimizer, learning_rate, ..TrainingConfig::default() };
    let config = TrainingConfig { groups: vec![group], warmup: 0, clip: 0.0, ..config };
    Problem::new(config, inputs(), targets).train(model, &mut Steps::default()).unwrap().model
}

#[test]
fn a_temperature_at_its_bound_returns() {
    let encoder = mlp(2, &[], 0.0);
    let z = encoder.forward(&inputs().iter().collect::<Vec<_>>(), Pass::Evaluate);
    let met = z.into_data().try_to_vec::<f32>().unwrap();
    let missed = [&met[2..], &met[..2]].concat();
    for optimizer in [OptimizerName::Sgd, OptimizerName::Adam, OptimizerName::AdamW] {
        let model = Model::new(encoder.clone()).with_temperature(0.1, &device());
        let scale = |model: &Model<Mlp>| model.scale.as_ref().unwrap().val().into_scalar::<f32>();
        // predictions that meet their targets sharpen, those that do not blur
        let sharp = trained(model, &met, optimizer);
        let bound = 100f64.ln() as f32;
        assert!(scale(&sharp) == bound, "{optimizer:?}: {}", scale(&sharp));
        let blurred = trained(sharp, &missed, optimizer);
        assert!(scale(&blurred) < bound - 1.0, "{optimizer:?}: {}", scale(&blurred));
    }
}

#[test]
fn a_loss_that_does_not_fit_the_model_is_refused() {
    let loss = LossConfig::Softmax { temperature: 0.1 };
    let config = TrainingConfig { loss, ..TrainingConfig::default() };
    let problem = Problem::new(config, inputs(), &[0.5; 8]);
    let error = problem.train(Model::new(mlp(2, &[], 0.0)), &mut Steps::default()).err();
    let Some(Error::Core(dsokr_core::Error::Value { key, .. })) = error else {
        panic!("{error:?}")
    };
    assert_eq!(key, "training.loss.name".into());
    let model = Model::new(mlp(2, &[], 0.0));
    let message = |config: &TrainingConfig| {
        let error = mean_loss(config, &model, &[0.5; 8], &[0.5; 8], &R).unwrap_err();
        error.to_string()
    };
    let misfit = message(&problem.config);
    assert!(misfit.starts_with("training.loss.name = a loss with a temperature"), "{misfit}");
    let empty_batch = TrainingConfig { batch: 0, ..TrainingConfig::default() };
    assert_eq!(message(&empty_batch), "training.batch = 0: expected at least 1");
}

#[test]
fn a_mean_loss_of_other_numbers_of_rows_is_refused() {
    let config = TrainingConfig::default();
    let model = Model::new(mlp(2, &[], 0.0));
    let p = model.encoder.dimension();
    let rows = vec![0.5; 4 * p];
    assert!(mean_loss(&config, &model, &rows, &rows, &R).unwrap().is_finite());
    for (z, targets) in [(&rows[1..], &rows[..]), (&rows[..], &rows[p..])] {
        let error = mean_loss(&config, &model, z, targets, &R).unwrap_err().to_string();
        assert!(error.contains("of 4 pairs"), "{error}");
    }
}
