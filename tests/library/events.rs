//! Every event of a training, as an observer is told of it and as the log of the run keeps it.

use std::collections::{BTreeMap, BTreeSet};

use dsokr::config::{KernelMachineConfig, Lambda, MachineInputsConfig, NgramWeights};
use dsokr::data::featurizers::{NgramConfig, NgramKind};
use dsokr::train::LogLine;
use dsokr::{
    Config, EncoderTable, Event, NgramBagConfig, Observer, Request, Scores, SolvedLine, Trained,
};
use safetensors::SafeTensors;
use serde_json::json;

use crate::Folder;
use crate::single_lists::events;
use crate::things::{labelled, things};

/// The names of the events that an observer was told of, and the lines that they have for the log.
#[derive(Default)]
struct Told {
    names: BTreeSet<&'static str>,
    lines: Vec<String>,
}

impl Observer for Told {
    fn event(&mut self, event: &Event) {
        let name = match event {
            Event::Start { .. } => "Start",
            Event::Step { .. } => "Step",
            Event::Estimate { .. } => "Estimate",
            Event::Evaluation { line, .. } => {
                let line = line.downcast_ref::<LogLine<Scores>>().expect("a line of the log");
                self.lines.push(serde_json::to_string(line).unwrap());
                "Evaluation"
            }
            Event::Solving { .. } => "Solving",
            Event::Solved { scores, took, .. } => {
                let scores = scores.downcast_ref::<Scores>().expect("scores");
                let line = SolvedLine::new(took.as_secs_f64(), scores.clone());
                self.lines.push(serde_json::to_string(&line).unwrap());
                "Solved"
            }
            Event::End { .. } => "End",
            Event::Checkpoint { .. } => "Checkpoint",
            Event::EarlyStop { .. } => "EarlyStop",
            other => panic!("the test does not know the event \"{other}\""),
        };
        let text = event.to_string();
        assert!(text.len() > 10, "{name}: {text:?}");
        self.names.insert(name);
    }
}

/// Returns the configuration of an encoder of things.
fn config(encoder: EncoderTable) -> Config {
    let (texts, sets) = things(60, |_, colour, form| format!("something {colour} that is {form}"));
    let mut config = labelled(texts, sets, encoder).unwrap();
    config.sketch.size = 9;
    config
}

/// Trains, and compares the log of the run with what the observer was told.
fn train(config: Config, folder: &Folder, name: &str, told: &mut Told) -> Trained {
    let config = config.validate().unwrap();
    let request = Request { out: Some(folder.path(name)), ..Request::new(&config).unwrap() };
    told.lines.clear();
    let trained = request.run(told).unwrap();
    let log = std::fs::read_to_string(trained.path().join("log.jsonl")).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), told.lines);
    trained
}

#[test]
fn an_observer_is_told_of_every_event_and_the_log_has_what_it_is_told() {
    let folder = Folder::new();
    let mut told = Told::default();

    let words = json!([{ "kind": "words", "min": 1, "max": 1 }]);
    let bag: NgramBagConfig = serde_json::from_value(json!({ "ngrams": words })).unwrap();
    let mut stopped = config(EncoderTable::from_learner(bag).unwrap());
    stopped.training.epochs = 500;
    stopped.training.batch = 4;
    stopped.training.patience = 2;
    stopped.training.checkpoint_seconds = 0;
    train(stopped, &folder, "network", &mut told);

    let blocks = vec![NgramConfig::new(NgramKind::Words, 1, 1)];
    let inputs = MachineInputsConfig::Ngrams { blocks, weights: NgramWeights::TfIdf };
    let machine = KernelMachineConfig::new(inputs, Lambda::One(1e-4));
    train(config(EncoderTable::from_learner(machine).unwrap()), &folder, "machine", &mut told);

    let all = events();
    assert_eq!(told.names, all.iter().map(String::as_str).collect());
}

/// Stops the training after so many steps, and notes the parameters that the event has.
struct StopAt {
    step: u64,
    parameters: BTreeMap<String, Vec<f32>>,
}

impl Observer for StopAt {
    fn event(&mut self, event: &Event) {
        if let Event::Evaluation { control, .. } = event {
            let all = control.parameters().into_iter();
            self.parameters =
                all.map(|(name, parameter)| (name, parameter.values.to_vec())).collect();
        }
        if let Event::Step { step, control, .. } = event
            && *step == self.step
        {
            control.stop();
        }
    }
}

#[test]
fn a_run_that_an_observer_stops_is_complete() {
    let folder = Folder::new();
    let words = json!([{ "kind": "words", "min": 1, "max": 1 }]);
    let bag: NgramBagConfig = serde_json::from_value(json!({ "ngrams": words })).unwrap();
    let mut settings = config(EncoderTable::from_learner(bag).unwrap());
    settings.training.epochs = 3;
    settings.training.batch = 4;
    let checked = settings.clone().validate().unwrap();
    let out = folder.path("stopped");
    let request = Request { out: Some(out.clone()), ..Request::new(&checked).unwrap() };
    let mut observer = StopAt { step: 5, parameters: BTreeMap::new() };
    let trained = request.run(&mut observer).unwrap();
    let log = std::fs::read_to_string(out.join("log.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 1);
    assert!(log.contains("\"step\":5,"), "{log}");
    // what was evaluated is the model of the run
    let stored = std::fs::read(out.join("encoder.safetensors")).unwrap();
    let stored = SafeTensors::deserialize(&stored).unwrap();
    assert_eq!(observer.parameters.len(), stored.len());
    for (name, values) in &observer.parameters {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(stored.tensor(name).unwrap().data(), bytes, "{name}");
    }

    // resumed, it is as it was
    let mut told = Told::default();
    let again = Request { resume: true, ..request }.run(&mut told).unwrap();
    assert!(told.names.is_empty() && again.report == trained.report);
}
