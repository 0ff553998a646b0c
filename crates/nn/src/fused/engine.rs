//! What operations of the CPU engine and their backward passes are written with.

pub use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
pub use burn::backend::autodiff::grads::Gradients;
pub use burn::backend::autodiff::ops::{Backward, Ops};
pub use burn::backend::flex::FlexTensor;
pub use burn::backend::tensor::FloatTensor;
pub use burn::backend::{Autodiff, Backend, Flex, backend_extension};
