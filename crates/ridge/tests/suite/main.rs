//! Tests of dsokr-ridge against naive matrix formulas, refitting, and the files of others.

mod bad_input;
mod conjugate;
mod data;
mod files;
mod identities;
mod naive;
mod selection;
mod streams;
