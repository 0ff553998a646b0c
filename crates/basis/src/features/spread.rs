use dsokr_core::Error;

use super::{Block, RowKind, RowSource};

/// Rows that are compared, at most.
const ROWS: usize = 1 << 16;

/// Rows that are read at once.
const AT_ONCE: usize = 4096;

/// Fewer rows say little of how far others are from each other.
const FEWEST: usize = 3;

/// How far dense rows are from zero, and how far from their mean.
///
/// Scores `⟨z, ψ(c)⟩ − ½ k(c, c)` under a kernel that is linear in the rows have 32 bits and the size of squared
/// distances from zero. They tell candidates apart by squared distances from each other.
///
/// ```
/// use dsokr_basis::Features;
/// use dsokr_basis::features::{DenseRows, Spread};
///
/// let rows = Features::from(DenseRows::new(1, vec![2999.0, 3001.0, 2999.0, 3001.0])?);
/// let spread = Spread::of(&rows)?.expect("dense rows");
/// assert_eq!((spread.squared_mean, spread.variance), (9e6, 1.0));
/// assert!(spread.lost_digits().is_some_and(|reason| reason.contains("3000 times")));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The squared length of the mean.
    pub squared_mean: f64,
    /// The mean of the squared distances from the mean, which is the trace of the covariance.
    pub variance: f64,
}

impl Spread {
    /// The squared mean, as a multiple of the variance, above which scores in 32 bits lose their order.
    pub const LARGEST: f64 = 2e5;

    /// The squared mean, as a multiple of the variance, above which scores in 32 bits lose digits.
    pub const LARGE: f64 = 1e4;

    /// Squared lengths below this are close to the smallest numbers of 32 bits.
    const SMALLEST: f64 = 1e-34;

    /// Measures rows, of many 65,536 that are evenly spaced; none of rows that are not dense, or fewer than three.
    ///
    /// # Errors
    /// Errors from reading the rows.
    pub fn of(rows: &dyn RowSource) -> Result<Option<Self>, Error> {
        if rows.kind() != RowKind::Dense || rows.len() < FEWEST {
            return Ok(None);
        }
        let step = rows.len().div_ceil(ROWS);
        let indices: Vec<usize> = (0..rows.len()).step_by(step).collect();
        // from the first row, so that what all rows share does not round what tells them apart
        let mut origin: Vec<f64> = Vec::new();
        let mut sums = vec![0.0; rows.width()];
        let mut squares = 0.0;
        for some in indices.chunks(AT_ONCE) {
            let Block::Dense(block) = rows.select(some)? else { return Ok(None) };
            for row in block.values().chunks_exact(block.width()) {
                if origin.is_empty() {
                    origin = row.iter().map(|&value| value.into()).collect();
                }
                for ((sum, &value), first) in sums.iter_mut().zip(row).zip(&origin) {
                    let difference = f64::from(value) - first;
                    *sum += difference;
                    squares += difference * difference;
                }
            }
        }
        let count = indices.len() as f64;
        let shifts: Vec<f64> = sums.iter().map(|sum| sum / count).collect();
        let means = origin.iter().zip(&shifts).map(|(first, shift)| first + shift);
        let squared_mean: f64 = means.map(|mean| mean * mean).sum();
        let squared_shift: f64 = shifts.iter().map(|shift| shift * shift).sum();
        Ok(Some(Self { squared_mean, variance: (squares / count - squared_shift).max(0.0) }))
    }

    /// Returns the distance of the mean from zero, as a multiple of that of the rows from the mean; 0 where all rows are
    /// equal.
    pub fn offset(&self) -> f64 {
        if self.variance > 0.0 { (self.squared_mean / self.variance).sqrt() } else { 0.0 }
    }

    /// Returns why scores in 32 bits do not tell such rows apart under the kernel `linear`; none where they do, or where all
    /// rows are equal.
    pub fn lost_digits(&self) -> Option<String> {
        let Self { squared_mean, variance } = *self;
        if variance <= 0.0 {
            return None;
        }
        if squared_mean > Self::LARGEST * variance {
            let offset = self.offset().round();
            return Some(format!(
                "a mean that is {offset} times as far from zero as outputs are from it, which leaves scores of 32 bits \
                 too few digits"
            ));
        }
        let length = squared_mean + variance;
        (length < Self::SMALLEST).then(|| {
            format!("a mean squared length of {length:e}, which scores of 32 bits do not hold")
        })
    }
}
