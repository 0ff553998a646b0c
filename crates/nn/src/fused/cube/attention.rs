//! Attention with a streaming softmax (Dao 2024, FlashAttention-2): no scores are stored. A unit owns a query, or in
//! the backward pass of keys and values a key; the other side comes in tiles through shared memory.

use burn::backend::Cube;
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::mask::{Mask, argument, factor};
use super::{buffer, element, empty, empty_of, sides, total, vector};
use crate::fused::Operation;
use crate::fused::attention::Attention;

/// Queries, or keys, of a cube.
const ROWS: u32 = 64;

/// The most keys, or queries, of a tile, and the numbers of one of its two matrices: what shared memory holds.
const TILE: u32 = 32;
const HELD: u32 = 2048;

/// Below every score.
const LOWEST: f32 = -1e30;

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    heads: u32,
    /// Width of a head.
    width: u32,
    /// Whether queries, keys and values lie side by side in one matrix; otherwise each text has one query, and only
    /// keys and values do.
    packed: bool,
    dropped: bool,
}

impl Shape {
    /// Keys, or queries, of a tile.
    fn tile(self) -> u32 {
        (HELD / self.width).clamp(1, TILE)
    }

    fn d(self) -> u32 {
        self.heads * self.width
    }

    /// Distance between rows of queries, and of keys and values.
    fn strides(self) -> [u32; 2] {
        if self.packed { [3 * self.d(); 2] } else { [self.d(), 2 * self.d()] }
    }

    /// The column of the first key.
    fn keys(self) -> u32 {
        if self.packed { self.d() } else { 0 }
    }
}

/// The place of a cube: a text and a head.
#[derive(CubeType, Clone, Copy)]
struct Place {
    /// Row of the text's first key and of its first query.
    keys_from: u32,
    queries_from: u32,
    keys: u32,
    queries: u32,
    /// Column of the head.
    column: u32,
    /// Number of its first probability among all.
    number: u32,
}

/// `texts` holds the row of each text's first token, the number of rows, and the sum of the squares of the lengths of
/// the texts before each, which number its first probability. Of one query a text, that is the sum of the lengths.
#[cube]
fn place(texts: &[u32], #[comptime] shape: Shape) -> Place {
    let (text, head) = (CUBE_POS_Z, CUBE_POS_Y);
    let from = texts[text as usize];
    let keys = texts[text as usize + 1] - from;
    let mut queries = keys;
    let mut queries_from = from;
    if comptime!(!shape.packed) {
        queries = 1u32;
        queries_from = text;
    }
    let mut before = from;
    if comptime!(shape.packed) {
        before = texts[(CUBE_COUNT_Z + 1 + text) as usize];
    }
    let number = before * shape.heads + head * queries * keys;
    Place { keys_from: from, queries_from, keys, queries, column: head * shape.width, number }
}

/// The scalar product of a unit's row and a row of a tile.
#[cube]
fn dot<N: Size>(
    a: &Array<Vector<f32, N>>,
    tile: &Shared<[Vector<f32, N>]>,
    row: u32,
    #[comptime] vectors: u32,
) -> f32 {
    let mut sum = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for c in 0..vectors {
        sum += a[c as usize] * tile[(row * vectors + c) as usize];
    }
    total::<N>(sum)
}

/// `a ← a + factor · row`.
#[cube]
fn add<N: Size>(
    a: &mut Array<Vector<f32, N>>,
    factor: f32,
    tile: &Shared<[Vector<f32, N>]>,
    row: u32,
    #[comptime] vectors: u32,
) {
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        a[c as usize] += factor * tile[(row * vectors + c) as usize];
    }
}

#[cube]
fn read<F: Float, N: Size>(
    from: &[Vector<F, N>],
    position: u32,
    factor: f32,
    #[comptime] vectors: u32,
) -> Array<Vector<f32, N>> {
    let mut values = Array::<Vector<f32, N>>::new(comptime!(vectors as usize));
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        values[c as usize] = Vector::<f32, N>::cast_from(from[(position + c) as usize]) * factor;
    }
    values
}

#[cube]
fn zeros<N: Size>(#[comptime] vectors: u32) -> Array<Vector<f32, N>> {
    let mut values = Array::<Vector<f32, N>>::new(comptime!(vectors as usize));
    #[unroll]
    for c in 0..vectors {
        values[c as usize] = Vector::new(0.0f32);
    }
    values
}

#[cube]
fn write<F: Float, N: Size>(
    values: &Array<Vector<f32, N>>,
    factor: f32,
    to: &mut [Vector<F, N>],
    position: u32,
    #[comptime] vectors: u32,
) {
    let factor = Vector::<f32, N>::new(factor);
    #[unroll]
    for c in 0..vectors {
        to[(position + c) as usize] = Vector::<F, N>::cast_from(values[c as usize] * factor);
    }
}

/// Copies `rows` rows of a tile, whose first vector lies at `position`.
#[cube]
fn load<F: Float, N: Size>(
    from: &[Vector<F, N>],
    position: u32,
    rows: u32,
    tile: &mut Shared<[Vector<f32, N>]>,
    #[comptime] stride: u32,
    #[comptime] vectors: u32,
) {
    let mut slot = UNIT_POS;
    while slot < rows * vectors {
        let at = position + (slot / vectors) * stride + slot % vectors;
        tile[slot as usize] = Vector::<f32, N>::cast_from(from[at as usize]);
        slot += CUBE_DIM;
    }
}

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
    let place = place(texts, shape);
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
    let place = place(texts, shape);
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
    let place = place(texts, shape);
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
    longest: usize,
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
            longest: self.sequences.longest(),
        }
    }

    /// What [`place`] reads, which all layers of a batch share.
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
        let longest = if N == 1 { own.longest } else { 1 };
        // SAFETY: units beyond a text's last query write nothing
        unsafe {
            attention::launch_unchecked(
                &q.client,
                self.cubes(longest),
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
        let dy = if dy.dtype == q.dtype { dy } else { cast(dy, q.dtype) };
        let (dq, dkv) = (&gradients[0], &gradients[N - 1]);
        let deltas = empty(q, log_sums.meta.shape().clone());
        let queries = if N == 1 { own.longest } else { 1 };
        // SAFETY: units beyond a text's last query or key write nothing
        unsafe {
            attention_backward_queries::launch_unchecked(
                &q.client,
                self.cubes(queries),
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
                self.cubes(own.longest),
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
