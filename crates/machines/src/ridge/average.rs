//! B models on B parts of the rows, averaged (thesis, perspectives).

use std::ops::Range;

use dsokr_basis::{Block, Error as BasisError, OutputKernel, RowKind, RowSource, SketchKind};

use crate::ridge::sketched::fit_sketched;
use crate::ridge::{Error, Model, Points, TargetBlock, TargetSource};

/// The mean of the coordinates that several models in one output space predict,
/// `ĥ = (1/B) Σ ĥ_b`.
///
/// Models in output spaces of their own, each with the basis of its part, are averaged by scores:
/// [`stack_predictions`] and [`stack_points`].
#[derive(Clone, Debug)]
pub struct Average {
    models: Vec<Model>,
}

impl Average {
    /// Of one or more models.
    ///
    /// # Errors
    /// [`Error::Range`] for none; [`Error::DifferentModels`] for models of other coordinates.
    pub fn new(models: Vec<Model>) -> Result<Self, Error> {
        let Some(expected) = models.first().map(Model::rank) else {
            let what = "number of models";
            return Err(Error::Range { what, found: 0, low: 1, high: usize::MAX });
        };
        let ranks = models.iter().map(Model::rank).enumerate();
        match ranks.into_iter().find(|&(_, rank)| rank != expected) {
            Some((model, found)) => Err(Error::DifferentModels { model, found, expected }),
            None => Ok(Self { models }),
        }
    }

    /// The models.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// `(1/B) Σ z_b(x)` of input rows, q × p row-major.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        let mut sum: Vec<f64> = Vec::new();
        for model in &self.models {
            let predicted = model.predict(rows)?;
            sum.resize(predicted.len(), 0.0);
            sum.iter_mut().zip(predicted).for_each(|(sum, value)| *sum += f64::from(value));
        }
        let count = self.models.len() as f64;
        Ok(sum.into_iter().map(|sum| (sum / count) as f32).collect())
    }
}

/// Fits a model on each of `parts` runs of consecutive rows, of sizes that differ by one at most;
/// part b is sketched with seed + b. Rows should be in no order.
///
/// # Errors
/// [`Error::Range`] unless there are from 1 to n parts; as [`fit_sketched`], m being at most the
/// number of rows in a part.
#[allow(clippy::too_many_arguments)]
pub fn fit_parts(
    kernel: impl OutputKernel + Clone + 'static,
    rows: &dyn RowSource,
    targets: &dyn TargetSource,
    sketch: &SketchKind,
    m: usize,
    seed: u64,
    lambda: f64,
    parts: usize,
) -> Result<Average, Error> {
    let n = rows.len();
    crate::ridge::fit::check(n, targets, lambda)?;
    if parts == 0 || parts > n {
        return Err(Error::Range { what: "number of parts", found: parts, low: 1, high: n });
    }
    let model = |part: usize| {
        let range = part * n / parts..(part + 1) * n / parts;
        let (rows, targets) =
            (Part { of: rows, range: range.clone() }, Part { of: targets, range });
        let seed = seed.wrapping_add(part as u64);
        Ok(fit_sketched(kernel.clone(), &rows, &targets, sketch, m, seed, lambda)?.model)
    };
    Average::new((0..parts).map(model).collect::<Result<_, Error>>()?)
}

/// Consecutive rows of a source.
struct Part<'a, S: ?Sized> {
    of: &'a S,
    range: Range<usize>,
}

impl<S: ?Sized> Part<'_, S> {
    /// The rows of the whole; saturating, so that a range beyond the part is beyond the whole.
    fn within(&self, rows: Range<usize>) -> Range<usize> {
        self.range.start.saturating_add(rows.start)..self.range.start.saturating_add(rows.end)
    }
}

impl RowSource for Part<'_, dyn RowSource + '_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn width(&self) -> usize {
        self.of.width()
    }

    fn kind(&self) -> RowKind {
        self.of.kind()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, BasisError> {
        if rows.end > self.range.len() {
            let (start, end, len) = (rows.start, rows.end, self.range.len());
            return Err(BasisError::RowRange { start, end, len });
        }
        self.of.block(self.within(rows))
    }
}

impl TargetSource for Part<'_, dyn TargetSource + '_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn rank(&self) -> usize {
        self.of.rank()
    }

    fn block(&self, rows: Range<usize>) -> Result<TargetBlock, Error> {
        self.of.block(self.within(rows))
    }
}

/// Predictions of several models side by side, each divided by their number: with the points of
/// [`stack_points`] the inner product is the mean of the models' scores, whatever their bases.
///
/// `parts` holds the rank and the predictions, q × rank row-major, of each model.
///
/// # Errors
/// [`Error::Range`] for no model; [`Error::Length`] for models with other numbers of queries.
pub fn stack_predictions(parts: &[(usize, &[f32])]) -> Result<Vec<f32>, Error> {
    let count = parts.len() as f32;
    let scaled: Vec<(usize, Vec<f32>)> = parts
        .iter()
        .map(|(rank, values)| (*rank, values.iter().map(|value| value / count).collect()))
        .collect();
    side_by_side(&scaled.iter().map(|(rank, values)| (*rank, &values[..])).collect::<Vec<_>>())
}

/// The points of the same candidates in several output spaces side by side, with the mean of their
/// constants.
///
/// # Errors
/// As [`stack_predictions`].
pub fn stack_points(parts: &[Points]) -> Result<Points, Error> {
    let coordinates: Vec<_> = parts.iter().map(|part| (part.rank, &part.coordinates[..])).collect();
    let coordinates = side_by_side(&coordinates)?;
    let rows = parts[0].constants.len();
    let mut constants = vec![0.0f32; rows];
    for part in parts {
        if part.constants.len() != rows {
            let (found, expected) = (part.constants.len(), rows);
            return Err(Error::Length { what: "constants", found, expected });
        }
        let own = constants.iter_mut().zip(&part.constants);
        own.for_each(|(sum, value)| *sum += value / parts.len() as f32);
    }
    Ok(Points { rank: parts.iter().map(|part| part.rank).sum(), coordinates, constants })
}

fn side_by_side(parts: &[(usize, &[f32])]) -> Result<Vec<f32>, Error> {
    let Some(&(rank, first)) = parts.first() else {
        let what = "number of models";
        return Err(Error::Range { what, found: 0, low: 1, high: usize::MAX });
    };
    let rows = first.len().checked_div(rank).unwrap_or(0);
    for &(rank, values) in parts {
        if values.len() != rows * rank || rank == 0 {
            let (found, expected) = (values.len(), rows * rank);
            return Err(Error::Length { what: "coordinates", found, expected });
        }
    }
    let row = |i: usize| parts.iter().flat_map(move |&(rank, all)| &all[i * rank..(i + 1) * rank]);
    Ok((0..rows).flat_map(row).copied().collect())
}
