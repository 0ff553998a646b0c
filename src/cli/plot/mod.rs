//! Figures for papers, as SVG files.
//!
//! A figure is a [`Drawing`] in points of 1/72 inch, laid out for the column of a
//! paper (3.5 inches) or, with several panels, its page.

mod axis;
mod charts;
mod font;
mod learning;
mod panel;
mod queries;
mod svg;
mod sweep;

use std::path::Path;

use crate::basis::store::write_atomically;
use crate::{Error, Metric};

use svg::Drawing;

pub use charts::{embedding, sketch_sizes};
pub use learning::learning;
pub use queries::{coverage, hits, ranks, reliability};
pub use sweep::sweep;

/// How axes name the metric of this name.
fn title(metric: &str) -> &str {
    Metric::find(metric).map_or(metric, |known| known.title())
}

/// Writes a figure, whole or not at all.
fn save(path: &Path, figure: Drawing) -> Result<(), Error> {
    Ok(write_atomically(path, |file| file.write_all(figure.document().as_bytes()))?)
}
