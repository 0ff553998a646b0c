//! What a machine is fitted to.

use crate::lipschitz::{Error, Loss};

/// n rows of d target numbers, and the part of each that no prediction reaches.
#[derive(Clone, Debug)]
pub struct Targets {
    width: usize,
    values: Vec<f64>,
    residuals: Vec<f64>,
}

impl Targets {
    /// n × d numbers, row-major: several outputs of each input.
    ///
    /// # Errors
    /// [`Error::Range`] for d = 0 or no rows, [`Error::Length`] for values that are not whole rows,
    /// [`Error::NotFinite`].
    pub fn new(width: usize, values: Vec<f64>) -> Result<Self, Error> {
        if width == 0 {
            return Err(Error::Range { what: "outputs", found: 0, low: 1, high: usize::MAX });
        }
        if values.is_empty() {
            return Err(Error::Range { what: "rows", found: 0, low: 1, high: usize::MAX });
        }
        if !values.len().is_multiple_of(width) {
            let expected = values.len().next_multiple_of(width);
            return Err(Error::Length { what: "target values", found: values.len(), expected });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column) = (at / width, at % width);
            return Err(Error::NotFinite { what: "targets", row, column, value: values[at] });
        }
        let residuals = vec![0.0; values.len() / width];
        Ok(Self { width, values, residuals })
    }

    /// One number a row, that each of `width` outputs estimates: quantiles of one variable.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn repeated(width: usize, values: &[f64]) -> Result<Self, Error> {
        let repeated = values.iter().flat_map(|&value| std::iter::repeat_n(value, width)).collect();
        Self::new(width, repeated).map_err(|error| match error {
            Error::NotFinite { what, row, value, .. } => {
                Error::NotFinite { what, row, column: 0, value }
            }
            other => other,
        })
    }

    /// Coordinates of outputs in a basis, with what lies outside of it: the targets of IOKR with robust
    /// losses (thesis, equation 5.16).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn projected(projection: &dsokr_basis::Projection) -> Result<Self, Error> {
        let values = projection.coordinates.iter().map(|&value| value.into()).collect();
        Self::new(projection.rank, values)?.with_residuals(projection.residuals.clone())
    }

    /// The same targets with `r(y)` of each row, see [`Loss`]; 0 otherwise.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one a row, [`Error::Residual`] for one that is negative or not
    /// finite.
    pub fn with_residuals(mut self, residuals: Vec<f64>) -> Result<Self, Error> {
        let (found, expected) = (residuals.len(), self.len());
        if found != expected {
            return Err(Error::Length { what: "residuals", found, expected });
        }
        let bad = |value: &f64| !(*value >= 0.0 && value.is_finite());
        if let Some(row) = residuals.iter().position(bad) {
            return Err(Error::Residual { row, value: residuals[row] });
        }
        self.residuals = residuals;
        Ok(self)
    }

    /// n, the number of rows.
    pub fn len(&self) -> usize {
        self.residuals.len()
    }

    /// Whether there are no rows; there always is one.
    pub fn is_empty(&self) -> bool {
        self.residuals.is_empty()
    }

    /// d, the number of outputs.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All numbers, n × d row-major.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// `r(y)` of each row.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// The targets less an offset for each output.
    pub(crate) fn less(&self, offset: &[f64]) -> Self {
        let mut less = self.clone();
        for row in less.values.chunks_exact_mut(self.width) {
            row.iter_mut().zip(offset).for_each(|(value, offset)| *value -= offset);
        }
        less
    }
}

/// The constant b that a machine `f(x) = b + h(x)` starts from; it is not regularised, nor fitted further.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
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
    pub(crate) fn of(self, loss: &Loss, targets: &Targets) -> Vec<f64> {
        let (n, d) = (targets.len(), targets.width);
        let column = |j: usize| targets.values.iter().skip(j).step_by(d).copied();
        (0..d)
            .map(|j| match (self, loss) {
                (Self::Zero, _) => 0.0,
                (Self::Constant, Loss::Square) => column(j).sum::<f64>() / n as f64,
                (Self::Constant, Loss::Pinball { levels }) => quantile(column(j), levels[j]),
                (Self::Constant, _) => quantile(column(j), 0.5),
            })
            .collect()
    }
}

/// The τ-quantile `inf {z : F(z) ≥ τ}` of the empirical distribution F.
fn quantile(values: impl Iterator<Item = f64>, level: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = (level * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}
