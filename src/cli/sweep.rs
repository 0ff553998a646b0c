//! `dsokr sweep`: arguments become a study of several settings, whose table is printed.

use std::ops::Bound::{Excluded, Unbounded};
use std::path::PathBuf;

use crate::config::{Checked, Config, Override};
use crate::error::Error;
use crate::run::check_output;
use crate::studies::sweep::{Axis, Best, Sweep, SweepRequest};
use dsokr_nn::Processor;

use crate::cli::arguments::seconds;
use crate::cli::hints::check_configuration;
use crate::cli::output::{print, print_json};
use crate::cli::progress::Progress;
use crate::cli::{keep_pages, output, plot, signals};

/// Trains a configuration with different settings, and compares them on the validation split.
///
/// Every setting has a run directory of its own; finished ones are not trained again, so the same
/// command continues a sweep that was interrupted. The folder also gets the table (sweep.csv,
/// sweep.md, sweep.json) and a plot (sweep.svg). With the key seed or data.splits.seed, the table also has the mean and the
/// standard deviation of every metric over the seeds, and the mean chooses. Nothing is chosen on test pairs: a sweep over only
/// seeds chooses nothing, and evaluates evaluation.split.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    trainings: Trainings,
    /// A key and its values; repeated, all combinations are tried. With --random also a range:
    /// training.learning_rate=1e-4..1e-2:log draws logarithms. Whole ends give whole numbers, except of keys
    /// that have fractions. evaluation.metric, split and candidates are the same for all.
    #[arg(long = "grid", value_name = "SECTION.KEY=A,B,…", required = true)]
    axes: Vec<Axis>,
    /// Random search: number of settings that are drawn from the lists and ranges, at most 10000.
    #[arg(long, value_name = "N")]
    random: Option<usize>,
    /// Try the settings in their order, such as growing sizes of a sketch, until one takes more than so many seconds, and is
    /// not chosen, or is not better than the one before.
    #[arg(
        long,
        value_name = "SECONDS",
        conflicts_with = "random",
        value_parser = seconds((Excluded(0.0), Unbounded), "a number of seconds above 0")
    )]
    budget: Option<f64>,
}

/// Trainings of one configuration with different settings.
#[derive(clap::Args)]
pub struct Trainings {
    /// The configuration (TOML); see the book's page on the configuration.
    config: PathBuf,
    /// The folder of the runs; default: runs/NAME-sweep for dsokr sweep, runs/NAME-cv for dsokr cv.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Change a value of the configuration for all runs, or remove a table (=none); can be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    overrides: Vec<Override>,
    /// The data root; default: the environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
    /// Train even if the estimated memory exceeds what is available.
    #[arg(long)]
    force: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

impl Trainings {
    /// Returns the configuration that all of them share, and by which the process keeps its memory.
    pub fn base(&self) -> Result<Checked, Error> {
        check_configuration(&self.config)?;
        check_output("out", &self.out)?;
        let base = Config::load_with(&self.config, &self.overrides)?;
        keep_pages(base.encoder.abilities().trains_in_steps);
        Ok(base)
    }

    /// Returns the request for trainings of a configuration with all settings of the axes.
    pub fn request<'a>(&'a self, config: &'a Checked, axes: &'a [Axis]) -> SweepRequest<'a> {
        SweepRequest {
            config,
            axes,
            random: None,
            out: self.out.clone(),
            data: self.data.as_deref(),
            processor: self.device,
            force: self.force,
            budget: None,
        }
    }
}

/// Trains all settings, and shows how far it is.
pub fn train(request: &SweepRequest) -> Result<Sweep, Error> {
    let folder = request.place();
    signals::advise(move || {
        if !folder.exists() {
            return "nothing was saved; the same command starts again".into();
        }
        let folder = folder.display();
        format!("{folder} is kept with the runs that are complete; the same command goes on")
    });
    let sweep = request.run(&mut Progress::of(request.config))?;
    output::clear();
    Ok(sweep)
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { trainings, axes, random, budget } = arguments;
    let base = trainings.base()?;
    let random = *random;
    let budget = *budget;
    let sweep = train(&SweepRequest { random, budget, ..trainings.request(&base, axes) })?;
    plot::sweep(&sweep.path.join("sweep.svg"), &sweep)?;
    if trainings.json {
        return print_json(&sweep);
    }
    let mut text = format!("{}\n", sweep.markdown());
    text += &match sweep.best() {
        Some(Best::Run(run)) => format!("best: {}\n", run.path.display()),
        Some(Best::Setting(setting)) => format!("best: {setting}\n"),
        Some(Best::Undecided(reason)) => format!("no setting is chosen: {reason}\n"),
        None => String::new(),
    };
    print(&format!("{text}tables and plot: {}\n", sweep.path.display()))
}
