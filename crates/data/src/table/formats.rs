//! The formats of tables: one list, which says the extensions of each, how its bytes become text, and how rows are in
//! it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use dsokr_core::message::shell_word;
use dsokr_spectra::SpectrumFormat;
use flate2::read::MultiGzDecoder;

use crate::error::{Error, extension_of, open};

/// How the rows of a table or a stream of texts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// One text a line.
    Lines,
    /// Fields separated by tabs; the first line has the names of the columns. Where it has quotation marks around all of
    /// them, as R writes them, fields are quoted as in RFC 4180. Else a field is quoted that stands between two marks and has
    /// doubled ones within, no others, as pandas writes it.
    Tabs,
    /// Fields separated by commas, or by semicolons, tabs or vertical bars where the first lines say so, quoted as in
    /// RFC 4180; the first record has the names of the columns. A line such as `sep=;` before it is not one.
    Commas,
    /// One JSON object a line.
    JsonLines,
    /// Molecules of an SD file, whose data are columns.
    Structures,
    /// Mass spectra, whose fields are columns.
    Spectra(SpectrumFormat),
}

/// Makes text of the bytes of a file.
type ToText = fn(File) -> io::Result<Box<dyn Read>>;

/// A format of files whose rows have columns with names.
#[derive(Debug)]
pub struct TableFormat {
    /// The extensions of its files, in lower case. The first is its name.
    pub extensions: &'static [&'static str],
    /// The way in which rows are written, once the bytes are text.
    pub rows: TextFormat,
    /// Makes text of the bytes of a file; none where they are text, which may be compressed.
    text: Option<ToText>,
}

/// All formats of tables, in the order in which messages list them.
///
/// An entry is all that a format needs whose rows are written as one of [`TextFormat`]: tables, queries, candidates,
/// `dsokr init` and the command's arguments find it here.
pub static TABLE_FORMATS: &[TableFormat] = &[
    text(&["csv"], TextFormat::Commas),
    text(&["tsv"], TextFormat::Tabs),
    text(&["jsonl", "ndjson"], TextFormat::JsonLines),
    #[cfg(feature = "parquet")]
    TableFormat {
        extensions: &["parquet"],
        rows: TextFormat::JsonLines,
        text: Some(|file| Ok(Box::new(crate::parquet::json_lines(file)?))),
    },
    text(&["sdf", "sd", "mol"], TextFormat::Structures),
    text(&["mgf"], TextFormat::Spectra(SpectrumFormat::Mgf)),
    text(&["msp"], TextFormat::Spectra(SpectrumFormat::Msp)),
    text(&["massbank"], TextFormat::Spectra(SpectrumFormat::MassBank)),
    text(&["mzml"], TextFormat::Spectra(SpectrumFormat::MzMl)),
];

/// Returns a format whose files are text.
const fn text(extensions: &'static [&'static str], rows: TextFormat) -> TableFormat {
    TableFormat { extensions, rows, text: None }
}

impl TableFormat {
    /// Returns the format of a file by its extension, in any case; a `.gz` behind it does not count.
    pub fn from_path(path: &Path) -> Option<&'static Self> {
        let extension = extension_of(&uncompressed(path));
        TABLE_FORMATS.iter().find(|format| format.extensions.contains(&extension.as_str()))
    }

    /// Returns its name, that of its first extension.
    pub fn name(&self) -> &'static str {
        self.extensions[0]
    }

    /// Returns whether it can be read from a stream that is text.
    pub fn is_text(&self) -> bool {
        self.text.is_none()
    }
}

impl TextFormat {
    /// Returns the format that the extension of a file names, without a `.gz` behind it: that of a
    /// [`Table`](super::Table), else one text a line.
    pub fn from_path(path: &Path) -> Self {
        TableFormat::from_path(path).map_or(Self::Lines, |format| format.rows)
    }

    /// Returns whether rows are fields with separators between, below the names of the columns.
    pub fn has_separators(self) -> bool {
        match self {
            Self::Tabs | Self::Commas => true,
            Self::Lines | Self::JsonLines | Self::Structures | Self::Spectra(_) => false,
        }
    }

    /// Returns whether rows are mass spectra.
    pub fn is_of_spectra(self) -> bool {
        match self {
            Self::Spectra(_) => true,
            Self::Lines | Self::Tabs | Self::Commas | Self::JsonLines | Self::Structures => false,
        }
    }
}

/// Returns the extensions of the formats that are `chosen`, for messages: `.csv, .tsv`.
pub fn extensions(chosen: impl Fn(&TableFormat) -> bool) -> String {
    let formats = TABLE_FORMATS.iter().filter(|format| chosen(format));
    let names = formats.flat_map(|format| format.extensions);
    names.map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(", ")
}

/// Returns the extensions that a table may have, for messages: `.csv, .tsv, also with .gz behind, and .parquet`.
pub fn all_extensions() -> String {
    let texts = extensions(TableFormat::is_text);
    let others = extensions(|format| !format.is_text());
    let and = if others.is_empty() { "" } else { ", and " };
    format!("{texts}, also with .gz behind{and}{others}")
}

/// Opens the text of a file: decompressed where its name ends with `.gz`, and as its [`TableFormat`] makes it of bytes
/// that are not text.
///
/// # Errors
/// The operating system's errors; a file that is not of its format, or whose format is not text behind a `.gz`; a file whose
/// extension says that it is compressed in another way.
pub fn open_text(path: &Path) -> Result<Box<dyn Read>, Error> {
    let file = open(path)?;
    if let Some(error) = Error::compressed(path).filter(|_| !is_gzip(path)) {
        return Err(error);
    }
    let format = TableFormat::from_path(path);
    match format.and_then(|format| Some((format.name(), format.text?))) {
        Some((name, _)) if is_gzip(path) => {
            let message = format!(
                "a .{name} file compresses its columns itself, and is not read with .gz behind; decompress it first: gunzip \
                 -k {}",
                shell_word(&path.display().to_string())
            );
            Err(Error::file(path, message))
        }
        Some((_, text)) => text(file).map_err(|source| Error::io(path, source)),
        None if is_gzip(path) => Ok(Box::new(MultiGzDecoder::new(file))),
        None => Ok(Box::new(file)),
    }
}

/// Returns whether the name of a file says that it is compressed by gzip.
pub(super) fn is_gzip(path: &Path) -> bool {
    extension_of(path) == "gz"
}

/// Returns the name of a file without the `.gz` behind it.
pub(super) fn uncompressed(path: &Path) -> Cow<'_, Path> {
    if is_gzip(path) { Cow::Owned(path.with_extension("")) } else { Cow::Borrowed(path) }
}
