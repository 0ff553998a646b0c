//! Trained runs, and what they answer.

pub(crate) mod beyond;
mod calibrated;
mod candidates;
mod cautions;
mod coordinates;
mod coverage;
mod ensemble;
mod found;
mod held_out;
mod queries;
mod search;
mod trained;
mod wanted;

pub use crate::decoding::answer::{Answer, Cell, Hit, Quantile};
pub use crate::run_dir::{
    EmbeddingCurve, EmbeddingPoint, LearningCurve, LearningPoint, OutputFolder, Record, Report,
    check_not_read, check_output, counts_line, metrics_table,
};
pub use candidates::{
    AddedCandidates, NewCandidates, WrittenShards, add_candidates, shard_candidates,
};
pub use coverage::{
    CalibratingQueries, CalibratingQuery, Calibration, CandidateSet, CandidateSets,
};
pub use ensemble::EnsembleRun;
pub use found::{FoundCandidate, read_found};
pub use queries::{QueryAnswers, QueryRequest};
pub use trained::Run;
pub use wanted::Wanted;
