//! Trained runs, and what they answer.

pub mod archive;
pub(crate) mod beyond;
mod calibrated;
mod candidates;
mod cautions;
mod changed;
mod coordinates;
mod coverage;
mod data;
mod ensemble;
mod found;
mod held_out;
mod member;
mod placement;
mod pools;
mod queries;
mod score;
mod search;
mod wanted_candidates;

pub use crate::decoding::answer::{Answer, Cell, Hit, Quantile};
pub use crate::run_dir::{
    EmbeddingCurve, EmbeddingPoint, LearnedFrom, LearningCurve, LearningPoint, MeasuredOn,
    OutputFolder, Record, Report, check_not_read, check_output, counts_line, metrics_table,
};
pub(crate) use candidates::ensemble_of;
pub use candidates::{
    AddedCandidates, NewCandidates, RemovedCandidates, WrittenShards, add_candidates,
    remove_candidates, shard_candidates,
};
pub use changed::SplitUse;
pub use coverage::{
    CalibratingQueries, CalibratingQuery, Calibration, CandidateSet, CandidateSets,
};
pub use ensemble::Run;
pub use found::{FoundCandidate, read_found};
pub use member::Member;
pub use pools::PoolMetrics;
pub use queries::{PredictedQueries, QueryRequest};
pub use wanted_candidates::WantedCandidates;
