//! Matrix products with strides, of operands in 32 bits or rounded to bfloat16.

use rayon::prelude::*;

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::dot;
use crate::operation::{Product, Shared, View};
use crate::precision::Precision;

/// Returns whether the processor has instructions for products of bfloat16; without them such products take longer than
/// in 32 bits.
pub fn multiplies_bf16() -> bool {
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    return dot::supported();
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
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
                // numbers of 19 bits are refused on the CPU engine
                Precision::F32 | Precision::Tf32 => self.write_full(target, width),
                #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
                Precision::Bf16 if dot::supported() => dot::write(self, target, width),
                Precision::Bf16 => self.write_emulated(target, width),
            }
        }
    }

    /// Computes the product like [`write`](Self::write), with operands that are rounded before a product in 32 bits.
    ///
    /// # Safety
    /// The conditions of [`write`](Self::write).
    pub(super) unsafe fn write_emulated(&self, target: *mut f32, width: usize) {
        let (m, n, k) = self.sizes;
        let a = self.a.rounded(m, k);
        let b = self.b.rounded(k, n);
        let product = Product { a: View::rows(&a, k), b: View::rows(&b, n), ..*self };
        // SAFETY: the caller's promise; the copies have the same sizes
        unsafe { product.write_full(target, width) }
    }

    /// Writes the product in full precision.
    ///
    /// # Safety
    /// The conditions of [`write`](Self::write), with checked sizes.
    unsafe fn write_full(&self, target: *mut f32, width: usize) {
        let Self { sizes: (m, n, k), a, b, factor, bias, threads, .. } = *self;
        if let Some(bias) = bias {
            let target = Shared(target);
            (0..m).into_par_iter().with_min_len(64).for_each(|i| {
                // SAFETY: the target has m rows, each written once
                unsafe { target.at(i * width).copy_from_nonoverlapping(bias.as_ptr(), n) };
            });
        }
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
                threads,
            );
        }
    }
}
