//! The [operations](super) as CubeCL kernels, one source for CUDA, Vulkan and Metal.
//!
//! Sums, the gradients of parameters and what layers add up have 32 bits. With [`Precision::Bf16`](crate::Precision)
//! the results of products, and what only products read, have 16 bits in memory.
//! Texts lie one after the other without padding, as on the CPU engine, and dropout is the same function of a key and
//! an element's number. Sums run in an order that depends on the shapes only, so a run repeats itself bit for bit on
//! the same device.

mod attention;
mod bag;
mod linear;
mod mask;
mod norm;
mod product;
mod rows;
mod sums;
mod update;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device, Shape};
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::ops::numeric::{empty_device_contiguous_dtype, zeros_client};
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::features::Plane;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::zspace::metadata::Metadata;

use crate::attention::Sequences;
pub use product::supports;
pub use update::{Queue, clip};

/// Units that work on one row or one group of columns.
const LANES: u32 = 32;

/// Units of a cube in kernels whose units are independent.
const UNITS: u32 = 256;

/// Returns a new tensor of 32-bit floats on the device of `like`.
fn empty(like: &CubeTensor, shape: impl Into<Shape>) -> CubeTensor {
    empty_of(DType::F32, like, shape)
}

/// Returns a new tensor of floats of a type.
fn empty_of(dtype: DType, like: &CubeTensor, shape: impl Into<Shape>) -> CubeTensor {
    let client = like.client.clone();
    let device = like.device.clone();
    empty_device_contiguous_dtype(client, device, shape.into(), dtype)
}

/// Returns the type of a tensor's elements: values between products may have 16 bits.
fn element(tensor: &CubeTensor) -> ElemType {
    match tensor.dtype {
        DType::BF16 => half::bf16::elem_type_native(),
        _ => f32::elem_type_native(),
    }
}

/// Returns a matrix of zeros. The engine would give rows of a matrix a distance of its own.
fn zeros(like: &CubeTensor, shape: [usize; 2]) -> CubeTensor {
    let client = like.client.clone();
    let device = like.device.clone();
    let flat = zeros_client(client, device, [shape[0] * shape[1]].into(), DType::F32);
    view(&flat, shape, [shape[1], 1])
}

/// Returns a view of the memory of `x`.
fn view<const D: usize>(x: &CubeTensor, shape: [usize; D], strides: [usize; D]) -> CubeTensor {
    let meta = Metadata::new(shape, strides);
    CubeTensor::new(x.client.clone(), x.handle.clone(), meta, x.device.clone(), x.dtype)
}

/// Returns the number of rows and columns of a matrix.
fn sides(tensor: &CubeTensor) -> (usize, usize) {
    let shape = tensor.meta.shape();
    (shape[0], shape[1])
}

/// Returns the elements of a tensor as an argument of a kernel.
fn buffer(tensor: &CubeTensor) -> BufferArg {
    tensor.clone().into_buffer_arg()
}

/// Bytes that have been [sent](upload).
static SENT: AtomicU64 = AtomicU64::new(0);

/// Returns the number of bytes that operations have sent to GPUs since the process began, tensors excepted.
pub fn sent() -> u64 {
    SENT.load(Relaxed)
}

/// Returns numbers of 32 bits that are sent to the device of a tensor. An empty array has one element, since memory has
/// no size 0.
fn upload<T: bytemuck::NoUninit>(like: &CubeTensor, values: &[T]) -> Handle {
    let bytes = if values.is_empty() { &[0; 4] } else { bytemuck::cast_slice(values) };
    SENT.fetch_add(bytes.len() as u64, Relaxed);
    like.client.create_from_slice(bytes)
}

/// Returns a [sent](upload) buffer as an argument of a kernel.
fn array(handle: &Handle) -> BufferArg {
    let length = handle.size_in_used() as usize / 4;
    // SAFETY: the handle holds so many numbers
    unsafe { BufferArg::from_raw_parts(handle.clone(), length) }
}

/// Returns the row of each text's first token, the number of rows, and the sum of the squares of the lengths of the
/// texts before each. They are sent once for all operations of a batch.
fn texts(sequences: &Sequences, like: &CubeTensor) -> BufferArg {
    let handle = sequences.on_gpu.get_or_init(|| {
        let mut texts: Vec<u32> = sequences.bounds().iter().map(|&row| count(row)).collect();
        let mut before = 0u32;
        for length in sequences.lengths() {
            texts.push(before);
            before = before.wrapping_add((length * length) as u32);
        }
        upload(like, &texts)
    });
    array(handle)
}

/// Returns the number of elements of the widest vectors that rows of a width consist of.
fn vector(width: usize) -> usize {
    [4, 2].into_iter().find(|lanes| width.is_multiple_of(*lanes)).unwrap_or(1)
}

/// Returns cubes of [`UNITS`] for as many units as are asked for; a device has few cubes side by side, so there may be
/// more.
fn cubes(like: &CubeTensor, units: usize) -> CubeCount {
    calculate_cube_count_elemwise(&like.client, units.max(1), CubeDim::new_1d(UNITS))
}

/// Returns a tensor in numbers of a type and in row-major order, which the engine's own conversion does not promise.
fn in_type(tensor: CubeTensor, dtype: DType) -> CubeTensor {
    into_contiguous(cast(tensor, dtype))
}

/// Returns at least so many cubes, in as many dimensions as it takes: a device may have no more than 65,535 in one. A
/// kernel counts them by `CUBE_POS`, and cubes beyond the number do nothing.
fn spread(like: &CubeTensor, cubes: usize) -> CubeCount {
    let units = cubes.max(1) * UNITS as usize;
    calculate_cube_count_elemwise(&like.client, units, CubeDim::new_1d(UNITS))
}

/// Returns a number of elements, vectors or rows as kernels count them.
///
/// # Panics
/// If there are 2³² or more.
fn count(number: usize) -> u32 {
    let counted = u32::try_from(number);
    counted.unwrap_or_else(|_| panic!("{number} elements, a kernel counts at most {}", u32::MAX))
}

/// The block of rows and the column that a unit of a one-dimensional cube has, where cubes share the columns of a
/// block.
#[derive(CubeType, Clone, Copy)]
struct BlockPlace {
    block: u32,
    column: u32,
}

/// Returns the unit's place in blocks of `width` columns.
#[cube]
fn block_place(width: u32) -> BlockPlace {
    let cube = CUBE_POS as u32;
    let across = width.div_ceil(CUBE_DIM_X);
    BlockPlace { block: cube / across, column: (cube % across) * CUBE_DIM_X + UNIT_POS_X }
}

/// Returns whether 32 successive units are a plane, so that they add up without shared memory.
fn has_planes(tensor: &CubeTensor) -> bool {
    let properties = tensor.client.properties();
    let hardware = &properties.hardware;
    let size = (hardware.plane_size_min, hardware.plane_size_max) == (LANES, LANES);
    size && properties.features.plane.contains(Plane::Ops)
}

/// Returns whether units of a plane can pass values to each other where others of it rest.
fn shares(tensor: &CubeTensor) -> bool {
    let properties = tensor.client.properties();
    let needed = Plane::Ops | Plane::NonUniformControlFlow;
    properties.hardware.plane_size_min >= 4 && properties.features.plane.is_superset(needed)
}

/// Returns the client of a GPU.
fn client(device: &Device) -> Option<cubecl::client::Client> {
    match device.as_dispatch().clone().inner() {
        DispatchDevice::Cube(device) => Some(device.client()),
        _ => None,
    }
}

/// Returns whether a device has these kernels.
pub fn is_gpu(device: &Device) -> bool {
    matches!(device.as_dispatch().clone().inner(), DispatchDevice::Cube(_))
}

/// Returns bytes of a GPU's memory, if its driver says.
pub fn memory(device: &Device) -> Option<u64> {
    client(device)?.properties().memory.max_memory()
}

/// Returns the sum of the elements of a vector.
#[cube]
fn total<N: Size>(vector: Vector<f32, N>) -> f32 {
    let mut sum = 0.0f32;
    #[unroll]
    for lane in 0..N::value() {
        sum += vector.extract(lane);
    }
    sum
}
