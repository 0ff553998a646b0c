//! `dsokr score`: scores of pairs of a text and a molecule.

use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_data::cells;
use dsokr_data::config::OnBadRow;
use dsokr_data::table::{TextFormat, TextRow, all_extensions};
use dsokr_molecule::Molecule;
use dsokr_nn::Processor;
use serde::Serialize;

use crate::cli::arguments::{
    Beside, CombinationArguments, InputFormat, LineFormat, checked, open_texts,
};
use crate::cli::hints::{check_queries_last, check_runs};
use crate::cli::output::{json_line, print_part};
use crate::error::{Error, ensure};
use crate::run::Run;

/// Scores pairs of a text and a molecule, which need not be a candidate, with all that a run has: a line for each row of
/// a table, in its order.
///
/// The score of a molecule is the one that a search for the text would show if the molecule were added to the candidates,
/// with the correction for hubs, the reranker and all members of an ensemble; where an ensemble standardises scores, the mean
/// and the deviation stay those of the candidates. Pairs are read, scored and printed in
/// batches, so a table of any length needs the memory of one batch. The outputs of the run must have features that any
/// molecule has.
#[derive(clap::Args)]
pub struct Arguments {
    /// Run directories, of one model, of an ensemble, or several, which are combined as an ensemble; then
    /// the table of the pairs, or - for standard input.
    #[arg(required = true, num_args = 2.., value_names = ["RUN", "TABLE"])]
    paths: Vec<PathBuf>,
    /// The column of the texts, or their key in JSON lines; default: the column of the run's own data.
    #[arg(long)]
    column: Option<String>,
    /// The column of the molecules as SMILES; default: the column of the run's own outputs.
    #[arg(long, value_name = "COLUMN")]
    molecules: Option<String>,
    #[command(flatten)]
    input: InputFormat,
    /// What becomes of rows that cannot be read: stop ends the command at the first one; with skip a molecule that cannot be
    /// read has a line without a score, and other rows have none; skip-spectra skips mass spectra alone. Default: what the first
    /// run's configuration says.
    #[arg(long, value_name = "stop|skip|skip-spectra")]
    on_bad_row: Option<OnBadRow>,
    #[command(flatten)]
    combine: CombinationArguments,
    /// The format of the scores.
    #[arg(long, default_value = "jsonl")]
    format: LineFormat,
    /// The most pairs that are scored at once.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
}

/// The score of a pair.
#[derive(Serialize)]
struct Scored<'a> {
    query: &'a str,
    molecule: &'a str,
    /// The score; none of a molecule that cannot be read.
    score: Option<f64>,
}

impl Scored<'_> {
    const NAMES: [&'static str; 3] = ["query", "molecule", "score"];

    fn line(&self, format: LineFormat) -> Result<String, Error> {
        match format {
            LineFormat::Jsonl => json_line(self),
            LineFormat::Tsv | LineFormat::Csv => {
                let score = self.score.map_or(String::new(), |score| score.to_string());
                Ok(format.line(&[self.query.to_owned(), self.molecule.to_owned(), score]))
            }
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Some((file, folders)) = arguments.paths.split_last() else { return Ok(()) };
    check_queries_last(folders, file)?;
    check_runs(folders)?;
    let device = arguments.device.open()?;
    let mut run = Run::open_all(folders, &device)?.on_bad_row(arguments.on_bad_row)?;
    arguments.combine.apply(&mut run)?;

    let first = &run.members()[0];
    let on_bad_row = first.config.data.on_bad_row;
    let molecules = match &arguments.molecules {
        Some(column) => column.clone(),
        None => first.config.source().outputs.molecule_column()?.to_owned(),
    };
    let format = arguments.input.of_file(file, first);
    let allowed =
        format!("a table, in which each row has a text and a molecule: {}", all_extensions());
    ensure(format != TextFormat::Lines, Argument::new("input"), "lines", allowed)?;
    let column = arguments.column.as_deref();
    let pairs = open_texts(file, format, first, column, Beside::Column(&molecules))?;
    let mut pairs = checked(pairs, first, None);

    let mut out = arguments.format.line(&Scored::NAMES.map(str::to_owned));
    loop {
        let rows = pairs.batch(arguments.batch as usize)?;
        if rows.is_empty() {
            // the header of a table without rows
            return print_part(&out).map(|_| ());
        }
        let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        let smiles: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let scores = run.score(&texts, &smiles, on_bad_row).map_err(|error| {
            let unread =
                if on_bad_row == OnBadRow::Skip { None } else { unread_molecule(file, &rows) };
            unread.unwrap_or(error)
        })?;
        for (TextRow { text, id, .. }, score) in rows.iter().zip(scores) {
            out += &Scored { query: text, molecule: id, score }.line(arguments.format)?;
        }
        if !print_part(&std::mem::take(&mut out))? {
            return Ok(());
        }
    }
}

/// Returns the error for the first row with a molecule that cannot be read, which says where it is.
fn unread_molecule(file: &Path, rows: &[TextRow]) -> Option<Error> {
    rows.iter().find_map(|row| {
        let reason = Molecule::parse(cells::smiles(&row.id)).err()?;
        let message = format!("the molecule {:?}: {reason}", row.id);
        Some(dsokr_core::Error::at_line(file, row.line, message).into())
    })
}
