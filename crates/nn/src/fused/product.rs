//! Matrix products with strides, of operands in 32 bits or rounded to bfloat16.

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::dot;
use super::operation::{Product, Shared, Threads, View};
use crate::Precision;

/// Whether the processor has instructions for products of bfloat16; without them such products take longer than in
/// 32 bits.
pub fn multiplies_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return dot::supported();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

impl Product<'_> {
    /// Writes the product to a matrix whose rows are `width` values apart.
    ///
    /// # Safety
    /// The target covers m rows of n values, overlaps no operand, and no other thread uses it.
    ///
    /// # Panics
    /// If an operand does not cover its sizes.
    pub unsafe fn write(&self, target: *mut f32, width: usize) {
        let (m, n, k) = self.sizes;
        let bias = self.bias.is_none_or(|bias| bias.len() == n);
        assert!(self.a.covers(m, k) && self.b.covers(k, n) && bias, "sizes {m}, {n}, {k}");
        // SAFETY: the caller's promise, and the sizes are checked
        unsafe {
            match self.precision {
                Precision::F32 => self.write_full(target, width),
                #[cfg(target_arch = "x86_64")]
                Precision::Bf16 if dot::supported() => dot::write(self, target, width),
                Precision::Bf16 => self.write_emulated(target, width),
                Precision::F16 => unreachable!("products of 16 bits of this kind are composed"),
            }
        }
    }

    /// As [`write`](Self::write), of operands that are rounded before a product in 32 bits.
    ///
    /// # Safety
    /// As [`write`](Self::write).
    pub(super) unsafe fn write_emulated(&self, target: *mut f32, width: usize) {
        let (m, n, k) = self.sizes;
        let (a, b) = (self.a.rounded(m, k), self.b.rounded(k, n));
        let product = Product { a: View::rows(&a, k), b: View::rows(&b, n), ..*self };
        // SAFETY: the caller's promise; the copies have the same sizes
        unsafe { product.write_full(target, width) }
    }

    /// # Safety
    /// As [`write`](Self::write), of checked sizes.
    unsafe fn write_full(&self, target: *mut f32, width: usize) {
        let Self { sizes: (m, n, k), a, b, factor, bias, threads, .. } = *self;
        if let Some(bias) = bias {
            let target = Shared(target);
            (0..m).into_par_iter().with_min_len(64).for_each(|i| {
                // SAFETY: the target has m rows, each written once
                unsafe { target.at(i * width).copy_from_nonoverlapping(bias.as_ptr(), n) };
            });
        }
        let parallelism = match threads {
            Threads::One => gemm::Parallelism::None,
            Threads::All => gemm::Parallelism::Rayon(0),
        };
        // SAFETY: the caller's promise; what is added to has been written
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                target,
                1,
                width as isize,
                bias.is_some(),
                a.values.as_ptr(),
                a.column as isize,
                a.row as isize,
                b.values.as_ptr(),
                b.column as isize,
                b.row as isize,
                1.0,
                factor,
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of either sign and several magnitudes that are not bfloat16 numbers.
    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        let hash = |i: usize| (i as u32 + seed).wrapping_mul(0x9e37_79b9) >> 8;
        (0..n).map(|i| (hash(i) % 4001) as f32 / 2000.3 - 1.0).collect()
    }

    /// A product of rounded operands without a bias.
    fn product<'a>(sizes: (usize, usize, usize), a: View<'a>, b: View<'a>) -> Product<'a> {
        let (precision, threads) = (Precision::Bf16, Threads::One);
        Product { sizes, a, b, factor: 1.0, bias: None, precision, threads }
    }

    #[test]
    fn rounded_products_are_within_their_error() {
        let small = [(1, 1, 1), (3, 5, 7), (8, 48, 2), (9, 49, 33), (1, 128, 32), (7, 15, 64)];
        let large = [(130, 65, 34), (17, 16, 769), (40, 100, 1537), (250, 31, 31), (2, 3, 0)];
        for (m, n, k) in small.into_iter().chain(large) {
            let (a, b, bias) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n, 3));
            let views = |values, rows, columns| {
                [View::rows(values, columns), View::rows(values, rows).transposed()]
            };
            for (x, y) in views(&a, m, k).into_iter().flat_map(|x| views(&b, k, n).map(|y| (x, y)))
            {
                let (left, right) = (x.rounded(m, k), y.rounded(k, n));
                for (bias, factor) in [(None, 0.5), (Some(&*bias), 1.0)] {
                    let sizes = (m, n, k);
                    let product =
                        |threads| Product { factor, bias, threads, ..product(sizes, x, y) };
                    let width = n + 3;
                    let mut results = vec![vec![f32::NAN; m * width]; 3];
                    // SAFETY: the targets have m rows of n + 3 values
                    unsafe {
                        product(Threads::One).write(results[0].as_mut_ptr(), width);
                        product(Threads::All).write(results[1].as_mut_ptr(), width);
                        product(Threads::All).write_emulated(results[2].as_mut_ptr(), width);
                    }
                    for (place, i, j) in (0..m * n).map(|e| (e / n * width + e % n, e / n, e % n)) {
                        let terms = (0..k)
                            .map(|q| f64::from(left[i * k + q]) * f64::from(right[q * n + j]));
                        let size: f64 = terms.clone().map(f64::abs).sum();
                        let start = bias.map_or(0.0, |bias| f64::from(bias[j]));
                        let exact = start + f64::from(factor) * terms.sum::<f64>();
                        let bound = (k + 2) as f64 * 2f64.powi(-24) * (size + start.abs());
                        for result in &results {
                            let error = (f64::from(result[place]) - exact).abs();
                            assert!(error <= bound, "{sizes:?} at {i}, {j}: {error} > {bound}");
                        }
                        assert_eq!(results[0][place].to_bits(), results[1][place].to_bits());
                    }
                    for result in &results {
                        let beyond =
                            result.chunks(width).all(|row| row[n..].iter().all(|v| v.is_nan()));
                        assert!(beyond, "{sizes:?}: written beyond the columns");
                    }
                }
            }
        }
    }

    #[test]
    fn values_that_are_no_numbers_stay() {
        let one = |a: f32, b: f32| {
            let mut results = [0.0f32; 2];
            let (a, b) = ([a], [b]);
            let product = product((1, 1, 1), View::rows(&a, 1), View::rows(&b, 1));
            // SAFETY: one value
            unsafe {
                product.write(&mut results[0], 1);
                product.write_emulated(&mut results[1], 1);
            }
            results
        };
        // the payload in the lowest bits is rounded away
        let lowest = f32::from_bits(0x7f80_0001);
        assert!(one(lowest, 1.0).iter().chain(&one(f32::INFINITY, 0.0)).all(|v| v.is_nan()));
        assert_eq!(one(f32::INFINITY, -2.0), [f32::NEG_INFINITY; 2]);
        assert_eq!(one(3.4e38, 1.0), [f32::INFINITY; 2], "beyond the largest bfloat16 number");
    }

    #[test]
    #[should_panic(expected = "sizes 2, 2, 2")]
    fn short_operands_are_refused() {
        let product = product((2, 2, 2), View::rows(&[0.0; 3], 2), View::rows(&[0.0; 4], 2));
        // SAFETY: the operands are refused before the target is written
        unsafe { product.write([0.0; 4].as_mut_ptr(), 2) };
    }
}
