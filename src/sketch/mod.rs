//! The sketch study: which kind and size of sketch, and which power of the kernel. It evaluates
//! *perfect h* for growing sketch sizes, and also the model itself if its fit is in closed form.

mod study;

use dsokr_basis::SketchKind;
use serde::Serialize;

use crate::Scores;

pub use study::Study;

/// The recommended size loses at most this share of the gain of the best size over no basis at all.
const WITHIN: f64 = 0.01;

/// The mean of a figure over draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 for one draw.
    pub deviation: f64,
}

impl Spread {
    /// The mean and the sample standard deviation of at least one value.
    pub(crate) fn of(figures: &[f64]) -> Self {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (n - 1.0).max(1.0)).sqrt() }
    }
}

/// The figures of sketches of one size, over several draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// m, the sketch size.
    pub size: usize,
    /// Mean number of coordinates p.
    pub rank: f64,
    /// Mean squared distance of a training output from the span of the basis.
    pub residual: f64,
    /// The figure that `evaluation.metric` names, of perfect h.
    #[serde(flatten)]
    pub perfect: Spread,
    /// The figure of the fitted model, if it is a kernel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<Spread>,
    /// The scores of perfect h of each draw.
    pub draws: Vec<Scores>,
    /// Seconds for fits, projections and evaluations of all draws.
    pub seconds: f64,
}

impl Point {
    /// The figure that decides between sizes: the fitted model's, else that of perfect h.
    pub fn deciding(&self) -> Spread {
        self.fitted.unwrap_or(self.perfect)
    }
}

/// *Perfect h* (thesis, section 5.3) for sketches of growing size: the figure of a perfect encoder,
/// which predicts the targets of the validation outputs. For a kernel machine also the figure of
/// the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The run's name, with the kind of sketch and the power if several are compared.
    pub name: String,
    /// The kind of sketch.
    pub method: SketchKind,
    /// The power of the tempered kernel.
    pub power: f64,
    /// The figure, as `evaluation.metric` names it.
    pub metric: String,
    /// Whether a larger figure is a better one.
    pub larger_is_better: bool,
    /// The points, in the order of the sizes given.
    pub points: Vec<Point>,
    /// The smallest size whose figure is within 1 % of the best. The 1 % is of the best figure's
    /// gain over no basis at all: over 0, or for squared errors over the outputs' mean squared
    /// length.
    pub recommended: usize,
    /// The eigenvalues of the largest sketch's first draw, descending, over the number of outputs.
    pub spectrum: Vec<f64>,
}

impl Curve {
    /// The point of the recommended size.
    pub fn best(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.size == self.recommended)
    }
}

/// Approximate ridge leverage scores of the training outputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leverage {
    /// The run's name.
    pub name: String,
    /// λ of the scores.
    pub lambda: f64,
    /// Number of columns of the approximation, √n.
    pub pilot: usize,
    /// The largest scores, descending.
    pub scores: Vec<f64>,
    /// Their sum over all outputs, the effective dimension d(λ).
    pub dimension: f64,
}

/// The smallest size within 1 % of the best, of its gain over `nothing`.
fn recommended(points: &[Point], larger_is_better: bool, nothing: f64) -> usize {
    let figures = points.iter().map(|point| point.deciding().mean);
    let best = if larger_is_better {
        figures.fold(f64::NEG_INFINITY, f64::max)
    } else {
        figures.fold(f64::INFINITY, f64::min)
    };
    let within = WITHIN * (best - nothing).abs();
    let close = |point: &&Point| (point.deciding().mean - best).abs() <= within;
    points.iter().find(close).map_or(0, |point| point.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_size_within_one_percent_of_the_gain_is_recommended() {
        let points = |means: &[f64]| -> Vec<Point> {
            let sizes = (1..).map(|size| size * 10);
            let point = |(size, &mean)| Point {
                size,
                rank: 0.0,
                residual: 0.0,
                perfect: Spread { mean, deviation: 0.0 },
                fitted: None,
                draws: Vec::new(),
                seconds: 0.0,
            };
            sizes.zip(means).map(point).collect()
        };
        assert_eq!(recommended(&points(&[0.2, 0.5, 0.896, 0.9, 0.895]), true, 0.0), 30);
        assert_eq!(recommended(&points(&[4.0, 2.0, 1.009, 1.0]), false, 0.0), 30);
        assert_eq!(recommended(&points(&[4.0, 2.0, 0.0]), false, 0.0), 30);
        // errors of outputs whose mean squared length is 1000
        assert_eq!(recommended(&points(&[500.0, 30.0, 21.0, 12.0]), false, 1000.0), 30);
        let mut fitted = points(&[1.0, 1.0, 1.0]);
        for (point, mean) in fitted.iter_mut().zip([0.3, 0.5, 0.4]) {
            point.fitted = Some(Spread { mean, deviation: 0.0 });
        }
        assert_eq!(recommended(&fitted, true, 0.0), 20);
    }
}
