//! Matrix products of 32-bit sums.

use burn::tensor::{DType, Device};
use burn_cubecl::kernel::cast;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems, MatmulProblem};
use cubek::matmul::multi_level::components::stage::PartitionBuffering;
use cubek::matmul::multi_level::components::tile::TileMatmulKind;
use cubek::matmul::multi_level::definition::{BatchMatmulBlueprint, TilingScheme};
use cubek::matmul::multi_level::routines::TileSizeSelection;
use cubek::matmul::multi_level::routines::batch::ordered_double_buffering::OrderedSelectionArgs;
use cubek::matmul::multi_level::routines::batch::simple_unit::SimpleUnitSelectionArgs;
use cubek::matmul::multi_level::stage::{SwizzleMode, SwizzleModes};
use cubek::matmul::multi_level::{PartitionSize, StageSize, Strategy};
use cubek::matmul::routine::BlueprintStrategy::{Forced, Inferred};
use cubek::std::cube_count::{CubeCountStrategy, GlobalOrder, HypercubeBlueprint, SmAllocation};
use cubek::std::{InputBinding, MatrixLayout};

use super::sums::sum_of_parts;
use super::{LANES, client, element, empty, empty_of, sides, view};
use crate::precision::Precision;

/// Returns whether a device multiplies numbers of this precision.
pub fn supports(precision: Precision, device: &Device) -> bool {
    let element_type = match precision {
        Precision::F32 => return true,
        Precision::Tf32 => cubecl::tf32::elem_type_native(),
        Precision::Bf16 => half::bf16::elem_type_native(),
    };
    client(device).is_some_and(|client| client.properties().supports_type(element_type))
}

/// Returns the factors of a product in the type in which they are multiplied.
pub fn operands(factors: [&CubeTensor; 2], precision: Precision) -> [CubeTensor; 2] {
    factors.map(|factor| operand(factor, precision))
}

fn operand(factor: &CubeTensor, precision: Precision) -> CubeTensor {
    cast(factor.clone(), narrow(precision))
}

/// Returns the same matrix with rows and columns exchanged, which moves nothing.
fn transposed(x: &CubeTensor) -> CubeTensor {
    let shape = x.meta.shape();
    let strides = x.meta.strides();
    view(x, [shape[1], shape[0]], [strides[1], strides[0]])
}

/// Returns the type of the results of products, between which there are only operations of one element.
pub fn narrow(precision: Precision) -> DType {
    match precision {
        Precision::F32 | Precision::Tf32 => DType::F32,
        Precision::Bf16 => DType::BF16,
    }
}

/// Returns `a b` in numbers of a type, for a `[m, k]` and b `[k, n]`, which are [`operands`]. Sums have 32 bits.
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
    let element_type = element(a);
    let globals = MatmulGlobalElems { lhs: element_type, rhs: element_type, out: element(y) };
    let binding = |x: &CubeTensor| InputBinding::new(x.clone().binding(), element_type);
    let mut refusal = None;
    for strategy in strategies(precision, a, b, y, &globals) {
        let launched = cubek::matmul::launch::launch_ref(
            &strategy.into(),
            &a.client,
            binding(a),
            binding(b),
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

/// Returns kernels for a product, the fastest first; a device refuses kernels that it cannot run. Only kernels of
/// tensor cores multiply numbers of fewer than 32 bits.
fn strategies(
    precision: Precision,
    a: &CubeTensor,
    b: &CubeTensor,
    y: &CubeTensor,
    globals: &MatmulGlobalElems,
) -> Vec<Strategy> {
    let units = |tile_size| Strategy::SimpleUnit(Inferred(SimpleUnitSelectionArgs { tile_size }));
    let exact = [units(TileSizeSelection::MaxTileSize), Strategy::Naive];
    // tiles have 128 rows and 64 columns
    let ordered = OrderedSelectionArgs {
        tile_matmul: TileMatmulKind::Mma,
        partition_k: None,
        row_count: Some(8),
        rows_per_plane: Some(2),
    };
    let narrow = [
        Strategy::OrderedDoubleMma(Inferred(ordered)),
        Strategy::DoubleCyclicMma(Inferred(Default::default())),
        Strategy::SimpleCyclicCmma(Inferred(Default::default())),
    ];
    match precision {
        Precision::F32 => exact.to_vec(),
        Precision::Tf32 => narrow.into_iter().chain(exact).collect(),
        Precision::Bf16 => {
            let first = of_bf16(a, b, y, globals);
            first.into_iter().chain(narrow).chain(exact).collect()
        }
    }
}

/// Returns the fastest kernel on an H100 for a product of bfloat16, by the order in which its factors lie, where its
/// sizes are multiples of the sizes of tiles.
fn of_bf16(
    a: &CubeTensor,
    b: &CubeTensor,
    y: &CubeTensor,
    globals: &MatmulGlobalElems,
) -> Option<Strategy> {
    let sms = y.client.properties().hardware.num_streaming_multiprocessors?;
    let [a, b, y] = [a, b, y].map(|x| x.clone().binding());
    let sizes = [globals.lhs, globals.rhs, globals.out].map(|element| element.size());
    let address = [&a, &b, &y].into_iter().zip(sizes);
    let address = address.map(|(x, size)| x.required_address_type(size)).max()?;
    let problem = MatmulProblem::from_shapes_and_strides(
        a.shape,
        b.shape,
        y.shape,
        a.strides,
        b.strides,
        y.strides,
        globals.clone(),
        address,
        None,
        None,
    );
    let problem = problem.ok()?;
    let whole = |rows: usize, columns: usize| {
        let rows = problem.m.is_multiple_of(rows) && problem.n.is_multiple_of(columns);
        rows && problem.k.is_multiple_of(STEP)
    };
    match (problem.lhs_layout, problem.rhs_layout) {
        (MatrixLayout::RowMajor, MatrixLayout::RowMajor) => {
            let strategy = Strategy::DoubleAsyncStridedMma(Inferred(Default::default()));
            whole(128, 64).then_some(strategy)
        }
        (MatrixLayout::RowMajor, MatrixLayout::ColMajor) => {
            let tiles = || tma(&problem, (4, 8, 4), (2, 2), sms);
            whole(128, 128).then(|| Strategy::DoubleTmaMma(Forced(tiles())))
        }
        (MatrixLayout::ColMajor, _) => {
            let tiles = || tma(&problem, (2, 8, 4), (2, 1), sms);
            whole(64, 64).then(|| Strategy::DoubleTmaMma(Forced(tiles())))
        }
    }
}

/// Returns a product whose tiles are loaded by the GPU's copy engine, in two stages. `plane` has the number of
/// instructions by which a plane spans rows, columns and the inner dimension, and `planes` the number of planes by rows
/// and columns.
fn tma(
    problem: &MatmulProblem,
    plane: (u32, u32, u32),
    planes: (u32, u32),
    sms: u32,
) -> BatchMatmulBlueprint {
    // the instruction of bfloat16
    let scheme = TilingScheme::builder()
        .with_tile_size((16, 8, 16).into())
        .with_partition_size(PartitionSize::new(plane.0, plane.1, plane.2))
        .with_stage_size(StageSize::new(planes.0, planes.1, 1))
        .build()
        .expect("all sizes are given");
    // 64 numbers lie side by side in the stages of either factor
    let lhs = SwizzleMode::B128;
    let rhs = SwizzleMode::B128;
    let sms =
        CubeCountStrategy::Sm { num_sms: sms, sm_usage: SmAllocation::Exact, cubes_first: true };
    let order = HypercubeBlueprint::builder()
        .global_order(GlobalOrder::SwizzleRow(4))
        .cube_count_strategy(sms)
        .build();
    BatchMatmulBlueprint::builder(TileMatmulKind::Mma, scheme, LANES, problem)
        .partition_buffering(PartitionBuffering::Double)
        .stage_buffering(2)
        .shared_swizzle(SwizzleModes { lhs, rhs, ..Default::default() })
        .hypercube_blueprint(order)
        .build()
}

/// Returns the gradients of x, in numbers of a type, and of w that are wanted, given the gradient of `x w`.
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

/// Sides of the tiles of a sum over rows that a cube computes.
const TILE: usize = 64;

/// The tiles that occupy a large GPU.
const OCCUPIED: usize = 1024;

/// The most parts of a sum over rows, and the fewest rows of a part.
const PARTS: usize = 16;
const PART: usize = 1024;

/// The inner dimension of two stages of a product.
const STEP: usize = 128;

/// Computes `xᵀ dy`, a sum over many rows. Where it has few tiles, parts of the rows are summed side by side, and then
/// added up.
fn of_rows(x: &CubeTensor, dy: &CubeTensor, precision: Precision) -> CubeTensor {
    let (rows, k) = sides(x);
    let (_, m) = sides(dy);
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
    let sum = sum_of_parts(&view(&sums, [parts, k * m], [k * m, 1]));
    view(&sum, [k, m], [m, 1])
}
