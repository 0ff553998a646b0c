//! Graph kernels: against golden Gram matrices, against brute force, and their properties on random
//! graphs.

mod brute_force;
mod configuration;
#[path = "../data/mod.rs"]
mod data;
mod golden;
mod properties;
mod stability;
mod support;
mod vocabulary;
