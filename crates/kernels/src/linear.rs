use std::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use crate::dropout::Dropout;
use crate::operation::{Operation, Parallelism, Product, View, owned, sides, values, wrap};
use crate::precision::Precision;
use crate::simd::{masked, normal, simd};

/// `x w` of two inputs, `x w + b` of three.
#[derive(Clone)]
pub struct Linear(pub Precision);

impl<const N: usize> Operation<Flex, N> for Linear {
    type Saved = [FlexTensor; N];

    fn forward(&self, inputs: [FlexTensor; N], _: bool) -> (FlexTensor, Self::Saved) {
        (forward(&inputs[0], &inputs[1], inputs.get(2), self.0), inputs)
    }

    fn backward(
        self,
        saved: Self::Saved,
        dy: FlexTensor,
        wanted: [bool; N],
    ) -> [Option<FlexTensor>; N] {
        let (_, m) = sides(&dy);
        let db = (wanted.get(2) == Some(&true)).then(|| wrap(column_sums(values(&dy), m), [m]));
        let [dx, dw] = of_product([&saved[0], &saved[1]], &dy, self.0, [wanted[0], wanted[1]]);
        let mut gradients = [dx, dw, db].into_iter();
        std::array::from_fn(|_| gradients.next().flatten())
    }
}

/// `dropout(gelu(x w + b))`.
#[derive(Clone)]
pub struct AffineGelu {
    pub precision: Precision,
    pub dropout: Option<Dropout>,
}

impl Operation<Flex, 3> for AffineGelu {
    /// x and w, and the derivative at each element of the value.
    type Saved = ([FlexTensor; 2], FlexTensor);

    fn forward(&self, [x, w, b]: [FlexTensor; 3], keep: bool) -> (FlexTensor, Self::Saved) {
        let mut input = owned(forward(&x, &w, None, self.precision));
        if !keep {
            gelu_in_place(input.storage_mut::<f32>(), values(&b), self.dropout);
            return (input.clone(), ([x, w], input));
        }
        let y = gelu(input.storage_mut::<f32>(), values(&b), self.dropout);
        (wrap(y, input.layout().shape().clone()), ([x, w], input))
    }

    fn backward(
        self,
        (saved, slope): Self::Saved,
        dy: FlexTensor,
        [x, w, b]: [bool; 3],
    ) -> [Option<FlexTensor>; 3] {
        let mut dy = owned(dy);
        let (_, m) = sides(&dy);
        let db = scale_by_slope(dy.storage_mut::<f32>(), values(&slope), m);
        drop(slope);
        let [dx, dw] = of_product(saved.each_ref(), &dy, self.precision, [x, w]);
        [dx, dw, b.then(|| wrap(db, [m]))]
    }
}

/// Rows of one parallel task. Sums over rows are grouped by tasks, so they do not depend on the number
/// of threads.
pub(super) const ROWS: usize = 64;

/// Computes `x w [+ b]` for x `[n, k]`, w `[k, m]`.
fn forward(
    x: &FlexTensor,
    w: &FlexTensor,
    b: Option<&FlexTensor>,
    precision: Precision,
) -> FlexTensor {
    let (n, k) = sides(x);
    let (_, m) = sides(w);
    let x = View::rows(values(x), k);
    let w = View::rows(values(w), m);
    filled((n, m, k), x, w, b.map(values), precision)
}

/// Returns the product `a b [+ bias]` for a `[m, k]`, b `[k, n]`.
fn filled(
    sizes: (usize, usize, usize),
    a: View,
    b: View,
    bias: Option<&[f32]>,
    precision: Precision,
) -> FlexTensor {
    let (rows, columns, _) = sizes;
    let mut target = Box::new_uninit_slice(rows * columns);
    let product =
        Product { sizes, a, b, factor: 1.0, bias, precision, threads: Parallelism::Rayon(0) };
    // SAFETY: the target is new and has these sizes, and all of it is written
    let filled = unsafe {
        product.write(target.as_mut_ptr().cast(), columns);
        target.assume_init()
    };
    wrap(filled, [rows, columns])
}

/// Returns the gradients of x and w that are wanted, given the gradient of `x w + b`.
fn of_product(
    [x, w]: [&FlexTensor; 2],
    dy: &FlexTensor,
    precision: Precision,
    [of_x, of_w]: [bool; 2],
) -> [Option<FlexTensor>; 2] {
    let (n, k) = sides(x);
    let (_, m) = sides(w);
    let x = View::rows(values(x), k);
    let w = View::rows(values(w), m);
    let dy = View::rows(values(dy), m);
    let dw = of_w.then(|| filled((k, m, n), x.transposed(), dy, None, precision));
    [of_x.then(|| filled((n, k, m), dy, w.transposed(), None, precision)), dw]
}

/// Computes `dropout(gelu(x w + b))` for the input `x w`, which is replaced by the derivative, so that the backward
/// pass is one product. Adding the bias here saves a pass over memory.
fn gelu(input: &mut [f32], bias: &[f32], dropout: Option<Dropout>) -> Box<[f32]> {
    let width = bias.len();
    let mut y = Box::new_uninit_slice(input.len());
    let tasks = y.par_chunks_mut(ROWS * width).zip(input.par_chunks_mut(ROWS * width));
    tasks.enumerate().for_each(|(task, (y, slope))| {
        let dropout = dropout.map(|mask| mask.after((task * ROWS * width) as u32));
        simd!((
                    y: &mut [MaybeUninit<f32>], slope: &mut [f32], bias: &[f32],
                    dropout: Option<Dropout>
                ) -> () {
                    let width = bias.len();
                    let rows = y.chunks_exact_mut(width).zip(slope.chunks_exact_mut(width));
                    for (i, (y, slope)) in rows.enumerate() {
                        masked!(dropout, i * width, |keep| {
                            for j in 0..width {
                                let v = slope[j] + bias[j];
        let keep = keep(j);
                                let (cdf, pdf) = normal(v);
                                y[j].write(v * cdf * keep);
                                slope[j] = v.mul_add(pdf, cdf) * keep;
                            }
                        });
                    }
                });
    });
    // SAFETY: y is as long as the input, a multiple of the width, so the rows cover it
    unsafe { y.assume_init() }
}

/// Computes [`gelu`] in place, without a derivative.
fn gelu_in_place(input: &mut [f32], bias: &[f32], dropout: Option<Dropout>) {
    let width = bias.len();
    input.par_chunks_mut(ROWS * width).enumerate().for_each(|(task, values)| {
        let dropout = dropout.map(|mask| mask.after((task * ROWS * width) as u32));
        simd!((values: &mut [f32], bias: &[f32], dropout: Option<Dropout>) -> () {
            for (i, row) in values.chunks_exact_mut(bias.len()).enumerate() {
                masked!(dropout, i * bias.len(), |keep| {
                    for (j, (v, b)) in row.iter_mut().zip(bias).enumerate() {
                        let x = *v + b;
                        *v = x * normal(x).0 * keep(j);
                    }
                });
            }
        });
    });
}

/// Returns the sums over rows of `[n, width]`.
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

/// Computes `dy ← dy ∘ slope`, and returns the sums over rows of the result.
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

/// Returns the sum of vectors, from the first to the last.
pub(super) fn add_up<'a>(vectors: impl Iterator<Item = &'a [f32]>, width: usize) -> Vec<f32> {
    let mut total = vec![0.0; width];
    for vector in vectors {
        for (t, v) in total.iter_mut().zip(vector) {
            *t += v;
        }
    }
    total
}
