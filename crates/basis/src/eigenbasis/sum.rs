//! Bases of sums of kernels.

use std::ops::Range;
use std::sync::Arc;

use dsokr_core::{Error, Processes, RowWeights};
use faer::{ColRef, Mat};

use super::algebra::{self, Eigen, Number, multiply_wide};
use super::subspace::leading_few;
use super::{Basis, Projector};
use crate::features::{Block, RowKind, RowSource};
use crate::kernel::{OutputKernel, SumKernel, Summand};
use crate::sketch::SketchOptions;

/// The terms of [`Basis::sum`]. `y_i` are the columns of a sparse row that the i-th basis reads, the parts of
/// [`JoinedRows`](crate::features::JoinedRows).
#[derive(Clone, Debug)]
pub(super) struct SummedBases {
    pub parts: Vec<WeightedBasis>,
    /// The width of the rows, in which the columns of all parts lie.
    pub width: usize,
}

/// One basis of a sum.
#[derive(Clone, Debug)]
pub(super) struct WeightedBasis {
    pub weight: f64,
    pub columns: Range<usize>,
    /// Shared, because the kernel of the sum and its coordinates both hold it.
    pub basis: Arc<Basis>,
}

impl SummedBases {
    /// Computes `k(y, y') = Σ_i w_i k_i(y_i, y'_i)`: the weighted sum of the kernels of the bases, the
    /// [tempered](crate::Tempering) ones where bases are tempered.
    pub(super) fn kernel(&self) -> Arc<dyn OutputKernel> {
        let summand = |WeightedBasis { weight, columns, basis }: &WeightedBasis| Summand {
            weight: *weight,
            kernel: match &basis.tempered {
                None => Arc::clone(&basis.kernel),
                Some(_) => Arc::new(TemperedKernel(Arc::clone(basis))),
            },
            kind: basis.kind,
            columns: columns.clone(),
        };
        let summands = self.parts.iter().map(summand).collect();
        Arc::new(SumKernel { summands, width: self.width })
    }

    /// Returns P, the coordinates of all parts together.
    pub(super) fn coordinates(&self) -> usize {
        self.parts.iter().map(|part| part.basis.dimension()).sum()
    }

    /// Returns the coordinates `√w_i ψ̃_i(y)` of all parts, one part behind the other, times the p × P matrix
    /// `turn`, the identity where it is empty, into p numbers a row; returns k(y, y) of each row.
    pub(super) fn project<T: Number>(
        &self,
        turn: &[f32],
        rows: &Block,
        out: &mut [T],
    ) -> Result<Vec<f64>, Error> {
        let all = self.coordinates();
        let mut joined = vec![T::default(); rows.len() * all];
        let mut norms = vec![0.0; rows.len()];
        let mut start = 0;
        for part in &self.parts {
            let dimension = part.basis.dimension();
            let scale = T::from_f64(part.weight.sqrt());
            let mut part_coordinates = vec![T::default(); rows.len() * dimension];
            let squared = part.basis.coordinates(
                rows.columns(part.columns.clone(), part.basis.kind)?,
                &mut part_coordinates,
            )?;
            norms
                .iter_mut()
                .zip(squared)
                .for_each(|(norm, part_norm)| *norm += part.weight * part_norm);
            for (out, part_row) in
                joined.chunks_exact_mut(all).zip(part_coordinates.chunks_exact(dimension))
            {
                let out = out[start..start + dimension].iter_mut();
                out.zip(part_row).for_each(|(out, &value)| *out = value * scale);
            }
            start += dimension;
        }
        match turn {
            [] => out.copy_from_slice(&joined),
            turn => algebra::turn(turn, all, &joined, out),
        }
        Ok(norms)
    }
}

/// The kernel of a tempered basis.
#[derive(Debug)]
struct TemperedKernel(Arc<Basis>);

impl OutputKernel for TemperedKernel {
    fn name(&self) -> String {
        let kernel = self.0.kernel.name();
        let power = self.0.tempering().power;
        format!("basis {} of {kernel}, tempered by {power}", self.0.fingerprint())
    }

    fn check(&self, rows: &Block) -> Result<(), Error> {
        self.0.kernel.check(rows)
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let x = self.0.project_wide(a, 0..a.len())?;
        let y = self.0.project_wide(b, 0..b.len())?;
        let mut gram = multiply_wide(x.transpose(), y.as_ref());
        if self.0.tempering().normalised {
            // Those without a direction share one that is outside of the span.
            let zero = |column: ColRef<f64>| column.iter().all(|&value| value == 0.0);
            for j in (0..b.len()).filter(|&j| zero(y.col(j))) {
                let rows = (0..a.len()).filter(|&i| zero(x.col(i)));
                rows.for_each(|i| gram[(i, j)] = 1.0);
            }
        }
        Ok(gram)
    }

    fn is_normalised(&self) -> bool {
        self.0.tempering().normalised
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        let mut coordinates = vec![0.0f64; rows.len() * self.0.dimension()];
        self.0.coordinates(rows.clone(), &mut coordinates)
    }
}

impl Basis {
    /// Returns the weight of each kernel of a [sum](Self::sum) whose weight is above 0, with the columns that it reads;
    /// none of other bases.
    pub fn weights(&self) -> Vec<(Range<usize>, f64)> {
        let Projector::Sum { sum, .. } = &self.map else { return Vec::new() };
        sum.parts.iter().map(|part| (part.columns.clone(), part.weight)).collect()
    }

    /// Creates the basis of a weighted sum of kernels, `k(y, y') = Σ_i w_i k_i(y, y')`. Each kernel has its own basis,
    /// which may be [tempered](Self::tempered), and reads its own columns of the outputs' rows, those of the first
    /// basis first ([`JoinedRows`](crate::features::JoinedRows)).
    ///
    /// The coordinates of the sum are `√w_i ψ̃_i(y)`, one basis after the other. They are turned to the principal axes
    /// of their second moments over `outputs`, about zero, and the leading `size` axes are kept, as in a kernel
    /// principal component analysis of the sum. Where fewer than half of the axes are kept, they are found by subspace
    /// iteration, which ends when a step adds less than 10⁻⁴ of what the axes hold. The weights are divided by their
    /// sum, so a sum of normalised kernels is normalised; a basis of weight 0 only takes its columns. The
    /// [kernel](Self::kernel) is the sum, the [spectrum](Self::spectrum) holds the second moments along the axes, and
    /// the [options](Self::options) are the first basis's with the given size.
    ///
    /// The result is an ordinary basis and can be tempered once more.
    ///
    /// ```
    /// use dsokr_basis::features::{DenseRows, JoinedRows};
    /// use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions};
    ///
    /// let fit = |rows: &Features| {
    ///     let options = SketchOptions::new(SketchKind::Subsampling { replacement: false }, 3);
    ///     Basis::fit(Kernel::Linear, rows, &options)
    /// };
    /// let first = Features::Dense(DenseRows::new(2, vec![1.0, 0.0, 0.0, 2.0, 1.0, 1.0])?);
    /// let second = Features::Dense(DenseRows::new(1, vec![1.0, 3.0, -1.0])?);
    /// let parts = vec![(3.0, fit(&first)?), (1.0, fit(&second)?)];
    /// let rows = JoinedRows::new(vec![Box::new(first), Box::new(second)])?;
    /// let projected = Basis::sum(parts, 10, &rows)?.project(&rows)?;
    /// // 0.75 · (1, 0) · (1, 1) + 0.25 · 1 · (−1)
    /// let product: f32 = projected.row(0).iter().zip(projected.row(2)).map(|(a, b)| a * b).sum();
    /// assert!((product - 0.5).abs() < 1e-5);
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] for a weight below 0 or not finite, for weights that are all 0, and for a size of 0;
    /// [`Error::Shape`] for rows that are not sparse or not as wide as the bases together; the errors of
    /// [`project`](Self::project) for rows that a basis cannot project.
    pub fn sum(
        parts: Vec<(f64, Self)>,
        size: usize,
        outputs: &dyn RowSource,
    ) -> Result<Self, Error> {
        Self::sum_weighted(parts, size, outputs, &RowWeights::equal(), &Processes::default())
    }

    /// Creates a [`sum`](Self::sum) where an output counts in the second moments as often as its weight says. The
    /// processes share the work, as in [`Basis::fit_shared`].
    ///
    /// # Errors
    /// The errors of [`sum`](Self::sum); [`Error::Shape`] unless there is one weight for each output, or none.
    pub fn sum_weighted(
        parts: Vec<(f64, Self)>,
        size: usize,
        outputs: &dyn RowSource,
        output_weights: &RowWeights,
        processes: &Processes,
    ) -> Result<Self, Error> {
        for (weight, _) in &parts {
            let holds = *weight >= 0.0 && weight.is_finite();
            let allowed = "a finite number not below 0";
            Error::ensure(holds, "a sum of kernels: weight", weight, allowed)?;
        }
        Error::check_count("a sum of kernels: size", size)?;
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        let Some((_, first)) = parts.iter().find(|(weight, _)| *weight > 0.0) else {
            return Err(Error::value("a sum of kernels: weights", total, "at least one above 0"));
        };
        let options = SketchOptions { size, ..first.options.clone() };
        let mut kept = Vec::new();
        let mut width = 0;
        for (weight, basis) in parts {
            let columns = width..width + basis.width;
            width = columns.end;
            if weight > 0.0 {
                kept.push(WeightedBasis {
                    weight: weight / total,
                    columns,
                    basis: Arc::new(basis),
                });
            }
        }
        let sum = SummedBases { parts: kept, width };
        let all = sum.coordinates();
        // not turned yet
        let basis = Self {
            kernel: sum.kernel(),
            options,
            trained_rows: outputs.len(),
            spectrum: vec![1.0; all],
            kind: RowKind::Sparse,
            width,
            map: Projector::Sum { sum, turn: Vec::new() },
            tempered: None,
        };
        basis.check_rows(outputs.kind(), outputs.width())?;
        if outputs.is_empty() {
            return Err(Error::no_rows());
        }
        let (_, moments) = basis.moments(outputs, output_weights, false, processes)?;
        let Eigen { values, vectors } = leading_few(moments, size, basis.options.tolerance)?;
        Ok(basis.turned(values, &vectors.transpose().to_owned(), None))
    }
}
