//! Canonical SMILES, fingerprints, counts, drawings and unusual molecules.

mod canonical;
mod counts;
mod drawings;
mod fingerprints;
mod support;
mod unusual;
