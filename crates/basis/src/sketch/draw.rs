//! How the kinds are drawn.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use dsokr_core::message::number;
use dsokr_core::random::{Generator, below, generator, unit};
use dsokr_core::{Cancellation, Error};
use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::{Sketch, SketchKind};
use crate::features::{DenseRows, Features, SparseRows};

/// Columns in one block of a sketch.
pub(crate) const COLUMNS: usize = 512;

/// Entries that are drawn between two looks at whether the work is cancelled.
const CHECKED: usize = 4_096;

/// The columns of one block of a sketch that are not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The outputs they belong to, increasing.
    pub rows: Vec<usize>,
    /// The columns, a row of m numbers for each output, in the order of `rows`: sparse rows where the sketch
    /// [has few entries](SketchKind::has_few_entries), else dense ones.
    pub values: Features,
}

impl Columns {
    /// Returns whether every column of the block is zero.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Draws `weight` or its negative, with probability ½ each.
fn signed<T: std::ops::Neg<Output = T>>(random: &mut impl Rng, weight: T) -> T {
    if random.next_u32() >> 31 == 1 { weight } else { -weight }
}

/// Returns a number from N(0, 1).
fn normal(random: &mut impl Rng) -> f32 {
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
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    fn new(picks: impl Iterator<Item = (usize, usize, f64)>) -> Result<Self, Error> {
        let cancellation = Cancellation::current();
        let mut columns: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
        for (number, (row, output, value)) in picks.enumerate() {
            if number.is_multiple_of(CHECKED) {
                cancellation.check()?;
            }
            *columns.entry(output).or_default().entry(row).or_default() += value;
        }
        // Two picks of opposite signs may have cancelled.
        columns.values_mut().for_each(|column| column.retain(|_, value| *value != 0.0));
        columns.retain(|_, column| !column.is_empty());
        let entry = |(&row, &value): (&usize, &f64)| (row, value as f32);
        let entries = columns.values().map(|column| column.iter().map(entry).collect()).collect();
        Ok(Self { anchors: columns.into_keys().collect(), entries })
    }

    /// Returns the columns of one block of anchors, m values each.
    pub(super) fn columns(&self, m: usize, block: usize) -> Columns {
        let len = self.anchors.len();
        let start = block.saturating_mul(COLUMNS).min(len);
        let range = start..len.min(start + COLUMNS);
        let mut columns = FewEntries::new(m);
        for (&anchor, entries) in self.anchors[range.clone()].iter().zip(&self.entries[range]) {
            entries.iter().for_each(|&(row, value)| columns.push(anchor, row, value));
        }
        columns.sparse()
    }
}

/// Columns that are drawn entry by entry.
struct FewEntries {
    /// m, the numbers of a column.
    size: usize,
    /// The outputs of the columns that have entries, increasing.
    outputs: Vec<usize>,
    /// Where the entries of each column begin.
    starts: Vec<usize>,
    /// The row of R of each entry, increasing within a column.
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl FewEntries {
    fn new(size: usize) -> Self {
        Self { size, outputs: Vec::new(), starts: Vec::new(), rows: Vec::new(), values: Vec::new() }
    }

    /// Adds an entry behind the others; those of an output follow one another.
    fn push(&mut self, output: usize, row: usize, value: f32) {
        if self.outputs.last() != Some(&output) {
            self.outputs.push(output);
            self.starts.push(self.rows.len());
        }
        self.rows.push(row as u32);
        self.values.push(value);
    }

    /// Returns the columns as sparse rows.
    fn sparse(mut self) -> Columns {
        self.starts.push(self.rows.len());
        let values = SparseRows::drawn(self.size, self.starts, self.rows, self.values);
        Columns { rows: self.outputs, values: values.into() }
    }

    /// Returns the columns as dense rows.
    fn dense(self) -> Columns {
        let size = self.size;
        let Columns { rows, values } = self.sparse();
        let numbers = (0..rows.len()).flat_map(|row| values.dense_row(row)).collect();
        Columns { rows, values: DenseRows::drawn(size, numbers).into() }
    }
}

impl Sketch {
    /// Returns the generator of one block of columns; of the whole sketch for kinds that pick outputs, which
    /// use block 0. What several blocks of columns share is drawn from a generator of another purpose.
    fn generator(&self, block: usize) -> Generator {
        generator(self.seed, &format!("sketch/{}", self.kind.name()), block as u64)
    }

    /// Returns the outputs whose columns are in one block.
    fn outputs(&self, block: usize) -> Range<usize> {
        let start = block.saturating_mul(COLUMNS).min(self.n);
        start..self.n.min(start + COLUMNS)
    }

    /// Draws the entries of R of kinds that pick outputs; none of those whose columns are [drawn](Self::drawn_columns) block by
    /// block.
    ///
    /// # Errors
    /// Why there is no sketch with these parameters and sizes.
    pub(super) fn pick(&self) -> Result<Option<Picked>, Error> {
        let m = self.m;
        let n = self.n;
        let mut random = self.generator(0);
        match self.kind {
            SketchKind::Subsampling { replacement } => {
                let weight = (n as f64 / m as f64).sqrt();
                let outputs: Vec<usize> = if replacement {
                    (0..m).map(|_| below(&mut random, n as u64) as usize).collect()
                } else {
                    without_replacement(m, n, &mut random)
                };
                let picks = outputs.into_iter().enumerate();
                Ok(Some(Picked::new(picks.map(|(row, output)| (row, output, weight)))?))
            }
            SketchKind::Leverage { .. } => {
                let message =
                    "a leverage-score sketch depends on the data: draw it with Sketch::fit";
                Err(Error::unsupported(message))
            }
            SketchKind::Accumulation { terms } => {
                let weight = (n as f64 / (m as f64 * terms as f64)).sqrt();
                let rows = (0..m).flat_map(|row| std::iter::repeat_n(row, terms));
                Ok(Some(Picked::new(rows.map(|row| {
                    let output = below(&mut random, n as u64) as usize;
                    (row, output, signed(&mut random, weight))
                }))?))
            }
            SketchKind::SparsifiedRademacher { density }
            | SketchKind::SparsifiedGaussian { density } => {
                self.check_any_entry(density)?;
                Ok(None)
            }
            SketchKind::Gaussian | SketchKind::CountSketch => Ok(None),
        }
    }

    /// Checks that an entry of a sparsified sketch is not zero.
    fn check_any_entry(&self, density: f64) -> Result<(), Error> {
        if (0..self.blocks()).any(|block| !self.drawn_columns(block).is_empty()) {
            return Ok(());
        }
        let Self { m, n, .. } = self;
        let name = self.kind.name();
        let density = number(density);
        Err(Error::unsupported(format_args!(
            "sketch {name}: no non-zero among {m} x {n} entries drawn at density {density}; raise it"
        )))
    }

    /// Draws the columns of one block that are not zero, always the same ones; none of kinds that
    /// [pick](Self::pick) outputs.
    pub(super) fn drawn_columns(&self, block: usize) -> Columns {
        let m = self.m;
        let outputs = self.outputs(block);
        let mut random = self.generator(block);
        let columns = match self.kind {
            SketchKind::Gaussian => {
                let weight = (m as f64).sqrt().recip() as f32;
                let values = (0..m * outputs.len()).map(|_| weight * normal(&mut random));
                let values = DenseRows::drawn(m, values.collect());
                return Columns { rows: outputs.collect(), values: values.into() };
            }
            SketchKind::SparsifiedRademacher { density } => {
                sparsified(m, outputs, density, &mut random, signed)
            }
            SketchKind::SparsifiedGaussian { density } => {
                sparsified(m, outputs, density, &mut random, |random, weight| {
                    weight * normal(random)
                })
            }
            SketchKind::CountSketch => {
                let mut columns = FewEntries::new(m);
                for output in outputs {
                    let row = below(&mut random, m as u64) as usize;
                    columns.push(output, row, signed(&mut random, 1.0));
                }
                columns
            }
            SketchKind::Subsampling { .. }
            | SketchKind::Leverage { .. }
            | SketchKind::Accumulation { .. } => FewEntries::new(m),
        };
        if self.kind.has_few_entries() { columns.sparse() } else { columns.dense() }
    }

    /// Returns m outputs with replacement, each with a probability in proportion to its score.
    pub(super) fn pick_by(&self, scores: &[f64]) -> Result<Picked, Error> {
        let check = |row, value: f64, holds: bool| {
            if holds && value.is_finite() {
                Ok(())
            } else {
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
        let mut random = self.generator(0);
        Picked::new((0..self.m).map(|row| {
            // In (0, total]: the first output whose cumulative sum reaches it has a score above 0.
            let at = unit(&mut random) * total;
            let output = cumulative.partition_point(|&sum| sum < at).min(scores.len() - 1);
            (row, output, (self.m as f64 * (scores[output] / total)).sqrt().recip())
        }))
    }
}

/// Returns independent entries that are not zero with probability `density`; only these are drawn: the gap to the next
/// one is geometric, so the cost is their number. `entry` draws one, of the weight `1/√(m·density)`.
fn sparsified(
    m: usize,
    outputs: Range<usize>,
    density: f64,
    random: &mut Generator,
    entry: impl Fn(&mut Generator, f32) -> f32,
) -> FewEntries {
    let weight = (m as f64 * density).sqrt().recip() as f32;
    let mut columns = FewEntries::new(m);
    let entries = (m * outputs.len()) as f64;
    let log_of_zero = (-density).ln_1p();
    let mut position = -1.0f64;
    loop {
        let gap = if density < 1.0 { (unit(random).ln() / log_of_zero).floor() } else { 0.0 };
        position += 1.0 + gap;
        if position >= entries {
            return columns;
        }
        let column = position as usize / m;
        let row = position as usize % m;
        columns.push(outputs.start + column, row, entry(random, weight));
    }
}

/// Returns m distinct outputs of n, uniformly, increasing (Floyd's algorithm: m draws, m memory).
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
