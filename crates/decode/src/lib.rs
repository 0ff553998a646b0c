//! From predictions to ranks: scores `⟨z_q, ψ̃(c)⟩ + b(c)` of queries against candidates.
//!
//! [`Queries`] are predictions `z ∈ R^p`, [`Candidates`] are points `ψ̃(c) ∈ R^p` with a constant
//! `b(c)` each ([`CandidateBlocks`] is anything that makes them block by block). Scores are computed tile by tile and
//! looked at once: to [`rank`] the gold candidate, ties counted exactly, or to keep the [`top_k`]. The queries ×
//! candidates matrix never exists. A [`Pool`] says whether queries share the candidates or have a list each
//! ([`PerQuery`]). [`GoldOutputs`] are the right candidates of queries that have several, and those that do not
//! compete. Candidates in [`Shards`] are spread over several processes, which answer together.
//! [`Hubs`] take their advantage from candidates that are near everything.
//! Several models rank as an [`Ensemble`] by a [`Combination`] of their scores or ranks.
//! [`Metrics`] summarise ranks, [`bootstrap`] says how sure they are, [`report`] looks closer.
//! Without candidates, [`ExactSearch`] finds the best of all rankings or of all label sets. [`best_expected_f1`] finds
//! the label set with the largest expected F1.
//!
//! ```
//! use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, MissingGold, Pool, Queries};
//!
//! let text = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
//! let candidates = Candidates::new(CandidateParts {
//!     ids: text(&["ethanol", "methanol", "benzene"]),
//!     labels: text(&["CCO", "CO", "c1ccccc1"]),
//!     dim: 2,
//!     coordinates: vec![1.0, 0.2, 0.9, 0.4, 0.0, 1.0],
//!     ..CandidateParts::default()
//! })?;
//! let names = text(&["q1", "q2"]);
//! let gold = text(&["ethanol", "benzene"]);
//! let queries = Queries::named(&names, 2, &[1.0, 0.0, 0.3, 0.7])?;
//! let pool = Pool::Shared;
//! let rule = Combination::default();
//! let model = Ensemble::one(queries, &candidates, None)?;
//! let gold = model.gold(pool, &gold, MissingGold::Error)?;
//! let metrics = model.metrics(pool, &model.rank(pool, &rule, &gold)?)?;
//! assert_eq!((metrics.mrr(), metrics.tied_queries), (1.0, 0));
//! assert_eq!(candidates.label(model.top_k(pool, &rule, 1)?[1][0].candidate), "c1ccccc1");
//! # Ok::<(), dsokr_core::Error>(())
//! ```

mod blocks;
mod candidates;
mod classes;
mod codes;
mod ensemble;
mod error;
mod exact;
mod expected_f1;
mod gold_outputs;
mod hits;
mod hubs;
mod intervals;
mod metrics;
mod permutations;
mod pool;
mod queries;
mod rank;
mod rank_metrics;
mod ranked_hits;
pub mod report;
mod reranker;
mod scoring;
mod shards;
mod sign_flips;

pub use blocks::{CandidateBlocks, ScoreBlock};
pub use candidates::{CandidateParts, CandidateWriter, Candidates, Columns, StorageType};
pub use codes::CodedBlock;
pub use ensemble::{
    Alignment, Combination, Ensemble, FittedWeights, LikelyWeights, Member, OutOfPoolScores,
    fit_weights, likely_weights,
};
pub use exact::{Encoding, ExactSearch};
pub use expected_f1::best_expected_f1;
pub use gold_outputs::{ChosenGold, GoldOutputs};
pub use hits::{Decoded, Hit, RowHit, rank, rank_shared, top_k, top_rows, top_rows_shared};
pub use hubs::Hubs;
pub use intervals::{
    IndependentQueries, LEAST_GROUPS, bootstrap, percentile_interval, resampled, wilson_interval,
};
pub use metrics::{Metrics, MultiLabelMetrics, PoolSizes, f1};
pub use permutations::DecodedOutput;
pub use pool::{MissingGold, PerQuery, Pool};
pub use queries::Queries;
pub use rank::Rank;
pub use rank_metrics::{MRR, RANK_METRICS, RankMetric, RankSummary, RankValues};
pub use ranked_hits::{RankedHit, RankedHits};
pub use reranker::{
    Evidence, Lexicon, Neighbourhood, Reranker, RerankerExamples, RerankerFeatures, Words,
};
pub use shards::{AllCandidates, CandidatePlace, ShardSet, Shards, SomeCandidates};
pub use sign_flips::{exchange_p, sign_flip_p};

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
