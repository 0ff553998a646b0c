//! dsokr-train
