//! Learned output embeddings: reduced rank regression and Output Embedding Learning.

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use dsokr_core::{Error, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::linear::sum_of_parts;

/// Rows of a part of a covariance.
const ROWS: usize = 2048;

/// G, p orthonormal directions of the output space: the embedding `y ↦ G ψ̃(y)` that is easiest to predict
/// and to reconstruct.
///
/// It minimises `(c/n) Σ_i ‖GᵀG ĥ(x_i) − ĥ(x_i)‖² + ((1−c)/m) Σ_j ‖GᵀG ψ̃(y_j) − ψ̃(y_j)‖²` over G with
/// orthonormal rows, for the predictions `ĥ(x_i)` of a regression on n training inputs and m outputs
/// that need no inputs (output-embedding-learning, equation 7). With c = 1 it is the projection of
/// reduced rank regression, which looks only at the predictions (reduced-rank paper, algorithm 1).
///
/// Everything is in coordinates, q numbers each: of plain vectors, or of outputs in a
/// [`Basis`](dsokr_basis::Basis), where the published algorithms on Gram matrices become one
/// eigendecomposition of a q × q matrix. `ĥ` may be any model's predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputEmbedding {
    /// Gᵀ, q × p: a direction a column.
    directions: Mat<f64>,
    /// All q eigenvalues of the mixed covariance, descending; the sum beyond the p-th is what the
    /// embedding loses.
    spectrum: Vec<f64>,
}

impl OutputEmbedding {
    /// Returns Gᵀ, q × p: a direction a column.
    pub fn directions(&self) -> MatRef<'_, f64> {
        self.directions.as_ref()
    }

    /// Returns all q eigenvalues of the mixed covariance, descending; the sum beyond the p-th is what the
    /// embedding loses.
    pub fn spectrum(&self) -> &[f64] {
        &self.spectrum
    }

    /// Learns `rank` directions from the predictions of the training inputs, and from outputs in
    /// the share 1 − c that c = `supervised` leaves them; both row-major, `width` coordinates a row.
    ///
    /// The sum runs in an order that the sizes fix: the number of threads changes nothing.
    ///
    /// ```
    /// use dsokr_machines::OutputEmbedding;
    ///
    /// // Predictions along (1, 1), noise across: one direction keeps what can be predicted.
    /// let predictions = [1.0, 1.0, -2.0, -2.0, 0.5, 0.5];
    /// let embedding = OutputEmbedding::learn(2, &predictions, &[], 1.0, 1)?;
    /// let kept = embedding.restore(&embedding.project(&[1.5, 0.5])?)?;
    /// assert!((kept[0] - 1.0).abs() < 1e-6 && (kept[1] - 1.0).abs() < 1e-6);
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] for no predictions, a rank outside of `1..=width`, no outputs where c < 1, and
    /// unless 0 ≤ c ≤ 1; [`Error::Shape`] for coordinates that are not whole rows;
    /// [`Error::NotFinite`]; [`Error::Numeric`] where all coordinates are zero.
    pub fn learn(
        width: usize,
        predictions: &[f32],
        outputs: &[f32],
        supervised: f64,
        rank: usize,
    ) -> Result<Self, Error> {
        Self::learn_weighted(width, predictions, &RowWeights::equal(), outputs, supervised, rank)
    }

    /// Learns as [`learn`](Self::learn), with the weights of the training inputs: one of weight 2 counts as two equal inputs.
    ///
    /// # Errors
    /// The errors of [`learn`](Self::learn); [`Error::Shape`] unless there is one weight for each prediction, or none.
    pub fn learn_weighted(
        width: usize,
        predictions: &[f32],
        weights: &RowWeights,
        outputs: &[f32],
        supervised: f64,
        rank: usize,
    ) -> Result<Self, Error> {
        let holds = (0.0..=1.0).contains(&supervised);
        Error::ensure(holds, "supervised", supervised, "from 0 to 1")?;
        Error::check_range("rank of the embedding", rank, 1..=width)?;
        let mut total = Mat::<f64>::zeros(width, width);
        let equal = RowWeights::equal();
        let parts = [
            ("predictions", predictions, weights, supervised),
            ("coordinates of outputs", outputs, &equal, 1.0 - supervised),
        ];
        for (what, rows, weights, share) in parts {
            check(what, width, rows)?;
            if share == 0.0 {
                continue;
            }
            Error::check_count(what, rows.len())?;
            let n = rows.len() / width;
            weights.check(n)?;
            let moment = second_moment(width, rows, weights);
            total += faer::Scale(share / weights.total(n)) * moment;
        }
        let Eigen { values: spectrum, vectors } = symmetric_eigen(total.as_ref())?;
        if spectrum[0].is_nan() || spectrum[0] <= 0.0 {
            return Err(Error::Numeric("all coordinates are zero".into()));
        }
        let directions = vectors.as_ref().subcols(0, rank).to_owned();
        Ok(Self { directions, spectrum })
    }

    /// Returns the same directions, fewer of them: one eigendecomposition serves every rank.
    ///
    /// # Errors
    /// [`Error::Value`] unless 1 ≤ `rank` ≤ [`rank`](Self::rank).
    pub fn truncate(&self, rank: usize) -> Result<Self, Error> {
        Error::check_range("rank of the embedding", rank, 1..=self.rank())?;
        let directions = self.directions.as_ref().subcols(0, rank).to_owned();
        Ok(Self { directions, ..self.clone() })
    }

    /// Returns q, the number of coordinates that are embedded.
    pub fn width(&self) -> usize {
        self.directions.nrows()
    }

    /// Returns p, the number of directions.
    pub fn rank(&self) -> usize {
        self.directions.ncols()
    }

    /// Returns `G z` of coordinates z, n × p row-major: of predictions the queries, of outputs the candidates.
    /// `⟨G ĥ(x), G ψ̃(y)⟩` is the score of equation 9, with the constant `−½ k(y, y)` of the whole
    /// output.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates that are not whole rows, [`Error::NotFinite`].
    pub fn project(&self, coordinates: &[f32]) -> Result<Vec<f32>, Error> {
        check("coordinates", self.width(), coordinates)?;
        Ok(map(self.directions.transpose(), coordinates))
    }

    /// Computes `Gᵀ z` of embedded points z, n × q row-major: a reduced rank prediction is
    /// `GᵀG ĥ(x)`, restored from projected predictions.
    ///
    /// # Errors
    /// The errors of [`project`](Self::project).
    pub fn restore(&self, embedded: &[f32]) -> Result<Vec<f32>, Error> {
        check("embedded points", self.rank(), embedded)?;
        Ok(map(self.directions.as_ref(), embedded))
    }
}

/// Checks that coordinates are whole rows of finite numbers.
fn check(what: &'static str, width: usize, rows: &[f32]) -> Result<(), Error> {
    Error::check_length(what, rows.len(), rows.len().next_multiple_of(width))?;
    Error::check_finite(what, width, rows)
}

/// Computes `Σ_i w_i z_i z_iᵀ`.
fn second_moment(width: usize, rows: &[f32], weights: &RowWeights) -> Mat<f64> {
    let parts: Vec<&[f32]> = rows.chunks(ROWS * width).collect();
    sum_of_parts(width, parts.len(), |at| {
        let mut wide: Vec<f64> = parts[at].iter().map(|&value| value.into()).collect();
        if !weights.is_equal() {
            for (row, values) in wide.chunks_exact_mut(width).enumerate() {
                let root = weights.get(at * ROWS + row).sqrt();
                values.iter_mut().for_each(|value| *value *= root);
            }
        }
        let rows = MatRef::from_column_major_slice(&wide, width, wide.len() / width);
        multiply(rows, rows.transpose())
    })
}

/// Returns `A z` of each row z.
pub(crate) fn map(matrix: MatRef<f64>, rows: &[f32]) -> Vec<f32> {
    let to = matrix.nrows();
    let from = matrix.ncols();
    let mut out = vec![0.0f32; rows.len() / from * to];
    out.par_chunks_mut(ROWS * to).zip(rows.par_chunks(ROWS * from)).for_each(|(out, rows)| {
        let wide: Vec<f64> = rows.iter().map(|&value| value.into()).collect();
        let n = wide.len() / from;
        let mut products = vec![0.0f64; out.len()];
        let sums = MatMut::from_column_major_slice_mut(&mut products, to, n);
        let rows = MatRef::from_column_major_slice(&wide, from, n);
        matmul(sums, Accum::Replace, matrix, rows, 1.0, Par::Seq);
        out.iter_mut().zip(products).for_each(|(out, value)| *out = value as f32);
    });
    out
}
