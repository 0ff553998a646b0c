//! The map from inputs to their features.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use dsokr_basis::eigenbasis::multiply;
use dsokr_basis::features::{ranges, read};
use dsokr_basis::kernel::gram;
use dsokr_basis::sketch::Mixing;
use dsokr_basis::{Basis, Block, Features, OutputKernel, RowKind, RowSource};
use dsokr_core::{Cancellation, Error};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;

use super::linear_index::LinearIndex;
use super::precomputed::numbers;
use super::training::TrainingInputs;
use crate::linear::{PANEL, product};

/// Numbers in a block of training rows: 64 MiB of features.
const BLOCK: usize = 8 << 20;

/// Rows whose features one task mixes.
const ROWS: usize = 128;

/// Anchors in one product.
pub(super) const ANCHORS: usize = 1024;

/// The features `t(x)` of inputs, which the weights of a machine multiply.
#[derive(Clone, Debug)]
pub(crate) enum FeatureMap {
    /// Kernel values with anchors, or combinations of them.
    Anchors(AnchorFeatures),
    /// Values of a precomputed kernel with this number of training inputs, which come with each input.
    Given { inputs: usize },
    /// The coordinates in a basis.
    Basis(Box<Basis>),
}

/// `t(x) = G W k^x` of the values `k^x` of a kernel with anchors.
#[derive(Clone, Debug)]
pub(crate) struct AnchorFeatures {
    pub(crate) kernel: Arc<dyn OutputKernel>,
    pub(crate) anchors: Arc<Features>,
    /// W, m × a; none for the identity.
    pub(crate) mixing: Option<Mixing>,
    /// G, r × m; none for the identity.
    pub(super) turn: Option<Mat<f64>>,
    /// The anchors by their columns, where kernel values in single precision come from those; made when first used.
    index: OnceLock<Option<Arc<LinearIndex>>>,
}

impl FeatureMap {
    /// Returns kernel values with anchors.
    pub(crate) fn anchors(kernel: Arc<dyn OutputKernel>, anchors: Arc<Features>) -> Self {
        Self::Anchors(AnchorFeatures::new(kernel, anchors, None))
    }

    /// Returns kernel values with all training inputs.
    ///
    /// # Errors
    /// Rows that the kernel does not take.
    pub(crate) fn every(inputs: &TrainingInputs) -> Result<Self, Error> {
        match inputs {
            TrainingInputs::Gram(gram) => Ok(Self::Given { inputs: gram.values().nrows() }),
            TrainingInputs::Rows(rows, kernel) => {
                kernel.validate(rows.kind())?;
                let all = read(*rows, 0..rows.len())?;
                kernel.check(&all)?;
                let mut anchors = Features::empty(rows.kind(), rows.width())?;
                anchors.append(&all)?;
                Ok(Self::anchors(Arc::clone(kernel), Arc::new(anchors)))
            }
        }
    }

    /// Returns the number of features.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Anchors(features) => features.len(),
            Self::Given { inputs } => *inputs,
            Self::Basis(basis) => basis.dimension(),
        }
    }

    /// Returns the number of columns of input rows; of a precomputed kernel, of its values with the training inputs.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Anchors(features) => features.anchors.width(),
            Self::Given { inputs } => *inputs,
            Self::Basis(basis) => basis.width(),
        }
    }

    /// Returns the kind that input rows are turned into; none where features are given.
    pub(crate) fn kind(&self) -> Option<RowKind> {
        match self {
            Self::Anchors(features) => Some(features.anchors.kind()),
            Self::Given { .. } => None,
            Self::Basis(basis) => Some(basis.kind()),
        }
    }

    /// Returns the features of some rows, a column each.
    ///
    /// # Errors
    /// Rows that the kernel or the basis does not take; [`Error::Value`] for a precomputed kernel, whose values are not
    /// those of rows; errors from reading the rows.
    pub(crate) fn of_rows(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Mat<f64>, Error> {
        match self {
            Self::Anchors(features) => features.of_rows(rows, range),
            Self::Given { .. } => Err(given_only()),
            Self::Basis(basis) => {
                let projection = basis.project_range(rows, range)?;
                let mut columns = Mat::zeros(basis.dimension(), projection.len());
                columns.par_col_chunks_mut(ROWS).enumerate().for_each(|(task, columns)| {
                    for (column, row) in columns.col_iter_mut().zip(task * ROWS..) {
                        let values = column.iter_mut().zip(projection.row(row));
                        values.for_each(|(out, &value)| *out = value.into());
                    }
                });
                Ok(columns)
            }
        }
    }

    /// Returns the map to values of a precomputed kernel with all n training inputs, with the weights of the same
    /// function in it. The anchors of this map, or those of its basis, are numbers of inputs; inputs that are no anchors
    /// get weight 0. None where the anchors are not known.
    ///
    /// `weights` has a row for each feature.
    pub(crate) fn by_numbers(&self, weights: Mat<f64>, n: usize) -> Option<(Self, Mat<f64>)> {
        let (anchors, weights) = match self {
            Self::Anchors(features) => (features.anchors.as_ref(), features.pulled_back(weights)),
            Self::Basis(basis) => {
                let (anchors, map) = basis.expansion()?;
                (anchors, multiply(map.transpose(), weights.as_ref()))
            }
            Self::Given { .. } => return None,
        };
        let mut all = Mat::zeros(n, weights.ncols());
        for (at, number) in numbers(anchors).into_iter().enumerate() {
            // averaged models may have an anchor twice
            all.row_mut(number).iter_mut().zip(weights.row(at).iter()).for_each(|(w, v)| *w += v);
        }
        Some((Self::Given { inputs: n }, all))
    }
}

/// Returns the error for feature rows where a kernel was precomputed.
pub(crate) fn given_only() -> Error {
    let allowed = "values of the precomputed kernel with the training inputs";
    Error::value("the inputs", "feature rows", allowed)
}

impl AnchorFeatures {
    /// Returns the features `W k^x`, or `k^x` without W.
    pub(crate) fn new(
        kernel: Arc<dyn OutputKernel>,
        anchors: Arc<Features>,
        mixing: Option<Mixing>,
    ) -> Self {
        Self { kernel, anchors, mixing, turn: None, index: OnceLock::new() }
    }

    /// Returns the number of features.
    pub(crate) fn len(&self) -> usize {
        match (&self.turn, &self.mixing) {
            (Some(turn), _) => turn.nrows(),
            (None, Some(mixing)) => mixing.size(),
            (None, None) => self.anchors.len(),
        }
    }

    /// Returns the features of some rows, a column each.
    pub(crate) fn of_rows(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Mat<f64>, Error> {
        self.of_block(&read(rows, range)?)
    }

    /// Returns the features of the rows of a block, a column each.
    pub(crate) fn of_block(&self, rows: &Block) -> Result<Mat<f64>, Error> {
        Cancellation::current().check()?;
        self.kernel.check(rows)?;
        let mixed = match &self.mixing {
            Some(mixing) => self.mixed(mixing, rows)?,
            None => gram(self.kernel.as_ref(), &self.anchors, rows)?,
        };
        let Some(turn) = &self.turn else { return Ok(mixed) };
        let mut out = Mat::zeros(turn.nrows(), rows.len());
        out.par_col_chunks_mut(ROWS).enumerate().for_each(|(task, out)| {
            let mixed = mixed.as_ref().subcols(task * ROWS, out.ncols());
            matmul(out, Accum::Replace, turn.as_ref(), mixed, 1.0, Par::Seq);
        });
        Ok(out)
    }

    /// Computes `W k^x` of the rows of a block.
    fn mixed(&self, mixing: &Mixing, rows: &Block) -> Result<Mat<f64>, Error> {
        let cancellation = Cancellation::current();
        let mut out = Mat::zeros(mixing.size(), rows.len());
        for range in self.parts() {
            cancellation.check()?;
            let anchors = self.anchors.block(range.clone())?;
            let values = gram(self.kernel.as_ref(), &anchors, rows)?;
            out.par_col_chunks_mut(ROWS).enumerate().for_each(|(task, out)| {
                let values = values.as_ref().subcols(task * ROWS, out.ncols());
                mixing.add_mixed(range.clone(), values, out);
            });
        }
        Ok(out)
    }

    /// Returns ranges of anchors whose values are multiplied at once.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        ranges(0..self.anchors.len(), ANCHORS)
    }

    /// Returns the weights `(G W)ᵀ B` of the kernel values, a × p, for weights B of the features.
    pub(crate) fn pulled_back(&self, weights: Mat<f64>) -> Mat<f64> {
        let weights = self.before_turn(weights);
        match &self.mixing {
            Some(mixing) => mixing.turned(weights.transpose()).transpose().to_owned(),
            None => weights,
        }
    }

    /// Returns the weights `Gᵀ B` of the features `W k^x`.
    fn before_turn(&self, weights: Mat<f64>) -> Mat<f64> {
        let Some(turn) = &self.turn else { return weights };
        let mut out = Mat::zeros(turn.ncols(), weights.ncols());
        product(out.as_mut(), Accum::Replace, turn.transpose(), weights.as_ref(), PANEL);
        out
    }

    /// Returns the function of weights B of the features in as few numbers as there are: weights of `W k^x` with the
    /// entries of W, or weights of the kernel values.
    pub(crate) fn compact(&self, weights: Mat<f64>) -> (FeatureMap, Mat<f64>) {
        let kernel = Arc::clone(&self.kernel);
        let anchors = Arc::clone(&self.anchors);
        match &self.mixing {
            Some(mixing) if mixing.is_worth_keeping(weights.ncols()) => {
                let map = Self::new(kernel, anchors, Some(mixing.clone()));
                (FeatureMap::Anchors(map), self.before_turn(weights))
            }
            _ => (FeatureMap::anchors(kernel, anchors), self.pulled_back(weights)),
        }
    }

    /// Returns the anchors by their columns, where the kernel is linear in scaled sparse rows.
    pub(crate) fn index(&self) -> Option<&LinearIndex> {
        let index = self
            .index
            .get_or_init(|| LinearIndex::new(self.kernel.as_ref(), &self.anchors).map(Arc::new));
        index.as_deref()
    }
}

/// Returns ranges of rows whose features fit into a block.
pub(crate) fn blocks(rows: Range<usize>, features: usize) -> impl Iterator<Item = Range<usize>> {
    ranges(rows, (BLOCK / features.max(1)).clamp(PANEL, 1 << 16))
}
