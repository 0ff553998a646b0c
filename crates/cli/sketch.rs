use std::path::PathBuf;

use dsokr_train::Error;
use dsokr_train::config::{self, Checked, Override};
use dsokr_train::data::DataRoot;
use dsokr_train::sketch::{Curve, Point, curve};

use crate::{plot, print, print_json};

/// Says how large a sketch should be: what a perfect encoder would reach on the validation split
/// (perfect h), for growing sketch sizes; prints a table and draws a plot.
#[derive(clap::Args)]
pub struct Arguments {
    /// Configurations (TOML), one curve each, e.g. of several kernels; all with the same metric.
    #[arg(required = true)]
    configs: Vec<PathBuf>,
    /// Sketch sizes m, increasing.
    #[arg(long, value_delimiter = ',', default_value = "10,20,50,100,200,400")]
    sizes: Vec<usize>,
    /// Sketches drawn of each size.
    #[arg(long, default_value_t = 3)]
    draws: usize,
    /// Change a value of every configuration; may be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    overrides: Vec<Override>,
    /// The data root; by default the variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The plot, an SVG file.
    #[arg(long, default_value = "sketch.svg")]
    plot: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct Curves {
    plot: PathBuf,
    curves: Vec<Curve>,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let mut configs: Vec<(Checked, DataRoot)> = Vec::new();
    for path in &arguments.configs {
        let config: Checked = config::load(path, &arguments.overrides)?;
        if let Some((first, _)) = configs.first()
            && first.training.metric != config.training.metric
        {
            return Err(Error::Value {
                key: "training.metric".into(),
                found: format!("{} in {}", config.training.metric, path.display()),
                allowed: format!("{}, as in the first configuration", first.training.metric),
            });
        }
        let root = DataRoot::find(&config.data.folder, Some(path), arguments.data.as_deref())?;
        configs.push((config, root));
    }
    let mut curves = Vec::new();
    for (config, root) in &configs {
        let tell = |point: &Point| {
            let Point { size, mean, deviation, seconds, .. } = point;
            let metric = config.training.metric;
            tracing::info!(
                "{}: m = {size}: {metric} {mean:.4} ± {deviation:.4}, {seconds:.1} s",
                config.name
            );
        };
        curves.push(curve(config, root, &arguments.sizes, arguments.draws, tell)?);
    }
    plot::sketch_sizes(&arguments.plot, &curves)?;
    let curves = Curves { plot: arguments.plot.clone(), curves };
    if arguments.json {
        return print_json(&curves);
    }
    let mut text = String::new();
    for curve in &curves.curves {
        let Curve { name, metric, points, recommended, .. } = curve;
        text += &format!("{name}\n{:>8} {:>8} {:>10} {:>18}\n", "m", "rank", "residual", metric);
        for Point { size, rank, residual, mean, deviation, .. } in points {
            let figure = format!("{mean:.4} ± {deviation:.4}");
            text += &format!("{size:>8} {rank:>8.1} {residual:>10.5} {figure:>18}\n");
        }
        text += &format!("recommended: m = {recommended}\n\n");
    }
    print(&format!("{text}plot: {}\n", curves.plot.display()))
}
