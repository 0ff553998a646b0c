//! Plots as SVG files, without fonts or libraries of the system.

use std::ops::Range;
use std::path::Path;

use dsokr_basis::store::write_atomically;
use dsokr_decode::report::{HitsPoint, RankBin, RankHistogram};
use dsokr_train::Error;
use dsokr_train::run::EmbeddingCurve;
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

/// Figures against sizes, with bars of one standard deviation.
struct Lines<'a> {
    x: &'a str,
    y: String,
    /// Name of each line, and its points (size, figure, deviation).
    lines: Vec<(String, Vec<(f64, f64, f64)>)>,
    /// Whether figures start at zero where they can.
    from_zero: bool,
}

/// The figure of each curve against the sketch size, with bars of one standard deviation.
pub fn sketch_sizes(path: &Path, curves: &[Curve]) -> Result<(), Error> {
    let metric = curves.first().map_or("", |curve| &curve.metric);
    let line = |curve: &Curve| {
        let points = curve.points.iter().map(|p| (p.size as f64, p.mean, p.deviation));
        (curve.name.clone(), points.collect())
    };
    let lines = curves.iter().map(line).collect();
    let y = format!("{metric} of perfect h");
    Lines { x: "sketch size m", y, lines, from_zero: true }.write(path)
}

/// What embeddings of each rank are worth, a line for each c, at the best λ.
pub fn embedding(path: &Path, curve: &EmbeddingCurve) -> Result<(), Error> {
    let mut lines: Vec<(String, Vec<(f64, f64, f64)>)> = Vec::new();
    let better = |a: f64, b: f64| if curve.larger_is_better { a > b } else { a < b };
    for point in &curve.points {
        let name = format!("c = {}", point.supervised);
        let at = lines.iter().position(|(own, _)| *own == name).unwrap_or_else(|| {
            lines.push((name, Vec::new()));
            lines.len() - 1
        });
        let (line, rank) = (&mut lines[at].1, point.rank as f64);
        match line.iter_mut().find(|(own, ..)| *own == rank) {
            Some((_, value, _)) if better(point.value, *value) => *value = point.value,
            Some(_) => {}
            None => line.push((rank, point.value, 0.0)),
        }
    }
    let y = format!("validation {}", curve.metric);
    Lines { x: "rank", y, lines, from_zero: false }.write(path)
}

impl Lines<'_> {
    fn write(&self, path: &Path) -> Result<(), Error> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|message| Error::Io { path: path.into(), message })?;
        Ok(write_atomically(path, |file| file.write_all(svg.as_bytes()))?)
    }

    fn draw(&self, svg: &mut String) -> Result<(), String> {
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(said)?;
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let sizes = range(points().map(|point| point.0)).unwrap_or(1.0..10.0);
        let ends = points().flat_map(|(_, mean, deviation)| [mean - deviation, mean + deviation]);
        let figures = range(ends).unwrap_or(0.0..1.0);
        let margin = 0.05 * (figures.end - figures.start).max(1e-9);
        let low = figures.start - margin;
        let low = if self.from_zero { low.min(0.0) } else { low };
        let mut chart = ChartBuilder::on(&root)
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(
                (sizes.start * 0.9..sizes.end * 1.1).log_scale(),
                low..figures.end + margin,
            )
            .map_err(said)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(&self.y)
            .x_label_formatter(&|size| format!("{size:.0}"))
            .light_line_style(WHITE.mix(0.0))
            .draw()
            .map_err(said)?;
        for (index, (name, points)) in self.lines.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            let line = points.iter().map(|&(size, mean, _)| (size, mean));
            chart
                .draw_series(LineSeries::new(line, color.stroke_width(2)).point_size(3))
                .map_err(said)?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2))
                });
            let bar = |&(size, mean, deviation): &(f64, f64, f64)| {
                let ends = [(size, mean - deviation), (size, mean + deviation)];
                PathElement::new(ends, color.stroke_width(1))
            };
            chart.draw_series(points.iter().map(bar)).map_err(said)?;
        }
        // curves that fall leave room above their end, those that rise below it
        let falls = |points: &[(f64, f64, f64)]| match points {
            [first, .., last] => last.1 < first.1,
            _ => false,
        };
        let legend = if self.lines.first().is_some_and(|(_, points)| falls(points)) {
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
