//! A user's own encoder, and a user's own kernel, under the library's trainer, without a run directory.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr::basis::features::DenseRows;
use dsokr::basis::kernel::{self, OutputKernel};
use dsokr::basis::{Basis, Block, Features, Kernel, Mat, RowSource, SketchKind, SketchOptions};
use dsokr::config::{Every, TrainingConfig};
use dsokr::core::random::generator;
use dsokr::core::{Error, Processes, RowWeights};
use dsokr::data::Outputs;
use dsokr::decode::{Combination, Ensemble, Metrics, MissingGold, Pool, Queries};
use dsokr::nn::{Encoder, MlpConfig, Model, Pass, Start, contract, init, parameters};
use dsokr::targets::candidates;
use dsokr::train::{Best, Event, Observer, Pairs, Task, Validation, embed, train};

/// Multiplies two embeddings: of the first and of the second number of an input.
#[derive(Module, Debug)]
struct Product {
    first: Param<Tensor<2>>,
    second: Param<Tensor<2>>,
}

impl Encoder for Product {
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
    let mut random = generator(0, "test", 0);
    let encoder = Product {
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
        warmup: 0,
        ..TrainingConfig::default()
    };
    let judged = |_: &Model<Product>| Ok(Validation { metrics: "first", score: 1.0, loss: None });
    let task = Task {
        config: &config,
        seed: 3,
        device: &device,
        pairs: Pairs::new(&inputs, &targets, &[0.25; 36]).unwrap(),
        ranks: &Processes::default(),
        validate: &judged,
    };
    let mut losses = Losses::default();
    let outcome = train(&task, Model::new(encoder), None, &mut (), &mut losses).unwrap();
    assert_eq!((outcome.steps, losses.0.len()), (450, 450));
    // the loss holds the residual, below which no encoder gets
    let last = losses.0[447..].iter().sum::<f64>() / 3.0;
    assert!(losses.0[0] > 0.5 && (0.25..0.26).contains(&last), "{} to {last}", losses.0[0]);
    // an evaluation that never improves leaves the first one as best
    assert!(matches!(outcome.best, Best::Given(_)));
}

/// The Laplace kernel `exp(−‖a − b‖)`, which is not built in.
#[derive(Clone, Debug)]
struct Laplace;

impl OutputKernel for Laplace {
    fn name(&self) -> String {
        "laplace".into()
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let products = Kernel::Linear.block(a, b)?;
        let aa = a.squared_norms();
        let bb = b.squared_norms();
        Ok(Mat::from_fn(a.len(), b.len(), |i, j| {
            (-(aa[i] + bb[j] - 2.0 * products[(i, j)]).max(0.0).sqrt()).exp()
        }))
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(vec![1.0; rows.len()])
    }

    fn is_normalised(&self) -> bool {
        true
    }
}

#[test]
fn an_own_kernel_is_learnt_and_decoded() {
    let points: Vec<Vec<f32>> =
        (0..60).map(|i| vec![(i % 10) as f32 * 0.5, (i / 10) as f32 * 0.5]).collect();
    let rows = Features::Dense(DenseRows::new(2, points.concat()).unwrap());
    kernel::contract::check(&Laplace, &rows).unwrap();
    let every = SketchKind::Subsampling { replacement: false };
    let basis = Basis::fit(Laplace, &rows, &SketchOptions::new(every.clone(), 40)).unwrap();
    let targets = basis.project(&rows).unwrap();
    let ids: Vec<String> = (0..60).map(|i| format!("p{i}")).collect();
    let few = Outputs::new(ids[1..].to_vec(), rows.clone());
    assert!(few.unwrap_err().to_string().contains("60"));
    let outputs = Outputs::new(ids.clone(), rows).unwrap();
    assert_eq!(format!("{outputs:?}"), "Outputs(60 outputs, 60 candidates)");
    let candidates = candidates(&basis, &outputs).unwrap();

    let device = Device::flex().autodiff();
    let config = MlpConfig { hidden: vec![128], dropout: 0.0 };
    let encoder = config.init(
        2,
        Start {
            offset: &targets.mean(&RowWeights::equal()).unwrap(),
            random: &mut generator(0, "own kernel", 0),
            device: &device,
        },
    );
    let metrics = |model: &Model<_>| -> Result<Metrics, dsokr::Error> {
        let z = embed(model, &points, 64)?;
        let queries = Queries::named(&ids, basis.dimension(), &z)?;
        let model = Ensemble::one(queries, &candidates, None)?;
        let gold = model.gold(Pool::Shared, &ids, MissingGold::Error)?;
        let ranks = model.rank(Pool::Shared, &Combination::default(), &gold)?;
        Ok(model.metrics(Pool::Shared, &ranks)?)
    };
    let judge = |model: &Model<_>| {
        let mrr = metrics(model)?.mrr();
        Ok(Validation { metrics: mrr, score: mrr, loss: None })
    };
    let training = TrainingConfig {
        epochs: 60,
        batch: 10,
        learning_rate: 0.01,
        warmup: 0,
        evaluate_every: Every::Epochs(20),
        ..TrainingConfig::default()
    };
    let task = Task {
        config: &training,
        seed: 0,
        device: &device,
        pairs: Pairs::new(&points, targets.coordinates(), targets.residuals()).unwrap(),
        ranks: &Processes::default(),
        validate: &judge,
    };
    let model = Model::new(encoder);
    let before = metrics(&model).unwrap().mrr();
    let outcome = train(&task, model, None, &mut (), &mut ()).unwrap();
    let model = match outcome.best {
        Best::Given(best) => parameters::restore(outcome.model, best).unwrap(),
        Best::Last | Best::Checkpoint => outcome.model,
    };
    let after = metrics(&model).unwrap().mrr();
    assert!(before < 0.2 && after > 0.7, "{before} to {after}");
}
