//! Batches and their shares, learning rates, and the best evaluation.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use burn::module::{Module, Param};
use burn::tensor::{DType, Tensor};
use dsokr_basis::processes::threads;
use dsokr_nn::{Encoder, Model, Pass, init};
use dsokr_train::{
    Decay, Error, Event, Observer, OptimizerName, Task, TrainingConfig, Validation, train,
};

use crate::common::{Problem, Steps, Table, cast, device, mlp};

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

/// The inputs of each pass of a training on inputs of these lengths.
fn passes(config: TrainingConfig, seed: u64, lengths: &[usize]) -> Vec<Vec<usize>> {
    let inputs: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    let (targets, residuals) = (vec![0.5; 2 * inputs.len()], vec![0.0; inputs.len()]);
    let passes = Arc::default();
    let bias = init::constant([2], 0.0, &device());
    let model = Model::new(Recorder { bias, passes: Arc::clone(&passes) });
    let (validate, config) = (&|_: &_| Ok(Validation { metrics: 0.0, score: 0.0 }), &config);
    let (inputs, targets, residuals, device) = (&inputs, &targets, &residuals, &device());
    let weights = &[];
    let task = Task { config, seed, device, inputs, targets, residuals, weights, validate };
    train(&task, model, None, &mut (), &mut ()).unwrap();
    std::mem::take(&mut passes.lock().unwrap())
}

#[test]
fn pairs_occur_once_in_batches_of_similar_lengths_by_seed_and_epoch() {
    let lengths: Vec<usize> = (0..1234).map(|i| i * 7919 % 97).collect();
    let all = |seed| {
        let config = TrainingConfig { batch: 16, epochs: 2, ..TrainingConfig::default() };
        let mut first = passes(config, seed, &lengths);
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
fn shares_cover_a_batch_and_are_balanced() {
    let check = |size, lengths: &[usize]| {
        let config = TrainingConfig { batch: 64, epochs: 1, ..TrainingConfig::default() };
        let one = passes(config.clone(), 1, lengths).concat();
        let shares = threads(size, || passes(config.clone(), 1, lengths).concat());
        assert_eq!(shares.concat(), one, "{size} ranks");
        let of = |share: &Vec<usize>| share.iter().map(|&i| lengths[i]).sum::<usize>();
        let (total, longest) = (lengths.iter().sum::<usize>(), lengths.iter().max().unwrap_or(&0));
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
    // the last target of the second one ends its training where the pair is in the batch
    let (good, mut bad) = ([0.5, -0.5].repeat(15), [0.5, -0.5].repeat(15));
    bad[29] = f32::NAN;
    let trained = |dtype, read_every, targets: &[f32]| {
        let config = TrainingConfig { batch: 2, epochs: 2, read_every, ..Default::default() };
        let config = &TrainingConfig { optimizer: OptimizerName::Sgd, ..config };
        let (inputs, residuals) = (&(0..15).collect::<Vec<i32>>(), &[0.25; 15]);
        let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0 });
        let task = Task {
            config,
            seed: 0,
            device: &device(),
            inputs,
            targets,
            residuals,
            weights: &[],
            validate,
        };
        let (mut logged, mut seen) = (Steps::default(), Seen::default());
        let model = Model::new(cast(Table::new(&[0.1; 30], 2), dtype));
        let end = train(&task, model, None, &mut logged, &mut seen).map(|outcome| outcome.steps);
        (end, logged.0, seen.0)
    };
    for targets in [&good, &bad] {
        let (end, expected, seen) = trained(DType::F32, 4, targets);
        assert!(seen.iter().eq(expected.iter().map(|(loss, _)| loss)));
        for read_every in [1, 3, 100] {
            let (same, logged, seen) = trained(DType::F64, read_every, targets);
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
    assert_eq!(message, "training.read_every = 0: allowed is at least 1");
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
        Ok(Validation { metrics: score, score })
    };
    let (inputs, targets, residuals, device) = (&[vec![1.0]], &[0.5; 2], &[0.25], &device());
    let weights = &[];
    let task = Task { config, seed: 0, device, inputs, targets, residuals, weights, validate };
    let mut bests = Bests(Vec::new());
    train(&task, Model::new(mlp(1, &[], 0.0)), None, &mut (), &mut bests).unwrap();
    assert_eq!(bests.0, [true, true, false, false, true]);
}
