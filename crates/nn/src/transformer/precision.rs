use burn::tensor::{Device, FloatDType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The numbers that a transformer's matrix products are computed in. Parameters, their gradients,
/// sums, normalisation and softmax stay in 32 bits (mixed precision; Micikevicius et al. 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits throughout.
    #[default]
    F32,
    /// 16 bits with 5 bits of exponent: gradients below 6·10⁻⁸ vanish.
    F16,
    /// 16 bits with the exponent of 32-bit numbers.
    Bf16,
}

impl Precision {
    /// The type of products, if it is not that of the parameters.
    pub(super) fn narrow(self) -> Option<FloatDType> {
        match self {
            Self::F32 => None,
            Self::F16 => Some(FloatDType::F16),
            Self::Bf16 => Some(FloatDType::BF16),
        }
    }

    /// Checks that a device supports this precision.
    ///
    /// # Errors
    /// [`Error::Setting`] if it does not.
    pub fn check(self, device: &Device) -> Result<(), Error> {
        match self.narrow() {
            Some(dtype) if !device.supports_dtype(dtype) => {
                let name = format!("{self:?}").to_lowercase();
                let allowed = "f32: the device does not compute in 16 bits of this kind";
                Err(Error::setting("precision", name, allowed))
            }
            _ => Ok(()),
        }
    }
}
