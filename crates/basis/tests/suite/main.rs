//! Tests of dsokr-basis against brute force, dense algebra, simulation, and golden values.

mod cancellation;
mod eigenbasis;
mod features;
mod featurizers;
mod files;
mod kernels;
mod leverage;
mod mapped;
mod memory;
mod own_kernels;
mod processes;
mod random;
mod ranks;
mod real_data;
mod sketches;
mod store;
mod sums;
mod support;
mod tempered_files;
mod tempering;
mod tf_idf;
