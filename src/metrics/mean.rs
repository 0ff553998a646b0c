//! Figures that several runs or draws have.

use serde::{Deserialize, Serialize};

/// The mean of a figure over several runs, such as those of several seeds, or over draws of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanAndDeviation {
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 of one figure.
    pub deviation: f64,
}

impl MeanAndDeviation {
    /// Returns the mean and the sample standard deviation of at least one value.
    pub(crate) fn from_values(figures: &[f64]) -> Self {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (n - 1.0).max(1.0)).sqrt() }
    }
}
