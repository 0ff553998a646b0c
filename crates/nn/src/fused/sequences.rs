use std::ops::Range;

/// The rows of each text in a matrix of token vectors.
///
/// Texts lie one after the other without padding, so operations cost only what the tokens cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// Text i has the rows from `bounds[i]` to `bounds[i + 1]`.
    bounds: Vec<usize>,
}

impl Sequences {
    /// Texts of the given lengths without padding.
    ///
    /// # Panics
    /// If a text has no token: attention over no tokens is undefined.
    pub fn packed(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut bounds = vec![0];
        for length in lengths {
            assert!(length > 0, "a text without tokens");
            bounds.push(bounds[bounds.len() - 1] + length);
        }
        Self { bounds }
    }

    /// Number of texts.
    pub fn texts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Number of rows of the matrix: of tokens of all texts.
    pub fn rows(&self) -> usize {
        self.bounds[self.texts()]
    }

    /// The row of each text's first token, and the number of rows.
    pub fn bounds(&self) -> &[usize] {
        &self.bounds
    }

    /// The row of each text's first token.
    pub fn starts(&self) -> impl Iterator<Item = usize> {
        self.ranges().map(|rows| rows.start)
    }

    /// Number of tokens of each text.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + Clone {
        self.bounds.windows(2).map(|bounds| bounds[1] - bounds[0])
    }

    /// The longest text.
    pub fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// The rows of each text.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.bounds.windows(2).map(|bounds| bounds[0]..bounds[1])
    }
}
