//! Drawings as SVG documents.

/// A position in points, from the top left.
pub type Point = (f64, f64);

pub const BLACK: &str = "#000000";
pub const LIGHT: &str = "#e2e2e2";

/// Colours of series. They differ in lightness too, so colour-blind readers can distinguish them (Okabe
/// and Ito 2008).
pub const COLORS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#3c3c3c"];

/// What a text has at its position: the middle, or the end; without either, the start.
pub const MIDDLE: &str = " text-anchor=\"middle\"";
pub const END: &str = " text-anchor=\"end\"";

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

    pub fn line(&mut self, points: &[Point], color: &str, width: f64, dashed: bool) {
        let dashes = if dashed { " stroke-dasharray=\"3 2\"" } else { "" };
        self.0 += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dashes}/>\n",
            list(points)
        );
    }

    /// A closed polygon.
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

    /// A line of text of a size in points, at a point of its baseline, with further attributes.
    pub fn text(&mut self, (x, y): Point, text: &str, size: f64, more: &str) {
        let text = escape(text);
        self.0 +=
            &format!("<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\"{more}>{text}</text>\n");
    }
}

fn list(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

/// Text as XML holds it; control characters become blanks.
fn escape(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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

/// Width of a text, in points.
pub fn width(text: &str, size: f64) -> f64 {
    let one = |character: char| {
        let place = (character as usize).checked_sub(usize::from(b' '));
        f64::from(place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(OTHER))
    };
    text.chars().map(one).sum::<f64>() * size / 1000.0
}

/// The text cut to a width in points, with an ellipsis if it does not fit.
pub fn fitted(text: &str, size: f64, most: f64) -> String {
    let cuts = text.char_indices().rev().map(|(end, _)| text[..end].to_owned() + "…");
    let all = [text.to_owned()].into_iter().chain(cuts);
    all.into_iter().find(|text| width(text, size) <= most).unwrap_or_default()
}
