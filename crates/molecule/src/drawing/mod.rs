//! Drawings of molecules and graphs, one or several in an SVG document.

mod graph;
mod label;
mod layout;
mod mol_block;
mod molecule;
mod wedges;

use std::fmt::Write;

use dsokr_core::message::xml;

/// A place in pixels, to the right and down.
type Point = [f64; 2];

/// How far the middle of capitals lies above the baseline, in parts of the size of the letters. Not every
/// reader of SVG knows `dominant-baseline`.
const MIDDLE: f64 = 0.36;

/// The smallest side of a drawing without its padding.
const LEAST: f64 = 40.0;

/// Space around a label at the edge of a drawing, where letters may be wider than they are taken to be.
const MARGIN: f64 = 4.0;

/// Space below a drawing for its caption.
const CAPTION: f64 = 28.0;

/// Space between drawings side by side.
const BETWEEN: f64 = 20.0;

/// Width of a letter of the caption.
const LETTER: f64 = 10.0;

/// Returns two drawings, SVG documents, side by side, each with a caption below it (such as truth and
/// prediction), as one document.
///
/// ```
/// use dsokr_molecule::{Molecule, svg_pair};
///
/// let truth = Molecule::parse("CCO")?.svg();
/// let predicted = Molecule::parse("CCN")?.svg();
/// let svg = svg_pair((&truth, "truth"), (&predicted, "GED < 2"));
/// assert!(svg.contains("GED &lt; 2"));
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
pub fn svg_pair(left: (&str, &str), right: (&str, &str)) -> String {
    let height = length(left.0, "height").max(length(right.0, "height"));
    let mut content = String::new();
    let mut x = 0.0;
    for (drawing, caption) in [left, right] {
        let width = length(drawing, "width");
        let drawing_height = length(drawing, "height");
        // as wide as the drawing and its caption need
        let cell = width.max(LETTER * (caption.chars().count() as f64 + 2.0)) + BETWEEN;
        let left = x + (cell - width) / 2.0;
        let top = (height - drawing_height) / 2.0;
        let place = format!("<svg x=\"{left}\" y=\"{top}\"");
        content += &drawing.trim_end().replacen("<svg", &place, 1);
        let middle = x + cell / 2.0;
        let base = height + CAPTION * 0.6;
        content += &format!(
            "\n<text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\" font-family=\"sans-serif\" \
             font-size=\"14\">{}</text>\n",
            xml(caption)
        );
        x += cell;
    }
    document(x, height + CAPTION) + &content + "</svg>\n"
}

/// Characters of a line of text, and the height of a line.
const LINE: usize = 90;
const LINE_HEIGHT: f64 = 18.0;

/// Returns a text as an SVG document, such as a heading above drawings; long texts take several lines.
///
/// ```
/// let svg = dsokr_molecule::svg_text("an alcohol with < 3 carbons");
/// assert!(svg.contains("&lt; 3 carbons"));
/// ```
pub fn svg_text(text: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    let letters = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64;
    let width = LETTER * (letters + 2.0);
    let height = LINE_HEIGHT * (lines.len() as f64 + 1.0);
    let mut svg = document(width, height);
    for (at, line) in (1..).map(f64::from).zip(&lines) {
        svg.push_str(&format!(
            "<text x=\"{LETTER}\" y=\"{}\" font-family=\"sans-serif\" font-size=\"14\">{}</text>\n",
            at * LINE_HEIGHT,
            xml(line)
        ));
    }
    svg + "</svg>\n"
}

/// SVG documents one below the other, as one document.
pub fn svg_column(documents: &[String]) -> String {
    let width = documents.iter().map(|svg| length(svg, "width")).fold(0.0, f64::max);
    let height: f64 = documents.iter().map(|svg| length(svg, "height")).sum();
    let mut svg = document(width, height);
    svg.push_str("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    let mut y = 0.0;
    for document in documents {
        svg.push_str(&document.replacen("<svg", &format!("<svg y=\"{y}\""), 1));
        y += length(document, "height");
    }
    svg + "</svg>\n"
}

/// Returns the opening tag of an SVG document of a size.
fn document(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n"
    )
}

/// Returns points at equal distances on a circle, neighbours about a `step` apart.
fn circle(count: usize, step: f64) -> impl Fn(usize) -> Point {
    let angle = std::f64::consts::TAU / count.max(1) as f64;
    move |place| {
        let (sin, cos) = (place as f64 * angle).sin_cos();
        [step * cos / angle, step * sin / angle]
    }
}

/// Returns the least and the largest coordinate of some points on an axis; of no point +∞ and -∞.
fn span(points: &[Point], axis: usize) -> (f64, f64) {
    let axis = points.iter().map(|point| point[axis]);
    axis.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

/// Returns an SVG document around some points, at least one, without its end: the opening tag, and white ground
/// with `padding` on every side of the points, and a margin on every side of the corners of `labels`.
fn opened(points: &[Point], padding: f64, labels: &[Point]) -> String {
    let bounds = |axis: usize| {
        let (low, high) = span(points, axis);
        let side = (high - low).max(LEAST) + 2.0 * padding;
        let start = (low + high - side) / 2.0;
        let (low, high) = span(labels, axis);
        let before = (start - low + MARGIN).max(0.0);
        let behind = (high + MARGIN - start - side).max(0.0);
        (start - before, side + before + behind)
    };
    let (x, width) = bounds(0);
    let (y, height) = bounds(1);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"{x:.2} {y:.2} {width:.2} {height:.2}\">\n  <rect x=\"{x:.2}\" y=\"{y:.2}\" \
         width=\"{width:.2}\" height=\"{height:.2}\" fill=\"white\"/>\n"
    )
}

/// A white rectangle around a point, for a label.
fn blank(svg: &mut String, [x, y]: Point, [half_width, half_height]: [f64; 2]) {
    let left = x - half_width;
    let top = y - half_height;
    let width = 2.0 * half_width;
    let height = 2.0 * half_height;
    // writing to a string cannot fail
    let _ = writeln!(
        svg,
        "  <rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"white\"/>"
    );
}

/// A black line between two points, with further `attributes`.
fn line(svg: &mut String, [[x1, y1], [x2, y2]]: [Point; 2], width: f64, attributes: &str) {
    let _ = writeln!(
        svg,
        "  <line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"black\" \
         stroke-width=\"{width}\"{attributes}/>"
    );
}

/// A text whose baseline has its middle at a point, with further `attributes`.
fn text(svg: &mut String, [x, y]: Point, size: f64, attributes: &str, text: &str) {
    let _ = writeln!(
        svg,
        "  <text x=\"{x:.2}\" y=\"{y:.2}\" font-family=\"sans-serif\" font-size=\"{size}\" \
         text-anchor=\"middle\"{attributes}>{}</text>",
        xml(text)
    );
}

/// Returns a length attribute of the outermost element, in pixels.
fn length(svg: &str, attribute: &str) -> f64 {
    let element = svg.split('>').next().unwrap_or_default();
    let value = element.split(&format!(" {attribute}=\"")).nth(1);
    let value = value.and_then(|rest| rest.split('"').next()).map(|t| t.trim_end_matches("px"));
    value.and_then(|text| text.parse().ok()).unwrap_or(300.0)
}
