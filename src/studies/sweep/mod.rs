//! Trainings of one configuration with different settings, compared on the validation split.

mod axis;
mod best;
mod folds;
mod measured;
mod plan;
mod seeds;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dsokr_core::Argument;
use dsokr_core::store::Tensor;
use dsokr_data::SplitName;
use dsokr_nn::Processor;
use dsokr_train::Observer;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use self::plan::{Plan, PlannedRun};
use self::seeds::over_seeds;
use crate::config::{Checked, Override};
use crate::error::Error;
use crate::fit::Request;
use crate::metrics::metric::Metric;
use crate::run_dir::{Report, RunDir, RunLock, check_link, fingerprint_of};

pub use axis::{Axis, AxisValues, Setting, grid, random};
pub use best::{Best, BestSetting};
pub use folds::{CrossValidation, compare_folds};
pub use seeds::SeedSpread;

/// The keys of several trainings of one setting.
const SEED: &str = "seed";
const SPLITS_SEED: &str = "data.splits.seed";
const FOLD_SEED: &str = "data.fold.seed";
const HELD: &str = "data.fold.held";

/// Returns whether runs that differ in this key only repeat one setting.
fn repeats(key: &str) -> bool {
    [SEED, SPLITS_SEED, FOLD_SEED, HELD].contains(&key)
}

/// The longest name of a setting's run directory.
const LONGEST: usize = 100;

/// A configuration, the settings that are tried, and where their runs go.
#[derive(Clone, Debug)]
pub struct SweepRequest<'a> {
    /// The configuration, with what all settings share.
    pub config: &'a Checked,
    /// The keys and their values.
    pub axes: &'a [Axis],
    /// The number of settings that are drawn; none for all combinations.
    pub random: Option<usize>,
    /// The folder of the runs (default: `runs/NAME-sweep`).
    pub out: Option<PathBuf>,
    /// The data root, as in [`Checked::data_root`].
    pub data: Option<&'a Path>,
    /// The device on which models are trained.
    pub processor: Processor,
    /// Whether models are trained even if the estimated memory exceeds what is available.
    pub force: bool,
    /// The most seconds that a run may take: settings are tried in their order until one takes more, which fails, or is not
    /// better than the one before. So the size of an input sketch is chosen by validation error under a budget of time
    /// (slides on SISOKR, selection of m_X).
    pub budget: Option<f64>,
}

/// The runs of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The folder of the runs.
    pub path: PathBuf,
    /// The split that the runs are evaluated on.
    pub split: SplitName,
    /// The metric that chooses, `evaluation.metric`.
    pub metric: String,
    /// Whether a larger value is a better one.
    pub larger_is_better: bool,
    /// The keys that differ.
    pub keys: Vec<String>,
    /// The runs, best first; those that failed are last.
    pub runs: Vec<SweepRun>,
    /// Every metric over the runs that only repeat each setting: over `seed`, `data.splits.seed`, and the seeds and parts of
    /// `data.fold`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<SeedSpread>,
    /// Why the values choose no setting: some are measured on other queries, right outputs or candidates than others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
}

/// The run of a setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepRun {
    /// The values of the keys in the run's configuration, in their order.
    pub setting: Vec<String>,
    /// The run directory.
    pub path: PathBuf,
    /// The metric that chooses; none if the training failed or the metric is not known.
    pub value: Option<f64>,
    /// Its 95 % interval, low and high.
    pub ci95: Option<[f64; 2]>,
    /// All metrics of the split.
    pub metrics: BTreeMap<String, f64>,
    /// How long training and evaluation took, where this is known, with what was logged of a training before it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Why the training failed, or that it took more than the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Returns whether a sweep over these keys chooses a run.
fn chooses(keys: &[String]) -> bool {
    !keys.iter().all(|key| repeats(key))
}

/// Logs which setting of how many is trained, and the time that is left if `each` takes so long.
fn announce(setting: &Setting, at: usize, count: usize, each: Duration) {
    let settings = u32::try_from(count - at).unwrap_or(u32::MAX);
    let left = match each.saturating_mul(settings).as_secs() {
        0 => String::new(),
        seconds => format!("; about {seconds} s left"),
    };
    info!("setting {} of {count}: {}{left}", at + 1, title(setting));
}

impl SweepRequest<'_> {
    /// Returns the folder of the runs: [`out`](Self::out), else `runs/<name>-sweep`.
    pub fn place(&self) -> PathBuf {
        let default = || PathBuf::from("runs").join(format!("{}-sweep", self.config.name));
        self.out.clone().unwrap_or_else(default)
    }

    /// Trains every setting in a folder of its own, and writes `sweep.csv`, `sweep.md` and `sweep.json`
    /// next to them. Where the folder has a sweep over other keys, the tables have the keys of both, with the values of the
    /// configuration where a sweep did not set them.
    ///
    /// Every setting is evaluated on the validation split only, whatever `evaluation.split` says, so that nothing is
    /// chosen on test pairs. A sweep in which only seeds and parts differ chooses nothing, and is evaluated on `evaluation.split`. A run
    /// that is finished is not trained again, and one that was interrupted goes on: the same request continues a sweep, and other values extend it. The tables keep
    /// the runs of an earlier sweep in the folder. A training that diverges is listed as failed.
    ///
    /// # Errors
    /// Settings that are not valid, keys that say how runs are evaluated, and a folder with a sweep of a different configuration,
    /// before any training; a table that has changed since another run of the folder has learned from it, before the training of
    /// each setting; runs that are measured on other queries or candidates than others, whose files have changed; a folder into
    /// which another process writes a sweep; errors of a training.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Sweep, Error> {
        let base = self.config;
        self.axes.iter().try_for_each(check_key)?;
        let settings = match self.random {
            Some(count) => random(&of_type(self.axes, base)?, count, base.seed)?,
            None => grid(self.axes)?,
        };
        let path = self.checked_place()?;
        // another process would read the tables as they are now, and write its own over those that this one writes
        let _lock = RunLock::take_of_sweep(&path)?;
        let mut plan = self.plan(path, settings)?;
        for at in 0..plan.planned.len() {
            if let Some(reason) = self.add_run(&mut plan, at, observer)? {
                info!("no further settings: {reason}");
                break;
            }
        }
        let sweep = self.sweep(&plan);
        sweep.write()?;
        if let Some(line) = sweep.tie() {
            info!("{line}");
        }
        Ok(sweep)
    }

    /// Returns the folder of the runs, whose path a table can hold.
    fn checked_place(&self) -> Result<PathBuf, Error> {
        let path = self.place();
        check_link("out", &path)?;
        if path.to_str().is_none() {
            let allowed =
                "a path that is UTF-8, as sweep.json, which names the folders of its runs";
            return Err(Error::value(Argument::new("out"), path.display(), allowed));
        }
        Ok(path)
    }

    /// Trains the setting at a position of the plan, or goes on, and adds its run to the others; why the settings behind it are
    /// not tried, if they are not.
    fn add_run(
        &self,
        plan: &mut Plan,
        at: usize,
        observer: &mut dyn Observer,
    ) -> Result<Option<String>, Error> {
        let PlannedRun { setting, config, out } = &plan.planned[at];
        let metric = self.config.evaluation.metric;
        announce(setting, at, plan.planned.len(), plan.times.mean());
        let started = Instant::now();
        let is_new = RunDir::at(out).report()?.is_none();
        // what an interrupted training has taken
        let before = if is_new { RunDir::at(out).logged_seconds()? } else { 0.0 };
        if is_new {
            plan.measured.check_tables(out, config, &config.data_root(self.data)?)?;
        }
        let report = self.train(config, out, observer)?;
        let setting = with_keys(setting, &plan.keys, config)?;
        let seconds = if is_new {
            let elapsed = started.elapsed();
            plan.times.add(elapsed);
            Some(before + elapsed.as_secs_f64())
        } else {
            plan.before.seconds(out)?
        };
        let run = SweepRun::from_report(setting, out.clone(), metric, report);
        let run = SweepRun { seconds, ..run };
        let last = at.checked_sub(1).and(plan.runs.last());
        let (run, ended) = self.within_budget(run, last, metric);
        plan.runs.push(run);
        if is_new {
            // before it is put beside runs that are measured on others
            plan.measured.add(out, config)?;
            // a sweep that is interrupted keeps the time of each run
            self.sweep(plan).write()?;
        }
        Ok(ended)
    }

    /// Returns the sweep of the runs so far, with the earlier ones that are not among them.
    fn sweep(&self, plan: &Plan) -> Sweep {
        let Plan { path, split, keys, earlier, measured, .. } = plan;
        let metric = self.config.evaluation.metric;
        let mut runs = with_earlier(&plan.runs, earlier);
        let undecided = measured.undecided().filter(|_| chooses(keys)).map(str::to_owned);
        let seeds = over_seeds(keys, &runs);
        runs.sort_by(|a, b| b.order(metric).total_cmp(&a.order(metric)));
        Sweep {
            path: path.clone(),
            split: *split,
            metric: metric.to_string(),
            larger_is_better: metric.larger_is_better(),
            keys: keys.clone(),
            runs,
            seeds,
            undecided,
        }
    }

    /// Trains a setting in its folder, or goes on; its report, or what is wrong with a training that diverged.
    fn train(
        &self,
        config: &Checked,
        out: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Result<Report, String>, Error> {
        let request = Request {
            config,
            root: config.data_root(self.data)?,
            out: Some(out.to_path_buf()),
            resume: true,
            processor: self.processor,
            force: self.force,
        };
        match request.run(observer) {
            Ok(trained) => Ok(Ok(trained.report)),
            Err(Error::Train(error @ dsokr_train::Error::Diverged { .. })) => {
                warn!("{error}");
                Ok(Err(error.to_string()))
            }
            Err(Error::Changed { path, key, found, given, .. }) => {
                let out = Argument::new("out");
                let hint = format!(
                    "; the runs of a folder have one configuration: choose a different folder with {out}"
                );
                Err(Error::Changed { path, key, found, given, hint })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a run, which fails where it took more than the budget, and what ends the sweep: that, or that it is not better
    /// than the one before.
    fn within_budget(
        &self,
        mut run: SweepRun,
        before: Option<&SweepRun>,
        metric: Metric,
    ) -> (SweepRun, Option<String>) {
        let Some(budget) = self.budget else { return (run, None) };
        let seconds = run.seconds.filter(|&seconds| seconds > budget);
        let late = seconds.map(|seconds| format!("took {seconds:.1} s, of a budget of {budget} s"));
        if late.is_some() {
            (run.value, run.ci95, run.failure) = (None, None, late.clone());
            return (run, late);
        }
        let flat = before.is_some_and(|before| run.order(metric) <= before.order(metric));
        (run, flat.then(|| format!("{metric} is not better than before")))
    }

    /// Returns the configuration of a setting.
    fn config_of(&self, setting: &Setting, split: SplitName) -> Result<Checked, Error> {
        let given = setting.iter().filter(|(_, value)| !value.is_empty());
        let setting = given.map(|(key, value)| Override::new(key, value));
        let changes = setting.chain([Override::new("evaluation.split", split)]);
        self.config.with_values_of("grid", &changes.collect::<Vec<_>>())
    }
}

impl SweepRun {
    fn from_report(
        setting: Vec<String>,
        path: PathBuf,
        metric: Metric,
        report: Result<Report, String>,
    ) -> Self {
        let mut run = Self { setting, path, ..Self::default() };
        match report {
            Err(failure) => run.failure = Some(failure),
            Ok(report) => {
                let measured = Metric::measured_in(&report.metrics);
                run.metrics =
                    measured.map(|(metric, value)| (metric.name().to_owned(), value)).collect();
                // a metric that is not known otherwise still chooses
                let value = metric.value(&report.metrics);
                run.value = Some(value).filter(|value| value.is_finite());
                run.ci95 = report.intervals.get(metric.name()).copied();
            }
        }
        run
    }

    /// Returns a number that is larger for a better run.
    fn order(&self, metric: Metric) -> f64 {
        match (self.value, metric.larger_is_better()) {
            (Some(value), true) => value,
            (Some(value), false) => -value,
            (None, _) => f64::NEG_INFINITY,
        }
    }
}

/// Refuses a key that says how all runs are evaluated: runs with two values of it cannot be compared.
fn check_key(axis: &Axis) -> Result<(), Error> {
    let parts: Vec<&str> = axis.key.split('.').map(str::trim).collect();
    let because = match parts.as_slice() {
        ["evaluation"] => {
            "the runs of a sweep are evaluated in one way, so give it for all of them"
        }
        ["evaluation", "metric"] => {
            "the runs of a sweep are compared by one metric, so give it for all of them"
        }
        ["evaluation", "split"] => {
            "the runs of a sweep are evaluated on the validation split, or where they only repeat one setting on that of the \
             configuration, so give it for all of them"
        }
        ["evaluation", "candidates"] => {
            "the runs of a sweep are ranked among the same candidates, so give them for all of them"
        }
        [..] => return Ok(()),
    };
    let set = Argument::new("set");
    Err(Error::refused(Argument::new("grid"), &axis.key, format_args!("{because} with {set}")))
}

/// Returns runs, and behind them those of `earlier` that are not among them.
fn with_earlier(runs: &[SweepRun], earlier: &[SweepRun]) -> Vec<SweepRun> {
    let is_other = |run: &&SweepRun| runs.iter().all(|other| other.path != run.path);
    runs.iter().chain(earlier.iter().filter(is_other)).cloned().collect()
}

/// Returns the values of all keys in the configuration of a setting, so that one value is written in one way. Of a key that
/// is left out there it is what the setting has, such as `none`, or empty.
fn with_keys(setting: &Setting, keys: &[String], config: &Checked) -> Result<Vec<String>, Error> {
    let table = config.to_table()?;
    let value = |key: &String| match at(&table, key) {
        Some(value) => text_of(value),
        None => {
            let given = setting.iter().find(|(name, _)| name == key);
            given.map(|(_, value)| value.clone()).unwrap_or_default()
        }
    };
    Ok(keys.iter().map(value).collect())
}

/// Returns a value as `--grid` reads it.
fn text_of(value: &toml::Value) -> String {
    match value {
        toml::Value::Float(number) if number.is_finite() => format!("{number:?}"),
        toml::Value::String(text) => {
            let is_other = format!("value = {text}").parse::<toml::Table>().is_ok();
            let plain = !is_other && !text.is_empty() && text.trim() == text;
            if plain { text.clone() } else { value.to_string() }
        }
        value => value.to_string(),
    }
}

/// Returns the value of a key such as `training.epochs`.
fn at<'a>(table: &'a toml::Table, key: &str) -> Option<&'a toml::Value> {
    let mut parts = key.split('.').map(str::trim);
    let value = parts.next().and_then(|first| table.get(first));
    parts.fold(value, |value, part| value?.get(part))
}

/// Returns axes whose ranges have fractions where the key has, also if both ends are whole.
fn of_type(axes: &[Axis], base: &Checked) -> Result<Vec<Axis>, Error> {
    let table = base.to_table()?;
    let of_type = |axis: &Axis| {
        let value = at(&table, &axis.key);
        let mut axis = axis.clone();
        if let AxisValues::Range { whole, .. } = &mut axis.values {
            *whole &= !value.is_some_and(toml::Value::is_float);
        }
        axis
    };
    Ok(axes.iter().map(of_type).collect())
}

fn title(setting: &Setting) -> String {
    let parts: Vec<String> = setting.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.join(",")
}

/// Returns the folder of a setting: its title, or a part of it with a checksum where the title is too long or
/// has characters that folders should not have.
fn folder(setting: &Setting) -> String {
    let title = title(setting);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=+".contains(c);
    if title.len() <= LONGEST && title.chars().all(plain) {
        return title;
    }
    let whole = [Tensor::u8("setting", &[title.len()], title.as_bytes())];
    let sum = fingerprint_of("setting", &whole);
    let kept: String = title.chars().filter(|&c| plain(c)).take(LONGEST).collect();
    format!("{kept}-{sum}")
}
