//! The output matrix of a decomposable kernel, learned with the ridge regression.

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use dsokr_core::Error;
use faer::{Mat, MatRef, Scale};

use super::spectrum::Spectrum;
use crate::output_matrix::OutputMatrix;
use crate::targets::check_lambda;

/// The objective is within this share of the targets' squared length of its minimum, by a duality gap.
const GAP: f64 = 1e-8;

/// Steps of block coordinate descent, which are few where no eigenvalue of M vanishes.
const DESCENT: usize = 50;

/// Steps after which the search ends in any case.
const STEPS: usize = 3000;

/// A step of least squares that gains no more than this share of the targets' squared length is the last one.
const GAIN: f64 = 1e-10;

/// Eigenvalues of M up to this share of the largest one are 0.
const VANISHING: f64 = 1e-6;

impl Spectrum {
    /// Returns M of a decomposable kernel `k(x, x') M` for which the ridge regression has the least
    /// `Σ_i w_i ‖f(x_i) − ψ_i‖² / Σ_i w_i + λ (‖f‖² + tr M)`, of rank at most `rank`; none where λ is so large that M =
    /// 0 is best (thesis, (2.133), whose λ is nλ here; Dinuzzo and Fukumizu 2011).
    ///
    /// Block coordinate descent: f for an M is a ridge regression for each of its eigenvalues, and M for an f with the
    /// coefficients C is `(Cᵀ K C)^½`. The objective is `‖Ψ − K^½ W‖²/n + 2λ‖W‖_*` with the nuclear norm of
    /// `W = K^½ C`, which is convex, and whose dual bounds how far it is from its minimum. Where eigenvalues of M
    /// vanish, which the descent reaches slowly, accelerated proximal gradient steps on W follow (Beck and Teboulle
    /// 2009). A step takes 4 r p² + p³ multiplications.
    ///
    /// Under a rank the objective is not convex. The search starts from the best M among the leading eigenvectors of the
    /// one of any rank. Least squares for each of the factors of `W = A Lᵀ` in turn lower it until it falls no further.
    ///
    /// # Errors
    /// [`Error::Value`] for a λ that is not above 0, and a rank of 0 or above p.
    pub fn output_matrix(
        &self,
        lambda: f64,
        rank: Option<usize>,
    ) -> Result<Option<OutputMatrix>, Error> {
        check_lambda(lambda)?;
        let width = self.turned.ncols();
        let turned = self.turned.as_ref();
        let rank = rank.unwrap_or(width);
        Error::check_range("the rank of the output matrix", rank, 1..=width)?;
        let ridge = self.total_weight * lambda;
        if singular(&self.scaled(turned))?.values[0] <= ridge {
            return Ok(None);
        }
        let Eigen { mut values, mut vectors } = self.descend(turned, ridge)?;
        if rank < width {
            let leading = vectors.subcols(0, rank).to_owned();
            let among = self.descend(multiply(turned, leading.as_ref()).as_ref(), ridge)?;
            let directions = multiply(leading.as_ref(), among.vectors.as_ref());
            let start = Eigen { values: among.values, vectors: directions };
            Eigen { values, vectors } = self.alternate(turned, start, ridge)?;
        }
        let least = VANISHING * values[0];
        values.truncate(values.partition_point(|&value| value > least));
        let root = Mat::from_fn(width, values.len(), |i, j| vectors[(i, j)] * values[j].sqrt());
        Ok(Some(OutputMatrix { width, root: Some(root), values }))
    }

    /// Returns the eigenvalues and eigenvectors of the best M for targets `UᵀΨ`.
    fn descend(&self, turned: MatRef<f64>, ridge: f64) -> Result<Eigen, Error> {
        let total = turned.squared_norm_l2();
        let width = turned.ncols();
        let scale = (total / self.values.iter().sum::<f64>()).sqrt();
        let mut matrix = Eigen { values: vec![scale; width], vectors: Mat::identity(width, width) };
        let mut solution = Mat::zeros(turned.nrows(), width);
        let mut ahead = solution.clone();
        let mut bound = 0.0f64;
        let mut momentum = 1.0f64;
        for step in 0..STEPS {
            let next = if step < DESCENT {
                self.ridge_step(turned, &matrix, ridge)
            } else {
                self.proximal_step(turned, &ahead, ridge)?
            };
            matrix = singular(&next)?;
            let residuals = turned - self.scaled(next.as_ref());
            let left = residuals.squared_norm_l2();
            let objective = left + 2.0 * ridge * matrix.values.iter().sum::<f64>();
            // residuals that are feasible for the dual
            let share = (ridge / singular(&self.scaled(residuals.as_ref()))?.values[0]).min(1.0);
            bound = bound.max(2.0 * share * inner(turned, &residuals) - share * share * left);
            if objective - bound <= GAP * total {
                break;
            }
            let change = &next - &solution;
            let before = if step < DESCENT || inner((&ahead - &next).as_ref(), &change) > 0.0 {
                1.0
            } else {
                momentum
            };
            momentum = (1.0 + (1.0 + 4.0 * before * before).sqrt()) / 2.0;
            ahead = &next + change * Scale((before - 1.0) / momentum);
            solution = next;
        }
        Ok(matrix)
    }

    /// Returns the eigenvalues and eigenvectors of an M of the rank of another, from which the objective falls by least
    /// squares for A and L of `W = A Lᵀ` in turn: `2 ‖W‖_*` is the least `‖A‖² + ‖L‖²`.
    fn alternate(&self, turned: MatRef<f64>, start: Eigen, ridge: f64) -> Result<Eigen, Error> {
        let total = turned.squared_norm_l2();
        let rank = start.values.len();
        let mut matrix = start;
        let mut before = f64::INFINITY;
        for _ in 0..STEPS {
            let Eigen { values, vectors } = &matrix;
            // A for L, the eigenvectors times the roots of the eigenvalues
            let rotated = multiply(turned, vectors.as_ref());
            let share =
                |i: usize, j: usize| values[j].sqrt() / (self.values[i] * values[j] + ridge);
            let filtered =
                Mat::from_fn(rotated.nrows(), rank, |i, j| rotated[(i, j)] * share(i, j));
            let left = self.scaled(filtered.as_ref());
            // L for A, by the eigenvectors of Aᵀ S A
            let fitted = self.scaled(left.as_ref());
            let Eigen { values: squares, vectors: turn } =
                symmetric_eigen(multiply(fitted.transpose(), fitted.as_ref()).as_ref())?;
            let sides =
                multiply(turned.transpose(), multiply(fitted.as_ref(), turn.as_ref()).as_ref());
            let solved = Mat::from_fn(sides.nrows(), rank, |i, j| {
                sides[(i, j)] / (squares[j].max(0.0) + ridge)
            });
            let turned_back = multiply(left.as_ref(), turn.as_ref());
            let next = multiply(turned_back.as_ref(), solved.transpose());
            let Eigen { mut values, vectors } = singular(&next)?;
            values.truncate(rank);
            let residual = (turned - self.scaled(next.as_ref())).squared_norm_l2();
            let objective = residual + 2.0 * ridge * values.iter().sum::<f64>();
            matrix = Eigen { values, vectors: vectors.subcols(0, rank).to_owned() };
            if before - objective <= GAIN * total {
                break;
            }
            before = objective;
        }
        Ok(matrix)
    }

    /// Returns `S^½ C` of the ridge regression for an M.
    fn ridge_step(&self, turned: MatRef<f64>, matrix: &Eigen, ridge: f64) -> Mat<f64> {
        let Eigen { values, vectors } = matrix;
        let rotated = multiply(turned, vectors.as_ref());
        let share = |i: usize, j: usize| values[j] / (self.values[i] * values[j] + ridge);
        let filtered =
            Mat::from_fn(rotated.nrows(), rotated.ncols(), |i, j| rotated[(i, j)] * share(i, j));
        multiply(self.scaled(filtered.as_ref()).as_ref(), vectors.transpose())
    }

    /// Returns W after a step down the squared error, with its singular values shrunk.
    fn proximal_step(
        &self,
        turned: MatRef<f64>,
        ahead: &Mat<f64>,
        ridge: f64,
    ) -> Result<Mat<f64>, Error> {
        let residuals = turned - self.scaled(ahead.as_ref());
        let largest = self.values[0];
        let moved = ahead + self.scaled(residuals.as_ref()) * Scale(1.0 / largest);
        let Eigen { values, vectors } = singular(&moved)?;
        let factor = |value: f64| (1.0 - ridge / (largest * value)).max(0.0);
        let shrunk = |i: usize, j: usize| vectors[(i, j)] * factor(values[j]);
        let shrunk = Mat::from_fn(vectors.nrows(), vectors.ncols(), shrunk);
        let shrunk = multiply(shrunk.as_ref(), vectors.transpose());
        Ok(multiply(moved.as_ref(), shrunk.as_ref()))
    }

    /// Returns `S^½` times a matrix of r rows.
    fn scaled(&self, matrix: MatRef<f64>) -> Mat<f64> {
        let element = |i: usize, j: usize| self.values[i].sqrt() * matrix[(i, j)];
        Mat::from_fn(matrix.nrows(), matrix.ncols(), element)
    }
}

/// Returns the sum of the products of elements.
fn inner(a: MatRef<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| a.col(j).transpose() * b.col(j)).sum()
}

/// Returns singular values, descending, and right singular vectors.
fn singular(matrix: &Mat<f64>) -> Result<Eigen, Error> {
    let product = multiply(matrix.transpose(), matrix.as_ref());
    let Eigen { values, vectors } = symmetric_eigen(product.as_ref())?;
    let values = values.into_iter().map(|value| value.max(0.0).sqrt()).collect();
    Ok(Eigen { values, vectors })
}
