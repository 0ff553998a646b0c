//! Trained runs, and what they answer.

mod coordinates;
mod ensemble;
mod growth;
mod queries;
mod search;
mod shards;
mod trained;

pub use crate::answer::{Answer, Hit, Quantile};
pub use crate::run_dir::{
    EmbeddingCurve, EmbeddingPoint, Folder, LearningCurve, OutputFolder, Record, Report,
    check_output, counts_line, metrics_table,
};
pub use ensemble::EnsembleRun;
pub use growth::{AddedCandidates, add_candidates};
pub use queries::{QueryAnswers, QueryRequest};
pub use shards::{WrittenShards, shard_candidates};
pub use trained::Run;
