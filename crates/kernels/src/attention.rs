//! Attention head by head on strided views: nothing is transposed or copied, and no matrix of
//! probabilities outlives its head.

use std::ops::Range;
use std::sync::Arc;
#[cfg(feature = "cube")]
use std::sync::OnceLock;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use crate::dropout::Dropout;
use crate::operation::{Operation, Parallelism, Product, Shared, View, sides, values, wrap};
use crate::precision::Precision;
use crate::simd::{exp, largest, masked, simd, sum};

/// The rows of each text in a matrix of token vectors.
///
/// Texts lie one after the other without padding, so operations cost only what the tokens cost.
#[derive(Debug)]
pub struct Sequences {
    /// Text i has the rows from `bounds[i]` to `bounds[i + 1]`.
    bounds: Vec<usize>,
    /// The bounds on a GPU, once a kernel has asked for them.
    #[cfg(feature = "cube")]
    pub(super) on_gpu: OnceLock<cubecl::server::Handle>,
}

impl Sequences {
    /// Creates texts of the given lengths without padding.
    ///
    /// # Panics
    /// If a text has no token: attention over no tokens is undefined.
    pub fn packed(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut bounds = vec![0];
        for length in lengths {
            assert!(length > 0, "a text without tokens");
            bounds.push(bounds[bounds.len() - 1] + length);
        }
        Self {
            bounds,
            #[cfg(feature = "cube")]
            on_gpu: OnceLock::new(),
        }
    }

    /// Returns the number of texts.
    pub fn texts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the number of rows of the matrix: of tokens of all texts.
    pub fn rows(&self) -> usize {
        self.bounds[self.texts()]
    }

    /// Returns the row of each text's first token, and the number of rows.
    pub fn bounds(&self) -> &[usize] {
        &self.bounds
    }

    /// Returns the number of tokens of each text.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + Clone {
        self.bounds.windows(2).map(|bounds| bounds[1] - bounds[0])
    }

    /// Returns the longest text.
    pub fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// Returns the rows of each text.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.bounds.windows(2).map(|bounds| bounds[0]..bounds[1])
    }
}

/// The settings of attention. As an operation of one input every token attends: `qkv` `[n, 3d]` to `[n, d]`; of two
/// inputs only each text's first token: `q` `[texts, d]` and `kv` `[n, 2d]` to `[texts, d]`.
#[derive(Clone, Debug)]
pub struct Attention {
    /// The texts' rows.
    pub sequences: Arc<Sequences>,
    /// Number of heads.
    pub heads: usize,
    /// Dropout of the probabilities.
    pub dropout: Option<Dropout>,
    /// The numbers that products multiply on the CPU engine.
    pub precision: Precision,
}

impl<const N: usize> Operation<Flex, N> for Attention {
    /// The inputs, and the logarithms of the sums of each row's exponentials.
    type Saved = ([FlexTensor; N], Vec<f32>);

    fn forward(&self, inputs: [FlexTensor; N], _: bool) -> (FlexTensor, Self::Saved) {
        let (d, all) = self.all_heads(&inputs);
        let (rows, _) = sides(&inputs[0]);
        let width = d / self.heads;
        let scale = 1.0 / (width as f32).sqrt();
        let mut result = Box::new_uninit_slice(rows * d);
        let target = Shared(result.as_mut_ptr().cast());
        let mut log_sums = vec![0.0f32; all.iter().map(|head| head.queries).sum()];
        let all_sums = Shared(log_sums.as_mut_ptr());
        all.par_iter().for_each_init(Vec::new, |scratch: &mut Vec<f32>, head| {
            let queries = head.queries;
            let keys = head.keys;
            let scores = room(scratch, queries * keys);
            let [q, k, v] = head.views;
            // SAFETY: views of this head's rows; scratch and sums belong to this task
            let log_sums = unsafe {
                let product = self.product((queries, keys, width), scale, q, k.transposed());
                product.write(scores.as_mut_ptr(), keys);
                std::slice::from_raw_parts_mut(all_sums.at(head.log_sum_offset), queries)
            };
            let dropout = head.dropout;
            // scores become probabilities with dropout, row by row
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
            let probabilities = View::rows(scores, keys);
            // SAFETY: only this task writes the columns of this head in the rows of this text
            unsafe {
                let product = self.product((queries, width, keys), 1.0, probabilities, v);
                product.write(target.at(head.result_offset), d);
            }
        });
        // SAFETY: the heads of all texts cover all rows
        let y = wrap(unsafe { result.assume_init() }, [rows, d]);
        (y, (inputs, log_sums))
    }

    /// Computes the gradients. With P the probabilities, M the dropout mask and `G = dy vᵀ ∘ M`: `dv = (P ∘ M)ᵀ dy`,
    /// `dS = P ∘ (G − rowsum(P ∘ G))`, `dq = dS k / √d_h`, `dk = dSᵀ q / √d_h`.
    fn backward(
        self,
        (inputs, log_sums): Self::Saved,
        dy: FlexTensor,
        wanted: [bool; N],
    ) -> [Option<FlexTensor>; N] {
        if wanted == [false; N] {
            return wanted.map(|_| None);
        }
        let (d, all) = self.all_heads(&inputs);
        let mut gradients =
            inputs.each_ref().map(|input| Box::<[f32]>::new_uninit_slice(values(input).len()));
        let starts = gradients.each_mut().map(|gradient| gradient.as_mut_ptr().cast::<f32>());
        // SAFETY: gradients lie as their inputs do, and keys and values side by side behind the queries of one input
        let targets = unsafe {
            let keys = starts[N - 1].add(if N == 1 { d } else { 0 });
            [starts[0], keys, keys.add(d)].map(Shared)
        };
        let dy = values(&dy);
        let width = d / self.heads;
        let scale = 1.0 / (width as f32).sqrt();
        let scratch = || (Vec::new(), Vec::new());
        all.par_iter().for_each_init(scratch, |(p, g): &mut (Vec<f32>, Vec<f32>), head| {
            let queries = head.queries;
            let keys = head.keys;
            let p = room(p, queries * keys);
            let g = room(g, queries * keys);
            let [q, k, v] = head.views;
            let dy = View::rows(&dy[head.result_offset..], d);
            // SAFETY: as in the forward pass
            unsafe {
                let sizes = (queries, keys, width);
                self.product(sizes, scale, q, k.transposed()).write(p.as_mut_ptr(), keys);
                self.product(sizes, 1.0, dy, v.transposed()).write(g.as_mut_ptr(), keys);
            }
            let log_sums = &log_sums[head.log_sum_offset..][..queries];
            let dropout = head.dropout;
            // scores in p become probabilities with dropout, and `dy vᵀ` in g the gradient of the products `q kᵀ`
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
            let p = View::rows(p, keys);
            let g = View::rows(g, keys);
            // SAFETY: only this task writes the parts of this head and text
            unsafe {
                let dq = targets[0].at(head.query_offset);
                let [dk, dv] = [targets[1], targets[2]].map(|target| target.at(head.key_offset));
                let by_query = (queries, width, keys);
                let by_key = (keys, width, queries);
                let wide = q.row;
                let long = k.row;
                self.product(by_query, 1.0, g, k).write(dq, wide);
                self.product(by_key, 1.0, g.transposed(), q).write(dk, long);
                self.product(by_key, 1.0, p.transposed(), dy).write(dv, long);
            }
        });
        let all = gradients.into_iter().zip(&inputs).zip(wanted);
        let mut all = all.map(|((gradient, input), wanted)| {
            // SAFETY: every row has been written, since texts have no padding
            let written = unsafe { gradient.assume_init() };
            wanted.then(|| wrap(written, input.layout().shape().clone()))
        });
        std::array::from_fn(|_| all.next().flatten())
    }
}

/// One head of one text.
struct Head<'a> {
    /// Number of queries and of keys.
    queries: usize,
    keys: usize,
    /// Queries, keys and values.
    views: [View<'a>; 3],
    /// Offsets of the head's part of queries, results, keys and log-sum-exps.
    query_offset: usize,
    result_offset: usize,
    key_offset: usize,
    log_sum_offset: usize,
    /// The dropout of its probabilities, which are counted among all.
    dropout: Option<Dropout>,
}

impl Attention {
    /// Returns the width of the result, which has all heads side by side, and all heads of all texts, text by text.
    fn all_heads<'a, const N: usize>(&self, inputs: &'a [FlexTensor; N]) -> (usize, Vec<Head<'a>>) {
        let (_, query_width) = sides(&inputs[0]);
        let (_, key_width) = sides(&inputs[N - 1]);
        // queries, keys and values lie side by side in the columns of one matrix
        let packed = N == 1;
        let d = if packed { query_width / 3 } else { query_width };
        let queries = values(&inputs[0]);
        let keys = &values(&inputs[N - 1])[if packed { d } else { 0 }..];
        let mut first = 0u32;
        let mut log_sum_offset = 0;
        let mut all = Vec::with_capacity(self.heads * self.sequences.texts());
        for (text, rows) in self.sequences.ranges().enumerate() {
            let asking = if packed { rows.clone() } else { text..text + 1 };
            for column in (0..self.heads).map(|head| head * (d / self.heads)) {
                let query_offset = asking.start * query_width + column;
                let key_offset = rows.start * key_width + column;
                all.push(Head {
                    queries: asking.len(),
                    keys: rows.len(),
                    views: [
                        View::rows(&queries[query_offset..], query_width),
                        View::rows(&keys[key_offset..], key_width),
                        View::rows(&keys[d + key_offset..], key_width),
                    ],
                    query_offset,
                    result_offset: asking.start * d + column,
                    key_offset,
                    log_sum_offset,
                    dropout: self.dropout.map(|mask| mask.after(first)),
                });
                first = first.wrapping_add((asking.len() * rows.len()) as u32);
                log_sum_offset += asking.len();
            }
        }
        (d, all)
    }

    /// Returns a product of one task.
    fn product<'b>(
        &self,
        sizes: (usize, usize, usize),
        factor: f32,
        a: View<'b>,
        b: View<'b>,
    ) -> Product<'b> {
        let precision = self.precision;
        Product { sizes, a, b, factor, bias: None, precision, threads: Parallelism::None }
    }
}

/// Returns the first `n` values of a thread's scratch, which grows as needed.
fn room(scratch: &mut Vec<f32>, n: usize) -> &mut [f32] {
    if scratch.len() < n {
        scratch.resize(n, 0.0);
    }
    &mut scratch[..n]
}
