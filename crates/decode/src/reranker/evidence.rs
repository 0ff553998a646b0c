//! Further numbers by which the text of a query tells its first candidates apart.

use std::fmt::Debug;

use dsokr_core::Error;

/// What the text of a query says of candidates, by their labels, beside the [words](crate::Words) that it has: numbers that
/// become features of a [`Reranker`](crate::Reranker), such as how much of a spectrum a molecule explains.
pub trait Evidence: Debug + Send + Sync {
    /// Returns how many numbers there are of a candidate.
    fn len(&self) -> usize;

    /// Returns whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many of them, from the first on, few examples suffice for.
    fn first(&self) -> usize;

    /// Returns the numbers of the candidates with these labels for a text, `[labels × len]` row-major.
    ///
    /// # Errors
    /// A text that cannot be read.
    fn values(&self, text: &str, labels: &[&str]) -> Result<Vec<f32>, Error>;

    /// Returns it as a text, which the file of a reranker keeps.
    fn text(&self) -> String;
}

/// Files keep it as a text.
impl PartialEq for dyn Evidence {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}
