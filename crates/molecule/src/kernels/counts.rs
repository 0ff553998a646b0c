//! The features of one graph while they are being counted.

/// Occurrences that are kept apart before they are counted together.
const PENDING: usize = 1 << 16;

/// A multiset of features, each a 64-bit hash, with a value: how often it occurs, or a weight.
///
/// What is pending is bounded, so a graph with 10⁸ shortest paths needs memory for the distinct
/// ones alone.
#[derive(Default)]
pub(super) struct Counts {
    /// Features that occurred once more, in the order they were found.
    pending: Vec<u64>,
    /// Features with their values, by increasing feature.
    counted: Vec<(u64, f64)>,
}

impl Counts {
    /// Counts one occurrence.
    #[inline]
    pub(super) fn add(&mut self, feature: u64) {
        if self.pending.len() >= PENDING.max(2 * self.counted.len()) {
            self.settle();
        }
        self.pending.push(feature);
    }

    /// Adds features with values, by increasing feature.
    pub(super) fn add_values(&mut self, values: Vec<(u64, f64)>) {
        let counted = std::mem::take(&mut self.counted);
        self.counted = merged(counted, values);
    }

    /// All features with their values, by increasing feature; leaves none.
    pub(super) fn finish(&mut self) -> Vec<(u64, f64)> {
        self.settle();
        std::mem::take(&mut self.counted)
    }

    fn settle(&mut self) {
        self.pending.sort_unstable();
        let runs = self.pending.chunk_by(|a, b| a == b);
        let runs = runs.map(|run| (run[0], run.len() as f64)).collect();
        self.pending.clear();
        self.add_values(runs);
    }
}

/// Two lists by increasing feature as one; values of the same feature are added up.
pub(super) fn merged(a: Vec<(u64, f64)>, b: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    if a.is_empty() {
        return b;
    }
    if b.is_empty() {
        return a;
    }
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    while let (Some(&(x, in_a)), Some(&(y, in_b))) = (a.peek(), b.peek()) {
        if x <= y {
            a.next();
        }
        if y <= x {
            b.next();
        }
        all.push(match x.cmp(&y) {
            std::cmp::Ordering::Less => (x, in_a),
            std::cmp::Ordering::Equal => (x, in_a + in_b),
            std::cmp::Ordering::Greater => (y, in_b),
        });
    }
    all.extend(a);
    all.extend(b);
    all
}

/// Scales values to norm 1; an empty list stays as it is.
pub(super) fn normalise(values: &mut [(u64, f64)]) {
    let norm = values.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
    values.iter_mut().for_each(|(_, value)| *value /= norm);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_occurrences_than_are_kept_apart_are_counted_all_the_same() {
        let mut counts = Counts::default();
        let occurrences = 3 * PENDING as u64 + 17;
        (0..occurrences).for_each(|i| counts.add(i % 5));
        counts.add_values(vec![(3, 0.5), (9, 0.25)]);
        let expected = (0..5).map(|f| (occurrences / 5 + u64::from(f < occurrences % 5)) as f64);
        let mut expected: Vec<(u64, f64)> = (0..).zip(expected).collect();
        expected[3].1 += 0.5;
        expected.push((9, 0.25));
        assert_eq!(counts.finish(), expected);
        assert!(counts.finish().is_empty());
    }
}
