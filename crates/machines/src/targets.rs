use std::ops::Range;

use dsokr_basis::Projection;
use dsokr_basis::eigenbasis::multiply;
use dsokr_core::{Error, RowWeights};
use faer::{Accum, Mat, MatRef};

use crate::linear::{PANEL, Scalar, product};

/// The targets of a kernel machine: p numbers for each of n training rows, and for each row the
/// squared distance `r(y)` to the output that no prediction reaches, and its weight in the loss.
#[derive(Clone, Debug)]
pub struct Targets {
    pub(crate) values: Values,
    pub(crate) width: usize,
    /// r(y) of each row; empty where all are 0.
    pub(crate) residuals: Vec<f64>,
    /// w of each row.
    pub(crate) weights: RowWeights,
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// n × p row-major.
    Coordinates(Vec<f64>),
    /// Row i has a 1 in the column of its class.
    Classes(Vec<u32>),
}

impl Targets {
    /// Creates targets of `width` numbers a row, row-major.
    ///
    /// # Errors
    /// [`Error::Value`] for a width of 0 or no rows; [`Error::Shape`] for values that are not whole
    /// rows; [`Error::NotFinite`].
    pub fn new(width: usize, values: impl Into<Vec<f64>>) -> Result<Self, Error> {
        let values = values.into();
        Error::check_count("numbers of a target", width)?;
        Error::check_count("rows of targets", values.len())?;
        let expected = values.len().next_multiple_of(width);
        Error::check_length("target values", values.len(), expected)?;
        Error::check_finite("targets", width, &values)?;
        let values = Values::Coordinates(values);
        Ok(Self { values, width, residuals: Vec::new(), weights: RowWeights::equal() })
    }

    /// Creates one number a row, that each of `width` outputs estimates: quantiles of one variable.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn repeated(width: usize, values: &[f64]) -> Result<Self, Error> {
        Error::check_finite("targets", 1, values)?;
        let repeated = values.iter().flat_map(|&value| std::iter::repeat_n(value, width));
        Self::new(width, repeated.collect::<Vec<f64>>())
    }

    /// Creates coordinates of outputs in a basis, with the part of each that lies outside of it (thesis,
    /// equation 5.16).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new) and [`with_residuals`](Self::with_residuals).
    pub fn from_projection(projection: &Projection) -> Result<Self, Error> {
        let values: Vec<f64> = projection.coordinates.iter().map(|&value| value.into()).collect();
        Self::new(projection.dimension, values)?.with_residuals(projection.residuals.clone())
    }

    /// Returns the same targets with `r(y)` of each row, which losses of a distance add to it; 0 otherwise.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one a row, [`Error::Value`] for one that is negative or not
    /// finite.
    pub fn with_residuals(mut self, residuals: Vec<f64>) -> Result<Self, Error> {
        Error::check_length("residuals", residuals.len(), self.len())?;
        for (row, &value) in residuals.iter().enumerate() {
            let key = format_args!("the residual of row {row}");
            let holds = value >= 0.0 && value.is_finite();
            Error::ensure(holds, key, value, "finite numbers, 0 and above")?;
        }
        self.residuals = residuals;
        Ok(self)
    }

    /// Returns the same targets with a weight w of each row: a loss is then the weighted mean
    /// `Σ_i w_i ℓ(ĥ(x_i), ψ_i) / Σ_i w_i`, so that a row of weight 2 is a row twice. All weights are 1 otherwise, and
    /// where none are given.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one a row, or none; [`Error::Value`] for one that is not finite and above 0.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self, Error> {
        self.weighted(&RowWeights::new(weights)?)
    }

    /// Sets weights like [`with_weights`](Self::with_weights), where they have been checked.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one a row, or none.
    pub fn weighted(self, weights: &RowWeights) -> Result<Self, Error> {
        weights.check(self.len())?;
        Ok(Self { weights: weights.clone(), ..self })
    }

    /// Returns the weights of the rows.
    pub fn weights(&self) -> &RowWeights {
        &self.weights
    }

    /// Computes `Σ_i w_i` over the rows, n where all weights are 1.
    pub(crate) fn total_weight(&self) -> f64 {
        self.weights.total(self.len())
    }

    /// Multiplies each column by √w of its row, of those in `range`; nothing where all weights are 1.
    pub(crate) fn weigh(&self, range: Range<usize>, columns: &mut Mat<f64>) {
        let Some(roots) = self.weights.roots(range) else { return };
        for (column, root) in columns.col_iter_mut().zip(roots) {
            column.iter_mut().for_each(|value| *value *= root);
        }
    }

    /// n, the number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Coordinates(values) => values.len() / self.width,
            Values::Classes(classes) => classes.len(),
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// p, the numbers of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the same targets with an offset subtracted from each column.
    pub(crate) fn minus(&self, offset: &[f64]) -> Result<Self, Error> {
        let mut values = self.values()?.to_vec();
        for row in values.chunks_exact_mut(self.width) {
            row.iter_mut().zip(offset).for_each(|(value, offset)| *value -= offset);
        }
        Ok(Self { values: Values::Coordinates(values), ..self.clone() })
    }

    /// Returns the same targets times a matrix of p rows.
    pub(crate) fn times(&self, matrix: MatRef<f64>) -> Result<Self, Error> {
        let rows = MatRef::from_row_major_slice(self.values()?, self.len(), self.width);
        let product = multiply(rows, matrix);
        let values = product.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
        let values = Values::Coordinates(values.collect());
        Ok(Self { values, width: matrix.ncols(), ..self.clone() })
    }

    /// Returns the coordinates, n × p row-major.
    ///
    /// # Errors
    /// [`Error::Value`] for classes, which have no coordinates.
    pub fn values(&self) -> Result<&[f64], Error> {
        match &self.values {
            Values::Coordinates(values) => Ok(values),
            Values::Classes(_) => {
                let allowed = "a basis: losses are those of coordinates in it";
                Err(Error::value("the output space", "the training outputs", allowed))
            }
        }
    }

    /// Computes `r(y)` of a row.
    pub fn residual(&self, row: usize) -> f64 {
        self.residuals.get(row).copied().unwrap_or(0.0)
    }

    /// Returns the targets of some rows, rows × p.
    pub(crate) fn dense<T: Scalar>(&self, rows: Range<usize>) -> Mat<T> {
        let n = rows.len();
        let p = self.width;
        match &self.values {
            Values::Coordinates(values) => {
                let values = &values[rows.start * p..rows.end * p];
                Mat::from_fn(n, p, |i, j| T::from_f64(values[i * p + j]))
            }
            Values::Classes(classes) => {
                let mut dense = Mat::zeros(n, p);
                for (row, &class) in classes[rows].iter().enumerate() {
                    dense[(row, class as usize)] = T::from_f64(1.0);
                }
                dense
            }
        }
    }

    /// Adds `T W Ψ` of some rows to m × p sums; `features` is `T W^½`, m × rows.
    pub(crate) fn add_products(
        &self,
        rows: Range<usize>,
        features: MatRef<f64>,
        sums: &mut Mat<f64>,
    ) {
        match &self.values {
            Values::Coordinates(values) => {
                let values = &values[rows.start * self.width..rows.end * self.width];
                let columns = MatRef::from_column_major_slice(values, self.width, rows.len());
                if self.weights.is_equal() {
                    product(sums.as_mut(), Accum::Add, features, columns.transpose(), PANEL);
                    return;
                }
                let mut columns = columns.to_owned();
                self.weigh(rows, &mut columns);
                product(sums.as_mut(), Accum::Add, features, columns.transpose(), PANEL);
            }
            Values::Classes(classes) => {
                for (row, column) in rows.zip(features.col_iter()) {
                    let root = self.weights.get(row).sqrt();
                    let sum = sums.col_mut(classes[row] as usize);
                    sum.iter_mut().zip(column.iter()).for_each(|(sum, value)| *sum += root * value);
                }
            }
        }
    }

    /// Returns some of the rows, in the order given; an index may be repeated.
    ///
    /// # Errors
    /// [`Error::Value`] for a row beyond the last one.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let len = self.len();
        let p = self.width;
        for &row in rows {
            Error::check_range("row", row, 0..=len.saturating_sub(1))?;
        }
        let values = match &self.values {
            Values::Coordinates(values) => {
                let rows = rows.iter().flat_map(|row| &values[row * p..(row + 1) * p]);
                Values::Coordinates(rows.copied().collect())
            }
            Values::Classes(classes) => {
                Values::Classes(rows.iter().map(|&row| classes[row]).collect())
            }
        };
        let residuals = rows.iter().filter_map(|&row| self.residuals.get(row).copied()).collect();
        Ok(Self { values, width: p, residuals, weights: self.weights.select(rows) })
    }
}

/// The largest λ: the squares of λ Σ w, from which the condition of a system is computed, are finite.
pub const LARGEST_LAMBDA: f64 = 1e100;

/// Refuses λ unless it is a number above 0, at most [`LARGEST_LAMBDA`].
pub(crate) fn check_lambda(lambda: f64) -> Result<(), Error> {
    let holds = lambda > 0.0 && lambda <= LARGEST_LAMBDA;
    Error::ensure(holds, "lambda", lambda, "numbers above 0, at most 1e100")
}

/// Checks λ, and that there is a row of targets for each of n rows.
pub(crate) fn check(n: usize, targets: &Targets, lambda: f64) -> Result<(), Error> {
    check_lambda(lambda)?;
    if n == 0 {
        return Err(Error::no_rows());
    }
    Error::check_length("rows of targets", targets.len(), n)
}
