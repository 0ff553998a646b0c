//! What devices support: products of rounded numbers, and how much memory they have.

use burn::tensor::Device;
use dsokr_core::Error;

#[cfg(feature = "cube")]
use crate::cube;
use crate::device::is_cpu_engine;
use crate::precision::Precision;
use crate::product::multiplies_bf16;

impl Precision {
    /// Checks that a device multiplies such numbers.
    ///
    /// # Errors
    /// [`Error::Value`] if it does not.
    pub fn check(self, device: &Device) -> Result<(), Error> {
        let name = format!("{self:?}").to_lowercase();
        let allowed = "f32: the device does not multiply such numbers";
        Error::ensure(self.is_supported(device), "precision", name, allowed)
    }

    fn is_supported(self, device: &Device) -> bool {
        #[cfg(feature = "cube")]
        if !is_cpu_engine(device) {
            return cube::supports(self, device);
        }
        is_cpu_engine(device) && self != Self::Tf32
    }
}

/// Returns the number of bytes of memory of a GPU, infinite where its driver does not say; `None` for the CPU.
pub fn device_memory(device: &Device) -> Option<f64> {
    if is_cpu_engine(device) {
        return None;
    }
    #[cfg(feature = "cube")]
    if let Some(bytes) = cube::memory(device) {
        return Some(bytes as f64);
    }
    Some(f64::INFINITY)
}

/// Returns the number of bytes that operations have sent to GPUs since the process began, tensors excepted.
pub fn sent() -> u64 {
    #[cfg(feature = "cube")]
    return cube::sent();
    #[cfg(not(feature = "cube"))]
    0
}

/// Returns whether this device's operations round the operands of products in `precision` and multiply them in 32 bits,
/// because the processor has no instructions for such products. It takes longer than 32 bits throughout.
pub fn emulated(precision: Precision, device: &Device) -> bool {
    precision == Precision::Bf16 && is_cpu_engine(device) && !multiplies_bf16()
}

/// Returns the time of a training step in `precision` on the CPU engine as a share of that in 32 bits. It is 0.6 for
/// bfloat16 where an x86-64 processor has instructions for it: the book's page on benchmarks measures 0.57 to 0.61 for
/// whole steps and epochs. Otherwise it is 1, because nothing else was measured.
pub fn step_time(precision: Precision) -> f64 {
    let measured = cfg!(target_arch = "x86_64") && multiplies_bf16();
    if precision == Precision::Bf16 && measured { 0.6 } else { 1.0 }
}
