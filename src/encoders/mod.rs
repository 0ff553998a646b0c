//! The recipes of the built-in encoders, one a file; `kinds.rs` lists them.

mod mlp;
mod ngram_bag;
mod pretrained;
mod transformer;
