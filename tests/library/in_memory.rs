//! Texts and outputs that a program holds in memory.

use std::fs;

use dsokr::config::{KernelMachineConfig, Lambda, MachineInputsConfig, NgramWeights};
use dsokr::core::Processes;
use dsokr::data::config::{NumberFeatures, OutputFeatures};
use dsokr::data::featurizers::{NgramConfig, NgramKind};
use dsokr::data::{Split, SplitName};
use dsokr::{Config, EncoderTable, Error, OutputScores, Run, fit, fit_pairs, write_pairs};

use crate::Folder;
use crate::things::{labelled, things};

fn config(texts: Vec<String>, outputs: Vec<String>) -> Result<Config, Error> {
    let blocks = vec![NgramConfig::new(NgramKind::Words, 1, 1)];
    let inputs = MachineInputsConfig::Ngrams { blocks, weights: NgramWeights::TfIdf };
    let machine = KernelMachineConfig::new(inputs, Lambda::One(1e-4));
    labelled(texts, outputs, EncoderTable::from_learner(machine)?)
}

#[test]
fn pairs_in_memory_are_learned_searched_and_evaluated_on_a_file() {
    let folder = Folder::new();
    let (texts, sets) = things(60, |_, colour, form| format!("something {colour} that is {form}"));
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
fn a_split_whose_lists_do_not_have_one_length_is_refused() {
    let names = ["red", "green", "blue"];
    let texts: Vec<String> =
        (0..30).map(|pair| format!("something {} {pair}", names[pair % 3])).collect();
    let sets = (0..30).map(|pair| names[pair % 3].to_owned()).collect();
    let config = config(texts, sets).unwrap().validate().unwrap();
    let folder = Folder::new();
    let run = fit(&config, folder.path("run")).unwrap().run;
    let split = || Split::texts(vec!["something red".into(); 5]);
    let message = |split: &Split| {
        let predicted = run.predict(&Processes::default(), |_| Ok(split.clone()), None);
        predicted.err().map(|error| error.to_string())
    };
    assert_eq!(message(&split()), None);
    let lists = |count: usize| vec![vec![String::from("red")]; count];
    for (split, expected) in [
        (Split { further: lists(4), ..split() }, "4 lists of further outputs"),
        (Split { further: lists(9), ..split() }, "9 lists of further outputs"),
        (Split { labels: vec![None], ..split() }, "1 labels"),
        (Split { groups: vec!["a".into()], ..split() }, "1 groups"),
        (Split { queries: Some(vec!["a".into()]), ..split() }, "1 query ids"),
        (Split { ids: Vec::new(), ..split() }, "0 ids"),
    ] {
        let expected = format!("{expected} of a split of 5 inputs, expected 5");
        assert_eq!(message(&split), Some(expected));
    }
}

#[test]
fn pairs_that_nothing_can_be_learned_from_are_refused() {
    let texts: Vec<String> = (0..12).map(|pair| format!("text {pair}")).collect();
    let message = |outputs: &[&str]| {
        let error = fit_pairs(&texts[..outputs.len()], outputs).err().unwrap();
        error.to_string()
    };
    let least = "expected at least 10 with an input and an output";
    let none = format!("the pairs = 0 pairs, 0 of them with a blank input or output: {least}");
    assert_eq!(message(&[]), none);
    let blank = format!("the pairs = 12 pairs, 12 of them with a blank input or output: {least}");
    assert_eq!(message(&[" "; 12]), blank);
    for output in ["CCO", "NaN"] {
        let equal = format!(
            "the outputs = \"{output}\": all outputs are equal, so that there is nothing to learn"
        );
        assert_eq!(message(&[output; 12]), equal);
    }
}

#[test]
fn lines_of_pairs_need_no_newline() {
    let folder = Folder::new();
    let lines = |end: &str| -> Vec<String> {
        let line =
            |pair: usize| format!("{{\"input\": [{pair}, 2], \"output\": {}}}{end}", 3 * pair);
        (0..30).map(line).collect()
    };
    let written = ["", "\n"].map(|end| {
        let folder = folder.path(&format!("pairs{}", end.len()));
        write_pairs(&folder, lines(end), None).unwrap();
        fs::read_to_string(folder.join("pairs.jsonl")).unwrap()
    });
    assert_eq!(written[0], written[1]);
    assert_eq!(written[0].lines().count(), 30);
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
