//! Output matrices: how the outputs of a machine share what they learn.

use dsokr_basis::eigenbasis::{Eigen, symmetric_eigen};
use faer::{Mat, MatRef};

use super::loss::check_levels;
use crate::Error;

/// Asymmetry and negative eigenvalues up to this share of the largest value are rounding.
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
        if !(gamma >= 0.0 && gamma.is_finite()) {
            let what = "gamma of the output matrix";
            return Err(Error::value(what, gamma, "finite numbers, 0 and above"));
        }
        let element = |i: usize, j: usize| (-gamma * (levels[i] - levels[j]).powi(2)).exp();
        Self::new(Mat::from_fn(levels.len(), levels.len(), element).as_ref())
    }

    /// `M = (μ L_P + (1 − μ) I)⁻¹`, `L_P` the Laplacian of a graph whose vertices are the outputs, given
    /// by its adjacency matrix with weights of 0 and above (Evgeniou et al. 2005; Sheldon 2008).
    ///
    /// # Errors
    /// [`Error::Value`] unless 0 ≤ μ < 1 (μ = 1 has no inverse), for a negative weight, and for no
    /// outputs; [`Error::NotSymmetric`], [`Error::NotFinite`].
    pub fn graph(adjacency: MatRef<f64>, mu: f64) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&mu) {
            return Err(Error::value("mu of the output matrix", mu, "0 and above, below 1"));
        }
        check_symmetric("the adjacency matrix", adjacency)?;
        let d = adjacency.nrows();
        let weights = adjacency.col_iter().flat_map(|column| column.iter());
        if let Some(&value) = weights.into_iter().find(|&&weight| weight < 0.0) {
            return Err(Error::value(
                "the weight of an edge",
                value,
                "finite numbers, 0 and above",
            ));
        }
        let degree =
            |i: usize| -> f64 { (0..d).filter(|&j| j != i).map(|j| adjacency[(i, j)]).sum() };
        let laplacian = Mat::from_fn(d, d, |i, j| {
            let edge = if i == j { degree(i) } else { -adjacency[(i, j)] };
            mu * edge + if i == j { 1.0 - mu } else { 0.0 }
        });
        // The eigenvectors of the inverse are those of the matrix.
        let Eigen { values, vectors } = symmetric_eigen(laplacian.as_ref())?;
        let inverse: Vec<f64> = values.iter().rev().map(|value| 1.0 / value).collect();
        Ok(Self::of(inverse, vectors.reverse_cols()))
    }

    /// Any symmetric positive semi-definite matrix.
    ///
    /// # Errors
    /// [`Error::Value`] for no outputs, [`Error::Length`] for a matrix that is not square,
    /// [`Error::NotFinite`], [`Error::NotSymmetric`] and [`Error::NotSemidefinite`] beyond 1e-10 of the
    /// largest value, [`Error::Numeric`] for a matrix of zeros.
    pub fn new(matrix: MatRef<f64>) -> Result<Self, Error> {
        let what = "the output matrix";
        check_symmetric(what, matrix)?;
        let Eigen { values, vectors } = symmetric_eigen(matrix)?;
        let largest = values.first().copied().unwrap_or(0.0);
        let smallest = values.last().copied().unwrap_or(0.0);
        if smallest < -TOLERANCE * largest.max(0.0) {
            return Err(Error::NotSemidefinite { what, smallest, largest });
        }
        if largest <= 0.0 {
            return Err(Error::Numeric(format!("{what} is zero")));
        }
        let kept = values.iter().take_while(|&&value| value > TOLERANCE * largest).count();
        Ok(Self::of(values[..kept].to_vec(), vectors.as_ref().subcols(0, kept)))
    }

    fn of(values: Vec<f64>, vectors: MatRef<f64>) -> Self {
        let element = |i: usize, j: usize| vectors[(i, j)] * values[j].sqrt();
        let root = Mat::from_fn(vectors.nrows(), values.len(), element);
        Self { width: vectors.nrows(), root: Some(root), values }
    }

    /// d, the number of outputs.
    pub fn width(&self) -> usize {
        self.width
    }

    /// M itself.
    pub fn dense(&self) -> Mat<f64> {
        match &self.root {
            Some(root) => root * root.transpose(),
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

fn check_symmetric(what: &'static str, matrix: MatRef<f64>) -> Result<(), Error> {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    if rows == 0 {
        return Err(Error::none("outputs"));
    }
    Error::check_length("columns of a square matrix", columns, rows)?;
    let cells = || (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
    if let Some((row, column)) = cells().find(|&at| !matrix[at].is_finite()) {
        return Err(Error::NotFinite { what, row, column, value: matrix[(row, column)] });
    }
    let largest = cells().fold(0.0f64, |largest, at| largest.max(matrix[at].abs()));
    let apart =
        |&(i, j): &(usize, usize)| (matrix[(i, j)] - matrix[(j, i)]).abs() > TOLERANCE * largest;
    match cells().find(apart) {
        Some((row, column)) => {
            let (value, mirrored) = (matrix[(row, column)], matrix[(column, row)]);
            Err(Error::NotSymmetric { what, row, column, value, mirrored })
        }
        None => Ok(()),
    }
}
