//! The targets of kernel machines: a row of numbers for each training row.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_basis::Projection;
use dsokr_basis::eigenbasis::sum_over_ranks;
use dsokr_core::processes::Held;
use dsokr_core::{Error, Processes, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::linear::{PANEL, Scalar, product};
use crate::row_groups::RowGroups;

/// Features whose sums one task computes.
const ROWS: usize = 64;

/// The targets of a kernel machine: p numbers for each of n training rows, and for each row the
/// squared distance `r(y)` to the output that no prediction reaches, and its weight in the loss.
///
/// Each of several processes that share a fit may hold the numbers of [its part](Self::held) of the rows alone.
#[derive(Clone, Debug)]
pub struct Targets {
    pub(crate) values: Values,
    pub(crate) width: usize,
    /// The rows whose coordinates are held.
    pub(crate) held: Held,
    /// r(y) of each row; empty where all are 0.
    pub(crate) residuals: Vec<f64>,
    /// w of each row.
    pub(crate) weights: RowWeights,
    /// The rows that held-out predictions leave out together.
    pub(crate) groups: RowGroups,
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// p numbers of each held row, row-major.
    Coordinates(Vec<f64>),
    /// Row i has the coordinates of one of k distinct outputs, which are k × p row-major.
    Shared { distinct: Vec<f64>, output_of: Vec<u32> },
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
        let held = Held::all(values.len() / width);
        let values = Values::Coordinates(values);
        Ok(Self {
            values,
            width,
            held,
            residuals: Vec::new(),
            weights: RowWeights::equal(),
            groups: RowGroups::alone(),
        })
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
        let values: Vec<f64> = projection.coordinates().iter().map(|&value| value.into()).collect();
        Self::new(projection.dimension(), values)?.with_residuals(projection.residuals().to_vec())
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

    /// Sets the rows that held-out predictions leave out together, for the choice of λ and for predictions of training
    /// rows. Each row is left out alone otherwise.
    ///
    /// # Errors
    /// [`Error::Shape`] for groups of a different number of rows.
    pub fn grouped(self, groups: &RowGroups) -> Result<Self, Error> {
        groups.check(self.len())?;
        Ok(Self { groups: groups.clone(), ..self })
    }

    /// Returns the rows that held-out predictions leave out together.
    pub fn groups(&self) -> &RowGroups {
        &self.groups
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

    /// Returns n, the number of rows.
    pub fn len(&self) -> usize {
        self.held.rows()
    }

    /// Returns the rows whose numbers this process holds: all, unless several processes share the fit.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns p, the numbers of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the same targets with an offset subtracted from each column.
    pub(crate) fn minus(&self, offset: &[f64]) -> Result<Self, Error> {
        self.mapped(self.width, |values| {
            let mut values = values.to_vec();
            for row in values.chunks_exact_mut(offset.len()) {
                row.iter_mut().zip(offset).for_each(|(value, offset)| *value -= offset);
            }
            values
        })
    }

    /// Returns the same targets times a matrix of p rows.
    pub(crate) fn times(&self, matrix: MatRef<f64>) -> Result<Self, Error> {
        self.mapped(matrix.ncols(), |values| times(values, matrix))
    }

    /// Returns the same targets with `width` numbers a row, which `map` gives for rows of p numbers.
    ///
    /// # Errors
    /// As [`values`](Self::values).
    pub(crate) fn mapped(
        &self,
        width: usize,
        map: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Result<Self, Error> {
        let values = match &self.values {
            Values::Coordinates(values) => Values::Coordinates(map(values)),
            Values::Shared { distinct, output_of } => {
                Values::Shared { distinct: map(distinct), output_of: output_of.clone() }
            }
            Values::Classes(_) => return Err(no_coordinates()),
        };
        let held = self.held.clone();
        let residuals = self.residuals.clone();
        let weights = self.weights.clone();
        let groups = self.groups.clone();
        Ok(Self { values, width, held, residuals, weights, groups })
    }

    /// Returns the coordinates, n × p row-major.
    ///
    /// # Errors
    /// [`Error::Value`] for classes, which have no coordinates; [`Error::Unsupported`] where this process holds those of
    /// some rows alone.
    pub fn values(&self) -> Result<Cow<'_, [f64]>, Error> {
        self.held.check("targets", &(0..self.len()))?;
        match &self.values {
            Values::Coordinates(values) => Ok(Cow::Borrowed(values)),
            Values::Shared { distinct, output_of } => {
                let p = self.width;
                let rows = output_of.iter().map(|&output| output as usize * p);
                Ok(Cow::Owned(
                    rows.flat_map(|start| &distinct[start..start + p]).copied().collect(),
                ))
            }
            Values::Classes(_) => Err(no_coordinates()),
        }
    }

    /// Computes `r(y)` of a row.
    pub fn residual(&self, row: usize) -> f64 {
        self.residuals.get(row).copied().unwrap_or(0.0)
    }

    /// Returns the places of some rows among those whose coordinates are held. Fits check that they are.
    fn place(&self, rows: &Range<usize>) -> Range<usize> {
        self.held.place(rows).expect("a fit reads the rows that its process holds")
    }

    /// Returns the targets of some held rows, rows × p.
    pub(crate) fn dense<T: Scalar>(&self, rows: Range<usize>) -> Mat<T> {
        let n = rows.len();
        let p = self.width;
        match &self.values {
            Values::Coordinates(values) => {
                let held = self.place(&rows);
                let values = &values[held.start * p..held.end * p];
                Mat::from_fn(n, p, |i, j| T::from_f64(values[i * p + j]))
            }
            Values::Shared { distinct, output_of } => {
                let outputs = &output_of[rows];
                Mat::from_fn(n, p, |i, j| T::from_f64(distinct[outputs[i] as usize * p + j]))
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

    /// Returns √w of some rows, and `W^½ Ψ`, rows × p.
    pub(crate) fn weighted_block(&self, rows: Range<usize>) -> (Vec<f64>, Mat<f64>) {
        let roots: Vec<f64> = rows.clone().map(|row| self.weights.get(row).sqrt()).collect();
        let mut dense = self.dense::<f64>(rows);
        for column in dense.col_iter_mut() {
            column.iter_mut().zip(&roots).for_each(|(value, root)| *value *= root);
        }
        (roots, dense)
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
        let held = self.held.select(rows);
        let values = match &self.values {
            Values::Coordinates(values) => {
                let places = held.ranges().iter().flat_map(|range| &rows[range.clone()]);
                let places = places.map(|&row| self.place(&(row..row + 1)).start);
                let rows = places.flat_map(|place| &values[place * p..(place + 1) * p]);
                Values::Coordinates(rows.copied().collect())
            }
            Values::Shared { distinct, output_of } => {
                let output_of = rows.iter().map(|&row| output_of[row]).collect();
                Values::Shared { distinct: distinct.clone(), output_of }
            }
            Values::Classes(classes) => {
                Values::Classes(rows.iter().map(|&row| classes[row]).collect())
            }
        };
        let residuals = rows.iter().filter_map(|&row| self.residuals.get(row).copied()).collect();
        let weights = self.weights.select(rows);
        let groups = self.groups.select(rows);
        Ok(Self { values, width: p, held, residuals, weights, groups })
    }
}

/// `T W Ψ` of features T and targets Ψ with weights W, m × p, summed over blocks of rows.
pub(crate) struct SideSums<'t> {
    targets: &'t Targets,
    /// m × p; of outputs that rows share m × k, a column for each output.
    sums: Mat<f64>,
}

impl<'t> SideSums<'t> {
    /// Begins without rows, of m features.
    pub(crate) fn new(targets: &'t Targets, features: usize) -> Self {
        let columns = match &targets.values {
            Values::Coordinates(_) | Values::Classes(_) => targets.width,
            Values::Shared { distinct, .. } => distinct.len() / targets.width,
        };
        Self { targets, sums: Mat::zeros(features, columns) }
    }

    /// Adds some rows; `features` is `T W^½`, m × rows.
    pub(crate) fn add(&mut self, rows: Range<usize>, features: MatRef<f64>) {
        let targets = self.targets;
        match &targets.values {
            Values::Coordinates(values) => {
                let held = targets.place(&rows);
                let values = &values[held.start * targets.width..held.end * targets.width];
                let columns = MatRef::from_column_major_slice(values, targets.width, rows.len());
                if targets.weights.is_equal() {
                    product(self.sums.as_mut(), Accum::Add, features, columns.transpose(), ROWS);
                    return;
                }
                let mut columns = columns.to_owned();
                targets.weigh(rows, &mut columns);
                product(self.sums.as_mut(), Accum::Add, features, columns.transpose(), ROWS);
            }
            Values::Classes(columns) | Values::Shared { output_of: columns, .. } => {
                // some of the features in a task, which adds up the rows in their order
                self.sums.par_row_chunks_mut(PANEL).enumerate().for_each(|(task, mut sums)| {
                    let features = features.subrows(task * PANEL, sums.nrows());
                    for (row, feature) in rows.clone().zip(features.col_iter()) {
                        let root = targets.weights.get(row).sqrt();
                        let sum = sums.as_mut().col_mut(columns[row] as usize);
                        sum.iter_mut()
                            .zip(feature.iter())
                            .for_each(|(sum, value)| *sum += root * value);
                    }
                });
            }
        }
    }

    /// Returns the sums over the rows of all ranks.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that has ended.
    pub(crate) fn of_all_ranks(self, processes: &Processes) -> Result<Mat<f64>, Error> {
        let mut sums = match &self.targets.values {
            Values::Coordinates(_) | Values::Classes(_) => self.sums,
            Values::Shared { distinct, .. } => {
                let outputs = self.sums.ncols();
                let distinct = MatRef::from_row_major_slice(distinct, outputs, self.targets.width);
                let mut sums = Mat::zeros(self.sums.nrows(), distinct.ncols());
                product(sums.as_mut(), Accum::Replace, self.sums.as_ref(), distinct, ROWS);
                sums
            }
        };
        sum_over_ranks(processes, &mut sums)?;
        Ok(sums)
    }
}

/// Returns rows of p numbers times a matrix of p rows, row-major.
pub(crate) fn times(values: &[f64], matrix: MatRef<f64>) -> Vec<f64> {
    let p = matrix.nrows();
    let q = matrix.ncols();
    let mut out = vec![0.0; values.len() / p * q];
    let parts = out.par_chunks_mut(PANEL * q).zip(values.par_chunks(PANEL * p));
    parts.for_each(|(out, values)| {
        let rows = values.len() / p;
        let out = MatMut::from_row_major_slice_mut(out, rows, q);
        let values = MatRef::from_row_major_slice(values, rows, p);
        matmul(out, Accum::Replace, values, matrix, 1.0, Par::Seq);
    });
    out
}

/// Returns the error for targets that have no coordinates.
fn no_coordinates() -> Error {
    let allowed = "a basis: losses are those of coordinates in it";
    Error::value("the output space", "the training outputs", allowed)
}

/// The largest λ: the squares of λ Σ w, from which the condition of a system is computed, are finite.
pub const LARGEST_LAMBDA: f64 = 1e100;

/// Refuses λ unless it is a number above 0, at most [`LARGEST_LAMBDA`].
pub(crate) fn check_lambda(lambda: f64) -> Result<(), Error> {
    let holds = lambda > 0.0 && lambda <= LARGEST_LAMBDA;
    Error::ensure(holds, "lambda", lambda, "numbers above 0, at most 1e100")
}

/// Checks λ, and that there is a row of targets for each of n rows.
pub(crate) fn check_sizes(n: usize, targets: &Targets, lambda: f64) -> Result<(), Error> {
    check_lambda(lambda)?;
    if n == 0 {
        return Err(Error::no_rows());
    }
    Error::check_length("rows of targets", targets.len(), n)
}

/// Checks [the sizes](check_sizes), and that this process holds all targets.
pub(crate) fn check(n: usize, targets: &Targets, lambda: f64) -> Result<(), Error> {
    check_sizes(n, targets, lambda)?;
    targets.held.check("targets", &(0..n))
}

/// Checks [the sizes](check_sizes), and that this process holds the targets of its part of the rows.
pub(crate) fn check_shared(
    processes: &Processes,
    n: usize,
    targets: &Targets,
    lambda: f64,
) -> Result<(), Error> {
    check_sizes(n, targets, lambda)?;
    targets.held.check("targets", &processes.part(n))
}
