//! Encoders, their contract, and pretrained folders.

mod contract;
mod encoders;
mod pretrained;
mod transformer;
