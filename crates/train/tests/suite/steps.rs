//! Batches and their shares, learning rates, and the best evaluation.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};
use dsokr_core::processes::threads;
use dsokr_core::{Cancellation, Processes};
use dsokr_nn::{Encoder, Model, Pass, init};
use dsokr_train::{
    Checkpoint, CheckpointSink, Decay, Error, Event, LogLine, Observer, OptimizerName, Pairs, Task,
    TrainingConfig, Validation, embed, train,
};

use crate::common::{Problem, Steps, Table, cast, device, mlp, values};

/// Writes down the numbers of the inputs of each pass. An input is its number and its length.
#[derive(Module, Debug)]
struct Recorder {
    bias: Param<Tensor<1>>,
    #[module(skip)]
    passes: Arc<Mutex<Vec<Vec<usize>>>>,
}

impl Encoder for Recorder {
    type Input = (usize, usize);

    fn dimension(&self) -> usize {
        2
    }

    fn length(&self, (_, length): &(usize, usize)) -> usize {
        *length
    }

    fn forward(&self, batch: &[&(usize, usize)], _: Pass) -> Tensor<2> {
        self.passes.lock().unwrap().push(batch.iter().map(|input| input.0).collect());
        self.bias.val().unsqueeze::<2>().repeat(&[batch.len(), 1])
    }
}

/// Returns the inputs of each pass of a training on inputs of these lengths.
fn passes(
    ranks: &Processes,
    config: TrainingConfig,
    seed: u64,
    lengths: &[usize],
) -> Vec<Vec<usize>> {
    let inputs: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    let targets = vec![0.5; 2 * inputs.len()];
    let residuals = vec![0.0; inputs.len()];
    let passes = Arc::default();
    let bias = init::constant([2], 0.0, &device());
    let model = Model::new(Recorder { bias, passes: Arc::clone(&passes) });
    let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
    let pairs = Pairs::new(&inputs, &targets, &residuals).unwrap();
    let task = Task { config: &config, seed, device: &device(), pairs, ranks, validate };
    train(&task, model, None, &mut (), &mut ()).unwrap();
    std::mem::take(&mut passes.lock().unwrap())
}

#[test]
fn pairs_occur_once_in_batches_of_similar_lengths_by_seed_and_epoch() {
    let lengths: Vec<usize> = (0..1234).map(|i| i * 7919 % 97).collect();
    let all = |seed| {
        let config = TrainingConfig { batch: 16, epochs: 2, ..TrainingConfig::default() };
        let mut first = passes(&Processes::default(), config, seed, &lengths);
        let second = first.split_off(first.len() / 2);
        [first, second]
    };
    let [first, second] = all(1);
    for epoch in [&first, &second] {
        let mut seen = epoch.concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..1234).collect::<Vec<_>>());
    }
    assert_ne!(first, second);
    assert_ne!(first, all(2)[0]);
    assert_eq!([&first, &second], all(1).each_ref());
    let spread = |batch: &Vec<usize>| {
        let all = || batch.iter().map(|&i| lengths[i]);
        all().max().unwrap_or(0) - all().min().unwrap_or(0)
    };
    let mean = first.iter().map(spread).sum::<usize>() as f64 / first.len() as f64;
    assert!(mean < 10.0, "{mean}");
}

#[test]
fn one_pair_is_no_batch_beside_others() {
    // groups of 50 batches have 200 pairs
    for (pairs, expected) in [
        (1, vec![1]),
        (4, vec![4]),
        (5, vec![5]),
        (6, vec![2, 4]),
        (9, vec![4, 5]),
        (201, [vec![4; 49], vec![5]].concat()),
    ] {
        let lengths: Vec<usize> = (0..pairs).map(|i| i * 7 % 5).collect();
        for micro_batch in [0, 4] {
            let config = TrainingConfig { batch: 4, epochs: 2, micro_batch, ..Default::default() };
            assert_eq!(config.steps_per_epoch(pairs), expected.len());
            let passes = passes(&Processes::default(), config, 3, &lengths);
            for epoch in passes.chunks(expected.len()) {
                let mut sizes: Vec<usize> = epoch.iter().map(Vec::len).collect();
                sizes.sort_unstable();
                assert_eq!(sizes, expected, "{pairs} pairs");
                let mut seen = epoch.concat();
                seen.sort_unstable();
                assert_eq!(seen, (0..pairs).collect::<Vec<_>>());
            }
        }
    }
    // unless all batches are of one pair
    let config = TrainingConfig { batch: 1, epochs: 1, ..Default::default() };
    assert_eq!(passes(&Processes::default(), config, 3, &[1, 1, 1]).len(), 3);
}

#[test]
fn shares_cover_a_batch_and_are_balanced() {
    let check = |size, lengths: &[usize]| {
        let config = TrainingConfig { batch: 64, epochs: 1, ..TrainingConfig::default() };
        let one = passes(&Processes::default(), config.clone(), 1, lengths).concat();
        let shares = threads(size, |ranks| passes(ranks, config.clone(), 1, lengths).concat());
        assert_eq!(shares.concat(), one, "{size} ranks");
        let of = |share: &Vec<usize>| share.iter().map(|&i| lengths[i]).sum::<usize>();
        let total = lengths.iter().sum::<usize>();
        let longest = lengths.iter().max().unwrap_or(&0);
        assert!(shares.iter().all(|share| of(share) <= total / size + longest));
    };
    for size in 1..6 {
        for n in [1, 2, 3, 7, 64] {
            check(size, &(0..n).map(|i| 1 + i * i).collect::<Vec<_>>());
        }
    }
    // lengths may all be zero
    check(2, &[0, 0, 0]);
}

#[test]
fn rates_rise_to_the_largest_and_fall_to_nearly_zero() {
    let rates = |decay, epochs| -> Vec<f64> {
        let config = TrainingConfig { learning_rate: 2.0, warmup: 4, ..Default::default() };
        let config = TrainingConfig { epochs, decay, ..config };
        let mut steps = Steps::default();
        let problem = Problem::new(config, vec![vec![1.0]], &[0.5; 2]);
        problem.train(Model::new(mlp(1, &[], 0.0)), &mut steps).unwrap();
        steps.0.into_iter().map(|(_, rate)| rate).collect()
    };
    assert_eq!(rates(Decay::Linear, 14)[..6], [0.5, 1.0, 1.5, 2.0, 2.0, 1.8]);
    for decay in [Decay::Linear, Decay::Cosine] {
        let rates = rates(decay, 14);
        assert!(rates[4..].is_sorted_by(|a, b| b < a), "{decay:?}: {rates:?}");
        assert!(rates[13] > 0.0 && rates[13] <= 0.21);
    }
    assert_eq!(rates(Decay::None, 14)[13], 2.0);
    // a warm-up longer than training is only a warm-up
    assert_eq!(rates(Decay::Linear, 3), [0.5, 1.0, 1.5]);
}

/// The losses that the steps of a training are said to have.
#[derive(Default)]
struct Seen(Vec<f64>);

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        if let Event::Step { loss, .. } = event {
            self.0.push(*loss);
        }
    }
}

#[test]
fn losses_of_other_devices_are_read_several_at_once() {
    // the last value of the second one ends its training where the pair is in the batch
    let good = vec![0.1; 32];
    let mut bad = good.clone();
    bad[31] = f32::NAN;
    let targets = [0.5, -0.5].repeat(16);
    let trained = |dtype, read_every, start: &[f32]| {
        let config = TrainingConfig { batch: 2, epochs: 2, read_every, ..Default::default() };
        let optimizer = OptimizerName::Sgd;
        let config = &TrainingConfig { optimizer, ..config };
        let inputs: Vec<i32> = (0..16).collect();
        let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
        let task = Task {
            config,
            seed: 0,
            device: &device(),
            pairs: Pairs::new(&inputs, &targets, &[0.25; 16]).unwrap(),
            ranks: &Processes::default(),
            validate,
        };
        let mut logged = Steps::default();
        let mut seen = Seen::default();
        let model = Model::new(cast(Table::new(start, 2), dtype));
        let end = train(&task, model, None, &mut logged, &mut seen).map(|outcome| outcome.steps);
        (end, logged.0, seen.0)
    };
    for start in [&good, &bad] {
        let (end, expected, seen) = trained(DType::F32, 4, start);
        assert!(seen.iter().eq(expected.iter().map(|(loss, _)| loss)));
        for read_every in [1, 3, 100] {
            let (same, logged, seen) = trained(DType::F64, read_every, start);
            match (&end, &same) {
                (Ok(steps), Ok(same)) => assert!(*steps == 16 && steps == same),
                (
                    Err(Error::Diverged { step, what, .. }),
                    Err(Error::Diverged { step: same, what: found, .. }),
                ) => assert!(step == same && what == found && *step == expected.len() as u64),
                _ => panic!("{end:?} {same:?}"),
            }
            assert_eq!(logged.len(), expected.len());
            for ((loss, rate), (same, same_rate)) in expected.iter().zip(&logged) {
                assert!((loss - same).abs() < 1e-6 && rate == same_rate);
            }
            // steps have the loss of the last one that was read, the first and the last of an epoch
            let read =
                |step: usize| step.is_multiple_of(8) || (step - 1).is_multiple_of(read_every);
            let last = |step: usize| (1..=step).rev().find(|&step| read(step)).unwrap();
            let said = |(at, loss): (usize, &f64)| *loss == logged[last(at + 1) - 1].0;
            assert!(seen.iter().enumerate().all(said), "{read_every}: {seen:?} {logged:?}");
        }
    }
    let config = TrainingConfig { read_every: 0, ..TrainingConfig::default() };
    let message = config.validate().unwrap_err().to_string();
    assert_eq!(message, "training.read_every = 0: expected at least 1");
}

#[test]
fn a_training_that_diverges_says_what_helps() {
    let message = |start: f32, learning_rate, clip| {
        let config = TrainingConfig { learning_rate, clip, warmup: 0, ..TrainingConfig::default() };
        let config = TrainingConfig { optimizer: OptimizerName::Sgd, epochs: 3, ..config };
        let problem = Problem::new(config, vec![0], &[0.5; 2]);
        let model = Model::new(Table::new(&[start, 0.0], 2));
        problem.train(model, &mut Steps::default()).err().unwrap().to_string()
    };
    // no rate helps against what is so before the first step
    for (start, what) in [(f32::NAN, "the loss is"), (1.2e19, "the gradient of the loss is")] {
        let message = message(start, 0.01, 1.0);
        assert!(message.starts_with(&format!("{what} not finite at step 0")), "{message}");
        assert!(message.contains("look at the inputs"), "{message}");
        assert!(!message.contains("training."), "{message}");
    }
    for clip in [0.0, 1.0] {
        let message = message(0.1, 1e30, clip);
        assert!(message.contains("lower training.learning_rate"), "{message}");
        assert_eq!(message.contains("training.clip"), clip == 0.0, "{message}");
    }
}

/// The evaluations that are the best so far.
struct Bests(Vec<bool>);

impl Observer for Bests {
    fn event(&mut self, event: &Event) {
        if let Event::Evaluation { best, .. } = event {
            self.0.push(*best);
        }
    }
}

#[test]
fn a_score_that_is_not_a_number_is_below_all_others() {
    let config = &TrainingConfig { epochs: 5, warmup: 0, ..TrainingConfig::default() };
    let scores = RefCell::new(vec![0.2, 0.1, f64::NAN, 0.1, f64::NAN]);
    let validate = &|_: &_| {
        let score = scores.borrow_mut().pop().unwrap();
        Ok(Validation { metrics: score, score, loss: None })
    };
    let inputs = [vec![1.0]];
    let pairs = Pairs::new(&inputs, &[0.5; 2], &[0.25]).unwrap();
    let ranks = &Processes::default();
    let task = Task { config, seed: 0, device: &device(), pairs, ranks, validate };
    let mut bests = Bests(Vec::new());
    train(&task, Model::new(mlp(1, &[], 0.0)), None, &mut (), &mut bests).unwrap();
    assert_eq!(bests.0, [true, true, false, false, true]);
}

/// An encoder whose predictions have another shape than it says: so many rows more, and so many columns.
#[derive(Module, Debug)]
struct Wrong {
    bias: Param<Tensor<1>>,
    #[module(skip)]
    more: [usize; 2],
}

impl Encoder for Wrong {
    type Input = i32;

    fn dimension(&self) -> usize {
        2
    }

    fn forward(&self, batch: &[&i32], _: Pass) -> Tensor<2> {
        let [rows, columns] = self.more;
        self.bias.val().unsqueeze::<2>().repeat(&[batch.len() + rows, 1 + columns])
    }
}

#[test]
fn predictions_of_another_shape_are_refused() {
    let bias = init::constant([2], 0.5, &device());
    for (more, found) in [([1, 0], [4, 2]), ([0, 1], [3, 4])] {
        let model = Model::new(Wrong { bias: bias.clone(), more });
        let refused = |error: Option<Error>| {
            assert!(
                matches!(error, Some(Error::Encoder { found: shape, expected: [3, 2] }) if shape == found),
                "{error:?}"
            );
        };
        refused(embed(&model, &[1, 2, 3], 3).err());
        let problem = Problem::new(TrainingConfig::default(), vec![1, 2, 3], &[0.5; 6]);
        refused(problem.train(model, &mut Steps::default()).err());
    }
    let model = Model::new(Wrong { bias, more: [0, 0] });
    assert_eq!(embed(&model, &[1, 2, 3], 2).unwrap(), [0.5; 6]);
    let message = embed(&model, &[1], 0).unwrap_err().to_string();
    assert_eq!(message, "batch = 0: expected at least 1");
}

/// Targets and residuals of a program's own are looked at before the first step.
#[test]
fn targets_that_are_no_numbers_are_refused() {
    let refused = |targets: &[f32], residuals: &[f64]| {
        Pairs::new(&["a", "b"], targets, residuals).err().map(|error| error.to_string())
    };
    assert_eq!(refused(&[0.0; 4], &[0.0; 2]), None);
    let target = refused(&[0.0, 0.0, 0.0, f32::NAN], &[0.0; 2]).unwrap();
    assert!(target.contains("targets, row 1, column 1: NaN"), "{target}");
    for residual in [-1.0, f64::NAN, f64::INFINITY] {
        let message = refused(&[0.0; 4], &[0.0, residual]).unwrap();
        assert!(message.contains(&format!("pair 1 has a residual of {residual}")), "{message}");
    }
}

#[test]
fn pairs_that_do_not_fit_are_refused() {
    let message = |inputs: usize, targets: usize, residuals: usize, weights: &[f64]| {
        let problem = Problem {
            residuals: vec![0.0; residuals],
            weights: weights.to_vec(),
            ..Problem::new(TrainingConfig::default(), vec![vec![1.0]; inputs], &vec![0.5; targets])
        };
        let trained = problem.train(Model::new(mlp(1, &[], 0.0)), &mut Steps::default());
        trained.err().map(|error| error.to_string())
    };
    assert_eq!(message(3, 6, 3, &[1.0; 3]), None);
    let refused = |found: Option<String>, expected: &str| {
        assert_eq!(found.as_deref(), Some(format!("training pairs: {expected}").as_str()));
    };
    refused(message(0, 0, 0, &[]), "there are none");
    refused(message(3, 5, 3, &[]), "5 numbers in the targets of 3 inputs");
    refused(message(3, 6, 2, &[]), "2 residuals for 3 inputs");
    refused(message(3, 6, 3, &[1.0]), "1 weights for 3 inputs");
    refused(message(2, 4, 2, &[1.0, 0.0]), "a weight of 0, which must be above 0");
    refused(message(3, 9, 3, &[]), "targets of 3 coordinates, and the encoder predicts 2");
    let config = TrainingConfig { epochs: 0, ..TrainingConfig::default() };
    let problem = Problem::new(config, vec![vec![1.0]], &[0.5; 2]);
    let error = problem.train(Model::new(mlp(1, &[], 0.0)), &mut Steps::default()).err().unwrap();
    assert_eq!(error.to_string(), "training.epochs = 0: expected 1 to 1000000000");
}

/// Counts its training passes, and cannot go on in one of them.
#[derive(Module, Debug)]
struct Torn {
    table: Table,
    #[module(skip)]
    passes: Arc<AtomicUsize>,
    #[module(skip)]
    at: usize,
}

impl Encoder for Torn {
    type Input = i32;

    fn dimension(&self) -> usize {
        self.table.dimension()
    }

    fn forward(&self, batch: &[&i32], pass: Pass) -> Tensor<2> {
        if self.passes.fetch_add(1, Ordering::Relaxed) == self.at {
            Cancellation::current().cancel_because("torn");
            return self.table.forward(batch, pass) * f32::NAN;
        }
        self.table.forward(batch, pass)
    }
}

/// The last state that was stored.
#[derive(Default)]
struct Last(Option<Checkpoint>);

impl CheckpointSink<f64> for Last {
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.0 = Some(checkpoint.clone());
        Ok(())
    }
}

/// The lines of the log.
#[derive(Default)]
struct Log(Vec<LogLine<f64>>);

impl CheckpointSink<f64> for Log {
    fn log(&mut self, line: &LogLine<f64>) -> Result<(), Error> {
        self.0.push(line.clone());
        Ok(())
    }
}

#[test]
fn the_logged_residual_has_the_weights_of_the_loss() {
    let config = TrainingConfig { epochs: 1, batch: 4, warmup: 0, ..Default::default() };
    let inputs = [0, 1, 2, 3];
    let residuals = [0.1, 0.2, 0.3, 2.0];
    let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
    let ranks = &Processes::default();
    let cases: [(&[f64], f64); 2] = [(&[], 0.65), (&[2.0, 1.0, 1.0, 0.5], 1.7 / 4.5)];
    for (weights, expected) in cases {
        let pairs = Pairs::new(&inputs, &[0.5; 8], &residuals).unwrap().weighted(weights).unwrap();
        let task = Task { config: &config, seed: 0, device: &device(), pairs, ranks, validate };
        let mut log = Log::default();
        // each target is met: the loss is the residual
        let model = Model::new(Table::new(&[0.5; 8], 2));
        train(&task, model, None, &mut log, &mut ()).unwrap();
        let line = &log.0[0];
        assert!((line.residual - expected).abs() < 1e-12, "{} {expected}", line.residual);
        assert!((line.loss - expected).abs() < 1e-6, "{} {expected}", line.loss);
    }
}

#[test]
fn nothing_is_kept_of_a_step_whose_pass_is_torn() {
    let config =
        TrainingConfig { epochs: 3, batch: 2, micro_batch: 1, warmup: 0, ..Default::default() };
    let inputs = &(0..8).collect::<Vec<i32>>();
    let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
    let pairs = Pairs::new(inputs, &[0.5; 16], &[0.0; 8]).unwrap();
    let ranks = &Processes::default();
    let task = Task { config: &config, seed: 0, device: &device(), pairs, ranks, validate };
    let model = |at| {
        let passes = Arc::default();
        (
            Model::new(Torn { table: Table::new(&[0.1; 16], 2), passes: Arc::clone(&passes), at }),
            passes,
        )
    };
    let whole = train(&task, model(usize::MAX).0, None, &mut (), &mut ()).unwrap();
    // four steps an epoch, of two passes each: the first and the second pass of steps 1 and 8 (from 1)
    for at in [0, 1, 14, 15] {
        let (torn, passes) = model(at);
        let mut last = Last::default();
        let cancellation = Cancellation::default();
        let error = cancellation.scope(|| train(&task, torn, None, &mut last, &mut ()));
        assert_eq!(passes.load(Ordering::Relaxed), at + 1, "no pass after it");
        assert!(cancellation.take_cause().is_some());
        let steps = at as u64 / 2;
        match error.err() {
            Some(error @ Error::Interrupted { step }) => {
                assert_eq!(step, steps);
                // it is the program's to say what its sink has kept
                assert_eq!(error.to_string(), format!("interrupted at step {step}"));
            }
            Some(Error::Core(dsokr_core::Error::Cancelled)) => assert_eq!(steps, 0),
            other => panic!("{other:?}"),
        }
        assert_eq!(last.0.as_ref().map_or(0, |kept| kept.step), steps);
        let resumed = train(&task, model(usize::MAX).0, last.0, &mut (), &mut ()).unwrap();
        assert_eq!(values(&resumed.model), values(&whole.model));
    }
}

#[test]
fn a_device_without_autodiff_is_refused() {
    let config = TrainingConfig::default();
    let inputs = &[1, 2, 3];
    let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
    let pairs = Pairs::new(inputs, &[0.5; 6], &[0.0; 3]).unwrap();
    let ranks = &Processes::default();
    let plain = Device::flex();
    for (task_device, model_device, what) in
        [(&plain, &device(), "a training"), (&device(), &plain, "the model's parameters")]
    {
        let bias = init::constant([2], 0.5, model_device);
        let model = Model::new(Wrong { bias, more: [0, 0] });
        let task = Task { config: &config, seed: 0, device: task_device, pairs, ranks, validate };
        let error = train(&task, model, None, &mut (), &mut ()).err().unwrap().to_string();
        let expected =
            format!("the device of {what} = one without autodiff: expected one with autodiff");
        assert!(error.starts_with(&expected), "{error}");
    }
}
