use burn::tensor::activation::log_softmax;
use burn::tensor::{Tensor, TensorData};

use crate::LossConfig;
use crate::loss_config::{Contrastive, Kind};

/// Below this the root of a squared distance has no gradient.
const SMALLEST: f32 = 1e-12;

/// The largest 1/τ, as in CLIP.
const SHARPEST: f64 = 100.0;

/// `Σ_i ℓ(z_i, y_i)` of some pairs, `[pairs × p]` and one residual r(y) each; in a batch that they are
/// all of, for the contrastive loss, whose `scale` is ln 1/τ. The softmax needs all outputs of the
/// training pairs: [`known`](crate::known).
pub(super) fn loss(
    config: &LossConfig,
    z: Tensor<2>,
    targets: Tensor<2>,
    residuals: &[f32],
    scale: Option<Tensor<1>>,
) -> Tensor<1> {
    let squares = |z: Tensor<2>, targets: Tensor<2>| (z - targets).square();
    if let LossConfig::Square(_) = config {
        let outside: f32 = residuals.iter().sum();
        return squares(z, targets).sum() + outside;
    }
    let loss = match config.kind() {
        Kind::Distance(loss) => loss,
        Kind::Contrastive(Contrastive { temperature }) => {
            let start = || Tensor::from_floats([-temperature.ln() as f32], &z.device());
            let scale = scale.unwrap_or_else(start);
            return contrastive(z, targets, scale);
        }
        Kind::Softmax(_) => unreachable!("the softmax takes all outputs, not those of a batch"),
    };
    let (n, device) = (residuals.len(), z.device());
    let column =
        |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [n, 1]), &device);
    let outside = column(residuals.to_vec());
    let root = (squares(z, targets).sum_dim(1) + outside).clamp_min(SMALLEST).sqrt();
    // ℓ is linear about √u: its slope there is the gradient, and its value is added as a constant
    let roots = root.clone().detach().into_data().iter::<f32>().map(f64::from).collect::<Vec<_>>();
    let slopes: Vec<f32> = roots.iter().map(|&root| loss.derivative(root) as f32).collect();
    let values =
        roots.iter().zip(&slopes).map(|(&root, &slope)| loss.value(root) - f64::from(slope) * root);
    let constant: f64 = values.sum();
    (root * column(slopes)).sum() + constant
}

/// Rows at unit length.
pub(super) fn unit(rows: Tensor<2>) -> Tensor<2> {
    let length = rows.clone().square().sum_dim(1).clamp_min(SMALLEST).sqrt();
    rows / length
}

/// `s_ij = ⟨z_i, y_j⟩/τ` of unit rows, `scale` being ln 1/τ.
pub(super) fn similarities(z: Tensor<2>, y: Tensor<2>, scale: Tensor<1>) -> Tensor<2> {
    let sharpness = scale.clamp_max(SHARPEST.ln()).exp().reshape([1, 1]);
    z.matmul(y.transpose()) * sharpness
}

/// `−½ Σ_i (ln softmax_j(s_ij)_i + ln softmax_j(s_ji)_i)`.
fn contrastive(z: Tensor<2>, targets: Tensor<2>, scale: Tensor<1>) -> Tensor<1> {
    let scores = similarities(unit(z), unit(targets), scale);
    let n = scores.dims()[0];
    let own = Tensor::<2>::eye(n, &scores.device());
    let found = |scores: Tensor<2>| (log_softmax(scores, 1) * own.clone()).sum();
    (found(scores.clone()) + found(scores.transpose())) * -0.5
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use dsokr_basis::loss::{EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Square};

    use super::*;

    const P: usize = 3;

    fn rows(values: &[f32], device: &Device) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len() / P, P]), device)
    }

    /// Value, gradient in z and in the scale.
    fn found(
        config: &LossConfig,
        z: &[f32],
        targets: &[f32],
        residuals: &[f32],
        scale: Option<f32>,
    ) -> (f64, Vec<f32>, f32) {
        let device = Device::flex().autodiff();
        let z = rows(z, &device).require_grad();
        let scale = scale.map(|s| Tensor::<1>::from_floats([s], &device).require_grad());
        let value = loss(config, z.clone(), rows(targets, &device), residuals, scale.clone());
        let gradients = value.backward();
        let slope = scale.and_then(|scale| scale.grad(&gradients));
        let slope = slope.map_or(0.0, |slope| slope.into_scalar::<f32>());
        let gradient = z.grad(&gradients).unwrap().into_data().try_to_vec::<f32>().unwrap();
        (value.into_scalar::<f32>().into(), gradient, slope)
    }

    const Z: [f32; 12] = [0.3, -0.2, 1.1, 2.0, 0.4, -1.5, 0.1, 0.2, 0.3, -0.7, 0.6, 0.9];
    const Y: [f32; 12] = [0.2, -0.4, 1.0, -1.0, 0.5, 0.5, 0.1, 0.2, 0.3, 0.4, 0.8, -0.1];
    const R: [f32; 4] = [0.05, 0.3, 0.0, 0.7];

    /// In the coordinates where every pair is smooth.
    fn check_gradient(config: &LossConfig, scale: Option<f32>, skip: usize) {
        let (_, gradient, slope) = found(config, &Z, &Y, &R, scale);
        let step = 1e-2;
        for at in (0..Z.len()).filter(|at| at / P != skip) {
            let value = |by: f32| {
                let mut z = Z;
                z[at] += by;
                found(config, &z, &Y, &R, scale).0
            };
            let difference = (value(step) - value(-step)) / f64::from(2.0 * step);
            let own = f64::from(gradient[at]);
            assert!(
                (difference - own).abs() < 2e-3 * (1.0 + own.abs()),
                "{config:?} {at}: {own} {difference}"
            );
        }
        if let Some(scale) = scale {
            let value = |by: f32| found(config, &Z, &Y, &R, Some(scale + by)).0;
            let difference = (value(step) - value(-step)) / f64::from(2.0 * step);
            assert!((difference - f64::from(slope)).abs() < 2e-3, "{slope} {difference}");
        }
        assert!(gradient.iter().all(|value| value.is_finite()));
    }

    #[test]
    fn losses_are_those_of_kernel_machines_and_gradients_their_differences() {
        let wide = |row: &[f32]| row.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        for config in [
            LossConfig::Square(Square {}),
            LossConfig::Huber(Huber { kappa: 0.8 }),
            LossConfig::Huber(Huber { kappa: 50.0 }),
            LossConfig::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.5 }),
            LossConfig::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: 0.5 }),
        ] {
            let Kind::Distance(loss) = config.kind() else { panic!("{config:?}") };
            let (value, ..) = found(&config, &Z, &Y, &R, None);
            let pairs = Z.chunks(P).zip(Y.chunks(P)).zip(R);
            let root = |z: &[f64], y: &[f64], r: f64| {
                (z.iter().zip(y).map(|(z, y)| (z - y) * (z - y)).sum::<f64>() + r).sqrt()
            };
            let values = pairs.map(|((z, y), r)| loss.value(root(&wide(z), &wide(y), r.into())));
            let expected: f64 = values.sum();
            assert!((value / expected - 1.0).abs() < 1e-5, "{config:?}: {value} {expected}");
            // the third pair is met exactly: its distance has no gradient
            check_gradient(&config, None, 2);
        }
    }

    #[test]
    fn the_contrastive_loss_is_two_cross_entropies() {
        let config = LossConfig::Contrastive(Contrastive { temperature: 0.5 });
        let scale = 2.0f64.ln() as f32;
        let unit = |row: &[f32]| {
            let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            row.iter().map(|v| f64::from(v / length)).collect::<Vec<_>>()
        };
        let score = |i: usize, j: usize| {
            let (z, y) = (unit(&Z[i * P..][..P]), unit(&Y[j * P..][..P]));
            2.0 * z.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>()
        };
        let mut expected = 0.0;
        for i in 0..4 {
            let all = |one: &dyn Fn(usize) -> f64| (0..4).map(|j| one(j).exp()).sum::<f64>().ln();
            expected += 0.5 * (all(&|j| score(i, j)) + all(&|j| score(j, i))) - score(i, i);
        }
        let (value, ..) = found(&config, &Z, &Y, &R, Some(scale));
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} {expected}");
        check_gradient(&config, Some(scale), 9);
    }
}
