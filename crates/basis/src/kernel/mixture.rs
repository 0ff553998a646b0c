//! The probability product kernel of mixtures of Gaussians on a line.

use dsokr_core::Error;
use faer::Mat;
use rayon::prelude::*;

use super::OutputKernel;
use crate::features::{Block, RowKind, RowSource, SparseBlock, check_alike};

/// Rows of the right block in one task.
const TILE: usize = 32;

/// Positions further apart than this many deviations have nothing in common: e^−36 of a product.
const REACH: f64 = 12.0;

/// The probability product kernel of mixtures of Gaussians (Jebara, Kondor and Howard 2004), divided by the lengths of
/// both mixtures. The columns of a sparse row are positions on a line, and the values are the weights w of the
/// Gaussians there:
///
/// ```text
/// p_a(x) = Σ_i w_i N(x; i, σ²),   ∫ p_a p_b dx ∝ Σ_i Σ_j w_i v_j exp(−(i − j)² / (4 σ²)) = ⟨a, b⟩
/// k(a, b) = ⟨a, b⟩ / √(⟨a, a⟩ ⟨b, b⟩)
/// ```
///
/// With τ, `values`, the values are positions too, in a second dimension, and all weights are equal. This is the kernel
/// of spectra of Heinonen, Shen, Zamboni and Rousu (2012), `Σ_i Σ_j exp(−(i − j)²/(4σ²)) exp(−(w_i − v_j)²/(4τ²))`.
///
/// ```
/// use dsokr_basis::kernel::{OutputKernel, ProbabilityProduct};
/// use dsokr_basis::{Features, features::SparseRows};
///
/// let rows = SparseRows::from_rows(1000, [vec![(100, 1.0)], vec![(104, 3.0)]])?;
/// let kernel = ProbabilityProduct { deviation: 2.0, values: None };
/// let gram = kernel.block(&rows.clone().into(), &rows.into())?;
/// assert!((gram[(0, 1)] - (-1.0f64).exp()).abs() < 1e-15 && gram[(1, 1)] == 1.0);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbabilityProduct {
    /// σ in columns, above 0.
    pub deviation: f64,
    /// τ in units of the values, above 0; none where values are weights.
    pub values: Option<f64>,
}

/// Positions and values of a row.
type Row<'a> = (&'a [u32], &'a [f32]);

impl ProbabilityProduct {
    /// Computes `⟨a, b⟩`, in the order of a's positions.
    fn product(&self, a: Row, b: Row) -> f64 {
        let reach = (REACH * self.deviation).min(f64::from(u32::MAX)) as u32;
        let scale = -0.25 / (self.deviation * self.deviation);
        let values = self.values.map(|deviation| -0.25 / (deviation * deviation));
        let mut first = 0;
        let mut sum = 0.0;
        for (&position, &weight) in a.0.iter().zip(a.1) {
            let least = position.saturating_sub(reach);
            first += b.0[first..].iter().take_while(|&&other| other < least).count();
            let most = position.saturating_add(reach);
            for (&other, &value) in b.0[first..].iter().zip(&b.1[first..]) {
                if other > most {
                    break;
                }
                let distance = f64::from(position) - f64::from(other);
                let weight = f64::from(weight);
                let value = f64::from(value);
                sum += match values {
                    None => weight * value * (scale * distance * distance).exp(),
                    Some(values) => {
                        (scale * distance * distance + values * (weight - value).powi(2)).exp()
                    }
                };
            }
        }
        sum
    }

    /// Computes `√⟨a, a⟩` of each row.
    fn lengths(&self, rows: &SparseBlock) -> Vec<f64> {
        let all = (0..rows.len()).into_par_iter();
        all.map(|row| self.product(rows.row(row), rows.row(row)).sqrt()).collect()
    }
}

impl OutputKernel for ProbabilityProduct {
    fn name(&self) -> String {
        let values = self.values.map_or_else(String::new, |values| format!(", values {values}"));
        format!("probability-product (deviation {}{values})", self.deviation)
    }

    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        let positive = |number: f64| number > 0.0 && number.is_finite();
        let allowed = "finite numbers above 0";
        Error::ensure(positive(self.deviation), "deviation", self.deviation, allowed)?;
        let values = self.values.unwrap_or(1.0);
        Error::ensure(positive(values), "values", values, allowed)?;
        if rows == RowKind::Sparse { Ok(()) } else { Err(Error::kind(rows, RowKind::Sparse)) }
    }

    /// Checks that weights are not negative.
    fn check(&self, rows: &Block) -> Result<(), Error> {
        let Block::Sparse(sparse) = rows else { return Ok(()) };
        let negative = |row: &usize| sparse.row(*row).1.iter().any(|&value| value < 0.0);
        match (0..sparse.len()).find(negative).filter(|_| self.values.is_none()) {
            Some(row) => Err(Error::row(row, "a negative weight; allowed: 0 and more")),
            None => Ok(()),
        }
    }

    /// Computes the kernel. Two rows without positions are equal, k = 1.
    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        self.validate(a.kind())?;
        check_alike((b.kind(), b.width()), (a.kind(), a.width()))?;
        let Block::Sparse(a) = a else {
            return Err(Error::kind(a.kind(), RowKind::Sparse));
        };
        let Block::Sparse(b) = b else {
            return Err(Error::kind(b.kind(), RowKind::Sparse));
        };
        let left = self.lengths(a);
        let right = self.lengths(b);
        let mut out = Mat::zeros(a.len(), b.len());
        out.par_col_chunks_mut(TILE).enumerate().for_each(|(tile, mut out)| {
            for at in 0..out.ncols() {
                let j = tile * TILE + at;
                for (i, out) in out.as_mut().col_mut(at).iter_mut().enumerate() {
                    let lengths = left[i] * right[j];
                    *out = if lengths > 0.0 {
                        // a row with itself too is divided by a root of its square
                        (self.product(a.row(i), b.row(j)) / lengths).min(1.0)
                    } else {
                        f64::from(u8::from(left[i] == right[j]))
                    };
                }
            }
        });
        Ok(out)
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(vec![1.0; rows.len()])
    }

    fn is_normalised(&self) -> bool {
        true
    }
}
