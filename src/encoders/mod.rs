//! The recipes of the built-in encoders, one a file; `config/encoder.rs` lists them.

mod bag_beside;
mod mlp;
mod ngram_bag;
mod pretrained;
mod transformer;

pub(crate) use bag_beside::BagBesideConfig;

use std::sync::Once;

use burn::tensor::Device;
use dsokr_nn::{PartSize, Precision, fused};

use crate::Error;

/// The parts of an encoder of texts with these lengths, of which `of` says the parts for one length: memory must
/// suffice for the longest text, and the mean determines the time.
fn sizes(
    lengths: impl ExactSizeIterator<Item = usize>,
    of: impl Fn(f64) -> Vec<PartSize>,
) -> Vec<PartSize> {
    let count = lengths.len().max(1) as f64;
    let (sum, longest) =
        lengths.fold((0.0, 0), |(sum, longest), length| (sum + length as f64, length.max(longest)));
    let parts = of(longest as f64).into_iter().zip(of(sum / count));
    parts.map(|(part, usual)| PartSize { products: usual.products, ..part }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_longest_text_and_time_that_of_the_mean() {
        let of = |length: f64| {
            let keys = "length".into();
            vec![PartSize { keys, parameters: 3.0, activations: length, products: 2.0 * length }]
        };
        let parts = sizes([10, 0, 2].into_iter(), of);
        assert_eq!((parts[0].activations, parts[0].products), (10.0, 8.0));
        assert_eq!(sizes([].into_iter(), of)[0].products, 0.0);
    }
}
