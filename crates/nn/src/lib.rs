//! dsokr-nn
