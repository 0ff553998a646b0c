//! Memory of the CPU engine's tensors.

use std::mem::MaybeUninit;

use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Bytes, DType, Shape};

/// Memory that is written before it is read. Clearing the large buffers of a step would take a tenth of
/// its time.
pub struct UninitBuffer(Vec<MaybeUninit<f32>>);

impl UninitBuffer {
    /// Room for `n` values.
    pub fn new(n: usize) -> Self {
        let mut values = Vec::with_capacity(n);
        // SAFETY: the capacity is there, and `MaybeUninit` may be uninitialised
        unsafe { values.set_len(n) };
        Self(values)
    }

    /// The values to write.
    pub fn places(&mut self) -> &mut [MaybeUninit<f32>] {
        &mut self.0
    }

    /// A pointer to the values, for matrix products.
    pub fn as_mut_ptr(&mut self) -> *mut f32 {
        self.0.as_mut_ptr().cast()
    }

    /// The values.
    ///
    /// # Safety
    /// Every value has been written.
    pub unsafe fn written(self) -> Vec<f32> {
        let mut values = std::mem::ManuallyDrop::new(self.0);
        // SAFETY: the same allocation; `MaybeUninit<f32>` has the layout of `f32`, and the caller has
        // written every value
        unsafe { Vec::from_raw_parts(values.as_mut_ptr().cast(), values.len(), values.capacity()) }
    }
}

/// A pointer to memory. Tasks write disjoint parts of it.
pub struct Shared<T>(pub *mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

// SAFETY: tasks write disjoint parts
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// # Safety
    /// The offset lies in the same allocation.
    pub unsafe fn at(self, offset: usize) -> *mut T {
        // SAFETY: the caller's promise
        unsafe { self.0.add(offset) }
    }
}

/// A tensor of the given values.
pub fn wrap(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(values), Layout::contiguous(shape.into()), DType::F32)
}

/// The same tensor in row-major order.
pub fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

/// The values of a [`contiguous`] tensor of 32-bit floats.
pub fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice::<f32>().expect("operations are called on contiguous 32-bit tensors")
}

/// Whether the memory of a tensor holds its values in row-major order and nothing else.
pub fn is_whole(tensor: &FlexTensor) -> bool {
    let values = tensor.as_slice::<f32>();
    values.is_some_and(|values| size_of_val(values) == tensor.bytes().len())
}

/// The same tensor with memory that holds its values only, so that `storage_mut` gives them.
pub fn owned(tensor: FlexTensor) -> FlexTensor {
    if is_whole(&tensor) {
        return tensor;
    }
    let shape = tensor.layout().shape().clone();
    wrap(values(&contiguous(tensor)).to_vec(), shape)
}

/// Number of rows and columns of a matrix.
pub fn sides(tensor: &FlexTensor) -> (usize, usize) {
    let shape = tensor.layout().shape();
    (shape[0], shape[1])
}
