//! Observers that stop a training, change its learning rate, ask for evaluations, and look at its model.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dsokr_core::Processes;
use dsokr_core::processes::threads;
use dsokr_nn::{Encoder, Model};
use dsokr_train::{
    Best, Checkpoint, CheckpointSink, Control, Decay, Error, Event, LogLine, Observer,
    OptimizerName, Pairs, RateChange, StepNumbers, Task, TrainingConfig, Validation, train,
};

use crate::common::{Table, device, values};

/// Returns the configuration of steps of one batch each, which are the epochs, at the rate 0.1.
fn config(epochs: usize) -> TrainingConfig {
    TrainingConfig {
        epochs,
        warmup: 0,
        learning_rate: 0.1,
        decay: Decay::None,
        optimizer: OptimizerName::Sgd,
        clip: 0.0,
        ..TrainingConfig::default()
    }
}

/// What a training stores: the rates of its steps, the steps of its evaluations, and its last state.
#[derive(Default)]
struct Stored {
    rates: Vec<f64>,
    evaluations: Vec<(u64, f64)>,
    last: Option<Checkpoint>,
}

impl CheckpointSink<f64> for Stored {
    fn step(&mut self, numbers: StepNumbers) -> Result<(), Error> {
        self.rates.push(numbers.learning_rate);
        Ok(())
    }

    fn log(&mut self, line: &LogLine<f64>) -> Result<(), Error> {
        self.evaluations.push((line.step, line.learning_rate));
        Ok(())
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        // through a file, as a run has it
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        checkpoint.save(&path, "basis")?;
        self.last = Some(Checkpoint::load(&path, "basis")?);
        Ok(())
    }
}

/// Calls a function at steps, `false`, and evaluations, `true`.
struct At<F>(F);

impl<F: FnMut(u64, bool, &Control) + Send> Observer for At<F> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Step { step, control, .. } => (self.0)(*step, false, control),
            Event::Evaluation { step, control, .. } => (self.0)(*step, true, control),
            _ => {}
        }
    }
}

struct Trained {
    values: BTreeMap<String, Vec<f32>>,
    best: Best,
    steps: u64,
}

/// Trains a table of one row, whose target is (1, −1), from (0, 0). The score of an evaluation is the next of `scores`, and
/// 0 where there are none.
fn trained(
    config: &TrainingConfig,
    ranks: &Processes,
    start: Option<Checkpoint>,
    scores: &[f64],
    stored: &mut Stored,
    observe: impl FnMut(u64, bool, &Control) + Send,
) -> Result<Trained, Error> {
    let scores = RefCell::new(scores.iter());
    let validate = &|_: &Model<Table>| {
        let score = scores.borrow_mut().next().copied().unwrap_or(0.0);
        Ok(Validation { metrics: score, score, loss: None })
    };
    let pairs = Pairs::new(&[0], &[1.0, -1.0], &[0.0])?;
    let task = Task { config, seed: 0, device: &device(), pairs, ranks, validate };
    let model = Model::new(Table::new(&[0.0; 2], 2));
    let done = train(&task, model, start, stored, &mut At(observe))?;
    Ok(Trained { values: values(&done.model), best: done.best, steps: done.steps })
}

/// Returns the row after steps of these rates: (w − t) shrinks by 1 − 2 lr.
fn row(rates: &[f64]) -> f64 {
    1.0 - rates.iter().map(|rate| 1.0 - 2.0 * rate).product::<f64>()
}

fn is_row(values: &BTreeMap<String, Vec<f32>>, expected: f64) -> bool {
    let row = &values["encoder.rows"];
    let close = |value: f32, expected: f64| (f64::from(value) - expected).abs() < 1e-6;
    close(row[0], expected) && close(row[1], -expected)
}

#[test]
fn a_stopped_training_ends_with_an_evaluation_and_its_state() {
    let alone = &Processes::default();
    let config = &TrainingConfig { evaluate_every: dsokr_train::Every::Epochs(4), ..config(20) };
    let mut stored = Stored::default();
    let stop = |step: u64, is_evaluation: bool, control: &Control| {
        if step == 6 && !is_evaluation {
            control.stop();
        }
    };
    let done = trained(config, alone, None, &[0.5, 0.4], &mut stored, stop).unwrap();
    assert_eq!(done.steps, 6);
    assert!(is_row(&done.values, row(&[0.1; 6])));
    assert_eq!(stored.evaluations, [(4, 0.1), (6, 0.1)]);
    // the evaluation before was better
    assert!(matches!(&done.best, Best::Given(best) if {
        let row = &best["encoder.rows"].values;
        (f64::from(row[0]) - self::row(&[0.1; 4])).abs() < 1e-6
    }));
    let last = stored.last.take().unwrap();
    assert_eq!((last.step, last.stopped), (6, Some(20)));

    // it is over, unless there are more steps
    let mut after = Stored::default();
    let done = trained(config, alone, Some(last.clone()), &[], &mut after, |_, _, _| {}).unwrap();
    assert_eq!((done.steps, after.rates.len()), (6, 0));
    let more = &TrainingConfig { epochs: 22, ..config.clone() };
    let done = trained(more, alone, Some(last), &[], &mut after, |_, _, _| {}).unwrap();
    assert_eq!((done.steps, after.rates.len()), (22, 16));
}

#[test]
fn a_training_is_stopped_at_an_evaluation() {
    let mut stored = Stored::default();
    let stop = |step: u64, is_evaluation: bool, control: &Control| {
        if step == 3 && is_evaluation {
            control.stop();
        }
    };
    let done =
        trained(&config(9), &Processes::default(), None, &[0.1, 0.2, 0.3], &mut stored, stop);
    let done = done.unwrap();
    assert_eq!((done.steps, stored.evaluations.len()), (3, 3));
    assert!(matches!(done.best, Best::Last));
    assert_eq!(stored.last.unwrap().step, 3);
}

#[test]
fn rates_change_from_the_next_step_on_and_are_logged() {
    let linear = &TrainingConfig { decay: Decay::Linear, ..config(8) };
    let change = |step: u64, is_evaluation: bool, control: &Control| match (step, is_evaluation) {
        (2, false) => {
            control.scale_learning_rate(0.5);
            assert!((control.learning_rate() - 0.5 * 0.1 * 6.0 / 8.0).abs() < 1e-12);
        }
        (3, true) => control.scale_learning_rate(0.5),
        (5, true) => control.set_learning_rate(0.3),
        (6, false) => control.scale_learning_rate(2.0),
        _ => {}
    };
    let mut stored = Stored::default();
    let done = trained(linear, &Processes::default(), None, &[], &mut stored, change).unwrap();
    let scheduled = |step: usize| 0.1 * (8 - step) as f64 / 8.0;
    let expected = [
        scheduled(0),
        scheduled(1),
        0.5 * scheduled(2),
        0.25 * scheduled(3),
        0.25 * scheduled(4),
        0.3,
        0.6,
        0.6,
    ];
    let close = |a: &[f64], b: &[f64]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    assert!(close(&stored.rates, &expected), "{:?}", stored.rates);
    let logged: Vec<f64> = stored.evaluations.iter().map(|(_, rate)| *rate).collect();
    assert!(close(&logged, &expected), "{logged:?}");
    assert!(is_row(&done.values, row(&expected)));
}

#[test]
fn a_resumed_training_keeps_its_changed_rate_bit_for_bit() {
    let adam = OptimizerName::AdamW;
    let config = &TrainingConfig { optimizer: adam, checkpoint_seconds: 0, warmup: 3, ..config(9) };
    for (absolute, expected) in [(true, RateChange::Fixed(0.07)), (false, RateChange::Factor(0.3))]
    {
        let change = |step: u64, is_evaluation: bool, control: &Control| {
            if step == 2 && !is_evaluation && absolute {
                control.set_learning_rate(0.07);
            } else if step == 2 && !is_evaluation {
                control.scale_learning_rate(0.3);
            }
        };
        let alone = &Processes::default();
        let whole = trained(config, alone, None, &[], &mut Stored::default(), change).unwrap();
        // the state after the fourth step
        let mut stored = Stored::default();
        let cancellation = dsokr_core::Cancellation::default();
        let button = cancellation.clone();
        let until = |step: u64, is_evaluation: bool, control: &Control| {
            change(step, is_evaluation, control);
            if step == 4 {
                button.cancel();
            }
        };
        let ended = cancellation.scope(|| trained(config, alone, None, &[], &mut stored, until));
        assert!(matches!(ended.err(), Some(Error::Interrupted { step: 4 })));
        let start = stored.last.take().unwrap();
        assert_eq!((start.step, start.rate), (4, expected));
        let resumed = trained(config, alone, Some(start), &[], &mut stored, |_, _, _| {}).unwrap();
        assert_eq!(resumed.values, whole.values);
        // without the change they differ
        let plain = trained(config, alone, None, &[], &mut stored, |_, _, _| {}).unwrap();
        assert_ne!(plain.values, whole.values);
    }
}

#[test]
fn evaluations_are_made_where_they_are_asked_for() {
    let config = &TrainingConfig { evaluate_every: dsokr_train::Every::Epochs(5), ..config(9) };
    let mut stored = Stored::default();
    let ask = |step: u64, is_evaluation: bool, control: &Control| {
        // twice at step 2, and where there is one anyway
        if [2, 5, 7].contains(&step) && (!is_evaluation || step == 2) {
            control.evaluate();
        }
    };
    trained(config, &Processes::default(), None, &[], &mut stored, ask).unwrap();
    let steps: Vec<u64> = stored.evaluations.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [2, 5, 7, 9]);
}

#[test]
fn the_model_is_that_of_the_step() {
    let mut seen = Vec::new();
    let look = |step: u64, is_evaluation, control: &Control| {
        let parameters = control.parameters();
        let model = control.model::<Table>().expect("the model's type");
        assert_eq!(values(model)["encoder.rows"], *parameters["encoder.rows"].values);
        assert!(control.model::<dsokr_nn::Mlp>().is_none());
        assert_eq!(model.encoder.dimension(), 2);
        seen.push((step, is_evaluation, parameters["encoder.rows"].values[0]));
    };
    let averaged = &TrainingConfig { ema: 0.5, ..config(3) };
    trained(averaged, &Processes::default(), None, &[], &mut Stored::default(), look).unwrap();
    // the rows after each step, and their average, which is evaluated
    let rows: Vec<f64> = (1..=3).map(|steps| row(&vec![0.1; steps])).collect();
    let mut average = rows[0];
    let mut expected = Vec::new();
    for (at, &row) in rows.iter().enumerate() {
        average += 0.5 * (row - average);
        expected.extend([(at as u64 + 1, false, row), (at as u64 + 1, true, average)]);
    }
    assert_eq!(seen.len(), expected.len());
    for ((step, is_evaluation, value), expected) in seen.into_iter().zip(expected) {
        assert_eq!((step, is_evaluation), (expected.0, expected.1));
        assert!((f64::from(value) - expected.2).abs() < 1e-6, "{step}: {value} {expected:?}");
    }
}

#[test]
fn all_ranks_follow_the_observer_of_the_first() {
    let config = &TrainingConfig { evaluate_every: dsokr_train::Every::Epochs(4), ..config(20) };
    let act = |decides: bool| {
        move |step: u64, is_evaluation: bool, control: &Control| match (
            decides,
            step,
            is_evaluation,
        ) {
            (true, 2, false) => control.set_learning_rate(0.2),
            (true, 3, false) => control.evaluate(),
            (true, 3, true) => control.scale_learning_rate(0.5),
            (true, 4, true) => control.scale_learning_rate(0.5),
            (true, 6, false) => control.stop(),
            // without effect
            (false, 1, _) => {
                control.set_learning_rate(7.0);
                control.stop();
            }
            _ => {}
        }
    };
    let expected = row(&[0.1, 0.1, 0.2, 0.1, 0.05, 0.05]);
    for size in [1, 2, 3] {
        let results = threads(size, |ranks| {
            let mut stored = Stored::default();
            let act = act(ranks.is_first());
            let done = trained(config, ranks, None, &[], &mut stored, act).unwrap();
            (done.steps, done.values, stored.evaluations.len())
        });
        for (rank, (steps, values, evaluations)) in results.into_iter().enumerate() {
            assert_eq!(steps, 6, "rank {rank} of {size}");
            assert!(is_row(&values, expected), "rank {rank} of {size}: {values:?}");
            assert_eq!(evaluations, if rank == 0 { 3 } else { 0 });
        }
    }
}

#[test]
fn rates_that_are_none_end_the_training_on_all_ranks() {
    for (rate, message) in [
        (0.0, "the rate of set_learning_rate = 0: expected a finite 32-bit number above 0"),
        (1e300, "the rate of set_learning_rate = 1e300: expected a finite 32-bit number above 0"),
        (f64::NAN, "the rate of set_learning_rate = NaN: expected a finite 32-bit number above 0"),
        (-1.0, "the factor of scale_learning_rate = -1: expected a finite 32-bit number above 0"),
    ] {
        let errors = threads(2, |ranks| {
            let act = |step, _, control: &Control| match step {
                2 if rate < 0.0 => control.scale_learning_rate(rate),
                2 => control.set_learning_rate(rate),
                _ => {}
            };
            let ended = trained(&config(9), ranks, None, &[], &mut Stored::default(), act);
            ended.err().map(|error| error.to_string())
        });
        assert_eq!(errors, [Some(message.to_owned()), Some(message.to_owned())]);
    }
}
