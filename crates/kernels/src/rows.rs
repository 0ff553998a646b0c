use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;

use crate::attention::Sequences;
use crate::bag::{Bag, SparseBatch};
use crate::operation::Operation;

/// An operation between the rows of tokens and rows of another kind, which a batch's lengths determine.
#[derive(Clone)]
pub struct Rows {
    pub sequences: Arc<Sequences>,
    pub kind: Kind,
}

#[derive(Clone, Copy)]
pub enum Kind {
    /// The row of a table for the position of each token in its text, counted from this row on.
    Places(usize),
    /// The mean of the tokens' rows of each of so many texts.
    Means(usize),
}

impl Rows {
    /// Returns the same as a weighted sum of rows.
    fn bag(&self) -> Bag {
        let sequences = &self.sequences;
        let batch = match self.kind {
            Kind::Places(first) => {
                let places = sequences.lengths().flat_map(|length| first..first + length);
                SparseBatch::selection(places.map(|place| place as u32))
            }
            Kind::Means(texts) => {
                let lengths = sequences.lengths().take(texts);
                let values = lengths.flat_map(|n| std::iter::repeat_n(1.0 / n as f32, n)).collect();
                let starts = sequences.bounds()[..=texts].to_vec();
                SparseBatch { indices: (0..starts[texts] as u32).collect(), starts, values }
            }
        };
        Bag { batch: Arc::new(batch), by_rows: None }
    }
}

impl Operation<Flex, 1> for Rows {
    /// Number of rows of the input.
    type Saved = usize;

    fn forward(&self, x: [FlexTensor; 1], keep: bool) -> (FlexTensor, usize) {
        Operation::<Flex, 1>::forward(&self.bag(), x, keep)
    }

    fn backward(self, rows: usize, dy: FlexTensor, wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        Operation::<Flex, 1>::backward(self.bag(), rows, dy, wanted)
    }
}
