//! Widths and outlines of texts, in a subset of DejaVu Sans (`font/LICENSE`).

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::drawing::{Anchor, Point, Text};

static FONT: &[u8] = include_bytes!("font/dejavu-sans-subset.ttf");

/// A piece of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segment {
    Move(Point),
    Line(Point),
    /// A quadratic Bézier curve: its control point and its end.
    Quadratic(Point, Point),
    /// A cubic one.
    Cubic(Point, Point, Point),
    Close,
}

fn face() -> Result<Face<'static>, String> {
    Face::parse(FONT, 0).map_err(|error| format!("the font of figures: {error}"))
}

/// The glyphs of a text with the widths that they take, in units of the font. Characters without a glyph
/// are drawn as a box.
fn glyphs(face: &Face, text: &str) -> Vec<(GlyphId, f64)> {
    let of = |character| {
        let glyph = face.glyph_index(character).unwrap_or_default();
        (glyph, f64::from(face.glyph_hor_advance(glyph).unwrap_or_default()))
    };
    text.chars().map(of).collect()
}

/// Width of a text, in points.
pub fn width(text: &str, size: f64) -> f64 {
    let Ok(face) = face() else { return 0.6 * size * text.chars().count() as f64 };
    let units: f64 = glyphs(&face, text).iter().map(|(_, advance)| advance).sum();
    units * size / f64::from(face.units_per_em())
}

/// The text cut to a width in points, with an ellipsis if it does not fit.
pub fn fitted(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.into();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let shorter = kept.iter().collect::<String>() + "…";
        if width(&shorter, size) <= most {
            return shorter;
        }
    }
    String::new()
}

/// The outlines of a text where it stands.
///
/// # Errors
/// A font that cannot be read.
pub fn outlines(text: &Text) -> Result<Vec<Segment>, String> {
    let face = face()?;
    let scale = text.size / f64::from(face.units_per_em());
    let all = glyphs(&face, &text.text);
    let total = scale * all.iter().map(|(_, advance)| advance).sum::<f64>();
    let mut pen = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -total / 2.0,
        Anchor::End => -total,
    };
    let mut outline = Outline { text, scale, pen, segments: Vec::new() };
    for (glyph, advance) in all {
        outline.pen = pen;
        // a blank has no outline
        let _ = face.outline_glyph(glyph, &mut outline);
        pen += scale * advance;
    }
    Ok(outline.segments)
}

/// Outlines on their way to where a text stands.
struct Outline<'a> {
    text: &'a Text,
    scale: f64,
    /// Where the glyph starts on the baseline.
    pen: f64,
    segments: Vec<Segment>,
}

impl Outline<'_> {
    fn at(&self, x: f32, y: f32) -> Point {
        let along = self.pen + self.scale * f64::from(x);
        let up = self.scale * f64::from(y);
        let (left, top) = self.text.at;
        if self.text.upward { (left - up, top - along) } else { (left + along, top - up) }
    }
}

impl OutlineBuilder for Outline<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.segments.push(Segment::Move(self.at(x, y)));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.segments.push(Segment::Line(self.at(x, y)));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.segments.push(Segment::Quadratic(self.at(x1, y1), self.at(x, y)));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.segments.push(Segment::Cubic(self.at(x1, y1), self.at(x2, y2), self.at(x, y)));
    }

    fn close(&mut self) {
        self.segments.push(Segment::Close);
    }
}
