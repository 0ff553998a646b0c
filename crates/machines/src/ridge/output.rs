//! The space that predictions live in.

use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::{Distinct, Selected, distinct, ranges, read};
use dsokr_basis::kernel::{IntoKernel, gram};
use dsokr_basis::{Basis, Features, OutputKernel, RowKind, RowSource};
use dsokr_core::processes::Held;
use dsokr_core::{Cancellation, Error, Processes, RowWeights};
use faer::{Accum, Mat, MatRef};
use rayon::prelude::*;

use super::repeated::{repeated, sums_of_weights};
use crate::embedding::{OutputEmbedding, map};
use crate::linear;
use crate::row_groups::RowGroups;
use crate::targets::{Targets, Values, times};

/// Rows of outputs in one block.
pub(super) const ROWS: usize = 1024;

/// Outputs whose points are computed at once, at most.
pub(super) const AT_ONCE: usize = 16 * ROWS;

/// Outputs whose points one task turns and centres, or multiplies.
pub(super) const TASK: usize = 64;

/// Coordinates whose mean one task adds up, a cache line or more of each row.
const SUMMED: usize = 16;

/// The coordinates that predictions live in: how outputs become targets, and candidates points.
///
/// - A [`Basis`]: ISOKR and SISOKR. With a sketch that takes every output it spans them all, and
///   with its leading p coordinates it is kernel principal component analysis: Kernel Dependency
///   Estimation (Weston et al. 2003), a ridge regression for each principal component.
/// - The identity on the distinct training outputs `u_1 … u_k`: IOKR and SIOKR. A target is the unit
///   vector of its output, so `z_j` is `Σ α_i(x)` over the rows i with output `u_j`; a candidate is
///   the point `(k(c, u_j))_j`. Then `⟨z, ψ̃(c)⟩ = Σ_i α_i(x) k(c, y_i)`, IOKR's score, without an
///   eigendecomposition of the outputs' Gram matrix, and duplicate outputs cost nothing.
///
/// In both cases the decoder's inner product is the score, and nothing in it changes.
#[derive(Clone, Debug)]
pub struct OutputSpace {
    pub(super) map: SpaceKind,
    /// Gᵀ of a learned embedding of the coordinates of a basis.
    pub(super) directions: Option<Mat<f64>>,
    pub(super) centre: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(super) enum SpaceKind {
    /// A basis, of which the leading coordinates are used.
    Basis(Box<Basis>),
    Training {
        kernel: Arc<dyn OutputKernel>,
        outputs: Features,
    },
}

impl OutputSpace {
    /// Returns μ, from where points count: the mean of the training outputs' points, p numbers.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Creates the space of a basis that was fitted on the training outputs, and the targets of the training outputs in
    /// it. The space has the leading `dimension` coordinates, or all where none is given. This process works alone.
    ///
    /// # Errors
    /// [`Error::Value`] for a dimension of 0 or above that of the basis; the errors of [`Basis::project`].
    pub fn basis(
        basis: Basis,
        dimension: Option<usize>,
        outputs: &dyn RowSource,
    ) -> Result<(Self, Targets), Error> {
        let weights = RowWeights::equal();
        Self::basis_weighted(basis, dimension, outputs, &weights, &Processes::default(), None)
    }

    /// Creates the space like [`basis`](Self::basis), for training outputs with weights. The mean is weighted, and the
    /// targets have the weights. The processes share the work: all of them call it with the same outputs.
    ///
    /// Each process gets the targets of the rows in `held` alone, in which every row is that of one process, or all targets
    /// where it is none. Where equal outputs share a target, every process holds the target of each distinct output. The
    /// numbers are those of one process, bit for bit.
    ///
    /// # Errors
    /// The errors of [`basis`](Self::basis); [`Error::Shape`] unless there is one weight for each output, or none.
    pub fn basis_weighted(
        basis: Basis,
        dimension: Option<usize>,
        outputs: &dyn RowSource,
        weights: &RowWeights,
        processes: &Processes,
        held: Option<&Held>,
    ) -> Result<(Self, Targets), Error> {
        let n = outputs.len();
        weights.check(n)?;
        let dimension = dimension.unwrap_or(basis.dimension());
        Error::check_range("number of coordinates", dimension, 1..=basis.dimension())?;
        let map = SpaceKind::Basis(Box::new(basis));
        let mut space = Self { map, directions: None, centre: Vec::new() };
        let alone = Processes::default();
        let mut targets = Targets {
            values: Values::Coordinates(Vec::new()),
            width: dimension,
            held: held.cloned().unwrap_or_else(|| Held::all(n)),
            residuals: Vec::new(),
            weights: weights.clone(),
            groups: RowGroups::alone(),
        };
        match (repeated(outputs)?, held) {
            (Some(Distinct { representative, class, .. }), _) => {
                let rows = Selected::new(outputs, &representative);
                let distinct = space.shared_coordinates(processes, &rows, dimension)?;
                let all = Held::all(representative.len());
                let sums = sums_of_weights(&class, weights)?;
                space.centre = mean(&alone, &all, &distinct, dimension, &sums)?;
                targets.held = Held::all(n);
                targets.values = Values::Shared { distinct, output_of: class };
            }
            (None, None) => {
                let values = space.shared_coordinates(processes, outputs, dimension)?;
                space.centre = mean(&alone, &targets.held, &values, dimension, weights)?;
                targets.values = Values::Coordinates(values);
            }
            (None, Some(held)) => {
                let values = space.held_coordinates(outputs, held, dimension)?;
                space.centre = mean(processes, held, &values, dimension, weights)?;
                targets.values = Values::Coordinates(values);
            }
        }
        Ok((space, targets))
    }

    /// Returns the number of different targets that [`basis`](Self::basis) holds for these training outputs: their
    /// number, or the number of distinct ones where most of many repeat a different one.
    ///
    /// # Errors
    /// Errors from reading the rows.
    pub fn held_targets(outputs: &dyn RowSource) -> Result<usize, Error> {
        let distinct = repeated(outputs)?.map(|distinct| distinct.representative.len());
        Ok(distinct.unwrap_or(outputs.len()))
    }

    /// Returns the leading coordinates of outputs, not centred, row-major. The processes share the work.
    fn shared_coordinates(
        &self,
        processes: &Processes,
        outputs: &dyn RowSource,
        dimension: usize,
    ) -> Result<Vec<f64>, Error> {
        let part = processes.part_in_blocks(outputs.len(), ROWS);
        let part = Held::new(outputs.len(), [part]);
        processes.join(self.held_coordinates(outputs, &part, dimension)?)
    }

    /// Returns the leading coordinates of the outputs that this process holds, not centred, row-major. Blocks of outputs are
    /// those of one process, and each is read once.
    fn held_coordinates(
        &self,
        outputs: &dyn RowSource,
        held: &Held,
        dimension: usize,
    ) -> Result<Vec<f64>, Error> {
        let mut all = Vec::with_capacity(held.len() * dimension);
        // points of many outputs take more memory than all else, so there is one copy of them
        for some in ranges(0..outputs.len(), AT_ONCE) {
            let held_rows =
                held.ranges().iter().map(|rows| rows.start.max(some.start)..rows.end.min(some.end));
            let held_rows: Vec<_> = held_rows.filter(|rows| !rows.is_empty()).collect();
            let (Some(first), Some(last)) = (held_rows.first(), held_rows.last()) else { continue };
            let start = first.start / ROWS * ROWS;
            let end = last.end.next_multiple_of(ROWS).min(outputs.len());
            let points = self.wide(outputs, start..end)?;
            for rows in held_rows {
                let leading = points.submatrix(0, rows.start - start, dimension, rows.len());
                all.extend(leading.col_iter().flat_map(|column| column.iter().copied()));
            }
        }
        Ok(all)
    }

    /// Creates the identity on the distinct rows of the training outputs, and the targets: IOKR.
    ///
    /// # Errors
    /// The errors of the kernel's checks; errors from reading the rows; [`Error::Value`] when
    /// there are no outputs.
    pub fn training(
        kernel: impl IntoKernel,
        outputs: &dyn RowSource,
    ) -> Result<(Self, Targets), Error> {
        Self::training_weighted(kernel, outputs, &RowWeights::equal())
    }

    /// Creates the space like [`training`](Self::training), for training outputs with weights. The mean is weighted,
    /// and the targets have the weights.
    ///
    /// # Errors
    /// The errors of [`training`](Self::training); [`Error::Shape`] unless there is one weight for each output, or
    /// none.
    pub fn training_weighted(
        kernel: impl IntoKernel,
        outputs: &dyn RowSource,
        weights: &RowWeights,
    ) -> Result<(Self, Targets), Error> {
        weights.check(outputs.len())?;
        Error::check_count("number of outputs", outputs.len())?;
        let kernel = kernel.into_kernel();
        kernel.validate(outputs.kind())?;
        let classes = distinct(outputs)?;
        let rows = outputs.select(&classes.representative)?;
        kernel.check(&rows)?;
        // The mean over the training outputs, each as often as it occurs.
        let dimension = rows.len();
        let total = weights.total(outputs.len());
        let mut shares = vec![0.0; dimension];
        for (row, &class) in classes.class.iter().enumerate() {
            shares[class as usize] += weights.get(row);
        }
        shares.iter_mut().for_each(|share| *share /= total);
        let mut centre = vec![0.0; dimension];
        let cancellation = Cancellation::current();
        for range in ranges(0..dimension, ROWS) {
            cancellation.check()?;
            let columns = gram(kernel.as_ref(), &rows, &rows.block(range.clone())?)?;
            for (column, weight) in columns.col_iter().zip(&shares[range]) {
                let sums = centre.iter_mut().zip(column.iter());
                sums.for_each(|(sum, value)| *sum += weight * value);
            }
        }
        let map = SpaceKind::Training { kernel, outputs: rows };
        let values = Values::Classes(classes.class);
        let space = Self { map, directions: None, centre };
        let targets = Targets {
            values,
            width: dimension,
            held: Held::all(outputs.len()),
            residuals: Vec::new(),
            weights: weights.clone(),
            groups: RowGroups::alone(),
        };
        Ok((space, targets))
    }

    /// Returns the space of a learned embedding of this one, with points `G (ψ̃(c) − μ)` of q numbers, and the targets
    /// in it. The scores `⟨G ĥ(x), G (ψ̃(c) − μ)⟩` equal the scores of the projected predictions `GᵀG ĥ(x)`
    /// (output-embedding-learning, equation 9; reduced-rank paper, corollary 3), in q multiplications a candidate.
    ///
    /// # Errors
    /// [`Error::Shape`] for an embedding or targets of a different number of coordinates; [`Error::Value`] for a space
    /// without a basis, or that is embedded already.
    pub fn embedded(
        &self,
        embedding: &OutputEmbedding,
        targets: &Targets,
    ) -> Result<(Self, Targets), Error> {
        let width = self.dimension();
        Error::check_length("coordinates of the embedding", embedding.width(), width)?;
        Error::check_length("coordinates", targets.width(), width)?;
        let plain = self.directions.is_none() && self.as_basis().is_some();
        Error::ensure(
            plain,
            "the output space",
            "of a different kind",
            "the coordinates of a basis",
        )?;
        let turned = |values: &[f64]| times(values, embedding.directions());
        let centre = turned(&self.centre);
        let map = self.map.clone();
        let targets = targets.mapped(embedding.rank(), turned)?;
        Ok((Self { map, directions: Some(embedding.directions().to_owned()), centre }, targets))
    }

    /// Computes `Gᵀ z` of points z of a learned embedding, row-major, with the number of coordinates of the basis,
    /// which they are in then; none elsewhere.
    pub fn restored(&self, points: &[f32]) -> Option<(usize, Vec<f32>)> {
        self.directions
            .as_ref()
            .map(|directions| (directions.nrows(), map(directions.as_ref(), points)))
    }

    /// Returns p, the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.centre.len()
    }

    /// Returns the output kernel, before any tempering of a basis.
    pub fn kernel(&self) -> &dyn OutputKernel {
        match &self.map {
            SpaceKind::Basis(basis) => basis.kernel(),
            SpaceKind::Training { kernel, .. } => kernel.as_ref(),
        }
    }

    /// Returns the basis; none for the identity on the training outputs.
    pub fn as_basis(&self) -> Option<&Basis> {
        if let SpaceKind::Basis(basis) = &self.map { Some(basis) } else { None }
    }

    /// Returns the distinct training outputs that carry the coordinates; none in a basis.
    pub fn outputs(&self) -> Option<&Features> {
        if let SpaceKind::Training { outputs, .. } = &self.map { Some(outputs) } else { None }
    }

    /// Returns the squared distance in the output kernel's feature space of each prediction from its target,
    /// `‖ĥ(x_i) − ψ̃(y_i)‖²`, for residuals in these coordinates, p × q, one a column.
    ///
    /// For a basis it is the squared length; for the identity on the training outputs `rᵀ K r`.
    ///
    /// # Errors
    /// [`Error::Shape`] for residuals of a different length.
    pub fn squared_lengths(&self, residuals: MatRef<f64>) -> Result<Vec<f64>, Error> {
        Error::check_length("coordinates", residuals.nrows(), self.dimension())?;
        match &self.map {
            SpaceKind::Basis(_) => {
                Ok(residuals.col_iter().map(|column| column.squared_norm_l2()).collect())
            }
            SpaceKind::Training { outputs, .. } => {
                let mut out = vec![0.0; residuals.ncols()];
                for range in ranges(0..outputs.len(), ROWS) {
                    // k × len: columns of the outputs' Gram matrix
                    let gram = self.wide(outputs, range.clone())?;
                    let mut product = Mat::zeros(range.len(), residuals.ncols());
                    linear::product(
                        product.as_mut(),
                        Accum::Replace,
                        gram.transpose(),
                        residuals,
                        TASK,
                    );
                    for (j, out) in out.iter_mut().enumerate() {
                        let column = residuals.col(j).subrows(range.start, range.len());
                        let terms = column.iter().zip(product.col(j).iter());
                        *out += terms.map(|(a, b)| a * b).sum::<f64>();
                    }
                }
                out.iter_mut().for_each(|value| *value = value.max(0.0));
                Ok(out)
            }
        }
    }

    /// Returns points of the rows of `range` in `f64`, not centred: a column each, whose first p numbers are used.
    pub(super) fn wide(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Mat<f64>, Error> {
        Cancellation::current().check()?;
        match &self.map {
            SpaceKind::Basis(basis) => basis.project_wide(rows, range),
            SpaceKind::Training { kernel, outputs } => {
                let block = read(rows, range)?;
                kernel.check(&block)?;
                gram(kernel.as_ref(), outputs, &block)
            }
        }
    }

    /// Returns the kind and width of the rows of outputs.
    pub fn rows(&self) -> (RowKind, usize) {
        match &self.map {
            SpaceKind::Basis(basis) => (basis.kind(), basis.width()),
            SpaceKind::Training { outputs, .. } => (outputs.kind(), outputs.width()),
        }
    }
}

/// Returns the weighted mean of rows of `width` numbers, of which a process has the held ones.
fn mean(
    processes: &Processes,
    held: &Held,
    values: &[f64],
    width: usize,
    weights: &RowWeights,
) -> Result<Vec<f64>, Error> {
    let mut place = 0;
    let sum = held.fold(processes, vec![0.0; width], |sum, range| {
        let rows = &values[place * width..(place + range.len()) * width];
        place += range.len();
        // some of the coordinates in a task, which adds up the rows in their order
        sum.par_chunks_mut(SUMMED).enumerate().for_each(|(chunk, sum)| {
            for (row, at) in rows.chunks_exact(width).zip(range.clone()) {
                let weight = weights.get(at);
                let values = sum.iter_mut().zip(&row[chunk * SUMMED..]);
                values.for_each(|(sum, &value)| *sum += weight * value);
            }
        });
    })?;
    let total = weights.total(held.rows().max(1));
    Ok(sum.into_iter().map(|sum| sum / total).collect())
}
