//! The gradients of the parameters of a module, of which those of tables may be given by rows.

use std::collections::HashMap;

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use dsokr_kernels::{Gradient, RowGradient};

/// The gradients of a module's parameters: the ones that Burn's backward pass leaves, and the gradients of tables [by
/// rows](RowGradient).
#[derive(Debug, Default)]
pub struct Gradients {
    dense: GradientsParams,
    rows: HashMap<ParamId, RowGradient>,
}

impl Gradients {
    /// Creates gradients of both kinds.
    pub fn new(dense: GradientsParams, rows: HashMap<ParamId, RowGradient>) -> Self {
        Self { dense, rows }
    }

    /// Returns the gradient of a parameter by rows, if it is of that kind.
    pub fn rows(&self, id: ParamId) -> Option<&RowGradient> {
        self.rows.get(&id)
    }

    /// Returns the gradient of a parameter of D dimensions, if it is not by rows.
    pub fn dense<const D: usize>(&self, id: ParamId) -> Option<Tensor<D>> {
        self.dense.get(id)
    }

    /// Takes the gradient of a parameter of D dimensions.
    pub fn take<const D: usize>(&mut self, id: ParamId) -> Option<Gradient<D>> {
        match self.rows.remove(&id) {
            Some(rows) => Some(Gradient::Rows(rows)),
            None => self.dense.remove(id).map(Gradient::Dense),
        }
    }

    /// Sets the gradient of a parameter.
    pub fn set<const D: usize>(&mut self, id: ParamId, gradient: Gradient<D>) {
        match gradient {
            Gradient::Rows(rows) => drop(self.rows.insert(id, rows)),
            Gradient::Dense(dense) => self.dense.register(id, dense),
        }
    }

    /// Returns the number of parameters that have a gradient.
    pub fn len(&self) -> usize {
        self.dense.len() + self.rows.len()
    }

    /// Returns whether no parameter has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<GradientsParams> for Gradients {
    fn from(dense: GradientsParams) -> Self {
        Self { dense, rows: HashMap::new() }
    }
}
