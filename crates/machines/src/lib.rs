//! Kernel machines: everything that learns from a kernel of the inputs without gradient descent.
//!
//! [`ridge`] holds the closed-form family, and this page's other items minimise Lipschitz losses.

mod lipschitz;

pub mod ridge;

pub use lipschitz::*;
