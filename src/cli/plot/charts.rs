//! Values against sketch sizes and ranks.

use std::path::Path;

use crate::Error;
use crate::run::EmbeddingCurve;
use crate::sketch::{Curve, Leverage, Point, Spread};

use super::axis::Axis;
use super::panel::{Interval, Panel, Series, figure};
use super::{save, title};

/// How large a sketch should be: spectra, leverage scores, and the metric against the sketch size.
pub fn sketch_sizes(path: &Path, curves: &[Curve], leverage: &[Leverage]) -> Result<(), Error> {
    // curves of several powers have one spectrum
    let first = |at: usize| curves[..at].iter().all(|c| c.spectrum != curves[at].spectrum);
    let distinct = (0..curves.len()).filter(|&at| first(at)).map(|at| &curves[at]);
    let spectra = Panel {
        x: Axis::numbers("coordinate"),
        y: Axis::logarithmic("eigenvalue / n"),
        series: distinct.map(|c| ordered(c.name.clone(), &c.spectrum)).collect(),
    };
    let scores = leverage.iter().map(|leverage| {
        let Leverage { name, lambda, dimension, .. } = leverage;
        ordered(format!("{name}, λ = {lambda}, sum {dimension:.1}"), &leverage.scores)
    });
    let scores = Panel {
        x: Axis::numbers("output, sorted"),
        y: Axis::share("leverage score"),
        series: scores.collect(),
    };
    let metric = curves.first().map_or("", |curve| &curve.metric);
    let fitted = curves.iter().flat_map(|curve| &curve.points).any(|point| point.fitted.is_some());
    let of = if fitted { "the fitted model" } else { "perfect h" };
    let label = format!("{} of {of}", title(metric));
    // errors fall by orders of magnitude until the basis holds the outputs' directions
    let y = match metric == "squared_error" {
        true => Axis::logarithmic(label),
        false => Axis { with_zero: true, ..Axis::linear(label) },
    };
    let series = curves.iter().map(|curve| {
        let at = |point: &Point| (point.size as f64, point.deciding());
        let points = || curve.points.iter().map(at);
        let spread = |(x, Spread { mean, deviation }): (f64, Spread)| Interval {
            x,
            low: mean - deviation,
            high: mean + deviation,
        };
        Series {
            name: curve.name.clone(),
            line: points().map(|(x, spread)| (x, spread.mean)).collect(),
            dots: true,
            errors: points().filter(|(_, spread)| spread.deviation > 0.0).map(spread).collect(),
            ..Series::default()
        }
    });
    let sizes = Panel { x: Axis::numbers("sketch size m"), y, series: series.collect() };
    save(path, figure(&[spectra, scores, sizes]))
}

/// Values at 1, 2, and so on, as far as they are above 0.
fn ordered(name: String, values: &[f64]) -> Series {
    let values = values.iter().copied().take_while(|&value| value > 0.0);
    let line = (1..).map(f64::from).zip(values).collect();
    Series { name, line, ..Series::default() }
}

/// The metric of embeddings of each rank, a line for each c, at the best λ.
pub fn embedding(path: &Path, curve: &EmbeddingCurve) -> Result<(), Error> {
    let mut series: Vec<Series> = Vec::new();
    let better = |a: f64, b: f64| if curve.larger_is_better { a > b } else { a < b };
    for point in &curve.points {
        let name = format!("c = {}", point.supervised);
        let at = series.iter().position(|series| series.name == name).unwrap_or_else(|| {
            series.push(Series { name, dots: true, ..Series::default() });
            series.len() - 1
        });
        let (line, rank) = (&mut series[at].line, point.rank as f64);
        match line.iter_mut().find(|known| known.0 == rank) {
            Some(known) if better(point.value, known.1) => known.1 = point.value,
            Some(_) => {}
            None => line.push((rank, point.value)),
        }
    }
    let y = Axis::linear(format!("validation {}", title(&curve.metric)));
    let x = Axis::numbers("rank");
    save(path, figure(&[Panel { x, y, series }]))
}
