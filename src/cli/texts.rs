//! Texts from a file or from standard input, and vectors from a file.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::basis::store::open_input;
use crate::data::config::OnBadRow;
use crate::data::feature_file::{FeatureFile, read_features};
use crate::data::table::{TextFormat, TextReader};
use crate::data::{InputKind, Inputs, Split};
use crate::run::Run;

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

/// Queries without outputs, which are read some at a time.
pub enum Queries {
    /// Texts.
    Texts(TextReader<Box<dyn Read>>),
    /// The rows of a matrix.
    Matrix { rows: FeatureFile, next: usize },
    /// The rows of a file in the layout of the run's own data.
    Split { split: Split, ids: Vec<String>, next: usize },
}

/// Some of them.
pub struct Batch {
    pub ids: Vec<String>,
    /// Texts; none of vectors.
    texts: Vec<String>,
    vectors: Option<Inputs>,
}

impl Batch {
    /// The text of a query; none of a vector.
    pub fn text(&self, query: usize) -> Option<&str> {
        self.texts.get(query).map(String::as_str)
    }

    /// The queries as a run reads them.
    pub fn read(&self, run: &Run) -> Result<Split, Error> {
        match &self.vectors {
            Some(vectors) => {
                let outputs = vec![None; self.ids.len()];
                Ok(Split::new(self.ids.clone(), vectors.clone(), outputs))
            }
            None => run.texts(&self.texts.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }
}

impl Queries {
    /// The same queries with a different action at texts that cannot be read.
    pub fn on_bad_row(self, on_bad_row: OnBadRow) -> Self {
        match self {
            Self::Texts(texts) => Self::Texts(texts.on_bad_row(on_bad_row)),
            // a matrix has no such rows, and the rows of a file have been read as the run says
            Self::Matrix { .. } | Self::Split { .. } => self,
        }
    }

    /// The next queries, at most `most`; none at the end.
    pub fn batch(&mut self, most: usize) -> Result<Batch, Error> {
        match self {
            Self::Texts(texts) => {
                let rows = texts.batch(most)?.into_iter();
                let (ids, texts) = rows.map(|row| (row.id, row.text)).unzip();
                Ok(Batch { ids, texts, vectors: None })
            }
            Self::Matrix { rows, next } => {
                let chosen: Vec<usize> = (*next..rows.len().min(*next + most)).collect();
                *next += chosen.len();
                let ids = chosen.iter().map(|row| (row + 1).to_string()).collect();
                let vectors = Some(Inputs::Vectors(rows.select(&chosen)?));
                Ok(Batch { ids, texts: Vec::new(), vectors })
            }
            Self::Split { split, ids, next } => {
                let chosen: Vec<usize> = (*next..ids.len().min(*next + most)).collect();
                *next += chosen.len();
                let ids = chosen.iter().map(|&row| ids[row].clone()).collect();
                let vectors = Some(split.inputs.select(&chosen)?);
                Ok(Batch { ids, texts: Vec::new(), vectors })
            }
        }
    }
}

impl Texts {
    /// The queries of a file, or of standard input for `-`: vectors for a run that reads them.
    pub fn open(&self, file: &Path, run: &Run) -> Result<Queries, Error> {
        match run.config.encoder.abilities().reads {
            InputKind::Vectors => self.vectors(file, run),
            // a run that reads kernels refuses texts
            InputKind::Texts | InputKind::Kernels => Ok(Queries::Texts(self.texts(file, run)?)),
        }
    }

    fn vectors(&self, file: &Path, run: &Run) -> Result<Queries, Error> {
        for (key, given) in [("--column", &self.column), ("--id", &self.id)] {
            if let Some(given) = given {
                let allowed = "absent: this run reads vectors, which have no columns with names";
                return Err(Error::value(key, format!("{given:?}"), allowed));
            }
        }
        if let Some(extension) = file.extension().and_then(|extension| extension.to_str())
            && ["npy", "safetensors"].contains(&extension.to_lowercase().as_str())
        {
            return Ok(Queries::Matrix { rows: read_features(file, None)?, next: 0 });
        }
        let split = run.read_queries(file, None, None)?;
        Ok(Queries::Split { ids: split.query_ids(), split, next: 0 })
    }

    fn texts(&self, file: &Path, run: &Run) -> Result<TextReader<Box<dyn Read>>, Error> {
        let format = self.input.map_or_else(|| TextFormat::of(file), Input::format);
        let own = run.config.data.facts().texts.map(|texts| texts.column.as_str());
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
            let opened = open_input(file)
                .map_err(|source| crate::data::Error::Io { path: file.into(), source })?;
            (file.into(), Box::new(opened))
        };
        Ok(TextReader::new(&name, stream, format, column, self.id.as_deref())?)
    }
}

/// Whether a path stands for standard input.
pub fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}
