//! Drawings as SVG documents.

use std::fmt::Write;

use super::drawing::{Anchor, Color, DASH, Drawing, Point, Shape, Text};

/// The document.
pub fn write(drawing: &Drawing) -> String {
    let Drawing { width, height, shapes } = drawing;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
         viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for shape in shapes {
        // writing to a string cannot fail
        let _ = match shape {
            Shape::Line { points, stroke } => {
                let dashes = match stroke.dashed {
                    true => format!(" stroke-dasharray=\"{} {}\"", DASH[0], DASH[1]),
                    false => String::new(),
                };
                writeln!(
                    svg,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
                     stroke-linejoin=\"round\"{dashes}/>",
                    list(points),
                    hexadecimal(stroke.color),
                    stroke.width
                )
            }
            Shape::Area { points, color, opacity } => {
                let opacity = match *opacity < 1.0 {
                    true => format!(" fill-opacity=\"{opacity}\""),
                    false => String::new(),
                };
                let (points, color) = (list(points), hexadecimal(*color));
                writeln!(svg, "<polygon points=\"{points}\" fill=\"{color}\"{opacity}/>")
            }
            Shape::Text(Text { at: (x, y), text, size, anchor, upward }) => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                let turned = match upward {
                    true => format!(" transform=\"rotate(-90 {x:.2} {y:.2})\""),
                    false => String::new(),
                };
                let text = escape(text);
                writeln!(
                    svg,
                    "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\"{anchor}{turned}>{text}</text>"
                )
            }
        };
    }
    svg + "</svg>\n"
}

fn list(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
    points.join(" ")
}

fn hexadecimal(Color(red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text as XML holds it; control characters become blanks.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
