//! The numbers that matrix products multiply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The numbers that a transformer multiplies in its matrix products. Parameters, their gradients, sums,
/// normalisation, softmax and loss have 32 bits (mixed precision; Micikevicius et al. 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits throughout.
    #[default]
    F32,
    /// 19 bits: the exponent of 32-bit numbers and 10 bits of fraction. On NVIDIA GPUs from Ampere.
    Tf32,
    /// 16 bits with the exponent of 32-bit numbers, on GPUs and on CPUs, where AVX-512 BF16 makes products
    /// about twice as fast.
    Bf16,
}
