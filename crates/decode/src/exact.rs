//! Decoding without candidates.

use std::ops::RangeInclusive;

use dsokr_basis::kernel::{candidate_constant, zero_rows};
use dsokr_basis::{Basis, Block, OutputKernel, RowKind, RowSource};
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use crate::error::{all_finite, ensure, ensure_allowed};
use crate::permutations::{DecodedOutput, best_by_codes, best_by_pairs, best_by_positions};
use crate::queries::Queries;

/// The meaning of the columns of output rows, which decides how the best structure is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Rankings as `dsokr_data::featurizers::kemeny_signs`: K(K−1)/2 columns. Linear
    /// ordering, for up to 16 items exactly, for more by local search.
    KemenySigns,
    /// Rankings as `dsokr_data::featurizers::hamming_one_hot`: K² columns. Linear
    /// assignment.
    HammingOneHot,
    /// Rankings as `dsokr_data::featurizers::lehmer_codes`: K columns. Under the linear
    /// kernel.
    LehmerCodes,
    /// Label sets as `dsokr_data::featurizers::LabelVocabulary` makes them, a column
    /// for each label; only sets of these sizes are considered.
    LabelBits(RangeInclusive<usize>),
    /// Rows of numbers, under the linear kernel.
    Numbers,
}

/// Decoding without candidates: the best of all rankings, of all label sets, or of all rows of numbers, for each
/// prediction.
///
/// The output kernel must be linear in scaled features, `k(y, y') = s(y) s(y') ⟨y, y'⟩` (the linear, cosine, n-gram,
/// Kemeny and Hamming kernels): then a prediction is a direction w in feature space, and `⟨z, ψ̃(y)⟩ = s(y) ⟨w, y⟩`.
/// Predictions are either coordinates in a [basis](ExactSearch::in_basis), with `w = (Ω R Φ)ᵀ z`, or coefficients of
/// [training outputs](ExactSearch::on_outputs), with `w = Σ_j α_j s(u_j) u_j`. Under a normalised kernel the empty
/// label set has a feature of its own, and is then searched with the others.
///
/// ```
/// use dsokr_data::featurizers::hamming_one_hot;
/// use dsokr_basis::{Features, Kernel};
/// use dsokr_decode::{Encoding, ExactSearch, Queries};
///
/// // Ranks of three items. The prediction weighs the first ranking more than the second.
/// let outputs = Features::Bits(hamming_one_hot(&[vec![2, 0, 1], vec![0, 1, 2]])?);
/// let search = ExactSearch::on_outputs(&Kernel::Hamming, &outputs, Encoding::HammingOneHot)?;
/// let best = search.best(&Queries::new(2, &[0.7, 0.3])?)?;
/// assert_eq!(best[0].parts, [1, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("ExactSearch({}, {encoding:?})", kernel.name())]
pub struct ExactSearch<'a> {
    kernel: &'a dyn OutputKernel,
    space: Space<'a>,
    encoding: Encoding,
}

/// The space that predictions are coordinates of.
enum Space<'a> {
    Basis(&'a Basis),
    /// Scaled output rows, `[n × d]` row-major.
    Outputs {
        rows: Vec<f32>,
        width: usize,
        /// The rows that are zero and have a feature of their own.
        zeros: Vec<usize>,
    },
}

impl<'a> ExactSearch<'a> {
    /// Creates the search for predictions z in the coordinates of a basis. Predictions with fewer numbers are in its
    /// leading coordinates.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a basis that holds anchors or is tempered, and for rows whose width does not fit the
    /// encoding; [`Error::OutOfRange`] for a number of items that is not searched exactly and for set sizes beyond the
    /// number of labels.
    pub fn in_basis(basis: &'a Basis, encoding: Encoding) -> Result<Self, Error> {
        let kernel = basis.kernel();
        let space = Space::Basis(basis);
        Self { kernel, space, encoding }.checked(basis.dimension())
    }

    /// Creates the search for predictions α(x), one coefficient for each row of `outputs`, which a kernel machine
    /// without an output sketch gives: `h(x) = Σ_j α_j(x) ψ(u_j)`.
    ///
    /// # Errors
    /// The errors of [`ExactSearch::in_basis`], with [`Error::Unsupported`] for a kernel that is not linear in
    /// scaled features; errors from reading the rows.
    pub fn on_outputs(
        kernel: &'a dyn OutputKernel,
        outputs: &dyn RowSource,
        encoding: Encoding,
    ) -> Result<Self, Error> {
        let block = dsokr_basis::features::read(outputs, 0..outputs.len())?;
        let rows = scaled(kernel, &block)?;
        let width = block.width();
        let count = block.len();
        let zeros = zero_rows(kernel, &block);
        Self { kernel, space: Space::Outputs { rows, width, zeros }, encoding }.checked(count)
    }

    /// Searches for the prediction 0, which meets whatever could be refused.
    fn checked(self, dim: usize) -> Result<Self, Error> {
        self.one(&vec![0.0; dim.max(1)]).map(|_| self)
    }

    /// Returns the best structure for each prediction.
    ///
    /// The search runs on the current rayon pool; the result does not depend on its size. If structures tie, the first
    /// is taken: the lexicographically first order, the first labels, the smaller set.
    ///
    /// # Errors
    /// [`Error::Shape`] for predictions of a different number of coordinates;
    /// [`Error::NotFiniteAt`], in [`Error::At`] with the query, for weights that overflow.
    pub fn best(&self, queries: &Queries) -> Result<Vec<DecodedOutput>, Error> {
        let stage = Cancellation::current().stage("exact decoding", queries.len());
        let rows = queries.rows().par_chunks_exact(queries.dim()).enumerate();
        rows.map(|(at, z)| {
            stage.advance(1)?;
            self.one(z).map_err(|error| error.at(format!("query {}", queries.name(at))))
        })
        .collect()
    }

    fn one(&self, z: &[f32]) -> Result<DecodedOutput, Error> {
        let (weights, zero) = self.direction(z)?;
        let scale = |squared: usize| scale(self.kernel, squared as f64);
        match &self.encoding {
            Encoding::KemenySigns => best_by_pairs(&weights, scale(weights.len())?),
            Encoding::HammingOneHot => best_by_positions(&weights, scale(weights.len().isqrt())?),
            Encoding::LabelBits(sizes) => best_labels(self.kernel, &weights, zero, sizes.clone()),
            Encoding::LehmerCodes => {
                check_unscaled(self.kernel, "Lehmer codes")?;
                best_by_codes(&weights)
            }
            Encoding::Numbers => {
                check_unscaled(self.kernel, "numbers")?;
                best_numbers(weights)
            }
        }
    }

    /// Returns a prediction h in feature space, `⟨h, ψ(y)⟩ = s(y) ⟨w, y⟩` for every row y but the zero row: w, a number
    /// for each column, and `⟨h, ψ(0)⟩`, which is 0 unless the kernel is normalised.
    fn direction(&self, z: &[f32]) -> Result<(Vec<f32>, f64), Error> {
        match &self.space {
            Space::Basis(basis) => {
                let mut padded = z.to_vec();
                padded.resize(z.len().max(basis.dimension()), 0.0);
                let weights = basis.feature_direction(&padded)?.ok_or_else(|| {
                    Error::unsupported(format_args!(
                        "the basis of the kernel {:?} holds anchors or is tempered; without \
                         candidates only kernels that are linear in features are decoded",
                        basis.kernel().name()
                    ))
                })?;
                let terms = padded.iter().zip(basis.zero_row().unwrap_or_default());
                Ok((weights, terms.map(|(&z, &zero)| f64::from(z) * f64::from(zero)).sum()))
            }
            Space::Outputs { rows, width, zeros } => {
                let count = rows.len() / width.max(&1);
                Error::check_length("coefficients of training outputs", z.len(), count)?;
                let mut weights = vec![0.0f64; *width];
                for (&alpha, row) in z.iter().zip(rows.chunks_exact(*width)) {
                    let terms = weights.iter_mut().zip(row);
                    terms.for_each(|(w, &v)| *w += f64::from(alpha) * f64::from(v));
                }
                let weights = weights.into_iter().map(|w| w as f32).collect();
                Ok((weights, zeros.iter().map(|&at| f64::from(z[at])).sum()))
            }
        }
    }
}

/// Computes `s(y) y` of each row, row-major.
fn scaled(kernel: &dyn OutputKernel, block: &Block) -> Result<Vec<f32>, Error> {
    let mut values = Vec::with_capacity(block.len() * block.width());
    for (row, squared) in block.squared_norms().into_iter().enumerate() {
        let scale = scale(kernel, squared)?;
        let sparse = "sparse rows of outputs; rankings and label sets are dense rows or bits";
        ensure(block.kind() != RowKind::Sparse, || Error::unsupported(sparse))?;
        let row = block.dense_row(row).into_iter();
        values.extend(row.map(|value| (f64::from(value) * scale) as f32));
    }
    Ok(values)
}

/// Returns the scale of rows of a squared norm, under a kernel that is linear in scaled features.
fn scale(kernel: &dyn OutputKernel, squared_norm: f64) -> Result<f64, Error> {
    kernel.feature_scale(squared_norm).ok_or_else(|| {
        Error::unsupported(format_args!(
            "the kernel {:?} is not linear in features; without candidates only such kernels are \
             decoded",
            kernel.name()
        ))
    })
}

/// Refuses kernels but the linear one.
fn check_unscaled(kernel: &dyn OutputKernel, rows: &str) -> Result<(), Error> {
    ensure(!kernel.is_normalised() && scale(kernel, 4.0)? == 1.0, || {
        let name = kernel.name();
        Error::unsupported(format_args!("the kernel {name:?}; {rows} need the linear kernel"))
    })
}

/// Returns the best of all rows of numbers for a direction w in feature space: w itself, which minimises `‖w − y‖²`
/// (thesis, equation 5.22). Its score `⟨w, y⟩ − ½‖y‖²` is `½‖w‖²`.
fn best_numbers(weights: Vec<f32>) -> Result<DecodedOutput, Error> {
    all_finite(&weights, |at| format!("number {at}"))?;
    let squared: f64 = weights.iter().map(|&weight| f64::from(weight).powi(2)).sum();
    Ok(DecodedOutput { numbers: weights, score: 0.5 * squared, ..DecodedOutput::default() })
}

/// Returns the best of all sets of labels for a direction w in feature space: the set Y whose size is in `sizes` with
/// the largest `⟨z, ψ̃(Y)⟩ + b(Y)`, exactly.
///
/// Rows are zeros and ones with a column for each label, as `dsokr_data::featurizers::LabelVocabulary` makes them,
/// under a kernel that is linear in rows scaled by s(|Y|). As in decoding `b(Y) = −½ k(Y, Y) = −½ s(|Y|)² |Y|`, and 0
/// under a normalised kernel. The best set of k labels has the k largest weights, so one pass over sorted weights sees
/// every size. If weights are equal the first label is taken, if scores are equal the smaller set. The empty set has
/// the score that a normalised kernel gives it by its own feature ([`zero_row`](dsokr_basis::Basis::zero_row)).
fn best_labels(
    kernel: &dyn OutputKernel,
    weights: &[f32],
    zero: f64,
    sizes: RangeInclusive<usize>,
) -> Result<DecodedOutput, Error> {
    let labels = weights.len();
    ensure_allowed(
        !sizes.is_empty() && *sizes.end() <= labels,
        format_args!("sets of {}..={} labels", sizes.start(), sizes.end()),
        format_args!("sizes within 0..={labels}, at least one"),
    )?;
    all_finite(weights, |at| format!("weight {at}"))?;
    let mut order: Vec<u32> = (0..labels as u32).collect();
    order.sort_by(|&a, &b| weights[b as usize].total_cmp(&weights[a as usize]));
    let mut best: Option<(usize, f64)> = None;
    let mut sum = 0.0;
    for size in 0..=*sizes.end() {
        if let Some(&label) = size.checked_sub(1).and_then(|last| order.get(last)) {
            sum += f64::from(weights[label as usize]);
        }
        let scale = scale(kernel, size as f64)?;
        let squared_norm = if kernel.is_normalised() { 1.0 } else { scale * scale * size as f64 };
        let constant = candidate_constant(squared_norm, kernel.is_normalised());
        let score = if size == 0 { zero } else { scale * sum + constant };
        if sizes.contains(&size) && best.is_none_or(|(_, most)| score > most) {
            best = Some((size, score));
        }
    }
    let (size, score) = best.unwrap_or_default();
    order.truncate(size);
    order.sort_unstable();
    Ok(DecodedOutput { parts: order, score, ..DecodedOutput::default() })
}
