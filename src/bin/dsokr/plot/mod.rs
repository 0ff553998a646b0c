//! Plots as SVG files, without fonts or libraries of the system.

mod charts;
mod ranks;
mod sweep;

use std::ops::Range;
use std::path::Path;

use dsokr::Error;
use dsokr::basis::store::write_atomically;
use plotters::coord::Shift;
use plotters::prelude::*;

pub use charts::{embedding, sketch_sizes};
pub use ranks::{hits, ranks};
pub use sweep::sweep;

const SIZE: (u32, u32) = (720, 480);

const COLORS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Draws a plot of a size and writes it, whole or not at all.
fn save(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Area) -> Result<(), String>,
) -> Result<(), Error> {
    let mut svg = String::new();
    let drawn = || {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(said)?;
        draw(&area)?;
        area.present().map_err(said)
    };
    drawn().map_err(|message| Error::Io { path: path.into(), message })?;
    Ok(write_atomically(path, |file| file.write_all(svg.as_bytes()))?)
}

/// From the smallest to the largest; none where there is nothing.
fn range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    values.fold(None, |range: Option<Range<f64>>, v| {
        Some(range.map_or(v..v, |r| r.start.min(v)..r.end.max(v)))
    })
}
