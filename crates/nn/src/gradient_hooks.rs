use std::sync::Arc;

use burn::backend::flex::FlexTensor;
use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::{Device, Tensor};

use crate::device::on_cpu_engine;
use crate::fused::{CpuOp, apply, contiguous, values};
use crate::parameters::trainable;

/// Called with a parameter and the values of its gradient in row-major order.
pub type Receive = Arc<dyn Fn(ParamId, &[f32]) + Send + Sync>;

/// Operations between the uses of two parameters that follow one another. With more of them, gradients are handed
/// over later than they are complete.
const STRIDE: usize = 16;

/// Hands the gradient of each parameter over when it is complete, while the backward pass goes on.
///
/// Burn executes the steps of a backward pass by their depth in the graph, the deepest first. A step at a parameter, a
/// leaf of the graph, would come last of all. So [`watch`](Self::watch) puts an identity between a parameter and its
/// uses. Its second input is a constant, which gives it a depth and nothing else. The depth grows with the place of the
/// parameter in the module. Modules list their parameters in the order of use, so the backward step of the identity comes after
/// the last of the uses and before the steps of earlier layers. In a module that lists them in a different order,
/// gradients are complete all the same, and handed over later.
///
/// This applies to parameters in 32 bits on the CPU engine.
pub struct GradientHooks {
    /// A constant for each parameter that is trained.
    depths: Vec<Tensor<1>>,
}

impl GradientHooks {
    /// For the trained parameters of a module.
    pub fn new<M: Module>(module: &M) -> Self {
        let mut deepest = Tensor::<1>::zeros([1], &Device::flex().autodiff());
        let depths = (0..trainable(module)).map(|_| {
            for _ in 0..STRIDE {
                deepest = deepest.clone() * 1.0;
            }
            deepest.clone()
        });
        Self { depths: depths.collect() }
    }

    /// The module with parameters that hand their gradients over in the next backward pass. That pass calls `receive`
    /// once for each parameter that the loss depends on, on the thread of the pass, and leaves no gradient of it.
    /// Values and gradients are those of `module`, and so are gradients of other parameters.
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

/// Its second input gives it a depth.
#[derive(Clone)]
struct Identity {
    id: ParamId,
    receive: Receive,
}

impl CpuOp<2> for Identity {
    type Saved = ();

    fn forward(&self, [weights, _]: [FlexTensor; 2]) -> (FlexTensor, ()) {
        (weights, ())
    }

    fn backward(self, (): (), dy: FlexTensor, _: [bool; 2]) -> [Option<FlexTensor>; 2] {
        (self.receive)(self.id, values(&contiguous(dy)));
        [None, None]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use burn::optim::GradientsParams;
    use dsokr_basis::random::generator;

    use super::*;
    use crate::fused::linear;
    use crate::parameters::visit;
    use crate::transformer::{Body, TransformerConfig};
    use crate::{Pass, Pooling, Precision, init};

    type Log = Arc<Mutex<Vec<(u64, Vec<f32>)>>>;

    fn log() -> (Log, Receive) {
        let log = Log::default();
        let own = log.clone();
        let receive = move |id: ParamId, gradient: &[f32]| {
            own.lock().unwrap().push((id.val(), gradient.to_vec()));
        };
        (log, Arc::new(receive))
    }

    /// Tells that the backward pass has come to an operation.
    #[derive(Clone)]
    struct Milestone(ParamId, Receive);

    impl CpuOp<1> for Milestone {
        type Saved = ();

        fn forward(&self, [x]: [FlexTensor; 1]) -> (FlexTensor, ()) {
            (x, ())
        }

        fn backward(self, (): (), dy: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
            (self.1)(self.0, &[]);
            [Some(dy)]
        }
    }

    #[derive(Module, Debug)]
    struct Layers {
        bias: Param<Tensor<1>>,
        weights: Vec<Param<Tensor<2>>>,
    }

    #[test]
    fn later_layers_hand_over_before_the_backward_pass_reaches_earlier_ones() {
        let device = Device::flex().autodiff();
        let mut random = generator(1, "test", 0);
        let mut square = || init::uniform([3, 3], 1.0, &mut random, &device);
        let weights = (0..4).map(|_| square()).collect();
        let layers = Layers { bias: init::constant([3], 0.5, &device), weights };
        let (log, receive) = log();
        let watched = GradientHooks::new(&layers).watch(layers.clone(), receive.clone());
        let mut x = Tensor::<2>::ones([2, 3], &device);
        for (weight, number) in watched.weights.iter().zip(0..) {
            // one parameter is used by all layers
            x = linear(x, weight.val(), watched.bias.val(), Precision::F32).tanh();
            let milestone = Milestone(ParamId::from(number), receive.clone());
            x = apply(milestone, [x.into_dispatch()]);
        }
        let rest = GradientsParams::from_grads(x.square().sum().backward(), &watched);
        assert!(rest.is_empty());
        let order: Vec<u64> = log.lock().unwrap().iter().map(|(id, _)| *id).collect();
        let [a, b, c, d] = [0, 1, 2, 3].map(|number: usize| layers.weights[number].id.val());
        assert_eq!(order, [3, d, 2, c, 1, b, 0, a, layers.bias.id.val()]);
    }

    #[test]
    fn gradients_that_are_handed_over_are_those_of_the_pass() {
        let device = Device::flex().autodiff();
        let sizes = TransformerConfig { layers: 3, width: 8, heads: 2, ..Default::default() };
        let sizes = TransformerConfig { feed_forward: 12, max_length: 9, dropout: 0.2, ..sizes };
        let body = Body::init(&sizes.architecture(11), &mut generator(2, "test", 0), &device);
        let texts: [&[u32]; 2] = [&[1, 2, 3], &[4, 5]];
        for (body, trained) in [
            (body.clone(), 2 + 2 + 3 * 12),
            (body.clone().with(|sizes| sizes.recompute = true), 2 + 2 + 3 * 12),
            (body.clone().with(|sizes| sizes.precision = Precision::Bf16), 2 + 2 + 3 * 12),
            (body.freeze(1), 2 * 12),
        ] {
            for pooling in [Pooling::First, Pooling::Mean] {
                let gradients = |body: &Body| {
                    let loss = body.pooled(&texts, pooling, Pass::train(7)).square().sum();
                    GradientsParams::from_grads(loss.backward(), body)
                };
                let mut expected = Vec::new();
                let mut own = gradients(&body);
                visit(&body, |_, parameter| {
                    let gradient = parameter.take_gradient(&mut own);
                    expected.extend(gradient.map(|gradient| (parameter.id().val(), gradient)));
                });
                let (log, receive) = log();
                let watched = GradientHooks::new(&body).watch(body.clone(), receive);
                assert!(gradients(&watched).is_empty());
                let mut found = log.lock().unwrap().clone();
                found.sort_by_key(|(id, _)| expected.iter().position(|(own, _)| own == id));
                assert_eq!(found.len(), trained);
                assert!(found == expected, "bit for bit");
            }
        }
    }
}
