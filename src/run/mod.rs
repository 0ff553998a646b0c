//! Run directories: all that a training leaves behind, and all that evaluation and search read.
//!
//! | file | holds |
//! |---|---|
//! | `config.toml` | the configuration, every default written out |
//! | `basis.safetensors` | the eigenbasis of the sketched output kernel |
//! | `outputs.safetensors` | of a kernel machine: the mean of the targets, and without a sketch the outputs that carry the answers |
//! | `candidates.safetensors` | ids, labels and coordinates of the candidates |
//! | `ngrams.json`, `tokenizer.json`, … | what turns texts or vectors into inputs |
//! | `encoder.safetensors` | the best model so far |
//! | `ridge.safetensors` | of a kernel machine: the fitted model |
//! | `machine.safetensors`, `inputs.safetensors` | of one under a Lipschitz loss: the model, and the basis of the inputs |
//! | `embedding.json`, `embedding.svg` | what each rank of a learned embedding is worth |
//! | `checkpoint/last.safetensors` | the last state, for `--resume` |
//! | `log.jsonl` | a line an evaluation |
//! | `examples.svg` | some true molecules beside the predicted ones, where outputs are molecules |
//! | `metrics.json` | the final metrics; its presence says that the run is complete |
//!
//! An ensemble's directory holds `config.toml`, the run directories of its members under `members/`,
//! `combination.json`, the rule with the weights that were fitted, and `metrics.json`.
//!
//! Every file is replaced atomically. Candidates, encoder and checkpoint name the basis that they
//! belong to, and the encoder also what prepares its inputs. A run directory can be moved
//! or copied to another machine as it is.

mod embedding;
mod ensemble;
mod folder;
mod preparation_files;
mod report;
pub mod tables;
mod trained;

pub use embedding::{EmbeddingCurve, EmbeddingPoint};
pub(crate) use ensemble::MEMBERS;
pub use ensemble::{EnsembleRun, QueryAnswers};
pub use folder::Folder;
pub(crate) use preparation_files::{PreparationFiles, check_preparation};
pub use report::Report;
pub use trained::Run;

/// The basis, where outputs are sketched.
pub(crate) const BASIS: &str = "basis.safetensors";
