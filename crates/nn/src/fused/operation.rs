//! Operations of the CPU engine with their own backward passes, as operations of Burn.

use std::fmt::{self, Debug};

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::{
    BalancedCheckpointing, CheckpointStrategy, NoCheckpointing,
};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, AutodiffBackend, Backend, BackendTensor, DispatchAutodiffContext,
    DispatchKindConversion, DispatchTensor, Flex, GradientCheckpointingStrategy,
};
use burn::tensor::Tensor;

use super::buffer::contiguous;

/// An operation on N tensors of 32-bit floats. Its inputs come in row-major order.
pub trait CpuOp<const N: usize>: Clone + Send + 'static {
    /// The data of the backward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// The value, and the data of its backward pass.
    fn forward(&self, inputs: [FlexTensor; N]) -> (FlexTensor, Self::Saved);

    /// The value outside of training.
    fn value(&self, inputs: [FlexTensor; N]) -> FlexTensor {
        self.forward(inputs).0
    }

    /// The gradients of the inputs that are `wanted`, for the gradient `dy` of the value.
    fn backward(
        self,
        saved: Self::Saved,
        dy: FlexTensor,
        wanted: [bool; N],
    ) -> [Option<FlexTensor>; N];
}

/// The value of an operation, which autodiff records if an input is on an autodiff device.
///
/// # Panics
/// If an input is not a tensor of floats on the CPU engine.
pub fn apply<Op: CpuOp<N>, const N: usize, const D: usize>(
    op: Op,
    inputs: [DispatchTensor; N],
) -> Tensor<D> {
    use DispatchAutodiffContext::{Disabled, Enabled};
    let context = inputs.iter().fold(Disabled, |context, input| context.merge(input.autodiff));
    Tensor::from_dispatch(match context {
        Disabled => {
            into_dispatch::<Flex>(op.value(inputs.map(from_dispatch::<Flex>).map(contiguous)))
        }
        Enabled(GradientCheckpointingStrategy::Disabled) => {
            recorded::<NoCheckpointing, Op, N>(op, inputs)
        }
        Enabled(GradientCheckpointingStrategy::Balanced) => {
            recorded::<BalancedCheckpointing, Op, N>(op, inputs)
        }
    })
}

fn recorded<C: CheckpointStrategy, Op: CpuOp<N>, const N: usize>(
    op: Op,
    inputs: [DispatchTensor; N],
) -> DispatchTensor
where
    DispatchTensor: DispatchKindConversion<Autodiff<Flex, C>>,
{
    let inputs = inputs.map(|input| match input.autodiff {
        DispatchAutodiffContext::Enabled(_) => from_dispatch::<Autodiff<Flex, C>>(input),
        DispatchAutodiffContext::Disabled => {
            Autodiff::<Flex, C>::from_inner(from_dispatch::<Flex>(input))
        }
    });
    let parts = inputs.map(|input| input.into_parts());
    let tensors = parts.each_ref().map(|(tensor, _)| contiguous(tensor.clone()));
    let nodes = parts.map(|(_, node)| node);
    let (y, saved) = op.forward(tensors);
    let recorded = match Step(op).prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(saved, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    into_dispatch::<Autodiff<Flex, C>>(recorded)
}

/// The primitive of a tensor on the CPU engine, without autodiff.
///
/// # Panics
/// If the tensor is on a different device.
pub fn primitive<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    from_dispatch::<Flex>(tensor.into_dispatch())
}

fn from_dispatch<B: Backend>(tensor: DispatchTensor) -> FloatTensor<B>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let tensor = <DispatchTensor as DispatchKindConversion<B>>::try_into_backend(tensor);
    tensor.unwrap_or_else(|wrong| panic!("{wrong}")).float()
}

fn into_dispatch<B: Backend>(tensor: FloatTensor<B>) -> DispatchTensor
where
    DispatchTensor: DispatchKindConversion<B>,
{
    <DispatchTensor as DispatchKindConversion<B>>::from_backend(BackendTensor::Float(tensor))
}

/// The backward step of an operation.
struct Step<Op>(Op);

impl<Op> Debug for Step<Op> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("backward step")
    }
}

impl<Op: CpuOp<N>, const N: usize> Backward<Flex, N> for Step<Op> {
    type State = Op::Saved;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<Flex>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        for (parent, gradient) in
            ops.parents.into_iter().zip(self.0.backward(ops.state, dy, wanted))
        {
            if let Some((parent, gradient)) = parent.zip(gradient) {
                grads.register::<Flex>(parent.id, gradient);
            }
        }
    }
}
