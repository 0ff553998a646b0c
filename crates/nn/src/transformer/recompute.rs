use std::sync::Arc;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::layer::{Layer, Shared};
use super::{Architecture, Precision};
use crate::Pass;
use crate::fused::Sequences;

/// Parameters of a layer, and its input.
const PARENTS: usize = 13;

/// What is kept of a layer for its backward pass: its input and nothing that it computed.
#[derive(Clone, Debug)]
struct Kept {
    x: FlexTensor,
    layer: Layer,
    architecture: Architecture,
    sequences: Arc<Sequences>,
    pass: Pass,
    precision: Precision,
    index: usize,
}

/// [`Layer::forward`] that keeps its input alone and computes the layer once more in the backward
/// pass (activation checkpointing; Chen et al. 2016), dropout included, since its masks are functions
/// of the pass's key. `None` on another device than the CPU engine, and outside training.
pub(super) fn recomputed(
    layer: &Layer,
    x: &Tensor<2>,
    shared: Shared,
    index: usize,
) -> Option<Tensor<2>> {
    let matrices = layer.matrices().map(|param| node(param.val()));
    let vectors = layer.vectors().map(|param| node(param.val()));
    let x = x.clone().try_into_primitive::<Autodiff<Flex>>().ok()?;
    let (x, x_node) = x.into_parts();
    let mut nodes = vec![x_node];
    for node in matrices.into_iter().chain(vectors) {
        nodes.push(node?);
    }
    let Ok(nodes): Result<[_; PARENTS], _> = nodes.try_into() else {
        unreachable!("a layer has twelve parameters")
    };
    let inner = layer.valid();
    let y = inner.forward(Tensor::from_primitive::<Flex>(x.clone()), shared, index);
    let y = y.try_into_primitive::<Flex>().ok()?;
    let Shared { architecture, sequences, pass, precision } = shared;
    let y = match Recompute.prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (architecture, sequences) = (architecture.clone(), sequences.clone());
            let kept = Kept { x, layer: inner, architecture, sequences, pass, precision, index };
            prepared.finish(kept, y)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Some(Tensor::from_primitive::<Autodiff<Flex>>(y))
}

/// A parameter's place in the graph.
fn node<const D: usize>(tensor: Tensor<D>) -> Option<burn::backend::autodiff::ops::NodeGuard> {
    let tensor = tensor.try_into_primitive::<Autodiff<Flex>>().ok()?;
    Some(tensor.into_parts().1)
}

#[derive(Debug)]
struct Recompute;

impl Backward<Flex, PARENTS> for Recompute {
    type State = Kept;

    fn backward(self, ops: Ops<Kept, PARENTS>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Kept { x, layer, architecture, sequences, pass, precision, index } = ops.state;
        let dy = Tensor::<2>::from_primitive::<Flex>(grads.consume::<Flex>(&ops.node));
        // a graph of its own, which ends at new leaves
        let x = Tensor::<2>::from_primitive::<Flex>(x).autodiff().require_grad();
        let layer = layer.train();
        let (architecture, sequences) = (&architecture, &sequences);
        let shared = Shared { architecture, sequences, pass, precision };
        let y = layer.forward(x.clone(), shared, index);
        let mut own = (y * dy.autodiff()).sum().backward();
        let mut parents = ops.parents.into_iter().map(|parent| parent.map(|node| node.id));
        let mut register = |node: Option<NodeId>, gradient: Option<FlexTensor>| {
            if let Some((node, gradient)) = node.zip(gradient) {
                grads.register::<Flex>(node, gradient);
            }
        };
        register(parents.next().flatten(), taken(&x, &mut own));
        for param in layer.matrices() {
            register(parents.next().flatten(), of(param, &mut own));
        }
        for param in layer.vectors() {
            register(parents.next().flatten(), of(param, &mut own));
        }
    }
}

fn of<const D: usize>(
    param: &Param<Tensor<D>>,
    gradients: &mut burn::tensor::Gradients,
) -> Option<FlexTensor> {
    taken(&param.val(), gradients)
}

fn taken<const D: usize>(
    leaf: &Tensor<D>,
    gradients: &mut burn::tensor::Gradients,
) -> Option<FlexTensor> {
    leaf.grad_remove(gradients)?.try_into_primitive::<Flex>().ok()
}
