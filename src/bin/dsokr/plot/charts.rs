//! Lines against sizes, one chart or several side by side.

use std::path::Path;

use dsokr::Error;
use dsokr::run::EmbeddingCurve;
use dsokr::sketch::{Curve, Leverage, Point, Spread};
use plotters::prelude::*;

use super::{Area, COLORS, SIZE, range, said, save};

/// Where a line passes, with the standard deviation there.
#[derive(Clone, Copy)]
struct Mark {
    x: f64,
    y: f64,
    deviation: f64,
}

/// A line with its name in the legend.
struct Line {
    name: String,
    marks: Vec<Mark>,
    /// Whether marks are drawn, with bars of one deviation.
    marked: bool,
}

impl Line {
    /// Values at 1, 2, and so on.
    fn of(name: &str, values: &[f64]) -> Self {
        let marks = (1..).zip(values).map(|(x, &y)| Mark { x: f64::from(x), y, deviation: 0.0 });
        Self { name: name.into(), marks: marks.collect(), marked: false }
    }
}

/// Lines over a logarithmic axis.
struct Chart {
    x: &'static str,
    y: String,
    lines: Vec<Line>,
    /// Whether the axis of figures starts at zero.
    from_zero: bool,
    /// Whether the axis of figures is logarithmic too.
    logarithmic: bool,
}

/// How large a sketch should be: spectra, leverage scores, and figures against the sketch size.
pub fn sketch_sizes(path: &Path, curves: &[Curve], leverage: &[Leverage]) -> Result<(), Error> {
    let positive = |values: &[f64]| -> Vec<f64> {
        values.iter().copied().take_while(|&value| value > 0.0).collect()
    };
    // curves of several powers have one spectrum
    let first = |at: usize| curves[..at].iter().all(|c| c.spectrum != curves[at].spectrum);
    let distinct = (0..curves.len()).filter(|&at| first(at)).map(|at| &curves[at]);
    let spectra = distinct.map(|c| Line::of(&c.name, &positive(&c.spectrum)));
    let spectra = Chart {
        x: "coordinate",
        y: "eigenvalue / n".into(),
        lines: spectra.collect(),
        from_zero: false,
        logarithmic: true,
    };
    let scores = leverage.iter().map(|found| {
        let Leverage { name, lambda, dimension, .. } = found;
        let name = format!("{name}, λ = {lambda}, sum {dimension:.1}");
        Line::of(&name, &found.scores)
    });
    let scores = Chart {
        x: "output, sorted",
        y: "leverage score".into(),
        lines: scores.collect(),
        from_zero: true,
        logarithmic: false,
    };
    let metric = curves.first().map_or("", |curve| &curve.metric);
    let line = |curve: &Curve| {
        let mark = |point: &Point| {
            let Spread { mean, deviation } = point.deciding();
            Mark { x: point.size as f64, y: mean, deviation }
        };
        let marks = curve.points.iter().map(mark).collect();
        Line { name: curve.name.clone(), marks, marked: true }
    };
    let fitted = curves.iter().flat_map(|curve| &curve.points).any(|point| point.fitted.is_some());
    let lines = curves.iter().map(line).collect();
    // errors fall by orders of magnitude until the basis holds the outputs' directions
    let logarithmic = metric == "squared_error";
    let y = match fitted {
        true => format!("{metric} of the fitted model"),
        false => format!("{metric} of perfect h"),
    };
    let sizes = Chart { x: "sketch size m", y, lines, from_zero: !logarithmic, logarithmic };
    side_by_side(path, &[spectra, scores, sizes])
}

/// The figures of embeddings of each rank, a line for each c, at the best λ.
pub fn embedding(path: &Path, curve: &EmbeddingCurve) -> Result<(), Error> {
    let mut lines: Vec<Line> = Vec::new();
    let better = |a: f64, b: f64| if curve.larger_is_better { a > b } else { a < b };
    for point in &curve.points {
        let name = format!("c = {}", point.supervised);
        let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            lines.push(Line { name, marks: Vec::new(), marked: true });
            lines.len() - 1
        });
        let (marks, rank) = (&mut lines[at].marks, point.rank as f64);
        match marks.iter_mut().find(|mark| mark.x == rank) {
            Some(mark) if better(point.value, mark.y) => mark.y = point.value,
            Some(_) => {}
            None => marks.push(Mark { x: rank, y: point.value, deviation: 0.0 }),
        }
    }
    let y = format!("validation {}", curve.metric);
    side_by_side(path, &[Chart { x: "rank", y, lines, from_zero: false, logarithmic: false }])
}

/// Charts side by side.
fn side_by_side(path: &Path, charts: &[Chart]) -> Result<(), Error> {
    let width = if charts.len() > 1 { SIZE.0 * 2 / 3 } else { SIZE.0 };
    let size = (width * charts.len() as u32, SIZE.1);
    save(path, size, |root| {
        let areas = root.split_evenly((1, charts.len()));
        areas.iter().zip(charts).try_for_each(|(area, chart)| chart.draw(area))
    })
}

impl Chart {
    /// A figure's height on the axis.
    fn height(&self, figure: f64) -> f64 {
        if self.logarithmic { figure.max(f64::MIN_POSITIVE).log10() } else { figure }
    }

    fn draw(&self, area: &Area) -> Result<(), String> {
        let marks = || self.lines.iter().flat_map(|line| &line.marks);
        let sizes = range(marks().map(|mark| mark.x)).unwrap_or(1.0..10.0);
        let ends = marks().flat_map(|mark| match self.logarithmic {
            true => [self.height(mark.y); 2],
            false => [mark.y - mark.deviation, mark.y + mark.deviation],
        });
        let figures = range(ends).unwrap_or(0.0..1.0);
        let margin = 0.05 * (figures.end - figures.start).max(1e-9);
        let low = figures.start - margin;
        let low = if self.from_zero { low.min(0.0) } else { low };
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(
                (sizes.start * 0.9..sizes.end * 1.1).log_scale(),
                low..figures.end + margin,
            )
            .map_err(said)?;
        let power = |height: &f64| match self.logarithmic {
            true => format!("{:.1e}", 10f64.powf(*height)),
            false => {
                let span = (figures.end - figures.start).max(1e-6);
                let places = (2 - span.log10().floor() as i32).clamp(0, 6);
                format!("{height:.*}", places as usize)
            }
        };
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(&self.y)
            .x_label_formatter(&|size| format!("{size:.0}"))
            .y_label_formatter(&power)
            .light_line_style(WHITE.mix(0.0))
            .draw()
            .map_err(said)?;
        for (index, Line { name, marks, marked }) in self.lines.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            let line = marks.iter().map(|mark| (mark.x, self.height(mark.y)));
            let point = if *marked { 3 } else { 0 };
            chart
                .draw_series(LineSeries::new(line, color.stroke_width(2)).point_size(point))
                .map_err(said)?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2))
                });
            let bar = |mark: &Mark| {
                let ends = [mark.y - mark.deviation, mark.y + mark.deviation];
                let ends = ends.map(|end| (mark.x, self.height(end).max(low)));
                PathElement::new(ends, color.stroke_width(1))
            };
            let bars = marks.iter().filter(|mark| mark.deviation > 0.0).map(bar);
            chart.draw_series(bars).map_err(said)?;
        }
        // falling lines leave room above their end, rising lines below it
        let falls = |line: &Line| match line.marks.as_slice() {
            [first, .., last] => last.y < first.y,
            _ => false,
        };
        let legend = if self.lines.first().is_some_and(falls) {
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
            .map_err(said)
    }
}
