//! Run directories: a training writes their files, and evaluation and search read nothing else.
//!
//! | file | holds |
//! |---|---|
//! | `config.toml` | the configuration, with all defaults |
//! | `README.md` | the card: data and licence, metrics with intervals, how to train it again and use it |
//! | `data.json` | the folder of the data that it was trained on |
//! | `fingerprints.safetensors` | the fingerprints of the text files, and the names of the other files |
//! | `basis.safetensors` | the eigenbasis of the sketched output kernel |
//! | `scaling.safetensors` | means and standard deviations of the outputs' features, where they are standardised |
//! | `outputs.safetensors` | of a kernel machine: the mean of the targets, and without a sketch the outputs that span the predictions |
//! | `features.safetensors` | the columns of the outputs' features, with which candidates are added |
//! | `labels.json` | the names of the labels, for exact search |
//! | `candidates.safetensors` | ids, labels and coordinates of the candidates |
//! | `shards/` | the candidates in shards, which several processes share, if [`shard_candidates`](crate::run::shard_candidates) has written them |
//! | `ngrams.json`, `tokenizer.json`, … | what turns texts or vectors into inputs |
//! | `encoder.safetensors` | the best model so far |
//! | `ridge.safetensors` | of a kernel machine: the fitted model |
//! | `machine.safetensors`, `inputs.safetensors` | of one under a Lipschitz loss: the model, and the basis of the inputs |
//! | `held-out.safetensors` | answers to training inputs by models that have not seen their pair, where `decoding.held_out` keeps them and where candidates are corrected for hubs |
//! | `second-look.safetensors` | the second look, with `decoding.second_look` |
//! | `held-out-part.safetensors`, `second-look-part.safetensors` | beside it where `decoding.held_out` keeps answers: those to a part of the pairs that neither hub constants nor this second look have seen |
//! | `embedding.json`, `embedding.svg` | the validation figure of each rank of a learned embedding |
//! | `checkpoint/last.safetensors` | the last state, for `--resume` |
//! | `log.jsonl` | a line an evaluation: [`LogLine`](dsokr_train::LogLine) |
//! | `tensorboard/` | event files of TensorBoard, if `logging.tensorboard` is true |
//! | `changes.jsonl` | a line for each setting that a resumed training changed |
//! | `examples.svg` | some true molecules beside the predicted ones, if outputs are molecules |
//! | `metrics.json` | the final metrics with their 95 % intervals, seed, version, date and the configuration's fingerprint; a run that has this file is complete |
//!
//! An ensemble's directory holds `config.toml`, the run directories of its members under `members/`,
//! `combination.json`, the rule with the weights that were fitted, `README.md` and `metrics.json`.
//!
//! While a process writes the run `NAME`, the file `.NAME.lock` beside it is locked. A new run is filled as
//! the folder `.NAME.XXXXXX.partial`, with random letters, and renamed.
//!
//! Every file is replaced atomically. Candidates, encoder and checkpoint name their basis, and the
//! encoder also names the preparation of its inputs. A run directory can be moved or copied to a
//! different machine.

pub(crate) mod candidates;
mod card;
mod curves;
mod files;
mod folder;
pub(crate) mod held_out;
mod place;
mod report;
mod tensorboard;

pub use curves::{EmbeddingCurve, EmbeddingPoint, LearningCurve};
pub(crate) use files::{
    BASIS, CANDIDATES, CHECKPOINT, EXAMPLES, FEATURES, HELD_OUT, HELD_OUT_PART, LABELS, MEMBERS,
    OUTPUTS, RULE, SCALING, SECOND_LOOK, SECOND_LOOK_PART, SHARDS, read_json, read_needed,
    read_optional, replace_json, save_data_folder, write_text,
};
pub use folder::Folder;
pub(crate) use folder::{PreparationFiles, check_preparation, validation_scalars};
pub use held_out::HeldOut;
pub(crate) use held_out::{HeldPart, drawn_pairs};
pub use place::{OutputFolder, check_output};
pub(crate) use place::{RunLock, inner, name, run_of};
pub use report::{Record, Report, counts_line, metrics_table};
