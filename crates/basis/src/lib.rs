//! dsokr-basis
