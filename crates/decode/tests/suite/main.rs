//! All tests but those of peak memory, which need a process each.

mod candidates;
mod codes;
mod common;
mod divided;
mod ensemble;
mod evidence;
mod exact;
mod expected_f1;
mod gold_outputs;
mod hubs;
mod label_sets;
mod metrics;
mod multi_label;
mod parts;
mod per_query;
mod permutations;
mod rank;
mod ranked_hits;
mod report;
mod scores;
mod shards;
mod top_k;
mod words;
