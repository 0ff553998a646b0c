//! Gradients that are handed over while the backward pass goes on, so that ranks exchange them meanwhile.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::{Device, Tensor};
use dsokr_kernels::{Operation, apply, on_cpu_engine, values};

use crate::parameters::trainable;

/// Called with a parameter and the values of its gradient in row-major order.
pub type Receive = Arc<dyn Fn(ParamId, &[f32]) + Send + Sync>;

/// Operations between the uses of two successive parameters. With more of them, gradients are handed
/// over later than they are complete.
const STRIDE: usize = 16;

/// Hands the gradient of each parameter over when it is complete, while the backward pass goes on.
///
/// Burn executes the steps of a backward pass by their depth in the graph, the deepest first. A step at a parameter, a
/// leaf of the graph, would come last of all. So [`watch`](Self::watch) puts an identity between a parameter and its
/// uses. Its second input is a constant, which gives it a depth and nothing else. The depth grows with the place of the
/// parameter in the module. Modules list their parameters in the order of use, so the backward step of the identity
/// comes after the last of the uses and before the steps of earlier layers. In a module that lists them in a different
/// order, gradients are complete all the same, and handed over later.
///
/// This applies to parameters in 32 bits on the CPU engine.
#[derive(derive_more::Debug)]
#[debug("GradientHooks({} parameters)", depths.len())]
pub struct GradientHooks {
    /// A constant for each parameter that is trained.
    depths: Vec<Tensor<1>>,
}

impl GradientHooks {
    /// Creates hooks for the trained parameters of a module.
    pub fn new<M: Module>(module: &M) -> Self {
        let mut chain = Tensor::<1>::zeros([1], &Device::flex().autodiff());
        let depths = (0..trainable(module)).map(|_| {
            for _ in 0..STRIDE {
                // a multiplication by 1 makes the constant one operation deeper
                chain = chain.clone() * 1.0;
            }
            chain.clone()
        });
        Self { depths: depths.collect() }
    }

    /// Returns the module with parameters that hand their gradients over in the next backward pass. This pass calls
    /// `receive` once for each parameter that the loss depends on, on the thread of the pass, and does not keep the
    /// gradient. Values, gradients, and the gradients of other parameters equal those of `module`.
    pub fn watch<M: Module>(&self, module: M, receive: Receive) -> M {
        module.map(&mut Watch { depths: self.depths.iter(), receive })
    }
}

struct Watch<'a> {
    depths: std::slice::Iter<'a, Tensor<1>>,
    receive: Receive,
}

impl ModuleMapper for Watch<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let weights = param.val();
        if !weights.is_require_grad() {
            return param;
        }
        let depth = self.depths.next().filter(|_| on_cpu_engine(&weights));
        let Some(depth) = depth else { return param };
        let (id, _, mapper) = param.consume();
        let identity = Identity { id, receive: self.receive.clone() };
        let inputs = [weights.into_dispatch(), depth.clone().into_dispatch()];
        Param::from_mapped_value(id, apply(identity, inputs), mapper)
    }
}

/// The identity with a second input, which gives it a depth in the graph.
#[derive(Clone)]
struct Identity {
    id: ParamId,
    receive: Receive,
}

impl Operation<Flex, 2> for Identity {
    type Saved = ();

    fn forward(&self, [weights, _]: [FlexTensor; 2], _: bool) -> (FlexTensor, ()) {
        (weights, ())
    }

    fn backward(self, (): (), dy: FlexTensor, _: [bool; 2]) -> [Option<FlexTensor>; 2] {
        (self.receive)(self.id, values(&dy));
        [None, None]
    }
}
