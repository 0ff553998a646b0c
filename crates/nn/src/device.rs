//! Devices: Burn's CPU engine, GPUs, and the precision of products.

use std::panic::{self, AssertUnwindSafe};
use std::str::FromStr;

use burn::tensor::{Device, Tensor};
use dsokr_core::Processes;
use dsokr_kernels::is_cpu_engine;

use crate::error::Error;

/// Returns the result of `work`, which runs on a thread of Rayon's pool if `device` is the CPU engine.
///
/// A thread outside the pool falls asleep for each parallel loop and is woken at its end. A training step has hundreds
/// of them, which matters where batches are small. Within the pool the thread takes part in the loops.
pub fn in_pool<T: Send>(device: &Device, work: impl FnOnce() -> T + Send) -> T {
    if is_cpu_engine(device) { rayon::scope(|_| work()) } else { work() }
}

/// Returns the gradients of a loss, by a backward pass [in the pool](in_pool).
pub fn backward(loss: Tensor<1>) -> burn::tensor::Gradients {
    in_pool(&loss.device(), move || loss.backward())
}

/// A processor to compute on: `cpu`, `wgpu` or `cuda`, or `cuda:1` for the second such GPU.
#[derive(Clone, Copy, Debug, Default, derive_more::Display, PartialEq, Eq)]
#[display(rename_all = "lowercase")]
pub enum Processor {
    /// The CPU, with Burn's CPU engine and the fused operations of `dsokr-kernels`.
    #[default]
    Cpu,
    /// The best available GPU, through Vulkan, Metal or DirectX. Needs the feature `wgpu`.
    Wgpu,
    /// The NVIDIA GPU with this number; by default 0, or the [processes](Processor::open_for) of a machine take its
    /// GPUs in turn. Needs the feature `cuda`.
    #[display("cuda{}", _0.map(|number| format!(":{number}")).unwrap_or_default())]
    Cuda(Option<usize>),
}

impl FromStr for Processor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is not a device: cpu, wgpu, cuda or cuda:NUMBER");
        match text {
            "cpu" => Ok(Self::Cpu),
            "wgpu" => Ok(Self::Wgpu),
            "cuda" => Ok(Self::Cuda(None)),
            _ => {
                let index = text.strip_prefix("cuda:").and_then(|index| index.parse().ok());
                index.map(|number| Self::Cuda(Some(number))).ok_or_else(unknown)
            }
        }
    }
}

impl Processor {
    /// Opens the device and computes something on it, so that a missing driver is reported before
    /// data are loaded.
    ///
    /// # Errors
    /// [`Error::Device`] if this build does not have the engine, or this machine the GPU or driver.
    pub fn open(self) -> Result<Device, Error> {
        self.open_for(&Processes::default())
    }

    /// Opens the device of one of several processes like [`open`](Self::open): those of a machine take its NVIDIA GPUs in
    /// turn, unless the number of one is given.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_for(self, processes: &Processes) -> Result<Device, Error> {
        let fail = |message: String| Error::Device { device: self.to_string(), message };
        let device = self.engine(processes.local_rank()).map_err(fail)?;
        if self != Self::Cpu {
            probe(&device).map_err(fail)?;
        }
        Ok(device)
    }

    /// Returns the device of an engine; `local_rank` counts the processes before this one on its machine.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(unused_variables, reason = "only GPUs that are counted are divided")
    )]
    fn engine(self, local_rank: usize) -> Result<Device, String> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => {
                listed(burn::tensor::DeviceType::Wgpu)?;
                Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice))
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(number) => {
                let gpus = listed(burn::tensor::DeviceType::Cuda)?;
                let number = number.unwrap_or(local_rank % gpus);
                if number >= gpus {
                    return Err(format!("this machine has {gpus} such GPUs, counted from 0"));
                }
                Ok(Device::cuda(number))
            }
            #[cfg(not(all(feature = "wgpu", feature = "cuda")))]
            other => {
                let feature = match other {
                    Self::Cuda(_) => "cuda",
                    _ => "wgpu",
                };
                Err(format!(
                    "this program was built without it: build it with --features {feature}"
                ))
            }
        }
    }
}

/// Returns the number of devices of a kind. Where there are none, an engine would panic as soon as it computes.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn listed(kind: burn::tensor::DeviceType) -> Result<usize, String> {
    match Device::enumerate(kind).len() {
        0 => Err("no adapter with its driver answers".into()),
        count => Ok(count),
    }
}

/// Computes a sum on a device. An engine panics where a device that it lists does not work; here that is an error.
fn probe(device: &Device) -> Result<(), String> {
    let computed = panic::catch_unwind(AssertUnwindSafe(|| {
        Tensor::<1>::ones([8], device).sum().into_scalar::<f32>()
    }));
    match computed {
        Ok(8.0) => Ok(()),
        Ok(other) => Err(format!("it computes 1 + … + 1, eight times, as {other}")),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let first = text.and_then(|text| text.lines().next()).unwrap_or("no reason given");
            Err(format!("no adapter with its driver answers (the engine says: {first})"))
        }
    }
}
