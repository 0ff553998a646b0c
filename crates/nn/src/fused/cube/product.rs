//! Matrix products of 32-bit sums.

use burn::tensor::{DType, Device};
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubecl::zspace::metadata::Metadata;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::multi_level::Strategy;
use cubek::matmul::multi_level::routines::TileSizeSelection;
use cubek::matmul::multi_level::routines::batch::simple_unit::SimpleUnitSelectionArgs;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::std::InputBinding;

use super::{client, empty, sides};
use crate::Precision;

/// Whether a device multiplies numbers of this precision.
pub fn supports(precision: Precision, device: &Device) -> bool {
    let element = match precision {
        Precision::F32 => return true,
        Precision::Tf32 => cubecl::tf32::elem_type_native(),
        Precision::Bf16 => half::bf16::elem_type_native(),
    };
    client(device).is_some_and(|client| client.properties().supports_type(element))
}

/// The factors of a product in the type in which they are multiplied.
pub fn operands(factors: [&CubeTensor; 2], precision: Precision) -> [CubeTensor; 2] {
    factors.map(|factor| operand(factor, precision))
}

fn operand(factor: &CubeTensor, precision: Precision) -> CubeTensor {
    match precision {
        Precision::F32 | Precision::Tf32 => factor.clone(),
        Precision::Bf16 => cast(factor.clone(), DType::BF16),
    }
}

/// The same matrix with rows and columns exchanged, which moves nothing.
fn transposed(x: &CubeTensor) -> CubeTensor {
    let (shape, strides) = (x.meta.shape(), x.meta.strides());
    let meta = Metadata::new([shape[1], shape[0]], [strides[1], strides[0]]);
    CubeTensor::new(x.client.clone(), x.handle.clone(), meta, x.device.clone(), x.dtype)
}

/// `a b` for a `[m, k]` and b `[k, n]`, which are [`operands`]. Sums have 32 bits.
///
/// # Panics
/// If the device refuses the simplest kernel.
pub fn product(a: &CubeTensor, b: &CubeTensor, precision: Precision) -> CubeTensor {
    let ((m, _), (_, n)) = (sides(a), sides(b));
    let y = empty(a, [m, n]);
    let element = match a.dtype {
        DType::BF16 => half::bf16::elem_type_native(),
        _ => f32::elem_type_native(),
    };
    let mut refusal = None;
    for strategy in strategies(precision) {
        let globals =
            MatmulGlobalElems { lhs: element, rhs: element, out: f32::elem_type_native() };
        let launched = cubek::matmul::launch::launch_ref(
            &strategy.into(),
            &a.client,
            InputBinding::new(a.clone().binding(), element),
            InputBinding::new(b.clone().binding(), element),
            y.clone().binding(),
            &mut MatmulElems::from_globals(&globals),
        );
        match launched {
            Ok(()) => return y,
            Err(error) => refusal = Some(error),
        }
    }
    panic!("no product of matrices on this device: {refusal:?}")
}

/// Kernels for products, the fastest first. Only those of tensor cores multiply numbers of fewer than 32 bits.
fn strategies(precision: Precision) -> Vec<Strategy> {
    let units = |tile_size| {
        Strategy::SimpleUnit(BlueprintStrategy::Inferred(SimpleUnitSelectionArgs { tile_size }))
    };
    let exact = [units(TileSizeSelection::MaxTileSize), Strategy::Naive];
    match precision {
        Precision::F32 => exact.to_vec(),
        Precision::Tf32 | Precision::Bf16 => {
            let mut all = vec![
                Strategy::DoubleCyclicMma(BlueprintStrategy::Inferred(Default::default())),
                Strategy::SimpleCyclicCmma(BlueprintStrategy::Inferred(Default::default())),
            ];
            all.extend(exact);
            all
        }
    }
}

/// The gradients of x and w that are wanted, given the gradient of `x w`.
pub fn of_product(
    [x, w]: &[CubeTensor; 2],
    dy: &CubeTensor,
    precision: Precision,
    [of_x, of_w]: [bool; 2],
) -> [Option<CubeTensor>; 2] {
    let dy = operand(dy, precision);
    let dx = of_x.then(|| product(&dy, &transposed(w), precision));
    let dw = of_w.then(|| product(&transposed(x), &dy, precision));
    [dx, dw]
}
