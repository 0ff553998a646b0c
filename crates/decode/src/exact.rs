use std::ops::RangeInclusive;

use dsokr_basis::{Basis, Block, Cancellation, OutputKernel, RowKind, RowSource};
use rayon::prelude::*;

use crate::direction::{self, Direction};
use crate::error::check_len;
use crate::permutations::{Ranking, best_by_pairs, best_by_positions};
use crate::{Error, LabelSet, Queries, label_sets};

/// What the columns of output rows stand for, which decides how the best structure is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Rankings as [`kemeny_signs`](dsokr_basis::features::kemeny_signs): K(K−1)/2 columns. Linear
    /// ordering, for up to 16 items.
    KemenySigns,
    /// Rankings as [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot): K² columns. Linear
    /// assignment.
    HammingOneHot,
    /// Label sets as [`LabelVocabulary`](dsokr_basis::features::LabelVocabulary) makes them, a column
    /// for each label; only sets of these sizes are considered.
    LabelBits(RangeInclusive<usize>),
}

/// The pre-image of a prediction: the best structure, with its score `⟨z, ψ̃(y)⟩ + b(y)`.
#[derive(Clone, Debug, PartialEq)]
pub enum PreImage {
    /// A permutation; `b` is the same for all and left out of its score.
    Ranking(Ranking),
    /// A set of labels.
    Labels(LabelSet),
}

/// Decoding without candidates: the best of all rankings, or of all label sets, for each prediction.
///
/// It needs an output kernel that is linear in scaled features, `k(y, y') = s(y) s(y') ⟨y, y'⟩` (the
/// linear, cosine, n-gram, Kemeny and Hamming kernels), because a prediction is then a direction w in
/// feature space, and `⟨z, ψ̃(y)⟩ = s(y) ⟨w, y⟩`. Predictions are either coordinates in a
/// [basis](ExactSearch::in_basis), with `w = (Ω R Φ)ᵀ z`, or coefficients of
/// [training outputs](ExactSearch::on_outputs), with `w = Σ_j α_j s(u_j) u_j`. The empty label set has a feature
/// of its own under a normalised kernel, and is then searched with the others.
///
/// ```
/// use dsokr_basis::features::hamming_one_hot;
/// use dsokr_basis::{Features, Kernel};
/// use dsokr_decode::{Encoding, ExactSearch, Queries, PreImage};
///
/// // Ranks of three items. The prediction weighs the first ranking more than the second.
/// let outputs = Features::Bits(hamming_one_hot(&[vec![2, 0, 1], vec![0, 1, 2]])?);
/// let search = ExactSearch::on_outputs(&Kernel::Hamming, &outputs, Encoding::HammingOneHot)?;
/// let PreImage::Ranking(best) = &search.best(&Queries::new(2, &[0.7, 0.3])?)?[0] else {
///     unreachable!("one-hot rows are rankings");
/// };
/// assert_eq!(best.order, [1, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExactSearch<'a> {
    space: Space<'a>,
    encoding: Encoding,
}

/// What predictions are coordinates of.
enum Space<'a> {
    Basis(&'a Basis),
    /// Scaled output rows, `[n × d]` row-major.
    Outputs {
        kernel: &'a dyn OutputKernel,
        rows: Vec<f32>,
        width: usize,
        /// The rows that are zero and have a feature of their own.
        zeros: Vec<usize>,
    },
}

impl<'a> ExactSearch<'a> {
    /// For predictions z in the coordinates of a basis. Predictions of fewer numbers are of its
    /// leading coordinates.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a basis that holds anchors or is tempered, and for rows whose width
    /// is not that of the encoding; [`Error::OutOfRange`] for a number of items that is not searched
    /// exactly and for set sizes beyond the number of labels.
    pub fn in_basis(basis: &'a Basis, encoding: Encoding) -> Result<Self, Error> {
        Self { space: Space::Basis(basis), encoding }.checked(basis.dimension())
    }

    /// For predictions α(x), one coefficient for each row of `outputs`, as a kernel machine gives
    /// them that has no output sketch: `h(x) = Σ_j α_j(x) ψ(u_j)`.
    ///
    /// # Errors
    /// As [`ExactSearch::in_basis`], with [`Error::Unsupported`] for a kernel that is not linear in
    /// scaled features; errors from reading the rows.
    pub fn on_outputs(
        kernel: &'a dyn OutputKernel,
        outputs: &dyn RowSource,
        encoding: Encoding,
    ) -> Result<Self, Error> {
        let block = dsokr_basis::features::read(outputs, 0..outputs.len())?;
        let rows = scaled(kernel, &block)?;
        let (width, count) = (block.width(), block.len());
        let norms = block.squared_norms().into_iter().enumerate();
        let zeros = norms.filter(|&(_, squared)| squared == 0.0 && kernel.is_normalised());
        let zeros = zeros.map(|(row, _)| row).collect();
        Self { space: Space::Outputs { kernel, rows, width, zeros }, encoding }.checked(count)
    }

    /// Searches for the prediction 0, which meets whatever could be refused.
    fn checked(self, dim: usize) -> Result<Self, Error> {
        self.one(&vec![0.0; dim.max(1)]).map(|_| self)
    }

    /// The best structure for each prediction.
    ///
    /// Runs on the current rayon pool; the result does not depend on its size. Of structures that tie
    /// the first is taken: the lexicographically first order, the first labels, the smaller set.
    ///
    /// # Errors
    /// [`Error::Basis`] or [`Error::Length`] for predictions of a different number of coordinates;
    /// [`Error::NotFinite`], in [`Error::At`] with the query, for weights that overflow.
    pub fn best(&self, queries: &Queries) -> Result<Vec<PreImage>, Error> {
        let cancellation = Cancellation::current();
        let rows = queries.rows().par_chunks_exact(queries.dim()).enumerate();
        rows.map(|(at, z)| {
            cancellation.check()?;
            self.one(z).map_err(|error| error.at(format!("query {}", queries.name(at))))
        })
        .collect()
    }

    fn one(&self, z: &[f32]) -> Result<PreImage, Error> {
        let direction = self.direction(z)?;
        let kernel = self.kernel();
        match &self.encoding {
            Encoding::KemenySigns => {
                best_by_pairs(kernel, &direction.weights).map(PreImage::Ranking)
            }
            Encoding::HammingOneHot => {
                best_by_positions(kernel, &direction.weights).map(PreImage::Ranking)
            }
            Encoding::LabelBits(sizes) => {
                label_sets::best_in(kernel, &direction, sizes.clone()).map(PreImage::Labels)
            }
        }
    }

    fn kernel(&self) -> &dyn OutputKernel {
        match &self.space {
            Space::Basis(basis) => basis.kernel(),
            Space::Outputs { kernel, .. } => *kernel,
        }
    }

    /// w of a prediction.
    fn direction(&self, z: &[f32]) -> Result<Direction, Error> {
        match &self.space {
            Space::Basis(basis) if z.len() < basis.dimension() => {
                let mut padded = z.to_vec();
                padded.resize(basis.dimension(), 0.0);
                direction::direction(basis, &padded)
            }
            Space::Basis(basis) => direction::direction(basis, z),
            Space::Outputs { rows, width, zeros, .. } => {
                let count = rows.len() / width.max(&1);
                check_len("coefficients of training outputs", z.len(), count)?;
                let mut weights = vec![0.0f64; *width];
                for (&alpha, row) in z.iter().zip(rows.chunks_exact(*width)) {
                    let terms = weights.iter_mut().zip(row);
                    terms.for_each(|(w, &v)| *w += f64::from(alpha) * f64::from(v));
                }
                let weights = weights.into_iter().map(|w| w as f32).collect();
                Ok(Direction { weights, zero: zeros.iter().map(|&at| f64::from(z[at])).sum() })
            }
        }
    }
}

/// `s(y) y` of each row, row-major.
fn scaled(kernel: &dyn OutputKernel, block: &Block) -> Result<Vec<f32>, Error> {
    let mut values = Vec::with_capacity(block.len() * block.width());
    for (row, squared) in block.squared_norms().into_iter().enumerate() {
        let scale = direction::scale(kernel, squared)?;
        if block.kind() == RowKind::Sparse {
            return Err(Error::Unsupported(
                "sparse rows of outputs; rankings and label sets are dense rows or bits".into(),
            ));
        }
        let row = block.dense_row(row).into_iter();
        values.extend(row.map(|value| (f64::from(value) * scale) as f32));
    }
    Ok(values)
}
