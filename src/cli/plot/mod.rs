//! Figures for papers, as SVG files in points of 1/72 inch, laid out for the column of a paper (3.5 inches) or, with
//! several panels, its page.

mod axis;
mod panel;

use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::store::prepare;
use dsokr_decode::report::{HitsPoint, RankHistogram, ReliabilityBin};

use self::axis::Axis;
use self::panel::{Panel, Series, Style, Value, save};
use crate::error::{Error, ensure};
use crate::metrics::compare::RunComparison;
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::metric::Metric;
use crate::metrics::quantiles::Coverage;
use crate::run::{EmbeddingCurve, LearningCurve, LearningPoint, check_output};
use crate::run_dir::parent;
use crate::studies::sketch::{Curve, Leverage, Point};
use crate::studies::sweep::{Best, Sweep, SweepRun};

/// Returns how axes name the metric of this name.
fn title(metric: &str) -> &str {
    Metric::find(metric).map_or(metric, |metric| metric.title())
}

fn series(name: impl Into<String>, style: Style, values: impl Iterator<Item = Value>) -> Series {
    Series { name: name.into(), style, values: values.collect() }
}

/// Refuses a file for a figure, of this argument, that is in a run directory, is not an SVG file, or cannot be written:
/// the figure comes at the end, after all that it shows is computed.
///
/// # Errors
/// [`dsokr_core::Error::Value`] of the argument; what the file system reports where nothing can be written.
pub fn check_svg(argument: &'static str, file: &PathBuf) -> Result<(), Error> {
    check_output(argument, file)?;
    let svg = file.extension().is_some_and(|extension| extension == "svg");
    ensure(svg, Argument::new(argument), file.display(), "a file that ends in .svg")?;
    let folder = parent(file);
    let allowed = format_args!("a file in a folder that exists: create {}", folder.display());
    ensure(folder.is_dir(), Argument::new(argument), file.display(), allowed)?;
    prepare(file, |_| Ok(()))?;
    Ok(())
}

/// Draws Hits@k against k, a line for each run, and the band of its 95 % intervals where it has some.
pub fn hits(path: &Path, runs: &[(String, Vec<HitsPoint>)]) -> Result<(), Error> {
    let lines = runs.iter().map(|(name, curve)| {
        let at = |at: &HitsPoint| (at.k as f64, at.hits, at.ci95);
        series(name, Style::Band, curve.iter().map(at))
    });
    let x = Axis::linear("k");
    let mut points = runs.iter().flat_map(|(_, curve)| curve);
    let has_intervals = points.any(|point| point.ci95.is_some());
    let y = Axis::share(if has_intervals { "Hits@k (95 % intervals)" } else { "Hits@k" });
    let title = "Right outputs among the first k".to_owned();
    save(path, &[Panel { title, x: Axis { whole: true, ..x }, y, series: lines.collect() }])
}

/// Draws the share of queries whose right output has a rank in each bin.
pub fn ranks(path: &Path, runs: &[(String, RankHistogram)]) -> Result<(), Error> {
    let bars = runs.iter().map(|(name, histogram)| {
        let missing = match histogram.missing {
            0 => String::new(),
            missing => format!(" ({missing} whose right output is no candidate)"),
        };
        let all: f64 = histogram.bins.iter().map(|bin| bin.queries).sum();
        let all = (all + histogram.missing as f64).max(1.0);
        let corners = histogram.bins.iter().flat_map(|bin| {
            [bin.first as f64 - 0.5, bin.last as f64 + 0.5]
                .map(|end| (end, bin.queries / all, None))
        });
        series(format!("{name}{missing}"), Style::Bars, corners)
    });
    let title = "Ranks of the right outputs".to_owned();
    let x = Axis::numbers("rank of the right output");
    let y = Axis::share("share of queries");
    save(path, &[Panel { title, x, y, series: bars.collect() }])
}

/// Draws the share of queries whose first candidate is right, against its score and against its gap to the next one.
pub fn reliability(path: &Path, bins: [&[ReliabilityBin]; 2]) -> Result<(), Error> {
    let at = |bin: &ReliabilityBin| (bin.mean_score, bin.right, Some([bin.low, bin.high]));
    let names = [
        ("How often right by score", "score of the first candidate"),
        ("How often right by gap", "its gap to the next one"),
    ];
    let panels = names.into_iter().zip(bins).map(|((title, x), bins)| {
        let series = vec![series("", Style::Marked, bins.iter().map(at))];
        let y = Axis::share("share right (95 % intervals)");
        Panel { title: title.to_owned(), x: Axis::linear(x), y, series }
    });
    save(path, &panels.collect::<Vec<_>>())
}

/// Draws the share of numbers at most equal to their quantile, against its level.
pub fn coverage(path: &Path, shares: &[Coverage]) -> Result<(), Error> {
    let observed = shares.iter().map(|point| (point.level, point.share, None));
    let calibrated = [0.0, 1.0].into_iter().map(|level| (level, level, None));
    let series = vec![
        series("observed", Style::Marked, observed),
        series("calibrated", Style::Dashed, calibrated),
    ];
    let title = "Coverage of the quantiles".to_owned();
    let x = Axis::share("level of the quantile");
    let y = Axis::share("share at most the quantile");
    save(path, &[Panel { title, x, y, series }])
}

/// Draws training loss and validation metric of each run against its epochs, side by side. Runs need one metric.
pub fn learning(path: &Path, runs: &[LearningCurve]) -> Result<(), Error> {
    let metric = runs.first().map_or("", |curve| &curve.metric);
    let panel = |title: &str, label: String, value: fn(&LearningPoint) -> Option<f64>| {
        let lines = runs.iter().map(|LearningCurve { name, points, .. }| {
            let style = if points.len() <= 30 { Style::Marked } else { Style::Line };
            series(
                name,
                style,
                points.iter().filter_map(|point| Some((point.epoch, value(point)?, None))),
            )
        });
        let x = Axis { whole: true, ..Axis::linear("epoch") };
        Panel { title: title.to_owned(), x, y: Axis::linear(label), series: lines.collect() }
    };
    let loss = panel("Training loss by epoch", "training loss".into(), |point| Some(point.loss));
    let label = format!("validation {}", title(metric));
    let metric = panel("Validation by epoch", label, |point| point.value);
    save(path, &[loss, metric])
}

/// The most metrics that a comparison draws.
const COMPARED: usize = 4;

/// Draws the first metrics of runs that are compared, side by side: a mark with its 95 % interval for each run.
pub fn comparison(path: &Path, comparison: &RunComparison) -> Result<(), Error> {
    let panels = comparison.metrics.iter().take(COMPARED).map(|metric| {
        let names = (1..=metric.runs.len()).map(|number| number.to_string()).collect();
        let series = metric.runs.iter().enumerate().map(|(at, run)| {
            let name = format!("{}: {}", at + 1, run.run);
            series(name, Style::Marks, std::iter::once((at as f64, run.value, run.ci95)))
        });
        let x = Axis { names, ..Axis::linear("run") };
        let name = title(metric.metric);
        let has_intervals = metric.runs.iter().any(|run| run.ci95.is_some());
        let intervals = if has_intervals { " (95 % intervals)" } else { "" };
        let y = Axis::linear(format!("{name}{intervals}"));
        Panel { title: format!("{name} by run"), x, y, series: series.collect() }
    });
    save(path, &panels.collect::<Vec<_>>())
}

/// Draws how large a sketch should be: spectra, leverage scores, and the metric against the sketch size.
pub fn sketch_sizes(path: &Path, curves: &[Curve], leverage: &[Leverage]) -> Result<(), Error> {
    // curves of several powers have one spectrum
    let first = |at: usize| curves[..at].iter().all(|c| c.spectrum != curves[at].spectrum);
    let distinct = (0..curves.len()).filter(|&at| first(at)).map(|at| &curves[at]);
    let spectra = distinct.map(|curve| ordered(curve.name.clone(), &curve.spectrum)).collect();
    let scores = leverage.iter().map(|Leverage { name, lambda, dimension, scores, .. }| {
        ordered(format!("{name}, λ = {lambda}, sum {dimension:.1}"), scores)
    });
    let metric = curves.first().map_or("", |curve| &curve.metric);
    let fitted = curves.iter().flat_map(|curve| &curve.points).any(|point| point.fitted.is_some());
    let subject = if fitted { "the fitted model" } else { "perfect h" };
    let label = format!("{} of {subject}", title(metric));
    // errors fall by orders of magnitude until the basis holds the outputs' directions
    let y = if metric == "squared_error" {
        Axis::logarithmic(label)
    } else {
        Axis { with_zero: true, ..Axis::linear(label) }
    };
    let sizes = curves.iter().map(|curve| {
        let at = |point: &Point| {
            let MeanAndDeviation { mean, deviation } = point.deciding();
            let ends = (deviation > 0.0).then_some([mean - deviation, mean + deviation]);
            (point.size as f64, mean, ends)
        };
        series(&curve.name, Style::Marked, curve.points.iter().map(at))
    });
    let panel = |title: &str, x: &str, y: Axis, series: Vec<Series>| Panel {
        title: title.to_owned(),
        x: Axis::numbers(x),
        y,
        series,
    };
    let panels = [
        panel("Spectrum", "coordinate", Axis::logarithmic("eigenvalue / n"), spectra),
        panel("Leverage scores", "output, sorted", Axis::share("leverage score"), scores.collect()),
        panel("Metric by sketch size", "sketch size m", y, sizes.collect()),
    ];
    save(path, &panels)
}

/// Returns the series of values at 1, 2, and so on, as far as they are above 0.
fn ordered(name: String, values: &[f64]) -> Series {
    let values = values.iter().copied().take_while(|&value| value > 0.0);
    series(name, Style::Line, (1..).map(f64::from).zip(values).map(|(x, y)| (x, y, None)))
}

/// Draws the metric of embeddings of each rank, a line for each c, at the best λ.
pub fn embedding(path: &Path, curve: &EmbeddingCurve) -> Result<(), Error> {
    let mut names = Vec::new();
    let mut lines = Vec::<Series>::new();
    let better = |a: f64, b: f64| if curve.larger_is_better { a > b } else { a < b };
    for point in &curve.points {
        let name = format!("c = {}", point.supervised);
        let at = place_of(&mut names, &name);
        if at == lines.len() {
            lines.push(series(name, Style::Marked, std::iter::empty()));
        }
        let line = &mut lines[at].values;
        let rank = point.rank as f64;
        match line.iter_mut().find(|drawn| drawn.0 == rank) {
            Some(drawn) if better(point.value, drawn.1) => drawn.1 = point.value,
            Some(_) => {}
            None => line.push((rank, point.value, None)),
        }
    }
    let y = Axis::linear(format!("validation {}", title(&curve.metric)));
    let title = "Embeddings by rank".to_owned();
    save(path, &[Panel { title, x: Axis::numbers("rank"), y, series: lines }])
}

/// Draws the metric of a sweep against each of its keys: a point with its 95 % interval for each run, those of the best setting in
/// a color of their own. Runs without a value lie at the end of the bad values.
pub fn sweep(path: &Path, sweep: &Sweep) -> Result<(), Error> {
    // what lies outside an axis is drawn at its end
    let bad = if sweep.larger_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
    let best = sweep.best();
    let is_best = |run: &SweepRun| match &best {
        Some(Best::Run(best)) => *best == run,
        Some(Best::Setting(best)) => best.has(sweep, run),
        Some(Best::Undecided(_)) | None => false,
    };
    let panels = sweep.keys.iter().enumerate().map(|(at, key)| {
        let values: Vec<&str> = sweep.runs.iter().map(|run| run.setting[at].as_str()).collect();
        let (x, places) = places(key, &values);
        let all: Vec<(&SweepRun, f64)> = sweep.runs.iter().zip(places).collect();
        let (succeeded, failed): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(run, _)| run.value.is_some());
        let (best, others): (Vec<_>, Vec<_>) =
            succeeded.into_iter().partition(|&(run, _)| is_best(run));
        let others_name = if best.is_empty() { "settings" } else { "other settings" };
        // the best ones are drawn above the others
        let further = [("best", best), ("failed", failed)].into_iter();
        let mut groups = vec![(others_name, others)];
        groups.extend(further.filter(|(_, runs)| !runs.is_empty()));
        let series = groups.into_iter().map(|(name, runs)| {
            let at = |&(run, x): &(&SweepRun, f64)| (x, run.value.unwrap_or(bad), run.ci95);
            series(name, Style::Marks, runs.iter().map(at))
        });
        let metric = title(&sweep.metric);
        let y = Axis::linear(format!("{} {metric}", sweep.split));
        Panel { title: format!("{metric} by {key}"), x, y, series: series.collect() }
    });
    save(path, &panels.collect::<Vec<_>>())
}

/// Returns the axis of a key with the place of each run's value: numbers, on a logarithmic scale where they
/// span a factor of ten, or the values side by side.
fn places(key: &str, values: &[&str]) -> (Axis, Vec<f64>) {
    let number = |value: &&str| value.parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(numbers) = values.iter().map(number).collect::<Option<Vec<f64>>>() {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let logarithmic = least > 0.0 && numbers.iter().any(|&number| number > 9.99 * least);
        return (Axis { logarithmic, ..Axis::linear(key) }, numbers);
    }
    let mut names = Vec::new();
    let places = values.iter().map(|value| place_of(&mut names, value) as f64).collect();
    (Axis { names, ..Axis::linear(key) }, places)
}

/// Returns the place of a name among those that came before.
fn place_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|other| other == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
