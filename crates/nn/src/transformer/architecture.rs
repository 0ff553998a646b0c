use dsokr_kernels::Precision;
use smart_default::SmartDefault;

use super::activation::Activation;
use super::positions::{Positions, Window};
use crate::encoder::{PartSize, layers_size};
use crate::error::{Error, check};
use crate::pass::check_dropout;

/// Where a layer normalises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormPlace {
    /// The sum of each sub-layer and its input, as in BERT: `x ← norm(x + f(x))`.
    #[default]
    After,
    /// The input of each sub-layer, `x ← x + f(norm(x))`, and once the result of the last layer.
    Before,
    /// The input and the result of each sub-layer, `x ← x + norm(f(norm(x)))`, and once the result of the last layer.
    Around,
    /// [`Before`](Self::Before), except for the first layer's attention, whose input is normalised as embeddings.
    BeforeButFirst,
}

/// The scale of the token vectors of ESM, which was trained with masked tokens that were set to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskedTokens {
    /// The id of the mask, whose vector is 0.
    pub mask: u32,
}

/// Sizes, rates and arithmetic of a transformer, and how it differs from BERT (Devlin et al. 2019), whose base size
/// without a vocabulary is the default: learned positions, normalisation after each sub-layer, GELU.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct Architecture {
    /// Number of tokens, special ones included.
    pub vocabulary: usize,
    /// What tells positions apart.
    pub position_kind: Positions,
    /// Rows of the table of learned positions, or where there is none, the longest text in tokens.
    #[default(512)]
    pub positions: usize,
    /// The row of a text's first token: 0 for BERT; 2 for RoBERTa, which reserves rows for padding.
    pub first_position: usize,
    /// The token that stands for padding, if it has the row before the first one wherever it is in a text, and is not
    /// counted by the positions of others, as in fairseq.
    pub padding: Option<u32>,
    /// Rows of the table of token types, whose first is added to every token; 0 for no table.
    pub types: usize,
    /// Width of the tables of embeddings, if a linear layer maps them to `width`; 0 if they have that width.
    pub embedding_width: usize,
    /// Whether vectors of tokens are multiplied by the square root of `width` (Vaswani et al. 2017, section 3.4).
    pub embedding_scale: bool,
    /// Whether embeddings are normalised.
    #[default(true)]
    pub embedding_norm: bool,
    /// The scale of token vectors, for ESM.
    pub masked_tokens: Option<MaskedTokens>,
    /// Number of layers.
    #[default(12)]
    pub layers: usize,
    /// Number of layers with parameters of their own, each of which stands for as many consecutive layers; 0 for all of
    /// them.
    pub own_layers: usize,
    /// Width d of the token vectors.
    #[default(768)]
    pub width: usize,
    /// Number of attention heads; divides `width`, unless `head_width` says how wide they are.
    #[default(12)]
    pub heads: usize,
    /// Width of the queries, keys and values of a head; 0 if all heads together have `width`.
    pub head_width: usize,
    /// Number of heads of keys and values, each of which serves as many consecutive heads of queries (Ainslie et al. 2023,
    /// GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints); 0 if each has its own.
    pub key_heads: usize,
    /// Whether queries and keys are normalised, each head by itself.
    pub head_norm: bool,
    /// Whether a token attends to none behind it, as in decoders.
    pub causal: bool,
    /// Whether products of queries and keys are divided by the square root of their width.
    #[default(true)]
    pub scaled_scores: bool,
    /// Width of the feed-forward layers.
    #[default(3072)]
    pub feed_forward: usize,
    /// The function of the feed-forward layers' inner units.
    #[default(Activation::Gelu)]
    pub activation: Activation,
    /// Whether half of the inner units are factors of the other half's activations (Shazeer 2020, GLU Variants Improve
    /// Transformer): `down(activation(a) ∘ b)` with `(a, b) = up(x)`.
    pub gated: bool,
    /// Where a layer normalises.
    pub norm_place: NormPlace,
    /// Whether normalisations subtract the mean. Those that do not divide by the root of the mean square alone (Zhang and
    /// Sennrich 2019, Root Mean Square Layer Normalization).
    #[default(true)]
    pub norm_centred: bool,
    /// Whether normalisations multiply by one more than their parameters say.
    pub norm_adds_one: bool,
    /// Whether normalisations add a vector.
    #[default(true)]
    pub norm_bias: bool,
    /// Whether the linear layer of queries, keys and values adds a vector.
    #[default(true)]
    pub attention_bias: bool,
    /// Whether the linear layer behind attention adds a vector.
    #[default(true)]
    pub output_bias: bool,
    /// Whether the linear layers of feed-forward layers add a vector.
    #[default(true)]
    pub feed_forward_bias: bool,
    /// Added to the variance, or the mean square, in normalisations.
    #[default(1e-12)]
    pub epsilon: f64,
    /// Share of units dropped in training after the embeddings and after each sub-layer.
    #[default(0.1)]
    pub dropout: f32,
    /// Share of attention probabilities dropped.
    #[default(0.1)]
    pub attention_dropout: f32,
    /// Share of the feed-forward layers' inner units dropped.
    pub inner_dropout: f32,
    /// Whether `dropout` is the share of inner units too, in the place of `inner_dropout`, and of the results of the last
    /// normalisation.
    pub drops_everywhere: bool,
    /// The numbers that matrix products multiply.
    pub precision: Precision,
    /// Activation checkpointing: layers keep only their input and are computed again in the backward
    /// pass, which costs about a third more time and saves most of the memory. Values and gradients do
    /// not change.
    pub recompute: bool,
}

impl Architecture {
    /// Checks sizes and rates.
    ///
    /// # Errors
    /// A size of 0, a number of heads that does not divide the width, or one of keys that does not divide it, no position
    /// for a token, or a dropout outside `[0, 1)`.
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
        let fits = self.head_width > 0 || self.width.is_multiple_of(self.heads);
        check(fits, "heads", self.heads, allowed)?;
        let allowed = format!("a divisor of heads = {}", self.heads);
        let fits = self.heads.is_multiple_of(self.key_heads());
        check(fits, "key_heads", self.key_heads, allowed)?;
        let positions = self.positions;
        let first = self.first_position;
        check(positions > first, "max_length", positions, format!("at least {}", first + 1))?;
        check_dropout("dropout", self.dropout)?;
        check_dropout("attention_dropout", self.attention_dropout)?;
        check_dropout("inner_dropout", self.inner_dropout)
    }

    /// Returns the length of the longest text, in tokens.
    pub fn longest(&self) -> usize {
        self.positions.saturating_sub(self.first_position)
    }

    /// Returns the number of layers with parameters of their own.
    pub fn own_layers(&self) -> usize {
        if self.own_layers == 0 { self.layers } else { self.own_layers }
    }

    /// Returns the width of the tables of embeddings.
    pub(crate) fn table_width(&self) -> usize {
        if self.embedding_width == 0 { self.width } else { self.embedding_width }
    }

    /// Returns the factor of vectors of tokens, where they have one.
    pub(super) fn embedding_factor(&self) -> Option<f32> {
        self.embedding_scale.then(|| (self.width as f32).sqrt())
    }

    /// Returns the width of the queries, keys and values of a head.
    pub fn head_width(&self) -> usize {
        if self.head_width == 0 { self.width / self.heads } else { self.head_width }
    }

    /// Returns the width of the queries of all heads.
    pub(crate) fn attention_width(&self) -> usize {
        self.heads * self.head_width()
    }

    /// Returns the number of heads of keys and values.
    pub(crate) fn key_heads(&self) -> usize {
        if self.key_heads == 0 { self.heads } else { self.key_heads }
    }

    /// Returns the width of the keys, or the values, of all their heads.
    pub(crate) fn key_width(&self) -> usize {
        self.key_heads() * self.head_width()
    }

    /// Returns which tokens of a text a token attends to in a layer.
    pub(super) fn window(&self, layer: usize) -> Window {
        Window { reach: self.position_kind.reach(layer), is_causal: self.causal }
    }

    /// Returns the share of the feed-forward layers' inner units that is dropped.
    pub fn inner_dropout(&self) -> f32 {
        if self.drops_everywhere { self.dropout } else { self.inner_dropout }
    }

    /// Returns the number of units of a layer's first feed-forward product.
    pub(crate) fn inner_units(&self) -> usize {
        if self.gated { 2 * self.feed_forward } else { self.feed_forward }
    }

    /// Returns whether layers normalise the inputs of their sub-layers.
    pub(crate) fn normalises_before(&self) -> bool {
        match self.norm_place {
            NormPlace::After => false,
            NormPlace::Before | NormPlace::Around | NormPlace::BeforeButFirst => true,
        }
    }

    /// Returns whether layers normalise the results of their sub-layers before they are added.
    pub(crate) fn normalises_results(&self) -> bool {
        match self.norm_place {
            NormPlace::After | NormPlace::Before | NormPlace::BeforeButFirst => false,
            NormPlace::Around => true,
        }
    }

    /// Returns whether attention compares all tokens of a text by nothing but their vectors, layers normalise after their
    /// sub-layers, and nothing is dropped behind them: of those the last may be computed for first tokens alone.
    pub(crate) fn is_plain(&self) -> bool {
        // a new field is named here, so that it is said whether it changes attention; ONNX graphs (`graph.rs`) and weight files
        // (`layout` in `weights.rs`) may depend on it too
        let Self {
            position_kind,
            scaled_scores,
            norm_place: _,
            masked_tokens,
            vocabulary: _,
            positions: _,
            first_position: _,
            padding: _,
            types: _,
            embedding_width: _,
            embedding_scale: _,
            embedding_norm: _,
            layers: _,
            own_layers: _,
            width: _,
            heads: _,
            head_width: _,
            key_heads,
            head_norm,
            causal,
            feed_forward: _,
            activation: _,
            gated: _,
            norm_centred: _,
            norm_adds_one: _,
            norm_bias: _,
            attention_bias: _,
            output_bias: _,
            feed_forward_bias: _,
            epsilon: _,
            dropout: _,
            attention_dropout: _,
            inner_dropout: _,
            drops_everywhere,
            precision: _,
            recompute: _,
        } = self;
        *position_kind == Positions::Learned
            && *scaled_scores
            && *key_heads == 0
            && !head_norm
            && !causal
            && !self.normalises_before()
            && masked_tokens.is_none()
            && !drops_everywhere
    }

    /// Returns whether the fused attention serves texts of `longest` tokens in all layers.
    fn has_fused_attention(&self, longest: usize) -> bool {
        let has_relative = self.position_kind.distances().is_some()
            || self.position_kind.distance_vectors().is_some();
        let is_whole = |layer| self.window(layer).is_whole(longest);
        self.scaled_scores && !has_relative && (0..self.layers).all(is_whole)
    }

    /// Returns the size of a transformer on texts of `length` tokens, with linear layers of these widths behind it: from
    /// the vectors of texts to the coordinates.
    pub(crate) fn size(&self, length: f64, widths: &[usize]) -> Vec<PartSize> {
        let Self { vocabulary, positions, types, layers, width, heads, .. } = *self;
        let [width, inner, depth] = [width, self.feed_forward, layers].map(|size| size as f64);
        let units = self.inner_units() as f64;
        let attention = self.attention_width() as f64;
        let projected = attention + 2.0 * self.key_width() as f64;
        // keys and values that several heads share are copied for each
        let copied = if self.key_heads() == self.heads { 0.0 } else { 3.0 * attention };
        // products of queries and keys with each other, or with vectors for distances of both signs too
        let compared = if self.position_kind.distance_vectors().is_some() { 5.0 } else { 1.0 };
        // normalisations that no fused operation computes keep what they multiply
        let norms = if self.normalises_results() { 4.0 } else { 2.0 };
        let normalised = if self.norm_centred { 0.0 } else { norms * width };
        let normalised_heads = if self.head_norm { 2.0 * projected } else { 0.0 };
        let own_layers = self.own_layers() as f64;
        let kept = if self.recompute { 1.0 } else { depth };
        let share = dsokr_kernels::step_time(self.precision);
        let gpu_width = if self.precision == Precision::Bf16 { 2.0 } else { 4.0 };
        let tables = |keys: &'static str, rows: f64| PartSize {
            keys: keys.into(),
            parameters: rows * self.table_width() as f64,
            activations: 0.0,
            gpu_width,
            products: 0.0,
        };
        let rows_of_positions = match self.position_kind.distance_vectors() {
            Some(vectors) => vectors.count(),
            None if self.position_kind.has_table() => positions,
            None => 0,
        };
        // units that no fused operation activates have 32 bits on GPUs too
        let is_fused = !self.gated && self.activation == Activation::Gelu;
        let unit_width = if is_fused { gpu_width } else { 4.0 };
        let mut parts = vec![
            tables("tokens.vocabulary × width", (vocabulary + types) as f64),
            tables("max_length × width", rows_of_positions as f64),
            PartSize {
                keys: "layers × width".into(),
                parameters: own_layers * (width * (projected + attention) + 9.0 * width),
                activations: length
                    * kept
                    * (8.0 * width
                        + projected
                        + attention
                        + copied
                        + normalised
                        + normalised_heads)
                    + length * width * depth
                    + kept * heads as f64 * length,
                gpu_width,
                products: share
                    * depth
                    * length
                    * (width * (projected + attention) + (1.0 + compared) * length * attention),
            },
            PartSize {
                keys: "layers × width × feed_forward".into(),
                parameters: own_layers * (width * (inner + units) + units),
                activations: kept * length * (2.0 * units + inner),
                gpu_width: unit_width,
                products: share * depth * length * width * (inner + units),
            },
            layers_size("width", widths),
        ];
        if !self.has_fused_attention(length as usize) {
            // the scores of all pairs of tokens
            parts.push(PartSize {
                keys: "layers × heads × max_length".into(),
                parameters: 0.0,
                activations: kept * 4.0 * heads as f64 * length * length,
                gpu_width: 4.0,
                products: 0.0,
            });
        }
        parts
    }
}
