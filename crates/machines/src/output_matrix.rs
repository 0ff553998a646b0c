//! How the outputs of a machine share what they learn.

use std::ops::Range;

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use dsokr_core::Error;
use faer::{Mat, MatRef};

use crate::loss::check_levels;

/// Eigenvalues up to this share of the largest one are rounding.
const TOLERANCE: f64 = 1e-10;

/// Elements of a symmetric matrix differ from those across the diagonal by no more than this share of the largest one.
const EQUAL: f64 = 1e-6;

/// Eigenvalues that are smaller than the first of their group by no more than this share of it are fitted as one.
///
/// A prediction is multiplied by `μ s / (μ s + nλ)` for an eigenvalue μ of M and s of the inputs. The share changes that
/// factor by no more than the same share of it, whatever s and λ are.
const SHARE: f64 = 1e-6;

/// Eigenvalues of a d × d matrix that are equal in exact arithmetic come out of its decomposition within d times this
/// share of the largest one, however small they are themselves.
const NOISE: f64 = 4.0 * f64::EPSILON;

/// M of a decomposable kernel `K(x, x') = k(x, x') M`, d × d, symmetric positive semi-definite
/// (thesis, section 3.2.2).
///
/// The identity learns every output by itself. With any other M, `‖f‖²` is small where outputs that M
/// ties together agree.
#[derive(Clone, Debug)]
pub struct OutputMatrix {
    pub(crate) width: usize,
    /// L, d × r, with `M = L Lᵀ` and orthogonal columns; none for the identity.
    pub(crate) root: Option<Mat<f64>>,
    /// The r eigenvalues of M above rounding, descending: squared lengths of the columns of L.
    pub(crate) values: Vec<f64>,
}

/// How outputs share what they learn.
#[derive(Clone, Debug, derive_more::From)]
pub enum Coupling {
    /// A given matrix.
    #[from]
    Given(OutputMatrix),
    /// A matrix of at most this rank, learned with a ridge regression
    /// ([`Spectrum::output_matrix`](crate::Spectrum::output_matrix)).
    Learned {
        /// The rank; any where none is given.
        rank: Option<usize>,
    },
}

impl OutputMatrix {
    /// Returns d, the number of outputs.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Creates the identity of d = `width` outputs.
    ///
    /// # Errors
    /// [`Error::Value`] for no outputs.
    pub fn identity(width: usize) -> Result<Self, Error> {
        Error::check_count("outputs", width)?;
        Ok(Self { width, root: None, values: vec![1.0; width] })
    }

    /// Creates a given matrix.
    ///
    /// # Errors
    /// [`Error::Value`] unless it is square and symmetric, with a positive eigenvalue and none below 0.
    pub fn new(matrix: MatRef<f64>) -> Result<Self, Error> {
        let width = matrix.nrows();
        Error::check_count("outputs", width)?;
        check_symmetric("the output matrix", matrix)?;
        let Eigen { mut values, vectors } = symmetric_eigen(matrix)?;
        let largest = values[0];
        let least = values[width - 1];
        let holds = largest > 0.0 && least >= -EQUAL * largest;
        let range = format_args!("eigenvalues from {least} to {largest}");
        Error::ensure(holds, "the output matrix", range, "a positive one, and none below 0")?;
        values.truncate(values.iter().take_while(|&&value| value > TOLERANCE * largest).count());
        let element = |i: usize, j: usize| vectors[(i, j)] * values[j].sqrt();
        let root = Mat::from_fn(width, values.len(), element);
        Ok(Self { width, root: Some(root), values })
    }

    /// Computes `M_ij = exp(−γ (τ_i − τ_j)²)` of quantile levels: quantiles of close levels are close, and
    /// seldom cross (Sangnier, Fercoq and d'Alché-Buc 2016). γ = 0 lets all quantiles differ by
    /// constants only (the offsets); a large γ is the identity.
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
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    pub fn quantiles(levels: &[f64], gamma: f64) -> Result<Self, Error> {
        check_levels(levels)?;
        let what = "gamma of the output matrix";
        let holds = gamma >= 0.0 && gamma.is_finite();
        Error::ensure(holds, what, gamma, "finite numbers, 0 and above")?;
        let element = |i: usize, j: usize| (-gamma * (levels[i] - levels[j]).powi(2)).exp();
        Self::new(Mat::from_fn(levels.len(), levels.len(), element).as_ref())
    }

    /// Computes `M = (μ L + (1 − μ) I)⁻¹` with the Laplacian `L = diag(P 1) − P` of a graph of outputs, whose symmetric
    /// adjacency matrix P has the weights of its edges: outputs that an edge joins are close (thesis, example 2.12;
    /// Evgeniou, Micchelli and Pontil 2005). μ = 0 is the identity.
    ///
    /// # Errors
    /// [`Error::Value`] unless P is square, symmetric and not negative, and μ is in [0, 1).
    pub fn laplacian(adjacency: MatRef<f64>, weight: f64) -> Result<Self, Error> {
        let holds = (0.0..1.0).contains(&weight);
        Error::ensure(holds, "mu of the Laplacian", weight, "numbers from 0, below 1")?;
        check_symmetric("the adjacency matrix", adjacency)?;
        let d = adjacency.nrows();
        let least = adjacency.col_iter().flat_map(|column| column.iter());
        let least = least.copied().fold(0.0, f64::min);
        Error::ensure(least >= 0.0, "the adjacency matrix", least, "numbers of 0 and above")?;
        let degree = |i: usize| adjacency.row(i).iter().sum::<f64>();
        let element = |i: usize, j: usize| {
            let diagonal = if i == j { weight * degree(i) + 1.0 - weight } else { 0.0 };
            diagonal - weight * adjacency[(i, j)]
        };
        let Eigen { values, vectors } = symmetric_eigen(Mat::from_fn(d, d, element).as_ref())?;
        let over = Mat::from_fn(d, d, |i, j| vectors[(i, j)] / values[j]);
        Self::new(multiply(over.as_ref(), vectors.transpose()).as_ref())
    }

    /// Returns `A M Aᵀ`, the matrix of the outputs `A y`, for a matrix A of d columns.
    ///
    /// # Errors
    /// [`Error::Shape`] for a matrix with a different number of columns; the errors of [`new`](Self::new).
    pub fn mapped(&self, matrix: MatRef<f64>) -> Result<Self, Error> {
        Error::check_length("columns of the matrix", matrix.ncols(), self.width)?;
        let product = multiply(matrix, self.dense().as_ref());
        Self::new(multiply(product.as_ref(), matrix.transpose()).as_ref())
    }

    /// Returns M itself.
    pub fn dense(&self) -> Mat<f64> {
        match &self.root {
            Some(root) => multiply(root.as_ref(), root.transpose()),
            None => Mat::identity(self.width, self.width),
        }
    }

    /// Returns orthonormal eigenvectors above rounding, d × r, and each eigenvalue with the columns that are its own.
    ///
    /// Eigenvalues that are equal up to rounding are one, the first of their group, and all of a group are compared with
    /// that first one. What is small beside the largest eigenvalue keeps its own value: the inverse of a Laplacian has
    /// eigenvalues that differ by many powers of ten.
    pub(crate) fn eigenvectors(&self) -> (Mat<f64>, Vec<(f64, Range<usize>)>) {
        let d = self.width;
        let values = &self.values;
        let Some(root) = &self.root else { return (Mat::identity(d, d), vec![(1.0, 0..d)]) };
        let vector = |i: usize, j: usize| root[(i, j)] / values[j].sqrt();
        let noise = NOISE * d as f64 * values.first().copied().unwrap_or_default();
        let mut parts: Vec<(f64, Range<usize>)> = Vec::new();
        for (column, &value) in values.iter().enumerate() {
            match parts.last_mut() {
                Some((first, columns)) if *first - value <= noise.max(SHARE * *first) => {
                    columns.end = column + 1;
                }
                Some(_) | None => parts.push((value, column..column + 1)),
            }
        }
        (Mat::from_fn(d, values.len(), vector), parts)
    }
}

fn check_symmetric(what: &str, matrix: MatRef<f64>) -> Result<(), Error> {
    let rows = matrix.nrows();
    let columns = matrix.ncols();
    Error::ensure(rows == columns, what, format_args!("{rows} × {columns}"), "a square matrix")?;
    let largest = matrix.norm_max();
    for (i, j) in (0..rows).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let a = matrix[(i, j)];
        let b = matrix[(j, i)];
        let pair = format_args!("{a} in row {i}, column {j}, and {b} in row {j}, column {i}");
        Error::ensure((a - b).abs() <= EQUAL * largest, what, pair, "a symmetric matrix")?;
    }
    Ok(())
}
