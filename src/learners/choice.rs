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
}

impl Choice {
    /// A choice from values that are not below 0.
    pub(crate) fn new(key: &str, chosen: f64, tried: &[f64]) -> Self {
        Self { key: key.into(), chosen, tried: tried.to_vec(), bounds: [0.0, f64::INFINITY] }
    }

    /// Whether the value is the smallest or the largest that was tried, and which ones lie beyond; none
    /// if there are no better values to try there.
    pub fn edge(&self) -> Option<(&'static str, &'static str)> {
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
}
