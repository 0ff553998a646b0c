//! Sizes that are lowered to the number of training pairs.

/// A size that is more than the number of training pairs permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// The key.
    pub key: String,
    /// Its value.
    pub from: usize,
    /// The value that takes its place.
    pub to: usize,
}

/// Lowers a size to `most`, where that is at least 1.
pub(super) fn lower(key: &str, size: &mut usize, most: usize, lowered: &mut Vec<Lowered>) {
    if *size > most && most > 0 {
        lowered.push(Lowered { key: key.to_owned(), from: *size, to: most });
        *size = most;
    }
}
