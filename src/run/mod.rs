//! Trained runs, and what they answer.

mod distinct;
mod ensemble;
mod export;
mod growth;
mod output;
mod outputs;
mod query_answers;
mod query_request;
mod search;
mod shards;
mod shared;
mod trained;
mod weights;

pub use crate::answer::{Answer, Hit, Quantile};
pub use crate::run_dir::{
    EmbeddingCurve, EmbeddingPoint, Folder, LearningCurve, Record, Report, tables,
};
pub use ensemble::EnsembleRun;
pub use growth::{AddedCandidates, add_candidates};
pub use output::{OutputFolder, check_output};
pub use query_answers::QueryAnswers;
pub use query_request::QueryRequest;
pub use shards::{WrittenShards, shard_candidates};
pub use trained::Run;
