use std::ops::Range;

use dsokr_basis::Projection;
use dsokr_basis::eigenbasis::multiply;
use faer::{Accum, Mat, MatRef};

use crate::Error;
use crate::linear::{PANEL, Scalar, product};

/// The targets of a kernel machine: p numbers for each of n training rows, and for each row the
/// squared distance `r(y)` to the output that no prediction reaches, and its weight in the loss.
#[derive(Clone, Debug)]
pub struct Targets {
    pub(crate) values: Values,
    pub(crate) width: usize,
    /// r(y) of each row; empty where all are 0.
    pub(crate) residuals: Vec<f64>,
    /// w of each row; empty where all are 1.
    pub(crate) weights: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// n × p row-major.
    Coordinates(Vec<f64>),
    /// Row i has a 1 in the column of its class.
    Classes(Vec<u32>),
}

impl Targets {
    /// Targets of `width` numbers a row, row-major.
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
        let (residuals, weights) = (Vec::new(), Vec::new());
        Ok(Self { values: Values::Coordinates(values), width, residuals, weights })
    }

    /// One number a row, that each of `width` outputs estimates: quantiles of one variable.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn repeated(width: usize, values: &[f64]) -> Result<Self, Error> {
        Error::check_finite("targets", 1, values)?;
        let repeated = values.iter().flat_map(|&value| std::iter::repeat_n(value, width));
        Self::new(width, repeated.collect::<Vec<f64>>())
    }

    /// Coordinates of outputs in a basis, with the part of each that lies outside of it (thesis,
    /// equation 5.16).
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`with_residuals`](Self::with_residuals).
    pub fn from_projection(projection: &Projection) -> Result<Self, Error> {
        let values: Vec<f64> = projection.coordinates.iter().map(|&value| value.into()).collect();
        Self::new(projection.dimension, values)?.with_residuals(projection.residuals.clone())
    }

    /// The same targets with `r(y)` of each row, which losses of a distance add to it; 0 otherwise.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one a row, [`Error::Value`] for one that is negative or not
    /// finite.
    pub fn with_residuals(mut self, residuals: Vec<f64>) -> Result<Self, Error> {
        Error::check_length("residuals", residuals.len(), self.len())?;
        for (row, &value) in residuals.iter().enumerate() {
            let (key, holds) =
                (format_args!("the residual of row {row}"), value >= 0.0 && value.is_finite());
            Error::ensure(holds, key, value, "finite numbers, 0 and above")?;
        }
        self.residuals = residuals;
        Ok(self)
    }

    /// The same targets with a weight w of each row: a ridge regression is then the least of
    /// `(1/n) Σ_i w_i ‖ĥ(x_i) − ψ_i‖² + λ ‖ĥ‖²`. All weights are 1 otherwise, and where none are given.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one a row, or none; [`Error::Value`] for one that is not finite and above 0.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self, Error> {
        if !weights.is_empty() {
            Error::check_length("weights", weights.len(), self.len())?;
        }
        for (row, &value) in weights.iter().enumerate() {
            let (key, holds) =
                (format_args!("the weight of row {row}"), value > 0.0 && value.is_finite());
            Error::ensure(holds, key, value, "finite numbers above 0")?;
        }
        self.weights = weights.to_vec();
        Ok(self)
    }

    /// Multiplies each column by √w of its row, of those in `range`; nothing where all weights are 1.
    pub(crate) fn weigh(&self, range: Range<usize>, columns: &mut Mat<f64>) {
        for (column, weight) in columns.col_iter_mut().zip(self.weights.get(range).unwrap_or(&[])) {
            let root = weight.sqrt();
            column.iter_mut().for_each(|value| *value *= root);
        }
    }

    /// √w of a row.
    pub(crate) fn root_weight(&self, row: usize) -> f64 {
        self.weights.get(row).map_or(1.0, |weight| weight.sqrt())
    }

    /// Refuses weights where a solver has none.
    pub(crate) fn check_unweighted(&self, solver: &str) -> Result<(), Error> {
        let allowed = "absent: only the solvers closed-form, sketched and averaged weigh rows";
        let found = format!("given for the solver {solver}");
        Error::ensure(self.weights.is_empty(), "weights of rows", found, allowed)
    }

    /// n, the number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Coordinates(values) => values.len() / self.width,
            Values::Classes(classes) => classes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// p, the numbers of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The same targets with an offset subtracted from each column.
    pub(crate) fn minus(&self, offset: &[f64]) -> Result<Self, Error> {
        let mut values = self.values()?.to_vec();
        for row in values.chunks_exact_mut(self.width) {
            row.iter_mut().zip(offset).for_each(|(value, offset)| *value -= offset);
        }
        Ok(Self { values: Values::Coordinates(values), ..self.clone() })
    }

    /// The same targets times a matrix of p rows.
    pub(crate) fn times(&self, matrix: MatRef<f64>) -> Result<Self, Error> {
        let rows = MatRef::from_row_major_slice(self.values()?, self.len(), self.width);
        let product = multiply(rows, matrix);
        let values = product.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
        let values = Values::Coordinates(values.collect());
        Ok(Self { values, width: matrix.ncols(), ..self.clone() })
    }

    /// The coordinates, n × p row-major.
    ///
    /// # Errors
    /// [`Error::Value`] for classes, whose distances are not those of coordinates.
    pub fn values(&self) -> Result<&[f64], Error> {
        match &self.values {
            Values::Coordinates(values) => Ok(values),
            Values::Classes(_) => {
                let allowed = "a basis: losses are those of coordinates in it";
                Err(Error::value("the output space", "the training outputs", allowed))
            }
        }
    }

    /// `r(y)` of a row.
    pub fn residual(&self, row: usize) -> f64 {
        self.residuals.get(row).copied().unwrap_or(0.0)
    }

    /// The targets of some rows, rows × p.
    pub(crate) fn dense<T: Scalar>(&self, rows: Range<usize>) -> Mat<T> {
        let (n, p) = (rows.len(), self.width);
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

    /// Adds `T Ψ` of some rows to m × p sums; `features` is T, m × rows.
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
                product(sums.as_mut(), Accum::Add, features, columns.transpose(), PANEL);
            }
            Values::Classes(classes) => {
                for (column, &class) in features.col_iter().zip(&classes[rows]) {
                    let sum = sums.col_mut(class as usize);
                    sum.iter_mut().zip(column.iter()).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }

    /// Some of the rows, in the order given; an index may be repeated.
    ///
    /// # Errors
    /// [`Error::Value`] for a row beyond the last one.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let (len, p) = (self.len(), self.width);
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
        let some =
            |all: &[f64]| rows.iter().filter_map(|&row| all.get(row).copied()).collect::<Vec<_>>();
        let (residuals, weights) = (some(&self.residuals), some(&self.weights));
        Ok(Self { values, width: p, residuals, weights })
    }
}

/// The largest λ: the squares of nλ, from which the condition of a system is computed, are finite.
pub const LARGEST_LAMBDA: f64 = 1e100;

/// Unless λ is a number above 0, at most [`LARGEST_LAMBDA`].
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
