use super::Columns;
use super::draw::{Draw, Stream, signed};
use crate::random::below;

pub(super) struct CountSketch;

impl Draw for CountSketch {
    fn usual(_: usize) -> Self {
        Self
    }

    fn columns(&self, stream: &Stream, block: usize) -> Columns {
        let outputs = stream.outputs(block);
        let mut random = stream.generator(block);
        let mut values = vec![0.0; stream.m * outputs.len()];
        for column in values.chunks_exact_mut(stream.m) {
            let row = below(&mut random, stream.m as u64) as usize;
            column[row] = signed(&mut random, 1.0);
        }
        Columns { rows: outputs.collect(), values }
    }
}
