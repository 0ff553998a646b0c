use std::sync::Arc;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, NodeGuard, Ops};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::Architecture;
use super::layer::{Layer, Shared};
use crate::fused::{Sequences, tracked};
use crate::{Pass, Precision};

/// A layer's input and its parameters.
const PARENTS: usize = 13;

/// The arguments of a layer, kept for its backward pass; nothing that it computed is kept.
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

/// [`Layer::forward`] that keeps only its input and computes the layer again in the backward pass
/// (activation checkpointing; Chen et al. 2016). Dropout repeats itself, since its masks are functions of
/// the pass's key. `None` outside training, and on devices other than the CPU engine.
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
    let (architecture, sequences) = (architecture.clone(), sequences.clone());
    let kept = Kept { x, layer: inner, architecture, sequences, pass, precision, index };
    let y = tracked::<NoCheckpointing, _, _>(Recompute, nodes, kept, y);
    Some(Tensor::from_primitive::<Autodiff<Flex>>(y))
}

/// The node of a parameter in the graph.
fn node<const D: usize>(tensor: Tensor<D>) -> Option<NodeGuard> {
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
        // a separate graph, which ends at new leaves
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
