//! Tests of dsokr-core against other programs, statistics and golden values.

mod cancellation;
mod memory;
mod processes;
mod random;
mod store;
