//! Attention with a streaming softmax (Dao 2024, FlashAttention-2): no scores are stored. A unit owns a query, or in
//! the backward pass of keys and values a key; the other side comes in tiles through shared memory.

mod place;
mod tiles;

use burn::backend::Cube;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{argument, factor};
use super::{
    buffer, count, element, empty, empty_of, in_type, shares, sides, spread, texts, vector,
};
use crate::attention::Attention;
use crate::dropout::Dropout;
use crate::operation::{Operation, narrow};
use place::{Own, Shape, own_place, own_row};
use tiles::{add, dot, load, multiply, product, read, write, zeros};

/// Queries, or keys, of a cube.
const ROWS: u32 = 64;

/// The most keys, or queries, of a tile, and the numbers of one of its two matrices: what shared memory holds.
const TILE: usize = 32;
const HELD: usize = 2048;

/// Below every score.
const LOWEST: f32 = -1e30;

#[cube(launch_unchecked)]
fn attention<F: Float, N: Size>(
    q: &[Vector<F, N>],
    kv: &[Vector<F, N>],
    texts: &[u32],
    y: &mut [Vector<F, N>],
    log_sums: &mut [f32],
    count: u32,
    tiles: u32,
    scale: f32,
    mask: Dropout,
    #[comptime] shape: Shape,
    #[define(F)] _element: ElemType,
) {
    let (vectors, size) = comptime!((shape.width, shape.tile));
    let [q_stride, kv_stride] = comptime!(shape.strides());
    let (d, keys_at) = comptime!((shape.d(), shape.keys()));
    let place = own_place(texts, count, tiles, shape);
    let column = place.column;
    let Own { number: query, active, row, part } =
        own_row(&place, place.queries_from, place.queries, ROWS, shape);
    let mut k_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut v_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let query_part = read::<F, N>(q, row * q_stride + column + part, scale, shape);
    let mut sum = zeros::<N>(shape);
    let mut largest = f32::new(LOWEST);
    let mut exponentials = 0.0f32;
    let mut tile = 0u32;
    while tile < place.keys {
        let rows = min(size, place.keys - tile);
        let at = (place.keys_from + tile) * kv_stride + keys_at + column;
        sync_cube();
        load::<F, N>(kv, at, rows, &mut k_tile, kv_stride, vectors);
        load::<F, N>(kv, at + d, rows, &mut v_tile, kv_stride, vectors);
        sync_cube();
        if active {
            for j in 0..rows {
                let its = j * vectors + part;
                let score = dot::<N>(&query_part, &k_tile, its, shape);
                if score > largest {
                    let shrink = (largest - score).exp();
                    exponentials *= shrink;
                    multiply::<N>(&mut sum, shrink, shape);
                    largest = score;
                }
                let p = (score - largest).exp();
                exponentials += p;
                let number = place.number + query * place.keys + tile + j;
                let kept = p * factor(&mask, number, shape.dropped);
                add::<N>(&mut sum, kept, &v_tile, its, shape);
            }
        }
        tile += size;
    }
    if active {
        write::<F, N>(&sum, 1.0f32 / exponentials, y, row * d + column + part, shape);
        log_sums[(row * shape.heads + place.head) as usize] = largest + exponentials.ln();
    }
}

/// Computes the gradient of queries, and `δ_i = ⟨dy_i, y_i⟩` of each.
#[cube(launch_unchecked)]
fn attention_backward_queries<F: Float, N: Size>(
    q: &[Vector<F, N>],
    kv: &[Vector<F, N>],
    texts: &[u32],
    y: &[Vector<F, N>],
    log_sums: &[f32],
    dy: &[Vector<F, N>],
    dq: &mut [Vector<F, N>],
    deltas: &mut [f32],
    count: u32,
    tiles: u32,
    scale: f32,
    mask: Dropout,
    #[comptime] shape: Shape,
    #[define(F)] _element: ElemType,
) {
    let (vectors, size) = comptime!((shape.width, shape.tile));
    let [q_stride, kv_stride] = comptime!(shape.strides());
    let (d, keys_at) = comptime!((shape.d(), shape.keys()));
    let place = own_place(texts, count, tiles, shape);
    let column = place.column;
    let Own { number: query, active, row, part } =
        own_row(&place, place.queries_from, place.queries, ROWS, shape);
    let mut k_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut v_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let query_part = read::<F, N>(q, row * q_stride + column + part, scale, shape);
    let own_dy = read::<F, N>(dy, row * d + column + part, 1.0f32, shape);
    let mut sum = zeros::<N>(shape);
    let own_y = read::<F, N>(y, row * d + column + part, 1.0f32, shape);
    let delta = product::<N>(&own_dy, &own_y, shape);
    let log_sum = log_sums[(row * shape.heads + place.head) as usize];
    let mut tile = 0u32;
    while tile < place.keys {
        let rows = min(size, place.keys - tile);
        let at = (place.keys_from + tile) * kv_stride + keys_at + column;
        sync_cube();
        load::<F, N>(kv, at, rows, &mut k_tile, kv_stride, vectors);
        load::<F, N>(kv, at + d, rows, &mut v_tile, kv_stride, vectors);
        sync_cube();
        if active {
            for j in 0..rows {
                let its = j * vectors + part;
                let p = (dot::<N>(&query_part, &k_tile, its, shape) - log_sum).exp();
                let number = place.number + query * place.keys + tile + j;
                let dp = dot::<N>(&own_dy, &v_tile, its, shape);
                let ds = p * (dp * factor(&mask, number, shape.dropped) - delta);
                add::<N>(&mut sum, ds, &k_tile, its, shape);
            }
        }
        tile += size;
    }
    if active {
        write::<F, N>(&sum, scale, dq, row * q_stride + column + part, shape);
        deltas[(row * shape.heads + place.head) as usize] = delta;
    }
}

/// Computes the gradients of keys and values.
#[cube(launch_unchecked)]
fn attention_backward_keys<F: Float, N: Size>(
    q: &[Vector<F, N>],
    kv: &[Vector<F, N>],
    texts: &[u32],
    log_sums: &[f32],
    deltas: &[f32],
    dy: &[Vector<F, N>],
    dkv: &mut [Vector<F, N>],
    count: u32,
    tiles: u32,
    scale: f32,
    mask: Dropout,
    #[comptime] shape: Shape,
    #[define(F)] _element: ElemType,
) {
    let (vectors, size) = comptime!((shape.width, shape.tile));
    let [q_stride, kv_stride] = comptime!(shape.strides());
    let (d, keys_at) = comptime!((shape.d(), shape.keys()));
    let place = own_place(texts, count, tiles, shape);
    let column = place.column;
    let Own { number: key, active, row, part } =
        own_row(&place, place.keys_from, place.keys, ROWS, shape);
    let mut q_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut dy_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut log_tile = Shared::<[f32]>::new_slice(comptime!(size as usize));
    let mut delta_tile = Shared::<[f32]>::new_slice(comptime!(size as usize));
    let at = row * kv_stride + keys_at + column + part;
    let own_k = read::<F, N>(kv, at, scale, shape);
    let own_v = read::<F, N>(kv, at + d, 1.0f32, shape);
    let mut dk = zeros::<N>(shape);
    let mut dv = zeros::<N>(shape);
    let mut tile = 0u32;
    while tile < place.queries {
        let rows = min(size, place.queries - tile);
        let first = place.queries_from + tile;
        sync_cube();
        load::<F, N>(q, first * q_stride + column, rows, &mut q_tile, q_stride, vectors);
        load::<F, N>(dy, first * d + column, rows, &mut dy_tile, d, vectors);
        if UNIT_POS < rows {
            let i = ((first + UNIT_POS) * shape.heads + place.head) as usize;
            log_tile[UNIT_POS as usize] = log_sums[i];
            delta_tile[UNIT_POS as usize] = deltas[i];
        }
        sync_cube();
        if active {
            for i in 0..rows {
                let its = i * vectors + part;
                let p = (dot::<N>(&own_k, &q_tile, its, shape) - log_tile[i as usize]).exp();
                let number = place.number + (tile + i) * place.keys + key;
                let keep = factor(&mask, number, shape.dropped);
                let dp = dot::<N>(&own_v, &dy_tile, its, shape);
                let ds = p * (dp * keep - delta_tile[i as usize]);
                add::<N>(&mut dv, p * keep, &dy_tile, its, shape);
                add::<N>(&mut dk, ds, &q_tile, its, shape);
            }
        }
        tile += size;
    }
    if active {
        write::<F, N>(&dk, scale, dkv, at, shape);
        write::<F, N>(&dv, 1.0f32, dkv, at + d, shape);
    }
}

/// Returns the number of units for a row of a width: each has at most 32 columns if four can do that.
fn parts(width: usize) -> usize {
    let halves = |parts: usize| width.is_multiple_of(2 * parts) && width > 32 * parts;
    [1, 2].into_iter().find(|&parts| !halves(parts)).unwrap_or(4)
}

/// The arguments of a launch that all three kernels share.
struct Launch {
    shape: Shape,
    scale: f32,
    /// Elements of a vector.
    lanes: usize,
    /// The most queries and keys of a text.
    queries: usize,
    keys: usize,
}

/// Returns the number of cubes for the queries, or keys, of a head of the longest text.
fn tiles(longest: usize) -> usize {
    longest.div_ceil(ROWS as usize).max(1)
}

impl Attention {
    fn launch(&self, first: &CubeTensor, packed: bool) -> Launch {
        let d = sides(first).1 / if packed { 3 } else { 1 };
        let width = d / self.heads;
        let parts = if shares(first) { parts(width) } else { 1 };
        let lanes = vector(width / parts);
        let shape = Shape {
            heads: count(self.heads),
            width: count(width / lanes),
            tile: (HELD / width).clamp(1, TILE) as u32,
            packed,
            dropped: self.dropout.is_some(),
            parts: count(parts),
        };
        Launch {
            shape,
            scale: 1.0 / (width as f32).sqrt(),
            lanes,
            queries: if packed { self.sequences.longest() } else { 1 },
            keys: self.sequences.longest(),
        }
    }

    /// Returns the cubes of a launch, some for each head of each text.
    fn cubes(&self, like: &CubeTensor, longest: usize) -> CubeCount {
        if self.sequences.texts() == 0 {
            return CubeCount::Static(0, 0, 0);
        }
        spread(like, tiles(longest) * self.heads * self.sequences.texts())
    }
}

impl<const N: usize> Operation<Cube, N> for Attention {
    /// The inputs, the value, and the logarithms of the sums of each row's exponentials.
    type Saved = ([CubeTensor; N], [CubeTensor; 2]);

    fn reads(&self, given: [DType; N]) -> [DType; N] {
        // all inputs in one type
        let all_narrow = given.iter().all(|&dtype| narrow(dtype) == dtype && dtype == given[0]);
        if all_narrow { given } else { [DType::F32; N] }
    }

    fn forward(&self, inputs: [CubeTensor; N], _: bool) -> (CubeTensor, Self::Saved) {
        let q = &inputs[0];
        let kv = &inputs[N - 1];
        let launched = self.launch(q, N == 1);
        let rows = sides(q).0;
        let d = launched.shape.d() as usize * launched.lanes;
        let y = empty_of(q.dtype, q, [rows, d]);
        let log_sums = empty(q, [rows, self.heads]);
        // SAFETY: units beyond a text's last query write nothing
        unsafe {
            attention::launch_unchecked(
                &q.client,
                self.cubes(q, launched.queries),
                CubeDim::new_1d(ROWS * launched.shape.parts),
                launched.lanes,
                buffer(q),
                buffer(kv),
                texts(&self.sequences, q),
                buffer(&y),
                buffer(&log_sums),
                count(self.sequences.texts()),
                count(tiles(launched.queries)),
                launched.scale,
                argument(self.dropout).0,
                launched.shape,
                element(q),
            );
        }
        (y.clone(), (inputs, [y, log_sums]))
    }

    fn backward(
        self,
        (inputs, [y, log_sums]): Self::Saved,
        dy: CubeTensor,
        _: [bool; N],
    ) -> [Option<CubeTensor>; N] {
        let q = &inputs[0];
        let kv = &inputs[N - 1];
        let launched = self.launch(q, N == 1);
        // gradients lie as their inputs do
        let gradient =
            |input: &CubeTensor| empty_of(input.dtype, input, input.meta.shape().clone());
        let gradients = inputs.each_ref().map(gradient);
        let dy = in_type(dy, q.dtype);
        let dq = &gradients[0];
        let dkv = &gradients[N - 1];
        let deltas = empty(q, log_sums.meta.shape().clone());
        // SAFETY: units beyond a text's last query or key write nothing
        unsafe {
            attention_backward_queries::launch_unchecked(
                &q.client,
                self.cubes(q, launched.queries),
                CubeDim::new_1d(ROWS * launched.shape.parts),
                launched.lanes,
                buffer(q),
                buffer(kv),
                texts(&self.sequences, q),
                buffer(&y),
                buffer(&log_sums),
                buffer(&dy),
                buffer(dq),
                buffer(&deltas),
                count(self.sequences.texts()),
                count(tiles(launched.queries)),
                launched.scale,
                argument(self.dropout).0,
                launched.shape,
                element(q),
            );
            attention_backward_keys::launch_unchecked(
                &q.client,
                self.cubes(q, launched.keys),
                CubeDim::new_1d(ROWS * launched.shape.parts),
                launched.lanes,
                buffer(q),
                buffer(kv),
                texts(&self.sequences, q),
                buffer(&log_sums),
                buffer(&deltas),
                buffer(&dy),
                buffer(dkv),
                count(self.sequences.texts()),
                count(tiles(launched.keys)),
                launched.scale,
                argument(self.dropout).0,
                launched.shape,
                element(q),
            );
        }
        gradients.map(Some)
    }
}
