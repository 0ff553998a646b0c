//! Plots as SVG files, without fonts or libraries of the system.

use std::ops::Range;
use std::path::Path;

use dsokr_basis::store::write_atomically;
use dsokr_decode::report::{HitsPoint, RankBin, RankHistogram};
use dsokr_train::Error;
use dsokr_train::sketch::Curve;
use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 480);

const COLORS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
];

/// The figure of each curve against the sketch size, with bars of one standard deviation.
pub fn sketch_sizes(path: &Path, curves: &[Curve]) -> Result<(), Error> {
    let mut svg = String::new();
    draw(&mut svg, curves).map_err(|message| Error::Io { path: path.into(), message })?;
    Ok(write_atomically(path, |file| file.write_all(svg.as_bytes()))?)
}

fn draw(svg: &mut String, curves: &[Curve]) -> Result<(), String> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(said)?;
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let sizes = points().map(|point| point.size as f64);
    let sizes = range(sizes).unwrap_or(1.0..10.0);
    let ends = points().flat_map(|p| [p.mean - p.deviation, p.mean + p.deviation]);
    let figures = range(ends).unwrap_or(0.0..1.0);
    let margin = 0.05 * (figures.end - figures.start).max(1e-9);
    let figures = (figures.start - margin).min(0.0)..figures.end + margin;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((sizes.start * 0.9..sizes.end * 1.1).log_scale(), figures)
        .map_err(said)?;
    let metric = curves.first().map_or("", |curve| &curve.metric);
    chart
        .configure_mesh()
        .x_desc("sketch size m")
        .y_desc(format!("{metric} of perfect h"))
        .x_label_formatter(&|size| format!("{size:.0}"))
        .light_line_style(WHITE.mix(0.0))
        .draw()
        .map_err(said)?;
    for (index, curve) in curves.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        let line = curve.points.iter().map(|point| (point.size as f64, point.mean));
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)).point_size(3))
            .map_err(said)?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        let bar = |point: &dsokr_train::sketch::Point| {
            let (size, low, high) =
                (point.size as f64, point.mean - point.deviation, point.mean + point.deviation);
            PathElement::new([(size, low), (size, high)], color.stroke_width(1))
        };
        chart.draw_series(curve.points.iter().map(bar)).map_err(said)?;
    }
    // curves that fall leave room above their end, those that rise below it
    let falls = |curve: &Curve| match curve.points.as_slice() {
        [first, .., last] => last.mean < first.mean,
        _ => false,
    };
    let legend = if curves.first().is_some_and(falls) {
        SeriesLabelPosition::UpperRight
    } else {
        SeriesLabelPosition::LowerRight
    };
    chart
        .configure_series_labels()
        .position(legend)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(said)?;
    root.present().map_err(said)
}

/// Hits@k against k, with the band of its 95 % intervals.
pub fn hits(path: &Path, curve: &[HitsPoint]) -> Result<(), Error> {
    let mut svg = String::new();
    draw_hits(&mut svg, curve).map_err(|message| Error::Io { path: path.into(), message })?;
    Ok(write_atomically(path, |file| file.write_all(svg.as_bytes()))?)
}

fn draw_hits(svg: &mut String, curve: &[HitsPoint]) -> Result<(), String> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(said)?;
    let most = curve.last().map_or(1, |point| point.k) as f64;
    let top = curve.iter().map(|point| point.high).fold(0.1, f64::max);
    let mut chart = ChartBuilder::on(&root)
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
    root.present().map_err(said)
}

/// How many queries have their gold candidate at which ranks.
pub fn ranks(path: &Path, histogram: &RankHistogram) -> Result<(), Error> {
    let mut svg = String::new();
    draw_ranks(&mut svg, histogram).map_err(|message| Error::Io { path: path.into(), message })?;
    Ok(write_atomically(path, |file| file.write_all(svg.as_bytes()))?)
}

fn draw_ranks(svg: &mut String, histogram: &RankHistogram) -> Result<(), String> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(said)?;
    let bins = &histogram.bins;
    let last = bins.last().map_or(1, |bin| bin.last) as f64 + 1.0;
    let top = bins.iter().map(|bin| bin.queries).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&root)
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
    root.present().map_err(said)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// From the smallest to the largest; none where there is nothing.
fn range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    values.fold(None, |range: Option<Range<f64>>, v| {
        Some(range.map_or(v..v, |r| r.start.min(v)..r.end.max(v)))
    })
}
