//! Tests of dsokr-machines against naive matrix formulas, refitting, and the files of others.

mod alignment;
mod bad_input;
mod conjugate;
mod data;
mod files;
mod identities;
mod metabolites;
mod naive;
mod retrieval_files;
mod selection;
mod streams;
