use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_kernels::{
    Dropout, Precision, Sequences, SparseBatch, bag, is_cpu_engine, masked, places, product,
};
use rand::Rng;

use super::affine::{Affine, Norm};
use super::architecture::{Architecture, MaskedTokens, NormPlace};
use super::layer::{Layer, Shared, site};
use super::pooling::Readout;
use super::positions::{Offsets, Relative};
use crate::device::in_pool;
use crate::init;
use crate::pass::Pass;

/// A transformer without its head: maps the token ids of a text to one vector of width d.
///
/// Texts of a batch lie one after the other without padding ([`Sequences::packed`]), so the cost of a batch is the cost
/// of its tokens.
#[derive(Module, Debug)]
pub struct Body {
    pub(super) tokens: Param<Tensor<2>>,
    pub(super) positions: Option<Param<Tensor<2>>>,
    pub(super) types: Option<Param<Tensor<2>>>,
    pub(super) norm: Option<Norm>,
    /// Maps embeddings to token vectors, where they have a width of their own.
    pub(super) projection: Option<Affine>,
    /// What each head adds to the score of two tokens at a distance, `[buckets, heads]`, or the vectors for distances.
    pub(super) relative: Option<Param<Tensor<2>>>,
    /// The normalisation of vectors for distances.
    pub(super) relative_norm: Option<Norm>,
    pub(super) layers: Vec<Layer>,
    /// The normalisation behind layers that normalise before their sub-layers.
    pub(super) final_norm: Option<Norm>,
    /// Sizes, which must stay, rates and arithmetic.
    #[module(skip)]
    pub architecture: Architecture,
}

/// The standard deviation of the tables that are drawn.
const INITIAL_DEVIATION: f32 = 0.02;
/// The share of tokens that were not masked when ESM was trained: 80 % of the 15 % that it had to predict were.
pub(super) const SEEN_IN_TRAINING: f32 = 1.0 - 0.15 * 0.8;

/// The number of tokens of a batch is a multiple of this on a GPU, unless it is small.
const ROUND: usize = 256;

impl Body {
    /// Draws parameters: embeddings are normal with standard deviation 0.02 as in BERT, layers follow
    /// PyTorch's default for linear layers.
    pub fn init(architecture: &Architecture, generator: &mut impl Rng, device: &Device) -> Self {
        let Architecture { vocabulary, positions, types, width, heads, .. } = *architecture;
        let own_layers = architecture.own_layers();
        let table_width = architecture.table_width();
        let mut table =
            |rows, width| init::normal([rows, width], INITIAL_DEVIATION, generator, device);
        let tokens = table(vocabulary, table_width);
        let has_table = architecture.position_kind.has_table();
        let positions = has_table.then(|| table(positions, table_width));
        let types = (types > 0).then(|| table(types, table_width));
        let distances = architecture.position_kind.distances();
        let numbers = distances.map(|distances| table(distances.buckets, heads));
        let distance_vectors = architecture.position_kind.distance_vectors();
        let vectors = distance_vectors.map(|vectors| table(vectors.count(), width));
        let has_norm = architecture.embedding_norm;
        let norm = has_norm.then(|| Norm::init(table_width, architecture, device));
        let projection = (architecture.embedding_width > 0)
            .then(|| Affine::init(table_width, width, true, generator, device));
        let layer = |index| {
            let has_norm = index > 0 || architecture.norm_place != NormPlace::BeforeButFirst;
            Layer::init(architecture, has_norm, generator, device)
        };
        Self {
            tokens,
            positions,
            types,
            norm,
            projection,
            relative: numbers.or(vectors),
            relative_norm: distance_vectors
                .filter(|vectors| vectors.has_norm)
                .map(|_| Norm::init(width, architecture, device)),
            layers: (0..own_layers).map(layer).collect(),
            final_norm: architecture
                .normalises_before()
                .then(|| Norm::init(width, architecture, device)),
            architecture: architecture.clone(),
        }
    }

    /// Returns the device of the parameters.
    pub fn device(&self) -> Device {
        self.tokens.device()
    }

    /// Returns vectors `[n, d]` of all tokens of non-empty texts, before the first layer.
    fn embed(&self, tokens: Tokens, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let Architecture { first_position, epsilon, dropout: p, .. } = self.architecture;
        let device = self.device();
        let width = self.architecture.table_width();
        // every token is of the first type
        let kind =
            self.types.as_ref().map(|types| types.val().slice([0..1, 0..width]).reshape([width]));
        let places = self.positions.as_ref().map(|table| {
            match self.rows_beside_padding(&tokens, sequences) {
                Some(rows) => {
                    bag(table.val(), Arc::new(SparseBatch::selection(rows.into_iter())), None)
                }
                None => places(table.val(), sequences, first_position),
            }
        });
        let table = self.tokens.val();
        let tokens = match tokens {
            Tokens::Ids(ids) => bag(table, Arc::new(self.selection(ids, sequences)), None),
            Tokens::Features(features) => {
                let shape = [sequences.rows(), table.dims()[0]];
                let features = Tensor::from_data(TensorData::new(features, shape), &device);
                product(features, table, Precision::F32)
            }
        };
        let tokens = match self.architecture.embedding_factor() {
            Some(factor) => tokens * factor,
            None => tokens,
        };
        let x = match &self.norm {
            Some(norm) => {
                let places = places.unwrap_or_else(|| Tensor::zeros(tokens.dims(), &device));
                let kind = kind.unwrap_or_else(|| Tensor::zeros([width], &device));
                norm.forward(tokens, places, kind, epsilon, None)
            }
            None => {
                let x = match places {
                    Some(places) => tokens + places,
                    None => tokens,
                };
                match kind {
                    Some(kind) => x + kind.unsqueeze::<2>(),
                    None => x,
                }
            }
        };
        let x = masked(x, pass.row_dropout(0, p, width, |masks| masks.lengths));
        match &self.projection {
            Some(projection) => projection.forward(x, Precision::F32),
            None => x,
        }
    }

    /// Returns the rows of the table of positions of a batch with a token that stands for padding.
    fn rows_beside_padding(&self, tokens: &Tokens, sequences: &Sequences) -> Option<Vec<u32>> {
        let padding = self.architecture.padding?;
        let Tokens::Ids(ids) = tokens else { return None };
        if !ids.contains(&padding) {
            return None;
        }
        let first = self.architecture.first_position as u32;
        let mut rows = Vec::with_capacity(ids.len());
        for text in sequences.ranges() {
            let mut next = first;
            for id in &ids[text] {
                if *id == padding {
                    rows.push(first - 1);
                } else {
                    rows.push(next);
                    next += 1;
                }
            }
        }
        Some(rows)
    }

    /// Returns the rows of the table of tokens of a batch, with their scales.
    fn selection(&self, ids: Vec<u32>, sequences: &Sequences) -> SparseBatch {
        let Some(MaskedTokens { mask }) = self.architecture.masked_tokens else {
            return SparseBatch::selection(ids.into_iter());
        };
        let mut values = Vec::with_capacity(ids.len());
        for text in sequences.ranges() {
            let ids = &ids[text];
            let masked = ids.iter().filter(|id| **id == mask).count() as f32;
            // a text of nothing but masks has no vector to scale
            let seen = (1.0 - masked / ids.len() as f32).max(f32::MIN_POSITIVE);
            let scale = SEEN_IN_TRAINING / seen;
            values.extend(ids.iter().map(|id| if *id == mask { 0.0 } else { scale }));
        }
        SparseBatch { starts: (0..=ids.len()).collect(), indices: ids, values }
    }

    /// Returns vectors `[n, d]` of all tokens after the last layer, text by text.
    ///
    /// # Panics
    /// If a text is empty or longer than [`Architecture::longest`], or if an id is not in the
    /// vocabulary.
    pub fn hidden(&self, batch: &[&[u32]], pass: Pass) -> Tensor<2> {
        let (tokens, lengths) = ids(batch);
        let (tokens, sequences) = self.padded(tokens, &lengths);
        let x = self.layers(self.embed(tokens, &sequences, pass), &sequences, pass);
        first(x, lengths.iter().sum())
    }

    /// Applies all layers to vectors `[n, d]`.
    pub fn layers(&self, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        in_pool(&x.device(), move || {
            let x = self.run(self.architecture.layers, x, sequences, pass);
            let x = match &self.final_norm {
                Some(norm) => norm.alone(x, self.architecture.epsilon),
                None => x,
            };
            masked(x, self.last_dropout(pass))
        })
    }

    /// Returns the dropout of the results of the last normalisation.
    fn last_dropout(&self, pass: Pass) -> Option<Dropout> {
        let Architecture { drops_everywhere, dropout, layers, width, .. } = self.architecture;
        let share = if drops_everywhere { dropout } else { 0.0 };
        pass.row_dropout(site(layers, 0), share, width, |masks| masks.lengths)
    }

    fn shared(&self, sequences: &Arc<Sequences>, pass: Pass) -> Shared {
        let position_kind = &self.architecture.position_kind;
        let head = self.architecture.head_width();
        Shared {
            architecture: self.architecture.clone(),
            sequences: sequences.clone(),
            pass,
            rotations: position_kind.rotations(head, sequences, &self.device()),
            relative: self.relative(sequences.longest()),
        }
    }

    /// Returns what distances give all layers, on texts of at most `longest` tokens.
    fn relative(&self, longest: usize) -> Option<Relative> {
        let table = self.relative.as_ref()?.val();
        let position_kind = &self.architecture.position_kind;
        if let Some(distances) = position_kind.distances() {
            return Some(Relative::Scores(distances.scores(table, longest)));
        }
        let offsets = Offsets::new(position_kind.distance_vectors()?, table, longest);
        let offsets = match &self.relative_norm {
            Some(norm) => offsets.map(|rows| norm.alone(rows, self.architecture.epsilon)),
            None => offsets,
        };
        Some(Relative::Offsets(offsets))
    }

    /// Returns the layer at this depth, which may stand for several.
    pub(super) fn layer(&self, depth: usize) -> &Layer {
        &self.layers[depth * self.layers.len() / self.architecture.layers]
    }

    /// Applies the first `count` layers.
    fn run(&self, count: usize, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let shared = self.shared(sequences, pass);
        (0..count).fold(x, |x, depth| {
            let layer = self.layer(depth);
            let recompute = self.architecture.recompute;
            let lean = recompute.then(|| layer.recomputed(&x, &shared, depth)).flatten();
            lean.unwrap_or_else(|| layer.forward(x, &shared, depth))
        })
    }

    /// Applies all layers to vectors `[n, d]`, the last one to only the first token of each text:
    /// `[texts, d]`.
    ///
    /// # Panics
    /// If the architecture has other layers than BERT's: normalisation before sub-layers, or positions in attention.
    pub fn layers_first(&self, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        assert!(self.architecture.is_plain(), "layers that differ from BERT's");
        let last = self.architecture.layers - 1;
        in_pool(&x.device(), move || {
            let x = self.run(last, x, sequences, pass);
            self.layer(last).forward_first(x, &self.shared(sequences, pass), last)
        })
    }

    /// Returns one vector per text, `[texts, d]`, or `[texts, modes · d]` for several kinds of pooling.
    ///
    /// # Panics
    /// The panics of [`hidden`](Self::hidden).
    pub fn pooled(&self, batch: &[&[u32]], readout: impl Into<Readout>, pass: Pass) -> Tensor<2> {
        let (tokens, lengths) = ids(batch);
        self.pooled_tokens(tokens, &lengths, &readout.into(), pass)
    }

    /// Returns the vectors of [`pooled`](Self::pooled) for texts of these lengths, whose tokens have features
    /// `[tokens × vocabulary]`, row-major. The table of tokens maps the features to vectors.
    ///
    /// # Panics
    /// The panics of [`hidden`](Self::hidden); if there are not so many features.
    pub fn pooled_features(
        &self,
        features: Vec<f32>,
        lengths: &[usize],
        readout: &Readout,
        pass: Pass,
    ) -> Tensor<2> {
        self.pooled_tokens(Tokens::Features(features), lengths, readout, pass)
    }

    fn pooled_tokens(
        &self,
        tokens: Tokens,
        lengths: &[usize],
        readout: &Readout,
        pass: Pass,
    ) -> Tensor<2> {
        let texts = lengths.len();
        let (tokens, sequences) = self.padded(tokens, lengths);
        let x = self.embed(tokens, &sequences, pass);
        if readout.is_first() && self.architecture.is_plain() {
            return first(self.layers_first(x, &sequences, pass), texts);
        }
        readout.read(&self.layers(x, &sequences, pass), &sequences, texts)
    }

    /// Returns a batch and, on a GPU, texts that nobody reads: with a round number of tokens, sums over them can be
    /// divided.
    fn padded(&self, mut tokens: Tokens, lengths: &[usize]) -> (Tokens, Arc<Sequences>) {
        let mut lengths = lengths.to_vec();
        let count: usize = lengths.iter().sum();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let positions = self.architecture.longest();
        assert!(longest <= positions, "a text of {longest} tokens for {positions} positions");
        if !is_cpu_engine(&self.device()) && count >= 4 * ROUND {
            let missing = count.next_multiple_of(ROUND) - count;
            for at in (0..missing).step_by(longest) {
                lengths.push(longest.min(missing - at));
            }
            match &mut tokens {
                Tokens::Ids(ids) => ids.extend(std::iter::repeat_n(0, missing)),
                Tokens::Features(features) => {
                    let width = features.len() / count;
                    features.extend(std::iter::repeat_n(0.0, missing * width));
                }
            }
        }
        (tokens, Arc::new(Sequences::packed(lengths)))
    }

    /// Freezes the embeddings and the lowest `layers` layers with parameters of their own, which training leaves
    /// unchanged.
    pub fn freeze(mut self, layers: usize) -> Self {
        fn frozen(table: Param<Tensor<2>>) -> Param<Tensor<2>> {
            table.set_require_grad(false)
        }

        self.tokens = frozen(self.tokens);
        self.positions = self.positions.map(frozen);
        self.types = self.types.map(frozen);
        self.relative = self.relative.map(frozen);
        self.relative_norm = self.relative_norm.map(Module::no_grad);
        self.norm = self.norm.map(Module::no_grad);
        self.projection = self.projection.map(Module::no_grad);
        let all = self.layers.into_iter().enumerate();
        self.layers =
            all.map(|(i, layer)| if i < layers { layer.no_grad() } else { layer }).collect();
        self
    }
}

/// The tokens of a batch, text by text.
enum Tokens {
    /// Rows of the table of tokens.
    Ids(Vec<u32>),
    /// Features, row-major, which the table multiplies.
    Features(Vec<f32>),
}

/// Returns the tokens of texts, and the number of each text's.
fn ids(batch: &[&[u32]]) -> (Tokens, Vec<usize>) {
    (Tokens::Ids(batch.concat()), batch.iter().map(|ids| ids.len()).collect())
}

/// Returns the first rows of a matrix.
fn first(x: Tensor<2>, rows: usize) -> Tensor<2> {
    if x.dims()[0] == rows { x } else { x.narrow(0, 0, rows) }
}
