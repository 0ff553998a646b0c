//! Packing and tiles with NEON.

use std::arch::aarch64::*;
use std::arch::asm;

use half::bf16;

use super::{LANES, ROWS, Strides, Strip, Tile};

/// Values of a register, rows of a block of a tile, and registers of a row of it.
const FOUR: usize = 4;

/// Returns whether the processor multiplies in bfloat16.
pub fn supported() -> bool {
    std::arch::is_aarch64_feature_detected!("bf16")
}

impl Strip {
    /// Rounds and packs: pair p of row `16 g + 8 h + i` goes to
    /// `target[g · group + h · half + p · pair + i]`. Rows missing in the last group and an odd last value's partner
    /// are zeros.
    ///
    /// # Safety
    /// The rows' values can be read; `target` has room for them.
    pub(super) unsafe fn pack(self, strides: Strides, target: *mut u32) {
        let Self { start, row, column, rows, depth } = self;
        for p in 0..depth.div_ceil(2) {
            for i in 0..rows.next_multiple_of(LANES) {
                let bits = |k: usize| {
                    if i >= rows || k >= depth {
                        return 0;
                    }
                    // SAFETY: the value is one of the strip
                    let value = unsafe { *start.add(i * row + k * column) };
                    u32::from(bf16::from_f32(value).to_bits())
                };
                let group = i / LANES * strides.group + i % LANES / ROWS * strides.half;
                let at = group + p * strides.pair + i % ROWS;
                // SAFETY: the caller's promise
                unsafe { *target.add(at) = bits(2 * p) | bits(2 * p + 1) << 16 };
            }
        }
    }
}

/// Returns the sums of each column with the products of its pair and the pair `R` of `rows`.
#[target_feature(enable = "neon,bf16")]
fn dot<const R: usize>(
    mut sums: float32x4_t,
    columns: uint32x4_t,
    rows: uint32x4_t,
) -> float32x4_t {
    // SAFETY: the instruction changes only the register of the sums
    unsafe {
        asm!(
            "bfdot {sums:v}.4s, {columns:v}.8h, {rows:v}.2h[{row}]",
            sums = inout(vreg) sums,
            columns = in(vreg) columns,
            rows = in(vreg) rows,
            row = const R,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

impl Tile<'_> {
    /// Writes the products of [`ROWS`] packed rows and `16 V` packed columns.
    ///
    /// # Safety
    /// The operands hold `pairs` pairs of as many rows and columns; the target covers the tile and, with
    /// `add`, has been written; the processor is [`supported`].
    #[target_feature(enable = "neon,bf16")]
    pub(super) unsafe fn write<const V: usize>(self, pairs: usize, a: *const u32, b: *const u32) {
        for first in (0..self.rows).step_by(FOUR) {
            for v in 0..V {
                let mut sums = [[vdupq_n_f32(0.0); FOUR]; FOUR];
                for p in 0..pairs {
                    // SAFETY: the operands hold these pairs
                    let (rows, columns): (_, [uint32x4_t; FOUR]) = unsafe {
                        let columns = b.add((p * V + v) * LANES);
                        let columns = std::array::from_fn(|c| vld1q_u32(columns.add(c * FOUR)));
                        (vld1q_u32(a.add(p * ROWS + first)), columns)
                    };
                    for (c, columns) in columns.into_iter().enumerate() {
                        sums[0][c] = dot::<0>(sums[0][c], columns, rows);
                        sums[1][c] = dot::<1>(sums[1][c], columns, rows);
                        sums[2][c] = dot::<2>(sums[2][c], columns, rows);
                        sums[3][c] = dot::<3>(sums[3][c], columns, rows);
                    }
                }
                for (i, sums) in (first..self.rows).zip(sums) {
                    let mut values = [0.0f32; LANES];
                    for (values, sums) in values.chunks_exact_mut(FOUR).zip(sums) {
                        // SAFETY: as many as a register holds
                        unsafe { vst1q_f32(values.as_mut_ptr(), sums) };
                    }
                    for (j, value) in (v * LANES..self.columns).zip(values) {
                        // SAFETY: the value is one of the tile, and has been written with `add`
                        unsafe {
                            let target = self.target.add(i * self.width + j);
                            let before = match self.bias {
                                _ if self.add => *target,
                                Some(bias) => bias[j],
                                None => 0.0,
                            };
                            *target = value.mul_add(self.factor, before);
                        }
                    }
                }
            }
        }
    }
}
