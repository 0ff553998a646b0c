//! Arithmetic on the rows of the first candidates of a query.

use std::borrow::Cow;

/// Sharpness T of the weights of the other first candidates, `∝ exp(T s(c))`.
const SHARPNESS: [f32; 2] = [10.0, 40.0];

/// Number of features of [`agreement`].
pub(super) const AGREEMENT: usize = SHARPNESS.len() + 2;

/// Returns how alike each of some points with `scores` is to the others.
pub(super) fn agreement(scores: &[f32], points: &[Cow<[f32]>]) -> Vec<[f32; AGREEMENT]> {
    let lengths: Vec<f32> = points.iter().map(|point| length(point)).collect();
    let best = largest(scores.iter().copied());
    let shares = SHARPNESS.map(|sharpness| {
        let shares = scores.iter().map(|score| (sharpness * (score - best)).exp());
        let total: f32 = shares.clone().sum();
        shares.map(|share| share / total).collect::<Vec<f32>>()
    });
    let others = |at: usize| {
        let mut cosines = dots(&points[at], points.iter().map(|point| &**point));
        cosines.iter_mut().zip(&lengths).for_each(|(value, other)| *value /= lengths[at] * other);
        cosines[at] = 0.0;
        let [wide, sharp] = shares
            .each_ref()
            .map(|shares| shares.iter().zip(&cosines).map(|(share, cosine)| share * cosine).sum());
        [wide, sharp, largest(cosines.iter().copied()), mean(&cosines)]
    };
    (0..points.len()).map(others).collect()
}

pub(super) fn largest(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(f32::NEG_INFINITY, f32::max)
}

pub(super) fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

/// Returns the length of a row, and a small number for zeros, which are divided by it.
pub(super) fn length(row: &[f32]) -> f32 {
    several(row, &[row])[0].sqrt().max(1e-9)
}

/// Returns each value less its mean over the rows, and behind the values of a row the logarithms of their ranks.
pub(super) fn among_rows(values: &[f32], width: usize) -> Vec<f32> {
    let rows = values.len() / width;
    let mut features = vec![0.0; 2 * values.len()];
    for at in 0..width {
        let column = || values.iter().skip(at).step_by(width).copied();
        let mean = column().map(f64::from).sum::<f64>() / rows as f64;
        let mut sorted: Vec<f32> = column().collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        for (row, value) in features.chunks_exact_mut(2 * width).zip(column()) {
            let larger = sorted.partition_point(|other| *other > value);
            row[at] = value - mean as f32;
            row[width + at] = (larger as f32).ln_1p();
        }
    }
    features
}

/// Returns the inner products of a row with others, each in eight sums, whatever the machine. A sum waits for the one
/// before it, so several rows at a time are several times as fast.
pub(super) fn dots<'r>(vector: &[f32], rows: impl Iterator<Item = &'r [f32]>) -> Vec<f32> {
    const ROWS: usize = 6;
    let rows: Vec<&[f32]> = rows.collect();
    let (some, rest) = rows.as_chunks::<ROWS>();
    let products = some.iter().flat_map(|rows| several(vector, rows));
    products.chain(rest.iter().flat_map(|row| several(vector, &[row]))).collect()
}

pub(super) fn several<const N: usize>(vector: &[f32], rows: &[&[f32]; N]) -> [f32; N] {
    let mut sums = [[0.0; 8]; N];
    let (chunks, last) = vector.as_chunks::<8>();
    let others = rows.map(|row| row.as_chunks::<8>());
    for (at, chunk) in chunks.iter().enumerate() {
        // chunks whose length the compiler knows
        for (sums, (others, _)) in sums.iter_mut().zip(&others) {
            let pairs = chunk.iter().zip(&others[at]);
            sums.iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum += a * b);
        }
    }
    for (sums, (_, other)) in sums.iter_mut().zip(&others) {
        sums.iter_mut().zip(last.iter().zip(*other)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.map(|sums| sums.iter().sum())
}
