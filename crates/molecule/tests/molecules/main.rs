//! Canonical SMILES, fingerprints, counts, drawings and unusual molecules.

mod canonical;
mod counts;
#[path = "../data/mod.rs"]
mod data;
mod drawings;
mod fingerprints;
mod support;
mod unusual;
