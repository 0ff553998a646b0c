use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_kernels::{
    Precision, Sequences, SparseBatch, bag, is_cpu_engine, masked, places, product,
};
use rand::Rng;

use super::Architecture;
use super::layer::{Layer, Norm, Shared};
use super::pooling::Readout;
use crate::device::in_pool;
use crate::init;
use crate::onnx::{Attribute, Dimension, Graph, Type, Value};
use crate::pass::Pass;

/// A transformer without its head: maps the token ids of a text to one vector of width d.
///
/// Texts of a batch lie one after the other without padding ([`Sequences::packed`]), so the cost of a batch is the cost
/// of its tokens.
#[derive(Module, Debug)]
pub struct Body {
    pub(super) tokens: Param<Tensor<2>>,
    positions: Param<Tensor<2>>,
    types: Option<Param<Tensor<2>>>,
    norm: Norm,
    layers: Vec<Layer>,
    /// Sizes, which must stay, rates and arithmetic.
    #[module(skip)]
    pub architecture: Architecture,
}

/// The number of tokens of a batch is a multiple of this on a GPU, unless it is small.
const ROUND: usize = 256;

impl Body {
    /// Draws parameters: embeddings are normal with standard deviation 0.02 as in BERT, layers follow
    /// PyTorch's default for linear layers.
    pub fn init(architecture: &Architecture, generator: &mut impl Rng, device: &Device) -> Self {
        let Architecture { vocabulary, positions, types, width, layers, .. } = *architecture;
        let mut table = |rows| init::normal([rows, width], 0.02, generator, device);
        Self {
            tokens: table(vocabulary),
            positions: table(positions),
            types: (types > 0).then(|| table(types)),
            norm: Norm::init(width, device),
            layers: (0..layers).map(|_| Layer::init(architecture, generator, device)).collect(),
            architecture: architecture.clone(),
        }
    }

    /// Returns the device of the parameters.
    pub fn device(&self) -> Device {
        self.tokens.device()
    }

    /// Returns vectors `[n, d]` of all tokens of non-empty texts, before the first layer.
    fn embed(&self, tokens: Tokens, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let Architecture { first_position, width, epsilon, dropout: p, .. } = self.architecture;
        // every token is of the first type
        let kind = match &self.types {
            Some(types) => types.val().slice([0..1, 0..width]).reshape([width]),
            None => Tensor::zeros([width], &self.device()),
        };
        let places = places(self.positions.val(), sequences, first_position);
        let table = self.tokens.val();
        let tokens = match tokens {
            Tokens::Ids(ids) => bag(table, Arc::new(SparseBatch::selection(ids.into_iter())), None),
            Tokens::Features(features) => {
                let shape = [sequences.rows(), table.dims()[0]];
                let features = Tensor::from_data(TensorData::new(features, shape), &self.device());
                product(features, table, Precision::F32)
            }
        };
        let x = self.norm.forward(tokens, places, kind, epsilon, None);
        masked(x, pass.row_dropout(0, p, width, |masks| masks.lengths))
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
        in_pool(&x.device(), move || self.run(self.layers.len(), x, sequences, pass))
    }

    fn shared(&self, sequences: &Arc<Sequences>, pass: Pass) -> Shared {
        Shared { architecture: self.architecture.clone(), sequences: sequences.clone(), pass }
    }

    /// Applies the first `count` layers.
    fn run(&self, count: usize, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let shared = self.shared(sequences, pass);
        let layers = self.layers[..count].iter().enumerate();
        layers.fold(x, |x, (index, layer)| {
            let recompute = self.architecture.recompute;
            let lean = recompute.then(|| layer.recomputed(&x, &shared, index)).flatten();
            lean.unwrap_or_else(|| layer.forward(x, &shared, index))
        })
    }

    /// Applies all layers to vectors `[n, d]`, the last one to only the first token of each text:
    /// `[texts, d]`.
    pub fn layers_first(&self, x: Tensor<2>, sequences: &Arc<Sequences>, pass: Pass) -> Tensor<2> {
        let last = self.layers.len() - 1;
        in_pool(&x.device(), move || {
            let x = self.run(last, x, sequences, pass);
            self.layers[last].forward_first(x, &self.shared(sequences, pass), last)
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
        if readout.is_first() {
            return first(self.layers_first(x, &sequences, pass), texts);
        }
        readout.read(&self.layers(x, &sequences, pass), &sequences, texts)
    }

    /// [`pooled`](Self::pooled) in evaluation, as operators of ONNX.
    pub(super) fn onnx(&self, graph: &mut Graph, readout: &Readout) -> Value {
        let shape = ["batch", "length"].map(Dimension::Any);
        let doc = "ids of tokens, padded at the end with any";
        let ids = graph.input("input_ids", Type::Int, &shape, doc);
        let table = graph.parameter(&self.tokens);
        let tokens = graph.node("Gather", &[&table, &ids], &[]);
        self.onnx_of(graph, tokens, readout)
    }

    /// Adds the body to an ONNX graph, from the vectors of tokens `[batch, length, d]`.
    pub(super) fn onnx_of(&self, graph: &mut Graph, tokens: Value, readout: &Readout) -> Value {
        let Architecture { first_position, epsilon, .. } = self.architecture;
        let shape = ["batch", "length"].map(Dimension::Any);
        let doc = "1 for a token and 0 for padding";
        let mask = graph.input("attention_mask", Type::Int, &shape, doc);

        // tokens before this one and itself; padding repeats the last position
        let axis = graph.int(1);
        let before = graph.node("CumSum", &[&mask, &axis], &[]);
        let first = graph.int(first_position as i64 - 1);
        let places = graph.node("Add", &[&before, &first], &[]);
        let table = graph.parameter(&self.positions);
        let places = graph.node("Gather", &[&table, &places], &[]);
        let mut x = tokens;
        if let Some(types) = &self.types {
            let types = graph.parameter(types);
            let first = graph.int(0);
            let kind = graph.node("Gather", &[&types, &first], &[]);
            x = graph.node("Add", &[&x, &kind], &[]);
        }
        x = self.norm.onnx(graph, &x, &places, epsilon);

        // 0 at tokens, and a large negative number at padding
        let to_floats = [("to", Attribute::Int(Type::Float as i64))];
        let mask = graph.node("Cast", &[&mask], &to_floats);
        let one = graph.floats(&[], &[1.0]);
        let large = graph.floats(&[], &[1e9]);
        let outside = graph.node("Sub", &[&mask, &one], &[]);
        let outside = graph.node("Mul", &[&outside, &large], &[]);
        let axes = graph.ints(&[1, 2]);
        let outside_keys = graph.node("Unsqueeze", &[&outside, &axes], &[]);
        for layer in &self.layers {
            x = layer.onnx(graph, &x, &outside_keys, &self.architecture);
        }

        if readout.is_first() {
            let first = graph.int(0);
            return graph.node("Gather", &[&x, &first], &[("axis", Attribute::Int(1))]);
        }
        readout.onnx(graph, &x, &mask)
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

    /// Freezes the embeddings and the lowest `layers` layers, which training leaves unchanged.
    pub fn freeze(mut self, layers: usize) -> Self {
        let frozen = |param: Param<Tensor<2>>| param.set_require_grad(false);
        self.tokens = frozen(self.tokens);
        self.positions = frozen(self.positions);
        self.types = self.types.map(frozen);
        self.norm = self.norm.no_grad();
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
