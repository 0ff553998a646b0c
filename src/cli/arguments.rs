//! Arguments that commands share: texts from a file or from standard input, vectors from a file, combinations and
//! searches.

use std::io::{BufRead, BufReader, Read};
use std::ops::{Range, RangeBounds};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use dsokr_basis::RowKind;
use dsokr_basis::features::{BitRows, Features};
use dsokr_core::message::shorten;
use dsokr_core::{Argument, Processes};
use dsokr_data::config::OnBadRow;
use dsokr_data::feature_file::{FeatureFile, read_features};
use dsokr_data::table::{
    TABLE_FORMATS, TableFormat, TextFormat, TextReader, all_extensions, extensions, open_text,
};
use dsokr_data::{InputKind, Inputs, Split};
use dsokr_decode::Combination::{Max, Mean, Rank, ReciprocalRank};
use dsokr_spectra::{Spectrum, SpectrumFormat, Subformulas};

use crate::cli::output::PROGRAM;
use crate::config::BeyondConfig;
use crate::config::candidate_rule::CandidateRule;
use crate::decoding::filter::Filter;
use crate::error::{Error, ensure, ensure_run};
use crate::metrics::table::{csv_line, tsv_line};
use crate::run::{Member, Run, WantedCandidates};

/// Returns the parser of a number of seconds in a range, which messages call `expected`; infinity is refused.
pub fn seconds(
    range: impl RangeBounds<f64> + Clone + Send + Sync + 'static,
    expected: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let is_allowed = |seconds: &f64| seconds.is_finite() && range.contains(seconds);
        let number = text.parse().ok().filter(is_allowed);
        number.ok_or_else(|| format!("{text:?}: expected {expected}"))
    }
}

/// The extensions of files of matrices.
const MATRICES: [&str; 3] = ["npy", "npz", "safetensors"];

/// Where texts are in a file.
#[derive(clap::Args)]
pub struct TextArguments {
    /// The column of the texts in a table, or their key in JSON lines; default: the column of the run's
    /// own data.
    #[arg(long)]
    pub column: Option<String>,
    /// The column or key of the texts' ids; default: in a table or JSON lines that have it, the one by which the run's
    /// own data name rows (data.query, or data.id where the rows are the outputs); without it, or where it is empty or that
    /// of a row before, the number of the text, from 1, with the skipped ones but without blank lines.
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    input: InputFormat,
}

/// How texts are written.
#[derive(clap::Args)]
pub struct InputFormat {
    #[arg(
        long,
        help = input_help(),
        value_parser = PossibleValuesParser::new(format_names()).map(format)
    )]
    input: Option<TextFormat>,
}

impl InputFormat {
    /// Returns the format of a file for a run: the one that is given, else what the extension says.
    pub fn of_file(&self, file: &Path, member: &Member) -> TextFormat {
        self.input.unwrap_or_else(|| match TextFormat::from_path(file) {
            // each line is a graph
            TextFormat::JsonLines if member.config.data.facts().graphs.is_some() => {
                TextFormat::Lines
            }
            format => format,
        })
    }
}

/// Returns the help of `input`.
fn input_help() -> String {
    format!(
        "How the texts are written: lines, one text a line, or as files with such an extension. Default: what the extension \
         of the file says ({}; else lines)",
        all_extensions()
    )
}

/// Returns one text a line, and the formats of tables that a stream can have.
fn format_names() -> impl Iterator<Item = &'static str> {
    let tables = TABLE_FORMATS.iter().filter(|format| format.is_text());
    ["lines"].into_iter().chain(tables.map(TableFormat::name))
}

fn format(name: String) -> TextFormat {
    TextFormat::from_path(&Path::new("texts").with_extension(name))
}

/// Queries without outputs, which are read some at a time.
pub enum QueryStream {
    Texts(Box<TextReader<Box<dyn Read>>>),
    /// The rows that are still to come, and what reads some of them.
    Vectors(Range<usize>, Box<dyn Fn(Vec<usize>) -> Result<Split, Error>>),
}

/// Returns queries without outputs.
fn queries(ids: Vec<String>, inputs: Inputs) -> Split {
    let outputs = vec![None; ids.len()];
    Split::new(ids, inputs, outputs)
}

/// Returns some queries as a run reads them.
pub fn read(batch: &Split, member: &Member) -> Result<Split, Error> {
    match &batch.inputs {
        // lists of candidates name the queries
        Inputs::Texts(texts) => Ok(Split { ids: batch.ids.clone(), ..member.texts(texts)? }),
        Inputs::Vectors(_) | Inputs::Kernels(_) => Ok(batch.clone()),
    }
}

impl QueryStream {
    /// Returns the next queries, at most `most`; none at the end.
    pub fn batch(&mut self, most: usize) -> Result<Split, Error> {
        match self {
            Self::Texts(texts) => {
                let rows = texts.batch(most)?.into_iter();
                let (ids, texts) = rows.map(|row| (row.id, row.text)).unzip();
                Ok(queries(ids, Inputs::Texts(texts)))
            }
            Self::Vectors(rows, read) => read(rows.by_ref().take(most).collect()),
        }
    }
}

impl TextArguments {
    /// Returns the queries of a file, or of standard input for `-`, which `among` gives candidates: vectors for a run that
    /// reads them.
    pub fn open(
        &self,
        file: &Path,
        member: &Member,
        among: Option<&CandidateRule>,
    ) -> Result<QueryStream, Error> {
        match member.config.encoder.abilities().reads {
            InputKind::Vectors => self.vectors(file, member),
            InputKind::Texts => {
                Ok(QueryStream::Texts(Box::new(checked(self.texts(file, member)?, member, among))))
            }
            InputKind::Kernels => {
                let program = &*PROGRAM;
                let allowed = format_args!(
                    "inputs of a run that reads texts or vectors: this one knows values of kernels for the inputs of its \
                     matrices alone, and `{program} evaluate RUN --queries FILE` ranks candidates for those that a table names"
                );
                Err(Error::value("FILE", file.display(), allowed))
            }
        }
    }

    fn vectors(&self, file: &Path, member: &Member) -> Result<QueryStream, Error> {
        for (argument, given) in [("column", &self.column), ("id", &self.id)] {
            let found = format_args!("{:?}", given.as_deref().unwrap_or_default());
            let allowed = "absent: this run reads vectors, which have no columns with names";
            ensure(given.is_none(), Argument::new(argument), found, allowed)?;
        }
        let extension = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if MATRICES.contains(&extension.as_str()) {
            let rows = matrix(file, member)?;
            let count = rows.len();
            let read = move |chosen: Vec<usize>| {
                let ids = chosen.iter().map(|row| (row + 1).to_string()).collect();
                Ok(queries(ids, Inputs::Vectors(rows.select(&chosen)?.into())))
            };
            return Ok(QueryStream::Vectors(0..count, Box::new(read)));
        }
        let is_read =
            !member.config.data.has_input_files() || TableFormat::from_path(file).is_some();
        let allowed = format_args!(
            "a matrix (.{}) or a table of ids ({})",
            MATRICES.join(", ."),
            extensions(|_| true)
        );
        ensure(is_read, "FILE", file.display(), allowed)?;
        let split = member.read_rows(file)?;
        let all = queries(split.query_ids(), split.inputs);
        let count = all.ids.len();
        let read = move |chosen: Vec<usize>| Ok(all.select(&chosen)?);
        Ok(QueryStream::Vectors(0..count, Box::new(read)))
    }

    fn texts(&self, file: &Path, member: &Member) -> Result<TextReader<Box<dyn Read>>, Error> {
        let format = self.input.of_file(file, member);
        let beside = self.id.as_deref().map_or(Beside::OwnIds, Beside::Column);
        open_texts(file, format, member, self.column.as_deref(), beside)
    }
}

/// What is read with each text of a table.
#[derive(Clone, Copy)]
pub enum Beside<'a> {
    /// The value of a column.
    Column(&'a str),
    /// The id in the column by which the run's own data name rows, where the table has it; else the number of the text.
    OwnIds,
}

/// Returns the rows of a matrix as a run reads them. Where its inputs are packed bits, a file has eight of them a byte, or a
/// zero or one for each, without the columns that fill the last byte.
fn matrix(file: &Path, member: &Member) -> Result<FeatureFile, Error> {
    let rows = read_features(file, None, false)?;
    if !member.config.data.facts().packed || rows.kind() == RowKind::Bits {
        return Ok(rows);
    }
    let Some(width) = member.predictor.vector_width() else { return Ok(rows) };
    let columns = rows.width();
    if columns.saturating_mul(8) == width && rows.kind() == RowKind::Dense {
        return Ok(read_features(file, None, true)?);
    }
    if columns.next_multiple_of(8) == width
        && let Some(bits) = bits(&rows, width)?
    {
        return Ok(Box::new(Features::Bits(bits)));
    }
    let message = format_args!(
        "{columns} columns where the run reads {width} bits: expected {} packed bytes, or {} to {width} columns of 0 \
         and 1",
        width / 8,
        width.saturating_sub(7)
    );
    ensure_run(columns == width, file, message)?;
    Ok(rows)
}

/// Returns the rows of zeros and ones as bits, with columns of zeros behind them up to `width`; none of other numbers.
fn bits(rows: &FeatureFile, width: usize) -> Result<Option<BitRows>, Error> {
    let all = rows.block(0..rows.len())?;
    let mut are_bits = true;
    let ones = |row: usize| {
        let mut columns = Vec::new();
        all.entries(row, 0..rows.width(), |column, value| {
            if value == 1.0 {
                columns.push(column as u32);
            } else if value != 0.0 {
                are_bits = false;
            }
        });
        columns
    };
    let ones: Vec<Vec<u32>> = (0..rows.len()).map(ones).collect();
    Ok(if are_bits { Some(BitRows::from_indices(width, ones)?) } else { None })
}

/// Returns the texts of a file, or of standard input for `-`: in `column`, by default that of the data of the run, each with
/// what is `beside` it.
pub fn open_texts(
    file: &Path,
    format: TextFormat,
    member: &Member,
    column: Option<&str>,
    beside: Beside,
) -> Result<TextReader<Box<dyn Read>>, Error> {
    let column_of_data = member.config.data.facts().texts.map(|texts| texts.column.as_str());
    let column = match (format, column.or(column_of_data)) {
        (TextFormat::Lines, _) => "text",
        (_, Some(column)) => column,
        (_, None) => {
            let allowed = "the column of the texts, since the run's data have no such column";
            return Err(Error::value(Argument::new("column"), "absent", allowed));
        }
    };
    let (name, stream): (PathBuf, Box<dyn Read>) = if is_standard_input(file) {
        ("standard input".into(), Box::new(std::io::stdin()))
    } else if format == TextFormat::Lines && member.config.encoder.abilities().spectra {
        (file.into(), lines_of_spectra(file)?)
    } else {
        (file.into(), open_text(file)?)
    };
    let on_bad_row = on_bad_text(member);
    Ok(match (beside, member.config.data.facts().row_names) {
        (Beside::Column(beside), _) => {
            TextReader::new(&name, stream, format, column, Some(beside), on_bad_row)?
        }
        (Beside::OwnIds, Some(id)) => {
            TextReader::with_ids_if_named(&name, stream, format, column, id, on_bad_row)?
        }
        (Beside::OwnIds, None) => TextReader::new(&name, stream, format, column, None, on_bad_row)?,
    })
}

/// Returns the stream of a file of which each line is a spectrum.
///
/// # Errors
/// A file that begins as files of spectra do, none of whose lines is one.
fn lines_of_spectra(file: &Path) -> Result<Box<dyn Read>, Error> {
    let mut stream = BufReader::new(open_text(file)?);
    let start = stream.fill_buf().map_err(dsokr_core::Error::io(file))?;
    let start = String::from_utf8_lossy(start).into_owned();
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let first = start.split(['\n', '\r']).next().unwrap_or_default();
    let format = SpectrumFormat::of_start(start).map(TextFormat::Spectra);
    let format = TABLE_FORMATS.iter().find(|table| Some(table.rows) == format);
    let is_other = first.starts_with(['<', '>', '[', '{']) && first.parse::<Spectrum>().is_err();
    let remedy = match format {
        Some(format) => {
            let name = format.name();
            let input = Argument::new("input").with(name);
            format!("let its name end with .{name}, or use {input}")
        }
        None if is_other => {
            let are_spectra = |table: &TableFormat| table.rows.is_of_spectra();
            let formats = extensions(are_spectra);
            format!("files of spectra that are read are {formats}{}", way_to_spectra(start))
        }
        None => return Ok(Box::new(stream)),
    };
    let first = shorten(first);
    let message = format!(
        "the file begins with {first:?}, and its lines are read as a spectrum each; {remedy}"
    );
    Err(dsokr_core::Error::file(file, message).into())
}

/// Returns how spectra are written that are read, in the place of a file that begins with this text; empty of a text that tells
/// nothing.
fn way_to_spectra(start: &str) -> &'static str {
    if start.starts_with(['[', '{']) {
        "; of JSON, lines are read that are an object each, with \"precursor_mz\" and \"peaks\", or \"mzs\" and \"intensities\", and the name \
         ends with .jsonl"
    } else if start.contains("<mzXML") {
        "; mzXML is converted by ProteoWizard: msconvert --mzML"
    } else if start.starts_with('>') {
        "; of what SIRIUS reads, the program that made it writes MGF too"
    } else {
        ""
    }
}

/// Returns what is done about a text that cannot be read.
pub fn on_bad_text(member: &Member) -> OnBadRow {
    let on_bad_row = member.config.data.on_bad_row;
    match on_bad_row {
        // each row is a spectrum
        OnBadRow::SkipSpectra if member.config.encoder.abilities().spectra => OnBadRow::Skip,
        OnBadRow::SkipSpectra | OnBadRow::Stop | OnBadRow::Skip => on_bad_row,
    }
}

/// Returns texts as queries of a run, which `among` gives candidates: a text that is no SMILES or no spectrum where the run reads
/// such, or a spectrum without the formula that the run or `among` needs, is one that cannot be read.
pub fn checked<R: Read>(
    texts: TextReader<R>,
    member: &Member,
    among: Option<&CandidateRule>,
) -> TextReader<R> {
    let inputs = member.config.data.facts().texts.cloned();
    let abilities = member.config.encoder.abilities();
    let are_spectra = abilities.spectra;
    let need_formulas = abilities.formulas;
    let chooses_by_formula = among == Some(&CandidateRule::Formula);
    let check = move |text: &str| -> Result<(), String> {
        if let Some(inputs) = &inputs {
            inputs.check(text)?;
        }
        if !are_spectra {
            return Ok(());
        }
        let spectrum = text.parse::<Spectrum>().map_err(|error| error.to_string())?;
        if chooses_by_formula {
            spectrum.molecule().map_err(|error| error.to_string())?;
        }
        if need_formulas {
            Subformulas::from_spectrum(&spectrum).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    texts.checked_by(check)
}

/// Returns whether a path stands for standard input.
pub fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// How scores and answers are written, line by line; as an argument of scores of pairs.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum LineFormat {
    /// A JSON object for each pair.
    Jsonl,
    /// A row for each pair, below the names of the columns; fields are separated by tabs.
    Tsv,
    /// The same rows for spreadsheets: fields are separated by commas, and quoted where they must be.
    Csv,
}

impl LineFormat {
    /// Returns a line of a table; none of JSON.
    pub fn line(self, cells: &[String]) -> String {
        match self {
            Self::Jsonl => String::new(),
            Self::Tsv => tsv_line(cells),
            Self::Csv => csv_line(cells),
        }
    }
}

/// How several runs are combined.
#[derive(clap::Args)]
pub struct CombinationArguments {
    /// How several runs are combined: mean or max, the mean or the largest of scores; rank, the mean of ranks;
    /// reciprocal-rank, the mean of 1 / (60 + rank). Default: the rule stored in an ensemble's directory, else mean.
    #[arg(long, value_parser = ["mean", "max", "rank", "reciprocal-rank"])]
    combine: Option<String>,
    /// Combine scores without standardising them for each query: for runs with the same kernel.
    #[arg(long, requires = "combine")]
    plain: bool,
    /// Weights of the runs, separated by commas; they sum to 1. Default: those stored in an ensemble's directory, else equal
    /// ones.
    #[arg(long, value_delimiter = ',')]
    weights: Option<Vec<f64>>,
}

/// The search beyond the candidates.
#[derive(Default, clap::Args)]
pub struct BeyondArguments {
    /// Search molecules that are not candidates, from the best candidates by moves: settings as in the table
    /// decoding.beyond, such as --beyond=beam=20,rounds=4 or --beyond='formula="first"'; those that are left out have
    /// their defaults. Default: what the run's configuration says.
    #[arg(
        long,
        value_name = "SETTINGS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = |text: &str| text.parse::<BeyondConfig>()
    )]
    pub beyond: Option<BeyondConfig>,
}

/// The filter that says which candidates are wanted.
#[derive(Default, clap::Args)]
pub struct FilterArguments {
    /// Only candidates for which this holds: comparisons of their columns, such as 'price < 10 and supplier = "A & B"', and of
    /// molecules 'mass < 300', 'formula = C9*', 'group = "carboxylic acid"' and 'similarity("OC(=O)c1ccccc1") >= 0.5', joined
    /// by and, or, not and brackets. Ranks stay those among all candidates.
    #[arg(long, value_name = "CONDITION", value_parser = |text: &str| text.parse::<Filter>())]
    filter: Option<Filter>,
}

impl FilterArguments {
    /// Returns the candidates that are wanted; none where all are.
    pub fn wanted(
        &self,
        processes: &Processes,
        run: &Run,
    ) -> Result<Option<WantedCandidates>, Error> {
        self.filter.as_ref().map(|filter| run.wanted(processes, filter)).transpose()
    }
}

impl CombinationArguments {
    /// Gives `run` the rule that was asked for, if one was.
    pub fn apply(&self, run: &mut Run) -> Result<(), Error> {
        if let Some(name) = &self.combine {
            run.rule = serde_json::from_value(serde_json::json!({"name": name}))?;
            match &mut run.rule {
                Mean { standardise, .. } | Max { standardise } => *standardise = !self.plain,
                Rank { .. } | ReciprocalRank { .. } => {
                    let combine = Argument::new("combine").with(name);
                    let allowed = format_args!("absent: {combine} standardises no scores");
                    ensure(!self.plain, Argument::new("plain"), "given", allowed)?;
                }
            }
        }
        if let Some(weights) = &self.weights {
            run.rule = run.rule.with_weights(Some(weights.clone()))?;
        }
        Ok(())
    }
}
