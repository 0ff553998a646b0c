//! Sketched kernel machines with Lipschitz losses.
//!
//! A [`Machine`] minimises `(1/n) Σ_i ℓ(f(x_i), y_i) + (λ/2) ‖f‖²` over the functions
//! `f(x) = Σ_i k(x, x_i) M [Rᵀ Γ]_i` of a decomposable kernel `k M` and a sketch R of the inputs (thesis,
//! chapter 3). The sketch and the kernel are those of `dsokr-basis`: a [`Basis`](dsokr_basis::Basis)
//! of the inputs gives features, in which the machine is linear.
//!
//! | machine | loss | output matrix M |
//! |---|---|---|
//! | joint quantile regression | [`Loss::Pinball`] | [`OutputMatrix::quantiles`] |
//! | robust regression | [`Loss::Huber`], [`Loss::EpsilonInsensitive`], [`Loss::EpsilonInsensitiveSquare`] | [`OutputMatrix::identity`] |
//! | related outputs | any | [`OutputMatrix::graph`], [`OutputMatrix::new`] |
//! | IOKR with robust losses | the robust ones, on [`Targets::projected`] | [`OutputMatrix::identity`] |
//!
//! [`OutputEmbedding`] learns few directions of an output space from a regression's predictions and
//! from outputs without inputs: reduced rank regression, and Output Embedding Learning.
//!
//! ```
//! use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, features::DenseRows};
//! use dsokr_machines::{
//!     Loss, Machine, Offset, OutputMatrix, Problem, Stop, Targets, crossing_loss,
//! };
//!
//! // Two quantiles of a spread that grows with x.
//! let x: Vec<f32> = (0..200).map(|i| (i / 2) as f32 / 50.0).collect();
//! let y: Vec<f64> = (0..200).map(|i| f64::from(x[i]) * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
//! let x = Features::Dense(DenseRows::new(1, x)?);
//! let sketch = SketchKind::SparsifiedRademacher { density: 0.1 };
//! let basis = Basis::fit(Kernel::Gaussian { gamma: 1.0 }, &x, &SketchOptions::new(&sketch, 20))?;
//! let levels = vec![0.1, 0.9];
//! let problem = Problem {
//!     output: OutputMatrix::quantiles(&levels, 5.0)?,
//!     loss: Loss::Pinball { levels },
//!     lambda: 1e-4,
//!     offset: Offset::Zero,
//! };
//! let targets = Targets::repeated(2, &y)?;
//! let machine = Machine::fit(basis, &x, &targets, &problem, &Stop::default())?;
//! let quantiles = machine.predict(&x)?;
//! assert!(quantiles[2 * 150] < -1.2 && quantiles[2 * 150 + 1] > 1.2);
//! assert!(crossing_loss(2, &quantiles)? < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod design;
mod dual;
mod embedding;
mod error;
mod loss;
mod machine;
mod output;
mod quantiles;
mod solver;
mod targets;

pub use embedding::OutputEmbedding;
pub use error::Error;
pub use loss::Loss;
pub use machine::{Machine, Prepared, Problem, Summary};
pub use output::OutputMatrix;
pub use quantiles::{coverage, crossing_loss, pinball_loss};
pub use solver::Stop;
pub use targets::{Offset, Targets};
