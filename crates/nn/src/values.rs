use std::fmt::{self, Debug};
use std::ops::Deref;

use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use crate::cpu::on_cpu_engine;
use crate::fused::{is_whole, primitive};

/// The values of a tensor in row-major order. On the CPU engine they share the tensor's memory, which is
/// copied when one of the two is changed.
#[derive(Clone)]
pub struct Values(Memory);

#[derive(Clone)]
enum Memory {
    Own(Vec<f32>),
    Shared(FlexTensor),
}

impl Values {
    /// The values of a float tensor of any device.
    pub(crate) fn from_tensor<const D: usize>(tensor: Tensor<D>) -> Self {
        let tensor = tensor.inner();
        if on_cpu_engine(&tensor) {
            let shared = primitive(tensor.clone());
            if is_whole(&shared) {
                return Self(Memory::Shared(shared));
            }
        }
        let data = tensor.into_data().convert::<f32>();
        Self(Memory::Own(data.try_into_vec::<f32>().unwrap_or_default()))
    }

    /// The values as a vector.
    pub fn into_owned(self) -> Vec<f32> {
        match self.0 {
            Memory::Own(values) => values,
            Memory::Shared(_) => self.to_vec(),
        }
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &self.0 {
            Memory::Own(values) => values,
            Memory::Shared(tensor) => tensor.as_slice::<f32>().unwrap_or_default(),
        }
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Self(Memory::Own(values))
    }
}

impl Debug for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
