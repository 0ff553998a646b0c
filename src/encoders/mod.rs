//! The recipes of the built-in encoders; `config/encoder.rs` lists them.

mod bag_beside;
mod mlp;
pub(crate) mod ngram_bag;
mod pretrained;
mod spectra;
mod transformer;
mod words_read;

pub mod inputs;
pub mod spectrum_inputs;
pub(crate) mod tokens;

use std::sync::Once;

use burn::tensor::Device;
use dsokr_nn::Precision;

use crate::error::Error;

pub use bag_beside::{BagBesideConfig, BothInputs};
pub use spectra::{PeakBagConfig, PeakInputs};
pub use words_read::WordsRead;

/// Checks that a device supports a precision, and warns once where its products are emulated.
fn check_precision(precision: Precision, device: &Device) -> Result<(), Error> {
    static WARNING: Once = Once::new();
    precision.check(device)?;
    if dsokr_nn::emulated(precision, device) {
        WARNING.call_once(|| {
            tracing::warn!(
                "encoder.precision = \"bf16\" is emulated: this processor has no AVX-512 BF16, and 32 bits \
                 (\"f32\") take less time"
            );
        });
    }
    Ok(())
}
