//! Packing and tiles with AVX-512.

use std::arch::x86_64::*;

use super::{LANES, ROWS, Strides, Strip, Tile};

/// Values along the inner dimension between those that are packed and those that are asked for.
const AHEAD: usize = 32;

/// Returns whether the processor multiplies in bfloat16.
pub fn supported() -> bool {
    use std::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512bf16")
}

impl Strip {
    /// Rounds and packs: pair p of row `16 g + 8 h + i` goes to
    /// `target[g · group + h · half + p · pair + i]`. Rows missing in the last group and an odd last value's partner
    /// are zeros.
    ///
    /// # Safety
    /// The rows' values can be read; `target` has room for them; the processor is [`supported`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    pub(super) unsafe fn pack(self, strides: Strides, target: *mut u32) {
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

/// Returns the mask of a register's first `n` values.
fn mask(n: usize) -> __mmask16 {
    if n >= LANES { !0 } else { (1 << n) - 1 }
}

/// Returns 32 values rounded to bfloat16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn rounded(first: __m512, second: __m512) -> __m512i {
    // SAFETY: both are 512 bits without invalid values
    unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(second, first)) }
}

/// Returns the transpose of a 16 × 16 matrix.
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
        let a = z[c];
        let b = z[4 + c];
        let d = z[8 + c];
        let e = z[12 + c];
        let even = _mm512_shuffle_i32x4::<0x88>(a, b);
        let odd = _mm512_shuffle_i32x4::<0xdd>(a, b);
        let more = _mm512_shuffle_i32x4::<0x88>(d, e);
        let rest = _mm512_shuffle_i32x4::<0xdd>(d, e);
        t[c] = _mm512_shuffle_i32x4::<0x88>(even, more);
        t[8 + c] = _mm512_shuffle_i32x4::<0xdd>(even, more);
        t[4 + c] = _mm512_shuffle_i32x4::<0x88>(odd, rest);
        t[12 + c] = _mm512_shuffle_i32x4::<0xdd>(odd, rest);
    }
    t
}

impl Tile<'_> {
    /// Writes the products of [`ROWS`] packed rows and `16 V` packed columns.
    ///
    /// # Safety
    /// The operands hold `pairs` pairs of as many rows and columns; the target covers the tile and, with
    /// `add`, has been written; the processor is [`supported`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    pub(super) unsafe fn write<const V: usize>(self, pairs: usize, a: *const u32, b: *const u32) {
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
