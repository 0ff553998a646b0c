use super::Columns;
use super::draw::{Draw, Stream, normal};

pub(super) struct Gaussian;

impl Draw for Gaussian {
    fn usual(_: usize) -> Self {
        Self
    }

    fn columns(&self, stream: &Stream, block: usize) -> Columns {
        let outputs = stream.outputs(block);
        let weight = (stream.m as f64).sqrt().recip() as f32;
        let mut random = stream.generator(block);
        let entries = stream.m * outputs.len();
        let values = (0..entries).map(|_| weight * normal(&mut random)).collect();
        Columns { rows: outputs.collect(), values }
    }
}
