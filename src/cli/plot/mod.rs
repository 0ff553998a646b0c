//! Figures for papers, as SVG files in points of 1/72 inch, laid out for the column of a paper (3.5 inches) or, with
//! several panels, its page.

mod axis;
mod figures;
mod panel;
mod svg;

pub use figures::{coverage, embedding, hits, learning, ranks, reliability, sketch_sizes, sweep};
