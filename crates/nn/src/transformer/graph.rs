//! A transformer in evaluation, as operators of ONNX, on texts that are padded at the end.

use super::architecture::{Architecture, MaskedTokens};
use super::body::{Body, SEEN_IN_TRAINING};
use super::layer::Layer;
use super::pooling::Readout;
use super::positions::{DistanceVectors, Distances, Positions, Window, frequencies};
use crate::onnx::{Attribute, Dimension, Graph, Type, Value};

/// Added to the scores of pairs of tokens that do not attend, with a minus.
const OUTSIDE: f32 = 1e9;

/// What all layers share.
struct Shared {
    /// `[batch, 1, 1, length]`: 0 at tokens, and a large negative number at padding.
    outside: Value,
    /// Added to the scores of layers with a window: 0 in it, and a large negative number outside, `[batch, 1, length, length]`.
    outside_window: Option<Value>,
    /// Added to the scores of local layers.
    outside_local_window: Option<Value>,
    /// Added to the scores of all layers, `[batch, heads, length, length]`.
    relative: Option<Value>,
    /// The vectors for distances, which queries and keys are compared with.
    offsets: Option<Offsets>,
    /// Cosines and sines of the angles of queries and keys, `[batch, 1, length, d_h / 2]`.
    rotation: Option<[Value; 2]>,
    /// The angles of local layers.
    local_rotation: Option<[Value; 2]>,
}

/// The vectors for the distances of pairs of tokens.
struct Offsets {
    /// All vectors, `[2 span, d]`.
    vectors: Value,
    /// The row of each query and key, `[batch, heads, length, length]`.
    rows: Value,
    /// The row of each key and query.
    rows_by_key: Value,
}

impl Body {
    /// Computes [`pooled`](Self::pooled) in evaluation, as operators of ONNX.
    pub(super) fn onnx(&self, graph: &mut Graph, readout: &Readout) -> Value {
        let shape = ["batch", "length"].map(Dimension::Any);
        let doc = "ids of tokens, padded at the end with any";
        let ids = graph.input("input_ids", Type::Int, &shape, doc);
        let table = graph.parameter(&self.tokens);
        let tokens = graph.node("Gather", &[&table, &ids], &[]);
        self.onnx_of(graph, tokens, Some(&ids), readout)
    }

    /// Adds the body to an ONNX graph, from the vectors of tokens `[batch, length, d]`, and their ids if they have any.
    pub(super) fn onnx_of(
        &self,
        graph: &mut Graph,
        tokens: Value,
        ids: Option<&Value>,
        readout: &Readout,
    ) -> Value {
        let Architecture { first_position, padding, epsilon, .. } = self.architecture;
        let shape = ["batch", "length"].map(Dimension::Any);
        let doc = "1 for a token and 0 for padding";
        let mask = graph.input("attention_mask", Type::Int, &shape, doc);
        let float_mask = graph.cast(&mask, Type::Float);

        // tokens before this one and itself; padding repeats the last position
        let axis = graph.int(1);
        let before = graph.node("CumSum", &[&mask, &axis], &[]);
        let mut x = tokens;
        if let (Some(MaskedTokens { mask }), Some(ids)) = (self.architecture.masked_tokens, ids) {
            let scale = masked_scale(graph, ids, mask, &float_mask);
            x = graph.node("Mul", &[&x, &scale], &[]);
        }
        if let Some(factor) = self.architecture.embedding_factor() {
            let factor = graph.floats(&[], &[factor]);
            x = graph.node("Mul", &[&x, &factor], &[]);
        }
        if let Some(types) = &self.types {
            let types = graph.parameter(types);
            let first = graph.int(0);
            let kind = graph.node("Gather", &[&types, &first], &[]);
            x = graph.node("Add", &[&x, &kind], &[]);
        }
        if let Some(table) = &self.positions {
            let counted = match (padding, ids) {
                (Some(padding), Some(ids)) => counted(graph, ids, padding, &mask),
                (None, _) | (_, None) => before.clone(),
            };
            let first = graph.int(first_position as i64 - 1);
            let places = graph.node("Add", &[&counted, &first], &[]);
            let table = graph.parameter(table);
            let places = graph.node("Gather", &[&table, &places], &[]);
            x = graph.node("Add", &[&x, &places], &[]);
        }
        if let Some(norm) = &self.norm {
            x = norm.onnx(graph, &x, epsilon);
        }
        if let Some(projection) = &self.projection {
            x = projection.onnx(graph, &x);
        }

        let shared = self.onnx_shared(graph, &float_mask, &before);
        for depth in 0..self.architecture.layers {
            x = self.layer(depth).onnx(graph, &x, &shared, depth, &self.architecture);
        }
        if let Some(norm) = &self.final_norm {
            x = norm.onnx(graph, &x, epsilon);
        }

        if readout.is_first() {
            let first = graph.int(0);
            return graph.node("Gather", &[&x, &first], &[("axis", Attribute::Int(1))]);
        }
        readout.onnx(graph, &x, &float_mask)
    }

    /// Returns what all layers share; `before` counts the tokens of each text from 1 on.
    fn onnx_shared(&self, graph: &mut Graph, mask: &Value, before: &Value) -> Shared {
        let position_kind = &self.architecture.position_kind;
        let outside = outside(graph, mask);
        let axes = graph.ints(&[1, 2]);
        let outside = graph.node("Unsqueeze", &[&outside, &axes], &[]);
        let mut shared = Shared {
            outside,
            outside_window: None,
            outside_local_window: None,
            relative: None,
            offsets: None,
            rotation: None,
            local_rotation: None,
        };
        let mut of_layers = |is_local: bool| {
            let mut layers = 0..self.architecture.layers;
            let layer = layers.find(|layer| position_kind.is_local(*layer) == is_local)?;
            outside_window(graph, before, self.architecture.window(layer))
        };
        shared.outside_window = of_layers(false);
        shared.outside_local_window = of_layers(true);
        match position_kind {
            Positions::Learned => {}
            Positions::LearnedAndRelative(distances) | Positions::Relative(distances) => {
                shared.relative = self.relative.as_ref().map(|table| {
                    let table = graph.parameter(table);
                    relative_scores(graph, &table, *distances, before)
                });
            }
            Positions::Disentangled(vectors) => {
                shared.offsets = self.relative.as_ref().map(|table| {
                    let table = graph.parameter(table);
                    let table = match &self.relative_norm {
                        Some(norm) => norm.onnx(graph, &table, self.architecture.epsilon),
                        None => table,
                    };
                    let Architecture { heads, .. } = self.architecture;
                    Offsets::new(graph, *vectors, table, heads, before)
                });
            }
            Positions::Rotary { base, local_base, local, .. } => {
                let one = graph.int(1);
                let places = graph.node("Sub", &[before, &one], &[]);
                let places = graph.cast(&places, Type::Float);
                let head = self.architecture.head_width();
                shared.rotation = Some(rotation(graph, &places, *base, head));
                if local.contains(&true) {
                    shared.local_rotation = Some(rotation(graph, &places, *local_base, head));
                }
            }
        }
        shared
    }
}

impl Layer {
    /// Computes [`forward`](Self::forward) in evaluation, as operators of ONNX, on vectors `[batch, length, d]`.
    fn onnx(
        &self,
        graph: &mut Graph,
        x: &Value,
        shared: &Shared,
        depth: usize,
        architecture: &Architecture,
    ) -> Value {
        let epsilon = architecture.epsilon;
        let is_before = architecture.normalises_before();
        let input = match &self.attention_norm {
            Some(norm) if is_before => norm.onnx(graph, x, epsilon),
            _ => x.clone(),
        };
        let mut y = self.onnx_attention(graph, &input, shared, depth, architecture);
        if let Some(norm) = &self.attention_result_norm {
            y = norm.onnx(graph, &y, epsilon);
        }
        let mut x = graph.node("Add", &[x, &y], &[]);
        if let Some(norm) = self.attention_norm.as_ref().filter(|_| !is_before) {
            x = norm.onnx(graph, &x, epsilon);
        }

        let input =
            if is_before { self.feed_forward_norm.onnx(graph, &x, epsilon) } else { x.clone() };
        let inner = self.up.onnx(graph, &input);
        let inner = if architecture.gated {
            let units = architecture.feed_forward as i64;
            let [start, middle, end, last] =
                [0, units, 2 * units, -1].map(|place| graph.ints(&[place]));
            let gate = graph.node("Slice", &[&inner, &start, &middle, &last], &[]);
            let factor = graph.node("Slice", &[&inner, &middle, &end, &last], &[]);
            let gate = architecture.activation.onnx(graph, &gate);
            graph.node("Mul", &[&gate, &factor], &[])
        } else {
            architecture.activation.onnx(graph, &inner)
        };
        let mut y = self.down.onnx(graph, &inner);
        if let Some(norm) = &self.feed_forward_result_norm {
            y = norm.onnx(graph, &y, epsilon);
        }
        let x = graph.node("Add", &[&x, &y], &[]);
        if is_before { x } else { self.feed_forward_norm.onnx(graph, &x, epsilon) }
    }

    fn onnx_attention(
        &self,
        graph: &mut Graph,
        x: &Value,
        shared: &Shared,
        depth: usize,
        architecture: &Architecture,
    ) -> Value {
        let Architecture { heads, scaled_scores, epsilon, ref position_kind, .. } = *architecture;
        let head = architecture.head_width();
        let key_heads = architecture.key_heads();
        let is_local = position_kind.is_local(depth);
        let qkv = self.qkv.onnx(graph, x);
        let all_heads = heads + 2 * key_heads;
        let shape = graph.ints(&[0, 0, all_heads as i64, head as i64]);
        let qkv = graph.node("Reshape", &[&qkv, &shape], &[]);
        let order = Attribute::Ints(&[0, 2, 1, 3]);
        let qkv = graph.node("Transpose", &[&qkv], &[("perm", order)]);
        // `[batch, heads, length, d_h]`
        let axis = graph.ints(&[1]);
        let bounds = [0, heads, heads + key_heads, all_heads].map(|head| head as i64);
        let [mut q, mut k, mut v] = [0, 1, 2].map(|part| {
            let [start, end] = [bounds[part], bounds[part + 1]].map(|bound| graph.ints(&[bound]));
            graph.node("Slice", &[&qkv, &start, &end, &axis], &[])
        });
        if let Some(norm) = &self.query_norm {
            q = norm.onnx(graph, &q, epsilon);
        }
        if let Some(norm) = &self.key_norm {
            k = norm.onnx(graph, &k, epsilon);
        }
        let local_rotation = shared.local_rotation.as_ref().filter(|_| is_local);
        if let Some(rotation) = local_rotation.or(shared.rotation.as_ref()) {
            [q, k] = [q, k].map(|x| rotated(graph, &x, rotation, head));
        }
        if key_heads < heads {
            [k, v] = [k, v].map(|x| of_each_head(graph, &x, architecture));
        }
        let by_key = graph.node("Transpose", &[&k], &[("perm", Attribute::Ints(&[0, 1, 3, 2]))]);
        let mut scores = graph.node("MatMul", &[&q, &by_key], &[]);
        let mut products = 1;
        if let Some(offsets) = &shared.offsets {
            products = 3;
            for added in self.onnx_offsets(graph, offsets, [&q, &k], heads, head) {
                scores = graph.node("Add", &[&scores, &added], &[]);
            }
        }
        if scaled_scores {
            let scale = graph.floats(&[], &[1.0 / ((products * head) as f32).sqrt()]);
            scores = graph.node("Mul", &[&scores, &scale], &[]);
        }
        let outside_window =
            if is_local { &shared.outside_local_window } else { &shared.outside_window };
        for added in [Some(&shared.outside), shared.relative.as_ref(), outside_window.as_ref()]
            .into_iter()
            .flatten()
        {
            scores = graph.node("Add", &[&scores, added], &[]);
        }
        let probabilities = graph.node("Softmax", &[&scores], &[("axis", Attribute::Int(-1))]);
        let context = graph.node("MatMul", &[&probabilities, &v], &[]);
        let context = graph.node("Transpose", &[&context], &[("perm", order)]);
        let shape = graph.ints(&[0, 0, architecture.attention_width() as i64]);
        let context = graph.node("Reshape", &[&context, &shape], &[]);
        self.output.onnx(graph, &context)
    }

    /// Returns the products of queries with the keys of distances, and of keys with the queries of distances, for each pair
    /// of tokens `[batch, heads, length, length]`.
    fn onnx_offsets(
        &self,
        graph: &mut Graph,
        offsets: &Offsets,
        [q, k]: [&Value; 2],
        heads: usize,
        head: usize,
    ) -> [Value; 2] {
        let projected = self.qkv.onnx(graph, &offsets.vectors);
        let shape = graph.ints(&[0, 3, heads as i64, head as i64]);
        let projected = graph.node("Reshape", &[&projected, &shape], &[]);
        // `[heads, d_h, 2 span]`
        let [queries, keys] = [0, 1].map(|which| {
            let index = graph.int(which);
            let part = graph.node("Gather", &[&projected, &index], &[("axis", Attribute::Int(1))]);
            graph.node("Transpose", &[&part], &[("perm", Attribute::Ints(&[1, 2, 0]))])
        });
        let last = [("axis", Attribute::Int(3))];
        let to_keys = graph.node("MatMul", &[q, &keys], &[]);
        let to_keys = graph.node("GatherElements", &[&to_keys, &offsets.rows], &last);
        let to_queries = graph.node("MatMul", &[k, &queries], &[]);
        let to_queries = graph.node("GatherElements", &[&to_queries, &offsets.rows_by_key], &last);
        let order = Attribute::Ints(&[0, 1, 3, 2]);
        [to_keys, graph.node("Transpose", &[&to_queries], &[("perm", order)])]
    }
}

impl Offsets {
    /// Finds the rows of pairs of tokens in a table of vectors; `before` counts the tokens of each text from 1 on.
    fn new(
        graph: &mut Graph,
        distance_vectors: DistanceVectors,
        vectors: Value,
        heads: usize,
        before: &Value,
    ) -> Self {
        let middle = distance_vectors.longest();
        let rows: Vec<i64> =
            (0..=2 * middle).map(|query| distance_vectors.row(query, middle) as i64).collect();
        let rows = graph.ints(&rows);
        // of queries from keys
        let distances = distances(graph, before);
        let distances = graph.node("Neg", &[&distances], &[]);
        let [least, most] = [-(middle as i64), middle as i64].map(|bound| graph.int(bound));
        let distances = graph.node("Clip", &[&distances, &least, &most], &[]);
        let places = graph.node("Add", &[&distances, &most], &[]);
        let rows = graph.node("Gather", &[&rows, &places], &[]);
        let axes = graph.ints(&[1]);
        let rows = graph.node("Unsqueeze", &[&rows, &axes], &[]);
        let shape = graph.ints(&[1, heads as i64, 1, 1]);
        let rows = graph.node("Expand", &[&rows, &shape], &[]);
        let order = Attribute::Ints(&[0, 1, 3, 2]);
        let rows_by_key = graph.node("Transpose", &[&rows], &[("perm", order)]);
        Self { vectors, rows, rows_by_key }
    }
}

/// Returns how many tokens are before each one and itself, without those that stand for padding, which have 0.
fn counted(graph: &mut Graph, ids: &Value, padding: u32, mask: &Value) -> Value {
    let padding = graph.int(padding.into());
    let is_padding = graph.node("Equal", &[ids, &padding], &[]);
    let is_padding = graph.cast(&is_padding, Type::Int);
    let one = graph.int(1);
    let is_other = graph.node("Sub", &[&one, &is_padding], &[]);
    let others = graph.node("Mul", &[mask, &is_other], &[]);
    let axis = graph.int(1);
    let before = graph.node("CumSum", &[&others, &axis], &[]);
    graph.node("Mul", &[&before, &is_other], &[])
}

/// Returns 0 where `inside` is 1, and a large negative number where it is 0.
fn outside(graph: &mut Graph, inside: &Value) -> Value {
    let one = graph.floats(&[], &[1.0]);
    let large = graph.floats(&[], &[OUTSIDE]);
    let outside = graph.node("Sub", &[inside, &one], &[]);
    graph.node("Mul", &[&outside, &large], &[])
}

/// Returns `[batch, 1, length, length]`: 0 for queries and keys in their window, if that has a bound, and a large negative
/// number for others; `before` counts the tokens of each text.
fn outside_window(graph: &mut Graph, before: &Value, window: Window) -> Option<Value> {
    if !window.is_causal && window.reach.is_none() {
        return None;
    }
    let distances = distances(graph, before);
    let (least, most) = match window {
        Window { reach: Some(reach), is_causal: true } => (-(reach as i64), 0),
        Window { reach: Some(reach), is_causal: false } => (-(reach as i64), reach as i64),
        Window { reach: None, .. } => (i64::MIN, 0),
    };
    let [least, most] = [least, most].map(|bound| graph.int(bound));
    let is_near = graph.node("GreaterOrEqual", &[&distances, &least], &[]);
    let is_before = graph.node("LessOrEqual", &[&distances, &most], &[]);
    let inside = graph.node("And", &[&is_near, &is_before], &[]);
    let inside = graph.cast(&inside, Type::Float);
    let outside = outside(graph, &inside);
    let axes = graph.ints(&[1]);
    Some(graph.node("Unsqueeze", &[&outside, &axes], &[]))
}

/// Copies keys or values `[batch, key heads, length, d_h]` for each head of queries.
fn of_each_head(graph: &mut Graph, x: &Value, architecture: &Architecture) -> Value {
    let heads = architecture.heads as i64;
    let copies = heads / architecture.key_heads() as i64;
    let axes = graph.ints(&[2]);
    let x = graph.node("Unsqueeze", &[x, &axes], &[]);
    let shape = graph.ints(&[1, 1, copies, 1, 1]);
    let x = graph.node("Expand", &[&x, &shape], &[]);
    let shape = graph.ints(&[0, heads, -1, architecture.head_width() as i64]);
    graph.node("Reshape", &[&x, &shape], &[])
}

/// Returns the place of each key minus that of each query, `[batch, length, length]`.
fn distances(graph: &mut Graph, places: &Value) -> Value {
    let [rows, columns] = [2, 1].map(|axis| graph.ints(&[axis]));
    let queries = graph.node("Unsqueeze", &[places, &rows], &[]);
    let keys = graph.node("Unsqueeze", &[places, &columns], &[]);
    graph.node("Sub", &[&keys, &queries], &[])
}

/// Returns cosines and sines of the angles at places `[batch, length]`.
fn rotation(graph: &mut Graph, places: &Value, base: f64, head: usize) -> [Value; 2] {
    let [last, second] = [2, 1].map(|axis| graph.ints(&[axis]));
    let places = graph.node("Unsqueeze", &[places, &last], &[]);
    let frequencies = frequencies(base, head);
    let frequencies = graph.floats(&[frequencies.len()], &frequencies);
    let angles = graph.node("Mul", &[&places, &frequencies], &[]);
    ["Cos", "Sin"].map(|function| {
        let values = graph.node(function, &[&angles], &[]);
        graph.node("Unsqueeze", &[&values, &second], &[])
    })
}

/// Turns queries or keys `[batch, heads, length, d_h]`.
fn rotated(graph: &mut Graph, x: &Value, [cos, sin]: &[Value; 2], head: usize) -> Value {
    let half = head as i64 / 2;
    let [start, middle, end, last] = [0, half, 2 * half, 3].map(|place| graph.ints(&[place]));
    let first = graph.node("Slice", &[x, &start, &middle, &last], &[]);
    let second = graph.node("Slice", &[x, &middle, &end, &last], &[]);
    let [first_cos, second_cos] =
        [&first, &second].map(|half| graph.node("Mul", &[half, cos], &[]));
    let [first_sin, second_sin] =
        [&first, &second].map(|half| graph.node("Mul", &[half, sin], &[]));
    let first = graph.node("Sub", &[&first_cos, &second_sin], &[]);
    let second = graph.node("Add", &[&second_cos, &first_sin], &[]);
    graph.node("Concat", &[&first, &second], &[("axis", Attribute::Int(3))])
}

/// Returns what is added to the scores of each head, from the numbers of each distance `[buckets, heads]`.
fn relative_scores(
    graph: &mut Graph,
    table: &Value,
    distances: Distances,
    before: &Value,
) -> Value {
    let middle = distances.farthest;
    let farthest = middle as i64;
    let buckets: Vec<i64> =
        (0..=2 * middle).map(|key| distances.bucket(middle, key).into()).collect();
    let buckets = graph.ints(&buckets);
    let by_distance = graph.node("Gather", &[table, &buckets], &[]);
    let distances = self::distances(graph, before);
    let [least, most] = [-farthest, farthest].map(|bound| graph.int(bound));
    let distances = graph.node("Clip", &[&distances, &least, &most], &[]);
    let rows = graph.node("Add", &[&distances, &most], &[]);
    let scores = graph.node("Gather", &[&by_distance, &rows], &[]);
    graph.node("Transpose", &[&scores], &[("perm", Attribute::Ints(&[0, 3, 1, 2]))])
}

/// Returns the factor of each token's vector `[batch, length, 1]`, for ESM.
fn masked_scale(graph: &mut Graph, ids: &Value, mask: u32, tokens: &Value) -> Value {
    let mask = graph.int(mask.into());
    let is_mask = graph.node("Equal", &[ids, &mask], &[]);
    let is_mask = graph.cast(&is_mask, Type::Float);
    let one = graph.floats(&[], &[1.0]);
    let seen = graph.node("Sub", &[&one, &is_mask], &[]);
    let seen_tokens = graph.node("Mul", &[&seen, tokens], &[]);
    let axis = graph.ints(&[1]);
    let [seen_count, count] =
        [&seen_tokens, tokens].map(|each| graph.node("ReduceSum", &[each, &axis], &[]));
    let share = graph.node("Div", &[&seen_count, &count], &[]);
    // a text of nothing but masks has no vector to scale
    let least = graph.floats(&[], &[f32::MIN_POSITIVE]);
    let share = graph.node("Max", &[&share, &least], &[]);
    let in_training = graph.floats(&[], &[SEEN_IN_TRAINING]);
    let scale = graph.node("Div", &[&in_training, &share], &[]);
    let scale = graph.node("Mul", &[&seen, &scale], &[]);
    let last = graph.ints(&[2]);
    graph.node("Unsqueeze", &[&scale, &last], &[])
}
