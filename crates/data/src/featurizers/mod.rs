//! Structured objects and texts as rows of features: n-grams, TF-IDF, sets of labels, rankings.
//!
//! A featurizer knows no kernel, and no file.

mod labels;
mod ngram_config;
mod ngrams;
mod numbered;
mod rankings;
mod tf_idf;

pub use labels::LabelVocabulary;
pub use ngram_config::{NgramConfig, NgramKind};
pub use ngrams::NgramVocabulary;
pub use rankings::{UNRANKED, hamming_one_hot, kemeny_signs, lehmer_codes};
pub use tf_idf::{TfIdf, bucket};
