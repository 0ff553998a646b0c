use burn::backend::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{UNITS, buffer, count, cubes, empty};
use crate::dropout::{Dropout, DropoutLaunch};
use crate::masked::Masked;
use crate::operation::Operation;

/// Returns the argument of a kernel, and whether there is dropout.
pub fn argument(dropout: Option<Dropout>) -> (DropoutLaunch, bool) {
    let Dropout { first, low, high, threshold, scale } = dropout.unwrap_or_default();
    (DropoutLaunch::new(first, low, high, threshold, scale), dropout.is_some())
}

/// Returns the factor of element `i`, as [`Dropout::at`]; 1 without dropout.
#[cube]
pub fn factor(mask: &Dropout, i: u32, #[comptime] dropped: bool) -> f32 {
    if comptime!(dropped) {
        let x = (i + mask.first) ^ mask.low;
        let x = (x ^ (x >> 16u32)) * 0x7feb_352du32;
        let x = x ^ (x >> 15u32);
        let x = (x + mask.high) * 0x846c_a68bu32;
        let x = x ^ (x >> 16u32);
        select((x >> 1u32) >= mask.threshold, mask.scale, 0.0f32)
    } else {
        f32::new(1.0f32)
    }
}

/// Returns the factors of dropout of the elements of a vector, from element `i` on.
#[cube]
pub fn factors<N: Size>(mask: &Dropout, i: u32, #[comptime] dropped: bool) -> Vector<f32, N> {
    let mut factors = Vector::<f32, N>::new(1.0f32);
    if comptime!(dropped) {
        #[unroll]
        for lane in 0..N::value() {
            factors.insert(lane, factor(mask, i + comptime!(lane as u32), dropped));
        }
    }
    factors
}

#[cube(launch_unchecked)]
fn masked(x: &[f32], y: &mut [f32], length: u32, mask: Dropout) {
    let i = ABSOLUTE_POS;
    if i < length as usize {
        y[i] = x[i] * factor(&mask, i as u32, true);
    }
}

impl Operation<Cube, 1> for Masked {
    type Saved = ();

    fn forward(&self, [x]: [CubeTensor; 1], _: bool) -> (CubeTensor, ()) {
        let y = empty(&x, x.meta.shape().clone());
        let length = x.meta.num_elements();
        let (mask, _) = argument(Some(self.0));
        // SAFETY: units beyond the length do nothing
        unsafe {
            masked::launch_unchecked(
                &x.client,
                cubes(&x, length),
                CubeDim::new_1d(UNITS),
                buffer(&x),
                buffer(&y),
                count(length),
                mask,
            );
        }
        (y, ())
    }

    fn backward(self, (): (), dy: CubeTensor, _: [bool; 1]) -> [Option<CubeTensor>; 1] {
        [Some(Operation::<Cube, 1>::forward(&self, [dy], false).0)]
    }
}
