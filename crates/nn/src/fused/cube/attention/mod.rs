//! Attention with a streaming softmax (Dao 2024, FlashAttention-2): no scores are stored. A unit owns a query, or in
//! the backward pass of keys and values a key; the other side comes in tiles through shared memory.

mod place;
mod tiles;

use burn::backend::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Mask, argument, factor};
use super::{buffer, element, empty, empty_of, in_type, sides, total, vector};
use crate::fused::Operation;
use crate::fused::attention::Attention;
use place::{Shape, own_place};
use tiles::{add, dot, load, read, write, zeros};

/// Queries, or keys, of a cube.
const ROWS: u32 = 64;

/// Below every score.
const LOWEST: f32 = -1e30;

#[cube(launch_unchecked)]
fn attention<F: Float, N: Size>(
    q: &[Vector<F, N>],
    kv: &[Vector<F, N>],
    texts: &[u32],
    y: &mut [Vector<F, N>],
    log_sums: &mut [f32],
    scale: f32,
    mask: Mask,
    #[comptime] shape: Shape,
    #[define(F)] _element: ElemType,
) {
    let lanes = N::value();
    let lanes = comptime!(lanes as u32);
    let (vectors, size) = comptime!((shape.width / lanes, shape.tile()));
    let [q_stride, kv_stride] = comptime!(shape.strides().map(|stride| stride / lanes));
    let (d, keys_at) = comptime!((shape.d() / lanes, shape.keys() / lanes));
    let place = own_place(texts, shape);
    let column = place.column / lanes;
    let query = CUBE_POS_X * ROWS + UNIT_POS;
    let active = query < place.queries;
    let row = place.queries_from + min(query, place.queries - 1);
    let mut k_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut v_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let own = read::<F, N>(q, row * q_stride + column, scale, vectors);
    let mut sum = zeros::<N>(vectors);
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
                let score = dot::<N>(&own, &k_tile, j, vectors);
                if score > largest {
                    let shrink = (largest - score).exp();
                    exponentials *= shrink;
                    let shrink = Vector::<f32, N>::new(shrink);
                    #[unroll]
                    for c in 0..vectors {
                        sum[c as usize] *= shrink;
                    }
                    largest = score;
                }
                let p = (score - largest).exp();
                exponentials += p;
                let number = place.number + query * place.keys + tile + j;
                let kept = p * factor(&mask, number, shape.dropped);
                add::<N>(&mut sum, kept, &v_tile, j, vectors);
            }
        }
        tile += size;
    }
    if active {
        write::<F, N>(&sum, 1.0f32 / exponentials, y, row * d + column, vectors);
        log_sums[(row * shape.heads + CUBE_POS_Y) as usize] = largest + exponentials.ln();
    }
}

/// The gradient of queries, and `δ_i = ⟨dy_i, y_i⟩` of each.
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
    scale: f32,
    mask: Mask,
    #[comptime] shape: Shape,
    #[define(F)] _element: ElemType,
) {
    let lanes = N::value();
    let lanes = comptime!(lanes as u32);
    let (vectors, size) = comptime!((shape.width / lanes, shape.tile()));
    let [q_stride, kv_stride] = comptime!(shape.strides().map(|stride| stride / lanes));
    let (d, keys_at) = comptime!((shape.d() / lanes, shape.keys() / lanes));
    let place = own_place(texts, shape);
    let column = place.column / lanes;
    let query = CUBE_POS_X * ROWS + UNIT_POS;
    let active = query < place.queries;
    let row = place.queries_from + min(query, place.queries - 1);
    let mut k_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut v_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let own = read::<F, N>(q, row * q_stride + column, scale, vectors);
    let own_dy = read::<F, N>(dy, row * d + column, 1.0f32, vectors);
    let mut sum = zeros::<N>(vectors);
    let mut along = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for c in 0..vectors {
        let y = Vector::<f32, N>::cast_from(y[(row * d + column + c) as usize]);
        along += own_dy[c as usize] * y;
    }
    let delta = total::<N>(along);
    let log_sum = log_sums[(row * shape.heads + CUBE_POS_Y) as usize];
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
                let p = (dot::<N>(&own, &k_tile, j, vectors) - log_sum).exp();
                let number = place.number + query * place.keys + tile + j;
                let dp = dot::<N>(&own_dy, &v_tile, j, vectors);
                let ds = p * (dp * factor(&mask, number, shape.dropped) - delta);
                add::<N>(&mut sum, ds, &k_tile, j, vectors);
            }
        }
        tile += size;
    }
    if active {
        write::<F, N>(&sum, scale, dq, row * q_stride + column, vectors);
        deltas[(row * shape.heads + CUBE_POS_Y) as usize] = delta;
    }
}

/// The gradients of keys and values.
#[cube(launch_unchecked)]
fn attention_backward_keys<F: Float, N: Size>(
    q: &[Vector<F, N>],
    kv: &[Vector<F, N>],
    texts: &[u32],
    log_sums: &[f32],
    deltas: &[f32],
    dy: &[Vector<F, N>],
    dkv: &mut [Vector<F, N>],
    scale: f32,
    mask: Mask,
    #[comptime] shape: Shape,
    #[define(F)] _element: ElemType,
) {
    let lanes = N::value();
    let lanes = comptime!(lanes as u32);
    let (vectors, size) = comptime!((shape.width / lanes, shape.tile()));
    let [q_stride, kv_stride] = comptime!(shape.strides().map(|stride| stride / lanes));
    let (d, keys_at) = comptime!((shape.d() / lanes, shape.keys() / lanes));
    let place = own_place(texts, shape);
    let column = place.column / lanes;
    let key = CUBE_POS_X * ROWS + UNIT_POS;
    let active = key < place.keys;
    let row = place.keys_from + min(key, place.keys - 1);
    let mut q_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut dy_tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!((size * vectors) as usize));
    let mut log_tile = Shared::<[f32]>::new_slice(comptime!(size as usize));
    let mut delta_tile = Shared::<[f32]>::new_slice(comptime!(size as usize));
    let at = row * kv_stride + keys_at + column;
    let own_k = read::<F, N>(kv, at, scale, vectors);
    let own_v = read::<F, N>(kv, at + d, 1.0f32, vectors);
    let mut dk = zeros::<N>(vectors);
    let mut dv = zeros::<N>(vectors);
    let mut tile = 0u32;
    while tile < place.queries {
        let rows = min(size, place.queries - tile);
        let first = place.queries_from + tile;
        sync_cube();
        load::<F, N>(q, first * q_stride + column, rows, &mut q_tile, q_stride, vectors);
        load::<F, N>(dy, first * d + column, rows, &mut dy_tile, d, vectors);
        if UNIT_POS < rows {
            let i = ((first + UNIT_POS) * shape.heads + CUBE_POS_Y) as usize;
            log_tile[UNIT_POS as usize] = log_sums[i];
            delta_tile[UNIT_POS as usize] = deltas[i];
        }
        sync_cube();
        if active {
            for i in 0..rows {
                let p = (dot::<N>(&own_k, &q_tile, i, vectors) - log_tile[i as usize]).exp();
                let number = place.number + (tile + i) * place.keys + key;
                let keep = factor(&mask, number, shape.dropped);
                let dp = dot::<N>(&own_v, &dy_tile, i, vectors);
                let ds = p * (dp * keep - delta_tile[i as usize]);
                add::<N>(&mut dv, p * keep, &dy_tile, i, vectors);
                add::<N>(&mut dk, ds, &q_tile, i, vectors);
            }
        }
        tile += size;
    }
    if active {
        write::<F, N>(&dk, scale, dkv, at, vectors);
        write::<F, N>(&dv, 1.0f32, dkv, at + d, vectors);
    }
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

impl Attention {
    fn launch(&self, first: &CubeTensor, packed: bool) -> Launch {
        let d = sides(first).1 / if packed { 3 } else { 1 };
        let width = d / self.heads;
        let lanes = vector(width);
        let dropped = self.dropout.is_some();
        Launch {
            shape: Shape { heads: self.heads as u32, width: width as u32, packed, dropped },
            scale: 1.0 / (width as f32).sqrt(),
            lanes,
            queries: if packed { self.sequences.longest() } else { 1 },
            keys: self.sequences.longest(),
        }
    }

    /// What [`own_place`] reads, which all layers of a batch share.
    fn texts(&self, like: &CubeTensor) -> BufferArg {
        let sequences = &self.sequences;
        let length = 2 * sequences.texts() + 1;
        let handle = sequences.on_gpu.get_or_init(|| {
            let mut texts: Vec<u32> = sequences.bounds().iter().map(|&row| row as u32).collect();
            let mut before = 0u32;
            for length in sequences.lengths() {
                texts.push(before);
                before = before.wrapping_add((length * length) as u32);
            }
            like.client.create_from_slice(bytemuck::cast_slice(&texts))
        });
        // SAFETY: the handle holds so many numbers
        unsafe { BufferArg::from_raw_parts(handle.clone(), length) }
    }

    fn cubes(&self, longest: usize) -> CubeCount {
        let texts = self.sequences.texts() as u32;
        CubeCount::Static(longest.div_ceil(ROWS as usize) as u32, self.heads as u32, texts)
    }
}

impl<const N: usize> Operation<Cube, N> for Attention {
    /// The inputs, the value, and the logarithms of the sums of each row's exponentials.
    type Saved = ([CubeTensor; N], [CubeTensor; 2]);

    fn forward(&self, inputs: [CubeTensor; N], _: bool) -> (CubeTensor, Self::Saved) {
        let (q, kv) = (&inputs[0], &inputs[N - 1]);
        let own = self.launch(q, N == 1);
        let (rows, d) = (sides(q).0, own.shape.d() as usize);
        let y = empty_of(q.dtype, q, [rows, d]);
        let log_sums = empty(q, [rows, self.heads]);
        // SAFETY: units beyond a text's last query write nothing
        unsafe {
            attention::launch_unchecked(
                &q.client,
                self.cubes(own.queries),
                CubeDim::new_1d(ROWS),
                own.lanes,
                buffer(q),
                buffer(kv),
                self.texts(q),
                buffer(&y),
                buffer(&log_sums),
                own.scale,
                argument(self.dropout).0,
                own.shape,
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
        let (q, kv) = (&inputs[0], &inputs[N - 1]);
        let own = self.launch(q, N == 1);
        // gradients lie as their inputs do
        let gradient =
            |input: &CubeTensor| empty_of(input.dtype, input, input.meta.shape().clone());
        let gradients = inputs.each_ref().map(gradient);
        let dy = in_type(dy, q.dtype);
        let (dq, dkv) = (&gradients[0], &gradients[N - 1]);
        let deltas = empty(q, log_sums.meta.shape().clone());
        // SAFETY: units beyond a text's last query or key write nothing
        unsafe {
            attention_backward_queries::launch_unchecked(
                &q.client,
                self.cubes(own.queries),
                CubeDim::new_1d(ROWS),
                own.lanes,
                buffer(q),
                buffer(kv),
                self.texts(q),
                buffer(&y),
                buffer(&log_sums),
                buffer(&dy),
                buffer(dq),
                buffer(&deltas),
                own.scale,
                argument(self.dropout).0,
                own.shape,
                element(q),
            );
            attention_backward_keys::launch_unchecked(
                &q.client,
                self.cubes(own.keys),
                CubeDim::new_1d(ROWS),
                own.lanes,
                buffer(q),
                buffer(kv),
                self.texts(q),
                buffer(&log_sums),
                buffer(&deltas),
                buffer(&dy),
                buffer(dkv),
                own.scale,
                argument(self.dropout).0,
                own.shape,
                element(q),
            );
        }
        gradients.map(Some)
    }
}
