use std::collections::HashSet;

use rand_chacha::rand_core::Rng;

use super::draw::{COLUMNS, Columns, Draw, Picked, Stream, normal, signed};
use crate::Error;
use crate::loss::BadParameter;
use crate::random::{below, unit};

pub(super) struct Subsampling {
    pub(super) replacement: bool,
}

impl Draw for Subsampling {
    fn usual(_: usize) -> Self {
        Self { replacement: false }
    }

    fn picks_rows(&self) -> bool {
        true
    }

    fn draw(&self, stream: &Stream) -> Result<Option<Picked>, String> {
        let (m, n) = (stream.m, stream.n);
        let mut random = stream.generator(0);
        let weight = (n as f64 / m as f64).sqrt();
        let outputs: Vec<usize> = if self.replacement {
            (0..m).map(|_| below(&mut random, n as u64) as usize).collect()
        } else {
            without_replacement(m, n, &mut random)
        };
        let picks = outputs.into_iter().enumerate().map(|(row, output)| (row, output, weight));
        Ok(Some(Picked::new(picks)))
    }
}

/// m distinct outputs of n, uniformly, increasing (Floyd's algorithm: m draws, m memory).
fn without_replacement(m: usize, n: usize, random: &mut impl Rng) -> Vec<usize> {
    let mut chosen = HashSet::with_capacity(m);
    for last in n - m..n {
        let output = below(random, last as u64 + 1) as usize;
        if !chosen.insert(output) {
            chosen.insert(last);
        }
    }
    let mut sorted: Vec<usize> = chosen.into_iter().collect();
    sorted.sort_unstable();
    sorted
}

pub(super) struct Leverage {
    pub(super) lambda: f64,
    pub(super) pilot: usize,
}

pub(super) fn default_lambda() -> f64 {
    1e-3
}

pub(super) fn default_pilot() -> usize {
    200
}

impl Draw for Leverage {
    fn usual(n: usize) -> Self {
        Self { lambda: default_lambda(), pilot: default_pilot().min(n) }
    }

    fn picks_rows(&self) -> bool {
        true
    }

    fn draw(&self, _: &Stream) -> Result<Option<Picked>, String> {
        Err("a leverage-score sketch depends on the data: draw it with Sketch::fit".into())
    }

    fn validate(&self, n: usize) -> Result<(), BadParameter> {
        let holds = self.lambda > 0.0 && self.lambda.is_finite();
        BadParameter::unless(holds, "lambda", self.lambda, "finite numbers above 0")?;
        let (holds, allowed) =
            ((1..=n).contains(&self.pilot), format!("1..={n}, the number of rows"));
        BadParameter::unless(holds, "pilot", self.pilot as f64, allowed)
    }
}

/// m outputs with replacement, each with a probability in proportion to its score.
pub(super) fn by_scores(stream: &Stream, scores: &[f64]) -> Result<Picked, Error> {
    let check = |row, value: f64, holds: bool| match holds && value.is_finite() {
        true => Ok(()),
        false => {
            let allowed = "they must be finite, at least 0, and not all 0";
            Err(Error::row(row, format!("probability {value}; {allowed}")))
        }
    };
    let mut total = 0.0;
    let mut cumulative = Vec::with_capacity(scores.len());
    for (row, &value) in scores.iter().enumerate() {
        check(row, value, value >= 0.0)?;
        total += value;
        cumulative.push(total);
    }
    check(scores.len().saturating_sub(1), total, total > 0.0)?;
    let mut random = stream.generator(0);
    Ok(Picked::new((0..stream.m).map(|row| {
        // In (0, total]: the first output whose cumulative sum reaches it has a score above 0.
        let at = unit(&mut random) * total;
        let output = cumulative.partition_point(|&sum| sum < at).min(scores.len() - 1);
        (row, output, (stream.m as f64 * (scores[output] / total)).sqrt().recip())
    })))
}

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
        let holds = self.density > 0.0 && self.density <= 1.0;
        BadParameter::unless(holds, "density", self.density, "above 0, at most 1")
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
        BadParameter::unless(self.terms > 0, "terms", self.terms as f64, "1 and more")
    }
}

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
