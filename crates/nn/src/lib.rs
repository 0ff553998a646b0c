#![doc = include_str!("../README.md")]
//!
//! ## How it goes together
//!
//! An [`Encoder`] maps a batch of inputs to coordinates `z ∈ R^p` in a sketched eigenbasis. The basis
//! is frozen and orthonormal, so training and decoding work with z; a [`Model`] is what training changes.
//!
//! | encoder | inputs |
//! |---|---|
//! | [`NgramBag`] | sparse rows, such as TF-IDF n-grams; a linear path and an MLP |
//! | [`Mlp`] | dense features |
//! | [`PeakTransformer`] | peaks of spectra |
//! | [`Transformer`] | tokens; trained from scratch, or [`pretrained`] (families of BERT, DeBERTa and T5) |
//!
//! Any other [`Encoder`] trains the same way. [`pad`], [`dropout`] and [`init`] help to
//! write one, and [`contract::check`] tests it. [`onnx`] writes those that can be files of ONNX.
//!
//! Nothing draws from a global random state: parameters come from a generator that the caller passes
//! ([`init`]), and dropout is a function of the [`Pass`]'s key.

pub mod bag;
pub mod contract;
pub mod init;
pub mod onnx;
pub mod parameters;
pub mod pretrained;
pub mod transformer;

mod device;
mod encoder;
mod error;
mod gradient_hooks;
mod gradients;
mod mlp;
mod pass;
mod token_ids;
mod tokenizer;

pub use bag::{BagBeside, BagConfig, NgramBag};
pub use device::{Processor, backward, in_pool};
// what encoders share with the operations that they are made of
pub use dsokr_kernels::{
    Dropout, Gradient, Precision, RowGradient, RowGradients, device_memory, emulated,
};
pub use encoder::{Encoder, Model, PartSize};
pub use error::Error;
pub use gradient_hooks::{GradientHooks, Receive};
pub use gradients::Gradients;
pub use init::Start;
pub use mlp::{Mlp, MlpConfig};
pub use parameters::Values;
pub use pass::{Masks, Pass, dropout};
pub use token_ids::{Padded, TokenIds, TokenIdsBuilder, pad};
pub use transformer::{
    PeakList, PeakTransformer, PeakTransformerConfig, Pooling, Transformer, TransformerConfig,
};
