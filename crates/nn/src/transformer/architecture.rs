use crate::error::check;
use crate::pass::check_dropout;
use crate::{Error, PartSize, Precision, fused, size};

/// Sizes, rates and arithmetic of a transformer with post-norm layers, GELU and learned positions, as in BERT
/// (Devlin et al. 2019).
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    /// Number of tokens, special ones included.
    pub vocabulary: usize,
    /// Rows of the table of positions.
    pub positions: usize,
    /// The row of a text's first token: 0 for BERT; 2 for RoBERTa, which reserves rows for padding.
    pub first_position: usize,
    /// Rows of the table of token types, whose first is added to every token; 0 for no table.
    pub types: usize,
    /// Number of layers.
    pub layers: usize,
    /// Width d of the token vectors.
    pub width: usize,
    /// Number of attention heads; divides `width`.
    pub heads: usize,
    /// Width of the feed-forward layers.
    pub feed_forward: usize,
    /// Added to the variance in layer normalisation.
    pub epsilon: f64,
    /// Share of units dropped in training after the embeddings and after each sub-layer.
    pub dropout: f32,
    /// Share of attention probabilities dropped.
    pub attention_dropout: f32,
    /// Share of the feed-forward layers' inner units dropped.
    pub inner_dropout: f32,
    /// The numbers that matrix products multiply.
    pub precision: Precision,
    /// Activation checkpointing: layers keep only their input and are computed again in the backward
    /// pass, which costs about a third more time and saves most of the memory. Values and gradients do
    /// not change.
    ///
    /// This applies to the CPU engine. On other devices use Burn's
    /// [`gradient_checkpointing`](burn::tensor::Device::gradient_checkpointing).
    pub recompute: bool,
}

impl Architecture {
    /// Checks sizes and rates.
    ///
    /// # Errors
    /// A size of 0, a number of heads that does not divide the width, no position for a token, or a
    /// dropout outside `[0, 1)`.
    pub fn validate(&self) -> Result<(), Error> {
        let sizes = [
            ("vocabulary", self.vocabulary),
            ("layers", self.layers),
            ("width", self.width),
            ("heads", self.heads),
            ("feed_forward", self.feed_forward),
        ];
        for (key, size) in sizes {
            check(size > 0, key, size, "at least 1")?;
        }
        let allowed = format!("a divisor of width = {}", self.width);
        check(self.width.is_multiple_of(self.heads), "heads", self.heads, allowed)?;
        let (positions, first) = (self.positions, self.first_position);
        check(positions > first, "max_length", positions, format!("at least {}", first + 1))?;
        check_dropout("dropout", self.dropout)?;
        check_dropout("attention_dropout", self.attention_dropout)?;
        check_dropout("inner_dropout", self.inner_dropout)
    }

    /// Longest text in tokens.
    pub fn longest(&self) -> usize {
        self.positions.saturating_sub(self.first_position)
    }

    /// The size of a transformer with a head onto `coordinates`, on texts of `length` tokens.
    pub(crate) fn size(&self, length: f64, coordinates: usize) -> Vec<PartSize> {
        let Self { vocabulary, positions, types, layers, width, heads, feed_forward, .. } = *self;
        let [width, inner, depth] = [width, feed_forward, layers].map(|size| size as f64);
        let kept = if self.recompute { 1.0 } else { depth };
        let share = fused::step_time(self.precision);
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
            size::layers("width", &[self.width, coordinates]),
        ]
    }
}
