use std::sync::Arc;

use burn::backend::DispatchTensor;
use burn::tensor::{DType, Device, Tensor, TensorData};
use dsokr_kernels::{Dropout, Sequences, SparseBatch, bag, masked, places};

/// What tells the positions of tokens apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Positions {
    /// A table of learned vectors, which are added to those of the tokens.
    #[default]
    Learned,
    /// A table of learned vectors, and numbers for distances.
    LearnedAndRelative(Distances),
    /// Numbers for distances alone.
    Relative(Distances),
    /// Vectors for distances, which queries and keys are compared with.
    Disentangled(DistanceVectors),
    /// Queries and keys are turned by angles that grow with the position (Su et al. 2021, RoFormer).
    Rotary {
        /// The base of the angles of layers in which each token attends to all.
        base: f64,
        /// The base of the angles of layers in which each token attends to those near it.
        local_base: f64,
        /// How far a token attends in such layers, in tokens, to either side unless the model is causal.
        reach: usize,
        /// Whether each layer is such a one.
        local: Vec<bool>,
    },
}

/// A learned number for each head and distance between two tokens, which is added to their score in every layer (Raffel
/// et al. 2020, T5). Long distances share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distances {
    /// How many numbers each head has, at least 4.
    pub buckets: usize,
    /// The distance from which on all have one number, more than a quarter of `buckets`.
    pub farthest: usize,
}

/// A learned vector for each distance between two tokens. Every layer compares the query and the key of two tokens with
/// the key and the query that it makes of the vector, and adds both products to their score (He et al. 2021, DeBERTa:
/// Decoding-enhanced BERT with Disentangled Attention, equation 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistanceVectors {
    /// Half the number of vectors.
    pub span: usize,
    /// The distance from which on all have one vector, if distances above half of `span` share vectors, more than that
    /// half; none where each distance below `span` has its own.
    pub farthest: Option<usize>,
    /// Whether the vectors are normalised.
    pub has_norm: bool,
}

impl Default for Distances {
    fn default() -> Self {
        Self { buckets: 32, farthest: 128 }
    }
}

impl Positions {
    /// Returns whether vectors of a table are added to those of tokens.
    pub(crate) fn has_table(&self) -> bool {
        match self {
            Self::Learned | Self::LearnedAndRelative(_) => true,
            Self::Relative(_) | Self::Disentangled(_) | Self::Rotary { .. } => false,
        }
    }

    /// Returns the numbers for distances, if there are any.
    pub(crate) fn distances(&self) -> Option<Distances> {
        match self {
            Self::LearnedAndRelative(distances) | Self::Relative(distances) => Some(*distances),
            Self::Learned | Self::Disentangled(_) | Self::Rotary { .. } => None,
        }
    }

    /// Returns the vectors for distances, if there are any.
    pub(crate) fn distance_vectors(&self) -> Option<DistanceVectors> {
        match self {
            Self::Disentangled(vectors) => Some(*vectors),
            Self::Learned
            | Self::LearnedAndRelative(_)
            | Self::Relative(_)
            | Self::Rotary { .. } => None,
        }
    }

    /// Returns how far a token attends in a layer, in tokens, if that has a bound.
    pub(super) fn reach(&self, layer: usize) -> Option<usize> {
        match self {
            Self::Learned
            | Self::LearnedAndRelative(_)
            | Self::Relative(_)
            | Self::Disentangled(_) => None,
            Self::Rotary { reach, .. } => self.is_local(layer).then_some(*reach),
        }
    }

    /// Returns whether a token attends to those near it alone in a layer.
    pub(super) fn is_local(&self, layer: usize) -> bool {
        match self {
            Self::Learned
            | Self::LearnedAndRelative(_)
            | Self::Relative(_)
            | Self::Disentangled(_) => false,
            Self::Rotary { local, .. } => local.get(layer).copied().unwrap_or(false),
        }
    }

    /// Returns the angles of queries and keys of a batch, if there are any.
    pub(super) fn rotations(
        &self,
        head: usize,
        sequences: &Arc<Sequences>,
        device: &Device,
    ) -> Option<Rotations> {
        let Self::Rotary { base, local_base, local, .. } = self else { return None };
        let of_base = |base: f64| Rotation::new(base, head, sequences, device);
        Some(Rotations {
            global: of_base(*base),
            local: local.contains(&true).then(|| of_base(*local_base)),
        })
    }
}

/// Which tokens of a text a token attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// How many tokens away, if that has a bound.
    pub(super) reach: Option<usize>,
    /// Whether none behind it.
    pub(super) is_causal: bool,
}

impl Window {
    /// Returns whether each token of a text of `longest` tokens attends to all.
    pub(super) fn is_whole(self, longest: usize) -> bool {
        let is_reached = self.reach.is_none_or(|reach| reach + 1 >= longest);
        is_reached && (!self.is_causal || longest <= 1)
    }

    /// Returns whether a token at the position `query` attends to the one at `key`.
    pub(super) fn contains(self, query: usize, key: usize) -> bool {
        let is_reached = self.reach.is_none_or(|reach| query.abs_diff(key) <= reach);
        is_reached && (!self.is_causal || key <= query)
    }
}

/// The angles of the layers of a batch.
#[derive(Clone, Debug)]
pub(super) struct Rotations {
    global: Rotation,
    /// The angles of local layers, if there are any.
    local: Option<Rotation>,
}

impl Rotations {
    /// Returns the angles as `change` makes their tensors, such as without autodiff.
    pub(super) fn each(&self, change: impl Fn(Tensor<2>) -> Tensor<2>) -> Self {
        let each = |rotation: &Rotation| Rotation {
            cos: change(rotation.cos.clone()),
            sin: change(rotation.sin.clone()),
        };
        Self { global: each(&self.global), local: self.local.as_ref().map(each) }
    }

    /// Turns the `turned` heads of queries and keys of a layer, side by side with those of values in `qkv`.
    pub(super) fn apply(
        &self,
        qkv: Tensor<2>,
        positions: &Positions,
        layer: usize,
        turned: usize,
    ) -> Tensor<2> {
        let local = self.local.as_ref().filter(|_| positions.is_local(layer));
        let rotation = local.unwrap_or(&self.global);
        rotation.apply(qkv, turned)
    }
}

/// Returns how much the angle of each pair of a head's `head` coordinates grows from one position to the next,
/// `base^(−2i / head)`, in 32 bits as the weights were trained.
pub(super) fn frequencies(base: f64, head: usize) -> Vec<f32> {
    let pairs = 0..head / 2;
    pairs.map(|pair| 1.0 / (base as f32).powf((2.0 * pair as f64 / head as f64) as f32)).collect()
}

/// Cosines and sines of the angles of each token, `[n, d_h / 2]`.
#[derive(Clone, Debug)]
struct Rotation {
    cos: Tensor<2>,
    sin: Tensor<2>,
}

impl Rotation {
    /// Creates the angles of all positions: that of a pair at position t is t times its frequency.
    fn new(base: f64, head: usize, sequences: &Arc<Sequences>, device: &Device) -> Self {
        let longest = sequences.longest();
        let half = head / 2;
        let frequencies = frequencies(base, head);
        let angle = |row: usize| (row / half) as f32 * frequencies[row % half];
        let table = |function: fn(f32) -> f32| {
            let values: Vec<f32> = (0..longest * half).map(|row| function(angle(row))).collect();
            let table = Tensor::from_data(TensorData::new(values, [longest, half]), device);
            places(table, sequences, 0)
        };
        Self { cos: table(f32::cos), sin: table(f32::sin) }
    }

    fn apply(&self, qkv: Tensor<2>, turned: usize) -> Tensor<2> {
        let [n, width] = qkv.dims();
        let [_, half] = self.cos.dims();
        let head = 2 * half;
        let turned_width = turned * head;
        // products in 16 bits have 32 bits here: angles need them
        let qkv = qkv.cast(DType::F32);
        let values = qkv.clone().narrow(1, turned_width, width - turned_width);
        let heads = qkv.narrow(1, 0, turned_width).reshape([n, turned, head]);
        let [x, y] = [0, half].map(|from| heads.clone().narrow(2, from, half));
        let [cos, sin] = [&self.cos, &self.sin].map(|table| table.clone().unsqueeze_dim::<3>(1));
        let first = x.clone() * cos.clone() - y.clone() * sin.clone();
        let second = y * cos + x * sin;
        let heads = Tensor::cat(vec![first, second], 2).reshape([n, turned_width]);
        Tensor::cat(vec![heads, values], 1)
    }
}

impl Distances {
    /// Returns what is added to the scores of each head `[1, heads, longest, longest]`, from the numbers of each distance
    /// `[buckets, heads]`.
    pub(super) fn scores(self, table: Tensor<2>, longest: usize) -> Tensor<4> {
        let [_, heads] = table.dims();
        // many pairs have one distance
        let before: Vec<u32> = (0..longest).map(|distance| self.bucket(distance, 0)).collect();
        let behind: Vec<u32> = (0..longest).map(|distance| self.bucket(0, distance)).collect();
        let pairs = (0..longest).flat_map(|query| (0..longest).map(move |key| (query, key)));
        let bucket = |(query, key): (usize, usize)| {
            if key > query { behind[key - query] } else { before[query - key] }
        };
        let rows = bag(table, Arc::new(SparseBatch::selection(pairs.map(bucket))), None);
        rows.reshape([1, longest, longest, heads]).permute([0, 3, 1, 2])
    }

    /// Returns the number of the distance from a query's position to a key's: one half for keys before it, one half for
    /// those behind it; in each half the short distances have numbers of their own, and the others share them by their
    /// logarithm.
    pub(super) fn bucket(self, query: usize, key: usize) -> u32 {
        let half = self.buckets / 2;
        let exact = half / 2;
        let side = if key > query { half } else { 0 };
        let distance = query.abs_diff(key);
        if distance < exact {
            return (side + distance) as u32;
        }
        let range = (self.farthest as f64 / exact as f64).ln() as f32;
        let growth = (distance as f32 / exact as f32).ln() / range;
        let shared = exact + (growth * (half - exact) as f32) as usize;
        (side + shared.min(half - 1)) as u32
    }
}

impl DistanceVectors {
    /// Returns the number of vectors.
    pub(crate) fn count(self) -> usize {
        2 * self.span
    }

    /// Returns the distance from which on all have one vector.
    pub(super) fn longest(self) -> usize {
        self.farthest.unwrap_or(self.span)
    }

    /// Returns the row of the vector for the distance from a key's position to a query's: the first half is for queries
    /// before the key.
    pub(super) fn row(self, query: usize, key: usize) -> usize {
        let bucket = self.bucket(query.abs_diff(key));
        let row = if query < key { self.span.saturating_sub(bucket) } else { self.span + bucket };
        row.min(self.count() - 1)
    }

    /// Returns the number of a distance: short ones have numbers of their own, and the others share them by their logarithm.
    fn bucket(self, distance: usize) -> usize {
        let exact = self.span / 2;
        let Some(farthest) = self.farthest.filter(|_| distance > exact) else { return distance };
        let range = ((farthest - 1) as f64 / exact as f64) as f32;
        let growth = (distance as f32 / exact as f32).ln() / range.ln();
        exact + (growth * (exact - 1) as f32).ceil() as usize
    }
}

/// The vectors for the distances of a batch.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    /// The rows of the table that the distances need, and those between them.
    rows: Tensor<2>,
    /// The number of the first of these rows in the table.
    first: usize,
    /// The row, counted from the first, of each distance from −(longest − 1) to longest − 1.
    by_distance: Arc<SparseBatch>,
}

impl Offsets {
    /// Takes the rows for texts of at most `longest` tokens out of a table of vectors.
    pub(super) fn new(vectors: DistanceVectors, table: Tensor<2>, longest: usize) -> Self {
        let last = longest - 1;
        let before = (0..last).map(|query| vectors.row(query, last));
        let after = (0..longest).map(|query| vectors.row(query, 0));
        let rows: Vec<usize> = before.chain(after).collect();
        // rows grow with the distance
        let first = rows[0];
        let used = rows[rows.len() - 1] + 1 - first;
        let by_distance = rows.into_iter().map(|row| (row - first) as u32);
        Self {
            rows: table.narrow(0, first, used),
            first,
            by_distance: Arc::new(SparseBatch::selection(by_distance)),
        }
    }

    /// Returns these vectors as `change` makes the tensor of their rows, such as normalised or without autodiff.
    pub(super) fn map(self, change: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Self {
        Self { rows: change(self.rows), ..self }
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> Tensor<2> {
        self.rows.clone()
    }

    /// Returns the rows, some of whose elements are dropped: those that are in a batch with longer texts too.
    pub(super) fn dropped(&self, dropout: Option<Dropout>) -> Tensor<2> {
        let width = self.rows.dims()[1];
        let preceding = (self.first * width) as u32;
        masked(self.rows(), dropout.map(|dropout| dropout.after(preceding)))
    }

    /// Returns what layers make of rows `[rows, d]` for each distance, `[2 longest − 1, d]`.
    pub(super) fn each_distance(&self, rows: Tensor<2>) -> Tensor<2> {
        bag(rows, self.by_distance.clone(), None)
    }
}

/// What the distances between tokens give all layers of a batch.
#[derive(Clone, Debug)]
pub(super) enum Relative {
    /// Numbers that are added to scores, `[1, heads, longest, longest]`.
    Scores(Tensor<4>),
    /// Vectors that are compared with queries and keys.
    Offsets(Offsets),
}

impl Relative {
    /// Returns this without autodiff.
    pub(super) fn inner(self) -> Self {
        match self {
            Self::Scores(scores) => Self::Scores(scores.inner()),
            Self::Offsets(offsets) => Self::Offsets(offsets.map(Tensor::inner)),
        }
    }

    /// Returns this as a new leaf of autodiff.
    pub(super) fn leaf(self) -> Self {
        match self {
            Self::Scores(scores) => Self::Scores(scores.autodiff().require_grad()),
            Self::Offsets(offsets) => {
                Self::Offsets(offsets.map(|rows| rows.autodiff().require_grad()))
            }
        }
    }

    /// Returns the tensor of this.
    pub(super) fn tensor(&self) -> DispatchTensor {
        match self {
            Self::Scores(scores) => scores.clone().into_dispatch(),
            Self::Offsets(offsets) => offsets.rows().into_dispatch(),
        }
    }
}
