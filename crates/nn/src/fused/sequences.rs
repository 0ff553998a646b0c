use std::ops::Range;

/// The rows of each text in a matrix of token vectors.
///
/// Texts lie one after the other without padding, so operations cost only what the tokens cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    starts: Vec<usize>,
    lengths: Vec<usize>,
    rows: usize,
}

impl Sequences {
    /// Texts of the given lengths without padding.
    ///
    /// # Panics
    /// If a text has no token: attention over no tokens is undefined.
    pub fn packed(lengths: impl IntoIterator<Item = usize>) -> Self {
        let lengths: Vec<usize> = lengths.into_iter().collect();
        assert!(lengths.iter().all(|&length| length > 0), "a text without tokens");
        let mut rows = 0;
        let mut next = |length: &usize| {
            rows += length;
            rows - length
        };
        let starts = lengths.iter().map(&mut next).collect();
        Self { starts, lengths, rows }
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Number of rows of the matrix: of tokens of all texts.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The row of each text's first token.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Number of tokens of each text.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The longest text.
    pub fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// The rows of each text.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.iter().zip(&self.lengths).map(|(&start, &length)| start..start + length)
    }
}
