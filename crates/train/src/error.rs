//! The errors of a training.

use dsokr_core::Argument;

/// Errors of a training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The state of the optimiser, which belongs to a different model.
    #[error("the checkpoint holds {0}")]
    Optimizer(String),
    /// Training pairs without an input, or whose parts do not fit.
    #[error("training pairs: {0}")]
    Pairs(String),
    /// An encoder whose predictions do not have the shape that it promises.
    #[error(
        "the encoder returns a matrix of {} × {} for {} inputs of {} coordinates: `forward` gives a row of `dimension` \
         coordinates for each input",
        found[0], found[1], expected[0], expected[1]
    )]
    Encoder {
        /// The shape of what it returns.
        found: [usize; 2],
        /// The number of inputs, and the dimension of the encoder.
        expected: [usize; 2],
    },
    /// The loss, a gradient, a parameter or a prediction is NaN or infinite.
    #[error(
        "{what} at step {step} (learning rate {learning_rate:.3e}): {}; {}",
        remedy(*step, *is_clipped),
        kept.map_or("there is no checkpoint yet".into(), |step| {
            format!(
                "the last checkpoint, of step {step}, is kept, and {} with {} goes on from it",
                Argument::switch("resume"),
                Argument::new("set").with("training.learning_rate=VALUE"),
            )
        })
    )]
    Diverged {
        /// Its name, in words.
        what: String,
        /// The step.
        step: u64,
        /// The learning rate there.
        learning_rate: f64,
        /// Whether gradients are clipped, `training.clip` being above 0.
        is_clipped: bool,
        /// Step of the last checkpoint, if there is one.
        kept: Option<u64>,
    },
    /// The training was [cancelled](dsokr_core::Cancellation).
    #[error("interrupted at step {step}")]
    Interrupted {
        /// The step.
        step: u64,
    },
    /// A prediction that is not finite, found by the validation of a [`Task`](crate::Task).
    #[error("a prediction is not finite")]
    NotFinite,
    /// Files of the training.
    #[error(transparent)]
    Core(#[from] dsokr_core::Error),
    /// The encoder or its parameters.
    #[error(transparent)]
    Nn(#[from] dsokr_nn::Error),
    /// An unchanged error of the caller's validation or checkpoints.
    #[error(transparent)]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

/// Returns what helps against values that are not finite, found at this step.
fn remedy(step: u64, is_clipped: bool) -> &'static str {
    match (step, is_clipped) {
        (0, _) => {
            "no step has been made that could have gone too far, so look at the inputs, and at what the encoder makes of them"
        }
        (_, true) => "lower training.learning_rate",
        (_, false) => "lower training.learning_rate or set training.clip",
    }
}
