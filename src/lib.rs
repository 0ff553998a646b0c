//! Deep Sketched Output Kernel Regression: neural networks and kernel machines that predict structured
//! objects (molecules, graphs, label sets, rankings) from text and other inputs.
//!
//! ```
//! # fn main() -> Result<(), dsokr::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let out = folder.path().join("run");
//! let config = dsokr::Config::load("configs/quickstart.toml")?;
//! let trained = dsokr::fit(&config, &out)?;
//! println!("{}", trained.report);
//!
//! let text = "A carboxylic acid with a bromine atom on a benzene ring.";
//! for hit in trained.run.search(text, 3)?.hits {
//!     println!("{:.4}  {}", hit.score, hit.label);
//! }
//! # assert!(trained.report.metrics.mrr() > 0.3, "{}", trained.report);
//! # let again = dsokr::Run::open(&out)?.search(text, 3)?;
//! # assert_eq!(again, trained.run.search(text, 3)?);
//! # Ok(())
//! # }
//! ```
//!
//! A program that has pairs and no configuration calls [`fit_pairs`]. One that shows progress gives an [`Observer`], and
//! ends the training from any thread by a [`Cancellation`]; the state is kept, and the same request with `resume` goes on:
//!
//! ```
//! use dsokr::{Cancellation, Config, Event, Observer, Request};
//!
//! struct Progress(std::sync::mpsc::Sender<f64>);
//!
//! impl Observer for Progress {
//!     fn event(&mut self, event: &Event) {
//!         if let Event::Evaluation { epoch, .. } = event {
//!             println!("{event}");
//!             let _ = self.0.send(*epoch);
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), dsokr::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let out = folder.path().join("run");
//! let config = Config::load("configs/quickstart.toml")?;
//! let request = Request { out: Some(out), ..Request::new(&config)? };
//! let (progress, epochs) = std::sync::mpsc::channel();
//! let cancellation = Cancellation::default();
//! let button = cancellation.clone();
//! let presses = std::thread::spawn(move || epochs.recv().map(|_| button.cancel()));
//! match cancellation.scope(|| request.run(&mut Progress(progress))) {
//!     Ok(trained) => println!("{}", trained.report),
//!     Err(error) if error.is_cancelled() => println!("{error}"),
//!     Err(error) => return Err(error),
//! }
//! # presses.join().unwrap().unwrap();
//! # let trained = Request { resume: true, ..request }.run(&mut ())?;
//! # assert!(trained.report.metrics.mrr() > 0.3, "{}", trained.report);
//! # Ok(())
//! # }
//! ```
//!
//! At steps and evaluations an observer may also stop the training, change its learning rate, or ask for an evaluation: by the
//! [`Control`](train::Control) of the event.
//!
//! Data flows one way. A [`Config`] is read and checked; its [`data`] are loaded; [`fit()`] makes the
//! [`targets`] of the training outputs, fits a [`Learner`] to them, and leaves a [`Run`] on disk, which
//! is all that evaluation and search read. A learner is what an `[encoder]` table describes: a neural
//! encoder with its [`Recipe`], or a kernel machine, or one that a program [`register`]s.
//!
//! | module | holds |
//! |---|---|
//! | [`core`] | errors, files, randomness, processes, cancellation |
//! | [`basis`] | feature rows, kernels, sketches, the eigenbasis |
//! | [`decode`] | candidates, ranks, ensembles, metrics |
//! | [`molecule`] | SMILES, graphs, graph kernels, edit distance |
//! | [`spectra`] | mass spectra and their files |
//! | [`data`] | tables, matrices, label files, splits |
//! | [`nn`] | neural encoders on Burn |
//! | [`machines`] | kernel machines |
//! | [`mod@train`] | the training loop |

#[cfg(feature = "command")]
pub mod cli;
pub mod config;
pub mod run;
#[cfg(feature = "serve")]
pub mod serve;
pub mod targets;

mod decoding;
mod encoders;
mod error;
mod fit;
mod learners;
mod metrics;
#[cfg(all(unix, any(feature = "command", feature = "serve")))]
mod nohup;
mod run_dir;
mod studies;

/// The pages whose code is compiled, and run where it needs no data.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../book/src/custom-encoder.md")]
    mod custom_encoder {}
    #[doc = include_str!("../book/src/molecules.md")]
    mod molecules {}
}

pub use dsokr_basis as basis;
/// The crate of errors, files, randomness and processes. Import what is in it, as `use dsokr::core::Error;` does, and not the
/// module itself, nor `dsokr::*`: derive macros such as Burn's `Module` would find it in the place of Rust's own `core`.
pub use dsokr_core as core;
pub use dsokr_core::{Cancellation, StageReport};
pub use dsokr_data as data;
pub use dsokr_decode as decode;
#[cfg(feature = "fetch")]
pub use dsokr_fetch as fetch;
pub use dsokr_machines as machines;
pub use dsokr_molecule as molecule;
pub use dsokr_nn as nn;
pub use dsokr_nn::Start;
pub use dsokr_spectra as spectra;
pub use dsokr_train as train;
pub use dsokr_train::{Event, Observer};

/// The memory that a run needs, estimated before it is taken and compared with what there is.
pub mod memory {
    pub use crate::learners::memory::*;
    pub use crate::targets::memory::*;
}

/// The processors on which models are computed.
pub mod device {
    pub use dsokr_nn::Processor;
}

pub use config::candidate_rule::CandidateRule;
pub use config::{Abilities, Config, EncoderTable, HeldOutPredictions};
pub use decoding::beyond::{BeyondSearch, SearchEnd, SearchFacts};
pub use decoding::decoder::PredictedOutput;
pub use decoding::evaluation::StoredEvaluation;
pub use decoding::evaluator::Evaluator;
pub use decoding::filter::{Comparison, Condition, Filter, Operator, Value};
pub use encoders::inputs::{Prepare, Recipe};
pub use encoders::ngram_bag::NgramBagConfig;
pub use encoders::tokens::{PretrainedInputs, TokenInputs, TokenInputsConfig};
pub use encoders::{BagBesideConfig, BothInputs, PeakBagConfig, PeakInputs, WordsRead};
pub use encoders::{inputs, spectrum_inputs};
pub use error::Error;
pub use fit::{Plan, Request, Reserved, Trained, fit};
pub use learners::choice::Choice;
pub use learners::contract;
pub use learners::learner::{Fit, Fitted, FoldPredictions, Learner, Predictor, register};
pub use learners::network::Network;
pub use metrics::classes::ClassScores;
pub use metrics::evaluation::{EvaluatedPool, Evaluation, SharedCandidates};
pub use metrics::labels::LabelScores;
pub use metrics::mean::MeanAndDeviation;
pub use metrics::metric::{Metric, Needs, RESAMPLES, intervals};
pub use metrics::molecules::{EXAMPLES, drawing};
pub use metrics::quantiles::{Coverage, QuantileScores};
pub use metrics::rankings::RankingScores;
pub use metrics::regression::{NumberScores, RegressionScores, TargetScores};
pub use metrics::scores::{OutputScores, Scores};
pub use metrics::structures::{BeyondScores, MoleculeScores, StructureScores};
pub use metrics::{compare, table};
pub use run::{Member, Run, archive};
pub use run_dir::{HeldOut, PreparationFile, RunDir, SolvedLine};
pub use studies::pairs::{fit_pairs, write_pairs};
pub use studies::{init, quickstart, sketch, sweep};
