//! From the scores of a member to the values that a rule combines: scores, plain or standardised, ranks or reciprocal ranks.

use super::rule::Values;

/// Turns the scores of one query under one member into the values that are combined.
#[derive(Default)]
pub(super) struct Valuation {
    values: Vec<f64>,
    /// Scores and rows as integers in the order of ranks.
    keys: Vec<u64>,
    spare: Vec<u64>,
}

impl Valuation {
    /// Returns values of finite `scores`; `counts` says how many candidates have each.
    pub(super) fn of(&mut self, what: Values, scores: &[f32], counts: &[u32]) -> &[f64] {
        self.values.clear();
        match what {
            Values::Scores => self.values.extend(scores.iter().map(|&score| f64::from(score))),
            Values::Standardised => self.standardise(scores, counts),
            Values::Ranks => self.ranked(scores, counts, |rank| -rank),
            Values::Reciprocals { constant } => {
                self.ranked(scores, counts, |rank| 1.0 / (constant + rank));
            }
        }
        &self.values
    }

    /// Standardises scores. Deviations are from the first score, so that a common part of all scores costs no precision
    /// and the variance of equal scores is exactly 0.
    fn standardise(&mut self, scores: &[f32], counts: &[u32]) {
        let Some(&first) = scores.first() else {
            return;
        };
        let first = f64::from(first);
        self.values.extend(scores.iter().map(|&score| f64::from(score) - first));
        let total = sum(counts, |at| (f64::from(counts[at]), 1.0));
        let mean = sum(counts, |at| (f64::from(counts[at]), self.values[at])) / total;
        let square = |at: usize| (self.values[at] - mean) * (self.values[at] - mean);
        let variance = sum(counts, |at| (f64::from(counts[at]), square(at))) / total;
        // Equal scores differ from their mean by 0, and stay 0.
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        self.values.iter_mut().for_each(|value| *value = (*value - mean) / deviation);
    }

    fn ranked(&mut self, scores: &[f32], counts: &[u32], value: impl Fn(f64) -> f64) {
        self.keys.clear();
        let key = |(row, &score): (u64, &f32)| u64::from(descending(score)) << 32 | row;
        self.keys.extend((0..).zip(scores).map(key));
        sort_by_upper_half(&mut self.keys, &mut self.spare);
        self.values.resize(scores.len(), 0.0);
        let mut above = 0;
        for tied in self.keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            let row = |key: &u64| *key as u32 as usize;
            let count: u64 = tied.iter().map(|key| u64::from(counts[row(key)])).sum();
            let value = value(above as f64 + (count as f64 + 1.0) / 2.0);
            tied.iter().for_each(|key| self.values[row(key)] = value);
            above += count;
        }
    }
}

/// Returns an integer that falls as the finite score rises; −0 is 0.
fn descending(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    match bits >> 31 {
        0 => 0x7FFF_FFFF - bits,
        _ => bits,
    }
}

/// Computes `Σ weight · term`, in eight sums so that additions need not wait for one another.
fn sum(counts: &[u32], term: impl Fn(usize) -> (f64, f64)) -> f64 {
    let mut sums = [0.0; 8];
    for at in 0..counts.len() {
        let (weight, term) = term(at);
        sums[at % 8] += weight * term;
    }
    sums.iter().sum()
}

/// Bits that a pass looks at.
const DIGIT: u32 = 11;

/// The number of keys below which they are compared, since counting would visit more counters than keys.
const FEW: usize = 2048;

/// Sorts keys by their upper 32 bits, where equal ones are in ascending order of the lower 32.
///
/// Three passes of a radix sort from the lowest digit on, linear in the number of keys. `spare` is
/// memory that is kept from call to call.
fn sort_by_upper_half(keys: &mut Vec<u64>, spare: &mut Vec<u64>) {
    if keys.len() < FEW {
        return keys.sort_unstable();
    }
    spare.resize(keys.len(), 0);
    let mut counts = [[0u32; 1 << DIGIT]; 3];
    let digit =
        |key: u64, pass: usize| (key >> (32 + DIGIT * pass as u32)) as usize & ((1 << DIGIT) - 1);
    for &key in keys.iter() {
        (0..3).for_each(|pass| counts[pass][digit(key, pass)] += 1);
    }
    for (pass, counts) in counts.iter_mut().enumerate() {
        if counts.contains(&(keys.len() as u32)) {
            continue; // the same digit everywhere
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        for &key in keys.iter() {
            let place = &mut counts[digit(key, pass)];
            spare[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, spare);
    }
}
