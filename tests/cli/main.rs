//! The binary as a user runs it.

mod advice;
mod bad_input;
mod bad_rows;
mod beyond;
mod beyond_models;
mod book;
#[cfg(feature = "serve")]
mod browser;
mod candidates;
mod card;
mod cells;
mod changed_settings;
mod chebi20;
mod classes;
mod columns;
mod compare;
mod cv;
mod damage;
mod data_root;
mod empty_sets;
mod ensembles;
mod exports;
#[cfg(feature = "fetch")]
mod fetch;
mod fragments;
mod golds;
#[cfg(feature = "wgpu")]
mod gpu;
mod graphs;
#[cfg(unix)]
mod hostile;
mod init;
mod kernel_loss;
mod kernels;
mod label_outputs;
mod lists;
mod log;
mod machines;
mod median;
mod memory;
mod molecules;
mod onnx;
mod pipeline;
mod pools;
mod predictions;
mod pretrained;
mod quantiles;
mod rankings;
#[cfg(feature = "mpi")]
mod ranks;
mod regression;
mod reports;
mod reranker;
mod resume;
mod sandbox;
mod scaling;
#[cfg(feature = "serve")]
mod served;
mod several_files;
mod shards;
mod shown;
#[cfg(unix)]
mod signals;
#[cfg(target_os = "linux")]
mod slurm;
mod spectra;
mod spectra_candidates;
mod spectra_reranker;
mod strangers;
mod sums;
mod synthetic;
#[cfg(unix)]
mod system;
mod tensorboard;
mod threads;
mod trees;
mod vectors;
mod words;
#[cfg(unix)]
mod writers;
