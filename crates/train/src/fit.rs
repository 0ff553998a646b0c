//! From a configuration to a trained run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::tensor::Device;
use dsokr_basis::features::distinct;
use dsokr_basis::store::{self, Tensor};
use dsokr_basis::{Basis, Projection};
use dsokr_decode::{Candidates, Metrics, PerQuery, Pool, Rank};
use dsokr_nn::{BuiltIn, Model, parameters};
use tracing::info;

use crate::Error;
use crate::config::{Checked, SplitName};
use crate::data::{DataRoot, Dataset, Selected, Split};
use crate::prepare::Preparation;
use crate::run::{Folder, Report, new_model, rank};
use crate::trainer::{Observer, Task, embed, train};

/// Where a run goes, and whether it goes on.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The configuration.
    pub config: &'a Checked,
    /// Where its data lie.
    pub root: &'a DataRoot,
    /// The run directory, or where under `runs/` one is made.
    pub out: Option<&'a Path>,
    /// Go on with the run that is there; a run that is not there is started.
    pub resume: bool,
}

/// A trained run's directory and its final report.
pub struct Trained {
    /// The run directory.
    pub path: PathBuf,
    /// Metrics, chance and ceiling.
    pub report: Report,
}

/// Fits the basis, trains, and evaluates the best checkpoint.
///
/// # Errors
/// Everything in [`Error`]. Nothing is written before data, basis and inputs have been accepted.
pub fn run(request: &Request, observer: &mut dyn Observer) -> Result<Trained, Error> {
    let config = request.config;
    let path = place(request)?;
    let resumed = request.resume && path.exists();
    if resumed {
        unchanged(&path, config)?;
    }
    let dataset = Dataset::load(config, request.root)?;
    info!(
        train = dataset.train.ids.len(),
        validation = dataset.validation.ids.len(),
        outputs = dataset.outputs.ids.len(),
        candidates = dataset.outputs.candidates.len(),
        "data loaded"
    );
    let rows: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    let training_outputs = Selected::new(dataset.outputs.rows.as_ref(), &rows);
    let started = Instant::now();
    let sketch = &config.sketch;
    let basis = if resumed {
        Basis::load(&path.join("basis.safetensors"))?
    } else {
        let kernel = config.output.kernel.clone();
        Basis::fit(
            kernel,
            &training_outputs,
            &sketch.method,
            sketch.size,
            config.seed,
            sketch.tolerance,
        )?
    };
    let targets = basis.project(&training_outputs)?;
    let candidates = candidates(&basis, &dataset)?;
    info!(
        kernel = basis.kernel().name(),
        m = sketch.size,
        rank = basis.rank(),
        residual = mean(&targets.residuals),
        candidates = candidates.len(),
        distinct = candidates.distinct(),
        seconds = started.elapsed().as_secs_f64(),
        "basis fitted"
    );
    let judge = Judge::new(config, request.root, &dataset, &basis, &candidates)?;
    let preparation = if resumed {
        Preparation::load(&config.encoder, &path)?
    } else {
        Preparation::fit(&config.encoder, &dataset.train)?
    };
    let inputs = preparation.inputs(&dataset.train)?;
    let device = Device::flex().autodiff();
    let offset = mean_row(&targets.coordinates, basis.rank());
    let model = new_model(config, &basis, &preparation, &offset, &device);
    check_groups(config, &model)?;
    info!(parameters = burn::module::Module::num_params(&model), "model made");

    let data = fingerprint(&dataset, &targets, &candidates);
    let mut folder = if resumed {
        let folder = Folder::open(&path, &basis, &preparation)?;
        folder.check_data(&data)?;
        folder.tidy();
        folder
    } else {
        Folder::create(&path, config, &basis, &candidates, &preparation, &data)?
    };
    if let Some(report) = folder.report()? {
        info!(path = %path.display(), "the run is complete");
        return Ok(Trained { path, report });
    }
    let start = folder.checkpoint()?;
    folder.rewind_log(start.as_ref().map_or(0, |c| c.step))?;
    let validation = preparation.inputs(&dataset.validation)?;
    let validate = |model: &Model<BuiltIn>| {
        let z = embed(model, &validation, config.evaluation.batch);
        let ranks = judge.rank(SplitName::Validation, &z)?;
        Ok(judge.pool(SplitName::Validation).metrics(&ranks, &candidates)?)
    };
    let task = Task {
        config: &config.training,
        seed: config.seed,
        device: &device,
        inputs: &inputs,
        targets: &targets.coordinates,
        residuals: &targets.residuals,
        validate: &validate,
    };
    let outcome = train(&task, model, start, &mut folder, observer)?;
    let best = match outcome.best {
        Some(best) => best,
        None => folder.best()?,
    };
    let model = parameters::restore(outcome.model, &best)?;
    let report = judge.report(&model, &preparation)?;
    folder.finish(&report)?;
    Ok(Trained { path, report })
}

/// The run directory: `--out`, else `runs/<name>`, else with the first free number behind it; to
/// resume, the last one that exists.
fn place(request: &Request) -> Result<PathBuf, Error> {
    let taken = |path: &Path| path.exists();
    if let Some(out) = request.out {
        if taken(out) && !request.resume {
            return Err(Error::RunExists { path: out.into() });
        }
        return Ok(out.into());
    }
    let name = &request.config.name;
    let numbered = |i: usize| match i {
        1 => PathBuf::from("runs").join(name),
        _ => PathBuf::from("runs").join(format!("{name}-{i}")),
    };
    let free = (1..).find(|&i| !taken(&numbered(i))).unwrap_or(1);
    Ok(numbered(if request.resume { (free - 1).max(1) } else { free }))
}

/// A run goes on only under the configuration that it was started with.
fn unchanged(path: &Path, config: &Checked) -> Result<(), Error> {
    let before = Folder::config(path)?;
    let table = |config: &Checked| -> Result<toml::Table, Error> {
        let text = config.to_toml()?;
        text.parse().map_err(|e: toml::de::Error| Error::Serialise(e.to_string()))
    };
    let (before, now) = (table(&before)?, table(config)?);
    match difference("", &before, &now) {
        None => Ok(()),
        Some((key, found, given)) => {
            Err(Error::Changed { path: path.join("config.toml"), key, found, given })
        }
    }
}

fn difference(
    prefix: &str,
    before: &toml::Table,
    now: &toml::Table,
) -> Option<(String, String, String)> {
    let show = |v: Option<&toml::Value>| v.map_or("absent".to_string(), ToString::to_string);
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().find_map(|key| {
        let full = format!("{prefix}{key}");
        match (before.get(key), now.get(key)) {
            (Some(toml::Value::Table(a)), Some(toml::Value::Table(b))) => {
                difference(&format!("{full}."), a, b)
            }
            (a, b) if a == b => None,
            (a, b) => Some((full, show(a), show(b))),
        }
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What tells these data from any others: a run is resumed on those it was started with.
fn fingerprint(dataset: &Dataset, targets: &Projection, candidates: &Candidates) -> String {
    let splits = [&dataset.train, &dataset.validation];
    let texts = splits.map(|split| [split.ids.join("\0"), split.texts.join("\0")].join("\0"));
    let vectors = splits.map(|split| split.vectors.concat());
    let ids = candidates.ids().join("\0");
    let tensors = [
        Tensor::u8("train texts", &[texts[0].len()], texts[0].as_bytes()),
        Tensor::u8("validation texts", &[texts[1].len()], texts[1].as_bytes()),
        Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        Tensor::f32("train vectors", &[vectors[0].len()], &vectors[0]),
        Tensor::f32("validation vectors", &[vectors[1].len()], &vectors[1]),
        Tensor::f32("targets", &[targets.coordinates.len()], &targets.coordinates),
        Tensor::f32("candidates", &[candidates.coordinates().len()], candidates.coordinates()),
    ];
    store::checksum("data", 1, &BTreeMap::new(), &tensors)
}

/// A group that holds no parameter is a spelling mistake.
fn check_groups(config: &Checked, model: &Model<BuiltIn>) -> Result<(), Error> {
    let names: Vec<String> = parameters::names(model);
    for group in &config.training.groups {
        if !names.iter().any(|name| name.contains(&group.parameters)) {
            return Err(Error::Value {
                key: "training.groups.parameters".into(),
                found: format!("{:?}", group.parameters),
                allowed: format!("a part of one of {}", names.join(", ")),
            });
        }
    }
    Ok(())
}

/// The mean of the rows of `[n × p]`.
fn mean_row(rows: &[f32], p: usize) -> Vec<f32> {
    let mut sum = vec![0.0f64; p];
    for row in rows.chunks_exact(p) {
        sum.iter_mut().zip(row).for_each(|(s, v)| *s += f64::from(*v));
    }
    let n = (rows.len() / p).max(1) as f64;
    sum.into_iter().map(|s| (s / n) as f32).collect()
}

/// Projects each distinct candidate once, with the constants `b(c) = −½ k(c, c)` of decoding,
/// shifted by ½ for normalised kernels, where they then vanish (except for a zero row, which has
/// k(c, c) = 0).
fn candidates(basis: &Basis, dataset: &Dataset) -> Result<Candidates, Error> {
    let outputs = &dataset.outputs;
    let pool = Selected::new(outputs.rows.as_ref(), &outputs.candidates);
    let groups = distinct(&pool)?;
    let chosen: Vec<usize> = groups.representative.iter().map(|&i| outputs.candidates[i]).collect();
    let projected = basis.project(&Selected::new(outputs.rows.as_ref(), &chosen))?;
    let shift = if basis.kernel().is_normalised() { 0.5 } else { 0.0 };
    let constants = projected.squared_norms.iter().map(|k| (shift - 0.5 * k) as f32).collect();
    let pick = |all: &[String]| outputs.candidates.iter().map(|&i| all[i].clone()).collect();
    let (ids, labels) = (pick(&outputs.ids), pick(&outputs.labels));
    Ok(Candidates::new(ids, labels, groups.class, basis.rank(), projected.coordinates, constants)?)
}

/// Ranks splits, and knows their chance level and ceiling.
struct Judge<'a> {
    config: &'a Checked,
    dataset: &'a Dataset,
    basis: &'a Basis,
    candidates: &'a Candidates,
    /// Per-query candidate lists of each split, where the configuration names a file of them.
    lists: Vec<(SplitName, PerQuery)>,
}

impl<'a> Judge<'a> {
    fn new(
        config: &'a Checked,
        root: &DataRoot,
        dataset: &'a Dataset,
        basis: &'a Basis,
        candidates: &'a Candidates,
    ) -> Result<Self, Error> {
        let mut lists = Vec::new();
        let mut splits = vec![SplitName::Validation];
        splits.extend((config.evaluation.split == SplitName::Test).then_some(SplitName::Test));
        for name in splits {
            let Some(split) = dataset.split(name) else { continue };
            if let Some(file) = &config.evaluation.candidates {
                lists.push((name, PerQuery::read(&root.file(file), &split.ids, candidates)?));
            }
            // a missing gold is known now, not after the first epoch
            let pool = pool(&lists, name);
            let missing = config.evaluation.missing_gold;
            let gold = pool.gold(&split.ids, &split.ids, candidates, missing)?;
            let metric = config.training.metric;
            if metric.is_a_rank() && name == SplitName::Validation && gold.contains(&None) {
                return Err(Error::Value {
                    key: "training.metric".into(),
                    found: format!("{metric:?}"),
                    allowed: "mrr or hits, since ranks of validation queries are infinite".into(),
                });
            }
        }
        Ok(Self { config, dataset, basis, candidates, lists })
    }

    fn pool(&self, name: SplitName) -> Pool<'_> {
        pool(&self.lists, name)
    }

    fn split(&self, name: SplitName) -> &Split {
        self.dataset.split(name).unwrap_or(&self.dataset.validation)
    }

    fn rank(&self, name: SplitName, z: &[f32]) -> Result<Vec<Option<Rank>>, Error> {
        let ids = &self.split(name).ids;
        rank(ids, z, self.basis, self.candidates, self.pool(name), self.config)
    }

    /// Ranks with ψ̃(y) in the place of the model's answer; a query without output has rank ∞.
    fn perfect(&self, name: SplitName) -> Result<Vec<Option<Rank>>, Error> {
        let split = self.split(name);
        let known: Vec<usize> = split.outputs.iter().flatten().copied().collect();
        let outputs = Selected::new(self.dataset.outputs.rows.as_ref(), &known);
        let Projection { coordinates, .. } = self.basis.project(&outputs)?;
        let p = self.basis.rank();
        let mut rows = coordinates.chunks_exact(p);
        let mut z = vec![0.0; split.ids.len() * p];
        for (z, output) in z.chunks_exact_mut(p).zip(&split.outputs) {
            if let Some(row) = output.and_then(|_| rows.next()) {
                z.copy_from_slice(row);
            }
        }
        self.rank(name, &z)
    }

    fn report(&self, model: &Model<BuiltIn>, preparation: &Preparation) -> Result<Report, Error> {
        let name = self.config.evaluation.split;
        let inputs = preparation.inputs(self.split(name))?;
        let z = embed(model, &inputs, self.config.evaluation.batch);
        let ranks = self.rank(name, &z)?;
        let pool = self.pool(name);
        let metrics = pool.metrics(&ranks, self.candidates)?;
        Ok(Report {
            split: name,
            chance: Metrics::chance(&ranks, metrics.candidates, metrics.duplicate_candidates)?,
            perfect_h: pool.metrics(&self.perfect(name)?, self.candidates)?,
            metrics,
        })
    }
}

fn pool(lists: &[(SplitName, PerQuery)], name: SplitName) -> Pool<'_> {
    let own = lists.iter().find(|(split, _)| *split == name);
    own.map_or(Pool::Shared, |(_, list)| Pool::PerQuery(list))
}
