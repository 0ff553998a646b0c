//! One line an epoch on standard error, in place of Burn's line a step.

use burn_train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn_train::metric::{MetricDefinition, NumericEntry};
use burn_train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation,
    MetricsRendererTraining,
};

/// Mean losses of the epoch under way.
#[derive(Default)]
pub struct Lines {
    train: Option<f64>,
    validation: Option<f64>,
}

fn mean(state: &MetricState) -> Option<f64> {
    match state {
        MetricState::Numeric(_, Some(NumericEntry::Final(mean))) => Some(*mean),
        _ => None,
    }
}

impl MetricsRendererTraining for Lines {
    fn update_train(&mut self, state: MetricState) {
        self.train = mean(&state).or(self.train);
    }

    fn update_valid(&mut self, state: MetricState) {
        self.validation = mean(&state).or(self.validation);
    }
}

impl TrainingProgressLogger for Lines {
    fn start(&mut self, _: usize, _: usize, _: Option<usize>, _: Option<&str>) {}

    fn update_epoch(&mut self, epoch: usize) {
        let show = |loss: Option<f64>| loss.map_or("unknown".into(), |loss| format!("{loss:.4}"));
        let (train, validation) = (show(self.train.take()), show(self.validation.take()));
        eprintln!("epoch {epoch}: loss {train}, validation loss {validation}");
    }

    fn start_split(&mut self, _: &str, _: usize) {}

    fn update_split(&mut self, _: usize) {}

    fn end_split(&mut self) {}

    fn end(&mut self) {}

    fn log_event_training(&mut self, _: String) {}
}

impl EvaluationProgressLogger for Lines {
    fn start_global_progress(&mut self, _: usize) {}

    fn start_test(&mut self, _: &str, _: usize) {}

    fn update_test_progress(&mut self, _: usize) {}

    fn end_test(&mut self) {}

    fn end_global_progress(&mut self) {}

    fn log_event_evaluation(&mut self, _: String) {}
}

impl MetricsRendererEvaluation for Lines {
    fn update_test(&mut self, _: EvaluationName, _: MetricState) {}
}

impl MetricsRenderer for Lines {
    fn manual_close(&mut self) {}

    fn register_metric(&mut self, _: MetricDefinition) {}
}
