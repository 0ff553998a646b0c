//! Learning curves.

use std::path::Path;

use crate::Error;
use crate::run::LearningCurve;

use super::axis::Axis;
use super::panel::{Panel, Series, figure};
use super::{save, title};

/// Training loss and validation metric of each run against its epochs, side by side. Runs need one metric.
pub fn learning(path: &Path, runs: &[(String, LearningCurve)]) -> Result<(), Error> {
    let metric = runs.first().map_or("", |(_, curve)| &curve.metric);
    let lines = |of: fn(&LearningCurve, usize) -> Option<f64>| -> Vec<Series> {
        let series = runs.iter().map(|(name, curve)| {
            let places = curve.epochs.iter().enumerate();
            let line = places.filter_map(|(at, &epoch)| Some((epoch, of(curve, at)?)));
            Series {
                name: name.clone(),
                line: line.collect(),
                dots: curve.epochs.len() <= 30,
                ..Series::default()
            }
        });
        series.collect()
    };
    let x = || Axis { whole: true, ..Axis::linear("epoch") };
    let loss = lines(|curve, at| curve.loss.get(at).copied());
    let values = lines(|curve, at| curve.values.get(at).copied().flatten());
    let panels = [
        Panel { x: x(), y: Axis::linear("training loss"), series: loss },
        Panel { x: x(), y: Axis::linear(format!("validation {}", title(metric))), series: values },
    ];
    save(path, figure(&panels))
}
