//! Drawings as PNG images.

use zeno::{Cap, Command, Join, Mask, Stroke, Style, Vector};

use super::drawing::{BLACK, Color, DASH, Drawing, Point, Shape};
use super::font::{Segment, outlines};

/// Dots an inch, and for each point.
const DOTS: f64 = 300.0;
const SCALE: f64 = DOTS / 72.0;

/// The image.
///
/// # Errors
/// A font that cannot be read.
pub fn write(drawing: &Drawing) -> Result<Vec<u8>, String> {
    let [width, height] = [drawing.width, drawing.height].map(|side| (side * SCALE).ceil() as u32);
    let pixels = vec![255; 3 * width as usize * height as usize];
    let mut image = Image { width, height, pixels };
    for shape in &drawing.shapes {
        match shape {
            Shape::Line { points, stroke } => {
                let dashes = DASH.map(|part| part * SCALE as f32);
                let mut style = Stroke::new((stroke.width * SCALE) as f32);
                style.join(Join::Round).cap(Cap::Butt);
                if stroke.dashed {
                    style.dash(&dashes, 0.0);
                }
                image.draw(&path(points), style.into(), stroke.color, 1.0);
            }
            Shape::Area { points, color, opacity } => {
                let mut commands = path(points);
                commands.push(Command::Close);
                image.draw(&commands, Style::default(), *color, *opacity);
            }
            Shape::Text(text) => {
                let commands: Vec<Command> = outlines(text)?.into_iter().map(command).collect();
                image.draw(&commands, Style::default(), BLACK, 1.0);
            }
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(::png::ColorType::Rgb);
    let a_metre = (DOTS / 0.0254).round() as u32;
    let unit = ::png::Unit::Meter;
    encoder.set_pixel_dims(Some(::png::PixelDimensions { xppu: a_metre, yppu: a_metre, unit }));
    let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
    writer.write_image_data(&image.pixels).map_err(|error| error.to_string())?;
    writer.finish().map_err(|error| error.to_string())?;
    Ok(bytes)
}

struct Image {
    width: u32,
    height: u32,
    /// Red, green and blue of each pixel, row by row.
    pixels: Vec<u8>,
}

impl Image {
    /// Blends a colour into the pixels that a path covers.
    fn draw(&mut self, path: &[Command], style: Style, color: Color, opacity: f64) {
        let (mask, placement) = Mask::new(path).style(style).render();
        let Color(red, green, blue) = color;
        let rows = mask.chunks_exact(placement.width.max(1) as usize);
        for (y, row) in (placement.top..).zip(rows) {
            for (x, &cover) in (placement.left..).zip(row) {
                let inside = |place: i32, end: u32| u32::try_from(place).is_ok_and(|at| at < end);
                if cover == 0 || !inside(x, self.width) || !inside(y, self.height) {
                    continue;
                }
                let at = 3 * (y as usize * self.width as usize + x as usize);
                let part = f64::from(cover) / 255.0 * opacity;
                for (below, above) in self.pixels[at..at + 3].iter_mut().zip([red, green, blue]) {
                    let mixed = (1.0 - part) * f64::from(*below) + part * f64::from(above);
                    *below = mixed.round() as u8;
                }
            }
        }
    }
}

fn at((x, y): Point) -> Vector {
    Vector::new((x * SCALE) as f32, (y * SCALE) as f32)
}

fn path(points: &[Point]) -> Vec<Command> {
    let step = |(place, &point): (usize, &Point)| match place {
        0 => Command::MoveTo(at(point)),
        _ => Command::LineTo(at(point)),
    };
    points.iter().enumerate().map(step).collect()
}

fn command(segment: Segment) -> Command {
    match segment {
        Segment::Move(end) => Command::MoveTo(at(end)),
        Segment::Line(end) => Command::LineTo(at(end)),
        Segment::Quadratic(control, end) => Command::QuadTo(at(control), at(end)),
        Segment::Cubic(first, second, end) => Command::CurveTo(at(first), at(second), at(end)),
        Segment::Close => Command::Close,
    }
}
