use std::fmt::{self, Debug};
use std::ops::Deref;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Tensor};

use crate::pass::is_cpu_engine;

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
    pub(crate) fn of<const D: usize>(tensor: Tensor<D>) -> Self {
        let tensor = tensor.inner();
        if tensor.dtype() == DType::F32
            && is_cpu_engine(&tensor.device())
            && let Ok(tensor) = tensor.clone().try_into_primitive::<Flex>()
            && tensor
                .as_slice::<f32>()
                .is_some_and(|values| size_of_val(values) == tensor.bytes().len())
        {
            return Self(Memory::Shared(tensor));
        }
        let data = tensor.into_data().convert::<f32>();
        Self(Memory::Own(data.try_into_vec::<f32>().unwrap_or_default()))
    }

    /// The values, to be changed.
    pub fn to_mut(&mut self) -> &mut [f32] {
        match &mut self.0 {
            Memory::Own(values) => values,
            Memory::Shared(tensor) => tensor.storage_mut::<f32>(),
        }
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
