//! Output matrices: how the outputs of a machine share what they learn.

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use faer::{Mat, MatRef};

use crate::Error;
use crate::loss::check_levels;

/// Eigenvalues up to this share of the largest one are rounding.
const TOLERANCE: f64 = 1e-10;

/// M of a decomposable kernel `K(x, x') = k(x, x') M`, d × d, symmetric positive semi-definite
/// (thesis, section 3.2.2).
///
/// The identity learns every output by itself. With any other M, `‖f‖²` is small where outputs that M
/// ties together agree.
#[derive(Clone, Debug)]
pub struct OutputMatrix {
    width: usize,
    /// L, d × r, with `M = L Lᵀ` and orthogonal columns; none for the identity.
    root: Option<Mat<f64>>,
    /// The r eigenvalues of M above rounding, descending: squared lengths of the columns of L.
    values: Vec<f64>,
}

impl OutputMatrix {
    /// The identity of d = `width` outputs.
    ///
    /// # Errors
    /// [`Error::Value`] for no outputs.
    pub fn identity(width: usize) -> Result<Self, Error> {
        if width == 0 {
            return Err(Error::none("outputs"));
        }
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
    /// assert_eq!(matrix.width(), 3);
    /// assert!((matrix.dense()[(0, 2)] - (-10.0f64 * 0.64).exp()).abs() < 1e-12);
    /// # Ok::<(), dsokr_machines::Error>(())
    /// ```
    pub fn quantiles(levels: &[f64], gamma: f64) -> Result<Self, Error> {
        check_levels(levels)?;
        let width = levels.len();
        if width == 0 {
            return Err(Error::none("outputs"));
        }
        if !(gamma >= 0.0 && gamma.is_finite()) {
            let what = "gamma of the output matrix";
            return Err(Error::value(what, gamma, "finite numbers, 0 and above"));
        }
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

    /// d, the number of outputs.
    pub fn width(&self) -> usize {
        self.width
    }

    /// M itself.
    pub fn dense(&self) -> Mat<f64> {
        match &self.root {
            Some(root) => multiply(root.as_ref(), root.transpose()),
            None => Mat::identity(self.width, self.width),
        }
    }

    /// L, none for the identity.
    pub(crate) fn root(&self) -> Option<MatRef<'_, f64>> {
        self.root.as_ref().map(Mat::as_ref)
    }

    /// The eigenvalues of M that are above rounding, descending.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }
}
