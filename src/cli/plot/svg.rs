//! Drawings as SVG documents.

use std::fmt::Write;

/// A position in points, from the top left.
pub type Point = (f64, f64);

/// Red, green and blue, as SVG writes them.
pub type Color = &'static str;

pub const BLACK: Color = "#000000";
pub const LIGHT: Color = "#e2e2e2";

/// Colours of series. They differ in lightness too, so colour-blind readers can distinguish them (Okabe
/// and Ito 2008).
pub const COLORS: [Color; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#3c3c3c"];

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Stroke {
    pub color: Color,
    /// In points.
    pub width: f64,
    pub dashed: bool,
}

impl Stroke {
    pub fn new(color: Color, width: f64) -> Self {
        Self { color, width, dashed: false }
    }
}

/// The part of a text that lies at its position, as SVG names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A figure on white ground; later parts cover earlier ones.
pub struct Drawing(String);

impl Drawing {
    pub fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
             viewBox=\"0 0 {width} {height}\" \
             font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        ))
    }

    /// The whole document.
    pub fn document(self) -> String {
        self.0 + "</svg>\n"
    }

    pub fn line(&mut self, points: &[Point], Stroke { color, width, dashed }: Stroke) {
        let dashes = if dashed { " stroke-dasharray=\"3 2\"" } else { "" };
        // writing to a string cannot fail
        let _ = writeln!(
            self.0,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dashes}/>",
            list(points)
        );
    }

    /// A closed polygon.
    pub fn area(&mut self, points: &[Point], color: Color, opacity: f64) {
        let points = list(points);
        let opacity = match opacity < 1.0 {
            true => format!(" fill-opacity=\"{opacity}\""),
            false => String::new(),
        };
        let _ = writeln!(self.0, "<polygon points=\"{points}\" fill=\"{color}\"{opacity}/>");
    }

    /// A line of text of a size in points, at a point of its baseline.
    pub fn text(&mut self, at: Point, text: &str, size: f64, anchor: Anchor) {
        self.turned(at, text, size, anchor, "");
    }

    /// A text that is read from bottom to top.
    pub fn upward_text(&mut self, (x, y): Point, text: &str, size: f64) {
        let turned = format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"");
        self.turned((x, y), text, size, Anchor::Middle, &turned);
    }

    fn turned(&mut self, (x, y): Point, text: &str, size: f64, anchor: Anchor, turned: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escape(text);
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\"{anchor}{turned}>{text}</text>"
        );
    }

    /// A disc, as a polygon.
    pub fn disc(&mut self, (x, y): Point, radius: f64, color: Color) {
        let corner = |step: u32| {
            let (sin, cos) = (f64::from(step) * std::f64::consts::TAU / 16.0).sin_cos();
            (x + radius * cos, y + radius * sin)
        };
        self.area(&(0..16).map(corner).collect::<Vec<_>>(), color, 1.0);
    }
}

fn list(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

/// Text as XML holds it; control characters become blanks.
fn escape(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
