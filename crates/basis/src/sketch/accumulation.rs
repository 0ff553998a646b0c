use super::draw::{BadParameter, Draw, Stream, signed};
use super::picked::Picked;
use crate::random::below;

pub(super) struct Accumulation {
    pub(super) terms: usize,
}

pub(super) fn default_terms() -> usize {
    10
}

impl Draw for Accumulation {
    fn usual(_: usize) -> Self {
        Self { terms: default_terms() }
    }

    fn draw(&self, stream: &Stream) -> Result<Option<Picked>, String> {
        let (m, n, terms) = (stream.m, stream.n, self.terms);
        let mut random = stream.generator(0);
        let weight = (n as f64 / (m as f64 * terms as f64)).sqrt();
        let rows = (0..m).flat_map(|row| std::iter::repeat_n(row, terms));
        Ok(Some(Picked::new(rows.map(|row| {
            let output = below(&mut random, n as u64) as usize;
            (row, output, signed(&mut random, weight))
        }))))
    }

    fn validate(&self, _: usize) -> Result<(), BadParameter> {
        match self.terms {
            0 => Err(("terms", 0.0, "1 and more".into())),
            _ => Ok(()),
        }
    }
}
