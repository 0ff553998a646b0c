//! Operations with their own backward passes, as operations of Burn; on the CPU engine the memory of their tensors, and
//! products of matrices that lie there.
//!
//! Large buffers are not cleared before they are written (`Box::new_uninit_slice`): that would take a tenth of a step's
//! time.

use std::fmt::Debug;
use std::marker::PhantomData;

#[cfg(feature = "cube")]
use burn::backend::DispatchTensorKind;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::{
    BalancedCheckpointing, CheckpointStrategy, NoCheckpointing,
};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{FlexTensor, Layout};
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, AutodiffBackend, Backend, DispatchAutodiffContext, DispatchKindConversion,
    DispatchTensor, Flex, GradientCheckpointingStrategy, TensorMetadata,
};
use burn::tensor::{Bytes, DType, FloatDType, Shape, Tensor};
pub use gemm::Parallelism;
use half::bf16;
use rayon::prelude::*;

use crate::precision::Precision;

/// An engine whose operations of this crate have their own backward passes: the CPU's, or CubeCL's for GPUs.
pub trait Engine: Backend {
    /// Creates the same tensor in row-major order.
    fn row_major(tensor: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl Engine for Flex {
    fn row_major(tensor: FlexTensor) -> FlexTensor {
        contiguous(tensor)
    }
}

#[cfg(feature = "cube")]
impl Engine for burn::backend::Cube {
    fn row_major(tensor: burn_cubecl::tensor::CubeTensor) -> burn_cubecl::tensor::CubeTensor {
        burn_cubecl::kernel::into_contiguous(tensor)
    }
}

/// An operation on N tensors of floats of an engine. Its inputs come in row-major order and in the types that it
/// [reads](Self::reads), so that the type of an input needs no check in a kernel.
pub trait Operation<B: Engine, const N: usize>: Clone + Send + 'static {
    /// The data of the backward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// Returns the types in which the operation reads inputs of the types `given`: 32 bits each, unless a kernel reads
    /// results of products as they are.
    fn reads(&self, given: [DType; N]) -> [DType; N] {
        given.map(|_| DType::F32)
    }

    /// Returns the value, and the data of its backward pass, which are not used unless `keep` says so.
    fn forward(&self, inputs: [FloatTensor<B>; N], keep: bool) -> (FloatTensor<B>, Self::Saved);

    /// Returns the gradients of the inputs that are `wanted`, for the gradient `dy` of the value.
    fn backward(
        self,
        saved: Self::Saved,
        dy: FloatTensor<B>,
        wanted: [bool; N],
    ) -> [Option<FloatTensor<B>>; N];
}

/// An operation of every engine that is compiled in.
#[cfg(feature = "cube")]
pub trait Everywhere<const N: usize>:
    Operation<Flex, N> + Operation<burn::backend::Cube, N>
{
}

#[cfg(feature = "cube")]
impl<Op, const N: usize> Everywhere<N> for Op where
    Op: Operation<Flex, N> + Operation<burn::backend::Cube, N>
{
}

/// An operation of every engine that is compiled in.
#[cfg(not(feature = "cube"))]
pub trait Everywhere<const N: usize>: Operation<Flex, N> {}

#[cfg(not(feature = "cube"))]
impl<Op: Operation<Flex, N>, const N: usize> Everywhere<N> for Op {}

/// Returns the value of an operation on the engine of its inputs.
pub fn run<Op: Everywhere<N>, const N: usize, const D: usize>(
    op: Op,
    inputs: [DispatchTensor; N],
) -> Tensor<D> {
    #[cfg(feature = "cube")]
    if is_on_gpu(&inputs[0].kind) {
        return apply::<burn::backend::Cube, _, N, D>(op, inputs);
    }
    apply::<Flex, _, N, D>(op, inputs)
}

#[cfg(feature = "cube")]
fn is_on_gpu(tensor: &DispatchTensorKind) -> bool {
    match tensor {
        DispatchTensorKind::Cube(_) => true,
        DispatchTensorKind::Autodiff(inner) => is_on_gpu(inner),
        _ => false,
    }
}

/// Returns the value of an operation, which autodiff records if an input is on an autodiff device.
///
/// # Panics
/// If an input is not a tensor of floats of the engine.
pub fn apply<B: Engine, Op: Operation<B, N>, const N: usize, const D: usize>(
    op: Op,
    inputs: [DispatchTensor; N],
) -> Tensor<D>
where
    DispatchTensor: DispatchKindConversion<B>
        + DispatchKindConversion<Autodiff<B, NoCheckpointing>>
        + DispatchKindConversion<Autodiff<B, BalancedCheckpointing>>,
{
    use DispatchAutodiffContext::{Disabled, Enabled};
    let context = inputs.iter().fold(Disabled, |context, input| context.merge(input.autodiff));
    match context {
        Disabled => {
            let inputs = in_types::<B, N>(inputs.map(of_backend::<B>), |given| op.reads(given));
            let inputs = inputs.map(B::row_major);
            Tensor::from_primitive::<B>(op.forward(inputs, false).0)
        }
        Enabled(GradientCheckpointingStrategy::Disabled) => {
            recorded::<B, NoCheckpointing, _, N, D>(op, inputs)
        }
        Enabled(GradientCheckpointingStrategy::Balanced) => {
            recorded::<B, BalancedCheckpointing, _, N, D>(op, inputs)
        }
    }
}

fn recorded<B: Engine, C: CheckpointStrategy, Op: Operation<B, N>, const N: usize, const D: usize>(
    op: Op,
    inputs: [DispatchTensor; N],
) -> Tensor<D>
where
    DispatchTensor: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B, C>>,
{
    let inputs = inputs.map(|input| match input.autodiff {
        DispatchAutodiffContext::Enabled(_) => of_backend::<Autodiff<B, C>>(input),
        DispatchAutodiffContext::Disabled => Autodiff::<B, C>::from_inner(of_backend::<B>(input)),
    });
    let inputs = in_types::<Autodiff<B, C>, N>(inputs, |given| op.reads(given));
    let parts = inputs.map(|input| input.into_parts());
    let tensors = parts.each_ref().map(|(tensor, _)| B::row_major(tensor.clone()));
    let nodes = parts.map(|(_, node)| node);
    let (y, saved) = op.forward(tensors, true);
    let step = Step { op, dtype: y.dtype(), backend: PhantomData };
    let recorded = match step.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(saved, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<B, C>>(recorded)
}

/// Returns tensors in the types that an operation reads.
///
/// # Panics
/// If an input has 64 bits, which 32 bits do not hold.
fn in_types<B: Backend, const N: usize>(
    inputs: [FloatTensor<B>; N],
    reads: impl FnOnce([DType; N]) -> [DType; N],
) -> [FloatTensor<B>; N] {
    let mut types = reads(inputs.each_ref().map(TensorMetadata::dtype)).into_iter();
    inputs.map(|input| {
        let given = input.dtype();
        let read = types.next().unwrap_or(DType::F32);
        if given == read {
            return input;
        }
        let widened = read == DType::F32 && given != DType::F64;
        assert!(widened, "an operation reads {read:?}, and an input has {given:?}: cast it before");
        B::float_cast(input, FloatDType::F32)
    })
}

/// Returns the type in which a kernel reads results of products: as they are in 16 bits, and everything else in 32.
#[cfg(feature = "cube")]
pub fn narrow(given: DType) -> DType {
    if given == DType::BF16 { given } else { DType::F32 }
}

/// Returns the primitive of a tensor on the CPU engine, without autodiff.
///
/// # Panics
/// If the tensor is on a different device.
pub fn primitive<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    of_backend::<Flex>(tensor.into_dispatch())
}

/// Returns the primitive of a tensor on the engine B.
///
/// # Panics
/// If the tensor is on a different engine.
pub fn of_backend<B: Backend>(tensor: DispatchTensor) -> FloatTensor<B>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let tensor = <DispatchTensor as DispatchKindConversion<B>>::try_into_backend(tensor);
    tensor.unwrap_or_else(|wrong| panic!("{wrong}")).float()
}

/// The backward step of an operation.
#[derive(derive_more::Debug)]
#[debug("backward step")]
struct Step<B, Op> {
    op: Op,
    /// The type of the value, and of its gradient.
    dtype: DType,
    backend: PhantomData<B>,
}

impl<B: Engine, Op: Operation<B, N>, const N: usize> Backward<B, N> for Step<B, Op> {
    type State = Op::Saved;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let mut dy = grads.consume::<B>(&ops.node);
        if dy.dtype() != self.dtype {
            dy = B::float_cast(dy, self.dtype.into());
        }
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let gradients = self.op.backward(ops.state, B::row_major(dy), wanted);
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let Some((parent, gradient)) = parent.zip(gradient) {
                grads.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// A pointer to memory. Tasks write disjoint parts of it.
#[derive(Clone, Copy)]
pub struct Shared<T>(pub *mut T);

// SAFETY: tasks write disjoint parts
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// Returns the pointer behind so many elements.
    ///
    /// # Safety
    /// The offset lies in the same allocation.
    pub unsafe fn at(self, offset: usize) -> *mut T {
        // SAFETY: the caller's promise
        unsafe { self.0.add(offset) }
    }
}

/// Returns a tensor of the given values.
pub fn wrap(values: impl Into<Vec<f32>>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(values.into()), Layout::contiguous(shape.into()), DType::F32)
}

/// Returns the same tensor in row-major order.
pub fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

/// Returns the values of a contiguous tensor of 32-bit floats.
pub fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice::<f32>().expect("operations are called on contiguous 32-bit tensors")
}

/// Returns whether the memory of a tensor holds its values in row-major order and nothing else.
pub fn is_whole(tensor: &FlexTensor) -> bool {
    let values = tensor.as_slice::<f32>();
    values.is_some_and(|values| size_of_val(values) == tensor.bytes().len())
}

/// Returns the same tensor with memory that holds its values only, so that `storage_mut` gives them.
pub fn owned(tensor: FlexTensor) -> FlexTensor {
    if is_whole(&tensor) {
        return tensor;
    }
    let shape = tensor.layout().shape().clone();
    wrap(values(&contiguous(tensor)).to_vec(), shape)
}

/// Returns the number of rows and columns of a matrix.
pub fn sides(tensor: &FlexTensor) -> (usize, usize) {
    let shape = tensor.layout().shape();
    (shape[0], shape[1])
}

/// A matrix in memory: its values from the first on, and the distances between rows and between columns, of
/// which one is 1.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub values: &'a [f32],
    pub row: usize,
    pub column: usize,
}

impl<'a> View<'a> {
    /// Creates a matrix whose rows are `width` values apart.
    pub fn rows(values: &'a [f32], width: usize) -> Self {
        Self { values, row: width, column: 1 }
    }

    /// Returns the transpose.
    pub fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    pub fn covers(&self, rows: usize, columns: usize) -> bool {
        let last = rows.saturating_sub(1) * self.row + columns.saturating_sub(1) * self.column;
        rows * columns == 0 || last < self.values.len()
    }

    /// Returns the values rounded to bfloat16, row by row.
    pub fn rounded(&self, rows: usize, columns: usize) -> Vec<f32> {
        let mut values = vec![0.0; rows * columns];
        let all = values.par_chunks_mut(columns.max(1)).with_min_len(64).enumerate();
        all.for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                *value = bf16::from_f32(self.values[i * self.row + j * self.column]).to_f32();
            }
        });
        values
    }
}

/// `factor · a b [+ bias]` for a `[m, k]`, b `[k, n]` and a bias `[n]` that is added to every row. The order
/// of summation does not depend on the number of threads.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    /// m, n and k.
    pub sizes: (usize, usize, usize),
    pub a: View<'a>,
    pub b: View<'a>,
    pub factor: f32,
    pub bias: Option<&'a [f32]>,
    /// The operands: 32 bits, or rounded to bfloat16, to the nearest and, in the middle, to the
    /// even one. Sums have 32 bits.
    pub precision: Precision,
    /// Whether it uses the thread pool.
    pub threads: Parallelism,
}
