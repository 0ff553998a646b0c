//! Canonical SMILES, fingerprints, counts, chains, rings, configurations, drawings and unusual molecules.

mod canonical;
mod counts;
#[path = "../data/mod.rs"]
mod data;
mod drawings;
mod facts;
mod fingerprints;
mod formulas;
mod mol_blocks;
mod skeletons;
mod stereo;
mod support;
mod unusual;
mod whole_features;
