//! The sizes of models, counted from their settings before any memory is taken.

use std::borrow::Cow;

use crate::transformer::Architecture;
use crate::{Precision, fused};

/// What a part of a model takes. The numbers are no integers because settings may ask for more than an
/// integer holds.
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

/// A transformer with a head onto `coordinates`, on texts of `length` tokens, whose products have `precision`.
pub(crate) fn transformer(
    architecture: &Architecture,
    recomputes: bool,
    precision: Precision,
    length: f64,
    coordinates: usize,
) -> Vec<PartSize> {
    let Architecture { vocabulary, positions, types, layers, width, heads, feed_forward, .. } =
        *architecture;
    let [width, inner, depth] = [width, feed_forward, layers].map(|size| size as f64);
    let kept = if recomputes { 1.0 } else { depth };
    let share = fused::step_time(precision);
    let tables = |keys: &'static str, rows: f64| PartSize {
        keys: keys.into(),
        parameters: rows * width,
        activations: 0.0,
        products: 0.0,
    };
    vec![
        tables("tokens.vocabulary × width", (vocabulary + types) as f64),
        tables("max_length × width", positions as f64),
        PartSize {
            keys: "layers × width".into(),
            parameters: depth * (4.0 * width * width + 9.0 * width),
            activations: length * width * (12.0 * kept + depth) + kept * heads as f64 * length,
            products: share * depth * length * (4.0 * width * width + 2.0 * length * width),
        },
        PartSize {
            keys: "layers × width × feed_forward".into(),
            parameters: depth * (2.0 * width * inner + inner),
            activations: 3.0 * kept * length * inner,
            products: share * 2.0 * depth * length * width * inner,
        },
        super::size::layers("width", &[architecture.width, coordinates]),
    ]
}
