//! Matrix products of operands rounded to bfloat16, added up in 32 bits, with AVX-512's `vdpbf16ps`.
//!
//! Operands are 32-bit matrices. Blocks of them are rounded and packed on the way: two neighbours along the
//! inner dimension side by side in 32 bits, [`ROWS`] rows of the first operand or [`COLUMNS`] columns of the
//! second side by side in memory. A tile of the target is computed in registers, and every value is added
//! up over the inner dimension in the same order whatever the number of threads and the value's place.

use std::arch::x86_64::*;
use std::cell::RefCell;

use rayon::prelude::*;

use super::operation::{Parallelism, Product, Shared, View};

/// Rows of a tile.
const ROWS: usize = 8;
/// Values of a register.
const LANES: usize = 16;
/// Columns of a tile.
const COLUMNS: usize = 3 * LANES;
/// Values along the inner dimension that are packed at a time.
const DEPTH: usize = 768;
/// Rows that a task packs at a time, at most: with [`DEPTH`] values each they stay in the second cache.
const TALL: usize = 128;
/// Values along the inner dimension between those that are packed and those that are asked for.
const AHEAD: usize = 32;

/// Whether the processor multiplies in bfloat16.
pub fn supported() -> bool {
    use std::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512bf16")
}

/// As [`Product::write`] for operands rounded to bfloat16.
///
/// # Safety
/// As [`Product::write`], of checked sizes, on a processor that is [`supported`].
pub unsafe fn write(product: &Product, target: *mut f32, width: usize) {
    let Product { sizes: (m, n, k), threads, .. } = *product;
    let tall = match threads {
        Parallelism::None => TALL,
        // enough tasks to share out evenly
        Parallelism::Rayon(_) => {
            let tasks = 4 * rayon::current_num_threads();
            m.div_ceil(tasks).max(1).next_multiple_of(2 * ROWS).min(TALL)
        }
    };
    let target = Shared(target);
    // an empty sum writes its zeros, too
    for from in (0..k.max(1)).step_by(DEPTH) {
        let depth = DEPTH.min(k - from);
        let mut right = spare(n.div_ceil(LANES) * LANES * depth.div_ceil(2));
        let panels = Shared(right.as_mut_ptr());
        let slice = Slice { product, from, depth, panels };
        // SAFETY: panels and blocks lie in the matrices, and every one is written by one task
        unsafe {
            match threads {
                Parallelism::None => {
                    (0..n).step_by(COLUMNS).for_each(|j| slice.pack_panel(j));
                    (0..m).step_by(tall).for_each(|i| slice.multiply(i, tall, target, width));
                }
                Parallelism::Rayon(_) => {
                    let panels = (0..n.div_ceil(COLUMNS)).into_par_iter();
                    panels.for_each(|j| slice.pack_panel(j * COLUMNS));
                    let blocks = (0..m.div_ceil(tall)).into_par_iter();
                    blocks.for_each(|i| slice.multiply(i * tall, tall, target, width));
                }
            }
        }
        keep(right);
    }
}

/// The part of a product from one value on along the inner dimension.
#[derive(Clone, Copy)]
struct Slice<'a> {
    product: &'a Product<'a>,
    from: usize,
    depth: usize,
    /// The second operand's packed panels of [`COLUMNS`] columns, one after the other.
    panels: Shared<u32>,
}

impl Slice<'_> {
    fn pairs(&self) -> usize {
        self.depth.div_ceil(2)
    }

    /// `rows` rows of an operand, from row `i` on.
    fn strip(&self, View { values, row, column }: View, i: usize, rows: usize) -> Strip {
        let start = values.as_ptr().wrapping_add(i * row + self.from * column);
        Strip { start, row, column, rows, depth: self.depth }
    }

    /// Packs the panel that begins at column `j`.
    ///
    /// # Safety
    /// The column exists, and no other thread uses its panel.
    unsafe fn pack_panel(self, j: usize) {
        let columns = COLUMNS.min(self.product.sizes.1 - j);
        let strides = Strides { pair: columns.next_multiple_of(LANES), half: ROWS, group: LANES };
        // SAFETY: the strip lies in the operand, and its place in the panel
        unsafe {
            let panel = self.panels.at(j * self.pairs());
            self.strip(self.product.b.transposed(), j, columns).pack(strides, panel);
        }
    }

    /// Packs rows of the first operand from `i` on, at most `tall`, and computes them.
    ///
    /// # Safety
    /// The row exists, panels are packed, the target covers the rows, and no other thread uses them.
    unsafe fn multiply(self, i: usize, tall: usize, target: Shared<f32>, width: usize) {
        let Product { sizes: (m, n, _), a, bias, factor, .. } = *self.product;
        let (rows, pairs) = (tall.min(m - i), self.pairs());
        let mut left = spare(rows.next_multiple_of(LANES) * pairs);
        let packed = left.as_mut_ptr();
        let strides = Strides { pair: ROWS, half: ROWS * pairs, group: LANES * pairs };
        // SAFETY: the strip lies in the operand, and its panels of rows in `left`
        unsafe { self.strip(a, i, rows).pack(strides, packed) };
        for j in (0..n).step_by(COLUMNS) {
            let columns = COLUMNS.min(n - j);
            for first in (0..rows).step_by(ROWS) {
                // SAFETY: the tile lies in the target; operands are packed
                unsafe {
                    let tile = Tile {
                        target: target.at((i + first) * width + j),
                        width,
                        rows: ROWS.min(rows - first),
                        columns,
                        add: self.from > 0,
                        bias: bias.map(|bias| &bias[j..]),
                        factor,
                    };
                    let (a, b) = (packed.add(first * pairs), self.panels.at(j * pairs));
                    match columns.div_ceil(LANES) {
                        1 => tile.write::<1>(pairs, a, b),
                        2 => tile.write::<2>(pairs, a, b),
                        _ => tile.write::<3>(pairs, a, b),
                    }
                }
            }
        }
        keep(left);
    }
}

thread_local! {
    /// Memory for packed operands, which a product takes and gives back; a task that the thread runs
    /// meanwhile takes other memory.
    static SPARE: RefCell<Vec<Vec<u32>>> = const { RefCell::new(Vec::new()) };
}

/// Memory for at least `n` pairs.
fn spare(n: usize) -> Vec<u32> {
    let mut memory = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if memory.len() < n {
        memory = vec![0; n];
    }
    memory
}

/// Gives memory back.
fn keep(memory: Vec<u32>) {
    SPARE.with_borrow_mut(|all| all.push(memory));
}

/// Rows of a view, of `depth` values each.
#[derive(Clone, Copy)]
struct Strip {
    start: *const f32,
    row: usize,
    column: usize,
    rows: usize,
    depth: usize,
}

/// Distances in packed memory: between pairs of a row, between the two halves of a group of 16 rows, and
/// between groups.
#[derive(Clone, Copy)]
struct Strides {
    pair: usize,
    half: usize,
    group: usize,
}

impl Strip {
    /// Rounds and packs: pair p of row `16 g + 8 h + i` goes to
    /// `target[g · group + h · half + p · pair + i]`. Rows missing in the last group and an odd last value's partner are
    /// zeros.
    ///
    /// # Safety
    /// The rows' values can be read; `target` has room for them; the processor is [`supported`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    unsafe fn pack(self, strides: Strides, target: *mut u32) {
        let Self { start, row, column, rows, depth } = self;
        // SAFETY: masks keep loads inside the view, prefetches never fault, and stores are those of the caller's promise
        unsafe {
            let put = |first: usize, p: usize, pairs: __m512i| {
                let low = target.add(first / LANES * strides.group + p * strides.pair);
                let halves = (_mm512_castsi512_si256(pairs), _mm512_extracti64x4_epi64::<1>(pairs));
                _mm256_storeu_si256(low.cast(), halves.0);
                _mm256_storeu_si256(low.add(strides.half).cast(), halves.1);
            };
            if row == 1 {
                // values of one column lie side by side
                let order: [u16; 32] = std::array::from_fn(|i| (i / 2 + i % 2 * 16) as u16);
                let order = _mm512_loadu_si512(order.as_ptr().cast());
                for p in 0..depth.div_ceil(2) {
                    let values = start.wrapping_add(2 * p * column);
                    for first in (0..rows).step_by(LANES) {
                        let values = values.wrapping_add(first);
                        let ahead = values.wrapping_add(AHEAD * column);
                        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                        _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(column).cast());
                        let here = mask(rows - first);
                        let there = if 2 * p + 1 < depth { here } else { 0 };
                        let low = _mm512_maskz_loadu_ps(here, values);
                        let high = _mm512_maskz_loadu_ps(there, values.wrapping_add(column));
                        put(first, p, _mm512_permutexvar_epi16(order, rounded(low, high)));
                    }
                }
                return;
            }
            assert!(column == 1, "a view has adjacent values along one of its sides");
            for first in (0..rows).step_by(LANES) {
                for from in (0..depth).step_by(2 * LANES) {
                    let rest = depth - from;
                    let masks = (mask(rest), mask(rest.saturating_sub(LANES)));
                    let mut square = [_mm512_setzero_si512(); LANES];
                    for (i, square) in square.iter_mut().enumerate() {
                        if first + i < rows {
                            let values = start.wrapping_add((first + i) * row + from);
                            let low = _mm512_maskz_loadu_ps(masks.0, values);
                            let high = _mm512_maskz_loadu_ps(masks.1, values.wrapping_add(LANES));
                            *square = rounded(low, high);
                        }
                    }
                    let pairs = transposed(square).into_iter().enumerate();
                    for (p, pairs) in pairs.take(rest.div_ceil(2)) {
                        put(first, from / 2 + p, pairs);
                    }
                }
            }
        }
    }
}

/// The mask of a register's first `n` values.
fn mask(n: usize) -> __mmask16 {
    if n >= LANES { !0 } else { (1 << n) - 1 }
}

/// 32 values rounded to bfloat16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn rounded(first: __m512, second: __m512) -> __m512i {
    // SAFETY: both are 512 bits without invalid values
    unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(second, first)) }
}

/// The transpose of a 16 × 16 matrix.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn transposed(x: [__m512i; LANES]) -> [__m512i; LANES] {
    let mut y = [_mm512_setzero_si512(); LANES];
    for i in 0..8 {
        y[2 * i] = _mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
        y[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
    }
    // z[4 g + c]: column c of each 128-bit part, rows 4 g to 4 g + 3
    let mut z = y;
    for g in 0..4 {
        z[4 * g] = _mm512_unpacklo_epi64(y[4 * g], y[4 * g + 2]);
        z[4 * g + 1] = _mm512_unpackhi_epi64(y[4 * g], y[4 * g + 2]);
        z[4 * g + 2] = _mm512_unpacklo_epi64(y[4 * g + 1], y[4 * g + 3]);
        z[4 * g + 3] = _mm512_unpackhi_epi64(y[4 * g + 1], y[4 * g + 3]);
    }
    let mut t = z;
    for c in 0..4 {
        let (a, b) = (z[c], z[4 + c]);
        let (d, e) = (z[8 + c], z[12 + c]);
        let (even, odd) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
        let (more, rest) = (_mm512_shuffle_i32x4::<0x88>(d, e), _mm512_shuffle_i32x4::<0xdd>(d, e));
        t[c] = _mm512_shuffle_i32x4::<0x88>(even, more);
        t[8 + c] = _mm512_shuffle_i32x4::<0xdd>(even, more);
        t[4 + c] = _mm512_shuffle_i32x4::<0x88>(odd, rest);
        t[12 + c] = _mm512_shuffle_i32x4::<0xdd>(odd, rest);
    }
    t
}

/// A part of the target of at most [`ROWS`] rows and [`COLUMNS`] columns.
struct Tile<'a> {
    target: *mut f32,
    width: usize,
    rows: usize,
    columns: usize,
    /// Whether the target holds sums to add to.
    add: bool,
    bias: Option<&'a [f32]>,
    factor: f32,
}

impl Tile<'_> {
    /// Writes the products of [`ROWS`] packed rows and `16 V` packed columns.
    ///
    /// # Safety
    /// The operands hold `pairs` pairs of as many rows and columns; the target covers the tile and, with
    /// `add`, has been written; the processor is [`supported`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    unsafe fn write<const V: usize>(self, pairs: usize, a: *const u32, b: *const u32) {
        let mut sums = [[_mm512_setzero_ps(); V]; ROWS];
        // SAFETY: the caller's promise; prefetches never fault; masks keep the bias and the target inside their columns
        unsafe {
            for i in 0..self.rows {
                for v in 0..V {
                    let line = self.target.wrapping_add(i * self.width + v * LANES);
                    _mm_prefetch::<_MM_HINT_T0>(line.cast());
                }
            }
            for p in 0..pairs {
                let columns: [__m512bh; V] = std::array::from_fn(|v| {
                    let pairs = _mm512_loadu_si512(b.add((p * V + v) * LANES).cast());
                    std::mem::transmute::<__m512i, __m512bh>(pairs)
                });
                for (i, sums) in sums.iter_mut().enumerate() {
                    let pair = _mm512_set1_epi32(*a.add(p * ROWS + i) as i32);
                    let pair = std::mem::transmute::<__m512i, __m512bh>(pair);
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = _mm512_dpbf16_ps(*sum, pair, column);
                    }
                }
            }
            let factor = _mm512_set1_ps(self.factor);
            for (i, sums) in sums.into_iter().enumerate().take(self.rows) {
                for (v, sum) in sums.into_iter().enumerate() {
                    let here = mask(self.columns - v * LANES);
                    let target = self.target.add(i * self.width + v * LANES);
                    let before = match self.bias {
                        _ if self.add => _mm512_maskz_loadu_ps(here, target),
                        Some(bias) => _mm512_maskz_loadu_ps(here, bias[v * LANES..].as_ptr()),
                        None => _mm512_setzero_ps(),
                    };
                    _mm512_mask_storeu_ps(target, here, _mm512_fmadd_ps(sum, factor, before));
                }
            }
        }
    }
}
