//! A user's own encoder from its configuration to a search, by a recipe.

use std::any::Any;
use std::path::{Path, PathBuf};

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::module::embedding;
use burn::tensor::{Distribution, Tensor};
use dsokr::basis::features::DenseRows;
use dsokr::basis::{Cancellation, Features};
use dsokr::data::{DataRoot, Inputs, Split};
use dsokr::decode::{Metrics, Pool};
use dsokr::device::Processor;
use dsokr::nn::{
    Encoder, MlpConfig, NgramBagConfig, Padded, Pass, PeakTransformerConfig, TokenIds,
    TransformerConfig, dropout, init, pad,
};
use dsokr::run::Run;
use dsokr::train::{Event, LogLine, Observer};
use dsokr::{
    BagBesideConfig, BothInputs, Config, Error, Network, PeakBagConfig, Prepare, Recipe, Request,
    Scores, Start, TokenInputs, TokenInputsConfig, Trained, contract, register,
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
weight_decay = 0.0
[evaluation]
split = "test"
"#;

/// Thirty words of two syllables, described by their syllables; some in two ways, to be tested on.
fn words(folder: &Folder) -> PathBuf {
    let syllables = ["ba", "ce", "di", "fo", "gu", "ha"];
    let (mut outputs, mut train) = (String::from("id\tword\n"), String::from("id\tdescription\n"));
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
    let (config, processor) = (&config, Processor::Cpu);
    let request = Request { config, root, out, resume, processor, force: false };
    request.run(observer)
}

#[test]
fn an_own_encoder_is_trained_saved_read_and_searched_with() {
    let folder = Folder::new();
    let file = words(&folder);
    let trained = train(&folder, &file, "run", false, &mut ()).unwrap();
    let report = &trained.report;
    assert!(report.metrics.mrr > 0.8, "{report}");
    assert!(report.chance.mrr < 0.2, "{report}");
    assert!(report.to_string().contains("perfect h"), "{report}");

    // the directory alone is all that is read
    std::fs::rename(folder.path("run"), folder.path("moved")).unwrap();
    let run = Run::open(&folder.path("moved")).unwrap();
    let root = DataRoot::find("words", None, Some(&folder.path(""))).unwrap();
    let test = run.config.source().load(&root).unwrap().test.unwrap();
    let again = run.evaluate(&test, Pool::Shared).unwrap();
    assert_eq!(again.scores, report.metrics);
    let (count, duplicates) = (run.candidates.len(), run.candidates.duplicates());
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

fn network(run: &Run) -> &Network<MeanConfig> {
    let predictor: &dyn Any = run.predictor.as_ref();
    predictor.downcast_ref().expect("a network")
}

#[test]
fn a_run_that_is_written_from_its_parts_is_the_same_run() {
    let folder = Folder::new();
    let file = words(&folder);
    train(&folder, &file, "run", false, &mut ()).unwrap();
    let mut run = Run::open(&folder.path("run")).unwrap();
    run.save(&folder.path("copy")).unwrap();
    let copy = Run::open(&folder.path("copy")).unwrap();
    let values = |run: &Run| -> Vec<Vec<f32>> {
        let parameters = dsokr::nn::parameters::collect(&network(run).model);
        parameters.into_values().map(|parameter| parameter.values.to_vec()).collect()
    };
    assert_eq!(values(&copy), values(&run));
    let text = "begins fo and finishes with endba";
    assert_eq!(copy.search(text, 3).unwrap(), run.search(text, 3).unwrap());

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
    assert!(
        matches!(stopped, Error::Train(dsokr::train::Error::Interrupted { step: 70 })),
        "{stopped}"
    );
    let resumed = train(&folder, &file, "parts", true, &mut ()).unwrap();
    assert_eq!(resumed.report, whole.report);
    let bytes = |out: &str| {
        let run = Run::open(&folder.path(out)).unwrap();
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
        ("width = 24", "width = 0", "encoder.width = 0: allowed is at least 1"),
        ("width = 24", "breadth = 24", "breadth"),
        ("width = 24", "width = 24\ninputs = { max_lenth = 3 }", "max_lenth"),
    ] {
        let file = folder.file("wrong.toml", CONFIG.replace(from, to));
        let error = Config::load(&file).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Wrong {
    mistake: Mistake,
    /// Of the preparation.
    file: String,
    #[serde(skip)]
    forgotten: usize,
}

/// The letters of the training texts, and the file that holds them.
struct Letters(Wrong, Vec<char>);

impl Prepare for Letters {
    type Settings = Wrong;
    type Input = TokenIds;

    fn fit(settings: &Wrong, train: &Split) -> Result<Self, Error> {
        let mut letters: Vec<char> =
            train.inputs.texts()?.iter().flat_map(|text| text.chars()).collect();
        letters.sort_unstable();
        letters.dedup();
        Ok(Self(settings.clone(), letters))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        let place = |letter| self.1.iter().position(|c| *c == letter).map(|place| place as u32);
        let input = |text: &String| text.chars().filter_map(place).collect::<Vec<u32>>().into();
        let skipped = usize::from(self.0.mistake == Mistake::DropsAnInput);
        Ok(split.inputs.texts()?.iter().skip(skipped).map(input).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(self.0.file.clone().leak(), self.1.iter().collect())])
    }

    fn load(settings: &Wrong, folder: &Path) -> Result<Self, Error> {
        let letters = std::fs::read_to_string(folder.join(&settings.file)).unwrap();
        let reversed = settings.mistake == Mistake::ForgetsItsFile;
        let letters =
            if reversed { letters.chars().rev().collect() } else { letters.chars().collect() };
        Ok(Self(settings.clone(), letters))
    }
}

impl Recipe for Wrong {
    type Preparation = Letters;
    type Encoder = Mean;

    fn preparation(&self) -> Self {
        self.clone()
    }

    fn encoder(&self, letters: &Letters, start: Start) -> Result<Mean, Error> {
        let Start { offset, random, device } = start;
        let mut table = init::normal([letters.1.len(), 8], 1.0, random, device);
        if self.mistake == Mistake::DrawsFromElsewhere {
            table = Param::from_tensor(Tensor::random([20, 8], Distribution::Default, device));
        }
        let offset = if self.mistake == Mistake::IgnoresTheOffset { &[0.0; 3] } else { offset };
        Ok(Mean { table, head: init::head(8, offset, random, device) })
    }
}

#[test]
fn the_built_in_recipes_keep_the_contract() {
    let texts: Vec<String> = [
        "the molecule is a methyl ester",
        "a long chain fatty acid with two double bonds",
        "an amine",
        "the methyl ester of an amino acid, a member of the class of amines",
    ]
    .map(String::from)
    .into();
    let rows = DenseRows::new(3, (0..12).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let split = |inputs| Split::new(texts.clone(), inputs, vec![None; 4]);
    let vectors = split(Inputs::Vectors(Features::Dense(rows)));
    let train = split(Inputs::Texts(texts.clone()));
    fn keeps<R: Recipe>(train: &Split, settings: &str) {
        let recipe: R = toml::from_str(settings).unwrap();
        contract::check(&recipe, train).unwrap_or_else(|breach| panic!("{settings}: {breach}"));
    }
    let bag = "ngrams = [{ kind = 'words', min = 1, max = 2 }]\nembedding = 8";
    keeps::<NgramBagConfig>(&train, bag);
    keeps::<NgramBagConfig>(&train, "hidden = []");
    keeps::<MlpConfig>(&vectors, "hidden = [7]");
    let spectra =
        ["90.1 30.2:1 45.1:9", "60.3 45.1:2", "90.2 30.2:3 46.5:1 80.0:4", "301.07 45.1:1"];
    let spectra = split(Inputs::Texts(spectra.map(String::from).into()));
    keeps::<PeakBagConfig>(&spectra, "blocks = [{ bin = 0.1 }]\nembedding = 8");
    let peaks = "width = 8\nheads = 2\nfeed_forward = 16\nmax_peaks = 2";
    keeps::<PeakTransformerConfig>(&spectra, peaks);
    let transformer = "width = 8\nheads = 2\nfeed_forward = 16\nmax_length = 12";
    keeps::<TransformerConfig>(&train, transformer);
    keeps::<BagBesideConfig<TransformerConfig>>(&train, BOTH);
}

const BOTH: &str = "
bag = { ngrams = [{ kind = 'words', min = 1, max = 1, min_texts = 1 }], hidden = [] }
transformer = { width = 8, heads = 2, feed_forward = 16, max_length = 12 }";

#[test]
fn a_bag_beside_a_transformer_has_the_sizes_and_the_settings_of_the_two() {
    let read = |text: &str| toml::from_str::<BagBesideConfig<TransformerConfig>>(text).unwrap();
    let split = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        Split::new(texts.clone(), Inputs::Texts(texts), vec![None; 3])
    };
    let recipe = read(BOTH);
    let train = split(&["one two three four", "two", "three"]);
    let both = BothInputs::fit(&recipe.preparation(), &train).unwrap();
    let sizes = |split: &Split| recipe.size(&both, &both.inputs(split).unwrap(), 5);
    let parts = sizes(&train);
    let keys: Vec<&str> = parts.iter().map(|part| &*part.keys).collect();
    assert_eq!(keys[0], "bag.ngrams");
    assert!(keys.contains(&"transformer.layers × transformer.width"), "{keys:?}");
    // memory is that of the longest text, time that of the mean
    let (longest, mean) = (["one two three four"; 3], ["one two"; 3]);
    assert_eq!(parts[0].activations, sizes(&split(&longest))[0].activations);
    assert_eq!(parts[0].products, sizes(&split(&mean))[0].products);
    assert_eq!(sizes(&split(&[]))[0].products, 0.0);
    for (from, to, key) in [
        ("hidden = []", "hidden = [], ngram_dropout = 1.0", "encoder.bag.ngram_dropout"),
        ("heads = 2", "heads = 3", "encoder.transformer.heads"),
    ] {
        let error = Recipe::validate(&read(&BOTH.replace(from, to))).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn the_contract_of_recipes_notices_each_mistake() {
    let texts: Vec<String> = ["one", "sixteen", "a hundred and two", "no"].map(String::from).into();
    let ids = texts.clone();
    let inputs = Inputs::Texts(texts);
    let train = Split::new(ids, inputs, vec![None; 4]);
    let with_file = |mistake, file: &str, forgotten| {
        contract::check(&Wrong { mistake, file: file.into(), forgotten }, &train)
    };
    let check = |mistake, forgotten| with_file(mistake, "letters.txt", forgotten);
    check(Mistake::None, 0).unwrap();
    for (mistake, forgotten, part) in [
        (Mistake::ForgetsItsFile, 0, "prepares other inputs"),
        (Mistake::DropsAnInput, 0, "3 inputs for 4 pairs"),
        (Mistake::DrawsFromElsewhere, 0, "the same generator draws a different table"),
        (Mistake::IgnoresTheOffset, 0, "3 coordinates, the basis 5"),
        (Mistake::ForgetsASetting, 7, "come back from TOML"),
    ] {
        let breach = check(mistake, forgotten).expect_err(&format!("{mistake:?} is not noticed"));
        assert!(breach.to_string().contains(part), "{mistake:?}: {breach}");
    }

    // a preparation writes no file that the book lists as the run's
    let page = std::fs::read_to_string("book/src/files.md").unwrap();
    let table = page.lines().skip_while(|line| !line.starts_with("| file |")).skip(2);
    let mut refused = 0;
    for row in table.take_while(|line| line.starts_with('|')) {
        let mut cells = row.split('|').skip(1);
        let (files, meaning) = (cells.next().unwrap(), cells.next().unwrap());
        let own = !meaning.contains("preparation") && !meaning.contains("tokenizer");
        // names are between backquotes; of a folder the first part counts
        for file in files.split('`').skip(1).step_by(2) {
            let file = file.split('/').next().unwrap();
            match with_file(Mistake::None, file, 0) {
                Ok(()) => assert!(!own, "{file}"),
                Err(error) => {
                    let message = format!("{file}: a preparation's files");
                    assert!(own && error.to_string().contains(&message), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 20, "{refused}");
}
