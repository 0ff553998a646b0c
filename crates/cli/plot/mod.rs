//! Plots as SVG files, without fonts or libraries of the system.

mod charts;
mod ranks;

use std::ops::Range;

use plotters::prelude::*;

pub use charts::{embedding, sketch_sizes};
pub use ranks::{hits, ranks};

const SIZE: (u32, u32) = (720, 480);

const COLORS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
];

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// From the smallest to the largest; none where there is nothing.
fn range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    values.fold(None, |range: Option<Range<f64>>, v| {
        Some(range.map_or(v..v, |r| r.start.min(v)..r.end.max(v)))
    })
}
