use crate::config::{DataConfig, OutputSource};

/// What a configuration says of the data.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The pairs: `[data]`.
    pub data: &'a DataConfig,
    /// The outputs: those keys of `[output]` that do not say how they are compared.
    pub outputs: OutputSource<'a>,
    /// The seed of everything that is drawn.
    pub seed: u64,
}
