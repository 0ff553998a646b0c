//! Tests of dsokr-machines against closed forms, brute force, finite differences and long runs.

mod bad_input;
mod embeddings;
mod files;
mod machines;
mod quantiles;
mod structured;
mod support;
