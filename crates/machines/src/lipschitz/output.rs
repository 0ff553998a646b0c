//! The outputs of a machine: how they share what they learn, the constants that they start from, and measures of predicted
//! quantiles.

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use faer::Mat;

use crate::loss::{Loss, check_levels};
use crate::{Error, Targets};

/// Eigenvalues up to this share of the largest one are rounding.
const TOLERANCE: f64 = 1e-10;

/// M of a decomposable kernel `K(x, x') = k(x, x') M`, d × d, symmetric positive semi-definite
/// (thesis, section 3.2.2).
///
/// The identity learns every output by itself. With any other M, `‖f‖²` is small where outputs that M
/// ties together agree.
#[derive(Clone, Debug)]
pub struct OutputMatrix {
    /// d, the number of outputs.
    pub width: usize,
    /// L, d × r, with `M = L Lᵀ` and orthogonal columns; none for the identity.
    pub(super) root: Option<Mat<f64>>,
    /// The r eigenvalues of M above rounding, descending: squared lengths of the columns of L.
    pub(super) values: Vec<f64>,
}

impl OutputMatrix {
    /// The identity of d = `width` outputs.
    ///
    /// # Errors
    /// [`Error::Value`] for no outputs.
    pub fn identity(width: usize) -> Result<Self, Error> {
        Error::check_count("outputs", width)?;
        Ok(Self { width, root: None, values: vec![1.0; width] })
    }

    /// `M_ij = exp(−γ (τ_i − τ_j)²)` of quantile levels: quantiles of close levels are close, and
    /// seldom cross (Sangnier, Fercoq and d'Alché-Buc 2016). γ = 0 lets all quantiles differ by
    /// constants alone (the offsets); a large γ is the identity.
    ///
    /// # Errors
    /// [`Error::Value`] for bad levels, for none, and unless γ is a finite number, 0 and above.
    ///
    /// ```
    /// use dsokr_machines::OutputMatrix;
    ///
    /// let matrix = OutputMatrix::quantiles(&[0.1, 0.5, 0.9], 10.0)?;
    /// assert_eq!(matrix.width, 3);
    /// assert!((matrix.dense()[(0, 2)] - (-10.0f64 * 0.64).exp()).abs() < 1e-12);
    /// # Ok::<(), dsokr_machines::Error>(())
    /// ```
    pub fn quantiles(levels: &[f64], gamma: f64) -> Result<Self, Error> {
        check_levels(levels)?;
        let width = levels.len();
        Error::check_count("outputs", width)?;
        let (what, holds) = ("gamma of the output matrix", gamma >= 0.0 && gamma.is_finite());
        Error::ensure(holds, what, gamma, "finite numbers, 0 and above")?;
        let element = |i: usize, j: usize| (-gamma * (levels[i] - levels[j]).powi(2)).exp();
        let matrix = Mat::from_fn(width, width, element);
        let Eigen { mut values, vectors } = symmetric_eigen(matrix.as_ref())?;
        // the largest is 1 at least, for the diagonal is
        let largest = values.first().copied().unwrap_or(0.0);
        values.truncate(values.iter().take_while(|&&value| value > TOLERANCE * largest).count());
        let element = |i: usize, j: usize| vectors[(i, j)] * values[j].sqrt();
        let root = Mat::from_fn(width, values.len(), element);
        Ok(Self { width, root: Some(root), values })
    }

    /// M itself.
    pub fn dense(&self) -> Mat<f64> {
        match &self.root {
            Some(root) => multiply(root.as_ref(), root.transpose()),
            None => Mat::identity(self.width, self.width),
        }
    }
}

/// The constant b of `f(x) = b + h(x)`, which is not regularised, nor fitted further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offset {
    /// 0, as in the thesis.
    #[default]
    Zero,
    /// A constant for each output: its empirical τ-quantile with the pinball loss, its mean with the
    /// square loss, its median with the others.
    Constant,
}

impl Offset {
    /// b of the given loss and targets, d numbers.
    pub(crate) fn of(self, loss: &Loss, targets: &Targets) -> Result<Vec<f64>, Error> {
        let (n, d, values) = (targets.len(), targets.width(), targets.values()?);
        let column = |j: usize| values.iter().skip(j).step_by(d).copied();
        let offset = |j: usize| match self {
            Self::Zero => 0.0,
            Self::Constant if loss.is_fitted_by_mean() => column(j).sum::<f64>() / n as f64,
            Self::Constant => quantile(column(j), loss.levels().map_or(0.5, |levels| levels[j])),
        };
        Ok((0..d).map(offset).collect())
    }
}

/// The τ-quantile `inf {z : F(z) ≥ τ}` of the empirical distribution F.
fn quantile(values: impl Iterator<Item = f64>, level: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // the first k with k/n ≥ τ; the product τ n is rounded and may be above the k that it stands for
    let count = sorted.len() as f64;
    let most = (level * count).ceil();
    let at = if (most - 1.0) / count >= level { most - 1.0 } else { most };
    sorted.get((at as usize).saturating_sub(1)).copied().unwrap_or(0.0)
}

/// The mean pinball loss, summed over the levels, of predicted quantiles (n × d row-major) of n
/// numbers.
///
/// # Errors
/// [`Error::Value`] for bad levels, [`Error::Shape`] unless there are d predictions for each number.
pub fn pinball_loss(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<f64, Error> {
    check(levels, predictions, observed.len())?;
    let loss = Loss::pinball(levels);
    let losses = predictions.chunks_exact(levels.len()).zip(observed).map(|(row, &y)| {
        let row: Vec<f64> = row.iter().map(|&value| value.into()).collect();
        loss.value(&row, &vec![y; row.len()], 0.0)
    });
    Ok(losses.sum::<f64>() / observed.len() as f64)
}

/// The crossing loss `(1/n) Σ_i Σ_j max(0, f_j(x_i) − f_{j+1}(x_i))` of predicted quantiles, n × d
/// row-major with increasing levels: 0 where no two neighbours cross (Sangnier et al. 2016).
///
/// # Errors
/// [`Error::Value`] for no levels or no rows, [`Error::Shape`] for values that are not whole rows.
///
/// ```
/// // The first row is in order, in the second the upper quantile is 0.5 below the lower one.
/// let crossing = dsokr_machines::crossing_loss(2, &[0.0, 1.0, 1.0, 0.5])?;
/// assert_eq!(crossing, 0.25);
/// # Ok::<(), dsokr_machines::Error>(())
/// ```
pub fn crossing_loss(levels: usize, predictions: &[f32]) -> Result<f64, Error> {
    Error::check_count("quantile levels", levels)?;
    Error::check_count("predictions", predictions.len())?;
    let expected = predictions.len().next_multiple_of(levels);
    Error::check_length("predictions", predictions.len(), expected)?;
    let rows = predictions.chunks_exact(levels);
    let crossed =
        rows.flat_map(|row| row.windows(2)).map(|pair| f64::from((pair[0] - pair[1]).max(0.0)));
    Ok(crossed.sum::<f64>() / (predictions.len() / levels) as f64)
}

/// The share of observed numbers that are at most the predicted quantile, for each level: τ_j for
/// calibrated quantiles.
///
/// # Errors
/// As [`pinball_loss`].
pub fn coverage(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<Vec<f64>, Error> {
    check(levels, predictions, observed.len())?;
    let share = |j: usize| {
        let quantiles = predictions.iter().skip(j).step_by(levels.len());
        let covered = quantiles.zip(observed).filter(|(quantile, y)| **y <= f64::from(**quantile));
        covered.count() as f64 / observed.len() as f64
    };
    Ok((0..levels.len()).map(share).collect())
}

fn check(levels: &[f64], predictions: &[f32], n: usize) -> Result<(), Error> {
    check_levels(levels)?;
    Error::check_count("quantile levels", levels.len())?;
    Error::check_count("observed numbers", n)?;
    Error::check_length("predictions", predictions.len(), n.saturating_mul(levels.len()))
}
