//! The metric of a sweep against each of its keys.

use std::path::Path;

use crate::Error;
use crate::sweep::{Sweep, SweepRun};

use super::axis::Axis;
use super::panel::{Interval, Panel, Series, figure};
use super::{save, title};

/// A panel for each key: a point with its 95 % interval for each run, the best one in a color of its
/// own. Runs without a value lie at the end of the bad values.
pub fn sweep(path: &Path, sweep: &Sweep) -> Result<(), Error> {
    let runs: Vec<&SweepRun> = sweep.runs.iter().collect();
    // what lies outside an axis is drawn at its end
    let bad = if sweep.larger_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
    let panels = sweep.keys.iter().enumerate().map(|(at, key)| {
        let values: Vec<&str> = runs.iter().map(|run| run.setting[at].as_str()).collect();
        let (x, places) = places(key, &values);
        let known: Vec<_> = runs.iter().copied().zip(places).collect();
        let (known, failed): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|(run, _)| run.value.is_some());
        // the best run is the first one; it is drawn last, above the others
        let (best, others) = known.split_at(known.len().min(1));
        let mut series = vec![series("other settings", others), series("best", best)];
        if !failed.is_empty() {
            let points = failed.iter().map(|(_, x)| (*x, bad)).collect();
            series.push(Series { name: "failed".into(), points, ..Series::default() });
        }
        Panel { x, y: Axis::linear(format!("{} {}", sweep.split, title(&sweep.metric))), series }
    });
    save(path, figure(&panels.collect::<Vec<_>>()))
}

fn series(name: &str, runs: &[(&SweepRun, f64)]) -> Series {
    let points = runs.iter().filter_map(|(run, x)| Some((*x, run.value?)));
    let errors = runs.iter().filter_map(|&(run, x)| {
        let [low, high] = run.ci95?;
        Some(Interval { x, low, high })
    });
    Series {
        name: name.into(),
        points: points.collect(),
        errors: errors.collect(),
        ..Series::default()
    }
}

/// The axis of a key with the place of each run's value: numbers, on a logarithmic scale where they
/// span more than a factor of ten, or the values side by side.
fn places(key: &str, values: &[&str]) -> (Axis, Vec<f64>) {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    if let Some(numbers) = numbers.filter(|all| all.iter().all(|number: &f64| number.is_finite())) {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let axis = match least > 0.0 && most > 10.0 * least {
            true => Axis::logarithmic(key),
            false => Axis::linear(key),
        };
        return (axis, numbers);
    }
    let mut names: Vec<String> = Vec::new();
    let places = values.iter().map(|value| {
        let known = names.iter().position(|name| name == value);
        known.unwrap_or_else(|| {
            names.push((*value).to_owned());
            names.len() - 1
        }) as f64
    });
    let places = places.collect();
    (Axis::named(key, names), places)
}
