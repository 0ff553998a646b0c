//! Gradients that are handed over while the backward pass goes on.

use std::sync::{Arc, Mutex};

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::{Module, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use dsokr_core::random::generator;
use dsokr_kernels::{Operation, apply, linear};
use dsokr_nn::parameters::visit;
use dsokr_nn::transformer::Body;
use dsokr_nn::{GradientHooks, Gradients, Pass, Pooling, Precision, Receive, init};

use crate::transformer::{TEXTS, body, with};

type Log = Arc<Mutex<Vec<(u64, Vec<f32>)>>>;

fn log() -> (Log, Receive) {
    let log = Log::default();
    let shared_log = log.clone();
    let receive = move |id: ParamId, gradient: &[f32]| {
        shared_log.lock().unwrap().push((id.val(), gradient.to_vec()));
    };
    (log, Arc::new(receive))
}

/// Tells that the backward pass has come to an operation.
#[derive(Clone)]
struct Milestone(ParamId, Receive);

impl Operation<Flex, 1> for Milestone {
    type Saved = ();

    fn forward(&self, [x]: [FlexTensor; 1], _: bool) -> (FlexTensor, ()) {
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
    let body = body(&Device::flex().autodiff());
    let all = 3 + 2 + 3 * 12;
    for (body, trained) in [
        (body.clone(), all),
        (with(&body, |sizes| sizes.recompute = true), all),
        (with(&body, |sizes| sizes.precision = Precision::Bf16), all),
        (body.freeze(1), 2 * 12),
    ] {
        for pooling in [Pooling::First, Pooling::Mean] {
            let gradients = |body: &Body| {
                let loss = body.pooled(&TEXTS, pooling, Pass::train(7)).square().sum();
                Gradients::from(GradientsParams::from_grads(loss.backward(), body))
            };
            let mut expected = Vec::new();
            let mut all_gradients = gradients(&body);
            visit(&body, |_, parameter| {
                let gradient = parameter.take_gradient(&mut all_gradients);
                expected.extend(gradient.map(|gradient| (parameter.id().val(), gradient)));
            });
            let (log, receive) = log();
            let watched = GradientHooks::new(&body).watch(body.clone(), receive);
            assert!(gradients(&watched).is_empty());
            let mut received = log.lock().unwrap().clone();
            received.sort_by_key(|(id, _)| {
                expected.iter().position(|(expected_id, _)| expected_id == id)
            });
            assert_eq!(received.len(), trained);
            assert!(received == expected, "bit for bit");
        }
    }
}
