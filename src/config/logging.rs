use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run logs beside `log.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoggingConfig {
    /// Whether every evaluation, and the loss of steps, is also written as TensorBoard scalars, into the
    /// folder `tensorboard` of the run: `tensorboard --logdir runs` shows all runs.
    pub tensorboard: bool,
}
