//! The optimiser's step of many parameters in few launches: each of these kernels takes as many tensors as the device
//! binds at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::backend::Cube;
use burn::tensor::{DType, Tensor};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::ones_client;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::sums::sum_of_units;
use super::{UNITS, buffer, count, empty, view};
use crate::adam::{Adam, AdamLaunch};
use crate::operation::of_backend;

/// The most parameters of a launch.
const GROUP: usize = 32;

/// The most cubes of one parameter, which share its elements, and the elements that are worth a unit.
const CUBES: usize = 256;
const EACH: usize = 8;

/// The elements of a tensor, and the cubes of a launch that share them, from `first` to before `last`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Part {
    length: u32,
    first: u32,
    last: u32,
}

impl PartLaunch {
    /// Creates the part of a tensor behind so many cubes, which become more.
    fn behind(cubes: &mut usize, tensor: &CubeTensor) -> Self {
        let length = tensor.meta.num_elements();
        let first = *cubes;
        *cubes += length.div_ceil(UNITS as usize * EACH).clamp(1, CUBES);
        Self::new(count(length), count(first), count(*cubes))
    }
}

/// The most elements of a tensor that a kernel takes at once: it counts them in 32 bits.
const LONGEST: usize = 1 << 31;

/// Returns the offset and length of each piece of so many elements.
fn pieces(elements: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = (0..elements.max(1)).step_by(LONGEST);
    starts.map(move |start| (start, LONGEST.min(elements - start)))
}

/// Returns the elements of a tensor, which is in row-major order, from `start` on, as a vector.
fn piece(tensor: &CubeTensor, (start, length): (usize, usize)) -> CubeTensor {
    let mut piece = view(tensor, [length], [1]);
    piece.handle = piece.handle.offset_start((start * size_of::<f32>()) as u64);
    piece
}

#[cube]
impl Part {
    fn is_own(&self) -> bool {
        CUBE_POS_X >= self.first && CUBE_POS_X < self.last
    }

    /// Returns the unit's first element, and the distance to the next.
    fn first(&self) -> u32 {
        (CUBE_POS_X - self.first) * UNITS + UNIT_POS
    }

    fn apart(&self) -> u32 {
        (self.last - self.first) * UNITS
    }
}

/// A gradient.
#[derive(CubeType, CubeLaunch)]
struct Gradient {
    values: Box<[f32]>,
    part: Part,
}

/// Computes sums of squares, one for each cube, stored from number `first` on.
#[cube(launch_unchecked)]
fn square_sums(gradients: &Sequence<Gradient>, sums: &mut [f32], first: u32) {
    let mut sum = 0.0f32;
    #[unroll]
    for k in 0..gradients.len() {
        let gradient = gradients.index(k);
        if gradient.part.is_own() {
            let mut i = gradient.part.first();
            while i < gradient.part.length {
                let g = gradient.values[i as usize];
                sum += g * g;
                i += gradient.part.apart();
            }
        }
    }
    let mut scratch = Shared::<[f32]>::new_slice(comptime!(UNITS as usize));
    let total = sum_of_units(sum, &mut scratch, UNITS);
    if UNIT_POS == 0 {
        sums[(first + CUBE_POS_X) as usize] = total;
    }
}

/// Computes the norm `√Σ sums`, and `min(1, limit / norm)`, which is NaN if the sum is not finite.
#[cube(launch_unchecked)]
fn factor_of_sums(
    sums: &[f32],
    factor: &mut [f32],
    norm_of_all: &mut [f32],
    count: u32,
    limit: f32,
) {
    let mut sum = 0.0f32;
    let mut i = UNIT_POS;
    while i < count {
        sum += sums[i as usize];
        i += UNITS;
    }
    let mut scratch = Shared::<[f32]>::new_slice(comptime!(UNITS as usize));
    let norm = sum_of_units(sum, &mut scratch, UNITS).sqrt();
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
        norm_of_all[0] = norm;
    }
}

/// A parameter, its gradient and its means.
#[derive(CubeType, CubeLaunch)]
struct Parameter {
    w: Box<[f32]>,
    g: Box<[f32]>,
    m: Box<[f32]>,
    v: Box<[f32]>,
    part: Part,
}

#[cube(launch_unchecked)]
fn step(parameters: &mut Sequence<Parameter>, factor: &[f32], adam: Adam) {
    let factor = factor[0];
    #[unroll]
    for k in 0..parameters.len() {
        let p = parameters.index_mut(k);
        if p.part.is_own() {
            let mut at = p.part.first();
            while at < p.part.length {
                let i = at as usize;
                let g = p.g[i] * factor;
                let mean = adam.beta1 * p.m[i] + (1.0f32 - adam.beta1) * g;
                let square = adam.beta2 * p.v[i] + (1.0f32 - adam.beta2) * g * g;
                p.m[i] = mean;
                p.v[i] = square;
                p.w[i] = adam.keep * p.w[i]
                    - adam.rate * mean / (square.sqrt() * adam.scale + adam.epsilon);
                at += p.part.apart();
            }
        }
    }
}

/// Returns the cubes of a launch: not more than [`GROUP`] times [`CUBES`], which every device has in one dimension.
fn launched(cubes: usize) -> CubeCount {
    CubeCount::Static(count(cubes), 1, 1)
}

/// Returns the number of parameters of a launch that binds `tensors` of each and one more.
fn group(like: &CubeTensor, tensors: usize) -> usize {
    // the engine binds two arrays of its own
    let free = (like.client.properties().hardware.max_bindings as usize).saturating_sub(3);
    (free / tensors).clamp(1, GROUP)
}

/// Returns the factor `[1]` that scales gradients to norm `limit` over all together if theirs is larger, and their norm
/// `[1]`.
pub fn clip(gradients: Vec<Tensor<1>>, limit: f32) -> [Tensor<1>; 2] {
    let gradients = gradients.into_iter().map(primitive).flat_map(|gradient| {
        let all = pieces(gradient.meta.num_elements());
        all.map(|part| piece(&gradient, part)).collect::<Vec<_>>()
    });
    let gradients: Vec<CubeTensor> = gradients.collect();
    let first = &gradients[0];
    let sums = empty(first, [gradients.len() * CUBES]);
    let factor = empty(first, [1]);
    let norm = empty(first, [1]);
    let mut summed = 0;
    for group in gradients.chunks(group(first, 1)) {
        let mut cubes = 0;
        let mut arguments = SequenceArg::new();
        for gradient in group {
            let part = PartLaunch::behind(&mut cubes, gradient);
            arguments.push(GradientLaunch::new(buffer(gradient), part));
        }
        // SAFETY: units beyond a length do nothing
        unsafe {
            square_sums::launch_unchecked(
                &first.client,
                launched(cubes),
                CubeDim::new_1d(UNITS),
                arguments,
                buffer(&sums),
                count(summed),
            );
        }
        summed += cubes;
    }
    // SAFETY: one cube for all sums
    unsafe {
        factor_of_sums::launch_unchecked(
            &first.client,
            launched(1),
            CubeDim::new_1d(UNITS),
            buffer(&sums),
            buffer(&factor),
            buffer(&norm),
            count(summed),
            limit,
        );
    }
    [factor, norm].map(Tensor::from_primitive::<Cube>)
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    into_contiguous(of_backend::<Cube>(tensor.into_dispatch()))
}

/// Constants of a step, and weights, gradient, m and v of a parameter.
type Pending = (Adam, [CubeTensor; 4]);

/// The steps that have been asked for.
#[derive(Clone, Debug, Default)]
pub struct Queue(Arc<Mutex<Vec<Pending>>>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Vec<Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a step of Adam on weights, a gradient, m and v of 32-bit floats. Returns weights, m and v, whose values
    /// [`finish`](Self::finish) writes.
    pub fn adam<const D: usize>(
        &self,
        step: Adam,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        [m, v]: [Tensor<1>; 2],
    ) -> (Tensor<D>, [Tensor<1>; 2]) {
        let w = primitive(weights);
        let g = primitive(gradient);
        // what something else reads stays as it is
        let owned = |x: CubeTensor| if x.can_mut() { x } else { x.copy() };
        let w = owned(w);
        let m = owned(primitive(m));
        let v = owned(primitive(v));
        self.lock().push((step, [w.clone(), g, m.clone(), v.clone()]));
        let moments = [m, v].map(Tensor::from_primitive::<Cube>);
        (Tensor::from_primitive::<Cube>(w), moments)
    }

    /// Makes the steps; those with the same constants together.
    pub fn finish(&self, factor: Option<Tensor<1>>) {
        let steps = std::mem::take(&mut *self.lock());
        let mut pending: Vec<Pending> = steps
            .into_iter()
            .flat_map(|(step, tensors)| {
                let all = pieces(tensors[0].meta.num_elements());
                let parts = all.map(|part| (step, tensors.each_ref().map(|x| piece(x, part))));
                parts.collect::<Vec<_>>()
            })
            .collect();
        let Some((_, [like, ..])) = pending.first() else { return };
        let one = || ones_client(like.client.clone(), like.device.clone(), [1].into(), DType::F32);
        let factor = factor.map_or_else(one, primitive);
        let size = group(like, 4);
        while let Some((rule, _)) = pending.first() {
            let rule = *rule;
            let (same, others) = pending.into_iter().partition::<Vec<_>, _>(|step| step.0 == rule);
            same.chunks(size).for_each(|group| launch(group, &factor));
            pending = others;
        }
    }
}

/// Makes the steps of parameters with the same constants.
fn launch(group: &[Pending], factor: &CubeTensor) {
    let Adam { beta1, beta2, rate, scale, epsilon, keep } = group[0].0;
    let mut cubes = 0;
    let mut arguments = SequenceArg::new();
    for (_, tensors) in group {
        let [w, g, m, v] = tensors.each_ref().map(buffer);
        let part = PartLaunch::behind(&mut cubes, &tensors[0]);
        arguments.push(ParameterLaunch::new(w, g, m, v, part));
    }
    // SAFETY: the tensors of a parameter have the same length, beyond which units do nothing
    unsafe {
        step::launch_unchecked(
            &factor.client,
            launched(cubes),
            CubeDim::new_1d(UNITS),
            arguments,
            buffer(factor),
            AdamLaunch::new(beta1, beta2, rate, scale, epsilon, keep),
        );
    }
}
