//! The fused operations of dsokr's encoders and optimiser: one pass over memory where Burn's operations take many, with
//! hand-written backward passes, as loops on the CPU engine and as CubeCL kernels on GPUs (features `wgpu` and `cuda`).
//!
//! | function | value |
//! |---|---|
//! | [`linear`] | `x w + b` |
//! | [`product`] | `x w`, where the next operation adds the bias |
//! | [`linear_gelu`] | `dropout(gelu(x w + b))`, with the exact (erf) GELU |
//! | [`residual_norm`] | `layer_norm(x + dropout(r + bias)) ∘ gamma + beta` |
//! | [`attention`] | softmax attention of every token to the tokens of its text |
//! | [`attention_first`] | the same for only the first token of each text |
//! | [`bag`] | weighted sums of table rows |
//! | [`places`] | the row of a table that each token's place has |
//! | [`means`] | the mean of the rows of each text |
//! | [`masked`] | dropout |
//!
//! Token vectors are rows of one matrix; [`Sequences`] assigns them to texts. Dropout is a function of a
//! key and of the element's number ([`Dropout`]), so no mask is stored. Results are the same bit for bit
//! whatever the number of threads; sums over rows are taken in blocks of fixed size for that reason.
//!
//! Products take their operands in 32 bits or, with [`Precision::Bf16`], rounded to bfloat16, and add up in 32
//! bits. AVX-512 BF16, or aarch64's BF16, multiplies such operands where the processor has it.
//!
//! `cargo bench --bench train_step` measures them; notes/benchmarks.md has the figures.

mod adam;
mod attention;
mod bag;
#[cfg(feature = "cube")]
mod cube;
mod device;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod dot;
mod dropout;
mod linear;
mod masked;
mod norm;
mod operation;
mod operations;
mod precision;
mod product;
mod row_gradient;
mod rows;
mod simd;
mod support;
mod updates;

pub use adam::Adam;
pub use attention::{Attention, Sequences};
pub use bag::SparseBatch;
pub use device::{is_cpu_engine, on_cpu_engine};
pub use dropout::Dropout;
pub use operation::{
    Engine, Everywhere, Operation, apply, is_whole, of_backend, owned, primitive, run, values, wrap,
};
pub use operations::{
    attention, attention_first, bag, linear, linear_gelu, masked, means, places, product,
    residual_norm,
};
pub use precision::Precision;
pub use row_gradient::{Gradient, RowGradient, RowGradients};
pub use support::{device_memory, emulated, sent, step_time};
pub use updates::{Clip, Updates, clip};
