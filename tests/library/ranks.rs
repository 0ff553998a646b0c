//! A job of several ranks, which are threads of this process: `mpirun` is tested in tests/cli/ranks.rs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use burn::tensor::Device;
use dsokr::config::{Checked, KernelMachineConfig};
use dsokr::core::Cancellation;
use dsokr::core::processes::{Held, Processes, threads};
use dsokr::core::store::{Contents, Tensor};
use dsokr::data::{DataRoot, SplitName};
use dsokr::decode::report::ReliabilityBin;
use dsokr::decode::{Candidates, Decoded, Hit, Rank, StorageType};
use dsokr::run::{Answer, shard_candidates};
use dsokr::targets::{OutputTargets, Problem, TargetValues};
use dsokr::train::{Event, Observer};
use dsokr::{
    Abilities, Config, Error, Evaluator, Fit, Fitted, Learner, Member, Predictor, Request, Run,
    RunDir, Scores, Trained, fit, register,
};
use serde::{Deserialize, Serialize};

use crate::Folder;

/// 37 pairs in batches of eight: the last batch of an epoch has five. Fifty steps.
const CONFIG: &str = concat!(
    r#"
seed = 5

[data]
source = "synthetic"
train = 37
validation = 20
test = 20
unlabelled = 10
inputs = 6
outputs = 8
"#,
    drawn!(),
    r#"
[encoder]
kind = "mlp"
hidden = [16]
dropout = 0.2

[training]
epochs = 10
batch = 8
learning_rate = 0.003
warmup = 5
checkpoint_seconds = 0

[evaluation]
metric = "squared_error"
split = "test"
"#
);

fn checked(folder: &Folder, text: &str) -> Checked {
    Config::load(folder.file("drawn.toml", text)).expect("a configuration")
}

/// Trains with so many ranks, and returns what each of them returns.
fn train(size: usize, config: &Checked, out: &Path, resume: bool) -> Vec<Result<Trained, Error>> {
    let root = DataRoot::find("", None, None).unwrap();
    threads(size, |processes| {
        let out = Some(out.into());
        let request = Request { out, resume, root: root.clone(), ..Request::new(config)? };
        request.run_shared(processes, &mut ())
    })
}

/// Trains one rank by [`CONFIG`] with changes to the table of the training, and returns what it was trained by, and its run.
fn trained_alone(changes: &str) -> (Folder, Checked, PathBuf) {
    let folder = Folder::new();
    let text = CONFIG.replacen("[training]", &format!("[training]\n{changes}"), 1);
    let config = checked(&folder, &text);
    let one = folder.path("one");
    train(1, &config, &one, false).remove(0).expect("a training");
    (folder, config, one)
}

/// Returns the predictions of a run for its test split.
fn values(out: &Path) -> Vec<f32> {
    let run = Member::open(out).expect("a run");
    let split = run.read_split(SplitName::Test, None).expect("a split");
    run.coordinates(&split).expect("predictions")
}

/// Returns the largest difference between predictions of two runs.
pub fn apart(one: &Path, other: &Path) -> f32 {
    let pairs = values(one).into_iter().zip(values(other));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn several_ranks_leave_the_run_of_one() {
    let (folder, config, one) = trained_alone("");
    for size in [2, 4, 9] {
        let out = folder.path(&size.to_string());
        let mut reports = Vec::new();
        for trained in train(size, &config, &out, false) {
            reports.push(trained.expect("a training").report);
        }
        assert!(reports.iter().all(|report| *report == reports[0]));
        let apart = apart(&one, &out);
        assert!(apart < 1e-5, "{size}: {apart}");
        // the ranks of a complete run return its report
        for trained in train(size, &config, &out, true) {
            assert!(trained.expect("the run").report == reports[0]);
        }
        // rank 0 finds that the run exists; the others that rank 0 has ended
        let refused = train(size, &config, &out, false);
        assert!(matches!(refused[0], Err(Error::RunExists { .. })));
        assert!(refused[1..].iter().all(|rank| matches!(rank, Err(Error::Core(_)))));
    }
}

#[test]
fn several_ranks_write_the_candidates_of_one() {
    let folder = Folder::new();
    // five blocks of candidates
    let text = CONFIG.replacen("validation = 20\ntest = 20", "validation = 600\ntest = 500", 1);
    let config = checked(&folder, &text.replacen("epochs = 10", "epochs = 1", 1));
    let place = |size: usize| folder.path(&size.to_string());
    let written = |size: usize| {
        for trained in train(size, &config, &place(size), false) {
            trained.expect("a training");
        }
        std::fs::read(place(size).join("candidates.safetensors")).expect("candidates")
    };
    let one = written(1);
    let distinct = Member::open(place(1)).expect("a run").candidates.distinct();
    assert!(distinct > 4 * 256, "{distinct}");
    for size in [2, 4, 9] {
        assert!(written(size) == one, "{size} ranks");
        // the data are those of the run for every number of ranks
        for trained in train(size + 1, &config, &place(size), true) {
            trained.expect("the run");
        }
    }
}

#[test]
fn several_ranks_train_on_parts_of_batches_and_with_all_outputs() {
    let parts = "optimizer = \"sgd\"\nmicro_batch = 2";
    for changes in [parts, "loss = { name = \"softmax\", temperature = 0.2 }"] {
        let (folder, config, one) = trained_alone(changes);
        for size in [2, 7] {
            let out = folder.path(&size.to_string());
            for trained in train(size, &config, &out, false) {
                trained.expect("a training");
            }
            let apart = apart(&one, &out);
            assert!(apart < 1e-5, "{changes}, {size}: {apart}");
        }
    }
}

#[test]
fn several_ranks_fit_the_kernel_machine_of_one() {
    let folder = Folder::new();
    let mlp = "kind = \"mlp\"\nhidden = [16]\ndropout = 0.2\n";
    let held_out = "[decoding]\nheld_out = true\n\n[evaluation]";
    for (at, (solver, lambda, held)) in [
        ("name = \"sketched\", sketch = { size = 20 }", "1e-2", true),
        ("name = \"sketched\", sketch = { size = 20 }", "[1e-3, 1e-2, 1e-1]", true),
        (
            "name = \"conjugate-gradients\", sketch = { size = 20 }, tolerance = 1e-12",
            "1e-2",
            false,
        ),
        ("name = \"divide-and-conquer\", sketch = { size = 9 }, parts = 3", "1e-2", false),
    ]
    .into_iter()
    .enumerate()
    {
        let machine = format!(
            "kind = \"kernel-machine\"\nlambda = {lambda}\nsolver = {{ {solver} }}\n\
             kernel = {{ name = \"gaussian\", gamma = 0.1 }}\n"
        );
        let text = CONFIG.replacen(mlp, &machine, 1);
        let training = text.find("[training]").expect("a table");
        let evaluation = text.find("[evaluation]").expect("a table");
        let text = [&text[..training], &text[evaluation..]].concat();
        let text = if held { text.replacen("[evaluation]", held_out, 1) } else { text };
        let config = checked(&folder, &text);
        let fitted = |size: usize, name: &str| {
            let out = folder.path(&format!("{at}-{name}"));
            let reports = train(size, &config, &out, false).into_iter().map(|trained| {
                let report = trained.expect("a fit").report;
                (report.metrics.squared_error.expect("an error"), report)
            });
            let mut reports: Vec<_> = reports.collect();
            assert!(reports.iter().all(|report| *report == reports[0]));
            (out, reports.remove(0).0)
        };
        let (one, error) = fitted(1, "one");
        // more ranks than training pairs too
        for size in [2, 3, 40] {
            let (out, error_of_ranks) = fitted(size, &size.to_string());
            let apart = apart(&one, &out);
            let is_same = (error_of_ranks - error).abs() < 1e-6;
            assert!(apart < 1e-5 && is_same, "{solver}, {size}: {apart}");
            if size == 3 {
                let (again, _) = fitted(size, "again");
                assert!(values(&again) == values(&out), "{solver}");
            }
        }
    }
}

/// A kernel machine that says which targets each process holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Watched(KernelMachineConfig);

struct WatchedFit<'a>(Box<dyn Fit + 'a>);

/// The targets that processes hold as a plan counts them, and those of the fit, in the order in which they have fitted.
static HELD: Mutex<Vec<[Held; 2]>> = Mutex::new(Vec::new());

impl Learner for Watched {
    fn abilities(&self) -> Abilities<'_> {
        Learner::abilities(&self.0)
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(WatchedFit(self.0.prepare(problem)?)))
    }

    fn load(
        &self,
        run: &RunDir,
        config: &Checked,
        width: usize,
        device: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        self.0.load(run, config, width, device)
    }
}

impl Fit for WatchedFit<'_> {
    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        self.0.files()
    }

    fn targets(&mut self, problem: &Problem) -> Result<OutputTargets, Error> {
        self.0.targets(problem)
    }

    fn fit(
        &mut self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        run: Option<&mut RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        let TargetValues::Points(points) = &targets.values else { panic!("points") };
        let planned = self.0.held_targets().cloned();
        let planned = planned.unwrap_or_else(|| Held::all(points.len()));
        HELD.lock().unwrap().push([planned, points.held().clone()]);
        self.0.fit(targets, evaluator, run, observer)
    }
}

#[test]
fn several_ranks_hold_their_share_of_targets() {
    register::<Watched>("watched").unwrap();
    let folder = Folder::new();
    let molecules = std::fs::read_to_string("datasets/quickstart/molecules.tsv").unwrap();
    let lines: Vec<&str> = molecules.lines().take(161).collect();
    folder.file("table.tsv", lines.join("\n"));
    let sketched = "name = \"sketched\", sketch = { size = 20 }";
    let parts = "name = \"divide-and-conquer\", sketch = { size = 9 }, parts = 3";
    let conjugate = "name = \"conjugate-gradients\", sketch = { size = 20 }, tolerance = 1e-12";
    let counts = |name: &str, further: &str| {
        format!(
            "{{ kind = \"features\", features = {{ kind = \"substructures\", column = \"smiles\", \
             count = {{ name = {name} }}{further} }} }}"
        )
    };
    let composition = counts("\"composition\"", "");
    let morgan = counts("\"morgan\", radius = 1, width = 256", ", exact = true, min_outputs = 2");
    let ngrams = "{ kind = \"ngrams\", blocks = [{ kind = \"characters\", min = 1, max = 2 }] }";
    let graph = counts("\"graph\", kernel = { name = \"weisfeiler-lehman\" }", "");
    let median = "{ name = \"gaussian\", gamma = \"median\" }";
    // of a file that stays mapped
    let numbers: Vec<f32> = (0..3 * 160).map(|at| ((at * 7919) % 1013) as f32 / 500.0).collect();
    let numbers = [Tensor::f32("vectors", &[160, 3], &numbers)];
    let path = folder.path("vectors.safetensors");
    Contents::new("vectors", 1, &BTreeMap::new(), &numbers).write(&path).unwrap();
    let vectors = "{ kind = \"vectors\", scaling = \"standard\" }";
    let one = |inputs: &str, kernel: &str| format!("inputs = {inputs}\nkernel = {kernel}\n");
    let summand =
        |inputs: &str, kernel: &str| format!("[[encoder.kernels]]\n{}", one(inputs, kernel));
    let cosine = "{ name = \"cosine\" }";
    for (at, (solver, inputs)) in [
        (sketched, one(&composition, median)),
        (conjugate, one(ngrams, cosine)),
        (parts, one(&graph, median)),
        (sketched, summand(&composition, median) + &summand(&morgan, cosine)),
        (sketched, one(vectors, median)),
        (parts, one("{ kind = \"vectors\" }", "{ name = \"gaussian\", gamma = 0.5 }")),
        // rows that are scaled, so that their kernel is linear
        (parts, summand(&graph, cosine) + &summand(&morgan, "{ name = \"linear\" }")),
    ]
    .iter()
    .enumerate()
    {
        let read = if inputs.contains("\"vectors\"") {
            "{ kind = \"features\", table = \"table.tsv\", file = \"vectors.safetensors\" }"
        } else {
            "{ column = \"smiles\" }"
        };
        let config = format!(
            "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"table.tsv\"\nid = \"id\"\n\
             inputs = {read}\nsplits = {{ train = 119, validation = 20, test = 21 }}\n\
             [output]\nlabel = \"smiles\"\n\
             features = {{ kind = \"ngrams\", column = \"smiles\", min = 1, max = 2 }}\n\
             kernel = {{ name = \"ngram\" }}\n[sketch]\nsize = 12\n\
             [evaluation]\nsplit = \"test\"\n\
             [encoder]\nkind = \"watched\"\nlambda = [1e-3, 1e-2]\nsolver = {{ {solver} }}\n{inputs}"
        );
        let config = checked(&folder, &config);
        let mut one: Option<Vec<f32>> = None;
        for size in [1, 2, 5] {
            let out = folder.path(&format!("{at}-{size}"));
            HELD.lock().unwrap().clear();
            for trained in threads(size, |processes| {
                let request = Request { out: Some(out.clone()), ..Request::new(&config)? };
                request.run_shared(processes, &mut ())
            }) {
                trained.expect("a fit");
            }
            let held = HELD.lock().unwrap().clone();
            assert_eq!(held.len(), size);
            for what in [0, 1] {
                let lengths: Vec<usize> = held.iter().map(|held| held[what].len()).collect();
                assert_eq!(lengths.iter().sum::<usize>(), 119, "{at}: {lengths:?}");
                // one row more for each part of the pairs that is divided
                assert!(lengths.iter().all(|&length| length <= 119 / size + 3), "{lengths:?}");
            }
            let predictions = values(&out);
            let one = one.get_or_insert_with(|| predictions.clone());
            let largest = one.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            let pairs = predictions.iter().zip(one.iter()).map(|(a, b)| (a - b).abs());
            let apart = pairs.fold(0.0, f32::max);
            assert!(apart < 1e-5 * largest, "{at}, {size} ranks: {apart} of {largest}");
        }
    }
}

/// Cancels the work after a step.
struct StopAfter(u64, Cancellation);

impl Observer for StopAfter {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Step { step, .. } if *step == self.0) {
            self.1.cancel();
        }
    }
}

#[test]
fn a_training_that_one_rank_stops_is_resumed_by_another_number_of_ranks() {
    let (folder, config, one) = trained_alone("");
    let out = folder.path("stopped");
    let stopped = threads(3, |processes| {
        let cancellation = Cancellation::default();
        let step = if processes.rank() == 1 { 21 } else { u64::MAX };
        let request = Request { out: Some(out.clone()), ..Request::new(&config)? };
        let mut observer = StopAfter(step, cancellation.clone());
        let run = || request.run_shared(processes, &mut observer);
        cancellation.scope(run).map(|_| ())
    });
    for stopped in stopped {
        let interrupted = dsokr::Error::Interrupted { step: 22 };
        assert_eq!(stopped.unwrap_err().to_string(), interrupted.to_string());
    }
    for trained in train(2, &config, &out, true) {
        trained.expect("a training that goes on");
    }
    let apart = apart(&one, &out);
    assert!(apart < 1e-5, "{apart}");
}

/// Trains the quickstart with a small sketch and few epochs, and returns its run.
fn quickstart_run(folder: &Folder) -> PathBuf {
    let text = std::fs::read_to_string("configs/quickstart.toml").expect("a configuration");
    let text = text.replacen("[sketch]\nsize = 200", "[sketch]\nsize = 60", 1);
    let config = checked(folder, &text.replacen("epochs = 10", "epochs = 2", 1));
    let out = folder.path("run");
    fit(&config, &out).expect("a training");
    out
}

#[test]
fn several_ranks_evaluate_and_search_as_one() {
    let folder = Folder::new();
    let out = quickstart_run(&folder);
    let find = |processes: &Processes| {
        let runs = Run::open(&out)?;
        let read = |run: &Member| run.read_split(SplitName::Test, None);
        let (found, decoded) = runs.evaluate(&runs.predict(processes, read, None)?)?;
        let read = |run: &Member| run.texts(&["A carboxylic acid with a bromine atom."]);
        let answer = runs.answer_queries(processes, read, None, None, 30)?;
        Ok::<_, Error>((found.scores, found.ranks, decoded, answer))
    };
    let one = find(&Processes::default()).expect("an evaluation");
    for size in [2, 5] {
        for found in threads(size, find) {
            assert!(found.expect("an evaluation") == one, "{size}");
        }
    }
}

type ScoredId = (String, f32);

/// What a run finds by ids, numbers being those of its shards.
#[derive(Debug, PartialEq)]
struct Named {
    scores: Scores,
    ranks: Vec<Option<Rank>>,
    decoded: Vec<(Option<f32>, Vec<ScoredId>)>,
    answer: Answer,
    distinct: Vec<Answer>,
    chosen: Vec<Vec<Decoded>>,
    reliability: Vec<ReliabilityBin>,
}

fn named(processes: &Processes, runs: &Run) -> Result<Named, Error> {
    let run = &runs.members()[0];
    let text = "A carboxylic acid with a bromine atom.";
    let read = |run: &Member| run.read_split(SplitName::Test, None);
    let queries = runs.predict(processes, read, None)?;
    let (found, decoded) = runs.evaluate(&queries)?;
    let candidates = found.named.as_ref().unwrap_or(&run.candidates);
    let by_id = |hit: &Hit| (candidates.id(hit.candidate).to_owned(), hit.score);
    let decoded = decoded
        .iter()
        .map(|decoded| (decoded.gold_score, decoded.hits.iter().map(by_id).collect()))
        .collect();
    let read = |run: &Member| run.texts(&[text]);
    let answer = runs.answer_queries(processes, read, None, None, 30)?.remove(0);
    let texts = runs.predict(processes, |run| run.texts(&[text, "An ether."]), None)?;
    let wanted = |all: &Candidates| -> Vec<bool> {
        (0..all.len()).map(|at| !all.label(at).contains("Br")).collect()
    };
    let wanted = match runs.shards() {
        Some(shards) => shards.held().flat_map(wanted).collect(),
        None => wanted(&run.candidates),
    };
    let distinct = runs.answers(&texts, 0..40, Some(&wanted))?;
    let ids: Vec<String> =
        distinct.iter().flat_map(|answer| &answer.hits).map(|hit| hit.id.clone()).collect();
    let ids = [vec![ids[3].clone()], ids];
    let mut chosen = runs.rank_candidates(&texts, &ids)?;
    chosen.iter_mut().flatten().for_each(|decoded| decoded.hits.clear());
    let reliability = runs.gap_reliability(&queries, 5)?;
    let scores = found.scores;
    let ranks = found.ranks;
    Ok(Named { scores, ranks, decoded, answer, distinct, chosen, reliability })
}

#[test]
fn ranks_with_shards_of_the_candidates_answer_as_one_with_all_of_them() {
    let folder = Folder::new();
    let out = quickstart_run(&folder);
    let runs = std::slice::from_ref(&out);
    let device = Device::flex();
    let run = Run::open_all(runs, &device).expect("a run");
    let one = named(&Processes::default(), &run).expect("an evaluation");
    let elsewhere = folder.path("elsewhere");
    for (parts, precision, place) in [
        (3, StorageType::F32, None),
        (2, StorageType::I8, Some(&elsewhere)),
        (3, StorageType::I8, None),
    ] {
        let place = place.map(PathBuf::as_path);
        let written = shard_candidates(&out, parts, precision, place).expect("shards");
        assert_eq!(written.folder, place.map_or(out.join("shards"), Path::to_path_buf));
        for size in [1, 2, 5] {
            let find = |processes: &Processes| {
                let runs = Run::open_shared(processes, runs, place, None, &device)?;
                assert_eq!(runs.candidates(), written.candidates);
                // one process has shards that are named
                let of_shards = runs.members()[0].candidates.len() == 1;
                assert_eq!(of_shards, size > 1 || place.is_some());
                named(processes, &runs)
            };
            for found in threads(size, find) {
                assert_eq!(found.expect("an evaluation"), one, "{parts} {precision} {size}");
            }
        }
    }
    let refused = shard_candidates(&out, 2, StorageType::F32, Some(&out)).expect_err("an error");
    assert!(refused.to_string().contains("expected a path outside of"), "{refused}");
}

#[test]
fn what_is_not_shared_is_refused_by_all_ranks() {
    let folder = Folder::new();
    let mlp = "kind = \"mlp\"\nhidden = [16]\ndropout = 0.2\n";
    let ridge = CONFIG.replacen(mlp, "kind = \"kernel-machine\"\nlambda = 1e-3\n", 1);
    let config = checked(&folder, &ridge);
    for refused in train(2, &config, &folder.path("run"), false) {
        let Err(error) = refused else { panic!("a closed form is divided") };
        let error = error.to_string();
        assert!(error.starts_with("number of processes = 2: expected 1 for this"), "{error}");
        assert!(error.contains("\"sketched\", \"conjugate-gradients\" or"), "{error}");
    }
    // ranks with other configurations
    let other = checked(&folder, &CONFIG.replacen("seed = 5", "seed = 6", 1));
    let config = checked(&folder, CONFIG);
    let found = threads(2, |processes| {
        let config = if processes.rank() == 1 { &other } else { &config };
        let request = Request { out: Some(folder.path("run")), ..Request::new(config)? };
        request.run_shared(processes, &mut ()).map(|trained| trained.report)
    });
    for refused in found {
        let error = refused.expect_err("an error").to_string();
        assert!(error.starts_with("rank 1: its configuration's fingerprint is "), "{error}");
    }
    assert!(!folder.path("run").exists());
}

/// Puts a folder in the place of the metrics before they are written. Rank 0 evaluates.
struct Block<'a>(&'a Path);

impl Observer for Block<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Evaluation { .. }) {
            std::fs::create_dir_all(self.0.join("metrics.json/inside")).expect("a folder");
        }
    }
}

#[test]
fn an_error_of_rank_0_after_the_fit_is_that_of_all_ranks() {
    let folder = Folder::new();
    let config = checked(&folder, CONFIG);
    let out = folder.path("run");
    let found = threads(3, |processes| {
        let request = Request { out: Some(out.clone()), ..Request::new(&config)? };
        let run = request.run_shared(processes, &mut Block(&out));
        let error = run.err().map(|error| error.to_string());
        // in step they meet in the same exchange
        Ok::<_, Error>((error.unwrap_or_default(), processes.check_same("next step", "the same")))
    });
    let found: Vec<_> = found.into_iter().map(|rank| rank.expect("a configuration")).collect();
    for (rank, (error, in_step)) in found.iter().enumerate() {
        assert!(error.contains("metrics.json"), "rank {rank}: {error}");
        assert_eq!(error.starts_with("rank 0: "), rank > 0, "rank {rank}: {error}");
        assert!(in_step.is_ok(), "rank {rank}");
    }
}

#[test]
fn a_run_that_rank_0_cannot_resume_is_refused_by_all_ranks() {
    let (folder, _, one) = trained_alone("");
    let other = checked(&folder, &CONFIG.replacen("seed = 5", "seed = 6", 1));
    let refused = train(3, &other, &one, true);
    let errors: Vec<String> =
        refused.into_iter().map(|rank| rank.expect_err("an error").to_string()).collect();
    for (rank, error) in errors.iter().enumerate() {
        assert!(error.contains("seed"), "rank {rank}: {error}");
        assert_eq!(error.starts_with("rank 0: "), rank > 0, "rank {rank}: {error}");
    }
}
