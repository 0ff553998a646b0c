use std::collections::BTreeMap;
use std::ops::Range;

use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::loss::BadParameter;
use crate::random::{Generator, generator};

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
    /// The kind with its usual parameters for n outputs.
    fn usual(n: usize) -> Self
    where
        Self: Sized;

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
    fn validate(&self, n: usize) -> Result<(), BadParameter> {
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
