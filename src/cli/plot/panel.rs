//! Panels: axes with series, and a legend below.

use super::axis::{Axis, Ruler};
use super::font;
use super::svg::{Anchor, BLACK, COLORS, Color, Drawing, LIGHT, Point, Stroke};

/// Width of a figure with one panel, the column of a paper: 3.5 inches.
const COLUMN: f64 = 252.0;

/// Width of a panel beside others.
const NARROW: f64 = 190.0;

/// Height of the axes.
const HEIGHT: f64 = 125.0;

/// Size of the type of labels and legends, and of ticks.
const LABEL: f64 = 8.0;
const TICK: f64 = 7.0;

/// Height of a line of the legend, and the width of its sample with the gap behind.
const ROW: f64 = 10.5;
const SAMPLE: f64 = 18.0;

/// Space around a panel.
const MARGIN: f64 = 6.0;

/// A value with an interval around it.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub x: f64,
    pub low: f64,
    pub high: f64,
}

/// What is drawn for one run or one kind of value.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the legend, which leaves series without a name out.
    pub name: String,
    pub dashed: bool,
    /// Points that a line connects.
    pub line: Vec<Point>,
    /// Whether points are marked.
    pub dots: bool,
    /// Points that nothing connects.
    pub points: Vec<Point>,
    /// A shaded band.
    pub band: Vec<Interval>,
    /// Error bars.
    pub errors: Vec<Interval>,
    /// Bars from 0: left end, right end, height.
    pub bars: Vec<(f64, f64, f64)>,
}

/// Axes with what they show.
#[derive(Clone, Debug)]
pub struct Panel {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// Panels side by side.
pub fn figure(panels: &[Panel]) -> Drawing {
    let width = if panels.len() > 1 { NARROW } else { COLUMN };
    let rows = panels.iter().map(|panel| panel.legend(width).len()).max().unwrap_or(0);
    let ticks = TICK + 6.0;
    let height = MARGIN + TICK / 2.0 + HEIGHT + ticks + LABEL + 5.0 + ROW * rows as f64 + MARGIN;
    let mut drawing = Drawing::new(width * panels.len() as f64, height);
    for (at, panel) in panels.iter().enumerate() {
        panel.draw(&mut drawing, at as f64 * width, width);
    }
    drawing
}

impl Panel {
    fn draw(&self, drawing: &mut Drawing, left: f64, width: f64) {
        let top = MARGIN + TICK / 2.0;
        let bottom = top + HEIGHT;
        let y = self.y.over(self.corners().map(|at| at.1), 0.05, (bottom, -HEIGHT));
        let y_ticks = y.ticks(5);
        let widest = y_ticks.iter().map(|(_, label)| font::width(label, TICK)).fold(0.0, f64::max);
        let start = left + MARGIN + LABEL + 4.0 + widest + 5.0;
        let end = left + width - MARGIN - 5.0;
        let any = |has: fn(&Series) -> bool| self.series.iter().any(has);
        let padding = match (any(|series| !series.bars.is_empty()), any(|s| !s.points.is_empty())) {
            (true, _) => 0.0,
            (false, true) => 0.08,
            (false, false) => 0.03,
        };
        let x = self.x.over(self.corners().map(|at| at.0), padding, (start, end - start));
        for (value, label) in &y_ticks {
            let at = y.place(*value);
            drawing.line(&[(start, at), (end, at)], Stroke::new(LIGHT, 0.5));
            drawing.text((start - 4.0, at + 0.36 * TICK), label, TICK, Anchor::End);
        }
        for (value, label) in x_ticks(&x, end - start) {
            let at = x.place(value);
            drawing.line(&[(at, bottom), (at, bottom + 2.5)], Stroke::new(BLACK, 0.6));
            drawing.text((at, bottom + 4.0 + TICK), &label, TICK, Anchor::Middle);
        }
        let named = |at: usize| COLORS[at % COLORS.len()];
        let several = self.series.len() > 1;
        for (at, series) in self.series.iter().enumerate() {
            series.draw_areas(drawing, (&x, &y), named(at), several);
        }
        for (at, series) in self.series.iter().enumerate() {
            series.draw_lines(drawing, (&x, &y), named(at), several);
        }
        drawing.line(&[(start, top), (start, bottom), (end, bottom)], Stroke::new(BLACK, 0.7));
        let across = font::fitted(&self.x.label, LABEL, width - 2.0 * MARGIN);
        // labels are centred below the axis where they fit
        let half = font::width(&across, LABEL) / 2.0;
        let middle =
            ((start + end) / 2.0).min(left + width - MARGIN - half).max(left + MARGIN + half);
        let below = bottom + TICK + 6.0 + LABEL;
        drawing.text((middle, below), &across, LABEL, Anchor::Middle);
        let upward = font::fitted(&self.y.label, LABEL, HEIGHT + TICK + 20.0);
        let half = font::width(&upward, LABEL) / 2.0;
        let middle = (top + HEIGHT / 2.0).max(MARGIN + half);
        drawing.upward_text((left + MARGIN + LABEL - 1.0, middle), &upward, LABEL);
        for (row, entries) in self.legend(width).iter().enumerate() {
            let base = below + 5.0 + ROW * (row + 1) as f64 - 2.0;
            for (at, offset, name) in entries {
                let (from, line) = (left + MARGIN + offset, base - 0.36 * LABEL);
                let series = &self.series[*at];
                let connected = series.points.is_empty();
                if !several && !series.bars.is_empty() {
                    let (right, half) = (from + SAMPLE - 5.0, 0.3 * LABEL);
                    let [low, high] = [line + half, line - half];
                    let corners = [(from, low), (from, high), (right, high), (right, low)];
                    drawing.area(&corners, named(*at), 1.0);
                } else if connected {
                    let stroke = Stroke { dashed: series.dashed, ..Stroke::new(named(*at), 1.3) };
                    drawing.line(&[(from, line), (from + SAMPLE - 5.0, line)], stroke);
                }
                if series.dots || !connected {
                    drawing.disc((from + (SAMPLE - 5.0) / 2.0, line), 1.7, named(*at));
                }
                drawing.text((from + SAMPLE - 2.0, base), name, LABEL, Anchor::Start);
            }
        }
    }

    /// Points that the axes reach.
    fn corners(&self) -> impl Iterator<Item = Point> + '_ {
        self.series.iter().flat_map(|series| {
            let points = series.line.iter().chain(&series.points).copied();
            let bars = series.bars.iter().flat_map(|bar| [(bar.0, 0.0), (bar.1, bar.2)]);
            let intervals = series.band.iter().chain(&series.errors);
            points.chain(bars).chain(intervals.flat_map(|at| [(at.x, at.low), (at.x, at.high)]))
        })
    }

    /// Rows of the legend: series, place from the left, and name.
    fn legend(&self, width: f64) -> Vec<Vec<(usize, f64, String)>> {
        let room = width - 2.0 * MARGIN;
        let mut rows: Vec<Vec<(usize, f64, String)>> = Vec::new();
        let mut used = 0.0;
        for (at, series) in self.series.iter().enumerate() {
            if series.name.is_empty() {
                continue;
            }
            let name = font::fitted(&series.name, LABEL, room - SAMPLE);
            let wide = SAMPLE + font::width(&name, LABEL) + 8.0;
            match rows.last_mut() {
                Some(row) if used + wide - 8.0 <= room => row.push((at, used, name)),
                _ => {
                    used = 0.0;
                    rows.push(vec![(at, 0.0, name)]);
                }
            }
            used += wide;
        }
        rows
    }
}

/// As many ticks as their labels leave room for.
fn x_ticks(x: &Ruler, length: f64) -> Vec<(f64, String)> {
    let fits = |ticks: &[(f64, String)]| {
        let wide: f64 = ticks.iter().map(|(_, label)| font::width(label, TICK) + 6.0).sum();
        wide <= length
    };
    let all = (2..=6).rev().map(|count| x.ticks(count));
    let mut ticks = Vec::new();
    for some in all {
        ticks = some;
        if fits(&ticks) {
            break;
        }
    }
    while !fits(&ticks) && ticks.len() > 1 {
        ticks = ticks.into_iter().step_by(2).collect();
    }
    ticks
}

impl Series {
    fn draw_areas(
        &self,
        drawing: &mut Drawing,
        (x, y): (&Ruler, &Ruler),
        color: Color,
        several: bool,
    ) {
        if !self.band.is_empty() {
            let low = self.band.iter().map(|at| (x.place(at.x), y.place(at.low)));
            let high = self.band.iter().rev().map(|at| (x.place(at.x), y.place(at.high)));
            drawing.area(&low.chain(high).collect::<Vec<_>>(), color, 0.18);
        }
        if several {
            return;
        }
        for &(from, to, height) in &self.bars {
            let [left, right] = [from, to].map(|end| x.place(end));
            let [floor, top] = [0.0, height].map(|end| y.place(end));
            // a gap between bars, where there is room
            let gap = if right - left > 3.0 { 0.4 } else { 0.0 };
            let (left, right) = (left + gap, right - gap);
            let corners = [(left, floor), (left, top), (right, top), (right, floor)];
            drawing.area(&corners, color, 1.0);
        }
    }

    fn draw_lines(
        &self,
        drawing: &mut Drawing,
        (x, y): (&Ruler, &Ruler),
        color: Color,
        several: bool,
    ) {
        let stroke = Stroke { dashed: self.dashed, ..Stroke::new(color, 1.3) };
        for &Interval { x: at, low, high } in &self.errors {
            let (at, low, high) = (x.place(at), y.place(low), y.place(high));
            drawing.line(&[(at, low), (at, high)], Stroke::new(color, 0.8));
            for end in [low, high] {
                drawing.line(&[(at - 1.8, end), (at + 1.8, end)], Stroke::new(color, 0.8));
            }
        }
        for &(a, b) in &self.points {
            drawing.disc((x.place(a), y.place(b)), 2.2, color);
        }
        let points: Vec<Point> = self.line.iter().map(|&(a, b)| (x.place(a), y.place(b))).collect();
        if self.dots || points.len() == 1 {
            points.iter().for_each(|&point| drawing.disc(point, 1.7, color));
        }
        if points.len() > 1 {
            drawing.line(&points, stroke);
        }
        if several && !self.bars.is_empty() {
            let mut steps = Vec::new();
            for &(from, to, height) in &self.bars {
                steps.push((x.place(from), y.place(height)));
                steps.push((x.place(to), y.place(height)));
            }
            drawing.line(&steps, stroke);
        }
    }
}
