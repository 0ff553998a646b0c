//! `dsokr predict`: answers to a stream of queries, a batch at a time.

use std::path::PathBuf;

use tracing::info;

use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::metrics::molecules::are_smiles;
use crate::metrics::queries::queries_text;
use crate::run::{Answer, Calibration, CandidateSet, CandidateSets, Member, Run};
use dsokr_core::{Argument, Processes};
use dsokr_data::Split;
use dsokr_data::config::OnBadRow;
use dsokr_molecule::Molecule;
use dsokr_nn::Processor;
use dsokr_spectra::{AnnotatedSpectrum, PeakExplainer, Spectrum};

use crate::cli::answers::{AnswerTable, Printed};
use crate::cli::arguments::{
    BeyondArguments, CombinationArguments, FilterArguments, LineFormat, TextArguments, read,
};
use crate::cli::hints::{check_queries_last, check_runs};
use crate::cli::output::{json_line, print_part};

/// Predicts outputs without golds: the best candidates for each text, a JSON line or rows of a table. A text without a
/// candidate has a row without one.
///
/// The models are read once. Texts are read and answered in batches, so that answers come before the input
/// ends and a stream of any length needs the memory of one batch. Runs that read vectors take the rows of a
/// .npy, .npz or .safetensors matrix, or a file in the layout of their own data.
#[derive(clap::Args)]
pub struct Arguments {
    /// Run directories, of one model, of an ensemble, or several, which are combined as an ensemble; then
    /// the file of the texts, or - for standard input.
    #[arg(required = true, num_args = 2.., value_names = ["RUN", "FILE"])]
    paths: Vec<PathBuf>,
    /// Number of candidates for each text; default: 10, and with --coverage all of each set. A set that is cut has its size
    /// beside it (set_size).
    #[arg(long)]
    top: Option<usize>,
    /// In the place of a number of candidates, the smallest set that holds a right output with this probability, such as
    /// 0.9: calibrated on the validation split, else on held-out predictions that the run keeps (decoding.held_out). Nothing
    /// is searched beyond the candidates.
    #[arg(long, value_name = "PROBABILITY", conflicts_with_all = ["filter", "beyond"])]
    coverage: Option<f64>,
    /// A table of queries with their right outputs that nothing was chosen on, to calibrate on in the place of these.
    #[arg(long, value_name = "FILE", requires = "coverage")]
    calibration: Option<PathBuf>,
    /// The data root of the queries that calibrate; default: the folder of the data that the run was trained on, else the
    /// environment variable DSOKR_DATA, else data/.
    #[arg(long, requires = "coverage")]
    data: Option<PathBuf>,
    #[command(flatten)]
    texts: TextArguments,
    /// The candidates of each text: a file of JSON lines {"query": id, "candidates": [id, …]}; or for spectra mass:PPM
    /// (with the precursor's mass), formula (with the formula that the spectrum names) or all; default: for
    /// spectra mass:10 where candidates are molecules, else all. With --coverage the file has the lists of the queries
    /// that calibrate too.
    #[arg(long, value_name = "FILE|mass:PPM|formula|all")]
    candidates: Option<CandidateRule>,
    /// What becomes of rows that cannot be read: stop ends the command at the first one; skip lists and counts them and answers
    /// the others; skip-spectra skips mass spectra alone. Default: what the
    /// first run's configuration says.
    #[arg(long, value_name = "stop|skip|skip-spectra")]
    on_bad_row: Option<OnBadRow>,
    #[command(flatten)]
    combine: CombinationArguments,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    beyond: BeyondArguments,
    /// The format of the answers.
    #[arg(long, default_value = "jsonl")]
    format: AnswerFormat,
    /// The most texts that are encoded at once.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
}

/// The number of candidates for each text, where none is asked for.
const TOP: usize = 10;

/// An answer as it is written.
struct ListedAnswer {
    answer: Answer,
    /// The number of distinct candidates of the set, of which the answer may have the first alone; none without a coverage.
    set_size: Option<usize>,
}

impl ListedAnswer {
    /// Returns the first `top` candidates of a set, or all of them.
    fn from_set(mut answer: Answer, top: Option<usize>) -> Self {
        let set_size = Some(answer.hits.len());
        answer.hits.truncate(top.unwrap_or(usize::MAX));
        Self { answer, set_size }
    }
}

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AnswerFormat {
    /// A JSON object for each text.
    Jsonl,
    /// A row for each candidate, below the names of the columns; fields are separated by tabs.
    Tsv,
    /// The same rows for spreadsheets: fields are separated by commas, and quoted where they must be.
    Csv,
    /// The spectrum with each candidate that is a molecule, in NIST's format MSP: peaks are annotated with the formulas of the
    /// molecule's fragments that explain them within 10 ppm.
    Msp,
}

impl AnswerFormat {
    /// Returns the format of a table; none where answers are no rows.
    fn table(self) -> Option<LineFormat> {
        match self {
            Self::Tsv => Some(LineFormat::Tsv),
            Self::Csv => Some(LineFormat::Csv),
            Self::Jsonl | Self::Msp => None,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Some((file, folders)) = arguments.paths.split_last() else { return Ok(()) };
    check_queries_last(folders, file)?;
    check_runs(folders)?;
    match &arguments.candidates {
        // a list for each text
        None | Some(CandidateRule::Lists(_)) => {}
        Some(rule) => rule.check_search()?,
    }
    let device = arguments.device.open()?;
    let mut run = Run::open_all(folders, &device)?.on_bad_row(arguments.on_bad_row)?;
    arguments.combine.apply(&mut run)?;
    run = run.with_beyond(arguments.beyond.beyond.as_ref())?;
    let first = &run.members()[0];
    let among = run.rule_of_search(arguments.candidates.as_ref())?;
    let among = among.as_ref();
    let mut queries = arguments.texts.open(file, first, among)?;
    let table = AnswerTable::new(&run, arguments.coverage.is_some(), among.is_some());
    let table_format = arguments.format.table();
    let mut header = table_format.map_or_else(String::new, |format| format.line(&table.names()));
    check_annotated(arguments.format, &run)?;
    let alone = &Processes::default();
    let wanted = arguments.filter.wanted(alone, &run)?;
    // without a coverage the search says it
    let asks_for_none = arguments.coverage.is_some() && arguments.top == Some(0);
    ensure(!asks_for_none, Argument::new("top"), 0, "at least 1")?;
    let sets = calibrated_sets(arguments, &run, among)?;
    let answer = |batch: &Split| match &sets {
        None => {
            let read = |member: &Member| read(batch, member);
            let top = arguments.top.unwrap_or(TOP);
            let answers = run.answer_queries(alone, read, among, wanted.as_ref(), top)?;
            let listed = |answer| ListedAnswer { answer, set_size: None };
            Ok::<_, Error>(answers.into_iter().map(listed).collect::<Vec<_>>())
        }
        Some(sets) => {
            let queries = run.predict(alone, |member| read(batch, member), among)?;
            // the size of a set is that of all of it
            let candidate_sets = run.candidate_sets(&queries, sets, usize::MAX)?.into_iter();
            let listed = |set: CandidateSet| ListedAnswer::from_set(set.answer, arguments.top);
            Ok(candidate_sets.map(listed).collect())
        }
    };
    loop {
        let batch = queries.batch(arguments.batch as usize)?;
        if batch.ids.is_empty() {
            // the header of a table without rows
            return print_part(&header).map(|_| ());
        }
        let answers = answer(&batch)?;
        let out = std::mem::take(&mut header) + &lines(arguments, &run, &table, &batch, &answers)?;
        if !print_part(&out)? {
            return Ok(());
        }
    }
}

/// Refuses annotated spectra of runs whose queries are no spectra or whose candidates are no molecules.
fn check_annotated(format: AnswerFormat, run: &Run) -> Result<(), Error> {
    let config = run.config();
    let holds = config.encoder.abilities().spectra && are_smiles(&run.members()[0].candidates);
    let allowed = "jsonl, tsv or csv: msp has spectra with the fragments of molecules";
    ensure(holds || format != AnswerFormat::Msp, Argument::new("format"), "msp", allowed)
}

/// Sets of candidates that are calibrated for the coverage, where one is given.
fn calibrated_sets(
    arguments: &Arguments,
    run: &Run,
    among: Option<&CandidateRule>,
) -> Result<Option<CandidateSets>, Error> {
    let Some(coverage) = arguments.coverage else { return Ok(None) };
    let file = arguments.calibration.as_deref();
    let data = arguments.data.as_deref();
    let sets = run.sets(&Processes::default(), coverage, file, among, data)?;
    let Calibration { on, queries, groups, caution, .. } = &sets.calibration;
    let queries = queries_text(*queries);
    let groups = groups.map_or(String::new(), |groups| {
        format!(" in {groups} groups, each of which counts as one")
    });
    let caution = caution.as_ref().map_or(String::new(), |caution| format!("; {caution}"));
    info!("sets of candidates are calibrated on {queries}{groups}: {on}{caution}");
    Ok(Some(sets))
}

/// Returns the answers to a batch of queries in the format of the output.
fn lines(
    arguments: &Arguments,
    run: &Run,
    table: &AnswerTable,
    batch: &Split,
    answers: &[ListedAnswer],
) -> Result<String, Error> {
    let Arguments { format, coverage, .. } = *arguments;
    let mut lines = String::new();
    for ((at, id), listed) in batch.ids.iter().enumerate().zip(answers) {
        let ListedAnswer { answer, set_size } = listed;
        let set_size = *set_size;
        let query = batch.inputs.texts().ok().map(|texts| texts[at].as_str());
        match format {
            AnswerFormat::Jsonl => {
                lines += &json_line(&Printed { id: Some(id), query, coverage, set_size, answer })?
            }
            AnswerFormat::Tsv | AnswerFormat::Csv => {
                let rows = table.rows(id, query, answer, set_size);
                lines.extend(rows.iter().filter_map(|row| Some(format.table()?.line(row))));
            }
            AnswerFormat::Msp => {
                let spectrum = run.spectrum(query.unwrap_or_default())?;
                lines += &annotated(id, &spectrum, answer, set_size)?;
            }
        }
    }
    Ok(lines)
}

/// How far a peak may be from the ion of a fragment, in millionths.
const TOLERANCE: f64 = 10.0;

/// Returns an entry of MSP for each candidate of a spectrum. A molecule that is too large to be broken explains nothing.
fn annotated(
    id: &str,
    spectrum: &Spectrum,
    answer: &Answer,
    set_size: Option<usize>,
) -> Result<String, Error> {
    // nothing explains a spectrum whose adduct is not known, which a caution says
    let explainer = PeakExplainer::new(spectrum, TOLERANCE).ok();
    let mut entries = String::new();
    for hit in &answer.hits {
        let Ok(molecule) = Molecule::parse(&hit.label) else { continue };
        let explanation = explainer.as_ref().and_then(|explainer| explainer.explain(&molecule));
        let explanation = explanation.unwrap_or_default();
        let largest = explainer.as_ref().map_or(1.0, PeakExplainer::largest_score);
        // an empty sum is -0
        let explained = explanation.score / largest + 0.0;
        let mut comments = vec![
            ("rank", hit.rank.to_string()),
            ("candidate", hit.id.clone()),
            ("score", hit.score.to_string()),
            ("explained", format!("{explained:.4}")),
        ];
        comments.extend(set_size.map(|size| ("set_size", size.to_string())));
        let entry = AnnotatedSpectrum {
            name: id,
            spectrum,
            smiles: &hit.label,
            molecule: &molecule,
            explanation: &explanation,
            comments: &comments,
        };
        entries += &entry.msp();
    }
    Ok(entries)
}
