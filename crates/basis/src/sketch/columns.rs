/// Columns in one block of a sketch.
pub(crate) const COLUMNS: usize = 512;

/// The columns of one block of a sketch that are not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// The outputs they belong to, increasing.
    pub rows: Vec<usize>,
    /// Their values, m for each output, in the order of `rows`.
    pub values: Vec<f32>,
}

impl Columns {
    /// Whether every column of the block is zero.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
