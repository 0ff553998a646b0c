//! Figures for papers, as SVG, PNG and PDF files, without fonts or libraries of the system.
//!
//! A figure is a [`Drawing`](drawing::Drawing) in points of 1/72 inch, laid out for the column of a
//! paper (3.5 inches) or, with several panels, its page. Each file format is a writer of drawings.

mod axis;
mod charts;
mod drawing;
mod font;
mod learning;
mod panel;
mod pdf;
mod png;
mod queries;
mod svg;
mod sweep;

use std::path::Path;

use clap::ValueEnum;
use dsokr::basis::store::write_atomically;
use dsokr::{Error, Metric};

use drawing::Drawing;

pub use charts::{embedding, sketch_sizes};
pub use learning::learning;
pub use queries::{coverage, hits, ranks, reliability};
pub use sweep::sweep;

/// A file format of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Scalable Vector Graphics, with text as text.
    Svg,
    /// Portable Network Graphics, 300 dots an inch.
    Png,
    /// Portable Document Format, with text as outlines, so that no font is needed.
    Pdf,
}

impl Format {
    /// All formats with their file extensions.
    const ALL: [(Self, &'static str); 3] =
        [(Self::Svg, "svg"), (Self::Png, "png"), (Self::Pdf, "pdf")];

    /// The format that the extension of a file names.
    ///
    /// # Errors
    /// A file with a different extension; `key` names the option.
    pub fn of_file(key: &str, file: &Path) -> Result<Self, Error> {
        let extension = file.extension().and_then(|extension| extension.to_str());
        let format = Self::ALL.iter().find(|(_, own)| Some(*own) == extension);
        format.map(|(format, _)| *format).ok_or_else(|| {
            let allowed = "a file that ends in .svg, .png or .pdf";
            Error::value(key, file.display(), allowed)
        })
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
}

/// The files that figures go to: a folder, with one file of each format for each figure.
#[derive(Clone, Copy)]
pub struct Figures<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The formats.
    pub formats: &'a [Format],
}

impl Figures<'_> {
    fn save(&self, name: &str, figure: &Drawing) -> Result<(), Error> {
        for format in self.formats {
            let file = self.folder.join(format!("{name}.{}", format.extension()));
            save(&file, *format, figure)?;
        }
        Ok(())
    }
}

/// How axes name the metric of this name.
fn title(metric: &str) -> &str {
    Metric::find(metric).map_or(metric, |known| known.title())
}

/// Writes a figure, whole or not at all.
fn save(path: &Path, format: Format, figure: &Drawing) -> Result<(), Error> {
    let bytes = match format {
        Format::Svg => Ok(svg::write(figure).into_bytes()),
        Format::Png => png::write(figure),
        Format::Pdf => pdf::write(figure),
    };
    let bytes = bytes.map_err(|message| Error::Io { path: path.into(), message })?;
    Ok(write_atomically(path, |file| file.write_all(&bytes))?)
}
