//! `dsokr sketch`: arguments become a study of sketch sizes, whose curves are printed and drawn.

use std::path::PathBuf;

use dsokr_basis::SketchKind;
use dsokr_core::{Argument, Processes};
use dsokr_data::DataRoot;

use crate::cli::output::{print, print_json};
use crate::cli::plot;
use crate::config::{Checked, Config, Override};
use crate::error::{Error, ensure};
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::table::Table;
use crate::studies::sketch::{Curve, Leverage, Point, SIZES, Study};

/// Recommends a sketch size.
///
/// Prints and plots, for growing sketch sizes, the validation figure of a perfect encoder (perfect h),
/// the spectrum of the kernel and leverage scores. For a kernel machine (encoder.kind =
/// "kernel-machine") it also fits the model for each size, so the power of a tempered kernel can be
/// chosen together with the size.
#[derive(clap::Args)]
#[cfg_attr(
    feature = "mpi",
    doc = "\nmpirun -np P dsokr sketch CONFIG divides the outputs among P processes."
)]
pub struct Arguments {
    /// Configurations (TOML), for example of several kernels; all need the same metric.
    #[arg(required = true)]
    configs: Vec<PathBuf>,
    #[arg(long, value_delimiter = ',', help = sizes_help())]
    sizes: Vec<usize>,
    /// Number of sketches drawn for each size.
    #[arg(long, default_value_t = 3)]
    draws: usize,
    #[arg(long, value_delimiter = ',', help = methods_help())]
    methods: Vec<String>,
    /// Powers of the tempered kernel, 0 to 1, one curve each; default: the configuration's.
    #[arg(long, value_delimiter = ',')]
    powers: Vec<f64>,
    /// λ of the leverage scores.
    #[arg(long, default_value_t = 1e-4)]
    lambda: f64,
    /// Change a value of every configuration; can be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    overrides: Vec<Override>,
    /// The data root; default: the environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The file of the figure, in SVG.
    #[arg(long, default_value = "sketch.svg")]
    plot: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Returns the help of `sizes`.
fn sizes_help() -> String {
    let sizes = SIZES.map(|size| size.to_string()).join(", ");
    format!(
        "Sketch sizes m, in increasing order; default: those of {sizes} up to the number of training outputs"
    )
}

/// Returns the help of `methods`.
fn methods_help() -> String {
    let kinds = SketchKind::all(1);
    let names: Vec<&str> = kinds.iter().map(SketchKind::name).collect();
    format!(
        "Kinds of sketches, one curve each: all, or some of {}; default: the configuration's",
        names.join(", ")
    )
}

/// The results of a study: the curves, and the file of their figure.
#[derive(serde::Serialize)]
struct StudyResults {
    plot: PathBuf,
    curves: Vec<Curve>,
    leverage: Vec<Leverage>,
}

pub fn run(processes: &Processes, arguments: &Arguments) -> Result<(), Error> {
    processes.of_first(|| plot::check_svg("plot", &arguments.plot))?;
    let mut configs: Vec<(Checked, DataRoot)> = Vec::new();
    for path in &arguments.configs {
        let config: Checked = Config::load_with(path, &arguments.overrides)?;
        let metric = config.evaluation.metric;
        let first = configs.first().map_or(metric, |(first, _)| first.evaluation.metric);
        let found = format_args!("{metric} in {}", path.display());
        let allowed = format_args!("{first}, as in the first configuration");
        ensure(first == metric, "evaluation.metric", found, allowed)?;
        let root = config.data_root(arguments.data.as_deref())?;
        configs.push((config, root));
    }
    let mut results =
        StudyResults { plot: arguments.plot.clone(), curves: Vec::new(), leverage: Vec::new() };
    for (config, root) in &configs {
        study(processes, arguments, config, root, &mut results)?;
    }
    let drawn = if processes.is_first() {
        plot::sketch_sizes(&arguments.plot, &results.curves, &results.leverage)
    } else {
        Ok(())
    };
    // results of hours are shown where they cannot be drawn
    if arguments.json {
        print_json(&results)?;
    } else {
        print(&table(&results))?;
    }
    drawn
}

/// Returns all curves of a configuration.
fn study(
    processes: &Processes,
    arguments: &Arguments,
    config: &Checked,
    root: &DataRoot,
    results: &mut StudyResults,
) -> Result<(), Error> {
    let study = Study::load(config, root)?.shared_by(processes);
    let methods = study.methods(&arguments.methods)?;
    let sizes = match arguments.sizes.as_slice() {
        [] => study.sizes(),
        sizes => sizes.to_vec(),
    };
    let powers = match arguments.powers.as_slice() {
        [] => vec![config.output.power],
        powers => powers.to_vec(),
    };
    let comparable = powers.len() <= 1 || !config.encoder.abilities().trains_in_steps;
    let allowed =
        "one power: they are compared by fitted models, for encoder.kind = \"kernel-machine\"";
    ensure(comparable, Argument::new("powers"), format!("{powers:?}"), allowed)?;
    for power in &powers {
        for method in &methods {
            let mut name = config.name.clone();
            if methods.len() > 1 {
                name += &format!(", {}", method.name());
            }
            if powers.len() > 1 {
                name += &format!(", power {power}");
            }
            let metric = config.evaluation.metric;
            let tell = |point: &Point| {
                let Point { size, seconds, draws, .. } = point;
                let figure = shown(&point.deciding(), draws.len());
                tracing::info!("{name}: m = {size}: {metric} {figure}, {seconds:.1} s");
            };
            let draws = arguments.draws;
            let curve = study.curve(method, *power, &sizes, draws, tell)?;
            results.curves.push(Curve { name, ..curve });
        }
    }
    let largest = sizes.iter().copied().max().unwrap_or_default();
    results.leverage.push(study.leverage(arguments.lambda, largest)?);
    Ok(())
}

/// Returns a figure over a number of draws: the mean and, of several, the deviation.
fn shown(figure: &MeanAndDeviation, draws: usize) -> String {
    let MeanAndDeviation { mean, deviation } = figure;
    if draws > 1 { format!("{mean:.4} ± {deviation:.4}") } else { format!("{mean:.4}") }
}

fn table(results: &StudyResults) -> String {
    let mut text = String::new();
    for curve in &results.curves {
        let Curve { name, metric, points, recommended, .. } = curve;
        let fitted = points.iter().any(|point| point.fitted.is_some());
        let perfect = if fitted { format!("{metric}, perfect h") } else { metric.clone() };
        let names = ["m", "rank", "residual"].map(String::from).into_iter().chain([perfect]);
        let mut table = Table::new(names.chain(fitted.then(|| "fitted".to_owned())), 0);
        for Point { size, rank, residual, perfect, fitted: fitted_spread, draws, .. } in points {
            let spread = |figures: &MeanAndDeviation| shown(figures, draws.len());
            let cells = [size.to_string(), format!("{rank:.1}"), format!("{residual:.5}")];
            let fitted_spread =
                fitted.then(|| fitted_spread.as_ref().map(spread).unwrap_or_default());
            table.push(cells.into_iter().chain([spread(perfect)]).chain(fitted_spread));
        }
        text += &format!("{name}\n{}", table.text());
        let alone = if points.len() == 1 { ", the only size that was tried" } else { "" };
        text += &format!("recommended: m = {recommended}{alone}\n\n");
    }
    for Leverage { name, lambda, dimension, lower_bound, scores, pilot } in &results.leverage {
        let at = |place: usize| scores.get(place - 1).map_or("-".into(), |s| format!("{s:.4}"));
        let [a, b, c, d, e] = [1, 50, 100, 200, 400].map(at);
        let at_least = if *lower_bound { "at least " } else { "" };
        text += &format!(
            "{name}: leverage scores at λ = {lambda} ({pilot} columns): effective dimension \
             {at_least}{dimension:.1}; 1st {a}, 50th {b}, 100th {c}, 200th {d}, 400th {e}\n"
        );
    }
    if results.curves.len() > 1 {
        text += &best(&results.curves);
    }
    text + &format!("plot: {}\n", results.plot.display())
}

/// Returns the best of several curves, at its recommended size; of equal ones the first.
fn best(curves: &[Curve]) -> String {
    let mean = |curve: &Curve| curve.best().map(|point| point.deciding().mean);
    let evaluated = curves.iter().filter_map(|curve| Some((curve, mean(curve)?)));
    let score = |(curve, mean): &(&Curve, f64)| if curve.larger_is_better { *mean } else { -mean };
    let evaluated: Vec<(&Curve, f64)> = evaluated.collect();
    let best = evaluated.iter().rev().max_by(|a, b| score(a).total_cmp(&score(b)));
    let Some((curve, mean)) = best else { return String::new() };
    let Curve { name, metric, recommended, method, power, .. } = curve;
    format!(
        "best: {name}, m = {recommended}: {metric} {mean:.4}; \
         sketch.method.kind = \"{}\", output.power = {power}\n",
        method.name()
    )
}
