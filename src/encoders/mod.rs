//! The recipes of the built-in encoders, one a file; `kinds.rs` lists them.

mod bag_beside;
mod mlp;
mod ngram_bag;
mod pretrained;
mod transformer;

pub(crate) use bag_beside::BagBesideConfig;

use std::sync::Once;

use burn::tensor::Device;
use dsokr_nn::{Precision, fused};

use crate::Error;

/// The largest of some lengths.
fn longest(lengths: impl Iterator<Item = usize>) -> f64 {
    lengths.max().unwrap_or(0) as f64
}

/// Checks that a device supports a precision, and warns once where its products are emulated.
fn check_precision(precision: Precision, device: &Device) -> Result<(), Error> {
    static WARNING: Once = Once::new();
    precision.check(device)?;
    if fused::emulated(precision, device) {
        WARNING.call_once(|| {
            tracing::warn!(
                "encoder.precision = \"bf16\" is emulated: this processor has no AVX-512 BF16, and 32 bits \
                 (\"f32\") take less time"
            );
        });
    }
    Ok(())
}
