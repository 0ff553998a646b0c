//! What the two sparsified kinds share: independent entries, non-zero with probability `density`.

use std::sync::Arc;

use super::Columns;
use super::draw::{BadParameter, Entries, Independent, Stream};
use crate::random::{Generator, unit};

/// 20/n, at most 1.
pub(super) fn usual_density(n: usize) -> f64 {
    (20.0 / n as f64).min(1.0)
}

pub(super) fn validate(density: f64) -> Result<(), BadParameter> {
    match density > 0.0 && density <= 1.0 {
        true => Ok(()),
        false => Err(("density", density, "above 0, at most 1".into())),
    }
}

/// The entries of a sparsified kind, unless all of them are zero.
pub(super) fn not_all_zero(
    kind: impl Independent + 'static,
    density: f64,
    stream: &Stream,
) -> Result<Entries, String> {
    let entries = Entries::Independent(Arc::new(kind));
    if (0..entries.blocks(stream)).all(|block| entries.columns(stream, block).is_empty()) {
        let Stream { name, m, n, .. } = stream;
        return Err(format!(
            "sketch {name}: no non-zero among {m} x {n} entries drawn at density {density}; \
             raise it"
        ));
    }
    Ok(entries)
}

/// Draws the non-zeros alone: the gap to the next one is geometric, so the cost is their number.
///
/// Each is a `value` of the generator and the weight `1/√(m·density)`.
pub(super) fn columns(
    density: f64,
    stream: &Stream,
    block: usize,
    value: impl Fn(&mut Generator, f32) -> f32,
) -> Columns {
    let (m, outputs) = (stream.m, stream.outputs(block));
    let mut random = stream.generator(block);
    let weight = (m as f64 * density).sqrt().recip() as f32;
    let mut columns = Columns { rows: Vec::new(), values: Vec::new() };
    let entries = (m * outputs.len()) as f64;
    let log_of_zero = (-density).ln_1p();
    let mut position = -1.0f64;
    loop {
        let gap = if density < 1.0 { (unit(&mut random).ln() / log_of_zero).floor() } else { 0.0 };
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
        columns.values[start + row] = value(&mut random, weight);
    }
}
