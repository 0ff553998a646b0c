//! `dsokr train`: arguments become a [`Request`], which is run, and its report is printed.

use std::path::{Path, PathBuf};

use dsokr_core::Processes;
use dsokr_data::config::OnBadRow;
use dsokr_data::{DataRoot, InputKind, SplitName};
use dsokr_nn::Processor;

use crate::cli::hints::check_configuration;
use crate::cli::output::{PROGRAM, print, print_json, quoted};
use crate::cli::progress::Progress;
use crate::cli::{keep_pages, output, plot, signals};
use crate::config::{Checked, Config, Override};
use crate::error::Error;
use crate::fit::{Request, Trained};
use crate::run::EmbeddingCurve;

/// Trains the model of a configuration, writes a run directory, and evaluates the best checkpoint.
#[derive(Default, clap::Args)]
#[cfg_attr(
    feature = "mpi",
    doc = "\nmpirun -np P dsokr train CONFIG divides each batch of a neural encoder, or the \
           inputs of a kernel machine with a sketch, among P processes."
)]
pub struct Arguments {
    /// The configuration (TOML); see the book's page on the configuration.
    pub config: PathBuf,
    /// The run directory; default: runs/NAME, or the first free one of runs/NAME-2, -3, …
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Continue from the last checkpoint of the run, if there is one.
    #[arg(long)]
    pub resume: bool,
    /// Change a value of the configuration, or remove a table (=none); can be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub overrides: Vec<Override>,
    /// What becomes of rows that cannot be read: stop ends the command at the first one; skip lists and counts them and goes on
    /// without them; skip-spectra skips mass spectra alone. The same as --set data.on_bad_row=…;
    /// default: what the configuration says, else skip-spectra.
    #[arg(long, value_name = "stop|skip|skip-spectra", value_parser = on_bad_row)]
    pub on_bad_row: Option<Override>,
    /// The data root; default: the environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    pub device: Processor,
    /// Print an estimate of the memory and the time, and train nothing.
    #[arg(long)]
    pub plan: bool,
    /// Train even if the estimated memory exceeds what is available.
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Sets what is said from now on of a run that is trained at a path, if a signal ends the training.
fn advise_to_resume(path: &Path, resumed: bool) {
    let path = path.to_owned();
    signals::advise(move || {
        if !path.exists() {
            return "nothing was saved; the same command starts again".into();
        }
        let command = if resumed {
            "the same command".to_owned()
        } else {
            format!("the same command with --out {} --resume", output::shell_path(&path))
        };
        format!("{} is kept as far as it came; {command} goes on", path.display())
    });
}

fn on_bad_row(text: &str) -> Result<Override, String> {
    text.parse::<OnBadRow>()?;
    format!("data.on_bad_row={text}").parse()
}

pub fn run(processes: &Processes, arguments: &Arguments) -> Result<(), Error> {
    check_configuration(&arguments.config)?;
    let overrides: Vec<Override> =
        arguments.overrides.iter().chain(&arguments.on_bad_row).cloned().collect();
    let config: Checked = Config::load_with(&arguments.config, &overrides)?;
    keep_pages(config.encoder.abilities().trains_in_steps);
    let root = config.data_root(arguments.data.as_deref())?;
    let request = Request {
        config: &config,
        root,
        out: arguments.out.clone(),
        resume: arguments.resume,
        processor: arguments.device,
        force: arguments.force,
    };
    if arguments.plan {
        let plans = request.plan()?;
        return if arguments.json {
            print_json(&plans)
        } else {
            print(&plans.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        };
    }
    let reserved = request.reserve(processes)?;
    advise_to_resume(reserved.path(), arguments.resume);
    let trained = reserved.run(&mut Progress::of(&config))?;
    output::clear();
    let first = processes.is_first();
    if first && let Some(curve) = EmbeddingCurve::read(trained.path())? {
        plot::embedding(&trained.path().join("embedding.svg"), &curve)?;
    }
    let report = &trained.report;
    if arguments.json {
        trained.advice.iter().for_each(|line| tracing::warn!("advice: {line}"));
        return print_json(report);
    }
    let path = trained.path().display();
    let advice: String = trained.advice.iter().map(|line| format!("advice: {line}\n")).collect();
    let advice = if advice.is_empty() { advice } else { format!("\n{advice}") };
    let next = next_command(&config, &request.root, &trained);
    print(&format!("\n{report}\nrun directory: {path}\ntry: {next}\n{advice}"))
}

/// Returns the command that asks a trained run first: by a text of its data, else by a file that the training has read.
fn next_command(config: &Checked, root: &DataRoot, trained: &Trained) -> String {
    let program = &*PROGRAM;
    let run = output::shell_path(trained.path());
    if let Some(text) = &trained.example {
        return format!("{program} search {run} {}", quoted(text));
    }
    let abilities = config.encoder.abilities();
    let splits = [SplitName::Test, SplitName::Validation];
    let files = splits.map(|split| config.data.files_of_split(split));
    let file = files.concat().first().map(|name| output::shell_path(&root.file(name)));
    match (abilities.reads, file) {
        (InputKind::Texts, Some(file)) if abilities.spectra => {
            format!("{program} predict {run} {file}")
        }
        (InputKind::Vectors, Some(file)) => format!("{program} predict {run} {file}"),
        (InputKind::Kernels, Some(file)) => format!("{program} evaluate {run} --queries {file}"),
        (InputKind::Texts | InputKind::Vectors | InputKind::Kernels, _) => {
            format!("{program} evaluate {run}")
        }
    }
}
