//! Matrix products of 32-bit sums.

use burn::tensor::{DType, Device};
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::multi_level::Strategy;
use cubek::matmul::multi_level::components::tile::TileMatmulKind;
use cubek::matmul::multi_level::routines::TileSizeSelection;
use cubek::matmul::multi_level::routines::batch::ordered_double_buffering::OrderedSelectionArgs;
use cubek::matmul::multi_level::routines::batch::simple_unit::SimpleUnitSelectionArgs;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::std::InputBinding;

use super::sums::add_up;
use super::{client, element, empty, empty_of, sides, view};
use crate::Precision;

/// Whether a device multiplies numbers of this precision.
pub fn supports(precision: Precision, device: &Device) -> bool {
    let own = match precision {
        Precision::F32 => return true,
        Precision::Tf32 => cubecl::tf32::elem_type_native(),
        Precision::Bf16 => half::bf16::elem_type_native(),
    };
    client(device).is_some_and(|client| client.properties().supports_type(own))
}

/// The factors of a product in the type in which they are multiplied.
pub fn operands(factors: [&CubeTensor; 2], precision: Precision) -> [CubeTensor; 2] {
    factors.map(|factor| operand(factor, precision))
}

fn operand(factor: &CubeTensor, precision: Precision) -> CubeTensor {
    cast(factor.clone(), narrow(precision))
}

/// The same matrix with rows and columns exchanged, which moves nothing.
fn transposed(x: &CubeTensor) -> CubeTensor {
    let (shape, strides) = (x.meta.shape(), x.meta.strides());
    view(x, [shape[1], shape[0]], [strides[1], strides[0]])
}

/// The type of the results of products, between which there are only operations of one element.
pub fn narrow(precision: Precision) -> DType {
    match precision {
        Precision::F32 | Precision::Tf32 => DType::F32,
        Precision::Bf16 => DType::BF16,
    }
}

/// `a b` in numbers of a type, for a `[m, k]` and b `[k, n]`, which are [`operands`]. Sums have 32 bits.
///
/// # Panics
/// If the device refuses the simplest kernel.
pub fn product(dtype: DType, a: &CubeTensor, b: &CubeTensor, precision: Precision) -> CubeTensor {
    let y = empty_of(dtype, a, [sides(a).0, sides(b).1]);
    launch(a, b, &y, precision);
    y
}

/// Writes the product of matrices, or of stacks of matrices, to y.
fn launch(a: &CubeTensor, b: &CubeTensor, y: &CubeTensor, precision: Precision) {
    let own = element(a);
    let globals = MatmulGlobalElems { lhs: own, rhs: own, out: element(y) };
    let mut refusal = None;
    for strategy in strategies(precision) {
        let launched = cubek::matmul::launch::launch_ref(
            &strategy.into(),
            &a.client,
            InputBinding::new(a.clone().binding(), own),
            InputBinding::new(b.clone().binding(), own),
            y.clone().binding(),
            &mut MatmulElems::from_globals(&globals),
        );
        match launched {
            Ok(()) => return,
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
    // of tiles of 128 rows and 64 columns
    let ordered = OrderedSelectionArgs {
        tile_matmul: TileMatmulKind::Mma,
        partition_k: None,
        row_count: Some(8),
        rows_per_plane: Some(2),
    };
    match precision {
        Precision::F32 => exact.to_vec(),
        Precision::Tf32 | Precision::Bf16 => {
            let mut all = vec![
                Strategy::OrderedDoubleMma(BlueprintStrategy::Inferred(ordered)),
                Strategy::DoubleCyclicMma(BlueprintStrategy::Inferred(Default::default())),
                Strategy::SimpleCyclicCmma(BlueprintStrategy::Inferred(Default::default())),
            ];
            all.extend(exact);
            all
        }
    }
}

/// The gradients of x, in numbers of a type, and of w that are wanted, given the gradient of `x w`.
pub fn of_product(
    [x, w]: &[CubeTensor; 2],
    dtype: DType,
    dy: &CubeTensor,
    precision: Precision,
    [of_x, of_w]: [bool; 2],
) -> [Option<CubeTensor>; 2] {
    let dy = operand(dy, precision);
    let dx = of_x.then(|| product(dtype, &dy, &transposed(w), precision));
    let dw = of_w.then(|| of_rows(x, &dy, precision));
    [dx, dw]
}

/// Sides of the tiles of a product that a cube computes, about.
const TILE: usize = 128;

/// The tiles that occupy a large GPU.
const OCCUPIED: usize = 256;

/// The most parts of a sum over rows, the fewest rows of a part, and what their number is a multiple of.
const PARTS: usize = 16;
const PART: usize = 256;
const STEP: usize = 16;

/// `xᵀ dy`, a sum over many rows. Where it has few tiles, parts of the rows are summed side by side, and then added up.
fn of_rows(x: &CubeTensor, dy: &CubeTensor, precision: Precision) -> CubeTensor {
    let ((rows, k), (_, m)) = (sides(x), sides(dy));
    let tiles = k.div_ceil(TILE) * m.div_ceil(TILE);
    let mut parts = 1;
    let divides = |parts: usize| rows.is_multiple_of(parts * STEP) && rows >= parts * PART;
    while parts < PARTS && parts * tiles < OCCUPIED && divides(2 * parts) {
        parts *= 2;
    }
    if parts == 1 {
        return product(DType::F32, &transposed(x), dy, precision);
    }
    let part = rows / parts;
    let sums = empty(x, [parts, k, m]);
    // rows may lie apart
    let [x_row, dy_row] = [x, dy].map(|factor| factor.meta.strides()[0]);
    let x = view(x, [parts, k, part], [part * x_row, 1, x_row]);
    let dy = view(dy, [parts, part, m], [part * dy_row, dy_row, 1]);
    launch(&x, &dy, &sums, precision);
    let sum = add_up(&view(&sums, [parts, k * m], [k * m, 1]));
    view(&sum, [k, m], [m, 1])
}
