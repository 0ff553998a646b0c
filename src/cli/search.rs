//! `dsokr search`: ranks the candidates for a text, or for each text that is typed.

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use dsokr_core::Processes;
use dsokr_data::InputKind;
use dsokr_data::table::{TextFormat, TextReader};
use dsokr_nn::Processor;

use crate::cli::answers;
use crate::cli::answers::Printed;
use crate::cli::arguments::{BeyondArguments, FilterArguments, checked, on_bad_text};
use crate::cli::hints::{check_order, check_runs};
use crate::cli::output::{PROGRAM, json_line, print, print_error, print_part, shell_path};
use crate::config::candidate_rule::CandidateRule;
use crate::error::Error;
use crate::run::{Member, Run, WantedCandidates};

/// Ranks the candidates for one text, or for each text that is typed.
///
/// Without a text, a terminal gets a prompt that stays until Ctrl-D; other input is read one text a line.
#[derive(Default, clap::Args)]
#[cfg_attr(
    feature = "mpi",
    doc = "\nmpirun -np P dsokr search RUN TEXT divides the candidates among P processes."
)]
pub struct Arguments {
    /// The run directory of a model or an ensemble.
    run: PathBuf,
    /// The query, a text; default: the texts of standard input.
    text: Option<String>,
    /// Number of candidates to show.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// The folder with the shards of the run's candidates; default: for several processes, shards in the run directory; for
    /// one process, none.
    #[arg(long, value_name = "FOLDER")]
    shards: Option<PathBuf>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
    /// Rank for a spectrum only candidates with the precursor's mass (mass:PPM), or of the formula that it names (formula), or
    /// all; default: mass:10 where candidates are molecules.
    #[arg(long, value_name = "mass:PPM|formula|all")]
    candidates: Option<CandidateRule>,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    beyond: BeyondArguments,
    /// Print one JSON object a text.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Creates the arguments that ask a run for a text.
    pub fn new(run: PathBuf, text: &str, top: usize) -> Self {
        Self { run, text: Some(text.to_owned()), top, ..Self::default() }
    }
}

pub fn run(processes: &Processes, arguments: &Arguments) -> Result<(), Error> {
    check_order(&arguments.run, arguments.text.as_deref())?;
    check_runs(std::slice::from_ref(&arguments.run))?;
    if let Some(rule) = &arguments.candidates {
        rule.check_search()?;
    }
    let device = arguments.device.open_for(processes)?;
    let runs = std::slice::from_ref(&arguments.run);
    let run = Run::open_shared(processes, runs, arguments.shards.as_deref(), None, &device)?;
    // the answers have them
    let run = run.with_beyond(arguments.beyond.beyond.as_ref())?.without_cautions_in_log();
    let wanted = arguments.filter.wanted(processes, &run)?;
    check_reads_texts(&run, &arguments.run)?;
    let among = run.rule_of_search(arguments.candidates.as_ref())?;
    let search =
        Search { processes, arguments, run: &run, among: among.as_ref(), wanted: wanted.as_ref() };
    match &arguments.text {
        Some(text) => print(&search.answer(text)?),
        None if std::io::stdin().is_terminal() && processes.size() == 1 => prompt(&search),
        None => lines(&search),
    }
}

/// Refuses a run that reads no texts, with the command that asks it.
fn check_reads_texts(run: &Run, path: &Path) -> Result<(), Error> {
    let path = shell_path(path);
    let (read, command) = match run.members()[0].config.encoder.abilities().reads {
        InputKind::Texts => return Ok(()),
        InputKind::Vectors => ("feature vectors", format!("predict {path} FILE.npy")),
        InputKind::Kernels => ("values of kernels", format!("evaluate {path} --queries FILE")),
    };
    let program = &*PROGRAM;
    let allowed = format_args!("{read}, which this model reads: `{program} {command}` asks it");
    Err(Error::value("the inputs", "texts", allowed))
}

/// What each text is asked of.
struct Search<'s> {
    processes: &'s Processes,
    arguments: &'s Arguments,
    run: &'s Run,
    /// The rule that leaves each query its candidates, if there is one.
    among: Option<&'s CandidateRule>,
    wanted: Option<&'s WantedCandidates>,
}

impl Search<'_> {
    /// Returns the answer to a text as it is printed.
    fn answer(&self, text: &str) -> Result<String, Error> {
        let Self { processes, arguments, run, among, wanted } = *self;
        let read = |member: &Member| member.texts(&[text]);
        let answers = run.answer_queries(processes, read, among, wanted, arguments.top)?;
        let answer = answers.into_iter().next().unwrap_or_default();
        if arguments.json {
            let id = None;
            let query = Some(text);
            let coverage = None;
            json_line(&Printed { id, query, coverage, set_size: None, answer: &answer })
        } else {
            Ok(answers::text(&answer, among, wanted, run.candidates()))
        }
    }
}

/// Answers the lines of a terminal, which edits them; a wrong line is reported and forgotten.
fn prompt(search: &Search) -> Result<(), Error> {
    eprint!("{} candidates; type a text and Enter; Ctrl-D ends\n> ", search.run.candidates());
    for line in std::io::stdin().lines() {
        let answer = match line {
            Ok(text) if text.trim().is_empty() => Ok(String::new()),
            Ok(text) => search.answer(text.trim()),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Err(Error::value("the text", "bytes that are not UTF-8", "UTF-8"))
            }
            Err(error) => return Err(Error::io(Path::new("standard input"))(error)),
        };
        match answer {
            Ok(text) if !print_part(&text)? => return Ok(()),
            Ok(_) => {}
            Err(error) => print_error(format_args!("error: {error}")),
        }
        eprint!("> ");
    }
    eprintln!();
    Ok(())
}

/// Answers each line of standard input.
fn lines(search: &Search) -> Result<(), Error> {
    let processes = search.processes;
    // rank 0 reads for all
    let name = Path::new("standard input");
    let stream = std::io::stdin().lock();
    let texts = || {
        let first = &search.run.members()[0];
        let on_bad_row = on_bad_text(first);
        let texts = TextReader::new(name, stream, TextFormat::Lines, "text", None, on_bad_row)?;
        Ok::<_, Error>(checked(texts, first, search.among))
    };
    let mut texts = processes.is_first().then(texts).transpose()?;
    loop {
        let row = texts.as_mut().map(|texts| texts.batch(1)).transpose()?;
        let row = row.into_iter().flatten().next();
        // an empty text ends it; no line of the input is empty
        let text =
            processes.broadcast(|| row.map_or_else(Vec::new, |row| row.text.into_bytes()))?;
        let text = String::from_utf8_lossy(&text);
        if text.is_empty() {
            return Ok(());
        }
        if !print_part(&search.answer(text.trim())?)? {
            texts = None;
        }
    }
}
