use std::cell::RefCell;

use super::*;
use crate::TrainingConfig;
use crate::problem::{Problem, mlp};

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
    let config = TrainingConfig { epochs: 5, warmup: 0, ..TrainingConfig::default() };
    let scores = RefCell::new(vec![0.2, 0.1, f64::NAN, 0.1, f64::NAN]);
    let validate = &|_: &_| {
        let score = scores.borrow_mut().pop().unwrap();
        Ok(Validation { metrics: score, score })
    };
    let problem = Problem::new(config, vec![vec![1.0]], &[0.5; 2]);
    let (task, model) =
        (problem.validated(validate), Model::new(mlp(1, &[], 0.0, &problem.device)));
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
