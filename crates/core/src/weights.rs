use std::ops::Range;

use crate::error::Error;

/// The weight of each of some rows. A row of weight 2 counts as two equal rows.
///
/// ```
/// use dsokr_core::RowWeights;
///
/// let weights = RowWeights::new(&[2.0, 0.5])?;
/// assert_eq!((weights.get(0), weights.total(2)), (2.0, 2.5));
/// assert_eq!(RowWeights::equal().total(2), 2.0);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowWeights {
    /// Empty where all are 1.
    each: Vec<f64>,
}

impl RowWeights {
    /// Creates the weight 1 for every row, however many there are.
    pub fn equal() -> Self {
        Self::default()
    }

    /// Creates weights, one for each row; an empty list stands for 1 each.
    ///
    /// # Errors
    /// [`Error::Value`] for a weight that is not finite and above 0.
    pub fn new(each: &[f64]) -> Result<Self, Error> {
        for (row, &weight) in each.iter().enumerate() {
            let holds = weight > 0.0 && weight.is_finite();
            let what = format_args!("the weight of row {row}");
            Error::ensure(holds, what, weight, "finite numbers above 0")?;
        }
        Ok(Self { each: each.to_vec() })
    }

    /// Returns whether every row has weight 1 because no weights were given.
    pub fn is_equal(&self) -> bool {
        self.each.is_empty()
    }

    /// Checks that there is one weight for each of `rows` rows, or none.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self, rows: usize) -> Result<(), Error> {
        if self.is_equal() {
            return Ok(());
        }
        Error::check_length("weights", self.each.len(), rows)
    }

    /// Returns the weight of a row.
    pub fn get(&self, row: usize) -> f64 {
        self.each.get(row).copied().unwrap_or(1.0)
    }

    /// Returns the sum of the weights of the first `rows` rows: `rows` where all are 1.
    pub fn total(&self, rows: usize) -> f64 {
        if self.is_equal() {
            return rows as f64;
        }
        self.each.iter().take(rows).sum()
    }

    /// Returns the largest weight of the first `rows` rows.
    pub fn largest(&self, rows: usize) -> f64 {
        if self.is_equal() {
            return 1.0;
        }
        self.each.iter().take(rows).copied().fold(0.0, f64::max)
    }

    /// Returns the square roots of the weights of a range of rows; none where all are 1.
    pub fn roots(&self, rows: Range<usize>) -> Option<Vec<f64>> {
        let each = self.each.get(rows)?;
        (!each.is_empty()).then(|| each.iter().map(|weight| weight.sqrt()).collect())
    }

    /// Returns the weights of the rows of which they were given; none where all are 1.
    pub fn as_slice(&self) -> &[f64] {
        &self.each
    }

    /// Creates the weights of two groups of rows, with the number of rows in each, one group behind the other.
    pub fn joined((first, rows): (&Self, usize), (second, more): (&Self, usize)) -> Self {
        if first.is_equal() && second.is_equal() {
            return Self::equal();
        }
        let first = (0..rows).map(|row| first.get(row));
        let second = (0..more).map(|row| second.get(row));
        Self { each: first.chain(second).collect() }
    }

    /// Returns the weights of some rows, in the order given.
    ///
    /// # Panics
    /// With a row that has none.
    pub fn select(&self, rows: &[usize]) -> Self {
        if self.is_equal() {
            return Self::equal();
        }
        Self { each: rows.iter().map(|&row| self.each[row]).collect() }
    }
}
