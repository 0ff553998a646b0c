//! A user's own encoder from its configuration to a search, by a recipe.

mod mistakes;

use std::any::Any;
use std::path::{Path, PathBuf};

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::module::embedding;
use burn::tensor::{Distribution, Tensor};
use dsokr::basis::Features;
use dsokr::basis::features::DenseRows;
use dsokr::core::{Cancellation, Processes};
use dsokr::data::{DataRoot, Inputs, Split};
use dsokr::decode::Metrics;
use dsokr::device::Processor;
use dsokr::nn::{
    Encoder, MlpConfig, Padded, Pass, PeakTransformerConfig, TokenIds, TransformerConfig, dropout,
    init, pad,
};
use dsokr::run::{Member, Run};
use dsokr::train::{Event, LogLine, Observer};
use dsokr::{
    BagBesideConfig, BothInputs, Config, Error, Network, NgramBagConfig, PeakBagConfig, Prepare,
    Recipe, Request, Scores, Start, TokenInputs, TokenInputsConfig, Trained, contract, register,
};
use serde::{Deserialize, Serialize};

use crate::Folder;

/// The mean of token vectors, and a linear head.
#[derive(Module, Debug)]
struct Mean {
    table: Param<Tensor<2>>,
    head: Linear,
}

impl Encoder for Mean {
    type Input = TokenIds;

    fn dimension(&self) -> usize {
        self.head.weight.dims()[1]
    }

    fn forward(&self, batch: &[&TokenIds], pass: Pass) -> Tensor<2> {
        let Padded { ids, mask, lengths } = pad(batch, &self.table.device());
        let vectors = embedding(self.table.val(), ids) * mask;
        let mean = vectors.sum_dim(1).squeeze_dim::<2>(1) / lengths;
        self.head.forward(dropout(mean, pass, 0, 0.1))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanConfig {
    width: usize,
    #[serde(default)]
    inputs: TokenInputsConfig,
}

impl Recipe for MeanConfig {
    type Preparation = TokenInputs;
    type Encoder = Mean;

    fn validate(&self) -> Result<(), Error> {
        if self.width > 0 {
            return Ok(());
        }
        Err(Error::value("encoder.width", 0, "at least 1"))
    }

    fn preparation(&self) -> TokenInputsConfig {
        self.inputs.clone()
    }

    fn encoder(&self, tokens: &TokenInputs, start: Start) -> Result<Mean, Error> {
        let Start { offset, random, device } = start;
        let table = init::normal([tokens.vocabulary(), self.width], 1.0, random, device);
        Ok(Mean { table, head: init::head(self.width, offset, random, device) })
    }
}

const CONFIG: &str = r#"
[data]
folder = "words"
test = "test.tsv"
[output]
table = "outputs.tsv"
label = "word"
features = { kind = "ngrams", column = "word", min = 1, max = 2 }
kernel = { name = "ngram" }
[sketch]
size = 20
[encoder]
kind = "mean"
width = 24
[training]
epochs = 40
batch = 8
learning_rate = 0.02
warmup = 10
[evaluation]
split = "test"
"#;

/// Writes thirty words of two syllables, described by their syllables; some in two ways, to be tested on.
fn words(folder: &Folder) -> PathBuf {
    let syllables = ["ba", "ce", "di", "fo", "gu", "ha"];
    let mut outputs = String::from("id\tword\n");
    let mut train = String::from("id\tdescription\n");
    let mut test = train.clone();
    for (i, first) in syllables.iter().enumerate() {
        for (j, second) in syllables.iter().enumerate().filter(|(j, _)| *j != i) {
            let id = format!("w{i}{j}");
            outputs += &format!("{id}\t{first}{second}\n");
            train += &format!("{id}\tbegins {first} and finishes with end{second}\n");
            if (i + j) % 3 == 0 {
                test += &format!("{id}\tfinishes with end{second} begins {first}\n");
            }
        }
    }
    std::fs::create_dir(folder.path("words")).unwrap();
    for (name, text) in
        [("outputs", &outputs), ("train", &train), ("validation", &test), ("test", &test)]
    {
        folder.file(&format!("words/{name}.tsv"), text);
    }
    folder.file("own.toml", CONFIG)
}

fn train(
    folder: &Folder,
    file: &Path,
    out: &str,
    resume: bool,
    observer: &mut dyn Observer,
) -> Result<Trained, Error> {
    register::<MeanConfig>("mean")?;
    let config = Config::load(file)?;
    let root = config.data_root(Some(&folder.path("")))?;
    let out = Some(folder.path(out));
    let config = &config;
    let processor = Processor::Cpu;
    let request = Request { config, root, out, resume, processor, force: false };
    request.run(observer)
}

#[test]
fn an_own_encoder_is_trained_saved_read_and_searched_with() {
    let folder = Folder::new();
    let file = words(&folder);
    let trained = train(&folder, &file, "run", false, &mut ()).unwrap();
    let report = &trained.report;
    assert!(report.metrics.mrr() > 0.8, "{report}");
    assert!(report.chance.mrr() < 0.2, "{report}");
    assert!(report.to_string().contains("perfect h"), "{report}");

    // the directory alone is all that is read
    std::fs::rename(folder.path("run"), folder.path("moved")).unwrap();
    let run = Run::open(folder.path("moved")).unwrap();
    let member = &run.members()[0];
    let root = DataRoot::find("words", None, Some(&folder.path(""))).unwrap();
    let test = member.config.source().load(&root).unwrap().test.unwrap();
    let queries = run.predict(&Processes::default(), |_| Ok(test.clone()), None).unwrap();
    let (again, _) = run.evaluate(&queries).unwrap();
    assert_eq!(again.scores, report.metrics);
    let count = member.candidates.len();
    let duplicates = member.candidates.duplicates();
    let metrics = Metrics::from_ranks(&again.ranks, count, duplicates).unwrap();
    assert_eq!(metrics, report.metrics.ranks);
    let hits = run.search("begins fo and finishes with endba", 3).unwrap().hits;
    assert_eq!(hits[0].label, "foba");
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));

    // a complete run is not trained again
    let again = train(&folder, &file, "moved", true, &mut ()).unwrap();
    assert_eq!(again.report, trained.report);
    // a name stands for one learner
    let error = register::<dsokr::nn::MlpConfig>("mean").unwrap_err().to_string();
    assert!(error.contains("\"mean\""), "{error}");
}

fn network(run: &Member) -> &Network<MeanConfig> {
    let predictor: &dyn Any = run.predictor.as_ref();
    predictor.downcast_ref().expect("a network")
}

#[test]
fn a_run_that_is_written_from_its_parts_is_the_same_run() {
    let folder = Folder::new();
    let file = words(&folder);
    train(&folder, &file, "run", false, &mut ()).unwrap();
    let mut run = Member::open(folder.path("run")).unwrap();
    run.save(&folder.path("copy")).unwrap();
    let copy = Member::open(folder.path("copy")).unwrap();
    let values = |run: &Member| -> Vec<Vec<f32>> {
        let parameters = dsokr::nn::parameters::collect(&network(run).model);
        parameters.into_values().map(|parameter| parameter.values.to_vec()).collect()
    };
    assert_eq!(values(&copy), values(&run));
    let text = "begins fo and finishes with endba";
    let [found, expected] =
        ["copy", "run"].map(|out| Run::open(folder.path(out)).unwrap().search(text, 3).unwrap());
    assert_eq!(found, expected);

    // nothing is written over, and there is nothing to resume from
    let error = run.save(&folder.path("copy")).unwrap_err();
    assert!(matches!(error, Error::RunExists { .. }), "{error}");
    let error = train(&folder, &file, "copy", true, &mut ()).err().unwrap();
    assert!(matches!(error, Error::DataChanged { .. }), "{error}");
    // a model that cannot be read again is not written
    let predictor: &mut dyn Any = run.predictor.as_mut();
    let network: &mut Network<MeanConfig> = predictor.downcast_mut().expect("a network");
    let table = &mut network.model.encoder.table;
    *table = Param::from_tensor(table.val() * f32::NAN);
    let error = run.save(&folder.path("broken")).unwrap_err().to_string();
    assert!(error.contains("encoder.table") && error.contains("not finite"), "{error}");
    assert!(!folder.path("broken").exists());
}

#[test]
fn a_run_that_is_written_from_its_parts_keeps_its_reranker() {
    let folder = Folder::new();
    let file = words(&folder);
    let reranker = "[decoding]\nreranker = { candidates = 10, neighbours = 5 }\n";
    let config = std::fs::read_to_string(&file).unwrap() + reranker;
    let file = folder.file("reranked.toml", config);
    train(&folder, &file, "run", false, &mut ()).unwrap();
    Member::open(folder.path("run")).unwrap().save(&folder.path("copy")).unwrap();
    let text = "begins fo and finishes with endba";
    let [found, expected] =
        ["copy", "run"].map(|out| Run::open(folder.path(out)).unwrap().search(text, 3).unwrap());
    assert_eq!(found, expected);
}

/// Cancels the training after some steps.
struct Stop(u64, Cancellation);

impl Observer for Stop {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Step { step, .. } if *step == self.0) {
            self.1.cancel();
        }
    }
}

/// Keeps the lines of the log.
struct Lines(Vec<LogLine<Scores>>);

impl Observer for Lines {
    fn event(&mut self, event: &Event) {
        if let Event::Evaluation { line, .. } = event {
            self.0.push(line.downcast_ref::<LogLine<Scores>>().expect("a line").clone());
        }
    }
}

#[test]
fn an_own_encoders_run_is_resumed_bit_for_bit() {
    let folder = Folder::new();
    let file = words(&folder);
    let mut lines = Lines(Vec::new());
    let whole = train(&folder, &file, "whole", false, &mut lines).unwrap();
    let log = std::fs::read_to_string(folder.path("whole").join("log.jsonl")).unwrap();
    let written: Vec<LogLine<Scores>> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!written.is_empty());
    assert_eq!(lines.0, written);

    let cancellation = Cancellation::default();
    let mut stop = Stop(70, cancellation.clone());
    let stopped = cancellation.scope(|| train(&folder, &file, "parts", false, &mut stop));
    let stopped = stopped.err().unwrap();
    assert!(matches!(stopped, Error::Interrupted { step: 70 }), "{stopped}");
    let state = "interrupted at step 70; the state is saved, continue with the argument resume";
    assert_eq!(stopped.to_string(), state);
    let resumed = train(&folder, &file, "parts", true, &mut ()).unwrap();
    assert_eq!(resumed.report, whole.report);
    let bytes = |out: &str| {
        let run = Member::open(folder.path(out)).unwrap();
        dsokr::nn::parameters::collect(&network(&run).model)
            .into_values()
            .map(|p| p.values)
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes("parts"), bytes("whole"));

    let other = folder.file("other.toml", CONFIG.replace("width = 24", "width = 16"));
    let changed = train(&folder, &other, "parts", true, &mut ()).err().unwrap();
    assert!(matches!(&changed, Error::Changed { key, .. } if key == "encoder.width"), "{changed}");
}

#[test]
fn an_own_table_is_checked_as_the_built_in_ones_are() {
    let folder = Folder::new();
    words(&folder);
    register::<MeanConfig>("mean").unwrap();
    for (from, to, part) in [
        ("width = 24", "width = 0", "encoder.width = 0: expected at least 1"),
        ("width = 24", "breadth = 24", "breadth"),
        ("width = 24", "width = 24\ninputs = { max_lenth = 3 }", "max_lenth"),
    ] {
        let file = folder.file("wrong.toml", CONFIG.replace(from, to));
        let error = Config::load(&file).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let none = Recipe::validate(&NgramBagConfig { ngrams: vec![], ..NgramBagConfig::default() });
    assert!(none.unwrap_err().to_string().contains("encoder.ngrams = []"));
}

/// What is wrong with a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mistake {
    None,
    ForgetsItsFile,
    DropsAnInput,
    DrawsFromElsewhere,
    IgnoresTheOffset,
    ForgetsASetting,
}
