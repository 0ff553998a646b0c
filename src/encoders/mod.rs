//! The recipes of the built-in encoders, one a file; `kinds.rs` lists them.

mod mlp;
mod ngram_bag;
mod pretrained;
mod transformer;

/// The largest of some lengths.
fn longest(lengths: impl Iterator<Item = usize>) -> f64 {
    lengths.max().unwrap_or(0) as f64
}
