//! What is fitted to the targets: neural networks, kernel machines, and the learners that a program registers.

pub(crate) mod choice;
pub mod contract;
pub(crate) mod kernel_machine;
pub(crate) mod learner;
pub mod memory;
pub(crate) mod network;
mod new_model;
