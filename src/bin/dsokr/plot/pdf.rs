//! Drawings as PDF documents of one page.

use std::collections::BTreeMap;

use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref};

use super::drawing::{BLACK, Color, DASH, Drawing, Point, Shape};
use super::font::{Segment, outlines};

/// The document. Texts are outlines, which look the same everywhere and satisfy publishers that ask for
/// embedded fonts.
///
/// # Errors
/// A font that cannot be read.
pub fn write(drawing: &Drawing) -> Result<Vec<u8>, String> {
    let mut page = Page { height: drawing.height as f32, content: Content::new() };
    page.content.set_line_join(LineJoinStyle::RoundJoin);
    let mut states = BTreeMap::new();
    for shape in &drawing.shapes {
        match shape {
            Shape::Line { points, stroke } => {
                page.content.set_line_width(stroke.width as f32);
                let Color(red, green, blue) = stroke.color;
                let [red, green, blue] = unit([red, green, blue]);
                page.content.set_stroke_rgb(red, green, blue);
                let dashes: &[f32] = if stroke.dashed { &DASH } else { &[] };
                page.content.set_dash_pattern(dashes.iter().copied(), 0.0);
                page.path(points);
                page.content.stroke();
            }
            Shape::Area { points, color, opacity } => {
                let percent = (100.0 * opacity).round().clamp(0.0, 100.0) as u8;
                if percent < 100 {
                    let name = format!("Opacity{percent}");
                    page.content.save_state();
                    page.content.set_parameters(Name(name.as_bytes()));
                    states.insert(name, f32::from(percent) / 100.0);
                }
                page.fill_color(*color);
                page.path(points);
                page.content.close_path();
                page.content.fill_nonzero();
                if percent < 100 {
                    page.content.restore_state();
                }
            }
            Shape::Text(text) => {
                page.fill_color(BLACK);
                page.segments(&outlines(text)?);
                page.content.fill_nonzero();
            }
        }
    }
    let [catalog, tree, leaf, stream] = [1, 2, 3, 4].map(Ref::new);
    let states: Vec<(Ref, String, f32)> =
        (5..).zip(states).map(|(at, (name, alpha))| (Ref::new(at), name, alpha)).collect();
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids([leaf]).count(1);
    let mut sheet = pdf.page(leaf);
    let (width, height) = (drawing.width as f32, drawing.height as f32);
    sheet.media_box(Rect::new(0.0, 0.0, width, height)).parent(tree).contents(stream);
    let mut resources = sheet.resources();
    let mut named = resources.ext_g_states();
    for (state, name, _) in &states {
        named.pair(Name(name.as_bytes()), *state);
    }
    named.finish();
    resources.finish();
    sheet.finish();
    for (state, _, alpha) in &states {
        pdf.ext_graphics(*state).non_stroking_alpha(*alpha);
    }
    pdf.stream(stream, page.content.finish().as_slice());
    Ok(pdf.finish())
}

struct Page {
    height: f32,
    content: Content,
}

impl Page {
    /// PDF measures heights from the bottom.
    fn at(&self, (x, y): Point) -> (f32, f32) {
        (x as f32, self.height - y as f32)
    }

    fn fill_color(&mut self, Color(red, green, blue): Color) {
        let [red, green, blue] = unit([red, green, blue]);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn path(&mut self, points: &[Point]) {
        for (place, &point) in points.iter().enumerate() {
            let (x, y) = self.at(point);
            match place {
                0 => self.content.move_to(x, y),
                _ => self.content.line_to(x, y),
            };
        }
    }

    fn segments(&mut self, segments: &[Segment]) {
        let mut last = (0.0, 0.0);
        for &segment in segments {
            match segment {
                Segment::Move(end) => {
                    let (x, y) = self.at(end);
                    self.content.move_to(x, y);
                    last = end;
                }
                Segment::Line(end) => {
                    let (x, y) = self.at(end);
                    self.content.line_to(x, y);
                    last = end;
                }
                Segment::Quadratic(control, end) => {
                    // PDF has cubic curves alone; this is the same curve
                    let toward = |from: Point| {
                        let part = |from: f64, to: f64| from + (to - from) * 2.0 / 3.0;
                        (part(from.0, control.0), part(from.1, control.1))
                    };
                    self.cubic(toward(last), toward(end), end);
                    last = end;
                }
                Segment::Cubic(first, second, end) => {
                    self.cubic(first, second, end);
                    last = end;
                }
                Segment::Close => {
                    self.content.close_path();
                }
            }
        }
    }

    fn cubic(&mut self, first: Point, second: Point, end: Point) {
        let [(x1, y1), (x2, y2), (x3, y3)] = [first, second, end].map(|point| self.at(point));
        self.content.cubic_to(x1, y1, x2, y2, x3, y3);
    }
}

fn unit(color: [u8; 3]) -> [f32; 3] {
    color.map(|part| f32::from(part) / 255.0)
}
