// The macro's generated dispatch is undocumented.
#![allow(missing_docs)]

use std::mem::MaybeUninit;

use burn::backend::autodiff::NodeId;
use rayon::prelude::*;

use super::buffer::{Fresh, contiguous, input, owned, register, sides, tracked, values, wrap};
use super::engine::*;
use super::product::{Operands, Product, Threads, View};
use super::simd::{normal, simd};
use crate::Dropout;

#[backend_extension(Flex, Autodiff)]
pub trait LinearOps: Backend {
    /// `x w + b`.
    fn affine(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
        operands: Operands,
    ) -> FloatTensor<Self>;

    /// `x w`.
    fn product(x: FloatTensor<Self>, w: FloatTensor<Self>, operands: Operands)
    -> FloatTensor<Self>;

    /// `dropout(gelu(x w + b))`.
    fn affine_gelu(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
        operands: Operands,
        dropout: Option<Dropout>,
    ) -> FloatTensor<Self>;
}

impl LinearOps for Flex {
    fn affine(x: FlexTensor, w: FlexTensor, b: FlexTensor, operands: Operands) -> FlexTensor {
        let [x, w, b] = [x, w, b].map(contiguous);
        forward(&x, &w, Some(&b), operands)
    }

    fn product(x: FlexTensor, w: FlexTensor, operands: Operands) -> FlexTensor {
        forward(&contiguous(x), &contiguous(w), None, operands)
    }

    fn affine_gelu(
        x: FlexTensor,
        w: FlexTensor,
        b: FlexTensor,
        operands: Operands,
        dropout: Option<Dropout>,
    ) -> FlexTensor {
        let [x, w, b] = [x, w, b].map(contiguous);
        let mut y = owned(forward(&x, &w, None, operands));
        gelu_in_place(y.storage_mut::<f32>(), values(&b), dropout);
        y
    }
}

impl<C: CheckpointStrategy> LinearOps for Autodiff<Flex, C> {
    fn affine(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
        operands: Operands,
    ) -> FloatTensor<Self> {
        let [(x, x_node), (w, w_node), (b, b_node)] = [x, w, b].map(input::<C>);
        let y = forward(&x, &w, Some(&b), operands);
        tracked::<C, _, _>(AffineBackward, [x_node, w_node, b_node], (x, w, operands), y)
    }

    fn product(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        operands: Operands,
    ) -> FloatTensor<Self> {
        let [(x, x_node), (w, w_node)] = [x, w].map(input::<C>);
        let y = forward(&x, &w, None, operands);
        tracked::<C, _, _>(ProductBackward, [x_node, w_node], (x, w, operands), y)
    }

    fn affine_gelu(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
        operands: Operands,
        dropout: Option<Dropout>,
    ) -> FloatTensor<Self> {
        let [(x, x_node), (w, w_node), (b, b_node)] = [x, w, b].map(input::<C>);
        let mut slope = owned(forward(&x, &w, None, operands));
        let y = gelu(slope.storage_mut::<f32>(), values(&b), dropout);
        let y = wrap(y, slope.layout().shape().clone());
        let state = (x, w, slope, operands);
        tracked::<C, _, _>(GeluBackward, [x_node, w_node, b_node], state, y)
    }
}

/// Rows of one parallel task. Sums over rows are grouped by tasks, so they do not depend on the number
/// of threads.
pub(super) const ROWS: usize = 64;

/// `x w [+ b]` for x `[n, k]`, w `[k, m]`.
fn forward(
    x: &FlexTensor,
    w: &FlexTensor,
    b: Option<&FlexTensor>,
    operands: Operands,
) -> FlexTensor {
    let ((n, k), (_, m)) = (sides(x), sides(w));
    let (x, w) = (View::rows(values(x), k), View::rows(values(w), m));
    filled((n, m, k), x, w, b.map(values), operands)
}

/// The product `a b [+ bias]` for a `[m, k]`, b `[k, n]`.
fn filled(
    sizes: (usize, usize, usize),
    a: View,
    b: View,
    bias: Option<&[f32]>,
    operands: Operands,
) -> FlexTensor {
    let (rows, columns, _) = sizes;
    let mut target = Fresh::new(rows * columns);
    let product = Product { sizes, a, b, factor: 1.0, bias, operands, threads: Threads::All };
    // SAFETY: the target is new and has these sizes, and all of it is written
    let filled = unsafe {
        product.write(target.as_mut_ptr(), columns);
        target.written()
    };
    wrap(filled, [rows, columns])
}

/// Registers the gradients of x and w, given the gradient of `x w + b`.
fn register_products(
    grads: &mut Gradients,
    [x_node, w_node]: [Option<NodeId>; 2],
    (x, w, operands): (&FlexTensor, &FlexTensor, Operands),
    dy: &[f32],
) {
    let ((n, k), (_, m)) = (sides(x), sides(w));
    let (x, w) = (View::rows(values(x), k), View::rows(values(w), m));
    let dy = View::rows(dy, m);
    register(grads, w_node, || filled((k, m, n), x.transposed(), dy, None, operands));
    register(grads, x_node, || filled((n, k, m), dy, w.transposed(), None, operands));
}

/// `dropout(gelu(x w + b))` for the input `x w`, which is replaced by the derivative, so that the backward
/// pass is one product. Adding the bias here saves a pass over memory.
fn gelu(input: &mut [f32], bias: &[f32], dropout: Option<Dropout>) -> Vec<f32> {
    let width = bias.len();
    let mut y = Fresh::new(input.len());
    let tasks = y.places().par_chunks_mut(ROWS * width).zip(input.par_chunks_mut(ROWS * width));
    tasks.enumerate().for_each(|(task, (y, slope))| {
        let first = (task * ROWS * width) as u32;
        simd!((
            y: &mut [MaybeUninit<f32>], slope: &mut [f32], bias: &[f32], first: u32,
            dropout: Option<Dropout>
        ) -> () {
            let width = bias.len();
            let rows = y.chunks_exact_mut(width).zip(slope.chunks_exact_mut(width));
            for (i, (y, slope)) in rows.enumerate() {
                let first = first.wrapping_add((i * width) as u32);
                match dropout {
                    Some(dropout) => for j in 0..width {
                        let v = slope[j] + bias[j];
                        let (cdf, pdf) = normal(v);
                        let keep = dropout.at(first.wrapping_add(j as u32));
                        y[j].write(v * cdf * keep);
                        slope[j] = v.mul_add(pdf, cdf) * keep;
                    },
                    None => for j in 0..width {
                        let v = slope[j] + bias[j];
                        let (cdf, pdf) = normal(v);
                        y[j].write(v * cdf);
                        slope[j] = v.mul_add(pdf, cdf);
                    },
                }
            }
        });
    });
    // SAFETY: y is as long as the input, a multiple of the width, so the rows cover it
    unsafe { y.written() }
}

/// [`gelu`] without a derivative.
fn gelu_in_place(input: &mut [f32], bias: &[f32], dropout: Option<Dropout>) {
    let width = bias.len();
    input.par_chunks_mut(ROWS * width).enumerate().for_each(|(task, values)| {
        let first = (task * ROWS * width) as u32;
        simd!((values: &mut [f32], bias: &[f32], first: u32, dropout: Option<Dropout>) -> () {
            for row in values.chunks_exact_mut(bias.len()) {
                for (v, b) in row.iter_mut().zip(bias) {
                    let x = *v + b;
                    *v = x * normal(x).0;
                }
            }
            if let Some(dropout) = dropout {
                for (i, v) in values.iter_mut().enumerate() {
                    *v *= dropout.at(first.wrapping_add(i as u32));
                }
            }
        });
    });
}

/// Sums over rows of `[n, width]`.
fn column_sums(x: &[f32], width: usize) -> Vec<f32> {
    let partial: Vec<Vec<f32>> = x
        .par_chunks(ROWS * width)
        .map(|rows| {
            simd!((rows: &[f32], width: usize) -> Vec<f32> {
                let mut sums = vec![0.0f32; width];
                for row in rows.chunks_exact(width) {
                    for (s, v) in sums.iter_mut().zip(row) {
                        *s += v;
                    }
                }
                sums
            })
        })
        .collect();
    add_up(partial.iter().map(Vec::as_slice), width)
}

/// `dy ← dy ∘ slope`; returns the sums over rows of the result.
fn scale_by_slope(dy: &mut [f32], slope: &[f32], width: usize) -> Vec<f32> {
    let partial: Vec<Vec<f32>> = dy
        .par_chunks_mut(ROWS * width)
        .zip(slope.par_chunks(ROWS * width))
        .map(|(dy, slope)| {
            simd!((dy: &mut [f32], slope: &[f32], width: usize) -> Vec<f32> {
                let mut sums = vec![0.0f32; width];
                for (dy, slope) in dy.chunks_exact_mut(width).zip(slope.chunks_exact(width)) {
                    for ((dy, slope), s) in dy.iter_mut().zip(slope).zip(&mut sums) {
                        *dy *= slope;
                        *s += *dy;
                    }
                }
                sums
            })
        })
        .collect();
    add_up(partial.iter().map(Vec::as_slice), width)
}

/// The sum of vectors, from the first to the last.
pub(super) fn add_up<'a>(vectors: impl Iterator<Item = &'a [f32]>, width: usize) -> Vec<f32> {
    let mut total = vec![0.0; width];
    for vector in vectors {
        for (t, v) in total.iter_mut().zip(vector) {
            *t += v;
        }
    }
    total
}

#[derive(Debug)]
struct AffineBackward;

impl Backward<Flex, 3> for AffineBackward {
    type State = (FlexTensor, FlexTensor, Operands);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x_node, w_node, b_node] = ops.parents.map(|node| node.map(|node| node.id));
        let (x, w, operands) = ops.state;
        let dy = contiguous(grads.consume::<Flex>(&ops.node));
        let (_, m) = sides(&dy);
        let dy = values(&dy);
        register(grads, b_node, || wrap(column_sums(dy, m), [m]));
        register_products(grads, [x_node, w_node], (&x, &w, operands), dy);
    }
}

#[derive(Debug)]
struct ProductBackward;

impl Backward<Flex, 2> for ProductBackward {
    type State = (FlexTensor, FlexTensor, Operands);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, w, operands) = ops.state;
        let dy = contiguous(grads.consume::<Flex>(&ops.node));
        let nodes = ops.parents.map(|node| node.map(|node| node.id));
        register_products(grads, nodes, (&x, &w, operands), values(&dy));
    }
}

#[derive(Debug)]
struct GeluBackward;

impl Backward<Flex, 3> for GeluBackward {
    type State = (FlexTensor, FlexTensor, FlexTensor, Operands);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x_node, w_node, b_node] = ops.parents.map(|node| node.map(|node| node.id));
        let (x, w, slope, operands) = ops.state;
        let mut dy = owned(grads.consume::<Flex>(&ops.node));
        let (_, m) = sides(&dy);
        let db = scale_by_slope(dy.storage_mut::<f32>(), values(&slope), m);
        drop(slope);
        register(grads, b_node, || wrap(db, [m]));
        register_products(grads, [x_node, w_node], (&x, &w, operands), values(&dy));
    }
}
