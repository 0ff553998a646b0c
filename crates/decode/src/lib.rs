//! dsokr-decode
