//! The formats of tables: one list, which says the extensions of each, how its bytes become text, and how rows are in
//! it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use dsokr_core::message::shell_word;
use dsokr_core::store::BYTE_ORDER_MARK;
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

/// Returns the format of a table, whose columns have names.
pub(super) fn named_format(path: &Path) -> Result<TextFormat, Error> {
    if let Some(format) = TableFormat::from_path(path) {
        return Ok(format.rows);
    }
    if let Some(name) = name_of_json_lines(path) {
        let message = format!("the lines are JSON objects: name it {}", name.display());
        return Err(Error::file(path, message));
    }
    let all = all_extensions();
    let official = "data.source = \"official\" reads the official ChEBI-20 .txt layout";
    let allowed = format!("{all} ({official})");
    let remedy = match extension_of(path).as_str() {
        "parquet" => conversion(
            path,
            "import pandas, sys; pandas.read_parquet(sys.argv[1]).to_json(sys.argv[2], orient='records', lines=True, \
             date_format='iso', double_precision=15)",
            "jsonl",
        ),
        "feather" | "arrow" => conversion(
            path,
            "import pandas, sys; pandas.read_feather(sys.argv[1]).to_parquet(sys.argv[2])",
            "parquet",
        ),
        // without `dtype=str` codes such as 0389 lose their zeros
        "xlsx" | "xls" | "ods" => conversion(
            path,
            "import pandas, sys; pandas.read_excel(sys.argv[1], dtype=str, na_filter=False).to_csv(sys.argv[2], \
             index=False)",
            "csv",
        ),
        "json" => conversion(path, program_of_json(path), "jsonl"),
        "fasta" | "fa" | "faa" | "fna" => conversion(path, PROGRAM_OF_FASTA, "tsv"),
        "mzxml" => "ProteoWizard converts it: msconvert --mzML".into(),
        "ms" => "of what SIRIUS reads, the program that made it writes MGF too".into(),
        "arff" | "libsvm" | "svm" => {
            "data.source = \"multi-label\" reads it, as configs/bibtex-best.toml does".into()
        }
        _ if begins_with_double_colons(path) => remedy_of_double_colons(path),
        _ => "if it is a table, name it .tsv or .csv; if its lines are labels with numbered features, name it .svm, which \
              data.source = \"multi-label\" reads"
            .into(),
    };
    Err(Error::extension(path, &format!("{allowed}; {remedy}")))
}

/// Returns the line of a shell by which a program of Python makes a file with the extension `to` of one that is not read.
fn conversion(path: &Path, program: &str, to: &str) -> String {
    let mut converted = uncompressed(path).with_extension(to);
    if converted == path {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        converted.set_file_name(format!("new-{name}"));
    }
    let [from, to] = [path, &converted].map(|path| shell_word(&path.display().to_string()));
    format!("convert it: python3 -c \"{program}\" {from} {to}")
}

/// The sign between the fields of a file of MovieLens, which no format has.
pub(super) const DOUBLE_COLON: &str = "::";

/// Returns whether `::` divides the first line of a file.
fn begins_with_double_colons(path: &Path) -> bool {
    let start = first_bytes(path);
    let first = String::from_utf8_lossy(filled_lines(&start).next().unwrap_or_default());
    first.matches(DOUBLE_COLON).count() > 1
}

/// Returns what makes a table of a file whose fields `::` divides.
pub(super) fn remedy_of_double_colons(path: &Path) -> String {
    let program = "import sys; rows = open(sys.argv[1], 'rb').read(); open(sys.argv[2], \
                   'wb').write(rows.replace(b'::', b'\\t'))";
    let convert = conversion(path, program, "tsv");
    format!("fields with {DOUBLE_COLON} between, as MovieLens writes them, are not read; {convert}")
}

/// Returns the name that a .json file needs, compressed or not, whose lines are objects; none of other files.
fn name_of_json_lines(path: &Path) -> Option<PathBuf> {
    let name = uncompressed(path);
    if extension_of(&name) != "json" {
        return None;
    }
    let start = first_bytes(path);
    let mut lines = filled_lines(&start);
    let is_first = lines.next().is_some_and(|line| line.starts_with(b"{") && line.ends_with(b"}"));
    let is_second = lines.next().is_some_and(|line| line.starts_with(b"{"));
    let extension = if is_gzip(path) { "jsonl.gz" } else { "jsonl" };
    (is_first && is_second).then(|| name.with_extension(extension))
}

/// Returns the program of Python that makes JSON lines of a .json file: of a list of rows, of an object of columns as pandas writes it,
/// or of the longest list of rows in an object of several things, such as the annotations of images. It changes no value, as pandas does
/// with codes, small numbers, dates and whole numbers beside null.
fn program_of_json(path: &Path) -> &'static str {
    let start = first_bytes(path);
    if filled_lines(&start).next().is_some_and(|line| line.starts_with(b"{")) {
        "import json, sys; columns = json.load(open(sys.argv[1], 'rb')); lists = [cells for cells in columns.values() if \
         isinstance(cells, list) and cells and all(isinstance(row, dict) for row in cells)]; sizes = {len(cells) if \
         isinstance(cells, list) else None for cells in columns.values()}; whole = max(lists, key=len) if lists and \
         (len(sizes) > 1 or len(lists) == len(columns)) else []; columns = {} if whole else {name: cells if \
         isinstance(cells, dict) else dict(enumerate(list.copy(cells))) for name, cells in columns.items()}; \
         rows = dict.fromkeys(row for cells in columns.values() for row in cells); open(sys.argv[2], \
         'w').writelines(json.dumps(row) + '\\n' for row in whole or ({name: cells.get(row) for name, cells in \
         columns.items()} for row in rows))"
    } else {
        "import json, sys; rows = json.load(open(sys.argv[1], 'rb')); open(sys.argv[2], 'w').writelines(json.dumps(row) + \
         '\\n' for row in rows)"
    }
}

/// The program of Python that makes a table of FASTA: of each record the line behind `>`, and the sequence, whose lines are joined.
const PROGRAM_OF_FASTA: &str = "import sys; records = ('\\n' + open(sys.argv[1]).read()).split('\\n>')[1:]; open(sys.argv[2], \
                                'w').writelines(['header\\tsequence\\n'] + ['\\t'.join([lines[0].replace('\\t', ' '), \
                                ''.join(lines[1:])]) + '\\n' for lines in map(str.splitlines, records)])";

/// The most bytes at the start of a file that tell how to convert it.
const FIRST_BYTES: u64 = 1 << 20;

/// Returns the first bytes of a file, decompressed; none of a stream, and of what cannot be read, which the caller refuses for its
/// name.
fn first_bytes(path: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    if path.is_file()
        && let Ok(text) = open_text(path)
        && text.take(FIRST_BYTES).read_to_end(&mut start).is_err()
    {
        start.clear();
    }
    start
}

/// Returns the lines at the start of a file that are not blank, without the white space around them.
fn filled_lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty())
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

fn is_gzip(path: &Path) -> bool {
    extension_of(path) == "gz"
}

/// Returns the name of a file without the `.gz` behind it.
fn uncompressed(path: &Path) -> Cow<'_, Path> {
    if is_gzip(path) { Cow::Owned(path.with_extension("")) } else { Cow::Borrowed(path) }
}
