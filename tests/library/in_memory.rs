//! Texts and outputs that a program holds in memory.

use std::fs;

use dsokr::basis::Kernel;
use dsokr::config::{KernelConfig, KernelMachineConfig, Lambda, MachineInputsConfig, NgramWeights};
use dsokr::core::Processes;
use dsokr::data::SplitName;
use dsokr::data::config::{LabelFeatures, NumberFeatures, OutputFeatures};
use dsokr::data::featurizers::{NgramConfig, NgramKind};
use dsokr::{Config, EncoderTable, Error, OutputScores, Run, fit};

use crate::Folder;

fn config(texts: Vec<String>, outputs: Vec<String>) -> Result<Config, Error> {
    let blocks = vec![NgramConfig::new(NgramKind::Words, 1, 1)];
    let inputs = MachineInputsConfig::Ngrams { blocks, weights: NgramWeights::TfIdf };
    let machine = KernelMachineConfig::new(inputs, Lambda::One(1e-4));
    let features =
        OutputFeatures::Labels(LabelFeatures { column: "labels".into(), separator: ',' });
    let kernel = KernelConfig::from(Kernel::Tanimoto);
    Config::in_memory(texts, outputs, features, kernel, EncoderTable::from_learner(machine)?)
}

#[test]
fn pairs_in_memory_are_learned_searched_and_evaluated_on_a_file() {
    let folder = Folder::new();
    let names = ["red", "green", "blue", "round", "flat", "long"];
    let mut texts = Vec::new();
    let mut sets = Vec::new();
    for pair in 0..60 {
        let [a, b] = [names[pair % 3], names[3 + pair / 3 % 3]];
        texts.push(format!("something {a} that is {b}"));
        sets.push(format!("{a},{b}"));
    }
    let mut config = config(texts, sets).unwrap();
    config.sketch.size = 9;
    let config = config.validate().unwrap();
    let trained = fit(&config, folder.path("run")).unwrap();
    let metrics = &trained.report.metrics;
    let Some(OutputScores::Labels(found)) = &metrics.outputs else { panic!("no label sets") };
    assert_eq!((metrics.queries, found.f1), (6, 1.0));

    let run = Run::open(trained.path()).unwrap();
    let member = &run.members()[0];
    assert_eq!(member.config.to_toml().unwrap(), config.to_toml().unwrap());
    let answer = run.search("a round thing, and it is blue", 2).unwrap();
    assert_eq!(answer.hits[0].label, "blue,round");
    let together = run.search_all(&["a round thing, and it is blue", "long and green"], 2).unwrap();
    assert_eq!((together.len(), &together[0].hits), (2, &answer.hits));
    assert_eq!(together[1].hits[0].label, "green,long");
    assert!(run.search_all(&[] as &[&str], 2).unwrap().is_empty());
    // the pairs themselves are gone, and a file stands for them
    let error = member.read_split(SplitName::Validation, None).unwrap_err().to_string();
    assert!(error.contains("data.source") && error.contains("file of queries"), "{error}");
    let file = folder.path("queries.tsv");
    fs::write(&file, "id\tdescription\tlabels\n3\tflat and red\tred,flat\n").unwrap();
    let queries = run
        .predict(&Processes::default(), |member| member.read_queries(&file, None, None), None)
        .unwrap();
    assert_eq!(run.evaluate(&queries).unwrap().0.ranks.len(), 1);
}

#[test]
fn pairs_that_cannot_be_are_refused() {
    let lines = |count: usize| vec![String::from("a"); count];
    for (texts, outputs, message) in
        [(3, 2, "3 texts and 2 outputs"), (0, 0, "0 texts"), (1, 1, "at least two")]
    {
        let error = config(lines(texts), lines(outputs)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let texts = ["one", "two"].map(str::to_owned).to_vec();
    let labels = ["a", "b"].map(str::to_owned).to_vec();
    let mut other = config(texts, labels).unwrap();
    other.output.features = OutputFeatures::Numbers(NumberFeatures {
        column: "labels".into(),
        decimal: '.',
        unit: String::new(),
        mixed_decimals: false,
    });
    let error = fit(&other.validate().unwrap(), Folder::new().path("run")).err().unwrap();
    assert!(error.to_string().contains("\"a\""), "{error}");
}
