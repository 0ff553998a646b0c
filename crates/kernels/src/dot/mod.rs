//! Matrix products of operands rounded to bfloat16, added up in 32 bits, with AVX-512's `vdpbf16ps` or aarch64's
//! `bfdot`.
//!
//! Operands are 32-bit matrices. Blocks of them are rounded and packed on the way: two neighbours along the
//! inner dimension side by side in 32 bits, [`ROWS`] rows of the first operand or [`COLUMNS`] columns of the
//! second side by side in memory. A tile of the target is computed in registers, and every value is added
//! up over the inner dimension in the same order whatever the number of threads and the value's place.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::cell::RefCell;

use rayon::prelude::*;

use crate::operation::{Parallelism, Product, Shared, View};
#[cfg(target_arch = "aarch64")]
pub use neon::supported;
#[cfg(target_arch = "x86_64")]
pub use x86::supported;

/// Rows of a tile.
const ROWS: usize = 8;
/// Columns that are computed together: the values of a register of AVX-512.
const LANES: usize = 16;
/// Columns of a tile.
const COLUMNS: usize = 3 * LANES;
/// Values along the inner dimension that are packed at a time.
const DEPTH: usize = 768;
/// Rows that a task packs at a time, at most: with [`DEPTH`] values each they stay in the second cache.
const TALL: usize = 128;

/// Computes the product like [`Product::write`], with operands rounded to bfloat16.
///
/// # Safety
/// The conditions of [`Product::write`], with checked sizes, on a processor that is [`supported`].
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

    /// Returns `rows` rows of an operand, from row `i` on.
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
        let rows = tall.min(m - i);
        let pairs = self.pairs();
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
                    let a = packed.add(first * pairs);
                    let b = self.panels.at(j * pairs);
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

/// Returns the memory for at least `n` pairs.
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
