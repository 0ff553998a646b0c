//! From the scores of the members to one combined score.
//!
//! Combined scores are sums in f64 in the order of the members. Two candidates that score the same
//! under every member go through the same operations, so they tie bit for bit. Ranks make more
//! candidates tie than those, such as ranks (1, 2, 3) and (3, 1, 2); so that these tie too, and so
//! that the order of the members does not matter, every term is rounded to a multiple of a quantum
//! that is coarse enough for sums to be exact and far below the gap between neighbouring ranks. Where members
//! weigh differently, sums that are some quanta apart tie.

/// What of a member is combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Values {
    /// Its scores.
    Scores,
    /// Its scores less their mean over the candidates, divided by their standard deviation.
    Standardised,
    /// Its ranks from 1, ties averaged, negative so that a greater value is better.
    Ranks,
    /// 1 / (constant + rank).
    Reciprocals { constant: f64 },
}

/// A rule for a number of members, checked.
#[derive(Clone, Debug)]
pub(super) struct Combiner {
    pub values: Values,
    /// Whether the largest value is taken, not the sum.
    max: bool,
    /// Whether weights differ between members.
    weighted: bool,
    /// A factor a member; 1 where all weigh the same, and the sum is divided at the end.
    weights: Vec<f64>,
}

impl Combiner {
    pub(super) fn max(values: Values, members: usize) -> Self {
        Self { values, max: true, weighted: false, weights: vec![1.0; members] }
    }

    /// Weights that are all the same are treated like none, so that both give the same bits.
    pub(super) fn sum(values: Values, members: usize, weights: Option<&[f64]>) -> Self {
        match weights {
            Some(weights) if weights.iter().any(|&weight| weight != weights[0]) => {
                Self { values, max: false, weighted: true, weights: weights.to_vec() }
            }
            _ => Self { values, max: false, weighted: false, weights: vec![1.0; members] },
        }
    }

    /// Members that contribute, ascending; never none.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.weights.len()).filter(|&member| self.weights[member] != 0.0)
    }

    /// What combined scores start with.
    pub(super) fn start(&self) -> f64 {
        if self.max { f64::NEG_INFINITY } else { 0.0 }
    }

    /// The quantum of terms, a power of two; 0 where terms are not rounded. `pool` is the number
    /// of candidates.
    pub(super) fn quantum(&self, pool: u64) -> f64 {
        let members = self.weights.len().next_power_of_two() as f64;
        match self.values {
            Values::Scores | Values::Standardised => 0.0,
            // Terms and sums are at most the pool, 2⁵⁰ quanta.
            Values::Ranks => pool.next_power_of_two() as f64 / (1u64 << 50) as f64,
            // Terms are below 2, sums below 2T.
            Values::Reciprocals { .. } => members / (1u64 << 50) as f64,
        }
    }

    /// Combined scores that differ by at most this are the same. Weighted ranks, and their reciprocals, are rounded
    /// before they are quantised, so that sums that are equal in real numbers may be some quanta apart; sums that
    /// are not weighted are exact.
    pub(super) fn tolerance(&self, pool: u64) -> f64 {
        match self.weighted {
            true => 2.0 * self.weights.len() as f64 * self.quantum(pool),
            false => 0.0,
        }
    }

    /// How the values of one member enter combined scores.
    pub(super) fn step(&self, member: usize, pool: u64) -> Step {
        // Adding 1.5 · 2⁵² quanta leaves no bits below the quantum.
        let shift = 1.5 * (1u64 << 52) as f64 * self.quantum(pool);
        Step { max: self.max, weight: self.weights[member], shift }
    }

    /// The score that is shown for a combined one: the mean where a sum was taken.
    pub(super) fn shown(&self, combined: f64) -> f64 {
        match self.max || self.weighted {
            true => combined,
            false => combined / self.weights.len() as f64,
        }
    }
}

/// A score, or the one that it ties with.
pub(super) fn tied(score: f64, bar: f64, tolerance: f64) -> f64 {
    if (score - bar).abs() <= tolerance { bar } else { score }
}

/// How the values of one member enter combined scores.
#[derive(Clone, Copy)]
pub(super) struct Step {
    max: bool,
    weight: f64,
    shift: f64,
}

impl Step {
    /// Adds values to the combined scores, one after the other.
    #[inline(always)]
    pub(super) fn add(self, combined: &mut [f64], values: impl Iterator<Item = f64>) {
        let Self { max, weight, shift } = self;
        let pairs = combined.iter_mut().zip(values);
        if max {
            pairs.for_each(|(combined, value)| {
                *combined = if value > *combined { value } else { *combined };
            });
        } else if shift != 0.0 {
            pairs.for_each(|(combined, value)| *combined += (weight * value + shift) - shift);
        } else if weight != 1.0 {
            pairs.for_each(|(combined, value)| *combined += weight * value);
        } else {
            pairs.for_each(|(combined, value)| *combined += value);
        }
    }
}
