use std::collections::{BTreeMap, HashSet};

use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::{COLUMNS, Columns, SketchKind};
use crate::Error;
use crate::random::{below, generator, unit};

/// A sketch with few non-zeros: for each anchor, (row of R, value) in increasing order.
#[derive(Clone, Debug)]
pub(super) struct Picked {
    pub(super) anchors: Vec<usize>,
    entries: Vec<Vec<(usize, f32)>>,
}

impl Picked {
    /// Sums (row of R, output, value) entries.
    fn new(picks: impl Iterator<Item = (usize, usize, f64)>) -> Self {
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

pub(super) fn subsampling(m: usize, n: usize, replacement: bool, seed: u64) -> Picked {
    let mut random = generator(seed, "sketch/subsampling", 0);
    let weight = (n as f64 / m as f64).sqrt();
    if replacement {
        let picks: Vec<_> = (0..m).map(|_| below(&mut random, n as u64) as usize).collect();
        return Picked::new(picks.into_iter().enumerate().map(|(row, at)| (row, at, weight)));
    }
    let outputs = without_replacement(m, n, &mut random);
    Picked::new(outputs.into_iter().enumerate().map(|(row, output)| (row, output, weight)))
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

pub(super) fn accumulation(m: usize, n: usize, terms: usize, seed: u64) -> Picked {
    let mut random = generator(seed, "sketch/accumulation", 0);
    let weight = (n as f64 / (m as f64 * terms as f64)).sqrt();
    Picked::new((0..m).flat_map(|row| std::iter::repeat_n(row, terms)).map(move |row| {
        let output = below(&mut random, n as u64) as usize;
        (row, output, if sign(&mut random) { weight } else { -weight })
    }))
}

pub(super) fn by_scores(m: usize, scores: &[f64], seed: u64) -> Result<Picked, Error> {
    let probability = |row, value: f64| {
        let message =
            format!("probability {value}; they must be finite, at least 0, and not all 0");
        Error::row(row, message)
    };
    let mut total = 0.0;
    let mut cumulative = Vec::with_capacity(scores.len());
    for (row, &value) in scores.iter().enumerate() {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(probability(row, value));
        }
        total += value;
        cumulative.push(total);
    }
    if !(total > 0.0 && total.is_finite()) {
        return Err(probability(scores.len().saturating_sub(1), total));
    }
    let mut random = generator(seed, "sketch/leverage", 0);
    Ok(Picked::new((0..m).map(|row| {
        // In (0, total]: the first output whose cumulative sum reaches it has a score above 0.
        let at = unit(&mut random) * total;
        let output = cumulative.partition_point(|&sum| sum < at).min(scores.len() - 1);
        (row, output, (m as f64 * (scores[output] / total)).sqrt().recip())
    })))
}

/// One block of the kinds whose columns are independent: each block has its own generator.
pub(super) fn block(kind: &SketchKind, m: usize, n: usize, seed: u64, block: usize) -> Columns {
    let start = block.saturating_mul(COLUMNS).min(n);
    let rows = start..n.min(start + COLUMNS);
    let random = |purpose| generator(seed, purpose, block as u64);
    match *kind {
        SketchKind::CountSketch => {
            let mut random = random("sketch/count-sketch");
            let mut values = vec![0.0; m * rows.len()];
            for column in values.chunks_exact_mut(m) {
                let row = below(&mut random, m as u64) as usize;
                column[row] = if sign(&mut random) { 1.0 } else { -1.0 };
            }
            Columns { rows: rows.collect(), values }
        }
        SketchKind::SparsifiedRademacher { density } => {
            let weight = (m as f64 * density).sqrt().recip() as f32;
            let mut random = random("sketch/sparsified-rademacher");
            sparsified(
                m,
                rows,
                density,
                &mut random,
                |random| {
                    if sign(random) { weight } else { -weight }
                },
            )
        }
        SketchKind::SparsifiedGaussian { density } => {
            let weight = (m as f64 * density).sqrt().recip() as f32;
            let mut random = random("sketch/sparsified-gaussian");
            sparsified(m, rows, density, &mut random, |random| weight * normal(random))
        }
        // The others are picked, not drawn by blocks.
        _ => {
            let weight = (m as f64).sqrt().recip() as f32;
            let mut random = random("sketch/gaussian");
            let values = (0..m * rows.len()).map(|_| weight * normal(&mut random)).collect();
            Columns { rows: rows.collect(), values }
        }
    }
}

/// Draws the non-zeros alone: the gap to the next one is geometric, so the cost is their number.
fn sparsified<R: Rng>(
    m: usize,
    rows: std::ops::Range<usize>,
    density: f64,
    random: &mut R,
    value: impl Fn(&mut R) -> f32,
) -> Columns {
    let mut columns = Columns { rows: Vec::new(), values: Vec::new() };
    let entries = (m * rows.len()) as f64;
    let log_of_zero = (-density).ln_1p();
    let mut position = -1.0f64;
    loop {
        let gap = if density < 1.0 { (unit(random).ln() / log_of_zero).floor() } else { 0.0 };
        position += 1.0 + gap;
        if position >= entries {
            return columns;
        }
        let (column, row) = (position as usize / m, position as usize % m);
        let output = rows.start + column;
        if columns.rows.last() != Some(&output) {
            columns.rows.push(output);
            columns.values.resize(columns.values.len() + m, 0.0);
        }
        let start = columns.values.len() - m;
        columns.values[start + row] = value(random);
    }
}

fn sign(random: &mut impl Rng) -> bool {
    random.next_u32() >> 31 == 1
}

fn normal(random: &mut impl Rng) -> f32 {
    StandardNormal.sample(random)
}
