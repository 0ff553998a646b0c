use faer::Mat;
use rayon::prelude::*;

use super::draw::Stream;
use super::picked::Picked;
use super::{COLUMNS, Columns, SketchKind, leverage};
use crate::Error;

/// A drawn sketch R = W S.
///
/// ```
/// use dsokr_basis::{Sketch, SketchKind};
///
/// let sketch = Sketch::draw(&SketchKind::Subsampling { replacement: false }, 2, 8, 0)?;
/// assert_eq!(sketch.anchors().len(), 2);
/// let dense = sketch.dense();
/// assert_eq!((dense.nrows(), dense.ncols()), (2, 8));
/// assert_eq!(dense[(0, sketch.anchors()[0])], 2.0); // √(n/m)
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    kind: SketchKind,
    stream: Stream,
    /// The entries, where they are few; else columns are drawn block by block when they are needed.
    picked: Option<Picked>,
}

impl Sketch {
    /// Draws a sketch of m rows for n outputs, of any kind that does not depend on the data.
    ///
    /// # Errors
    /// Those of [`SketchKind::validate`]; [`Error::Unsupported`] when a sparsified sketch has no
    /// non-zero, and for [`SketchKind::Leverage`], which is drawn by [`fit`](Self::fit).
    pub fn draw(kind: &SketchKind, m: usize, n: usize, seed: u64) -> Result<Self, Error> {
        kind.validate(m, n)?;
        let stream = Stream { name: kind.name(), m, n, seed };
        let picked = kind.distribution(|kind| kind.draw(&stream)).map_err(Error::Unsupported)?;
        Ok(Self { kind: kind.clone(), stream, picked })
    }

    /// Draws a leverage-score sketch: m outputs with replacement, output i with probability
    /// `p_i = scores[i] / Σ scores` and weight `1/√(m p_i)`.
    ///
    /// `E[RᵀR]` is the identity on the outputs whose score is not zero.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `kind` is [`SketchKind::Leverage`]; those of
    /// [`SketchKind::validate`]; [`Error::Row`] for scores that are negative, not finite,
    /// or all zero.
    pub fn by_scores(
        kind: &SketchKind,
        m: usize,
        scores: &[f64],
        seed: u64,
    ) -> Result<Self, Error> {
        if !matches!(kind, SketchKind::Leverage { .. }) {
            return Err(Error::Unsupported(format!(
                "a {} sketch is not drawn from scores, only a leverage-score sketch is",
                kind.name()
            )));
        }
        kind.validate(m, scores.len())?;
        let stream = Stream { name: kind.name(), m, n: scores.len(), seed };
        let picked = Some(leverage::by_scores(&stream, scores)?);
        Ok(Self { kind: kind.clone(), stream, picked })
    }

    /// m, the number of rows of R.
    pub fn m(&self) -> usize {
        self.stream.m
    }

    /// n, the number of columns of R.
    pub fn n(&self) -> usize {
        self.stream.n
    }

    /// The seed that it was drawn with.
    pub fn seed(&self) -> u64 {
        self.stream.seed
    }

    /// The kind it was drawn from.
    pub fn kind(&self) -> &SketchKind {
        &self.kind
    }

    /// Number of blocks of columns that [`columns`](Self::columns) can draw.
    pub fn blocks(&self) -> usize {
        let columns = self.picked.as_ref().map_or(self.n(), |picked| picked.anchors().len());
        columns.div_ceil(COLUMNS)
    }

    /// The columns of R in one block that are not zero; always the same ones. Empty for a block
    /// beyond [`blocks`](Self::blocks).
    pub fn columns(&self, block: usize) -> Columns {
        match &self.picked {
            Some(picked) => picked.columns(self.m(), block),
            None => self.kind.distribution(|kind| kind.columns(&self.stream, block)),
        }
    }

    /// The outputs that R touches, increasing.
    pub fn anchors(&self) -> Vec<usize> {
        match &self.picked {
            Some(picked) => picked.anchors().to_vec(),
            None => {
                let rows = (0..self.blocks()).into_par_iter().map(|at| self.columns(at).rows);
                rows.collect::<Vec<_>>().concat()
            }
        }
    }

    /// W, m × a: the columns of R that are not zero, in the order of the anchors. For small
    /// sketches; the fit reads [`columns`](Self::columns).
    pub fn mixing(&self) -> Mat<f64> {
        let blocks: Vec<Columns> = (0..self.blocks()).map(|block| self.columns(block)).collect();
        let values: Vec<f32> = blocks.into_iter().flat_map(|columns| columns.values).collect();
        Mat::from_fn(self.m(), values.len() / self.m(), |i, j| values[j * self.m() + i].into())
    }

    /// R itself, m × n, for small sizes and comparisons.
    pub fn dense(&self) -> Mat<f64> {
        let mut dense = Mat::zeros(self.m(), self.n());
        let mixing = self.mixing();
        for (column, anchor) in self.anchors().into_iter().enumerate() {
            dense.col_mut(anchor).copy_from(mixing.col(column));
        }
        dense
    }
}
