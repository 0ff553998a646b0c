//! Inner loops compiled for the widest vectors of the machine, chosen at run time.
//!
//! Sums keep eight lanes in a fixed order on every machine, so results do not depend on it.

macro_rules! widest {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block) => {
        $(#[$doc])*
        $visibility fn $name($($argument: $type),*) -> $result {
            dsokr_core::versions! {
                ["avx512f", "avx512bw", "avx512vl", "avx512vpopcntdq", "avx2", "popcnt"], ["avx2", "popcnt"],
                ($($argument: $type),*) -> $result $body
            }
        }
    };
}

widest! {
    /// Computes `Σ vᵢ²` in `f64`.
    pub(crate) fn squared_norm(values: &[f32]) -> f64 {
        let mut lanes = [0.0f64; 8];
        let (chunks, rest) = values.as_chunks::<8>();
        for chunk in chunks {
            for (lane, &value) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(value) * f64::from(value);
            }
        }
        for (lane, &value) in lanes.iter_mut().zip(rest) {
            *lane += f64::from(value) * f64::from(value);
        }
        lanes.iter().sum()
    }
}

widest! {
    /// Computes `out[i] = |a_i ∧ b|` for the rows a_i of `words.len()` words each.
    pub(super) fn common_ones(rows: &[u64], words: &[u64], out: &mut [f64]) -> () {
        for (row, out) in rows.chunks_exact(words.len()).zip(out) {
            let common = row.iter().zip(words).map(|(a, b)| u64::from((a & b).count_ones()));
            *out = common.sum::<u64>() as f64;
        }
    }
}

widest! {
    /// Computes `out += factor · values`, element by element.
    pub(crate) fn add_scaled_f64(out: &mut [f64], factor: f64, values: &[f32]) -> () {
        for (out, &value) in out.iter_mut().zip(values) {
            *out += factor * f64::from(value);
        }
    }
}

widest! {
    /// Computes `out += factor · values`, element by element.
    pub(crate) fn add_scaled(out: &mut [f32], factor: f32, values: &[f32]) -> () {
        for (out, &value) in out.iter_mut().zip(values) {
            *out += factor * value;
        }
    }
}

widest! {
    /// Computes `values[i] ← exp(−γ max(aa[i] + bb − 2 values[i], 0))`: the Gaussian kernel of products.
    pub(crate) fn gaussian(values: &mut [f64], gamma: f64, aa: &[f64], bb: f64) -> () {
        for (value, &aa) in values.iter_mut().zip(aa) {
            *value = exp_negative(-gamma * (aa + bb - 2.0 * *value).max(0.0));
        }
    }
}

/// Returns `eˣ` for x ≤ 0, to 4e-16 of its value; 0 below −708, where the smallest normal numbers are.
///
/// `x = k ln 2 + r`, `eˣ = 2ᵏ eʳ` with `|r| ≤ ln 2 / 2` and the Taylor polynomial of degree 13. Without branches and
/// fused operations: it vectorises, and gives the same bits on every machine.
#[inline(always)]
pub(crate) fn exp_negative(x: f64) -> f64 {
    // Adding 1.5 · 2⁵² rounds to an integer, which the low bits of the sum hold.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut sum = 1.0 / 6_227_020_800.0;
    for coefficient in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = sum * r + coefficient;
    }
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x < -708.0 { 0.0 } else { sum * scale }
}
