//! Arithmetic on the rows of the first candidates of a query.

use std::array;

/// Sharpness T of the weights of the other first candidates, `∝ exp(T s(c))`.
const SHARPNESS: [f32; 2] = [10.0, 40.0];

/// Number of features of [`agreement`].
pub(super) const AGREEMENT: usize = SHARPNESS.len() + 2;

/// Returns how alike each of some points with `scores` is to the others.
pub(super) fn agreement(scores: &[f32], points: &[&[f32]]) -> Vec<[f32; AGREEMENT]> {
    let lengths: Vec<f32> = points.iter().map(|point| length(point)).collect();
    let best = largest(scores.iter().copied());
    let shares = SHARPNESS.map(|sharpness| {
        let shares = scores.iter().map(|score| (sharpness * (score - best)).exp());
        let total: f32 = shares.clone().sum();
        shares.map(|share| share / total).collect::<Vec<f32>>()
    });
    let mut cosines = products(points, points);
    let others = |(at, cosines): (usize, &mut [f32])| {
        cosines.iter_mut().zip(&lengths).for_each(|(value, other)| *value /= lengths[at] * other);
        cosines[at] = 0.0;
        let [wide, sharp] = shares
            .each_ref()
            .map(|shares| shares.iter().zip(&*cosines).map(|(share, cosine)| share * cosine).sum());
        [wide, sharp, largest(cosines.iter().copied()), mean(cosines)]
    };
    cosines.chunks_exact_mut(points.len().max(1)).enumerate().map(others).collect()
}

pub(super) fn largest(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(f32::NEG_INFINITY, f32::max)
}

pub(super) fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len() as f32
}

/// Returns the length of a row, and a small number for zeros, which are divided by it.
pub(super) fn length(row: &[f32]) -> f32 {
    product(row, row).sqrt().max(1e-9)
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

/// Returns the inner products of some rows with others, `[rows × others]`, each in eight sums, whatever the machine. A sum
/// waits for the one before it, so several products at a time are several times as fast.
pub(super) fn products(rows: &[&[f32]], others: &[&[f32]]) -> Vec<f32> {
    // eight sums are one register of AVX; without fused operations all versions give the same bits
    dsokr_core::versions! {
        ["avx2"], ["avx"], (rows: &[&[f32]], others: &[&[f32]]) -> Vec<f32> {
            let count = others.len();
            let mut out = vec![0.0; rows.len() * count];
            if out.is_empty() {
                return out;
            }
            let (threes, rest) = rows.as_chunks::<3>();
            let (out_of_threes, out_of_rest) = out.split_at_mut(3 * threes.len() * count);
            for (rows, out) in threes.iter().zip(out_of_threes.chunks_exact_mut(3 * count)) {
                fill::<3, 3>(rows, others, out);
            }
            for (row, out) in rest.iter().zip(out_of_rest.chunks_exact_mut(count)) {
                fill::<1, 8>(&[row], others, out);
            }
            out
        }
    }
}

/// Fills the inner products of R rows with others, of which N are taken at a time.
#[inline(always)]
fn fill<const R: usize, const N: usize>(rows: &[&[f32]; R], others: &[&[f32]], out: &mut [f32]) {
    let count = others.len();
    let (some, rest) = others.as_chunks::<N>();
    for (others, first) in some.iter().zip((0..).step_by(N)) {
        for (row, products) in several(rows, others).into_iter().enumerate() {
            out[row * count + first..][..N].copy_from_slice(&products);
        }
    }
    for (other, at) in rest.iter().zip(count - rest.len()..) {
        for (row, [product]) in several(rows, &[other]).into_iter().enumerate() {
            out[row * count + at] = product;
        }
    }
}

/// Returns the inner products of rows with others.
#[inline(always)]
fn several<const R: usize, const N: usize>(
    rows: &[&[f32]; R],
    others: &[&[f32]; N],
) -> [[f32; N]; R] {
    let rows = rows.map(|row| row.as_chunks::<8>());
    let others = others.map(|other| other.as_chunks::<8>());
    let mut sums = [[[0.0f32; 8]; N]; R];
    for at in 0..rows.first().map_or(0, |(chunks, _)| chunks.len()) {
        let others = others.map(|(chunks, _)| chunks[at]);
        for (sums, (chunks, _)) in sums.iter_mut().zip(&rows) {
            let chunk = chunks[at];
            for (sum, other) in sums.iter_mut().zip(&others) {
                // arrays of values stay in registers
                *sum = array::from_fn(|lane| sum[lane] + chunk[lane] * other[lane]);
            }
        }
    }
    for (sums, (_, row)) in sums.iter_mut().zip(&rows) {
        for (sum, (_, other)) in sums.iter_mut().zip(&others) {
            sum.iter_mut().zip(row.iter().zip(*other)).for_each(|(sum, (a, b))| *sum += a * b);
        }
    }
    sums.map(|sums| sums.map(|sum| sum.iter().sum()))
}

/// Returns the inner product of two rows, as [`products`] does.
pub(super) fn product(row: &[f32], other: &[f32]) -> f32 {
    let [[product]] = several(&[row], &[other]);
    product
}
