use std::cell::RefCell;

use burn::tensor::Device;
use dsokr_nn::{FrozenBasis, MlpConfig};

use super::*;
use crate::TrainingConfig;

/// The evaluations that are the best so far.
#[derive(Default)]
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
    let device = Device::flex().autodiff();
    let config = TrainingConfig { epochs: 5, warmup: 0, ..TrainingConfig::default() };
    let scores = RefCell::new(vec![0.2, 0.1, f64::NAN, 0.1, f64::NAN]);
    let validate = &|_: &_| {
        let score = scores.borrow_mut().pop().unwrap();
        Ok(Validation { metrics: score, score })
    };
    let (inputs, targets, residuals) = (&[vec![1.0]], &[0.5], &[0.0]);
    let task =
        Task { config: &config, seed: 0, device: &device, inputs, targets, residuals, validate };
    let encoder = MlpConfig { hidden: vec![], dropout: 0.0 };
    let encoder = encoder.init(1, &[0.0], &mut generator(0, "parameters", 0), &device);
    let model = Model::new(encoder, FrozenBasis::new(vec![1.0], 1, &device));
    let mut bests = Bests::default();
    train(&task, model, None, &mut (), &mut bests).unwrap();
    assert_eq!(bests.0, [true, true, false, false, true]);
}

#[test]
fn slow_steps_are_estimated_within_ten_seconds() {
    let first = |milliseconds: u64| {
        let elapsed = |steps: u64| Duration::from_millis(milliseconds * steps);
        (1..).find(|&steps| estimate_is_due(steps, elapsed(steps))).map(elapsed)
    };
    assert_eq!(first(1), Some(Duration::from_millis(20)));
    for slow in [150, 1_000, 3_000, 5_000, 9_000] {
        assert!(first(slow).is_some_and(|after| after < Duration::from_secs(10)), "{slow}");
    }
}
