use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::Module;
use burn::tensor::{Gradients, Tensor};

use super::Architecture;
use super::layer::{Layer, Shared};
use crate::Pass;
use crate::cpu::on_cpu_engine;
use crate::fused::{CpuOp, Sequences, apply, primitive};

/// A layer's input and its parameters.
const INPUTS: usize = 13;

/// [`Layer::forward`] that keeps only its input and computes the layer again in the backward pass.
#[derive(Clone)]
struct Recomputed {
    layer: Layer,
    architecture: Architecture,
    sequences: Arc<Sequences>,
    pass: Pass,
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
    if !x.is_autodiff() || !on_cpu_engine(x) {
        return None;
    }
    let matrices = layer.matrices().map(|param| param.val().into_dispatch());
    let vectors = layer.vectors().map(|param| param.val().into_dispatch());
    let inputs: Vec<_> =
        [x.clone().into_dispatch()].into_iter().chain(matrices).chain(vectors).collect();
    let Ok(inputs): Result<[_; INPUTS], _> = inputs.try_into() else {
        unreachable!("a layer has twelve parameters")
    };
    let Shared { architecture, sequences, pass } = shared;
    let (architecture, sequences) = (architecture.clone(), sequences.clone());
    let layer = layer.valid();
    Some(apply(Recomputed { layer, architecture, sequences, pass, index }, inputs))
}

impl Recomputed {
    fn layer(&self, layer: &Layer, x: Tensor<2>) -> Tensor<2> {
        let &Self { ref architecture, ref sequences, pass, index, .. } = self;
        layer.forward(x, Shared { architecture, sequences, pass }, index)
    }
}

impl CpuOp<INPUTS> for Recomputed {
    /// The layer's input.
    type Saved = FlexTensor;

    fn forward(&self, [x, ..]: [FlexTensor; INPUTS]) -> (FlexTensor, FlexTensor) {
        let y = self.layer(&self.layer, Tensor::from_primitive::<Flex>(x.clone()));
        (primitive(y), x)
    }

    fn backward(
        self,
        x: FlexTensor,
        dy: FlexTensor,
        _: [bool; INPUTS],
    ) -> [Option<FlexTensor>; INPUTS] {
        // a separate graph, which ends at new leaves
        let x = Tensor::<2>::from_primitive::<Flex>(x).autodiff().require_grad();
        let layer = self.layer.clone().train();
        let dy = Tensor::<2>::from_primitive::<Flex>(dy);
        let mut own = (self.layer(&layer, x.clone()) * dy.autodiff()).sum().backward();
        let mut gradients = std::iter::once(taken(&x, &mut own)).collect::<Vec<_>>();
        gradients.extend(layer.matrices().map(|param| taken(&param.val(), &mut own)));
        gradients.extend(layer.vectors().map(|param| taken(&param.val(), &mut own)));
        gradients.try_into().unwrap_or_else(|_| unreachable!("a layer has twelve parameters"))
    }
}

fn taken<const D: usize>(leaf: &Tensor<D>, gradients: &mut Gradients) -> Option<FlexTensor> {
    leaf.grad_remove(gradients).map(primitive)
}
