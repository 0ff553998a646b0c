use burn::tensor::activation::log_softmax;
use burn::tensor::{Tensor, TensorData};

use crate::LossConfig;

/// Below this the root of a squared distance has no gradient.
const SMALLEST: f32 = 1e-12;

/// The largest 1/τ, as in CLIP.
const SHARPEST: f64 = 100.0;

/// `Σ_i ℓ(z_i, y_i)` of some pairs, `[pairs × p]` and one residual r(y) each; in a batch that they are
/// all of, for the contrastive loss, whose `scale` is ln 1/τ.
pub(super) fn loss(
    config: &LossConfig,
    z: Tensor<2>,
    targets: Tensor<2>,
    residuals: &[f32],
    scale: Option<Tensor<1>>,
) -> Tensor<1> {
    let squares = |z: Tensor<2>, targets: Tensor<2>| (z - targets).square();
    if *config == (LossConfig::Square {}) {
        let outside: f32 = residuals.iter().sum();
        return squares(z, targets).sum() + outside;
    }
    if let (LossConfig::Contrastive { .. }, Some(scale)) = (config, scale) {
        return contrastive(z, targets, scale);
    }
    let n = residuals.len();
    let outside = TensorData::new(residuals.to_vec(), [n, 1]);
    let outside = Tensor::<2>::from_data(outside, &z.device());
    let root = (squares(z, targets).sum_dim(1) + outside).clamp_min(SMALLEST).sqrt();
    match *config {
        LossConfig::Huber { kappa } => {
            // c = min(√u, κ) makes c √u − c²/2 both branches
            let cut = root.clone().clamp_max(kappa);
            (cut.clone() * root - cut.square() * 0.5).sum()
        }
        LossConfig::EpsilonInsensitive { epsilon } => (root - epsilon).clamp_min(0.0).sum(),
        LossConfig::EpsilonInsensitiveSquare { epsilon } => {
            (root - epsilon).clamp_min(0.0).square().sum()
        }
        // the last two are found elsewhere
        LossConfig::Square {} | LossConfig::Contrastive { .. } | LossConfig::Softmax { .. } => {
            root.square().sum()
        }
    }
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
    use dsokr_machines::Loss;

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
        for (config, loss, factor) in [
            (LossConfig::Square {}, Loss::Square, 2.0),
            (LossConfig::Huber { kappa: 0.8 }, Loss::Huber { kappa: 0.8 }, 1.0),
            (LossConfig::Huber { kappa: 50.0 }, Loss::Square, 1.0),
            (
                LossConfig::EpsilonInsensitive { epsilon: 0.5 },
                Loss::EpsilonInsensitive { epsilon: 0.5 },
                1.0,
            ),
            (
                LossConfig::EpsilonInsensitiveSquare { epsilon: 0.5 },
                Loss::EpsilonInsensitiveSquare { epsilon: 0.5 },
                1.0,
            ),
        ] {
            let (value, ..) = found(&config, &Z, &Y, &R, None);
            let pairs = Z.chunks(P).zip(Y.chunks(P)).zip(R);
            let expected: f64 =
                pairs.map(|((z, y), r)| factor * loss.value(&wide(z), &wide(y), r.into())).sum();
            assert!((value / expected - 1.0).abs() < 1e-5, "{config:?}: {value} {expected}");
            // the third pair is met exactly: its distance has no gradient
            check_gradient(&config, None, 2);
        }
    }

    #[test]
    fn the_contrastive_loss_is_two_cross_entropies() {
        let config = LossConfig::Contrastive { temperature: 0.5 };
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
