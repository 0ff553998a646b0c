//! A learner of a program's own: it gives held-out predictions, and so it can have hubs and a reranker.

use std::collections::BTreeSet;
use std::path::Path;

use burn::tensor::Device;
use dsokr::config::{Checked, HubConfig, RerankerConfig};
use dsokr::data::Split;
use dsokr::targets::{OutputTargets, Problem};
use dsokr::{
    Abilities, Config, EncoderTable, Error, Evaluator, Fit, Fitted, FoldPredictions, HeldOut,
    HeldOutPredictions, Learner, Observer, OutputScores, Predictor, Run, RunDir, WordsRead, fit,
    register,
};
use serde::{Deserialize, Serialize};

use crate::Folder;
use crate::single_lists::choices;
use crate::things::{labelled, things};

/// The mean target of the training texts that share most words with a text.
#[derive(Debug, Serialize, Deserialize)]
struct NeighboursConfig {
    neighbours: usize,
    /// What it says of its held-out predictions.
    #[serde(default)]
    predicts_parts: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct Neighbours {
    count: usize,
    texts: Vec<BTreeSet<String>>,
    targets: Vec<f32>,
}

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Neighbours {
    fn width(&self) -> usize {
        self.targets.len() / self.texts.len()
    }

    /// Returns the prediction for a text by the training pairs that may be used.
    fn predicted(&self, text: &BTreeSet<String>, may_use: impl Fn(usize) -> bool) -> Vec<f32> {
        let p = self.width();
        let mut order: Vec<usize> = (0..self.texts.len()).filter(|&pair| may_use(pair)).collect();
        order.sort_by_key(|&pair| std::cmp::Reverse(self.texts[pair].intersection(text).count()));
        order.truncate(self.count);
        let mean = |j: usize| {
            let sum: f32 = order.iter().map(|&pair| self.targets[pair * p + j]).sum();
            sum / order.len() as f32
        };
        (0..p).map(mean).collect()
    }

    /// Returns the predictions for training pairs without the pair itself and without a part of the pairs.
    fn without(&self, pairs: &[usize], part: &[usize], itself: bool) -> Vec<f32> {
        let one = |&pair: &usize| {
            let may_use = |other: usize| !part.contains(&other) && (itself || other != pair);
            self.predicted(&self.texts[pair], may_use)
        };
        pairs.iter().flat_map(one).collect()
    }
}

const FILE: &str = "neighbours.json";

impl Learner for NeighboursConfig {
    fn abilities(&self) -> Abilities<'_> {
        let held_out =
            if self.predicts_parts { HeldOutPredictions::Parts } else { HeldOutPredictions::None };
        Abilities { held_out, ..Abilities::default() }
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        let texts = problem.dataset.train.inputs.texts()?;
        let texts = texts.iter().map(|text| words(text)).collect();
        Ok(Box::new(Prepared { count: self.neighbours, problem, texts }))
    }

    fn load(
        &self,
        run: &RunDir,
        _: &Checked,
        _: usize,
        _: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        let read: Neighbours = serde_json::from_str(&run.read_text(FILE)?).unwrap();
        Ok(Box::new(read))
    }
}

struct Prepared<'a> {
    count: usize,
    problem: &'a Problem,
    texts: Vec<BTreeSet<String>>,
}

impl Prepared<'_> {
    fn neighbours(&self, targets: &OutputTargets) -> Result<Neighbours, Error> {
        let targets = targets.coordinates()?;
        Ok(Neighbours { count: self.count, texts: self.texts.clone(), targets })
    }
}

impl Fit for Prepared<'_> {
    fn fit(
        &mut self,
        targets: &OutputTargets,
        _: &Evaluator,
        _: Option<&mut RunDir>,
        _: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        let model = self.neighbours(targets)?;
        let all: Vec<usize> = (0..self.problem.len()).collect();
        let ids = &self.problem.dataset.train.ids;
        let held_out = Some(HeldOut::all(ids, model.without(&all, &[], false)));
        Ok(Fitted { held_out, ..Fitted::new(model) })
    }

    fn fold_predictions(
        &self,
        targets: &OutputTargets,
        folds: &[Vec<usize>],
    ) -> Result<Option<Vec<FoldPredictions>>, Error> {
        let model = self.neighbours(targets)?;
        let ids = &self.problem.dataset.train.ids;
        let one = |part: &Vec<usize>| {
            let rest: Vec<usize> =
                (0..self.problem.len()).filter(|pair| !part.contains(pair)).collect();
            let every_eighth: Vec<usize> = rest.iter().copied().step_by(8).collect();
            FoldPredictions {
                fold: HeldOut::new(part.clone(), ids, model.without(part, part, true)),
                fitted_predictions: model.without(&every_eighth, part, true),
                fitted_pairs: every_eighth,
                rest: HeldOut::new(rest.clone(), ids, model.without(&rest, part, false)),
            }
        };
        Ok(Some(folds.iter().map(one).collect()))
    }
}

impl Predictor for Neighbours {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        let texts = split.inputs.texts()?.iter();
        Ok(texts.flat_map(|text| self.predicted(&words(text), |_| true)).collect())
    }

    fn save(&self, run: &mut RunDir) -> Result<(), Error> {
        run.write_text(FILE, &serde_json::to_string(self).unwrap())
    }
}

/// Returns the configuration of a learner of things.
fn config(predicts_parts: bool) -> Config {
    register::<NeighboursConfig>("neighbours-with-parts").unwrap();
    let learner = NeighboursConfig { neighbours: 3, predicts_parts };
    let encoder = EncoderTable::from_learner(learner).unwrap();
    let (texts, sets) =
        things(90, |thing, colour, form| format!("thing {thing} is {colour} and {form}"));
    let mut config = labelled(texts, sets, encoder).unwrap();
    config.sketch.size = 9;
    config
}

fn with_reranker(mut config: Config) -> Config {
    config.decoding.reranker = Some(RerankerConfig {
        candidates: 5,
        neighbours: 5,
        folds: Some(3),
        held_out_folds: Some(2),
        ..RerankerConfig::default()
    });
    config.decoding.hubs = Some(HubConfig { neighbours: vec![3], ..HubConfig::default() });
    config.decoding.held_out = true;
    config
}

fn files(run: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(run).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_learner_of_a_program_has_hubs_and_a_reranker() {
    let folder = Folder::new();
    let plain = fit(&config(true).validate().unwrap(), folder.path("plain")).unwrap();
    let config = with_reranker(config(true)).validate().unwrap();
    let trained = fit(&config, folder.path("run")).unwrap();
    for report in [&plain.report, &trained.report] {
        let Some(OutputScores::Labels(scores)) = &report.metrics.outputs else {
            panic!("{report}")
        };
        assert_eq!(scores.f1, 1.0, "{report}");
    }
    let written = files(trained.path());
    for file in ["reranker.safetensors", "held-out.safetensors", "reranker-unseen.safetensors"] {
        assert!(written.contains(file) && !files(plain.path()).contains(file), "{file}");
    }

    // the run that the fit leaves in memory is the one on disk
    let opened = Run::open(trained.path()).unwrap();
    let text = "a thing is blue and flat";
    let answer = opened.search(text, 4).unwrap();
    assert_eq!(answer.hits[0].label, "blue,flat");
    assert_eq!(trained.run.search(text, 4).unwrap(), answer);
    let plain = plain.run.search(text, 4).unwrap();
    let scores = |hits: &[dsokr::run::Hit]| hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
    assert_ne!(scores(&plain.hits), scores(&answer.hits), "nothing scores them anew");
}

/// Where each pair is a fold of its own, models that are fitted anew give the leave-one-out predictions that the learner
/// knows.
#[test]
fn a_learner_is_fitted_anew_for_held_out_predictions() {
    let folder = Folder::new();
    let held_out = |predicts_parts: bool, name: &str| {
        let mut config = config(predicts_parts);
        let folds = if predicts_parts { None } else { Some(81) };
        config.decoding.hubs =
            Some(HubConfig { neighbours: vec![3], folds, ..HubConfig::default() });
        config.decoding.held_out = true;
        let trained = fit(&config.validate().unwrap(), folder.path(name)).unwrap();
        std::fs::read(trained.path().join("held-out.safetensors")).unwrap()
    };
    assert_eq!(held_out(false, "anew"), held_out(true, "known"));
}

#[test]
fn a_learner_without_held_out_predictions_has_a_reranker() {
    let folder = Folder::new();
    let config = with_reranker(config(false)).validate().unwrap();
    let trained = fit(&config, folder.path("run")).unwrap();
    let Some(OutputScores::Labels(scores)) = &trained.report.metrics.outputs else {
        panic!("{}", trained.report)
    };
    assert_eq!(scores.f1, 1.0, "{}", trained.report);
    for file in ["reranker.safetensors", "held-out.safetensors", "reranker-unseen.safetensors"] {
        assert!(files(trained.path()).contains(file), "{file}");
    }
    let opened = Run::open(trained.path()).unwrap();
    let text = "a thing is blue and flat";
    assert_eq!(trained.run.search(text, 4).unwrap(), opened.search(text, 4).unwrap());
}

/// A learner whose fit leaves no held-out predictions, and which predicts 1 everywhere.
#[derive(Debug, Serialize, Deserialize)]
struct Broken {
    /// Whether it says that its fit leaves them.
    promises_held_out: bool,
    /// How many of the coordinates that it must predict it leaves out.
    left_out: usize,
}

impl Learner for Broken {
    fn abilities(&self) -> Abilities<'_> {
        let held_out = if self.promises_held_out {
            HeldOutPredictions::Pairs
        } else {
            HeldOutPredictions::None
        };
        Abilities { held_out, ..Abilities::default() }
    }

    fn prepare<'a>(&'a self, _: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(|targets: &OutputTargets| {
            let p = targets.space.width();
            let left_out = self.left_out;
            let predict = move |split: &Split| Ok(vec![1.0; split.ids.len() * p - left_out]);
            Ok(Fitted { saved: true, ..Fitted::new(predict) })
        }))
    }

    fn load(
        &self,
        _: &RunDir,
        _: &Checked,
        _: usize,
        _: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        unreachable!("the fit ends before")
    }
}

/// Returns the error of a fit.
fn refused(learner: Broken) -> String {
    register::<Broken>("broken").unwrap();
    let folder = Folder::new();
    let mut config = config(false);
    config.decoding.held_out = learner.promises_held_out;
    config.encoder = EncoderTable::from_learner(learner).unwrap();
    fit(&config.validate().unwrap(), folder.path("run")).err().unwrap().to_string()
}

#[test]
fn a_learner_that_breaks_its_word_is_refused() {
    let error = refused(Broken { promises_held_out: true, left_out: 0 });
    assert!(error.contains("Fitted::held_out") && error.contains("Abilities::held_out"), "{error}");
}

#[test]
fn a_predictor_of_another_number_of_coordinates_is_named() {
    let error = refused(Broken { promises_held_out: false, left_out: 1 });
    assert!(error.contains("coordinates that the predictor gives for"), "{error}");
}

/// A model does not replace files that every run has.
#[test]
fn a_model_is_kept_beside_the_files_of_a_run() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Keeps {
        name: String,
    }
    struct Kept {
        name: String,
        width: usize,
    }
    impl Learner for Keeps {
        fn prepare<'a>(&'a self, _: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
            Ok(Box::new(|targets: &OutputTargets| {
                let width = targets.space.width();
                Ok(Fitted::new(Kept { name: self.name.clone(), width }))
            }))
        }

        fn load(
            &self,
            _: &RunDir,
            _: &Checked,
            width: usize,
            _: &Device,
        ) -> Result<Box<dyn Predictor>, Error> {
            Ok(Box::new(Kept { name: self.name.clone(), width }))
        }
    }
    impl Predictor for Kept {
        fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
            Ok(vec![1.0; split.ids.len() * self.width])
        }

        fn save(&self, run: &mut RunDir) -> Result<(), Error> {
            run.write_text(&self.name, "{}")
        }
    }
    register::<Keeps>("keeps").unwrap();
    let folder = Folder::new();
    for (at, name) in ["data.json", "../model.json", ".model", "model.json"].iter().enumerate() {
        let mut config = config(false);
        config.encoder = EncoderTable::from_learner(Keeps { name: (*name).into() }).unwrap();
        let run = folder.path(&at.to_string());
        let fitted = fit(&config.validate().unwrap(), &run);
        match fitted {
            Ok(trained) => assert_eq!((*name, trained.path()), ("model.json", run.as_path())),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains(name) && error.contains("plain names"), "{error}");
            }
        }
        // where it is there already
        let data = std::fs::read_to_string(run.join("data.json")).unwrap_or_default();
        assert_ne!(data, "{}", "{name}");
        assert!(!folder.path("model.json").exists());
    }
}

/// Returns what a server at an address of this computer answers to `GET`.
#[cfg(feature = "serve")]
fn get(run: &Path, path: &str) -> String {
    use std::io::{Read, Write};

    use dsokr::device::Processor;
    use dsokr::serve::{self, Limits, Model, Server};

    let model = Model::open(run, &Processor::Cpu.open().unwrap()).unwrap();
    let server = Server::new(vec![model], Limits::default()).unwrap();
    server.prepare();
    let (sender, receiver) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            serve::run(listener, &server, async { drop(stopped.await) }).await;
        });
    });
    let address = receiver.recv().unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    drop(stop);
    answer
}

/// A kind of `[encoder]` that a program adds when it runs is in every place that shows the built-in ones.
#[test]
fn a_learner_of_a_program_is_named_in_every_place() {
    const KIND: &str = "neighbours-with-parts";
    let folder = Folder::new();
    let mut config = config(false);
    config.logging.tensorboard = true;
    let config = config.validate().unwrap();
    let trained = fit(&config, folder.path("run")).unwrap();
    let read = |name: &str| std::fs::read_to_string(trained.path().join(name)).unwrap();

    // the configuration: its reference, what is read again, and the message about an unknown kind
    let reference = dsokr::config::reference();
    let entry = format!(
        "`kind = \"{KIND}\"`: A kind of this program, with the keys `neighbours`, `predicts_parts`."
    );
    assert!(reference.contains(&entry), "{reference}");
    let stored = read("config.toml");
    assert!(stored.contains(&format!("kind = \"{KIND}\"")), "{stored}");
    assert_eq!(*Run::open(trained.path()).unwrap().config().encoder.kind(), *KIND);
    let unknown = dsokr::Config::parse("[encoder]\nkind = \"other\"", &[]).unwrap_err().to_string();
    assert!(unknown.contains(&format!("`{KIND}`")), "{unknown}");

    // the run: its card, its log and TensorBoard
    let card = read("README.md");
    assert!(card.contains(&format!("encoder: \"{KIND}\"")), "{card}");
    assert!(card.contains(&format!("encoder `{KIND}`")), "{card}");
    assert_eq!(read("log.jsonl").lines().count(), 1);
    assert!(trained.path().join("tensorboard").is_dir());

    // exports that cannot hold it, and the server
    let member = &trained.run.members()[0];
    let refused = member.export_onnx(&folder.path("onnx"), false).unwrap_err().to_string();
    assert!(refused.contains(&format!("encoder.kind = \"{KIND}\"")), "{refused}");
    for neural in choices("encoder").iter().filter(|kind| *kind != "kernel-machine") {
        assert!(refused.contains(&format!(" {neural}")), "no {neural} in {refused}");
    }
    #[cfg(feature = "serve")]
    {
        let models = get(trained.path(), "/api/models");
        assert!(models.contains(&format!("\"encoder\":[\"{KIND}\"]")), "{models}");
    }
}

#[test]
fn learners_say_how_far_they_read_words() {
    let read = |table: &str| toml::from_str::<EncoderTable>(table).unwrap().abilities().words;
    let words = r#"{ kind = "words", min = 1, max = 2 }"#;
    let every = r#"{ kind = "words", min = 1, max = 2, min_characters = 1 }"#;
    let characters = r#"{ kind = "across-words", min = 1, max = 3 }"#;
    let machine = |inputs: &[&str]| {
        let kernels = inputs.iter().map(|block| {
            format!("[[kernels]]\ninputs = {{ kind = \"ngrams\", blocks = [{block}] }}\n")
        });
        format!("kind = \"kernel-machine\"\nlambda = 1.0\n{}", kernels.collect::<String>())
    };
    let bag = |blocks: &str| format!("kind = \"ngram-bag\"\nngrams = [{blocks}]");
    for (table, expected) in [
        (bag(words), WordsRead::Alone { shortest: 2 }),
        (bag(&format!("{words}, {characters}")), WordsRead::Among { shortest: 2 }),
        (bag(characters), WordsRead::None),
        (machine(&[words, every]), WordsRead::Alone { shortest: 1 }),
        (bag(&format!("{characters}, {every}")), WordsRead::Among { shortest: 1 }),
        (machine(&[words, words]), WordsRead::Alone { shortest: 2 }),
        (machine(&[words, characters]), WordsRead::Among { shortest: 2 }),
        (machine(&[characters]), WordsRead::None),
        ("kind = \"transformer\"".to_owned(), WordsRead::None),
        (
            "kind = \"bag-and-transformer\"\nbag = {}\ntransformer = {}".to_owned(),
            WordsRead::Among { shortest: 2 },
        ),
    ] {
        assert_eq!(read(&table), expected, "{table}");
    }
}
