//! Runs of every kind, small enough to take seconds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsokr::core::random::{Generator, unit};
use tempfile::TempDir;

use crate::command::{Limits, call};
use crate::volatile::Change;

/// A configuration of the project with changes that make it small.
pub struct Kind {
    pub name: &'static str,
    config: &'static str,
    changes: &'static [&'static str],
}

const KINDS: [Kind; 9] = [
    Kind {
        name: "bag",
        config: "quickstart",
        changes: &["training.epochs=4", "sketch.size=60", "evaluation.split=validation"],
    },
    Kind {
        name: "transformer",
        config: "quickstart-transformer",
        changes: &[
            "training.epochs=2",
            "sketch.size=60",
            "encoder.width=32",
            "encoder.heads=2",
            "encoder.feed_forward=64",
            "encoder.layers=1",
            "encoder.max_length=16",
            "evaluation.split=validation",
        ],
    },
    Kind {
        name: "mlp",
        config: "synthetic",
        changes: &[
            "data.train=3000",
            "data.validation=100",
            "data.test=100",
            "data.inputs=100",
            "data.outputs=60",
            "sketch.size=30",
            "training.epochs=6",
        ],
    },
    Kind {
        name: "ensemble",
        config: "corrupted",
        changes: &[
            "data.train=1000",
            "data.validation=100",
            "data.test=100",
            "data.inputs=80",
            "data.outputs=40",
            "sketch.size=20",
            "training.epochs=2",
        ],
    },
    Kind {
        name: "embedding",
        config: "reduced-rank",
        changes: &[
            "data.validation=100",
            "data.test=100",
            "data.inputs=80",
            "data.outputs=60",
            "sketch.size=60",
            "encoder.lambda=[0.1, 1.0]",
            "encoder.predictions.ranks=[5, 20]",
        ],
    },
    Kind {
        name: "quantiles",
        config: "quantiles",
        changes: &["encoder.lambda=1e-4", "encoder.solver.sketch.size=60"],
    },
    Kind { name: "rankings", config: "rankings", changes: &["encoder.lambda=1e-4"] },
    Kind {
        name: "words",
        config: "quickstart",
        changes: &[
            "data.limit=300",
            "sketch.size=60",
            "encoder={kind='kernel-machine', lambda=0.01, inputs={kind='ngrams', weights='learned', \
             blocks=[{kind='words', min=1, max=1}]}}",
            "decoding={held_out=true, hubs={neighbours=[5]}}",
            "decoding.reranker={candidates=300, neighbours=10, folds=4, held_out_folds=2, words={}}",
            "evaluation.split=validation",
        ],
    },
    Kind {
        name: "divide-and-conquer",
        config: "quickstart-averaged",
        changes: &["encoder.lambda=1e-5", "sketch.size=60", "evaluation.split=validation"],
    },
];

/// An ensemble of kernel machines among molecules, to which candidates can be added.
pub const VOTERS: Kind = Kind {
    name: "voters",
    config: "quickstart",
    changes: &[
        "sketch.size=40",
        "encoder={kind='kernel-machine', lambda=0.01, inputs={kind='ngrams', blocks=[{kind='words', min=1, \
         max=1}]}}",
        "ensemble.members=[{name='a'}, {name='b', output={power=0.5}}, {name='c', sketch={size=60}}]",
        "evaluation.split=validation",
    ],
};

/// Where the attacks take place.
pub struct World {
    folder: TempDir,
    /// The finished runs, by kind and seconds between checkpoints.
    finished: BTreeMap<(&'static str, u64), PathBuf>,
    /// What the trainings of the kinds change in their folders.
    pub traced: BTreeMap<&'static str, Vec<Change>>,
    /// Requests of an attack on a server.
    pub requests: usize,
    /// A run with many candidates.
    pub grown: Option<PathBuf>,
    next: usize,
}

impl World {
    pub fn new(requests: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let finished = BTreeMap::new();
        let traced = BTreeMap::new();
        Self { folder, finished, traced, requests, grown: None, next: 0 }
    }

    /// A new empty folder.
    pub fn fresh(&mut self) -> PathBuf {
        self.next += 1;
        let path = self.folder.path().join(format!("attack-{}", self.next));
        fs::create_dir(&path).unwrap();
        path
    }

    /// The folder of a finished run, trained without disturbance on two threads; it is in `run`.
    pub fn finished(&mut self, kind: &Kind, seconds: u64) -> Result<PathBuf, String> {
        if let Some(path) = self.finished.get(&(kind.name, seconds)) {
            return Ok(path.clone());
        }
        let path = self.fresh();
        let limits = Limits { threads: Some(2), ..Limits::default() };
        call(&path, &strings(&kind.train(seconds)), limits)?.success()?;
        self.finished.insert((kind.name, seconds), path.clone());
        Ok(path)
    }
}

impl Kind {
    /// One of the kinds.
    pub fn draw(random: &mut Generator) -> &'static Self {
        &KINDS[below(random, KINDS.len())]
    }

    /// The kind of a name that there is.
    pub fn named(name: &str) -> &'static Self {
        KINDS.iter().find(|kind| kind.name == name).unwrap()
    }

    /// The arguments that train into `run`.
    pub fn train(&self, seconds: u64) -> Vec<String> {
        let file = format!("{}.toml", self.config);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(file);
        let file = file.to_str().unwrap();
        let mut arguments = vec!["train".into(), file.into(), "--quiet".into()];
        arguments.extend(["--json".into(), "--out".into(), "run".into()]);
        let checkpoints = format!("training.checkpoint_seconds={seconds}");
        for change in self.changes.iter().copied().chain([checkpoints.as_str()]) {
            arguments.extend(["--set".to_owned(), change.to_owned()]);
        }
        arguments
    }
}

/// Arguments as they are passed.
pub fn strings(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// A number from 0 to `count` - 1.
pub fn below(random: &mut Generator, count: usize) -> usize {
    ((unit(random) * count as f64) as usize).min(count - 1)
}

/// Every file below a folder, by its name there.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap().to_owned();
        if entry.file_type().unwrap().is_dir() {
            let below = files(&entry.path()).into_iter();
            all.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            all.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    all
}

/// An error unless two runs are the same bit for bit, apart from dates, times, the order in which a
/// checkpoint lists the optimiser's tensors, and the log of steps.
pub fn same(expected: &Path, found: &Path) -> Result<(), String> {
    let results = |run: &Path| {
        let mut all = files(run);
        all.retain(|name, _| {
            let name = name.rsplit('/').next().unwrap();
            !["log.jsonl", "fingerprints.safetensors", "last.safetensors"].contains(&name)
        });
        for (name, bytes) in &mut all {
            if name.ends_with("metrics.json") {
                let record: serde_json::Value =
                    serde_json::from_slice(bytes).map_err(|e| format!("{name}: {e}"))?;
                let mut record = record;
                record.as_object_mut().ok_or(format!("{name}: no object"))?.remove("date");
                *bytes = record.to_string().into_bytes();
            }
        }
        Ok::<_, String>(all)
    };
    let expected = results(expected)?;
    let found = results(found)?;
    if !expected.keys().eq(found.keys()) {
        let only = |some: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>| {
            some.keys().filter(|name| !other.contains_key(*name)).cloned().collect::<Vec<_>>()
        };
        let more = only(&found, &expected);
        let missing = only(&expected, &found);
        return Err(format!("files {more:?} too many, {missing:?} missing"));
    }
    match expected.iter().find(|(name, bytes)| found[*name] != **bytes) {
        Some((name, _)) => Err(format!("{name} differs from that of the undisturbed run")),
        None => Ok(()),
    }
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
