//! A weighted sum of kernels, each on its own columns.

use std::ops::Range;
use std::sync::Arc;

use dsokr_core::Error;
use faer::Mat;

use super::{IntoKernel, OutputKernel, diagonal, gram, named, zero_rows};
use crate::features::{Block, Features, RowKind, RowSource, SparseRows};

/// The difference from 1 of a sum of weights that is rounding.
const ROUNDING: f64 = 1e-12;

/// `k(a, b) = Σ_s w_s k_s(a_s, b_s)` of rows that have several kinds of rows side by side, as
/// [`JoinedRows`](crate::features::JoinedRows) do.
///
/// ```
/// use dsokr_basis::kernel::{OutputKernel, SumKernel};
/// use dsokr_basis::{Features, Kernel, RowKind, features::SparseRows};
///
/// let rows = Features::Sparse(SparseRows::from_rows(3, [vec![(0, 1.0), (2, 2.0)], vec![(0, 3.0)]])?);
/// let sum = SumKernel::default()
///     .with(0.25, Kernel::Cosine, RowKind::Dense, 2)
///     .with(0.75, Kernel::Linear, RowKind::Sparse, 1);
/// let gram = sum.block(&rows, &rows)?;
/// assert_eq!((gram[(0, 0)], gram[(0, 1)]), (0.25 + 0.75 * 4.0, 0.25));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SumKernel {
    pub(crate) summands: Vec<Summand>,
    pub(crate) width: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Summand {
    pub weight: f64,
    pub kernel: Arc<dyn OutputKernel>,
    pub kind: RowKind,
    pub columns: Range<usize>,
}

impl SumKernel {
    /// Returns the sum with one kernel more, of the next `width` columns as rows of a kind.
    pub fn with(
        mut self,
        weight: f64,
        kernel: impl IntoKernel,
        kind: RowKind,
        width: usize,
    ) -> Self {
        let kernel = kernel.into_kernel();
        let columns = self.width..self.width + width;
        self.width = columns.end;
        self.summands.push(Summand { weight, kernel, kind, columns });
        self
    }

    /// Returns the number of columns of all kernels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of columns of [`linear_rows`](Self::linear_rows): one for each column of the sum, and behind
    /// these one for each [normalised](OutputKernel::is_normalised) kernel, which only its zero rows have.
    pub fn linear_width(&self) -> usize {
        let normalised = self.summands.iter().filter(|part| part.kernel.is_normalised());
        self.width + normalised.count()
    }

    /// Returns whether every kernel is linear in scaled rows.
    pub fn is_linear(&self) -> bool {
        self.summands.iter().all(|part| part.kernel.feature_scale(1.0).is_some())
    }

    /// Returns rows of [`linear_width`](Self::linear_width) columns whose products `⟨a, b⟩` are the sum, where every
    /// kernel is linear in scaled rows; none where one is not.
    ///
    /// # Errors
    /// Rows that do not have the columns of the sum; [`Error::NotFinite`] for a number that overflows.
    pub fn linear_rows(&self, rows: &Block) -> Result<Option<Features>, Error> {
        self.check_width(rows)?;
        let mut scaled = Vec::new();
        // (row, column, value) of rows that are zero in the columns of a normalised kernel
        let mut of_zeros = Vec::new();
        let mut next_column = self.width as u32;
        for Summand { weight, kernel, kind, columns } in &self.summands {
            let part = rows.columns(columns.clone(), *kind)?;
            let scale = |norm| kernel.feature_scale(norm).map(|scale| scale * weight.sqrt());
            let scales = part.squared_norms().into_iter().map(scale).collect::<Option<Vec<f64>>>();
            let Some(scales) = scales else { return Ok(None) };
            scaled.push((columns.clone(), scales));
            if kernel.is_normalised() {
                let zeros = zero_rows(kernel.as_ref(), &part).into_iter();
                of_zeros.extend(zeros.map(|row| (row, next_column, weight.sqrt() as f32)));
                next_column += 1;
            }
        }
        of_zeros.sort_unstable_by_key(|&(row, column, _)| (row, column));
        let row = |row: usize| {
            let mut entries = Vec::new();
            for (columns, scales) in &scaled {
                rows.entries(row, columns.clone(), |column, value| {
                    let value = (f64::from(value) * scales[row]) as f32;
                    entries.extend((value != 0.0).then_some((column as u32, value)));
                });
            }
            let first = of_zeros.partition_point(|&(other, ..)| other < row);
            let of_row = of_zeros[first..].iter().take_while(|&&(other, ..)| other == row);
            entries.extend(of_row.map(|&(_, column, value)| (column, value)));
            entries
        };
        Ok(Some(SparseRows::from_rows(self.linear_width(), (0..rows.len()).map(row))?.into()))
    }

    fn check_width(&self, rows: &Block) -> Result<(), Error> {
        let width = rows.width();
        let expected = self.width;
        if width == expected { Ok(()) } else { Err(Error::width(width, expected)) }
    }
}

impl OutputKernel for SumKernel {
    /// Returns weights, kernels and their columns.
    fn name(&self) -> String {
        let part = |Summand { weight, kernel, kind, columns }: &Summand| {
            let (_, kernel) = named::entry(kernel.as_ref());
            format!("{weight} {kernel} of {} {kind} columns", columns.len())
        };
        self.summands.iter().map(part).collect::<Vec<_>>().join(" + ")
    }

    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        let _ = rows;
        self.summands.iter().try_for_each(|part| {
            let weight = part.weight;
            let holds = weight >= 0.0 && weight.is_finite();
            Error::ensure(holds, "weight", weight, "finite numbers, 0 and above")?;
            part.kernel.validate(part.kind)
        })
    }

    fn check(&self, rows: &Block) -> Result<(), Error> {
        self.check_width(rows)?;
        self.summands
            .iter()
            .try_for_each(|part| part.kernel.check(&rows.columns(part.columns.clone(), part.kind)?))
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        self.check_width(a)?;
        self.check_width(b)?;
        let mut sum = Mat::zeros(a.len(), b.len());
        for Summand { weight, kernel, kind, columns } in &self.summands {
            let [a, b] = [a, b].map(|rows| rows.columns(columns.clone(), *kind));
            sum += faer::Scale(*weight) * gram(kernel.as_ref(), &a?, &b?)?;
        }
        Ok(sum)
    }

    /// Returns whether every kernel is, and the weights sum to 1.
    fn is_normalised(&self) -> bool {
        let sum: f64 = self.summands.iter().map(|part| part.weight).sum();
        (sum - 1.0).abs() < ROUNDING && self.summands.iter().all(|part| part.kernel.is_normalised())
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        self.check_width(rows)?;
        let mut sums = vec![0.0; rows.len()];
        for Summand { weight, kernel, kind, columns } in &self.summands {
            let part = rows.columns(columns.clone(), *kind)?;
            let values = diagonal(kernel.as_ref(), &part)?;
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
        Ok(sums)
    }
}
