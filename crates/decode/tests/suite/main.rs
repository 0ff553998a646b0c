//! All tests but those of peak memory, which need a process each.

mod candidates;
mod common;
mod ensemble;
mod exact;
mod golds;
mod hubs;
mod label_sets;
mod metrics;
mod multi_label;
mod parts;
mod per_query;
mod permutations;
mod rank;
mod report;
mod shards;
mod standings;
mod top_k;
mod words;
