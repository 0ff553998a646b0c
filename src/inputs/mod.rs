//! Preparations of texts and vectors, which any recipe can use.

mod ngrams;
mod pretrained;
mod tokens;
mod vectors;

pub use ngrams::NgramInputs;
pub use pretrained::PretrainedInputs;
pub(crate) use pretrained::pretrained_folder;
pub use tokens::{TokenInputs, TokenInputsConfig};
pub use vectors::VectorInputs;

/// Logs the number of texts without known tokens.
fn warn_unknown(unknown: usize, texts: usize) {
    if unknown > 0 {
        tracing::warn!(unknown, texts, "texts without known tokens share one prediction");
    }
}
