//! Data that are drawn: losses, plain regression, learned embeddings, and the study of sketches.

use crate::sandbox::{CONFIG, Sandbox, copy, json, number};

const DRAWN: &str = r#"
[data]
source = "synthetic"
train = 1000
validation = 100
test = 100
unlabelled = 400
inputs = 20
outputs = 30
input_decay = 0.5
map = { kind = "low-rank", rank = 5 }
noise = { variance = 0.01 }

[output]
kernel = { name = "linear" }

[sketch]
size = 10

[training]
epochs = 8
learning_rate = 0.03
optimizer = "adam"
warmup = 0
checkpoint_seconds = 0

[evaluation]
metric = "squared_error"
split = "test"
"#;

const MLP: &str = "\n[encoder]\nkind = \"mlp\"\nhidden = []\ndropout = 0.0\n";

const RIDGE: &str = "\n[encoder]\nkind = \"kernel-machine\"\nlambda = 1e-4\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("drawn.toml", &format!("{DRAWN}{MLP}"));
    sandbox.write("ridge.toml", &format!("{DRAWN}{RIDGE}"));
    sandbox
}

#[test]
fn the_squared_error_is_trained_for_evaluated_and_printed() {
    let sandbox = sandbox();
    let report = sandbox.train("drawn.toml", &[]);
    let again = json(&sandbox.succeed(&["evaluate", "runs/drawn", "--split", "test", "--json"]));
    assert_eq!(again["squared_error"], report["squared_error"]);
    let text = sandbox.succeed(&["evaluate", "runs/drawn"]);
    assert!(text.contains("squared error"), "{text}");

    // Plain regression has no part of the outputs outside of its basis; a sketch that leaves little
    // out is nearly as good, with a third of the coordinates.
    let plain = sandbox.train("drawn.toml", &["sketch.full=true"]);
    let error = number(&report, "squared_error");
    let perfect = number(&plain, "squared_error");
    assert!(number(&plain["perfect_h"], "squared_error") < 1e-4, "{plain}");
    assert!(error < 2.0 * perfect && perfect < 0.6, "{error} against {perfect}");
    let ridge = sandbox.train("ridge.toml", &[]);
    assert!(number(&ridge, "squared_error") < 1.0, "{ridge}");
}

#[test]
fn robust_losses_bear_wrong_outputs() {
    let sandbox = sandbox();
    let with = |loss: &str| {
        let loss = format!("training.loss={loss}");
        let report = sandbox.train("drawn.toml", &["data.corrupted=0.3", &loss]);
        number(&report, "squared_error")
    };
    let square = with(r#"{name="square"}"#);
    let huber = with(r#"{name="huber", kappa=1.0}"#);
    let insensitive = with(r#"{name="epsilon-insensitive", epsilon=0.5}"#);
    assert!(huber < 0.5 * square && insensitive < 0.5 * square, "{square} {huber} {insensitive}");
}

#[test]
fn a_kernel_machine_bears_wrong_outputs() {
    let sandbox = sandbox();
    let sketched = ["data.corrupted=0.3", "encoder.solver={name=\"sketched\", sketch={size=100}}"];
    let square = sandbox.train("ridge.toml", &sketched);
    let huber = "encoder.solver={name=\"lipschitz\", sketch={size=100}, \
                 loss={name=\"huber\", kappa=0.5}}";
    let changes = [sketched[0], huber];
    let huber = sandbox.train("ridge.toml", &changes);
    let square = number(&square, "squared_error");
    let error = number(&huber, "squared_error");
    assert!(error < 0.5 * square, "{error} against {square}");
    // it is a run like any other
    copy(&sandbox.path("runs/ridge-2"), &sandbox.path("moved"));
    let evaluate = ["evaluate", "moved", "--split", "test", "--json"];
    assert_eq!(json(&sandbox.succeed(&evaluate))["squared_error"], huber["squared_error"]);
    let sets = changes.iter().flat_map(|change| ["--set", *change]);
    let resume = ["train", "ridge.toml", "--out", "moved", "--resume", "--json"];
    let arguments: Vec<&str> = resume.into_iter().chain(sets).collect();
    std::fs::remove_file(sandbox.path("moved/metrics.json")).unwrap();
    std::fs::remove_file(sandbox.path("moved/machine.safetensors")).unwrap();
    sandbox.fail(&["evaluate", "moved"], 2, &["machine.safetensors", "--resume"]);
    assert_eq!(json(&sandbox.succeed(&arguments)), huber);
    // of several λ the best on the validation split, which the square loss has too
    let config = sandbox.read("ridge.toml").replace("lambda = 1e-4", "lambda = [1e-4, 1e3]");
    sandbox.write("several.toml", &config);
    let same = sandbox.train("several.toml", &changes);
    assert_eq!(same["squared_error"], huber["squared_error"]);
    // vote with another run
    let vote = ["evaluate", "moved", "runs/ridge", "--split", "test", "--json"];
    assert!(number(&json(&sandbox.succeed(&vote)), "mrr") > 0.5);
}

#[test]
fn leading_coordinates_are_kernel_dependency_estimation() {
    let sandbox = sandbox();
    let every = ["sketch.size=1000", "sketch.method={kind=\"subsampling\"}"];
    let leading = |rank| format!("encoder.predictions={{kind=\"leading\", rank={rank}}}");
    let with = |rank: &[&str]| sandbox.train("ridge.toml", &[&every[..], rank].concat());
    let all = with(&[]);
    let five = with(&[&leading(5)]);
    let two = with(&[&leading(2)]);
    let error = |report| number(report, "squared_error");
    // Principal components: five hold all but noise, of which a regression learns nothing.
    assert!(error(&five) < 1.1 * error(&all) && error(&two) > 10.0 * error(&five));
    let noise = 25.0 * 0.01;
    assert!((number(&five["perfect_h"], "squared_error") / noise - 1.0).abs() < 0.15, "{five}");
    let again = json(&sandbox.succeed(&["evaluate", "runs/ridge-2", "--split", "test", "--json"]));
    assert_eq!(again["squared_error"], five["squared_error"]);
}

#[test]
fn losses_with_a_temperature_find_outputs_and_their_runs_go_on() {
    for name in ["contrastive", "softmax"] {
        assert_finds_outputs_and_goes_on(&format!(
            "training.loss={{name={name:?}, temperature=0.2}}"
        ));
    }
}

fn assert_finds_outputs_and_goes_on(loss: &str) {
    let sandbox = sandbox();
    let changes = [loss, "evaluation.metric=mrr", "output.kernel.name=cosine"];
    let report = sandbox.train("drawn.toml", &changes);
    assert!(number(&report, "mrr") > 20.0 * number(&report["chance"], "mrr"), "{report}");
    let again = json(&sandbox.succeed(&["evaluate", "runs/drawn", "--split", "test", "--json"]));
    assert_eq!(again["mrr"], report["mrr"]);
    // the temperature is a part of the state that a run goes on with
    let sets = changes.iter().flat_map(|change| ["--set", *change]);
    let resume = ["train", "drawn.toml", "--out", "runs/drawn", "--resume", "--json"];
    let arguments: Vec<&str> = resume.into_iter().chain(sets).collect();
    std::fs::remove_file(sandbox.path("runs/drawn/metrics.json")).unwrap();
    assert_eq!(json(&sandbox.succeed(&arguments)), report);
}

#[test]
fn an_embedding_is_drawn_beside_its_curve() {
    let sandbox = sandbox();
    let embedding = "encoder.predictions={kind=\"embedded\", ranks=[1, 5], supervised=[1.0, 0.5]}";
    sandbox.train("ridge.toml", &[embedding, "data.train=40"]);
    let curve: serde_json::Value =
        json(&sandbox.read("runs/ridge/embedding.json").replace('\n', ""));
    assert_eq!(curve["points"].as_array().unwrap().len(), 2 * 3);
    let svg = sandbox.read("runs/ridge/embedding.svg");
    assert!(svg.contains("c = 0.5") && svg.contains("validation squared error"));
}

#[test]
fn a_study_compares_kinds_of_sketches_and_powers() {
    let sandbox = sandbox();
    let study = ["sketch", "drawn.toml", "--sizes", "2,5,10", "--draws", "2", "--json"];
    let found = json(&sandbox.succeed(&[&study[..], &["--methods", "all"]].concat()));
    let curves = found["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 7);
    for curve in curves {
        // Outputs have five directions, and noise.
        let recommended = number(curve, "recommended");
        assert!((5.0..=10.0).contains(&recommended), "{curve}");
        let spectrum = curve["spectrum"].as_array().unwrap();
        assert!(spectrum[4].as_f64() > spectrum[5].as_f64().map(|value| 10.0 * value), "{curve}");
        assert!(curve["points"][0].get("fitted").is_none());
    }
    let scores = found["leverage"][0]["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 400);
    assert!(scores.is_sorted_by(|a, b| a.as_f64() >= b.as_f64()));
    // of 1,000 outputs √1000 are columns: more than the largest sketch has rows
    assert_eq!(number(&found["leverage"][0], "pilot"), 31.0);
    assert!((5.0..31.0).contains(&number(&found["leverage"][0], "dimension")));
    assert_eq!(found["leverage"][0]["lower_bound"], true);

    // A kernel machine is fitted for every size and power.
    let study = ["sketch", "ridge.toml", "--sizes", "5,10", "--draws", "1", "--powers", "0,0.5"];
    let set = ["--set", "evaluation.metric=mrr", "--json"];
    let found = json(&sandbox.succeed(&[&study[..], &set].concat()));
    let curves = found["curves"].as_array().unwrap();
    assert_eq!(curves.iter().map(|c| number(c, "power")).collect::<Vec<_>>(), [0.0, 0.5]);
    for curve in curves {
        let point = &curve["points"].as_array().unwrap()[1];
        assert!(number(&point["fitted"], "mean") <= number(point, "mean"));
    }
    // It is what a run of these settings reaches.
    let size = ["sketch.size=10", "output.power=0.5", "evaluation.metric=mrr"];
    let run = sandbox.train("ridge.toml", &[&size[..], &["evaluation.split=validation"]].concat());
    assert_eq!(run["mrr"], curves[1]["points"][1]["fitted"]["mean"]);
    let text = sandbox.succeed(&[&study[..], &["--set", "evaluation.metric=mrr"]].concat());
    for part in ["fitted", "best: ridge, power", "effective dimension", "output.power"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let bound = "(31 columns): effective dimension at least ";
    assert!(text.contains(bound), "{text}");
    // as many columns as the largest sketch has rows, up to all outputs
    let larger = ["sketch", "drawn.toml", "--sizes", "100", "--draws", "1"];
    let text = sandbox.succeed(&larger);
    assert!(text.contains("(100 columns): effective dimension at least "), "{text}");
    let all = sandbox.succeed(&[&larger[..], &["--set", "data.train=100"]].concat());
    let exact = all.split_once("(100 columns): effective dimension ").unwrap().1;
    assert!(exact.starts_with(|start: char| start.is_ascii_digit()), "{all}");
    let wrong = |arguments: &[&str], says: &[&str]| {
        sandbox.fail(&[&["sketch", "drawn.toml"], arguments].concat(), 2, says);
    };
    wrong(&["--methods", "gausian"], &["--methods", "gausian", "gaussian"]);
    wrong(&["--powers", "1.5"], &["output.power", "1.5", "[0, 1]"]);
    wrong(&["--powers", "0,0.5"], &["--powers", "kernel-machine"]);
    wrong(&["--lambda", "0"], &["leverage", "lambda", "0"]);
    wrong(&["--set", "sketch.full=true"], &["sketch.full"]);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let sandbox = sandbox();
    let set = |config: &str, change: &str, says: &[&str]| {
        sandbox.fail(&["train", config, "--set", change], 2, says);
    };
    set("drawn.toml", "data.folder=small", &["unknown field `folder`", "input_decay"]);
    set("drawn.toml", "data.train=0", &["data.train", "at least 1"]);
    set("drawn.toml", "data.map.rank=31", &["data.map.rank", "31", "1 to 30"]);
    set("drawn.toml", "data.map={kind=\"covariance\"}", &["data.outputs", "20"]);
    set("drawn.toml", "data.noise.variance=-1", &["noise.variance", "-1"]);
    set("drawn.toml", "data.corrupted=1.5", &["data.corrupted", "1.5"]);
    set("drawn.toml", "output.table=x.tsv", &["output.table", "remove it"]);
    set("drawn.toml", "training.loss={name=\"huber\", kappa=0.0}", &["training.loss.kappa", "0"]);
    set("drawn.toml", "training.loss={name=\"hubre\"}", &["hubre", "huber"]);
    set("drawn.toml", "training.loss={name=\"square\", kappa=1.0}", &["kappa"]);
    let contrastive = "training.loss={name=\"contrastive\", temperature=0.0}";
    set("drawn.toml", contrastive, &["training.loss.temperature", "0.01 to 100"]);
    let embedding = |text: &str| format!("encoder.predictions={{kind=\"embedded\", {text}}}");
    set("ridge.toml", &embedding("ranks=[5, 2]"), &["encoder.predictions.ranks", "increasing"]);
    set("ridge.toml", &embedding("ranks=[11]"), &["encoder.predictions.ranks", "11", "at most 10"]);
    let mixed = embedding("ranks=[2], supervised=[1.2]");
    set("ridge.toml", &mixed, &["encoder.predictions.supervised", "1.2"]);
    let mixed = embedding("ranks=[2], supervised=[0.5]");
    sandbox.fail(
        &["train", "ridge.toml", "--set", &mixed, "--set", "data.unlabelled=0"],
        2,
        &["encoder.predictions.supervised", "none is left over"],
    );
    let huber = "encoder.solver={name=\"lipschitz\", loss={name=\"huber\", kappa=1.0}}";
    set("ridge.toml", huber, &["missing field `sketch`"]);
    let negative = "encoder.solver={name=\"lipschitz\", sketch={size=10}, \
                    loss={name=\"huber\", kappa=-1.0}}";
    set("ridge.toml", negative, &["encoder.solver", "kappa"]);
    let leading = |rank| format!("encoder.predictions={{kind=\"leading\", rank={rank}}}");
    set("ridge.toml", &leading(0), &["encoder.predictions.rank", "at least 1"]);
    set("ridge.toml", &leading(11), &["number of coordinates", "11"]);
    let lipschitz =
        "encoder.solver={name=\"lipschitz\", sketch={size=10}, loss={name=\"huber\", kappa=1.0}}";
    let refused = |predictions: &str, says: &[&str]| {
        let arguments = ["train", "ridge.toml", "--set", predictions, "--set", lipschitz];
        sandbox.fail(&arguments, 2, says);
    };
    refused(&leading(2), &["\"conjugate-gradients\" or \"divide-and-conquer\"; remove it"]);
    let embedded = "encoder.predictions={kind=\"embedded\", ranks=[2]}";
    refused(embedded, &["encoder.predictions", "\"closed-form\" or \"sketched\"; remove it"]);
    // Hubs and a missing sketch leave the squared error unknown.
    set("ridge.toml", "sketch.full=true", &["evaluation.metric", "squared_error"]);
    let ngram = CONFIG.replacen("size = 20", "size = 20\nfull = true", 1);
    sandbox.write("small.toml", &ngram);
    sandbox.fail(&["train", "small.toml"], 2, &["sketch.full", "linear and cosine"]);
    assert!(!sandbox.path("runs").exists());
}

#[test]
fn a_study_of_one_size_and_one_draw_says_so() {
    let sandbox = Sandbox::new();
    let text = sandbox.succeed(&["sketch", "small.toml", "--sizes", "20", "--draws", "1"]);
    assert!(text.contains("recommended: m = 20, the only size that was tried"), "{text}");
    assert!(!text.contains('±'), "{text}");
}
