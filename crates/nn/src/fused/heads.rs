//! Attention head by head on strided views: nothing is transposed or copied, and no matrix of
//! probabilities outlives its head.

use std::ops::Range;
use std::sync::Arc;

use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use super::buffer::{Shared, UninitBuffer, wrap};
use super::operands::{Product, Threads, View};
use super::sequences::Sequences;
use super::simd::{exp, largest, masked, simd, sum};
use crate::{Dropout, Precision};

/// The arguments of attention that are not tensors.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The texts' rows.
    pub sequences: Arc<Sequences>,
    /// Number of heads.
    pub heads: usize,
    /// Dropout of the probabilities.
    pub dropout: Option<Dropout>,
    /// The numbers that the CPU engine's products multiply.
    pub precision: Precision,
}

/// Queries, keys and values of all heads of all texts, in rows of matrices.
pub struct Heads<'a> {
    /// Row `i` of the queries begins at `i · query_width`.
    pub queries: &'a [f32],
    pub query_width: usize,
    /// Each text's rows among the queries.
    pub query_rows: Vec<Range<usize>>,
    /// Row `i` of keys and of values begins at `i · key_width`.
    pub keys: &'a [f32],
    pub values: &'a [f32],
    pub key_width: usize,
    /// Number of rows of the result.
    pub rows: usize,
    /// Width of the result: all heads side by side.
    pub d: usize,
    pub setting: &'a Setting,
}

/// One head of one text.
struct Head {
    /// Number of queries and of keys.
    queries: usize,
    keys: usize,
    /// Offsets of the head's part of queries, results, keys and log-sum-exps.
    query_offset: usize,
    result_offset: usize,
    key_offset: usize,
    log_sum_offset: usize,
    /// Number of the head's first probability among all, for dropout.
    first: u32,
}

impl Head {
    /// The dropout of its probabilities.
    fn mask(&self, dropout: Option<Dropout>) -> Option<Dropout> {
        dropout.map(|mask| mask.after(self.first))
    }
}

impl<'a> Heads<'a> {
    fn width(&self) -> usize {
        self.d / self.setting.heads
    }

    fn scale(&self) -> f32 {
        1.0 / (self.width() as f32).sqrt()
    }

    /// All heads of all texts, text by text.
    fn all(&self) -> Vec<Head> {
        let (heads, width) = (self.setting.heads, self.width());
        let (mut first, mut log_sum_offset) = (0u32, 0);
        let texts = self.query_rows.iter().zip(self.setting.sequences.ranges());
        let mut all = Vec::with_capacity(heads * self.query_rows.len());
        for (queries, keys) in texts {
            for column in (0..heads).map(|head| head * width) {
                all.push(Head {
                    queries: queries.len(),
                    keys: keys.len(),
                    query_offset: queries.start * self.query_width + column,
                    result_offset: queries.start * self.d + column,
                    key_offset: keys.start * self.key_width + column,
                    log_sum_offset,
                    first,
                });
                first = first.wrapping_add((queries.len() * keys.len()) as u32);
                log_sum_offset += queries.len();
            }
        }
        all
    }

    /// Queries, keys and values of a head.
    fn views(&self, head: &Head) -> [View<'a>; 3] {
        [
            View::rows(&self.queries[head.query_offset..], self.query_width),
            View::rows(&self.keys[head.key_offset..], self.key_width),
            View::rows(&self.values[head.key_offset..], self.key_width),
        ]
    }

    /// A product of one task.
    fn product<'b>(
        &self,
        sizes: (usize, usize, usize),
        factor: f32,
        a: View<'b>,
        b: View<'b>,
    ) -> Product<'b> {
        let precision = self.setting.precision;
        Product { sizes, a, b, factor, bias: None, precision, threads: Threads::One }
    }

    /// The result `[rows, d]`, and the log-sum-exp of each query's scores, head by head, which the
    /// backward pass needs with the inputs.
    pub fn forward(&self) -> (FlexTensor, Vec<f32>) {
        let (d, width, scale, dropout) = (self.d, self.width(), self.scale(), self.setting.dropout);
        let mut result = UninitBuffer::new(self.rows * d);
        let target = Shared(result.as_mut_ptr());
        let all = self.all();
        let mut log_sums = vec![0.0f32; all.iter().map(|head| head.queries).sum()];
        let of_heads = Shared(log_sums.as_mut_ptr());
        all.par_iter().for_each_init(Vec::new, |scratch: &mut Vec<f32>, head| {
            let (queries, keys) = (head.queries, head.keys);
            let scores = room(scratch, queries * keys);
            let [q, k, v] = self.views(head);
            // SAFETY: views of this head's rows; scratch and sums belong to this task
            unsafe {
                let product = self.product((queries, keys, width), scale, q, k.transposed());
                product.write(scores.as_mut_ptr(), keys);
                let log_sums = of_heads.at(head.log_sum_offset);
                let log_sums = std::slice::from_raw_parts_mut(log_sums, queries);
                softmax(scores, log_sums, keys, head.mask(dropout));
            }
            let probabilities = View::rows(scores, keys);
            // SAFETY: only this task writes the columns of this head in the rows of this text
            unsafe {
                let product = self.product((queries, width, keys), 1.0, probabilities, v);
                product.write(target.at(head.result_offset), d);
            }
        });
        // SAFETY: the heads of all texts cover all rows
        let result = unsafe { result.written() };
        (wrap(result, [self.rows, d]), log_sums)
    }

    /// Writes the gradients of queries, keys and values, given the gradient of the result.
    ///
    /// With P the probabilities, M the dropout mask and `G = dy vᵀ ∘ M`:
    /// `dv = (P ∘ M)ᵀ dy`, `dS = P ∘ (G − rowsum(P ∘ G))`, `dq = dS k / √d_h`, `dk = dSᵀ q / √d_h`.
    ///
    /// # Safety
    /// The targets of the gradients have the layout of queries, keys and values.
    pub unsafe fn backward(&self, log_sums: &[f32], dy: &[f32], targets: [Shared<f32>; 3]) {
        let (d, width, scale, dropout) = (self.d, self.width(), self.scale(), self.setting.dropout);
        let scratch = || (Vec::new(), Vec::new());
        self.all().par_iter().for_each_init(scratch, |(p, g): &mut (Vec<f32>, Vec<f32>), head| {
            let (queries, keys) = (head.queries, head.keys);
            let (p, g) = (room(p, queries * keys), room(g, queries * keys));
            let [q, k, v] = self.views(head);
            let dy = View::rows(&dy[head.result_offset..], d);
            // SAFETY: as in the forward pass
            unsafe {
                let sizes = (queries, keys, width);
                self.product(sizes, scale, q, k.transposed()).write(p.as_mut_ptr(), keys);
                self.product(sizes, 1.0, dy, v.transposed()).write(g.as_mut_ptr(), keys);
            }
            let log_sums = &log_sums[head.log_sum_offset..][..queries];
            softmax_backward(p, g, log_sums, keys, scale, head.mask(dropout));
            let (p, g) = (View::rows(p, keys), View::rows(g, keys));
            // SAFETY: the caller's promise about the layout; only this task writes the parts of this
            // head and text
            unsafe {
                let dq = targets[0].at(head.query_offset);
                let [dk, dv] = [targets[1], targets[2]].map(|target| target.at(head.key_offset));
                let (by_query, by_key) = ((queries, width, keys), (keys, width, queries));
                let (wide, long) = (self.query_width, self.key_width);
                self.product(by_query, 1.0, g, k).write(dq, wide);
                self.product(by_key, 1.0, g.transposed(), q).write(dk, long);
                self.product(by_key, 1.0, p.transposed(), dy).write(dv, long);
            }
        });
    }
}

/// The first `n` values of a thread's scratch, which grows as needed.
fn room(scratch: &mut Vec<f32>, n: usize) -> &mut [f32] {
    if scratch.len() < n {
        scratch.resize(n, 0.0);
    }
    &mut scratch[..n]
}

/// Turns scores into probabilities with dropout, row by row, and writes the rows' log-sum-exp.
fn softmax(scores: &mut [f32], log_sums: &mut [f32], keys: usize, dropout: Option<Dropout>) {
    simd!((
        scores: &mut [f32], log_sums: &mut [f32], keys: usize, dropout: Option<Dropout>
    ) -> () {
        for (i, (row, log_sum)) in scores.chunks_exact_mut(keys).zip(log_sums).enumerate() {
            let largest = largest(row);
            for v in row.iter_mut() {
                *v = exp(*v - largest);
            }
            let total = sum(row, |_, v| v);
            *log_sum = largest + total.ln();
            let scale = 1.0 / total;
            masked!(dropout, i * keys, |keep| {
                for (j, v) in row.iter_mut().enumerate() {
                    *v *= scale * keep(j);
                }
            });
        }
    });
}

/// Turns scores in p into probabilities with dropout, and `dy vᵀ` in g into the gradient of the products
/// `q kᵀ`.
fn softmax_backward(
    p: &mut [f32],
    g: &mut [f32],
    log_sums: &[f32],
    keys: usize,
    scale: f32,
    dropout: Option<Dropout>,
) {
    simd!((
        p: &mut [f32], g: &mut [f32], log_sums: &[f32], keys: usize, scale: f32,
        dropout: Option<Dropout>
    ) -> () {
        let rows = p.chunks_exact_mut(keys).zip(g.chunks_exact_mut(keys));
        for (i, ((p, g), log_sum)) in rows.zip(log_sums).enumerate() {
            for v in p.iter_mut() {
                *v = exp(*v - log_sum);
            }
            masked!(dropout, i * keys, |keep| {
                for (j, v) in g.iter_mut().enumerate() {
                    *v *= keep(j);
                }
                let along = sum(p, |j, v| v * g[j]);
                for (j, (p, g)) in p.iter_mut().zip(g).enumerate() {
                    *g = *p * (*g - along) * scale;
                    *p *= keep(j);
                }
            });
        }
    });
}
