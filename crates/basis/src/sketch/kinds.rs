//! What a sketch is drawn by, and the kinds.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::Error;
use crate::random::{Generator, below, generator, unit};

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

/// What a kind of sketch is, beside its name: its parameters, and how S and W are drawn.
///
/// Where a default would be wrong for some kinds there is none.
pub(super) trait Draw: Send + Sync {
    /// Whether each row of R has one non-zero entry, so that R only picks outputs.
    fn picks_rows(&self) -> bool {
        false
    }

    /// Draws the entries of R where they are few; none where its columns are independent.
    ///
    /// # Errors
    /// Why there is no sketch with these parameters and sizes.
    fn draw(&self, _: &Stream) -> Result<Option<Picked>, String> {
        Ok(None)
    }

    /// The independent columns of one block that are not zero, always the same ones; none where entries were
    /// [drawn](Self::draw).
    fn columns(&self, _: &Stream, _: usize) -> Columns {
        Columns::default()
    }

    /// Checks the parameters for n outputs.
    fn validate(&self, n: usize) -> Result<(), Error> {
        let _ = n;
        Ok(())
    }
}

/// What a sketch is drawn from: its kind's name, its sizes, and the seed.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) name: &'static str,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(crate) seed: u64,
}

impl Stream {
    /// The generator of one block of columns; of the whole sketch for kinds that pick outputs, which
    /// use block 0.
    pub(super) fn generator(&self, block: usize) -> Generator {
        generator(self.seed, &format!("sketch/{}", self.name), block as u64)
    }

    /// The outputs whose columns are in one block.
    pub(super) fn outputs(&self, block: usize) -> Range<usize> {
        let start = block.saturating_mul(COLUMNS).min(self.n);
        start..self.n.min(start + COLUMNS)
    }
}

/// ±`weight`, with probability ½ each.
pub(super) fn signed<T: std::ops::Neg<Output = T>>(random: &mut impl Rng, weight: T) -> T {
    if random.next_u32() >> 31 == 1 { weight } else { -weight }
}

/// A number from N(0, 1).
pub(super) fn normal(random: &mut impl Rng) -> f32 {
    StandardNormal.sample(random)
}

/// A sketch with few non-zeros: for each anchor, (row of R, value) in increasing order.
#[derive(Clone, Debug)]
pub(super) struct Picked {
    /// The outputs that R touches, increasing.
    pub(super) anchors: Vec<usize>,
    entries: Vec<Vec<(usize, f32)>>,
}

impl Picked {
    /// Sums (row of R, output, value) entries.
    pub(super) fn new(picks: impl Iterator<Item = (usize, usize, f64)>) -> Self {
        let mut columns: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
        for (row, output, value) in picks {
            *columns.entry(output).or_default().entry(row).or_default() += value;
        }
        // Two picks of opposite signs may have cancelled.
        columns.values_mut().for_each(|column| column.retain(|_, value| *value != 0.0));
        columns.retain(|_, column| !column.is_empty());
        let entry = |(&row, &value): (&usize, &f64)| (row, value as f32);
        let entries = columns.values().map(|column| column.iter().map(entry).collect()).collect();
        Self { anchors: columns.into_keys().collect(), entries }
    }

    /// The columns of one block of anchors, m values each.
    pub(super) fn columns(&self, m: usize, block: usize) -> Columns {
        let len = self.anchors.len();
        let start = block.saturating_mul(COLUMNS).min(len);
        let range = start..len.min(start + COLUMNS);
        let mut values = vec![0.0; m * range.len()];
        for (column, entries) in values.chunks_exact_mut(m).zip(&self.entries[range.clone()]) {
            entries.iter().for_each(|&(row, value)| column[row] = value);
        }
        Columns { rows: self.anchors[range].to_vec(), values }
    }
}

pub(super) struct Subsampling {
    pub(super) replacement: bool,
}

impl Draw for Subsampling {
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

crate::defaults! {
    pub(super) default_lambda: f64 = 1e-3,
    pub(super) default_pilot: usize = 200,
}

impl Draw for Leverage {
    fn picks_rows(&self) -> bool {
        true
    }

    fn draw(&self, _: &Stream) -> Result<Option<Picked>, String> {
        Err("a leverage-score sketch depends on the data: draw it with Sketch::fit".into())
    }

    fn validate(&self, n: usize) -> Result<(), Error> {
        let holds = self.lambda > 0.0 && self.lambda.is_finite();
        Error::ensure(holds, "lambda", self.lambda, "finite numbers above 0")?;
        let allowed = format_args!("1..={n}, the number of rows");
        Error::ensure((1..=n).contains(&self.pilot), "pilot", self.pilot, allowed)
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

    fn validate(&self, _: usize) -> Result<(), Error> {
        let holds = self.density > 0.0 && self.density <= 1.0;
        Error::ensure(holds, "density", self.density, "above 0, at most 1")
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

crate::defaults!(pub(super) default_terms: usize = 10);

impl Draw for Accumulation {
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

    fn validate(&self, _: usize) -> Result<(), Error> {
        Error::ensure(self.terms > 0, "terms", self.terms, "1 and more")
    }
}

pub(super) struct CountSketch;

impl Draw for CountSketch {
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
