use std::ops::Range;

use dsokr_basis::Projection;
use faer::Mat;

use crate::ridge::Error;
use crate::ridge::linear::Scalar;

/// What is regressed on: p numbers for each of n training rows.
#[derive(Clone, Debug)]
pub struct Targets {
    values: Values,
    rank: usize,
}

#[derive(Clone, Debug)]
enum Values {
    /// p × n, one row of targets a column.
    Coordinates(Mat<f64>),
    /// Row i has a 1 in the column of its class.
    Classes(Vec<u32>),
}

/// Targets of consecutive training rows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TargetBlock {
    /// Coordinates, p × len, one row a column.
    Coordinates(Mat<f64>),
    /// Class of each row, below p: its target is that unit vector.
    Classes(Vec<u32>),
}

/// Targets that can be read block by block, from memory or made on the fly.
pub trait TargetSource: Sync {
    /// Number of rows.
    fn len(&self) -> usize;

    /// p, the numbers of a row.
    fn rank(&self) -> usize;

    /// The targets of the rows of `range`.
    ///
    /// # Errors
    /// Whatever reading or computing them brings up.
    fn block(&self, range: Range<usize>) -> Result<TargetBlock, Error>;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Targets {
    /// Targets of `rank` numbers a row, row-major.
    ///
    /// # Errors
    /// [`Error::Range`] for rank 0; [`Error::Length`] for values that are not whole rows;
    /// [`Error::NotFinite`].
    pub fn new(rank: usize, values: &[f64]) -> Result<Self, Error> {
        if rank == 0 {
            return Err(Error::Range { what: "rank", found: 0, low: 1, high: usize::MAX });
        }
        if !values.len().is_multiple_of(rank) {
            let expected = values.len().next_multiple_of(rank);
            return Err(Error::Length { what: "target values", found: values.len(), expected });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column, value) = (at / rank, at % rank, values[at]);
            return Err(Error::NotFinite { what: "targets", row, column, value });
        }
        let columns = faer::MatRef::from_column_major_slice(values, rank, values.len() / rank);
        Ok(Self { values: Values::Coordinates(columns.to_owned()), rank })
    }

    /// Coordinates that a basis gave, or that were made from them (tempered, say).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_projection(projection: &Projection) -> Result<Self, Error> {
        let wide: Vec<f64> = projection.coordinates.iter().map(|&value| value.into()).collect();
        Self::new(projection.rank, &wide)
    }

    /// From coordinates p × n.
    pub(crate) fn from_columns(columns: Mat<f64>) -> Self {
        Self { rank: columns.nrows(), values: Values::Coordinates(columns) }
    }

    /// From a class of each row, all below `rank`.
    pub(crate) fn from_classes(rank: usize, classes: Vec<u32>) -> Self {
        Self { rank, values: Values::Classes(classes) }
    }

    /// All targets, n × p.
    pub(crate) fn dense<T: Scalar>(&self) -> Mat<T> {
        match &self.values {
            Values::Coordinates(columns) => {
                Mat::from_fn(columns.ncols(), self.rank, |i, j| T::of(columns[(j, i)]))
            }
            Values::Classes(classes) => {
                let mut dense = Mat::zeros(classes.len(), self.rank);
                for (row, &class) in classes.iter().enumerate() {
                    dense[(row, class as usize)] = T::of(1.0);
                }
                dense
            }
        }
    }

    /// Some of the rows, in the order given; an index may be repeated.
    ///
    /// # Errors
    /// [`Error::Range`] for a row that there is not.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let len = TargetSource::len(self);
        if let Some(&found) = rows.iter().find(|&&row| row >= len) {
            return Err(Error::Range { what: "row", found, low: 0, high: len.saturating_sub(1) });
        }
        let values = match &self.values {
            Values::Coordinates(columns) => {
                let element = |i: usize, j: usize| columns[(i, rows[j])];
                Values::Coordinates(Mat::from_fn(self.rank, rows.len(), element))
            }
            Values::Classes(classes) => {
                Values::Classes(rows.iter().map(|&row| classes[row]).collect())
            }
        };
        Ok(Self { values, rank: self.rank })
    }
}

impl TargetSource for Targets {
    fn len(&self) -> usize {
        match &self.values {
            Values::Coordinates(columns) => columns.ncols(),
            Values::Classes(classes) => classes.len(),
        }
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn block(&self, range: Range<usize>) -> Result<TargetBlock, Error> {
        let len = TargetSource::len(self);
        if range.start > range.end || range.end > len {
            return Err(Error::Range { what: "end of rows", found: range.end, low: 0, high: len });
        }
        Ok(match &self.values {
            Values::Coordinates(columns) => TargetBlock::Coordinates(
                columns.as_ref().subcols(range.start, range.len()).to_owned(),
            ),
            Values::Classes(classes) => TargetBlock::Classes(classes[range].to_vec()),
        })
    }
}
