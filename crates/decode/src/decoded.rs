use crate::{Hit, Rank};

/// What an ensemble says about one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Rank of the gold candidate; none where there is none.
    pub rank: Option<Rank>,
    /// Combined score of the gold candidate, rounded to f32; none where there is none.
    pub gold_score: Option<f32>,
    /// The best candidates, best first, with their combined scores rounded to f32.
    pub hits: Vec<Hit>,
}
