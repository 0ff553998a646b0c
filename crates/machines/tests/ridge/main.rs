//! Tests of dsokr-machines against naive matrix formulas, refitting, and the files of others.

mod alignment;
mod bad_input;
mod cancelled;
mod conjugate;
mod constants;
mod decomposable;
mod files;
mod identities;
mod metabolites;
mod naive;
mod precomputed;
mod ranks;
mod relevance;
mod selection;
mod shared;
mod streams;
mod threads;
mod weighting;
mod weights;
