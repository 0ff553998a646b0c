use super::draw::{BadParameter, Draw, Stream, normal, signed};
use super::picked::Picked;
use super::{COLUMNS, Columns};
use crate::random::unit;

/// Independent entries, non-zero with probability `density`: normal ones, else ±1, scaled.
pub(super) struct Sparsified<const NORMAL: bool> {
    pub(super) density: f64,
}

pub(super) type SparsifiedGaussian = Sparsified<true>;
pub(super) type SparsifiedRademacher = Sparsified<false>;

impl<const NORMAL: bool> Draw for Sparsified<NORMAL> {
    fn usual(n: usize) -> Self {
        Self { density: (20.0 / n as f64).min(1.0) }
    }

    /// Refuses a sketch of zeros.
    fn draw(&self, stream: &Stream) -> Result<Option<Picked>, String> {
        let blocks = stream.n.div_ceil(COLUMNS);
        if (0..blocks).all(|block| self.columns(stream, block).is_empty()) {
            let (Stream { name, m, n, .. }, density) = (stream, self.density);
            return Err(format!(
                "sketch {name}: no non-zero among {m} x {n} entries drawn at density {density}; \
                 raise it"
            ));
        }
        Ok(None)
    }

    fn validate(&self, _: usize) -> Result<(), BadParameter> {
        match self.density > 0.0 && self.density <= 1.0 {
            true => Ok(()),
            false => Err(("density", self.density, "above 0, at most 1".into())),
        }
    }

    /// Draws the non-zeros alone: the gap to the next one is geometric, so the cost is their number.
    /// Their weight is `1/√(m·density)`.
    fn columns(&self, stream: &Stream, block: usize) -> Columns {
        let (m, outputs, density) = (stream.m, stream.outputs(block), self.density);
        let mut random = stream.generator(block);
        let weight = (m as f64 * density).sqrt().recip() as f32;
        let mut columns = Columns::default();
        let entries = (m * outputs.len()) as f64;
        let log_of_zero = (-density).ln_1p();
        let mut position = -1.0f64;
        loop {
            let gap =
                if density < 1.0 { (unit(&mut random).ln() / log_of_zero).floor() } else { 0.0 };
            position += 1.0 + gap;
            if position >= entries {
                return columns;
            }
            let (column, row) = (position as usize / m, position as usize % m);
            let output = outputs.start + column;
            if columns.rows.last() != Some(&output) {
                columns.rows.push(output);
                columns.values.resize(columns.values.len() + m, 0.0);
            }
            let start = columns.values.len() - m;
            columns.values[start + row] =
                if NORMAL { weight * normal(&mut random) } else { signed(&mut random, weight) };
        }
    }
}
