//! The fold of the training pairs that a reranker leaves out, where no machine is fitted anew for it.

use crate::config::KernelMachineConfig;
use crate::config::folds::rest;
use crate::error::Error;
use crate::targets::Problem;

/// A fold of the training pairs that comes last in the fit: the model of the pairs before it is then part of that fit.
pub(super) struct LastFold {
    /// All pairs, those of the fold last.
    pub order: Vec<usize>,
    /// The number of pairs before the fold.
    pub prefix: usize,
}

impl LastFold {
    /// Returns the fold that a reranker leaves out; none where a machine is fitted anew without it, or there is no reranker.
    pub fn new(settings: &KernelMachineConfig, problem: &Problem) -> Result<Option<Self>, Error> {
        let config = &problem.config;
        let reranker = config.decoding.reranker.as_ref().filter(|reranker| !reranker.refit);
        let Some(reranker) = reranker else { return Ok(None) };
        let folds = reranker.parts(settings.held_out()).draw(&problem.dataset, config.seed)?;
        Ok(folds.first().map(|fold| {
            let mut order = rest(fold, problem.len());
            let prefix = order.len();
            order.extend(fold);
            Self { order, prefix }
        }))
    }

    /// Returns the pairs before the fold, and those of the fold.
    pub fn parts(&self) -> [&[usize]; 2] {
        let (rest, fold) = self.order.split_at(self.prefix);
        [rest, fold]
    }
    /// Returns rows in the order of the pairs, of those that are in the order of the fit.
    pub fn in_order_of_pairs(&self, rows: &[f32]) -> Vec<f32> {
        let mut ordered = vec![0.0; rows.len()];
        let width = rows.len() / self.order.len().max(1);
        for (row, &pair) in rows.chunks_exact(width.max(1)).zip(&self.order) {
            ordered[pair * width..][..width].copy_from_slice(row);
        }
        ordered
    }
}
