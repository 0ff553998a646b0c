//! Training from a pretrained folder, here a small one made up on the spot.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use dsokr::Member;
use dsokr::data::Split;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize_to_file};

use crate::exports::python_with;
use crate::sandbox::{CONFIG, Sandbox, copy, json};

const WORDS: [&str; 12] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "ring", "an", "open", "chain", "of", "kind",
];
const WIDTH: usize = 16;
const POSITIONS: usize = 12;

/// Name and shape of every tensor of a BERT with two layers, with its pooler.
fn shapes(vocabulary: usize) -> BTreeMap<String, Vec<usize>> {
    let d = WIDTH;
    let mut all = BTreeMap::new();
    let mut add = |name: String, shape: &[usize]| {
        all.insert(name, shape.to_vec());
    };
    add("embeddings.word_embeddings.weight".into(), &[vocabulary, d]);
    add("embeddings.position_embeddings.weight".into(), &[POSITIONS, d]);
    add("embeddings.token_type_embeddings.weight".into(), &[2, d]);
    let mut norms = vec!["embeddings.LayerNorm".to_string()];
    let mut linear = vec![("pooler.dense".to_string(), d, d)];
    for layer in 0..2 {
        let path = |name: &str| format!("encoder.layer.{layer}.{name}");
        for name in ["self.query", "self.key", "self.value", "output.dense"] {
            linear.push((path(&format!("attention.{name}")), d, d));
        }
        linear.push((path("intermediate.dense"), 2 * d, d));
        linear.push((path("output.dense"), d, 2 * d));
        norms.extend([path("attention.output.LayerNorm"), path("output.LayerNorm")]);
    }
    for (name, out, inputs) in linear {
        add(format!("{name}.weight"), &[out, inputs]);
        add(format!("{name}.bias"), &[out]);
    }
    for name in norms {
        add(format!("{name}.weight"), &[d]);
        add(format!("{name}.bias"), &[d]);
    }
    all
}

/// Writes `model/`, and a configuration that trains it.
pub fn model(sandbox: &Sandbox) {
    let stems = ["METH", "ETH", "PROP", "BUT", "PENT", "HEX", "HEPT", "OCT"];
    let classes = ["and", "class", "ANE", "ENE", "YNE", "ANOL", "ANAL"];
    let words: Vec<String> =
        WORDS.iter().chain(&stems).chain(&classes).map(|word| word.to_lowercase()).collect();
    let words: Vec<String> = words
        .into_iter()
        .map(|word| if word.starts_with('[') { word.to_uppercase() } else { word })
        .collect();
    fs::create_dir(sandbox.path("model")).unwrap();
    sandbox.write("model/vocab.txt", &(words.join("\n") + "\n"));
    let config = serde_json::json!({
        "model_type": "bert", "vocab_size": words.len(), "hidden_size": WIDTH,
        "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 2 * WIDTH,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    });
    sandbox.write("model/config.json", &config.to_string());
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes(words.len())
        .into_iter()
        .map(|(name, shape)| {
            let n: usize = shape.iter().product();
            let around = if name.ends_with("LayerNorm.weight") { 1.0 } else { 0.0 };
            let seed: usize = name.bytes().map(usize::from).sum();
            let value =
                |k: usize| around + (((k * 7919 + seed * 31) % 997) as f32 / 997.0 - 0.5) * 0.3;
            (name, shape, (0..n).flat_map(|k| value(k).to_le_bytes()).collect())
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
    });
    serialize_to_file(views, None, &sandbox.path("model/model.safetensors")).unwrap();
    let bag = CONFIG.split("[encoder]").nth(1).unwrap().split("[training]").next().unwrap();
    let pretrained = "\nkind = \"pretrained\"\nfolder = \"model\"\nmax_length = 12\n\n";
    sandbox.write("small.toml", &CONFIG.replacen(bag, pretrained, 1));
}

fn mrr(json: &str) -> f64 {
    let report: serde_json::Value = serde_json::from_str(json).unwrap();
    report.get("metrics").unwrap_or(&report)["mrr"].as_f64().unwrap()
}

fn loss(sandbox: &Sandbox, run: &str) -> f64 {
    let log = sandbox.read(&format!("{run}/log.jsonl"));
    let line: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    line["loss"].as_f64().unwrap()
}

fn tensors(sandbox: &Sandbox, file: &str) -> BTreeMap<String, (Vec<usize>, Vec<u8>)> {
    let bytes = fs::read(sandbox.path(file)).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter();
    tensors.map(|(name, view)| (name, (view.shape().to_vec(), view.data().to_vec()))).collect()
}

#[test]
fn a_run_needs_its_weights_no_more_and_writes_them_back() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let set = ["--set", "training.learning_rate=0.01", "--set", "training.epochs=12"];
    let train = [&["train", "small.toml", "--out", "run", "--json"], &set[..]].concat();
    let trained = mrr(&sandbox.succeed(&train));
    assert!(trained > 0.2, "{trained}: 80 candidates at random give 0.06");

    // elsewhere, without data root and weights
    copy(&sandbox.path("run"), &sandbox.path("moved"));
    fs::rename(sandbox.path("model"), sandbox.path("gone")).unwrap();
    let evaluate = ["evaluate", "moved", "--queries", "data/small/test.tsv", "--json"];
    assert_eq!(mrr(&sandbox.succeed(&evaluate)), trained);
    assert!(sandbox.succeed(&["search", "moved", "a ring", "--top", "3"]).contains("label"));

    let said = sandbox.succeed(&["export", "moved", "--out", "tuned"]);
    assert!(said.contains("SentenceTransformer(\"tuned\")"), "{said}");
    let before = tensors(&sandbox, "gone/model.safetensors");
    let after = tensors(&sandbox, "tuned/model.safetensors");
    // the pooler was not trained and is not in the run
    assert_eq!(before.len(), after.len() + 2);
    for (name, (shape, values)) in &after {
        assert_eq!(&before[name].0, shape, "{name}");
        assert_ne!(&before[name].1, values, "{name} has not been trained");
    }
    sandbox.succeed(&["train", "small.toml", "--out", "again", "--set", "encoder.folder=tuned"]);
    assert!(loss(&sandbox, "again") < loss(&sandbox, "run") * 2.0);
}

/// A model of letters gets texts without spaces between them, or of some words.
#[test]
fn texts_that_the_vocabulary_does_not_know_are_counted_before_the_first_step() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let vocabulary = sandbox.read("model/vocab.txt");
    let warning = |known: &[&str]| {
        let mut tokens = Vec::new();
        for (place, token) in vocabulary.lines().enumerate() {
            let is_kept = token.starts_with('[') || known.contains(&token);
            tokens.push(if is_kept { token.to_owned() } else { format!("letter{place}") });
        }
        sandbox.write("model/vocab.txt", &(tokens.join("\n") + "\n"));
        let out = format!("run{}", known.len());
        let output =
            sandbox.run(&["train", "small.toml", "--out", &out, "--set", "training.epochs=1"]);
        assert!(output.status.success());
        let errors = String::from_utf8(output.stderr).unwrap();
        let line = errors.lines().find(|line| line.contains("spaces between letters"));
        line.unwrap_or_default().to_owned()
    };
    let none = warning(&[]);
    let count = sandbox.read("data/small/train.tsv").lines().count() - 1;
    let expected =
        format!("{count} of {count} training texts have no token that the vocabulary knows");
    assert!(none.contains("WARN") && none.contains(&expected), "{none}");
    let few = warning(&["a", "an"]);
    assert!(few.contains("% of the tokens of ") && few.contains(" are unknown"), "{few}");
    let words: Vec<&str> = vocabulary.lines().collect();
    assert_eq!(warning(&words), "");
}

/// Models of every family, and of sentence-transformers, train, are searched, and are written as folders from which the
/// encoder is read again; Python's sentence-transformers returns their coordinates, where it is there.
#[test]
fn models_of_every_family_are_fine_tuned_searched_and_exported() {
    let test = "models_of_every_family_are_fine_tuned_searched_and_exported";
    let sandbox = Sandbox::new();
    model(&sandbox);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nn/tests/golden");
    let mut folders = Vec::new();
    for entry in fs::read_dir(golden).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("family-") || name.starts_with("sentences-") {
            folders.push(name);
        }
    }
    folders.sort();
    assert_eq!(folders.len(), 26);
    // the longest texts as the folders say
    sandbox.write("one.toml", &sandbox.read("small.toml").replace("max_length = 12\n", ""));
    // token 1 stands for letters that the vocabularies lack, and is the padding of some families
    let texts = ["a bad cab: fed", "ab", "gag a dead bee a cafe", "a xyz cab"];
    for name in &folders {
        let folder = format!(
            "encoder.folder=\"{}/crates/nn/tests/golden/{name}\"",
            env!("CARGO_MANIFEST_DIR")
        );
        let length = if name.starts_with("family") { "encoder.max_length=40" } else { "seed=0" };
        let run = format!("run-{name}");
        let set = ["--set", &folder, "--set", length, "--set", "training.epochs=1"];
        sandbox.succeed(&[&["train", "one.toml", "--out", &run][..], &set].concat());
        if name.starts_with("family-m") {
            assert!(sandbox.succeed(&["search", &run, texts[0], "--top", "3"]).contains("label"));
        }
        sandbox.succeed(&["export", &run, "--out", &format!("out-{name}")]);
        assert!(sandbox.path(&format!("out-{name}/modules.json")).exists());
    }

    let Some(mut python) = python_with("sentence_transformers", test) else { return };
    let script = "
import json, sys
from sentence_transformers import SentenceTransformer
texts, *folders = sys.argv[1:]
for folder in folders:
    print(json.dumps(SentenceTransformer(folder, device='cpu').encode(json.loads(texts)).tolist()))
";
    let exported = folders.iter().map(|name| sandbox.path(&format!("out-{name}")));
    let texts_json = serde_json::json!(texts).to_string();
    let output = python.args(["-c", script, &texts_json]).args(exported).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    for (line, name) in printed.lines().zip(&folders) {
        let expected: Vec<Vec<f32>> = serde_json::from_str(line).unwrap();
        let run = Member::open(sandbox.path(&format!("run-{name}"))).unwrap();
        for (text, expected) in texts.iter().zip(expected) {
            let z = run.coordinates(&Split::texts(vec![(*text).to_owned()])).unwrap();
            let apart = z.iter().zip(&expected).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(z.len() == expected.len() && apart < 1e-4, "{name}: {apart}");
        }
    }
}

#[test]
fn a_tokenizer_of_a_class_that_is_not_known_is_taken_as_it_is_with_a_warning() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nn/tests/golden");
    copy(&golden.join("family-electra"), &sandbox.path("other"));
    let words = "the file is taken as it is";
    for (class, warns) in [("DebertaV2TokenizerFast", true), ("PreTrainedTokenizerFast", false)] {
        let settings = serde_json::json!({"tokenizer_class": class, "pad_token": "[PAD]"});
        sandbox.write("other/tokenizer_config.json", &settings.to_string());
        let set = ["--set", "encoder.folder=other", "--set", "training.epochs=1", "--out", class];
        let output = sandbox.run(&[&["train", "small.toml"][..], &set].concat());
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{log}");
        assert_eq!(log.contains(words) && log.contains("DebertaV2Tokenizer"), warns, "{log}");
    }
}

#[test]
fn frozen_layers_stay_and_learning_rates_differ() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let group =
        r#"training.groups=[{parameters = "head", optimizer = "adamw", learning_rate = 0.0}]"#;
    sandbox.succeed(&[
        "train",
        "small.toml",
        "--out",
        "run",
        "--set",
        "encoder.freeze=1",
        "--set",
        group,
    ]);
    sandbox.succeed(&["export", "run", "--out", "tuned"]);
    let before = tensors(&sandbox, "model/model.safetensors");
    let after = tensors(&sandbox, "tuned/model.safetensors");
    for (name, (_, values)) in &after {
        let frozen = name.starts_with("embeddings") || name.starts_with("encoder.layer.0");
        assert_eq!(before[name].1 == *values, frozen, "{name}");
    }
    let encoder = tensors(&sandbox, "run/encoder.safetensors");
    let head = encoder.iter().find(|(name, _)| name.contains("head.bias")).unwrap();
    sandbox.succeed(&["train", "small.toml", "--out", "whole", "--set", "training.epochs=2"]);
    let other = tensors(&sandbox, "whole/encoder.safetensors");
    assert_ne!(&other[head.0].1, &head.1.1, "the head moves unless its rate is zero");
}

/// Less memory is no other training: the same losses but for rounding.
#[test]
fn settings_that_save_memory_change_nothing_else() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let train = |out: &str, set: &[&str]| {
        let all = [&["train", "small.toml", "--out", out, "--set", "encoder.dropout=0.0"], set];
        sandbox.succeed(&all.concat());
        loss(&sandbox, out)
    };
    let plain = train("plain", &[]);
    let lean = train("lean", &["--set", "encoder.activation_checkpointing=true"]);
    assert_eq!(plain, lean);
    let parts = train("parts", &["--set", "training.micro_batch=3"]);
    assert!((plain - parts).abs() < 1e-4 * plain, "{plain} {parts}");
    let narrow = train("narrow", &["--set", "encoder.precision=\"bf16\""]);
    assert!(plain != narrow && (plain - narrow).abs() < 0.02 * plain, "{plain} {narrow}");
}

/// Killed before its first checkpoint, a run has no parameters yet but those of the weights.
#[test]
fn a_run_that_was_killed_at_once_starts_from_the_weights_again() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let train = ["train", "small.toml", "--out"];
    sandbox.succeed(&[&train[..], &["whole"]].concat());
    let mut child = sandbox
        .command(&[&train[..], &["killed", "--set", "training.epochs=4"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !sandbox.path("killed").exists() {
        assert!(child.try_wait().unwrap().is_none() || sandbox.path("killed").exists());
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // whatever it had done is undone, so that this is the case without a checkpoint
    for file in ["encoder.safetensors", "checkpoint/last.safetensors", "metrics.json"] {
        let _ = fs::remove_file(sandbox.path("killed").join(file));
    }
    sandbox.succeed(&[&train[..], &["killed", "--resume"]].concat());
    assert_eq!(loss(&sandbox, "whole"), loss(&sandbox, "killed"));
}

#[test]
fn bad_folders_and_settings_are_refused() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let cases: [(&[&str], &[&str]); 7] = [
        (&["encoder.folder=\"nowhere\""], &["nowhere", "config.json"]),
        (&["encoder.folder=\"\""], &["encoder.folder", "a folder"]),
        (&["encoder.max_length=13"], &["encoder.max_length = 13", "at most 12"]),
        (&["encoder.max_length=2"], &["max_length", "2"]),
        (&["encoder.freeze=3"], &["encoder.freeze = 3", "at most 2"]),
        (&["encoder.dropout=1.0"], &["encoder.dropout = 1"]),
        (&["encoder.precision=\"f8\""], &["encoder", "f8", "f32", "bf16"]),
    ];
    for (set, says) in cases {
        let set: Vec<&str> = set.iter().flat_map(|value| ["--set", value]).collect();
        let arguments = [&["train", "small.toml", "--out", "run"], &set[..]].concat();
        sandbox.fail(&arguments, 2, says);
        assert!(!sandbox.path("run").exists());
    }
    sandbox.fail(&["train", "small.toml", "--device", "tpu"], 2, &["tpu", "cpu, wgpu, cuda"]);
    let config = sandbox.read("model/config.json");
    sandbox.write("model/config.json", &config.replace("\"bert\"", "\"gpt2\""));
    sandbox.fail(&["train", "small.toml"], 2, &["config.json", "gpt2", "roberta"]);
    sandbox.write(
        "model/config.json",
        &config.replace("\"num_hidden_layers\":2", "\"num_hidden_layers\":3"),
    );
    let missing = "encoder.layer.2.attention.output.LayerNorm.bias";
    sandbox.fail(&["train", "small.toml"], 2, &["model.safetensors", missing]);
    sandbox.write("model/config.json", &config);
    let weights = fs::read(sandbox.path("model/model.safetensors")).unwrap();
    fs::write(sandbox.path("model/model.safetensors"), &weights[..weights.len() / 2]).unwrap();
    sandbox.fail(&["train", "small.toml"], 2, &["model.safetensors"]);
}

#[test]
fn a_text_of_unknown_tokens_alone_has_a_caution() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    sandbox.succeed(&["train", "small.toml", "--out", "run", "--quiet"]);
    // each is a token for unknown words, or two of them
    for text in ["zzz", "東京"] {
        let found = json(&sandbox.succeed(&["search", "run", text, "--json"]));
        let says = found["cautions"][0].as_str().unwrap();
        assert_eq!(says, "the model knows no part of this text: the order means nothing");
    }
    let found = json(&sandbox.succeed(&["search", "run", "zzz chain", "--json"]));
    assert!(found.get("cautions").is_none(), "{found}");
}

#[test]
fn only_a_pretrained_encoder_is_exported() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run"]);
    sandbox.fail(&["export", "run", "--out", "tuned"], 2, &["pretrained"]);
    assert!(!sandbox.path("tuned").exists());
}

#[test]
#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
fn a_device_that_was_not_built_is_refused_with_the_way_to_build_it() {
    let sandbox = Sandbox::new();
    for device in ["wgpu", "cuda:1"] {
        let says = ["--device", device, "--features"];
        sandbox.fail(&["train", "small.toml", "--device", device], 2, &says);
    }
}

/// Further fits of a resumed run start from the weights that its training started from.
#[test]
fn a_run_is_not_resumed_from_other_weights_where_it_needs_them() {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let hubs = ["--set", "decoding.hubs={folds=2, neighbours=[2]}"];
    let plain = ["train", "small.toml", "--quiet", "--out", "plain"];
    let corrected = [&["train", "small.toml", "--quiet", "--out", "hubs"][..], &hubs].concat();
    let resume = |train: &[&'static str]| [train, &["--resume"]].concat();
    sandbox.succeed(&plain);
    sandbox.succeed(&corrected);
    let candidates = fs::read(sandbox.path("hubs/candidates.safetensors")).unwrap();
    let weights = sandbox.path("model/model.safetensors");
    let before = fs::read(&weights).unwrap();
    let mut other = before.clone();
    let last = other.len() - 1;
    other[last] ^= 1;
    fs::write(&weights, &other).unwrap();
    for run in ["plain", "hubs"] {
        fs::remove_file(sandbox.path(run).join("metrics.json")).unwrap();
    }
    // the state of the training has all parameters
    sandbox.succeed(&resume(&plain));
    let says = ["the pretrained weights have changed", "start a new run"];
    sandbox.fail(&resume(&corrected), 2, &says);
    fs::write(&weights, &before).unwrap();
    sandbox.succeed(&resume(&corrected));
    assert!(fs::read(sandbox.path("hubs/candidates.safetensors")).unwrap() == candidates);
    // a training that starts again
    fs::write(&weights, &other).unwrap();
    for file in ["metrics.json", "checkpoint/last.safetensors"] {
        fs::remove_file(sandbox.path("plain").join(file)).unwrap();
    }
    sandbox.fail(&resume(&plain), 2, &says);
}
