//! A user's own encoder under the library's trainer, without a run directory.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_decode::{Metrics, Rank};
use dsokr_nn::{Encoder, FrozenBasis, Model, Pass, contract, init};
use dsokr_train::config::{Metric, TrainingConfig};
use dsokr_train::trainer::{Event, Observer, Task, train};

/// Multiplies two embeddings: of the first and of the second number of an input.
#[derive(Module, Debug)]
struct Pairs {
    first: Param<Tensor<2>>,
    second: Param<Tensor<2>>,
}

impl Encoder for Pairs {
    type Input = (u32, u32);

    fn dimension(&self) -> usize {
        self.first.dims()[1]
    }

    fn forward(&self, batch: &[&(u32, u32)], _: Pass) -> Tensor<2> {
        let device = self.first.device();
        let pick = |table: &Param<Tensor<2>>, ids: Vec<i32>| {
            let count = ids.len();
            table.val().select(0, Tensor::from_data(TensorData::new(ids, [count]), &device))
        };
        pick(&self.first, batch.iter().map(|pair| pair.0 as i32).collect())
            * pick(&self.second, batch.iter().map(|pair| pair.1 as i32).collect())
    }
}

#[derive(Default)]
struct Losses(Vec<f64>);

impl Observer for Losses {
    fn event(&mut self, event: &Event) {
        if let Event::Step { loss, .. } = event {
            self.0.push(*loss);
        }
    }
}

#[test]
fn an_own_encoder_trains_under_the_librarys_loop() {
    let device = Device::flex().autodiff();
    let mut random = dsokr_basis::random::generator(0, "test", 0);
    let encoder = Pairs {
        first: init::normal([6, 2], 1.0, &mut random, &device),
        second: init::normal([6, 2], 1.0, &mut random, &device),
    };
    let inputs: Vec<(u32, u32)> = (0..36).map(|i| (i / 6, i % 6)).collect();
    contract::check(&encoder, &inputs).unwrap();
    // what the encoder can represent exactly
    let targets: Vec<f32> = inputs
        .iter()
        .flat_map(|&(a, b)| [(a as f32 + 1.0) * 0.2, (b as f32).sin() * (a as f32).cos()])
        .collect();
    let config = TrainingConfig {
        epochs: 150,
        batch: 12,
        learning_rate: 0.05,
        weight_decay: 0.0,
        warmup: 0,
        metric: Metric::Mrr,
        ..TrainingConfig::default()
    };
    let judged = |_: &Model<Pairs>| Ok(Metrics::from_ranks(&[Some(Rank::new(0, 1, 2)?)], 2, 0)?);
    let task = Task {
        config: &config,
        seed: 3,
        device: &device,
        inputs: &inputs,
        targets: &targets,
        residuals: &vec![0.25; 36],
        validate: &judged,
    };
    let basis = FrozenBasis::new(vec![1.0, 0.0, 0.0, 1.0], 2, &device);
    let mut losses = Losses::default();
    let outcome = train(&task, Model::new(encoder, basis), None, &mut (), &mut losses).unwrap();
    assert_eq!((outcome.steps, losses.0.len()), (450, 450));
    // the loss holds the residual, below which no encoder gets
    let last = losses.0[447..].iter().sum::<f64>() / 3.0;
    assert!(losses.0[0] > 0.5 && (0.25..0.26).contains(&last), "{} to {last}", losses.0[0]);
    // an evaluation that never improves leaves the first one as best
    assert!(outcome.best.is_some());
}
