//! Texts from a file or from standard input.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use dsokr::Error;
use dsokr::data::table::{TextFormat, TextReader};
use dsokr::run::Run;

/// How texts are written.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Input {
    /// One text a line.
    Lines,
    /// A table of fields separated by tabs.
    Tsv,
    /// A table of fields separated by commas.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

impl Input {
    fn format(self) -> TextFormat {
        match self {
            Self::Lines => TextFormat::Lines,
            Self::Tsv => TextFormat::Tabs,
            Self::Csv => TextFormat::Commas,
            Self::Jsonl => TextFormat::JsonLines,
        }
    }
}

/// Where texts are in a file.
#[derive(clap::Args)]
pub struct Texts {
    /// The column of the texts in a table, or their key in JSON lines; default: the column of the run's
    /// own data.
    #[arg(long)]
    pub column: Option<String>,
    /// The column or key of the texts' ids; default: the number of each text, from 1.
    #[arg(long)]
    id: Option<String>,
    /// How the texts are written; default: what the extension of the file says (.tsv, .csv, .jsonl, else
    /// one text a line).
    #[arg(long)]
    input: Option<Input>,
}

impl Texts {
    /// A reader of a file, or of standard input for `-`.
    pub fn open(&self, file: &Path, run: &Run) -> Result<TextReader<Box<dyn Read>>, Error> {
        let format = self.input.map_or_else(|| TextFormat::of(file), Input::format);
        let own = run.config.data.text_column();
        let column = match (format, self.column.as_deref().or(own)) {
            (TextFormat::Lines, _) => "text",
            (_, Some(column)) => column,
            (_, None) => {
                let allowed = "the column of the texts, since the run's data have no such column";
                return Err(Error::value("--column", "absent", allowed));
            }
        };
        let (name, stream): (PathBuf, Box<dyn Read>) = if is_standard_input(file) {
            ("standard input".into(), Box::new(std::io::stdin()))
        } else {
            let opened = File::open(file).and_then(|opened| match opened.metadata()?.is_dir() {
                true => Err(std::io::ErrorKind::IsADirectory.into()),
                false => Ok(opened),
            });
            let opened =
                opened.map_err(|source| dsokr::data::Error::Io { path: file.into(), source })?;
            (file.into(), Box::new(opened))
        };
        Ok(TextReader::new(&name, stream, format, column, self.id.as_deref())?)
    }
}

/// Whether a path stands for standard input.
pub fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}
