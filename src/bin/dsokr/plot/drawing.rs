//! What a figure consists of.

/// A position in points, from the top left.
pub type Point = (f64, f64);

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

pub const BLACK: Color = Color(0, 0, 0);
pub const LIGHT: Color = Color(226, 226, 226);

/// Colours of series. They differ in lightness too, so colour-blind readers can distinguish them (Okabe
/// and Ito 2008).
pub const COLORS: [Color; 7] = [
    Color(0, 114, 178),
    Color(213, 94, 0),
    Color(0, 158, 115),
    Color(204, 121, 167),
    Color(86, 180, 233),
    Color(230, 159, 0),
    Color(60, 60, 60),
];

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

/// Dash and gap of dashed lines, in points.
pub const DASH: [f32; 2] = [3.0, 2.0];

/// The part of a text that lies at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug)]
pub struct Text {
    /// A point of the baseline.
    pub at: Point,
    pub text: String,
    /// Size of the type, in points.
    pub size: f64,
    pub anchor: Anchor,
    /// Whether it is read from bottom to top.
    pub upward: bool,
}

/// A part of a drawing; later ones cover earlier ones.
#[derive(Clone, Debug)]
pub enum Shape {
    Line {
        points: Vec<Point>,
        stroke: Stroke,
    },
    /// A closed polygon.
    Area {
        points: Vec<Point>,
        color: Color,
        opacity: f64,
    },
    Text(Text),
}

/// A figure on white ground.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

impl Drawing {
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    pub fn line(&mut self, points: Vec<Point>, stroke: Stroke) {
        self.shapes.push(Shape::Line { points, stroke });
    }

    pub fn area(&mut self, points: Vec<Point>, color: Color, opacity: f64) {
        self.shapes.push(Shape::Area { points, color, opacity });
    }

    pub fn text(&mut self, at: Point, text: &str, size: f64, anchor: Anchor) {
        self.shapes.push(Shape::Text(Text { at, text: text.into(), size, anchor, upward: false }));
    }

    pub fn upward_text(&mut self, at: Point, text: &str, size: f64) {
        let anchor = Anchor::Middle;
        self.shapes.push(Shape::Text(Text { at, text: text.into(), size, anchor, upward: true }));
    }

    /// A disc, as a polygon.
    pub fn disc(&mut self, (x, y): Point, radius: f64, color: Color) {
        let corner = |step: u32| {
            let (sin, cos) = (f64::from(step) * std::f64::consts::TAU / 16.0).sin_cos();
            (x + radius * cos, y + radius * sin)
        };
        self.area((0..16).map(corner).collect(), color, 1.0);
    }
}
