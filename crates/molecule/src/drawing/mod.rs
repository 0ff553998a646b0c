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

/// Width and height of the place of a drawing beside another one. Larger drawings are made smaller.
const CELL: [f64; 2] = [370.0, 240.0];

/// Most characters in a line of a caption, and of a text above two drawings.
const CAPTION: usize = 35;
const LINE: usize = 72;

/// The place of a letter in a line, which leaves room where not many letters are wide, and the height of a line.
const LETTER: f64 = 10.0;
const LINE_HEIGHT: f64 = 18.0;

/// About the widths of a wide letter and of others.
const WIDE_LETTER: f64 = 13.0;
const NARROW_LETTER: f64 = 9.0;

/// Attributes of letters of captions and texts; figures of reports have the same fonts.
const FONT: &str =
    "font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" font-size=\"13\"";

/// Documents side by side on a sheet, and the space between them.
const COLUMNS: usize = 2;
const BETWEEN: f64 = 20.0;

/// Returns two drawings, SVG documents, side by side, each with a caption below it (such as truth and
/// prediction), as one document. Both have a place of the same size, whatever their own size is; long captions
/// take several lines.
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
    let [cell_width, cell_height] = CELL;
    let mut content = String::new();
    let mut most_lines = 0;
    for (cell_left, (drawing, caption)) in [0.0, cell_width].into_iter().zip([left, right]) {
        let width = length(drawing, "width");
        let height = length(drawing, "height");
        let scale = (cell_width / width).min(cell_height / height).min(1.0);
        let x = cell_left + (cell_width - scale * width) / 2.0;
        let y = (cell_height - scale * height) / 2.0;
        content += &format!(
            "<g transform=\"translate({x:.2} {y:.2}) scale({scale:.4})\">\n{}\n</g>\n",
            drawing.trim_end()
        );
        let middle = cell_left + cell_width / 2.0;
        let lines = wrapped(caption, CAPTION);
        for (at, line) in (1..).map(f64::from).zip(&lines) {
            let base = cell_height + at * LINE_HEIGHT;
            content += &format!(
                "<text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\" {FONT}>{}</text>\n",
                xml(line)
            );
        }
        most_lines = most_lines.max(lines.len());
    }
    let height = cell_height + LINE_HEIGHT * (most_lines as f64 + 1.0);
    document(2.0 * cell_width, height) + &content + "</svg>\n"
}

/// Returns a text as an SVG document, such as a heading above drawings; long texts take several lines.
///
/// ```
/// let svg = dsokr_molecule::svg_text("an alcohol with < 3 carbons");
/// assert!(svg.contains("&lt; 3 carbons"));
/// ```
pub fn svg_text(text: &str) -> String {
    let lines = wrapped(text, LINE);
    let widest = lines.iter().map(|line| line_width(line)).fold(0.0, f64::max);
    let width = widest + 2.0 * LETTER;
    let height = LINE_HEIGHT * (lines.len() as f64 + 1.0);
    let mut svg = document(width, height);
    for (at, line) in (1..).map(f64::from).zip(&lines) {
        svg.push_str(&format!(
            "<text x=\"{LETTER}\" y=\"{}\" {FONT}>{}</text>\n",
            at * LINE_HEIGHT,
            xml(line)
        ));
    }
    svg + "</svg>\n"
}

/// Returns about the width of a line, at the least the place of its letters.
fn line_width(line: &str) -> f64 {
    let widths = line.chars().map(|letter| match letter {
        // from U+2E80 on, letters of East Asia
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' | '…' | '\u{2e80}'..=char::MAX => WIDE_LETTER,
        _ => NARROW_LETTER,
    });
    let place = LETTER * line.chars().count() as f64;
    widths.sum::<f64>().max(place)
}

/// Returns the lines of a text, of at most `most` characters. Lines end between words, but a word that is longer than a
/// line, such as a SMILES, begins behind the word before it and goes on in the next line.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        let fits = used + 1 + letters <= most;
        let is_cut = letters > most && used + 1 < most;
        if used > 0 && (fits || is_cut) {
            line.push(' ');
            used += 1;
        } else if used > 0 {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for letter in word.chars() {
            if used == most {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(letter);
            used += 1;
        }
    }
    lines.push(line);
    lines
}

/// Returns SVG documents one below the other, as one document.
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

/// Returns SVG documents on one sheet, two in a row: columns are as wide as the widest document, and a row is as high as
/// the higher one of its documents. Screen readers say the title.
pub fn svg_sheet(title: &str, documents: &[String]) -> String {
    let widest = documents.iter().map(|svg| length(svg, "width")).fold(0.0, f64::max);
    let step = widest + BETWEEN;
    let mut content = String::new();
    let mut y = BETWEEN;
    for row in documents.chunks(COLUMNS) {
        let mut x = BETWEEN;
        for document in row {
            content += &document.replacen("<svg", &format!("<svg x=\"{x}\" y=\"{y}\""), 1);
            x += step;
        }
        y += row.iter().map(|svg| length(svg, "height")).fold(0.0, f64::max) + BETWEEN;
    }
    let width = BETWEEN + step * documents.len().min(COLUMNS) as f64;
    let opening = document(width, y).replacen("<svg", "<svg role=\"img\"", 1);
    let title = xml(title);
    let ground = "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>";
    format!("{opening}<title>{title}</title>\n{ground}\n{content}</svg>\n")
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

/// Draws a white rectangle around a point, for a label.
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

/// Draws a black line between two points, with further `attributes`.
fn line(svg: &mut String, [[x1, y1], [x2, y2]]: [Point; 2], width: f64, attributes: &str) {
    let _ = writeln!(
        svg,
        "  <line x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\" stroke=\"black\" \
         stroke-width=\"{width}\"{attributes}/>"
    );
}

/// Draws a text whose baseline has its middle at a point, with further `attributes`.
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
