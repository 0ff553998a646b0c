use burn::backend::Cube;
use burn::tensor::Tensor;
use burn_cubecl::kernel::into_contiguous;
use cubecl::prelude::*;

use super::{UNITS, buffer, cubes, empty};
use crate::fused::adam::Adam;
use crate::fused::of_backend;

#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Constants {
    beta1: f32,
    beta2: f32,
    rate: f32,
    scale: f32,
    epsilon: f32,
    keep: f32,
}

#[cube(launch_unchecked)]
fn step(
    w: &[f32],
    g: &[f32],
    m: &[f32],
    v: &[f32],
    new_w: &mut [f32],
    new_m: &mut [f32],
    new_v: &mut [f32],
    length: u32,
    own: Constants,
) {
    let i = ABSOLUTE_POS;
    if i < length as usize {
        let mean = own.beta1 * m[i] + (1.0f32 - own.beta1) * g[i];
        let square = own.beta2 * v[i] + (1.0f32 - own.beta2) * g[i] * g[i];
        new_m[i] = mean;
        new_v[i] = square;
        new_w[i] = own.keep * w[i] - own.rate * mean / (square.sqrt() * own.scale + own.epsilon);
    }
}

/// A step of Adam on a device.
pub fn adam<const D: usize>(own: Adam, tensors: [Tensor<D>; 4]) -> [Tensor<D>; 3] {
    let tensors = tensors.map(|tensor| into_contiguous(of_backend::<Cube>(tensor.into_dispatch())));
    let [w, g, m, v] = &tensors;
    let new = [(); 3].map(|()| empty(w, w.meta.shape().clone()));
    let length = w.meta.num_elements();
    let Adam { beta1, beta2, rate, scale, epsilon, keep } = own;
    // SAFETY: all have the same length, beyond which units do nothing
    unsafe {
        step::launch_unchecked(
            &w.client,
            cubes(length),
            CubeDim::new_1d(UNITS),
            buffer(w),
            buffer(g),
            buffer(m),
            buffer(v),
            buffer(&new[0]),
            buffer(&new[1]),
            buffer(&new[2]),
            length as u32,
            ConstantsLaunch::new(beta1, beta2, rate, scale, epsilon, keep),
        );
    }
    new.map(Tensor::from_primitive::<Cube>)
}
