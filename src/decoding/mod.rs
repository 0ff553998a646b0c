//! From predictions to answers: candidates are ranked, and evaluated on a split.

pub(crate) mod answer;
pub(crate) mod beyond;
pub(crate) mod decoder;
pub(crate) mod evaluation;
pub(crate) mod evaluator;
pub(crate) mod filter;
pub(crate) mod fingerprint;
pub(crate) mod lexicon;
pub(crate) mod perfect;
pub(crate) mod spectra;
