//! Tests of dsokr-basis against brute force, dense algebra, simulation, and golden values.

mod cancellation;
mod eigenbasis;
mod features;
mod files;
mod kernels;
mod leverage;
mod mapped;
mod own_kernels;
mod ranks;
mod real_data;
mod sketches;
mod sums;
mod support;
mod tempered_files;
mod tempering;
