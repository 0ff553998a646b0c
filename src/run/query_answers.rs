use dsokr_data::Split;
use dsokr_decode::{PerQuery, Pool};

/// Queries as each member reads them, with the members' predictions.
pub struct QueryAnswers {
    /// At least one.
    pub(super) splits: Vec<Split>,
    pub(super) lists: Option<PerQuery>,
    /// As they are scored.
    pub(super) answers: Vec<Vec<f32>>,
}

impl QueryAnswers {
    /// The queries as the first member reads them.
    pub fn split(&self) -> &Split {
        &self.splits[0]
    }

    /// The queries as each member reads them.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// The candidates of each query.
    pub fn pool(&self) -> Pool<'_> {
        self.lists.as_ref().map_or(Pool::Shared, Pool::PerQuery)
    }
}
