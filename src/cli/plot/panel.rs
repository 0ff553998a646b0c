//! Panels: axes with series, and a legend below, drawn as SVG.

use std::path::Path;

use dsokr_core::message::xml;
use dsokr_core::store::write_atomically;

use super::axis::{Axis, Ruler};
use crate::error::Error;

/// Width of a figure with one panel, the column of a paper: 3.5 inches.
const COLUMN: f64 = 252.0;
/// Width of a panel next to others.
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
/// Height of what lies above the axes: the title, and half of the label of the highest tick.
const TOP: f64 = MARGIN + LABEL + 5.0 + TICK / 2.0;

/// How the values of a series are drawn. Intervals are bars of errors, but for [`Style::Band`].
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    Line,
    Dashed,
    /// A line with a mark at each value.
    Marked,
    /// A line with a shaded band of intervals.
    Band,
    /// Marks that nothing connects.
    Marks,
    /// Shaded bars from 0: the two upper corners of each.
    Bars,
}

/// A value with the ends of its interval, if it has one.
pub type Value = (f64, f64, Option<[f64; 2]>);

/// The points of one run or one kind of value.
pub struct Series {
    /// Its name in the legend, which leaves series without a name out.
    pub name: String,
    pub style: Style,
    pub values: Vec<Value>,
}

/// Axes with what they show.
pub struct Panel {
    /// What is shown, above the axes.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// Writes panels side by side as an SVG file, whole or not at all.
pub fn save(path: &Path, panels: &[Panel]) -> Result<(), Error> {
    let width = if panels.len() > 1 { NARROW } else { COLUMN };
    let rows = panels.iter().map(|panel| panel.legend(width).len()).max().unwrap_or(0);
    let below = TICK + 6.0 + LABEL + 5.0 + ROW * rows as f64 + MARGIN;
    let height = TOP + HEIGHT + below;
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    let mut drawing = Drawing::new(width * panels.len() as f64, height, &titles.join("; "));
    for (at, panel) in panels.iter().enumerate() {
        panel.draw(&mut drawing, at as f64 * width, width);
    }
    let document = drawing.document();
    Ok(write_atomically(path, |file| file.write_all(document.as_bytes()))?)
}

impl Panel {
    fn draw(&self, drawing: &mut Drawing, left: f64, width: f64) {
        let top = TOP;
        let bottom = top + HEIGHT;
        let values = || self.series.iter().flat_map(|series| &series.values);
        let heights =
            values().flat_map(|&(_, y, ends)| [y].into_iter().chain(ends.into_iter().flatten()));
        let y = self.y.over(heights, 0.05, (bottom, -HEIGHT));
        let y_ticks = y.ticks(5);
        let widest = y_ticks.iter().map(|(_, label)| width_of(label, TICK)).fold(0.0, f64::max);
        let start = left + MARGIN + LABEL + 4.0 + widest + 5.0;
        let end = left + width - MARGIN - 5.0;
        let any = |style| self.series.iter().any(|series| series.style == style);
        let padding = match (any(Style::Bars), any(Style::Marks)) {
            (true, _) => 0.0,
            (false, true) => 0.08,
            (false, false) => 0.03,
        };
        let x = self.x.over(values().map(|value| value.0), padding, (start, end - start));

        for (value, label) in &y_ticks {
            let at = y.place(*value);
            drawing.line(&[(start, at), (end, at)], LIGHT, 0.5, false);
            drawing.text((start - 4.0, at + 0.36 * TICK), label, TICK, END);
        }
        for (value, label) in x_ticks(&x, end - start) {
            let at = x.place(value);
            drawing.line(&[(at, bottom), (at, bottom + 2.5)], BLACK, 0.6, false);
            drawing.text((at, bottom + 4.0 + TICK), &label, TICK, MIDDLE);
        }
        for draw in [Series::areas, Series::lines] {
            for (series, color) in self.series.iter().zip(COLORS.iter().cycle()) {
                draw(series, drawing, (&x, &y), color);
            }
        }
        drawing.line(&[(start, top), (start, bottom), (end, bottom)], BLACK, 0.7, false);

        // bold letters are a tenth wider
        let title = fitted(&self.title, 1.1 * LABEL, left + width - MARGIN - start);
        drawing.text((start, MARGIN + LABEL), &title, LABEL, BOLD);

        // labels are centred next to the axis where they fit
        let across = fitted(&self.x.label, LABEL, width - 2.0 * MARGIN);
        let half = width_of(&across, LABEL) / 2.0;
        let middle =
            ((start + end) / 2.0).min(left + width - MARGIN - half).max(left + MARGIN + half);
        let below = bottom + TICK + 6.0 + LABEL;
        drawing.text((middle, below), &across, LABEL, MIDDLE);
        let upward = fitted(&self.y.label, LABEL, HEIGHT + TICK + 20.0);
        let middle = (top + HEIGHT / 2.0).max(MARGIN + width_of(&upward, LABEL) / 2.0);
        let at = left + MARGIN + LABEL - 1.0;
        let turned = format!("{MIDDLE} transform=\"rotate(-90 {at:.2} {middle:.2})\"");
        drawing.text((at, middle), &upward, LABEL, &turned);
        for (row, entries) in self.legend(width).iter().enumerate() {
            let base = below + 5.0 + ROW * (row + 1) as f64 - 2.0;
            for (at, offset, name) in entries {
                let from = left + MARGIN + offset;
                let color = COLORS[at % COLORS.len()];
                self.series[*at].sample(drawing, (from, base - 0.36 * LABEL), color);
                drawing.text((from + SAMPLE - 2.0, base), name, LABEL, "");
            }
        }
    }

    /// Returns the rows of the legend: series, place from the left, and name.
    fn legend(&self, width: f64) -> Vec<Vec<(usize, f64, String)>> {
        let room = width - 2.0 * MARGIN;
        let mut rows: Vec<Vec<(usize, f64, String)>> = Vec::new();
        let mut used = 0.0;
        for (at, series) in
            self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty())
        {
            let name = fitted(&series.name, LABEL, room - SAMPLE);
            let wide = SAMPLE + width_of(&name, LABEL);
            match rows.last_mut() {
                Some(row) if used + wide <= room => row.push((at, used, name)),
                _ => {
                    used = 0.0;
                    rows.push(vec![(at, 0.0, name)]);
                }
            }
            used += wide + 8.0;
        }
        rows
    }
}

/// Returns as many ticks as their labels leave room for.
fn x_ticks(x: &Ruler, length: f64) -> Vec<(f64, String)> {
    let fits = |ticks: &Vec<(f64, String)>| {
        ticks.iter().map(|(_, label)| width_of(label, TICK) + 6.0).sum::<f64>() <= length
    };
    let all = (2..=6).rev().map(|count| x.ticks(count));
    let mut ticks = all.into_iter().find(fits).unwrap_or_else(|| x.ticks(2));
    while !fits(&ticks) && ticks.len() > 1 {
        ticks = ticks.into_iter().step_by(2).collect();
    }
    ticks
}

impl Series {
    /// Draws the shades of bands and bars.
    fn areas(&self, drawing: &mut Drawing, (x, y): (&Ruler, &Ruler), color: &str) {
        let side = |side: usize| {
            let ends = move |&(at, high, ends): &Value| match self.style {
                Style::Band => Some((at, ends?[side])),
                // down to 0
                Style::Bars => Some((at, [0.0, high][side])),
                Style::Line | Style::Dashed | Style::Marked | Style::Marks => None,
            };
            self.values.iter().filter_map(ends).map(|(at, end)| (x.place(at), y.place(end)))
        };
        let corners: Vec<Point> = side(0).chain(side(1).rev()).collect();
        if !corners.is_empty() {
            drawing.area(&corners, color, 0.18);
        }
    }

    fn lines(&self, drawing: &mut Drawing, (x, y): (&Ruler, &Ruler), color: &str) {
        for &(at, _, ends) in self.values.iter().filter(|_| self.style != Style::Band) {
            let Some(ends) = ends.map(|ends| ends.map(|end| y.place(end))) else { continue };
            let at = x.place(at);
            drawing.line(&[(at, ends[0]), (at, ends[1])], color, 0.8, false);
            for end in ends {
                drawing.line(&[(at - 1.8, end), (at + 1.8, end)], color, 0.8, false);
            }
        }
        let points: Vec<Point> =
            self.values.iter().map(|value| (x.place(value.0), y.place(value.1))).collect();
        let marked = self.style == Style::Marked || points.len() == 1;
        let radius = if self.style == Style::Marks { 2.2 } else { 1.7 };
        let marks = points.iter().filter(|_| marked || self.style == Style::Marks);
        marks.for_each(|&at| drawing.disc(at, radius, color));
        if self.style != Style::Marks && points.len() > 1 {
            drawing.line(&points, color, 1.3, self.style == Style::Dashed);
        }
    }

    /// Draws the sample before a name in the legend.
    fn sample(&self, drawing: &mut Drawing, (x, y): Point, color: &str) {
        let wide = SAMPLE - 5.0;
        if self.style != Style::Marks {
            drawing.line(&[(x, y), (x + wide, y)], color, 1.3, self.style == Style::Dashed);
        }
        if let Style::Marks | Style::Marked = self.style {
            drawing.disc((x + wide / 2.0, y), 1.7, color);
        }
    }
}

/// A position in points, from the top left.
pub type Point = (f64, f64);

pub const BLACK: &str = "#000000";
pub const LIGHT: &str = "#e2e2e2";

/// Colours of series. They differ in lightness too, so colour-blind readers can distinguish them (Okabe
/// and Ito 2008).
pub const COLORS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#3c3c3c"];

/// The anchor of a text at its position: the middle, or the end; without either, the start.
pub const MIDDLE: &str = " text-anchor=\"middle\"";
pub const END: &str = " text-anchor=\"end\"";

/// The letters of titles.
const BOLD: &str = " font-weight=\"bold\"";

/// A figure on white ground; later parts cover earlier ones.
pub struct Drawing(String);

impl Drawing {
    /// Creates an empty figure; screen readers say its title.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let title = xml(title);
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        ))
    }

    /// Returns the whole document.
    pub fn document(self) -> String {
        self.0 + "</svg>\n"
    }

    pub fn line(&mut self, points: &[Point], color: &str, width: f64, dashed: bool) {
        let dashes = if dashed { " stroke-dasharray=\"3 2\"" } else { "" };
        self.0 += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dashes}/>\n",
            list(points)
        );
    }

    /// Draws a closed polygon.
    pub fn area(&mut self, points: &[Point], color: &str, opacity: f64) {
        let points = list(points);
        self.0 += &format!(
            "<polygon points=\"{points}\" fill=\"{color}\" fill-opacity=\"{opacity}\"/>\n"
        );
    }

    pub fn disc(&mut self, (x, y): Point, radius: f64, color: &str) {
        self.0 +=
            &format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" fill=\"{color}\"/>\n");
    }

    /// Writes a line of text of a size in points, at a point of its baseline, with further attributes.
    pub fn text(&mut self, (x, y): Point, text: &str, size: f64, more: &str) {
        let text = xml(text);
        self.0 +=
            &format!("<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\"{more}>{text}</text>\n");
    }
}

fn list(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

/// Widths of the printable characters of ASCII in DejaVu Sans, in thousandths of the size of the type.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// About the width of any other character.
const OTHER: u16 = 650;

/// Returns the width of a text, in points.
fn width_of(text: &str, size: f64) -> f64 {
    let one = |character: char| {
        let place = (character as usize).checked_sub(usize::from(b' '));
        f64::from(place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(OTHER))
    };
    text.chars().map(one).sum::<f64>() * size / 1000.0
}

/// Returns the text cut to a width in points, with an ellipsis if it does not fit.
fn fitted(text: &str, size: f64, most: f64) -> String {
    let cuts = text.char_indices().rev().map(|(end, _)| text[..end].to_owned() + "…");
    let all = [text.to_owned()].into_iter().chain(cuts);
    all.into_iter().find(|text| width_of(text, size) <= most).unwrap_or_default()
}
