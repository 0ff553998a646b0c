//! The contract of [`Encoder`] as a check that runs on built-in and custom encoders.

use std::fmt::Display;

use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use dsokr_core::Error;

use crate::encoder::Encoder;
use crate::gradients::Gradients;
use crate::parameters;
use crate::pass::Pass;

/// Checks an encoder on a device with autodiff, with two or more different inputs.
///
/// - The parameters are on a device with autodiff.
/// - The output has shape `[batch, p]` and is finite.
/// - Evaluation repeats itself bit for bit, and row i depends only on input i: on its own, in
///   reverse order and in a larger batch it agrees to 1e-5 of the largest coordinate.
/// - A training pass is finite, and a function of its key.
/// - The gradient of a sum of squares reaches every trainable parameter and is finite.
///
/// # Errors
/// [`Error::Contract`] with the first breach.
pub fn check<E: Encoder>(encoder: &E, inputs: &[E::Input]) -> Result<(), Error> {
    ensure(inputs.len() > 1, || format!("two inputs are needed, not {}", inputs.len()))?;
    ensure(parameters::have_autodiff(encoder), || {
        "its parameters are on a device without autodiff: make it on `device.autodiff()`".into()
    })?;
    let all: Vec<&E::Input> = inputs.iter().collect();
    let p = encoder.dimension();
    let evaluate = |batch: &[&E::Input]| rows(encoder.forward(batch, Pass::Evaluate));
    let whole = evaluate(&all);
    ensure(whole.len() == inputs.len() && whole.iter().all(|row| row.len() == p), || {
        format!("{} rows for {} inputs of {p} coordinates", whole.len(), inputs.len())
    })?;
    let finite = whole.iter().flatten().all(|v| v.is_finite());
    ensure(finite, || "a coordinate is not finite".into())?;
    ensure(whole == evaluate(&all), || "evaluation does not repeat itself".into())?;
    let largest = whole.iter().flatten().fold(0.0f32, |m, v| m.max(v.abs()));
    let close =
        |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * largest);
    for (i, &input) in all.iter().enumerate() {
        let same = close(&whole[i], &evaluate(&[input])[0]);
        ensure(same, || format!("input {i} by itself differs from the same input in a batch"))?;
    }
    let reversed: Vec<&E::Input> = all.iter().rev().copied().collect();
    for (i, back) in evaluate(&reversed).iter().rev().enumerate() {
        ensure(close(&whole[i], back), || format!("input {i} depends on the order of the batch"))?;
    }
    let train = |key| rows(encoder.forward(&all, Pass::train(key)));
    let finite = train(1).iter().flatten().all(|v| v.is_finite());
    ensure(finite, || "a coordinate of a training pass is not finite".into())?;
    ensure(train(1) == train(1), || "a training pass is not a function of its key".into())?;
    let loss = encoder.forward(&all, Pass::train(1)).square().sum();
    let gradients = GradientsParams::from_grads(loss.backward(), encoder);
    let mut gradients = Gradients::from(gradients);
    let trainable = parameters::trainable(encoder);
    ensure(gradients.len() == trainable, || {
        format!("{} of {trainable} parameters have a gradient", gradients.len())
    })?;
    let mut outcome = Ok(());
    parameters::visit(encoder, |name, parameter| {
        let gradient = parameter.take_gradient(&mut gradients).unwrap_or_default();
        if gradient.iter().any(|value| !value.is_finite()) {
            outcome = breach(format_args!("the gradient of {name} is not finite"));
        }
    });
    outcome
}

fn breach(message: impl Display) -> Result<(), Error> {
    Err(Error::contract("encoder", message))
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { breach(message()) }
}

fn rows(z: Tensor<2>) -> Vec<Vec<f32>> {
    let p = z.dims()[1].max(1);
    let values = z.into_data().convert::<f32>().try_to_vec::<f32>().unwrap_or_default();
    values.chunks_exact(p).map(<[f32]>::to_vec).collect()
}
