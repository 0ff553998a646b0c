use std::ops::Range;

/// Which rows of a matrix of token vectors belong to which text.
///
/// Texts lie one after the other. [`packed`](Self::packed) rows have no padding, so that every
/// operation costs what the tokens are; [`padded`](Self::padded) rows are a batch of equal lengths,
/// whose padding no text attends to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    starts: Vec<usize>,
    lengths: Vec<usize>,
    rows: usize,
}

impl Sequences {
    /// Texts of these lengths without anything between them.
    ///
    /// # Panics
    /// If a text has no token: attention over nothing is not defined.
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

    /// Texts of these lengths, each in `stride` rows.
    ///
    /// # Panics
    /// If a text has no token or more than `stride`.
    pub fn padded(lengths: impl IntoIterator<Item = usize>, stride: usize) -> Self {
        let lengths: Vec<usize> = lengths.into_iter().collect();
        assert!(lengths.iter().all(|&n| n > 0 && n <= stride), "a length beyond 1..={stride}");
        let starts = (0..lengths.len()).map(|i| i * stride).collect();
        let rows = lengths.len() * stride;
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

    /// Number of rows of the matrix, padding included.
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

    /// The rows of padding.
    pub(super) fn gaps(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.ranges().map(|range| range.end);
        let next = self.starts.iter().copied().skip(1).chain([self.rows]);
        ends.zip(next).map(|(end, next)| end..next).filter(|gap| !gap.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_have_no_gap_and_padded_ones_the_rest() {
        let packed = Sequences::packed([3, 1, 2]);
        assert_eq!((packed.starts(), packed.rows(), packed.longest()), (&[0, 3, 4][..], 6, 3));
        assert_eq!(packed.gaps().count(), 0);
        let padded = Sequences::padded([3, 1, 2], 3);
        assert_eq!((padded.starts(), padded.rows()), (&[0, 3, 6][..], 9));
        assert_eq!(padded.gaps().collect::<Vec<_>>(), [4..6, 8..9]);
    }

    #[test]
    #[should_panic(expected = "without tokens")]
    fn a_text_without_tokens_is_refused() {
        Sequences::packed([2, 0]);
    }
}
