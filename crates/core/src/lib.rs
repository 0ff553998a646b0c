#![doc = include_str!("../README.md")]

#[cfg(target_endian = "big")]
compile_error!("files hold little-endian numbers that are read in place");

mod cancellation;
mod defaults;
mod error;
mod grouped;
mod misfit;
mod names;
mod place;
mod versions;
mod weights;

pub mod assignment;
pub mod loss;
pub mod memory;
pub mod message;
pub mod processes;
pub mod random;
pub mod rounding;
pub mod store;

pub use cancellation::{Cancellation, Stage, StageReport};
pub use error::Error;
pub use grouped::grouped;
pub use misfit::Misfit;
pub use names::parse_name;
pub use place::{Argument, ArgumentStyle, Place, print_arguments_as};
pub use processes::Processes;
pub use weights::RowWeights;
