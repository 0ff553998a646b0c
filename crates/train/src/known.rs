use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use dsokr_basis::Features;
use dsokr_basis::features::{DenseRows, Distinct, distinct};
use dsokr_nn::Encoder;

use crate::Error;
use crate::LossConfig;
use crate::Task;
use crate::loss::{similarities, unit};

/// All distinct outputs of the training pairs, the classes of the softmax loss.
///
/// Targets never change, so a batch costs one product with k targets and no encoding.
pub(super) struct Known {
    /// The k distinct targets at unit length `[k × p]`.
    targets: Tensor<2>,
    /// Which of them each pair has.
    class: Vec<u32>,
}

impl Known {
    /// The classes of a task, if its loss needs them.
    pub(super) fn of<E: Encoder, M>(task: &Task<E, M>, p: usize) -> Result<Option<Self>, Error> {
        if !matches!(task.config.loss, LossConfig::Softmax(_)) {
            return Ok(None);
        }
        let rows = Features::from(DenseRows::new(p, task.targets.to_vec())?);
        let Distinct { representative, class } = distinct(&rows)?;
        let values = representative.iter().flat_map(|&row| &task.targets[row * p..][..p]);
        let values = TensorData::new(values.copied().collect(), [representative.len(), p]);
        tracing::info!(outputs = representative.len(), "the softmax runs over training outputs");
        Ok(Some(Self { targets: unit(Tensor::from_data(values, task.device)), class }))
    }

    /// `−Σ_i ln softmax_j(s_ij)` at the own output of each pair, the pairs being those answered by `z`.
    pub(super) fn loss(&self, z: Tensor<2>, pairs: &[usize], scale: Tensor<1>) -> Tensor<1> {
        let own: Vec<i32> = pairs.iter().map(|&pair| self.class[pair] as i32).collect();
        let own = TensorData::new(own, [pairs.len(), 1]);
        let own = Tensor::<2, Int>::from_data(own, &z.device());
        let scores = similarities(unit(z), self.targets.clone(), scale);
        -log_softmax(scores, 1).gather(1, own).sum()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use dsokr_basis::random::generator;
    use dsokr_nn::{FrozenBasis, MlpConfig, Model};

    use super::*;
    use crate::Softmax;
    use crate::TrainingConfig;

    /// Four pairs of three outputs.
    const TARGETS: [f32; 8] = [2.0, 0.0, 0.6, 0.8, 2.0, 0.0, -1.0, 3.0];
    const ANSWERS: [f64; 4] = [0.3, -0.2, 1.1, 0.7];
    const SHARPNESS: f64 = 3.0;

    fn expected(answers: [f64; 4], pairs: [usize; 2]) -> f64 {
        let unit = |row: [f64; 2]| row.map(|v| v / row[0].hypot(row[1]));
        let outputs = [[2.0, 0.0], [0.6, 0.8], [-1.0, 3.0]].map(unit);
        let one = |(z, pair): (&[f64], usize)| {
            let z = unit([z[0], z[1]]);
            let scores = outputs.map(|y| SHARPNESS * (z[0] * y[0] + z[1] * y[1]));
            let all = scores.iter().map(|score| score.exp()).sum::<f64>().ln();
            all - scores[[0, 1, 0, 2][pair]]
        };
        answers.chunks(2).zip(pairs).map(one).sum()
    }

    #[test]
    fn it_is_the_cross_entropy_over_distinct_outputs() {
        let device = Device::flex().autodiff();
        let config = TrainingConfig {
            loss: LossConfig::Softmax(Softmax { temperature: 0.1 }),
            ..Default::default()
        };
        let encoder = MlpConfig { hidden: vec![], dropout: 0.0 };
        let encoder = encoder.init(1, &[0.0, 0.0], &mut generator(0, "parameters", 0), &device);
        let model = Model::new(encoder, FrozenBasis::new(vec![1.0, 0.0, 0.0, 1.0], 2, &device));
        let inputs = [vec![0.0f32], vec![0.0], vec![0.0], vec![0.0]];
        let mut task: Task<_, String> = Task {
            config: &config,
            seed: 0,
            device: &device,
            inputs: &inputs,
            targets: &TARGETS,
            residuals: &[0.0; 4],
            validate: &|_| unreachable!("nothing is evaluated"),
        };
        // what the loss asks of a model is checked where training starts
        let refused = crate::train(&task, model, None, &mut (), &mut crate::Lines);
        assert!(matches!(refused, Err(Error::Value { key, .. }) if key == "training.loss.name"));

        let known = Known::of(&task, 2).unwrap().unwrap();
        assert_eq!(known.targets.dims(), [3, 2]);
        for pairs in [[0, 1], [2, 3], [3, 0]] {
            let z = TensorData::new(ANSWERS.map(|v| v as f32).to_vec(), [2, 2]);
            let z = Tensor::<2>::from_data(z, &device).require_grad();
            let scale = Tensor::<1>::from_floats([SHARPNESS.ln() as f32], &device);
            let loss = known.loss(z.clone(), &pairs, scale);
            let gradient = z.grad(&loss.backward()).unwrap().into_data();
            let gradient = gradient.try_to_vec::<f32>().unwrap();
            let found = f64::from(loss.into_scalar::<f32>());
            assert!((found / expected(ANSWERS, pairs) - 1.0).abs() < 1e-5, "{pairs:?}: {found}");
            for (at, &own) in gradient.iter().enumerate() {
                let value = |by: f64| {
                    let mut answers = ANSWERS;
                    answers[at] += by;
                    expected(answers, pairs)
                };
                let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!((slope - f64::from(own)).abs() < 1e-4, "{pairs:?} {at}: {slope} {own}");
            }
        }
        let square = TrainingConfig::default();
        task.config = &square;
        assert!(Known::of(&task, 2).unwrap().is_none());
    }
}
