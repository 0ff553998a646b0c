//! The choice of a fit from a list of values.

/// A value that was chosen from a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The key of the list.
    pub key: String,
    /// The value.
    pub chosen: f64,
    /// The list.
    pub tried: Vec<f64>,
    /// The smallest and the largest value that makes sense.
    pub bounds: [f64; 2],
    /// The error of each value of the list, by which one was chosen; empty if errors are not known.
    pub errors: Vec<f64>,
}

/// Errors are equal whose difference is at most this share of the largest error, or of the range of all errors.
pub(crate) const EQUAL_ERRORS: f64 = 1e-3;

impl Choice {
    /// A choice from values that are not below 0.
    pub(crate) fn new(key: &str, chosen: f64, tried: &[f64]) -> Self {
        Self {
            key: key.into(),
            chosen,
            tried: tried.to_vec(),
            bounds: [0.0, f64::INFINITY],
            errors: Vec::new(),
        }
    }

    /// Whether the value is the smallest or the largest that was tried, and which ones lie beyond; none
    /// if there are no better values to try there: beyond a bound, or where the next value is as good already.
    pub fn edge(&self) -> Option<(&'static str, &'static str)> {
        if self.is_level() {
            return None;
        }
        let tried = self.tried.iter().copied();
        let [low, high] = self.bounds;
        let least = tried.clone().fold(f64::INFINITY, f64::min);
        let most = tried.fold(f64::NEG_INFINITY, f64::max);
        match self.chosen {
            _ if least == most => None,
            chosen if chosen == least && least > low => Some(("smallest", "smaller")),
            chosen if chosen == most && most < high => Some(("largest", "larger")),
            _ => None,
        }
    }

    /// Whether the value nearest to the chosen one is as good: what it loses is a small share of the range of all errors.
    fn is_level(&self) -> bool {
        let finite = || self.errors.iter().copied().filter(|error| error.is_finite());
        let largest = finite().fold(f64::NEG_INFINITY, f64::max);
        let smallest = finite().fold(f64::INFINITY, f64::min);
        let tried = self.tried.iter().zip(&self.errors);
        let Some((_, error)) = tried.clone().find(|(value, _)| **value == self.chosen) else {
            return false;
        };
        let distance = |value: &f64| (value - self.chosen).abs();
        let others = tried.filter(|(value, _)| **value != self.chosen);
        let nearest = others.min_by(|(a, _), (b, _)| distance(a).total_cmp(&distance(b)));
        nearest.is_some_and(|(_, other)| other - error <= EQUAL_ERRORS * (largest - smallest))
    }
}

#[cfg(test)]
mod tests {
    use super::Choice;

    #[test]
    fn the_end_of_a_list_is_an_edge_where_errors_still_fall() {
        let tried = [1e-3, 1e-2, 1e-1];
        let choice = |chosen: f64, errors: &[f64]| Choice {
            errors: errors.to_vec(),
            ..Choice::new("encoder.lambda", chosen, &tried)
        };
        assert_eq!(choice(1e-3, &[]).edge(), Some(("smallest", "smaller")));
        assert_eq!(choice(1e-3, &[0.5, 0.6, 0.7]).edge(), Some(("smallest", "smaller")));
        assert_eq!(choice(1e-3, &[0.5, 0.5001, 0.7]).edge(), None);
        assert_eq!(choice(1e-1, &[0.9, 0.8, 0.7]).edge(), Some(("largest", "larger")));
        assert_eq!(choice(1e-1, &[0.9, 0.7, 0.7]).edge(), None);
        // metrics that are better the larger they are have errors below 0
        assert_eq!(choice(1e-1, &[-0.5, -0.7, -0.7]).edge(), None);
        assert_eq!(choice(1e-2, &[0.9, 0.7, 0.7]).edge(), None);
        // an error that overflows does not make the others equal
        assert_eq!(choice(1e-1, &[f64::INFINITY, 0.9, 0.7]).edge(), Some(("largest", "larger")));
    }
}
