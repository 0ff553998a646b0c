//! The sizes of models, counted from their settings before any memory is taken.

use std::borrow::Cow;

/// The size of a part of a model. The numbers are `f64`, because configured sizes may overflow an integer.
#[derive(Clone, Debug, PartialEq)]
pub struct PartSize {
    /// The keys of the settings that determine it.
    pub keys: Cow<'static, str>,
    /// Number of parameters.
    pub parameters: f64,
    /// Numbers that a training step keeps of one input for the backward pass.
    pub activations: f64,
    /// Multiplications of the forward pass of one input. Those that take less time than in 32 bits count as less than
    /// one.
    pub products: f64,
}

impl PartSize {
    /// The same with keys of the table `table`.
    pub fn inside(self, table: &str) -> Self {
        let keys = self.keys.split(" × ").map(|key| format!("{table}.{key}"));
        Self { keys: keys.collect::<Vec<_>>().join(" × ").into(), ..self }
    }
}

/// Linear layers `widths[0] → widths[1] → …` on one vector.
pub(crate) fn layers(keys: &'static str, widths: &[usize]) -> PartSize {
    let products = widths.windows(2).map(|pair| pair[0] as f64 * pair[1] as f64).sum();
    let biases: f64 = widths.iter().skip(1).map(|&width| width as f64).sum();
    // of a layer: its output, GELU, the mask of dropout, and the slope of one of them
    let keys = keys.into();
    PartSize { keys, parameters: products + biases, activations: 4.0 * biases, products }
}
