//! The median heuristic.

use super::OutputKernel;
use crate::Error;
use crate::features::RowSource;
use crate::random::{below, generator};

/// Rows of which all pairs are compared.
const ROWS: u64 = 1000;

/// Squared distances below this share of the squared norms are rounding.
const ROUNDING: f64 = 1e-13;

/// The median of `k(a, a) + k(b, b) − 2 k(a, b)`, the squared distances of a and b in the feature space of
/// a kernel, over all pairs of 1000 rows that `seed` draws, or of all rows where there are no more. Of an
/// even number of pairs it is the mean of the two in the middle. The number of threads changes nothing.
///
/// The median heuristic (Garreau, Jitkrittum and Kanagawa 2017) takes `γ = 1/median` for
/// `exp(−γ d²)`, so that half of the pairs have a kernel above 1/e.
///
/// ```
/// use dsokr_basis::kernel::median_squared_distance;
/// use dsokr_basis::{Features, Kernel, features::DenseRows};
///
/// let rows = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 3.0])?);
/// assert_eq!(median_squared_distance(&Kernel::Linear, &rows, 0)?, 4.0);
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
///
/// # Errors
/// Rows that the kernel is not defined on; fewer than two rows.
pub fn median_squared_distance(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    seed: u64,
) -> Result<f64, Error> {
    if rows.len() < 2 {
        return Err(Error::Shape(format!("{} rows; a median distance needs two", rows.len())));
    }
    let (n, mut random) = (rows.len() as u64, generator(seed, "median distance", 0));
    let mut chosen: Vec<usize> = (0..rows.len()).collect();
    for at in 0..ROWS.min(n) {
        chosen.swap(at as usize, (at + below(&mut random, n - at)) as usize);
    }
    chosen.truncate(ROWS as usize);
    let block = rows.select(&chosen)?;
    kernel.validate(block.kind())?;
    kernel.check(&block)?;
    let (gram, norms) = (kernel.block(&block, &block)?, kernel.diagonal(&block));
    let distance = |(i, j): (usize, usize)| {
        let distance = norms[i] + norms[j] - 2.0 * gram[(i, j)];
        if distance < ROUNDING * (norms[i] + norms[j]) { 0.0 } else { distance }
    };
    let pairs = (0..chosen.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    let mut distances: Vec<f64> = pairs.map(distance).collect();
    let middle = distances.len() / 2;
    let even = distances.len().is_multiple_of(2);
    let (below, median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    Ok(match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if even => 0.5 * (lower + *median),
        Some(_) | None => *median,
    })
}
