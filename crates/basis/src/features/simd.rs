//! Inner loops compiled for the widest vectors of the machine, chosen at run time.
//!
//! Sums keep eight lanes in a fixed order on every machine, so results do not depend on it.

macro_rules! widest {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block) => {
        $(#[$doc])*
        $visibility fn $name($($argument: $type),*) -> $result {
            #[inline(always)]
            fn generic($($argument: $type),*) -> $result $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,avx2,popcnt")]
                fn avx512($($argument: $type),*) -> $result {
                    generic($($argument),*)
                }
                #[target_feature(enable = "avx2,popcnt")]
                fn avx2($($argument: $type),*) -> $result {
                    generic($($argument),*)
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("popcnt")
                {
                    // SAFETY: every feature that the function enables was detected.
                    return unsafe { avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    // SAFETY: as above.
                    return unsafe { avx2($($argument),*) };
                }
            }
            generic($($argument),*)
        }
    };
}

widest! {
    /// `Σ vᵢ²` in `f64`.
    pub(super) fn squared_norm(values: &[f32]) -> f64 {
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
    /// `out[i] = |a_i ∧ b|` for the rows a_i of `words.len()` words each.
    pub(super) fn common_ones(rows: &[u64], words: &[u64], out: &mut [f64]) -> () {
        for (row, out) in rows.chunks_exact(words.len()).zip(out) {
            let common = row.iter().zip(words).map(|(a, b)| u64::from((a & b).count_ones()));
            *out = common.sum::<u64>() as f64;
        }
    }
}

widest! {
    /// `out += factor · values`, element by element.
    pub(super) fn add_scaled_f64(out: &mut [f64], factor: f64, values: &[f32]) -> () {
        for (out, &value) in out.iter_mut().zip(values) {
            *out += factor * f64::from(value);
        }
    }
}

widest! {
    /// `out += factor · values`, element by element.
    pub(super) fn add_scaled(out: &mut [f32], factor: f32, values: &[f32]) -> () {
        for (out, &value) in out.iter_mut().zip(values) {
            *out += factor * value;
        }
    }
}
