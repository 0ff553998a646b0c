use crate::{Decay, TrainingConfig};

/// The learning rate of step `step` (from 0) of `total`: `(step + 1) / warmup` of the largest during
/// the warm-up, then the decay, which would reach zero at step `total`.
pub fn learning_rate(config: &TrainingConfig, step: u64, total: u64) -> f64 {
    let warmup = config.warmup as u64;
    if step < warmup {
        return config.learning_rate * (step + 1) as f64 / warmup as f64;
    }
    let done = (step - warmup) as f64 / total.saturating_sub(warmup).max(1) as f64;
    let share = match config.decay {
        Decay::None => 1.0,
        Decay::Linear => 1.0 - done,
        Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
    };
    config.learning_rate * share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(decay: Decay) -> TrainingConfig {
        TrainingConfig { learning_rate: 2.0, warmup: 4, decay, ..TrainingConfig::default() }
    }

    #[test]
    fn the_warm_up_ends_at_the_largest_rate_and_the_decay_begins_there() {
        let rates: Vec<f64> =
            (0..6).map(|s| learning_rate(&config(Decay::Linear), s, 14)).collect();
        assert_eq!(rates, [0.5, 1.0, 1.5, 2.0, 2.0, 1.8]);
    }

    #[test]
    fn decays_fall_to_nearly_zero_and_never_below() {
        for decay in [Decay::Linear, Decay::Cosine] {
            let rates: Vec<f64> = (4..14).map(|s| learning_rate(&config(decay), s, 14)).collect();
            assert!(rates.windows(2).all(|w| w[1] < w[0]), "{decay:?}: {rates:?}");
            assert!(rates[9] > 0.0 && rates[9] <= 0.21);
        }
        assert_eq!(learning_rate(&config(Decay::None), 13, 14), 2.0);
    }

    #[test]
    fn a_warm_up_longer_than_training_is_only_a_warm_up() {
        assert_eq!(learning_rate(&config(Decay::Linear), 2, 3), 1.5);
    }
}
