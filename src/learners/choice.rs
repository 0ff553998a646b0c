//! The choice of a fit from a list of values.

use std::fmt::Display;

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

/// The best of several settings by a score, larger for better ones: the first of those that are equally good.
#[derive(Debug)]
pub(crate) struct Best<T> {
    /// The score of each setting, in their order.
    scores: Vec<f64>,
    /// The best score so far, and what has it.
    best: Option<(f64, T)>,
}

impl<T> Best<T> {
    /// Creates the best of no settings.
    pub(crate) fn new() -> Self {
        Self { scores: Vec::new(), best: None }
    }

    /// Takes the score of a setting, and keeps its value if the score is better than all before.
    pub(crate) fn offer(&mut self, score: f64, value: impl FnOnce() -> T) {
        self.scores.push(score);
        if self.best.as_ref().is_none_or(|(best, _)| score > *best) {
            self.best = Some((score, value()));
        }
    }

    /// Takes a setting that has no fit, and so no score.
    pub(crate) fn offer_failed(&mut self) {
        self.scores.push(f64::NEG_INFINITY);
    }

    /// Returns the error of each setting, smaller for better ones.
    pub(crate) fn errors(&self) -> Vec<f64> {
        self.scores.iter().map(|score| -score).collect()
    }

    /// Returns whether there are several settings, and all are equally good.
    pub(crate) fn is_flat(&self) -> bool {
        let worst = self.scores.iter().copied().fold(f64::INFINITY, f64::min);
        self.scores.len() > 1 && self.best.as_ref().is_some_and(|(best, _)| *best == worst)
    }

    /// Returns what the log says where several of the `settings` are the best by a metric, of which the first is chosen; none
    /// where one is better than all others.
    pub(crate) fn tie(&self, settings: &str, metric: impl Display) -> Option<String> {
        let (best, _) = self.best.as_ref()?;
        let equal = self.scores.iter().filter(|&score| score == best).count();
        if equal < 2 {
            return None;
        }
        let all = self.scores.len();
        let which = if equal == all {
            format!("all {all} {settings} have the same {metric}")
        } else {
            format!("{equal} of {all} {settings} have the best {metric}")
        };
        Some(format!("{which}: the first of them is chosen"))
    }

    /// Returns the value of the best setting; none where none has a fit.
    pub(crate) fn value(self) -> Option<T> {
        self.best.map(|(_, value)| value)
    }
}

impl Choice {
    /// Creates a choice from values that are not below 0.
    pub(crate) fn new(key: &str, chosen: f64, tried: &[f64]) -> Self {
        Self {
            key: key.into(),
            chosen,
            tried: tried.to_vec(),
            bounds: [0.0, f64::INFINITY],
            errors: Vec::new(),
        }
    }

    /// Returns the words for the edge of the tried values that the value lies at, "smallest" or "largest", and for the
    /// values beyond it, "smaller" or "larger". Returns none elsewhere, and where there are no better values to try: beyond a
    /// bound, or where the next value is as good already.
    pub fn edge(&self) -> Option<(&'static str, &'static str)> {
        let tried = self.tried.iter().copied();
        let [low, high] = self.bounds;
        let least = tried.clone().fold(f64::INFINITY, f64::min);
        let most = tried.fold(f64::NEG_INFINITY, f64::max);
        if least == most || self.is_level() {
            return None;
        }
        if self.chosen == least && least > low {
            return Some(("smallest", "smaller"));
        }
        if self.chosen == most && most < high {
            return Some(("largest", "larger"));
        }
        None
    }

    /// Returns whether the value nearest to the chosen one is as good: what it loses is a small share of the range of all errors.
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
    use super::{Best, Choice};

    #[test]
    fn of_equal_settings_the_log_says_which_one_is_chosen() {
        let tie = |scores: &[Option<f64>]| {
            let mut best = Best::new();
            for score in scores {
                match score {
                    Some(score) => best.offer(*score, || ()),
                    None => best.offer_failed(),
                }
            }
            best.tie("values of x", "mrr")
        };
        assert_eq!(tie(&[Some(0.5), Some(0.25)]), None);
        assert_eq!(tie(&[Some(0.5)]), None);
        let all = "all 2 values of x have the same mrr: the first of them is chosen";
        assert_eq!(tie(&[Some(0.5), Some(0.5)]).as_deref(), Some(all));
        // one that could not be fitted has no score
        let some = "2 of 4 values of x have the best mrr: the first of them is chosen";
        assert_eq!(tie(&[None, Some(0.5), Some(0.25), Some(0.5)]).as_deref(), Some(some));
        assert_eq!(tie(&[None, None]), None);
    }

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

    #[test]
    fn the_first_of_equally_good_settings_is_the_best() {
        let mut best = Best::new();
        best.offer(0.5, || "first");
        assert!(!best.is_flat() && best.tie("settings", "mrr").is_none());
        best.offer(0.5, || "second");
        let line = "all 2 settings have the same mrr: the first of them is chosen";
        assert_eq!(best.tie("settings", "mrr").as_deref(), Some(line));
        assert!(best.is_flat());
        best.offer(0.25, || "third");
        best.offer_failed();
        assert!(!best.is_flat());
        assert_eq!(best.errors(), [-0.5, -0.5, -0.25, f64::INFINITY]);
        assert_eq!(best.value(), Some("first"));
        assert_eq!(Best::<&str>::new().value(), None);
    }
}
