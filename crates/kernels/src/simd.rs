//! Elementary functions as plain arithmetic that compilers vectorise, and macros for the loops around them.

/// Compiles a block for AVX-512, for AVX2 with FMA, and for the target's baseline, and runs the best version that the
/// processor supports.
macro_rules! simd {
    (($($arguments:tt)*) -> $out:ty $body:block) => {
        dsokr_core::versions! {
            ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma"], ["avx2", "fma"],
            ($($arguments)*) -> $out $body
        }
    };
}
pub(super) use simd;

/// Runs a block with a function of the elements from `first` on: the factors of dropout. Without dropout they are 1,
/// and the block is compiled without them.
macro_rules! masked {
    ($dropout:expr, $first:expr, |$keep:ident| $body:block) => {
        match $dropout {
            Some(dropout) => {
                let first = $first as u32;
                let $keep = move |i: usize| dropout.at(first.wrapping_add(i as u32));
                $body
            }
            None => {
                let $keep = |_: usize| 1.0f32;
                $body
            }
        }
    };
}
pub(super) use masked;

/// Computes `out += factor · values`.
pub fn add_scaled(out: &mut [f32], factor: f32, values: &[f32]) {
    simd! {
        (out: &mut [f32], factor: f32, values: &[f32]) -> () {
            out.iter_mut().zip(values).for_each(|(out, value)| *out += factor * value);
        }
    }
}

/// Rows between the one that is read and the one that is asked for, where rows lie anywhere in a table: a
/// sum would wait for the memory of each.
pub const ROWS_AHEAD: usize = 4;

/// Asks for values that are read or changed soon; changes nothing but the time that this takes.
#[inline(always)]
pub fn prefetch(values: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks(16) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this kind has the instruction, which never faults
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// Returns `eˣ` with a relative error of 2·10⁻⁷, after Cephes' `expf`; arguments are clamped to [−87, 88].
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // adding it rounds to an integer, which is then in the lowest bits
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // x − n ln 2, with ln 2 in two parts
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, c);
    }
    let y = (p * r).mul_add(r, r) + 1.0;
    y * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// Returns the distribution function and density of the standard normal at x from one exponential; the former with an
/// error of 10⁻⁷ (Abramowitz and Stegun, 7.1.26).
#[inline(always)]
pub fn normal(x: f32) -> (f32, f32) {
    let e = exp(-0.5 * x * x);
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / 0.327_591_1f32.mul_add(z, 1.0);
    let mut q = 1.061_405_4f32;
    for c in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        q = q.mul_add(t, c);
    }
    let tail = 0.5 * q * t * e;
    // 1 / √(2π)
    (if x >= 0.0 { 1.0 - tail } else { tail }, e * 0.398_942_3)
}

/// Returns the largest value, or −∞, in 32 partial maxima that vectorise; NaN are passed over.
#[inline(always)]
pub fn largest(x: &[f32]) -> f32 {
    const LANES: usize = 32;
    let greater = |m: f32, v: f32| if v > m { v } else { m };
    let mut partial = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    for values in whole {
        for (m, v) in partial.iter_mut().zip(values) {
            *m = greater(*m, *v);
        }
    }
    partial.iter().chain(rest).copied().fold(f32::NEG_INFINITY, greater)
}

/// Computes `Σ f(i, x_i)` in 32 partial sums, in a fixed order that vectorises.
#[inline(always)]
pub fn sum(x: &[f32], f: impl Fn(usize, f32) -> f32) -> f32 {
    const LANES: usize = 32;
    let mut partial = [0.0f32; LANES];
    let whole = x.len() / LANES * LANES;
    let mut i = 0;
    while i < whole {
        for lane in 0..LANES {
            partial[lane] += f(i + lane, x[i + lane]);
        }
        i += LANES;
    }
    let rest: f32 = (whole..x.len()).map(|j| f(j, x[j])).sum();
    partial.iter().sum::<f32>() + rest
}
