//! The ranks and scores of queries.

use std::path::Path;

use crate::decode::report::{HitsPoint, RankHistogram, ReliabilityBin};
use crate::{Coverage, Error};

use super::axis::Axis;
use super::panel::{Interval, Panel, Series, figure};
use super::save;

/// Hits@k against k, a line and the band of its 95 % intervals for each run.
pub fn hits(path: &Path, runs: &[(String, Vec<HitsPoint>)]) -> Result<(), Error> {
    let series = runs.iter().map(|(name, curve)| {
        let band =
            |point: &HitsPoint| Interval { x: point.k as f64, low: point.low, high: point.high };
        Series {
            name: name.clone(),
            line: curve.iter().map(|point| (point.k as f64, point.hits)).collect(),
            band: curve.iter().map(band).collect(),
            ..Series::default()
        }
    });
    let y = Axis::share("Hits@k (95 % intervals)");
    let panel = Panel { x: Axis { whole: true, ..Axis::linear("k") }, y, series: series.collect() };
    save(path, figure(&[panel]))
}

/// The number of queries whose gold candidate has a rank in each bin: bars of one run, outlines of
/// several.
pub fn ranks(path: &Path, runs: &[(String, RankHistogram)]) -> Result<(), Error> {
    let series = runs.iter().map(|(name, histogram)| {
        let bins = histogram.bins.iter();
        let missing = match histogram.missing {
            0 => String::new(),
            missing => format!(" ({missing} without a gold candidate)"),
        };
        Series {
            name: format!("{name}{missing}"),
            bars: bins
                .map(|bin| (bin.first as f64 - 0.5, bin.last as f64 + 0.5, bin.queries))
                .collect(),
            ..Series::default()
        }
    });
    let x = Axis::numbers("rank of the gold candidate");
    let y = Axis { whole: true, with_zero: true, ..Axis::linear("number of queries") };
    save(path, figure(&[Panel { x, y, series: series.collect() }]))
}

/// The share of queries whose first candidate is right, against its score.
pub fn reliability(path: &Path, bins: &[ReliabilityBin]) -> Result<(), Error> {
    let error = |bin: &ReliabilityBin| Interval { x: bin.mean_score, low: bin.low, high: bin.high };
    let series = Series {
        line: bins.iter().map(|bin| (bin.mean_score, bin.right)).collect(),
        dots: true,
        errors: bins.iter().map(error).collect(),
        ..Series::default()
    };
    let x = Axis::linear("score of the first candidate (mean of a bin)");
    let y = Axis::share("share right (95 % intervals)");
    save(path, figure(&[Panel { x, y, series: vec![series] }]))
}

/// The share of numbers at most equal to their quantile, against its level.
pub fn coverage(path: &Path, shares: &[Coverage]) -> Result<(), Error> {
    let observed = Series {
        name: "observed".into(),
        line: shares.iter().map(|point| (point.level, point.share)).collect(),
        dots: true,
        ..Series::default()
    };
    let ideal = Series {
        name: "calibrated".into(),
        line: vec![(0.0, 0.0), (1.0, 1.0)],
        dashed: true,
        ..Series::default()
    };
    let x = Axis::share("level of the quantile");
    let y = Axis::share("share at most the quantile");
    save(path, figure(&[Panel { x, y, series: vec![observed, ideal] }]))
}
