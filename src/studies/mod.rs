//! Work around a training: a first configuration, sketch sizes, sweeps and cross-validation.

pub mod init;
pub mod pairs;
pub mod quickstart;
pub mod sketch;
pub mod sweep;
