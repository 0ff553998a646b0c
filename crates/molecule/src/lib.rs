//! dsokr-molecule
