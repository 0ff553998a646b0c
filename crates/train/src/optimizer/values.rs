//! The values of parameters, in memory and exchanged.

use burn::backend::flex::FlexTensor;
use burn::module::Param;
use burn::tensor::Tensor;
use dsokr_kernels::{owned, primitive};

/// Returns a parameter with other values than it has, which learns as before.
pub(super) fn with_values<const D: usize>(
    param: Param<Tensor<D>>,
    values: impl FnOnce(Tensor<D>) -> Tensor<D>,
) -> Param<Tensor<D>> {
    let (id, weights, mapper) = param.consume();
    let learns = weights.is_require_grad();
    let checkpointing = weights.gradient_checkpointing_strategy();
    let mut weights = Tensor::from_inner(values(weights.inner()));
    if let Some(strategy) = checkpointing {
        weights = weights.with_gradient_checkpointing_strategy(strategy);
    }
    Param::from_mapped_value(id, weights.set_require_grad(learns), mapper)
}

/// Returns the memory of a tensor of the CPU engine.
pub(super) fn host<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    owned(primitive(tensor))
}
