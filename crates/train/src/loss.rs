use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use dsokr_basis::Features;
use dsokr_basis::features::{DenseRows, Distinct, distinct};
use dsokr_basis::loss::DistanceLoss;
use dsokr_nn::{Encoder, Model};

use crate::config::Kind;
use crate::{Error, LossConfig, Task};

/// Below this the root of a squared distance has no gradient.
const SMALLEST: f32 = 1e-12;

/// The largest 1/τ, as in CLIP.
const SHARPEST: f64 = 100.0;

/// A model whose 1/τ is at most the largest one. It holds after each step: a bound inside the loss has no gradient
/// beyond it, so that τ could not return.
pub(super) fn bounded<E: Encoder>(model: Model<E>) -> Model<E> {
    let bound = |scale: Tensor<1>| {
        let learns = scale.is_require_grad();
        scale.clamp_max(SHARPEST.ln()).detach().set_require_grad(learns)
    };
    Model { scale: model.scale.map(|scale| scale.map(bound)), ..model }
}

/// A loss with what it needs of all training pairs.
pub(super) enum Objective<'a> {
    Square,
    Distance(&'a dyn DistanceLoss),
    Contrastive,
    Softmax(Box<Classes>),
}

/// All distinct outputs of the training pairs. Targets never change, so a batch costs one product with k
/// targets and no encoding.
pub(super) struct Classes {
    /// The k distinct targets at unit length `[k × p]`.
    targets: Tensor<2>,
    /// Which of them each pair has.
    class: Vec<u32>,
}

impl<'a> Objective<'a> {
    /// The objective of a task with p coordinates.
    pub(super) fn from_task<E: Encoder, M>(task: &Task<'a, E, M>, p: usize) -> Result<Self, Error> {
        Ok(match task.config.loss.kind() {
            Kind::Distance(_) if matches!(task.config.loss, LossConfig::Square(_)) => Self::Square,
            Kind::Distance(loss) => Self::Distance(loss),
            Kind::Contrastive(_) => Self::Contrastive,
            Kind::Softmax(_) => {
                let rows = Features::from(DenseRows::new(p, task.targets.to_vec())?);
                let Distinct { representative, class, .. } = distinct(&rows)?;
                let values = representative.iter().flat_map(|&row| &task.targets[row * p..][..p]);
                let values = TensorData::new(values.copied().collect(), [representative.len(), p]);
                let outputs = representative.len();
                tracing::info!(outputs, "the softmax runs over training outputs");
                let targets = unit(Tensor::from_data(values, task.device));
                Self::Softmax(Box::new(Classes { targets, class }))
            }
        })
    }

    /// `Σ_i ℓ(z_i, y_i)` of some pairs, for the contrastive loss those of a whole batch. `batch` gives
    /// their targets `[pairs × p]` and residuals r(y), and `scale` is ln 1/τ, by default 0.
    pub(super) fn loss(
        &self,
        z: Tensor<2>,
        pairs: &[usize],
        batch: impl FnOnce() -> (Tensor<2>, Vec<f32>),
        scale: Option<Tensor<1>>,
    ) -> Tensor<1> {
        let device = z.device();
        let scale = || scale.unwrap_or_else(|| Tensor::zeros([1], &device));
        match self {
            Self::Square => {
                let (targets, residuals) = batch();
                (z - targets).square().sum() + residuals.iter().sum::<f32>()
            }
            Self::Distance(loss) => {
                let (targets, residuals) = batch();
                distance(*loss, z, targets, residuals)
            }
            Self::Contrastive => contrastive(z, batch().0, scale()),
            Self::Softmax(classes) => {
                let Classes { targets, class } = &**classes;
                let own: Vec<i32> = pairs.iter().map(|&pair| class[pair] as i32).collect();
                let own = TensorData::new(own, [pairs.len(), 1]);
                let own = Tensor::<2, Int>::from_data(own, &device);
                let scores = similarities(unit(z), targets.clone(), scale());
                -log_softmax(scores, 1).gather(1, own).sum()
            }
        }
    }
}

/// The sum of a loss of distances.
fn distance(
    loss: &dyn DistanceLoss,
    z: Tensor<2>,
    targets: Tensor<2>,
    residuals: Vec<f32>,
) -> Tensor<1> {
    let (n, device) = (residuals.len(), z.device());
    let column =
        |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [n, 1]), &device);
    let squares = (z - targets).square().sum_dim(1);
    let root = (squares + column(residuals)).clamp_min(SMALLEST).sqrt();
    // ℓ is linear about √u: its slope there is the gradient, and its value is added as a constant
    let roots = root.clone().detach().into_data().iter::<f32>().map(f64::from).collect::<Vec<_>>();
    let slopes: Vec<f32> = roots.iter().map(|&root| loss.derivative(root) as f32).collect();
    let values =
        roots.iter().zip(&slopes).map(|(&root, &slope)| loss.value(root) - f64::from(slope) * root);
    let constant: f64 = values.sum();
    (root * column(slopes)).sum() + constant
}

/// Rows at unit length.
fn unit(rows: Tensor<2>) -> Tensor<2> {
    let length = rows.clone().square().sum_dim(1).clamp_min(SMALLEST).sqrt();
    rows / length
}

/// `s_ij = ⟨z_i, y_j⟩/τ` of unit rows, `scale` being ln 1/τ.
fn similarities(z: Tensor<2>, y: Tensor<2>, scale: Tensor<1>) -> Tensor<2> {
    let sharpness = scale.exp().reshape([1, 1]);
    z.matmul(y.transpose()) * sharpness
}

/// `−½ Σ_i (ln softmax_j(s_ij)_i + ln softmax_j(s_ji)_i)`.
fn contrastive(z: Tensor<2>, targets: Tensor<2>, scale: Tensor<1>) -> Tensor<1> {
    let scores = similarities(unit(z), unit(targets), scale);
    let n = scores.dims()[0];
    let own = Tensor::<2>::eye(n, &scores.device());
    let matched = |scores: Tensor<2>| (log_softmax(scores, 1) * own.clone()).sum();
    (matched(scores.clone()) + matched(scores.transpose())) * -0.5
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use dsokr_basis::loss::{EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Square};
    use dsokr_basis::processes::threads;
    use dsokr_nn::{Mlp, Model, Pass};

    use super::*;
    use crate::problem::{Problem, mlp};
    use crate::{GroupConfig, OptimizerName, TrainingConfig, train};

    const P: usize = 3;
    const Z: [f32; 12] = [0.3, -0.2, 1.1, 2.0, 0.4, -1.5, 0.1, 0.2, 0.3, -0.7, 0.6, 0.9];
    /// The first and the last pair have the same output.
    const Y: [f32; 12] = [0.2, -0.4, 1.0, -1.0, 0.5, 0.5, 0.1, 0.2, 0.3, 0.2, -0.4, 1.0];
    const R: [f64; 4] = [0.05, 0.3, 0.0, 0.7];

    /// Value, gradient in z and in the scale.
    fn found(loss: &LossConfig, z: &[f32], scale: Option<f32>) -> (f64, Vec<f32>, f32) {
        let config = TrainingConfig { loss: *loss, ..TrainingConfig::default() };
        let problem = Problem::new(config, vec![vec![]; 4], &Y);
        let device = problem.device.clone();
        let objective = Objective::from_task(&problem.task::<Mlp>(), P).unwrap();
        let rows = |values: &[f32]| {
            Tensor::<2>::from_data(TensorData::new(values.to_vec(), [4, P]), &device)
        };
        let z = rows(z).require_grad();
        let scale = scale.map(|s| Tensor::<1>::from_floats([s], &device).require_grad());
        let batch = || (rows(&Y), R.map(|r| r as f32).to_vec());
        let value = objective.loss(z.clone(), &[0, 1, 2, 3], batch, scale.clone());
        let gradients = value.backward();
        let slope = scale.and_then(|scale| scale.grad(&gradients));
        let slope = slope.map_or(0.0, |slope| slope.into_scalar::<f32>());
        let gradient = z.grad(&gradients).unwrap().into_data().try_to_vec::<f32>().unwrap();
        (value.into_scalar::<f32>().into(), gradient, slope)
    }

    /// The value is the expected one, and gradients are its differences where every pair but `skip` is smooth.
    fn check(config: &LossConfig, scale: Option<f32>, expected: f64, skip: usize) {
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
            near(&|by| found(config, &Z, Some(scale + by)).0, slope);
        }
        assert!(gradient.iter().all(|value| value.is_finite()));
    }

    #[test]
    fn losses_are_those_of_kernel_machines_and_gradients_their_differences() {
        for config in [
            LossConfig::Square(Square {}),
            LossConfig::Huber(Huber { kappa: 0.8 }),
            LossConfig::Huber(Huber { kappa: 50.0 }),
            LossConfig::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.5 }),
            LossConfig::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: 0.5 }),
        ] {
            let Kind::Distance(loss) = config.kind() else { panic!("{config:?}") };
            let root = |((z, y), r): ((&[f32], &[f32]), f64)| {
                let squares = z.iter().zip(y).map(|(&z, &y)| (f64::from(z) - f64::from(y)).powi(2));
                (squares.sum::<f64>() + r).sqrt()
            };
            let roots = Z.chunks(P).zip(Y.chunks(P)).zip(R).map(root);
            // the third pair is met exactly: its distance has no gradient
            check(&config, None, roots.map(|root| loss.value(root)).sum(), 2);
        }
    }

    #[test]
    fn losses_with_a_temperature_are_cross_entropies() {
        // ⟨z_i, y_j⟩ of unit vectors
        let score = |i: usize, j: usize| {
            let unit = |row: &[f32]| {
                let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
                row.iter().map(|v| f64::from(v / length)).collect::<Vec<_>>()
            };
            let (z, y) = (unit(&Z[i * P..][..P]), unit(&Y[j * P..][..P]));
            z.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>()
        };
        let log_sum = |scores: [f64; 4], n: usize, by: f64| {
            scores[..n].iter().map(|score| (by * score).exp()).sum::<f64>().ln()
        };
        let all = [0, 1, 2, 3];
        let row = |i, n, by| log_sum(all.map(|j| score(i, j)), n, by) - by * score(i, i);
        let column = |i, by| log_sum(all.map(|j| score(j, i)), 4, by) - by * score(i, i);
        let contrastive = all.map(|i| 0.5 * (row(i, 4, 2.0) + column(i, 2.0)));
        let config = LossConfig::Contrastive { temperature: 0.5 };
        check(&config, Some(2f32.ln()), contrastive.iter().sum(), 9);
        // three of the outputs are distinct
        let config = LossConfig::Softmax { temperature: 0.1 };
        check(&config, Some(3f32.ln()), all.map(|i| row(i, 3, 3.0)).iter().sum(), 9);
    }

    /// The model after 20 steps towards targets, from a model whose encoder hardly learns.
    fn trained(model: Model<Mlp>, targets: &[f32], optimizer: OptimizerName) -> Model<Mlp> {
        let (parameters, name) = ("encoder".into(), OptimizerName::Sgd);
        let group = GroupConfig { parameters, optimizer: name, learning_rate: 1e-9 };
        // the gradient vanishes where targets are met
        let learning_rate = if optimizer == OptimizerName::Sgd { 500.0 } else { 0.5 };
        let loss = LossConfig::Softmax { temperature: 0.01 };
        let config = TrainingConfig { loss, optimizer, learning_rate, ..TrainingConfig::default() };
        let config = TrainingConfig { groups: vec![group], warmup: 0, clip: 0.0, ..config };
        let problem = Problem::new(config, inputs(), targets);
        train(&problem.task(), model, None, &mut (), &mut ()).unwrap().model
    }

    fn inputs() -> Vec<Vec<f32>> {
        [[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]].map(Vec::from).to_vec()
    }

    #[test]
    fn a_temperature_at_its_bound_returns() {
        let device = Device::flex().autodiff();
        let encoder = mlp(2, &[], 0.0, &device);
        let z = encoder.forward(&inputs().iter().collect::<Vec<_>>(), Pass::Evaluate);
        let met = z.into_data().try_to_vec::<f32>().unwrap();
        let missed = [&met[2..], &met[..2]].concat();
        for optimizer in [OptimizerName::Sgd, OptimizerName::Adam, OptimizerName::AdamW] {
            let model = Model::new(encoder.clone()).with_temperature(0.1, &device);
            let scale =
                |model: &Model<Mlp>| model.scale.as_ref().unwrap().val().into_scalar::<f32>();
            // predictions that meet their targets sharpen, those that do not blur
            let sharp = trained(model, &met, optimizer);
            let bound = SHARPEST.ln() as f32;
            assert!(scale(&sharp) == bound, "{optimizer:?}: {}", scale(&sharp));
            let blurred = trained(sharp, &missed, optimizer);
            assert!(scale(&blurred) < bound - 1.0, "{optimizer:?}: {}", scale(&blurred));
        }
    }

    #[test]
    fn a_loss_that_does_not_fit_the_model_or_the_ranks_is_refused() {
        let softmax = LossConfig::Softmax { temperature: 0.1 };
        let contrastive = LossConfig::Contrastive { temperature: 0.1 };
        for (loss, temperature, size) in [(softmax, None, 1), (contrastive, Some(0.1), 2)] {
            let config = TrainingConfig { loss, ..TrainingConfig::default() };
            let refused = threads(size, || {
                let problem = Problem::new(config.clone(), inputs(), &[0.5; 8]);
                let model = Model::new(mlp(2, &[], 0.0, &problem.device));
                let model = match temperature {
                    Some(temperature) => model.with_temperature(temperature, &problem.device),
                    None => model,
                };
                train(&problem.task(), model, None, &mut (), &mut ()).err()
            });
            for error in refused {
                assert!(
                    matches!(error, Some(Error::Value { key, .. }) if key == "training.loss.name")
                );
            }
        }
    }
}
