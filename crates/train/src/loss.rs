use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use dsokr_basis::Features;
use dsokr_basis::features::{DenseRows, Distinct, distinct};
use dsokr_basis::loss::DistanceLoss;
use dsokr_nn::{Encoder, Model};

use crate::loss_config::Kind;
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
    use dsokr_nn::{Mlp, MlpConfig, Model};

    use super::*;
    use crate::problem::{Problem, mlp_at};
    use crate::{Contrastive, GroupConfig, OptimizerName, Softmax, TrainingConfig};

    const P: usize = 3;
    const Z: [f32; 12] = [0.3, -0.2, 1.1, 2.0, 0.4, -1.5, 0.1, 0.2, 0.3, -0.7, 0.6, 0.9];
    /// The first and the last pair have the same output.
    const Y: [f32; 12] = [0.2, -0.4, 1.0, -1.0, 0.5, 0.5, 0.1, 0.2, 0.3, 0.2, -0.4, 1.0];
    const R: [f64; 4] = [0.05, 0.3, 0.0, 0.7];

    fn problem(
        config: TrainingConfig,
        inputs: Vec<Vec<f32>>,
        targets: &[f32],
    ) -> Problem<Vec<f32>> {
        Problem { residuals: R.to_vec(), ..Problem::new(config, inputs, targets) }
    }

    /// A linear model with P coordinates.
    fn linear(inputs: usize, device: &Device) -> Mlp {
        mlp_at(&[0.0; P], inputs, MlpConfig { hidden: vec![], dropout: 0.0 }, device)
    }

    /// Value, gradient in z and in the scale.
    fn found(loss: &LossConfig, z: &[f32], scale: Option<f32>) -> (f64, Vec<f32>, f32) {
        let config = TrainingConfig { loss: *loss, ..TrainingConfig::default() };
        let problem = problem(config, vec![vec![]; 4], &Y);
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

    /// In the coordinates where every pair is smooth.
    fn check_gradient(config: &LossConfig, scale: Option<f32>, skip: usize) {
        let (_, gradient, slope) = found(config, &Z, scale);
        let step = 1e-2;
        for at in (0..Z.len()).filter(|at| at / P != skip) {
            let value = |by: f32| {
                let mut z = Z;
                z[at] += by;
                found(config, &z, scale).0
            };
            let difference = (value(step) - value(-step)) / f64::from(2.0 * step);
            let own = f64::from(gradient[at]);
            assert!(
                (difference - own).abs() < 2e-3 * (1.0 + own.abs()),
                "{config:?} {at}: {own} {difference}"
            );
        }
        if let Some(scale) = scale {
            let value = |by: f32| found(config, &Z, Some(scale + by)).0;
            let difference = (value(step) - value(-step)) / f64::from(2.0 * step);
            assert!((difference - f64::from(slope)).abs() < 2e-3, "{slope} {difference}");
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
            let (value, ..) = found(&config, &Z, None);
            let root = |((z, y), r): ((&[f32], &[f32]), f64)| {
                let squares = z.iter().zip(y).map(|(&z, &y)| (f64::from(z) - f64::from(y)).powi(2));
                (squares.sum::<f64>() + r).sqrt()
            };
            let roots = Z.chunks(P).zip(Y.chunks(P)).zip(R).map(root);
            let expected: f64 = roots.map(|root| loss.value(root)).sum();
            assert!((value / expected - 1.0).abs() < 1e-5, "{config:?}: {value} {expected}");
            // the third pair is met exactly: its distance has no gradient
            check_gradient(&config, None, 2);
        }
    }

    /// `⟨z_i, y_j⟩/τ` of unit vectors.
    fn score(i: usize, j: usize, temperature: f64) -> f64 {
        let unit = |row: &[f32]| {
            let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            row.iter().map(|v| f64::from(v / length)).collect::<Vec<_>>()
        };
        let (z, y) = (unit(&Z[i * P..][..P]), unit(&Y[j * P..][..P]));
        z.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>() / temperature
    }

    fn log_sum(scores: impl Iterator<Item = f64>) -> f64 {
        scores.map(f64::exp).sum::<f64>().ln()
    }

    /// The model after 20 steps towards targets, from a model whose encoder hardly learns.
    fn trained(model: Model<Mlp>, targets: &[f32], optimizer: OptimizerName) -> Model<Mlp> {
        let group = GroupConfig {
            parameters: "encoder".into(),
            optimizer: OptimizerName::Sgd,
            learning_rate: 1e-9,
        };
        let config = TrainingConfig {
            loss: LossConfig::Softmax(Softmax { temperature: 0.01 }),
            optimizer,
            // the gradient vanishes where targets are met
            learning_rate: if optimizer == OptimizerName::Sgd { 500.0 } else { 0.5 },
            groups: vec![group],
            epochs: 20,
            batch: 4,
            warmup: 0,
            clip: 0.0,
            ..TrainingConfig::default()
        };
        let problem = problem(config, inputs(), targets);
        crate::train(&problem.task(), model, None, &mut (), &mut ()).unwrap().model
    }

    fn inputs() -> Vec<Vec<f32>> {
        [[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]].map(Vec::from).to_vec()
    }

    #[test]
    fn a_temperature_at_its_bound_returns() {
        let device = Device::flex().autodiff();
        let encoder = linear(2, &device);
        let z = encoder.forward(&inputs().iter().collect::<Vec<_>>(), dsokr_nn::Pass::Evaluate);
        let met = z.into_data().try_to_vec::<f32>().unwrap();
        let missed = [&met[P..], &met[..P]].concat();
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
    fn the_contrastive_loss_is_two_cross_entropies() {
        let config = LossConfig::Contrastive(Contrastive { temperature: 0.5 });
        let scale = 2.0f64.ln() as f32;
        let pair = |i: usize| {
            let both = log_sum((0..4).map(|j| score(i, j, 0.5)))
                + log_sum((0..4).map(|j| score(j, i, 0.5)));
            0.5 * both - score(i, i, 0.5)
        };
        let expected: f64 = (0..4).map(pair).sum();
        let (value, ..) = found(&config, &Z, Some(scale));
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} {expected}");
        check_gradient(&config, Some(scale), 9);
    }

    #[test]
    fn the_softmax_is_the_cross_entropy_over_distinct_outputs() {
        let config = LossConfig::Softmax(Softmax { temperature: 0.1 });
        let scale = 3.0f64.ln() as f32;
        let pair =
            |i: usize| log_sum((0..3).map(|j| score(i, j, 1.0 / 3.0))) - score(i, i, 1.0 / 3.0);
        let expected: f64 = (0..4).map(pair).sum();
        let (value, ..) = found(&config, &Z, Some(scale));
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} {expected}");
        check_gradient(&config, Some(scale), 9);

        // what the loss asks of a model is checked where training starts
        let config = TrainingConfig { loss: config, ..TrainingConfig::default() };
        let problem = problem(config, vec![vec![0.0]; 4], &Y);
        let model = Model::new(linear(1, &problem.device));
        let refused = crate::train(&problem.task(), model, None, &mut (), &mut ());
        assert!(matches!(refused, Err(Error::Value { key, .. }) if key == "training.loss.name"));
    }
}
