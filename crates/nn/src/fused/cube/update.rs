//! The optimiser's step of many parameters in few launches: each of these kernels takes as many tensors as the device
//! binds at once.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::backend::Cube;
use burn::tensor::{DType, Tensor};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::ones_client;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{UNITS, buffer, empty, grid};
use crate::fused::adam::Adam;
use crate::fused::of_backend;

/// The most parameters of a launch.
const GROUP: usize = 32;

/// The most cubes of one parameter, which share its elements, and the elements that are worth a unit.
const CUBES: usize = 256;
const EACH: usize = 8;

/// A gradient.
#[derive(CubeType, CubeLaunch)]
struct Gradient {
    values: Box<[f32]>,
    length: u32,
}

/// The sum over the units of a cube, in the first of them.
#[cube]
fn cube_sum(value: f32) -> f32 {
    let mut parts = Shared::<[f32]>::new_slice(comptime!(UNITS as usize));
    let own = UNIT_POS as usize;
    parts[own] = value;
    sync_cube();
    #[unroll]
    for step in 0..8u32 {
        let apart = comptime!(128u32 >> step);
        if UNIT_POS < apart {
            let other = parts[own + apart as usize];
            parts[own] += other;
        }
        sync_cube();
    }
    parts[0]
}

/// Sums of squares, one for each cube, from that of number `first` on.
#[cube(launch_unchecked)]
fn square_sums(gradients: &Sequence<Gradient>, sums: &mut [f32], first: u32) {
    let mut sum = 0.0f32;
    #[unroll]
    for k in 0..gradients.len() {
        if CUBE_POS_Y as usize == k {
            let gradient = gradients.index(k);
            let mut i = CUBE_POS_X * UNITS + UNIT_POS;
            while i < gradient.length {
                let g = gradient.values[i as usize];
                sum += g * g;
                i += CUBE_COUNT_X * UNITS;
            }
        }
    }
    let total = cube_sum(sum);
    if UNIT_POS == 0 {
        sums[(first + CUBE_POS_Y * CUBE_COUNT_X + CUBE_POS_X) as usize] = total;
    }
}

/// `min(1, limit / √Σ sums)`; NaN if the sum is not finite.
#[cube(launch_unchecked)]
fn factor_of_sums(sums: &[f32], factor: &mut [f32], count: u32, limit: f32) {
    let mut sum = 0.0f32;
    let mut i = UNIT_POS;
    while i < count {
        sum += sums[i as usize];
        i += UNITS;
    }
    let norm = cube_sum(sum).sqrt();
    if UNIT_POS == 0 {
        // bits, because compilers for Vulkan take every number for finite
        let bits = u32::reinterpret(norm);
        let mut value = 1.0f32;
        if (bits & 0x7f80_0000u32) == 0x7f80_0000u32 {
            value = f32::reinterpret(bits | 0x7fc0_0000u32);
        } else if norm > limit {
            value = limit / norm;
        }
        factor[0] = value;
    }
}

/// A parameter, its gradient and its means, and what becomes of them.
#[derive(CubeType, CubeLaunch)]
struct Parameter {
    w: Box<[f32]>,
    g: Box<[f32]>,
    m: Box<[f32]>,
    v: Box<[f32]>,
    new_w: Box<[f32]>,
    new_m: Box<[f32]>,
    new_v: Box<[f32]>,
    length: u32,
}

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
fn step(parameters: &mut Sequence<Parameter>, factor: &[f32], own: Constants) {
    let factor = factor[0];
    #[unroll]
    for k in 0..parameters.len() {
        if CUBE_POS_Y as usize == k {
            let p = parameters.index_mut(k);
            let mut at = CUBE_POS_X * UNITS + UNIT_POS;
            while at < p.length {
                let i = at as usize;
                let g = p.g[i] * factor;
                let mean = own.beta1 * p.m[i] + (1.0f32 - own.beta1) * g;
                let square = own.beta2 * p.v[i] + (1.0f32 - own.beta2) * g * g;
                p.new_m[i] = mean;
                p.new_v[i] = square;
                p.new_w[i] =
                    own.keep * p.w[i] - own.rate * mean / (square.sqrt() * own.scale + own.epsilon);
                at += CUBE_COUNT_X * UNITS;
            }
        }
    }
}

/// Cubes for each tensor of a launch: enough for the largest.
fn cubes<'a>(tensors: impl Iterator<Item = &'a CubeTensor>) -> usize {
    let largest = tensors.map(|tensor| tensor.meta.num_elements()).max().unwrap_or(0);
    largest.div_ceil(UNITS as usize * EACH).clamp(1, CUBES)
}

/// Parameters of a launch that binds `tensors` of each and one more.
fn group(like: &CubeTensor, tensors: usize) -> usize {
    // the engine binds two arrays of its own
    let free = (like.client.properties().hardware.max_bindings as usize).saturating_sub(3);
    (free / tensors).clamp(1, GROUP)
}

/// The factor `[1]` that scales gradients to norm `limit` over all together if their norm is larger.
pub fn clip_factor(gradients: Vec<Tensor<1>>, limit: f32) -> Tensor<1> {
    let mut gradients: Vec<CubeTensor> = gradients.into_iter().map(primitive).collect();
    // a launch has cubes for its largest tensor
    gradients.sort_by_key(|gradient| Reverse(gradient.meta.num_elements()));
    let first = &gradients[0];
    let (sums, factor) = (empty(first, [gradients.len() * CUBES]), empty(first, [1]));
    let mut count = 0;
    for group in gradients.chunks(group(first, 1)) {
        let cubes = cubes(group.iter());
        let mut arguments = SequenceArg::new();
        for gradient in group {
            let length = gradient.meta.num_elements() as u32;
            arguments.push(GradientLaunch::new(buffer(gradient), length));
        }
        // SAFETY: units beyond a length do nothing
        unsafe {
            square_sums::launch_unchecked(
                &first.client,
                grid(cubes, group.len()),
                CubeDim::new_1d(UNITS),
                arguments,
                buffer(&sums),
                count as u32,
            );
        }
        count += cubes * group.len();
    }
    // SAFETY: one cube for all sums
    unsafe {
        factor_of_sums::launch_unchecked(
            &first.client,
            grid(1, 1),
            CubeDim::new_1d(UNITS),
            buffer(&sums),
            buffer(&factor),
            count as u32,
            limit,
        );
    }
    Tensor::from_primitive::<Cube>(factor)
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    into_contiguous(of_backend::<Cube>(tensor.into_dispatch()))
}

/// Weights, gradient, m and v of a parameter, and the tensors that take weights, m and v after the step.
#[derive(Debug)]
struct Pending {
    old: [CubeTensor; 4],
    new: [CubeTensor; 3],
}

/// The steps that have been asked for.
#[derive(Clone, Debug, Default)]
pub struct Queue(Arc<Mutex<Vec<(Adam, Pending)>>>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Vec<(Adam, Pending)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn adam<const D: usize>(&self, own: Adam, tensors: [Tensor<D>; 4]) -> [Tensor<D>; 3] {
        let old = tensors.map(primitive);
        let new = [(); 3].map(|()| empty(&old[0], old[0].meta.shape().clone()));
        self.lock().push((own, Pending { old, new: new.clone() }));
        new.map(Tensor::from_primitive::<Cube>)
    }

    /// Makes the steps; those with the same constants together.
    pub fn finish(&self, factor: Option<Tensor<1>>) {
        let mut pending = std::mem::take(&mut *self.lock());
        let Some((_, Pending { old: [like, ..], .. })) = pending.first() else { return };
        let one = || ones_client(like.client.clone(), like.device.clone(), [1].into(), DType::F32);
        let factor = factor.map_or_else(one, primitive);
        let size = group(like, 7);
        // a launch has cubes for its largest parameter
        pending.sort_by_key(|(_, Pending { old, .. })| Reverse(old[0].meta.num_elements()));
        while let Some((own, _)) = pending.first() {
            let own = *own;
            let (same, others) = pending.into_iter().partition::<Vec<_>, _>(|step| step.0 == own);
            same.chunks(size).for_each(|group| launch(group, &factor));
            pending = others;
        }
    }
}

/// The steps of parameters with the same constants.
fn launch(group: &[(Adam, Pending)], factor: &CubeTensor) {
    let Adam { beta1, beta2, rate, scale, epsilon, keep } = group[0].0;
    let mut arguments = SequenceArg::new();
    for (_, Pending { old, new }) in group {
        let [w, g, m, v] = old.each_ref().map(buffer);
        let [new_w, new_m, new_v] = new.each_ref().map(buffer);
        let length = old[0].meta.num_elements() as u32;
        arguments.push(ParameterLaunch::new(w, g, m, v, new_w, new_m, new_v, length));
    }
    // SAFETY: the tensors of a parameter have the same length, beyond which units do nothing
    unsafe {
        step::launch_unchecked(
            &group[0].1.old[0].client,
            grid(cubes(group.iter().map(|(_, pending)| &pending.old[0])), group.len()),
            CubeDim::new_1d(UNITS),
            arguments,
            buffer(factor),
            ConstantsLaunch::new(beta1, beta2, rate, scale, epsilon, keep),
        );
    }
}
