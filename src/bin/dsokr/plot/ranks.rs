//! The plots of `evaluate --report`.

use std::path::Path;

use dsokr::Error;
use dsokr::decode::report::{HitsPoint, RankBin, RankHistogram};
use plotters::prelude::*;

use super::{Area, COLORS, SIZE, said, save};

/// Hits@k against k, with the band of its 95 % intervals.
pub fn hits(path: &Path, curve: &[HitsPoint]) -> Result<(), Error> {
    save(path, SIZE, |area| draw_hits(area, curve))
}

fn draw_hits(area: &Area, curve: &[HitsPoint]) -> Result<(), String> {
    let most = curve.last().map_or(1, |point| point.k) as f64;
    let top = curve.iter().map(|point| point.high).fold(0.1, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..most + 1.0, 0.0..top * 1.05)
        .map_err(said)?;
    chart
        .configure_mesh()
        .x_desc("k")
        .y_desc("Hits@k")
        .x_label_formatter(&|k| format!("{k:.0}"))
        .light_line_style(WHITE.mix(0.0))
        .draw()
        .map_err(said)?;
    let low = curve.iter().map(|point| (point.k as f64, point.low));
    let high = curve.iter().rev().map(|point| (point.k as f64, point.high));
    let band = Polygon::new(low.chain(high).collect::<Vec<_>>(), COLORS[0].mix(0.2));
    chart.draw_series([band]).map_err(said)?;
    let line = curve.iter().map(|point| (point.k as f64, point.hits));
    chart.draw_series(LineSeries::new(line, COLORS[0].stroke_width(2))).map_err(said)?;
    Ok(())
}

/// The number of queries whose gold candidate has a rank in each bin.
pub fn ranks(path: &Path, histogram: &RankHistogram) -> Result<(), Error> {
    save(path, SIZE, |area| draw_ranks(area, histogram))
}

fn draw_ranks(area: &Area, histogram: &RankHistogram) -> Result<(), String> {
    let bins = &histogram.bins;
    let last = bins.last().map_or(1, |bin| bin.last) as f64 + 1.0;
    let top = bins.iter().map(|bin| bin.queries).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((1.0..last.max(2.0)).log_scale(), 0.0..top * 1.05)
        .map_err(said)?;
    let missing = match histogram.missing {
        0 => String::new(),
        missing => format!(" ({missing} without)"),
    };
    chart
        .configure_mesh()
        .x_desc(format!("rank of the gold candidate{missing}"))
        .y_desc("queries")
        .x_label_formatter(&|rank| format!("{rank:.0}"))
        .light_line_style(WHITE.mix(0.0))
        .draw()
        .map_err(said)?;
    let bar = |bin: &RankBin| {
        let corners = [(bin.first as f64, 0.0), (bin.last as f64 + 1.0, bin.queries)];
        Rectangle::new(corners, COLORS[0].mix(0.7).filled())
    };
    chart.draw_series(bins.iter().map(bar)).map_err(said)?;
    Ok(())
}
