//! From a configuration to a trained run.

mod embedding;
mod ensemble;
mod hubs;
mod lipschitz;
mod machine;
mod network;
mod placed;
pub(crate) mod solver;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_basis::features::{DenseRows, distinct};
use dsokr_basis::store::{self, Tensor};
use dsokr_basis::{Basis, Features, RowKind, RowSource, SketchKind, SketchOptions};
use dsokr_decode::Candidates;
use tracing::{info, warn};

use crate::config::{Checked, EncoderConfig};
use crate::device::Processor;
use crate::run::{BASIS, Folder, Prepared, Report};
use crate::trainer::Observer;
use crate::{Error, Recipe};
use dsokr_data::{DataRoot, Dataset, Outputs, Selected};

/// Where a run goes, and whether it goes on.
#[derive(Clone, Debug)]
pub struct Request<'a, R = EncoderConfig> {
    /// The configuration.
    pub config: &'a Checked<R>,
    /// Where its data lie.
    pub root: &'a DataRoot,
    /// The run directory, or where under `runs/` one is made.
    pub out: Option<&'a Path>,
    /// Go on with the run that is there; a run that is not there is started.
    pub resume: bool,
    /// Where the model is trained.
    pub processor: Processor,
}

impl<'a, R> Request<'a, R> {
    /// A new run under `runs/`, trained on the CPU.
    pub fn new(config: &'a Checked<R>, root: &'a DataRoot) -> Self {
        Self { config, root, out: None, resume: false, processor: Processor::Cpu }
    }
}

/// A trained run's directory and its final report.
pub struct Trained {
    /// The run directory.
    pub path: PathBuf,
    /// Metrics, chance and ceiling.
    pub report: Report,
}

/// A request whose data have been read.
struct Job<'a, R> {
    request: &'a Request<'a, R>,
    config: &'a Checked<R>,
    /// The run directory.
    path: PathBuf,
    /// Whether it is there, and goes on.
    resumed: bool,
    dataset: Dataset,
}

/// Fits the basis, trains, and evaluates the best checkpoint; or fits a kernel machine.
///
/// # Errors
/// Everything in [`Error`]. Nothing is written before data, basis and inputs have been accepted.
pub fn run<R: Recipe>(request: &Request<R>, observer: &mut dyn Observer) -> Result<Trained, Error> {
    let config = request.config;
    let path = place(request)?;
    if let Some(settings) = &config.ensemble {
        return ensemble::run(request, settings, path, observer);
    }
    let resumed = request.resume && path.exists();
    if resumed {
        unchanged(&path, config)?;
    }
    // a device that is not there is said before data are read
    let device = request.processor.open()?;
    if config.encoder.ridge().is_some() && request.processor != Processor::Cpu {
        let (device, message) = (request.processor.to_string(), "kernel machines need the CPU");
        return Err(Error::Device { device, message: message.into() });
    }
    let dataset = config.source().load(request.root)?;
    info!(
        train = dataset.train.ids.len(),
        validation = dataset.validation.ids.len(),
        outputs = dataset.outputs.ids.len(),
        candidates = dataset.outputs.candidates.len(),
        "data loaded"
    );
    let job = Job { request, config, path, resumed, dataset };
    match config.encoder.ridge() {
        Some(settings) => machine::run(job, settings, observer),
        None => network::run(job, device, observer),
    }
}

impl<R: Recipe> Job<'_, R> {
    /// The outputs of the training pairs, as indices.
    fn training_outputs(&self) -> Vec<usize> {
        self.dataset.train.outputs.iter().flatten().copied().collect()
    }

    /// The outputs that embeddings are learned from beside predictions, as indices.
    fn unlabelled(&self) -> Result<Vec<usize>, Error> {
        let found = self.dataset.unlabelled();
        if found.is_empty() {
            return Err(Error::Value {
                key: "encoder.embedding.supervised".into(),
                found: "a number below 1".into(),
                allowed: "[1]: every output belongs to a pair, none is left over".into(),
            });
        }
        Ok(found)
    }

    /// The basis of a resumed run, or one fitted on the training outputs.
    fn basis(&self, outputs: &Selected) -> Result<Basis, Error> {
        if self.resumed {
            return Ok(Basis::load(&self.path.join(BASIS))?);
        }
        let basis = basis(self.config, outputs, self.config.sketch.size, self.config.seed)?;
        let (rank, size) = (basis.rank(), basis.sketch_size());
        if rank < size {
            warn!(
                rank,
                size,
                "the sketch is larger than the rank of its Gram matrix: what is beyond is cut"
            );
        }
        Ok(basis)
    }

    /// The run directory: that of the resumed run, whose data must be the same, or a new one.
    fn folder(
        &self,
        candidates: &Candidates,
        prepared: &Prepared,
        space: String,
        data: &str,
        save: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Folder, Error> {
        if !self.resumed {
            return Folder::create(
                &self.path,
                self.config,
                candidates,
                prepared,
                space,
                data,
                save,
            );
        }
        let folder = Folder::open(&self.path, space, prepared);
        folder.check_data(data)?;
        folder.tidy();
        Ok(folder)
    }
}

/// The basis of the configuration's kernel, tempered, with a sketch of a size and a seed; without a
/// sketch the unit vectors of the feature space, in which targets are the feature rows.
pub(crate) fn basis<R>(
    config: &Checked<R>,
    outputs: &Selected,
    size: usize,
    seed: u64,
) -> Result<Basis, Error> {
    let (kernel, sketch) = (config.output.kernel.clone(), &config.sketch);
    let options = |kind: &SketchKind, size| {
        SketchOptions::new(kind, size).with_seed(seed).with_tolerance(sketch.tolerance)
    };
    if sketch.full {
        let width = outputs.width();
        if outputs.kind() != RowKind::Dense {
            return Err(Error::Value {
                key: "sketch.full".into(),
                found: format!("true, with {} rows", outputs.kind()),
                allowed: "false, or dense rows: an encoder learns them as they are".into(),
            });
        }
        let mut units = vec![0.0; width * width];
        (0..width).for_each(|j| units[j * (width + 1)] = 1.0);
        let units = Features::Dense(DenseRows::new(width, units)?);
        let all = SketchKind::Subsampling { replacement: false };
        return Ok(Basis::fit(kernel, &units, &options(&all, width))?);
    }
    let basis = Basis::fit(kernel, outputs, &options(&sketch.method, size))?;
    Ok(basis.tempered(&config.output.tempering(), outputs)?)
}

/// The run directory: `--out`, else `runs/<name>`, else with the first free number behind it; to
/// resume, the last one that exists.
fn place<R>(request: &Request<R>) -> Result<PathBuf, Error> {
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
fn unchanged<R: Recipe>(path: &Path, config: &Checked<R>) -> Result<(), Error> {
    let before = Folder::config(path)?;
    let table = |config: &Checked<R>| -> Result<toml::Table, Error> {
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

/// What tells these data from any others: a run is resumed on those it was started with.
fn fingerprint(dataset: &Dataset, targets: &[f32], candidates: &Candidates) -> String {
    let splits = [&dataset.train, &dataset.validation];
    let texts = splits.map(|split| [split.ids.join("\0"), split.texts.join("\0")].join("\0"));
    let ids = candidates.ids().join("\0");
    let mut tensors = vec![
        Tensor::u8("train texts", &[texts[0].len()], texts[0].as_bytes()),
        Tensor::u8("validation texts", &[texts[1].len()], texts[1].as_bytes()),
        Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        Tensor::f32("targets", &[targets.len()], targets),
        Tensor::f32("candidates", &[candidates.coordinates().len()], candidates.coordinates()),
    ];
    for (split, name) in splits.iter().zip(["train vectors", "validation vectors"]) {
        tensors.extend(split.vectors.iter().flat_map(|rows| rows.tensors(name)));
    }
    store::Contents::new("data", 1, &BTreeMap::new(), &tensors).checksum()
}

/// Projects each distinct candidate once, with the constants `b(c) = −½ k(c, c)` of decoding,
/// shifted by ½ for normalised kernels, where they then vanish (except for a zero row, which has
/// k(c, c) = 0).
///
/// # Errors
/// Rows that the basis does not project; outputs without a candidate.
pub fn candidates(basis: &Basis, outputs: &Outputs) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| {
        let projected = basis.project(rows)?;
        let shift = if basis.is_normalised() { 0.5 } else { 0.0 };
        let constants = projected.squared_norms.iter().map(|k| (shift - 0.5 * k) as f32).collect();
        Ok((basis.rank(), projected.coordinates, constants))
    })
}

/// Candidates where `place` puts their distinct rows: the number of coordinates, the coordinates of
/// each row, and their constants.
fn candidates_at(
    outputs: &Outputs,
    place: impl FnOnce(&dyn RowSource) -> Result<(usize, Vec<f32>, Vec<f32>), Error>,
) -> Result<Candidates, Error> {
    let pool = Selected::new(outputs.rows.as_ref(), &outputs.candidates);
    let groups = distinct(&pool)?;
    let chosen: Vec<usize> = groups.representative.iter().map(|&i| outputs.candidates[i]).collect();
    let (rank, coordinates, constants) = place(&Selected::new(outputs.rows.as_ref(), &chosen))?;
    let pick = |all: &[String]| outputs.candidates.iter().map(|&i| all[i].clone()).collect();
    let (ids, labels) = (pick(&outputs.ids), pick(&outputs.labels));
    Ok(Candidates::new(ids, labels, groups.class, rank, coordinates, constants)?)
}
