//! The ONNX files of `dsokr export --onnx`, computed by onnxruntime. What is written is read by
//! `crates/nn/tests/suite/onnx.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use dsokr::Member;
use dsokr::basis::RowSource;
use dsokr::basis::features::SparseRow;
use dsokr::data::featurizers::TfIdf;
use dsokr::data::{Split, SplitName};
use dsokr::decode::CandidateBlocks;
use dsokr::spectra::{FittedPeaks, Spectrum};
use serde_json::{Value, json};

use crate::exports::{TEXTS, python_with};
use crate::pretrained::model;
use crate::sandbox::{RIDGE, Sandbox};

/// For each folder and inputs of its model, writes z and then the scores of all candidates, one JSON array a line. Texts
/// become tokens by the files of the folder, as in book/src/export.md.
const SCRIPT: &str = "
import json, sys
import numpy as np
import onnxruntime
from tokenizers import Tokenizer
types = {'tensor(int64)': np.int64, 'tensor(float)': np.float32, 'tensor(double)': np.float64}
for folder, inputs in zip(sys.argv[1::2], sys.argv[2::2]):
    session = onnxruntime.InferenceSession(folder + '/model.onnx', providers=['CPUExecutionProvider'])
    inputs = json.loads(inputs)
    if 'texts' in inputs:
        tokenizer = Tokenizer.from_file(folder + '/inputs/tokenizer.json')
        prompt = json.load(open(folder + '/inputs/texts.json'))['prompt']
        ids = [tokenizer.encode(prompt + text).ids for text in inputs['texts']]
        longest = max(map(len, ids))
        inputs['input_ids'] = [row + [1] * (longest - len(row)) for row in ids]
        inputs['attention_mask'] = [[1] * len(row) + [0] * (longest - len(row)) for row in ids]
    inputs = {own.name: np.array(inputs[own.name], types[own.type]) for own in session.get_inputs()}
    z, scores = session.run(['coordinates', 'scores'], inputs)
    for row in [*z, *scores]:
        print(json.dumps(row.tolist()))
";

const TRANSFORMER: &str =
    r#"layers=2, width=16, heads=2, feed_forward=24, max_length=12, pooling="mean""#;

/// Configurations of spectra.
const BINS: &str = "./bag.toml";
const PEAKS: &str = "transformer.toml";

/// Trains with changes, and exports the run with its scores.
fn exported(sandbox: &Sandbox, config: &str, name: &str, changes: &[&str]) -> Member {
    let sets = changes.iter().flat_map(|change| ["--set", *change]);
    let train = ["train", config, "--quiet", "--out", name];
    sandbox.succeed(&train.into_iter().chain(sets).collect::<Vec<_>>());
    let out = format!("{name}-onnx");
    let said = sandbox.succeed(&["export", name, "--onnx", "--candidates", "--out", &out]);
    assert!(said.contains("coordinates and scores"), "{said}");
    Member::open(sandbox.path(name)).unwrap()
}

/// The rows, each as long as the longest.
fn padded<T: Clone>(mut rows: Vec<Vec<T>>, with: T) -> Vec<Vec<T>> {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    rows.iter_mut().for_each(|row| row.resize(longest, with.clone()));
    rows
}

/// What the exported files make of texts, texts for a tokenizer, and peaks and vectors as they are.
fn inputs_of(folder: &Path, split: &Split) -> Value {
    let mut all = json!({});
    let Ok(texts) = split.inputs.texts() else {
        let rows = split.inputs.vectors().unwrap();
        all["vectors"] = json!((0..rows.len()).map(|row| rows.dense_row(row)).collect::<Vec<_>>());
        return all;
    };
    let files = ["ngrams.json", "spectra.json", "tokenizer.json"];
    let [ngrams, bins, tokens] = files.map(|name| folder.join(name));
    let mut sparse = |rows: Vec<SparseRow>| {
        let rows = rows.into_iter().map(|row| row.into_iter().unzip());
        let (columns, values): (Vec<Vec<u32>>, Vec<Vec<f32>>) = rows.unzip();
        (all["columns"], all["values"]) = (json!(padded(columns, 1)), json!(padded(values, 0.0)));
    };
    if ngrams.exists() {
        let weights = TfIdf::read(&ngrams).unwrap();
        sparse(texts.iter().map(|text| weights.transform(text)).collect());
    }
    let spectra: Result<Vec<Spectrum>, _> = texts.iter().map(|text| text.parse()).collect();
    if bins.exists() {
        let bins: FittedPeaks = serde_json::from_slice(&fs::read(bins).unwrap()).unwrap();
        sparse(spectra.unwrap().iter().map(|one| bins.transform(one).unwrap()).collect());
    } else if let Ok(spectra) = spectra {
        let peaks = |one: &Spectrum| {
            let mut peaks: Vec<_> = one.peaks().iter().map(|own| (own.mz, own.intensity)).collect();
            peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
            let largest = peaks[0].1;
            let shares = peaks.into_iter().map(|(mz, own)| (mz, (own / largest) as f32));
            // the precursor is known by its place
            [(one.precursor_mz(), 0.7)].into_iter().chain(shares).unzip()
        };
        let (mz, intensity): (Vec<Vec<f64>>, Vec<Vec<f32>>) = spectra.iter().map(peaks).unzip();
        let mask = mz.iter().map(|own| vec![1; own.len()]).collect();
        (all["mz"], all["intensity"]) = (json!(padded(mz, 1.0)), json!(padded(intensity, 0.0)));
        all["attention_mask"] = json!(padded(mask, 0));
    }
    if tokens.exists() {
        all["texts"] = json!(texts);
    }
    all
}

fn golden_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nn/tests/golden").join(name)
}

/// Copies a folder and its subfolders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The families of pretrained encoders of crates/nn/tests/golden, each with a pooling.
const FAMILIES: [(&str, &str); 20] = [
    ("albert", "weighted-mean"),
    ("deberta", "mean"),
    ("deberta-absolute", "first"),
    ("distilbert", "last"),
    ("electra", "first"),
    ("esm", "mean"),
    ("esm-absolute", "mean"),
    ("gemma3", "last"),
    ("gemma3-both-sides", "mean"),
    ("llama", "last"),
    ("mistral", "last"),
    ("modernbert", "first"),
    ("modernbert-biases", "mean"),
    ("mpnet", "mean"),
    ("mt5", "mean"),
    ("nomic", "mean"),
    ("qwen2", "weighted-mean"),
    ("qwen2-both-sides", "mean"),
    ("qwen3", "last"),
    ("t5", "mean"),
];

#[test]
fn every_family_of_pretrained_encoders_is_exported() {
    let golden = golden_folder("").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let names = golden.map(|name| name.into_string().unwrap());
    let mut families: Vec<String> =
        names.filter_map(|name| Some(name.strip_prefix("family-")?.to_owned())).collect();
    families.sort();
    assert_eq!(families, FAMILIES.map(|(family, _)| family));
}

#[test]
fn onnxruntime_returns_the_coordinates_and_scores_of_the_run() {
    let test = "onnxruntime_returns_the_coordinates_and_scores_of_the_run";
    let Some(mut python) = python_with("onnxruntime, tokenizers", test) else { return };
    let sandbox = Sandbox::new();
    sandbox.write("bag.toml", &sandbox.read("small.toml"));
    model(&sandbox);
    let transformer = format!("encoder={{kind=\"transformer\", {TRANSFORMER}}}");
    let both = format!(
        "encoder={{kind=\"bag-and-transformer\", bag={{hidden=[]}}, transformer={{{TRANSFORMER}}}}}"
    );
    let synthetic = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/synthetic.toml");
    let vectors = [
        "data.train=200",
        "data.validation=20",
        "data.test=4",
        "data.inputs=6",
        "data.outputs=60",
        "sketch.size=50",
        "encoder.hidden=[8]",
        "training.epochs=1",
    ];
    let spectra = crate::spectra::sandbox();
    let few = ["training.epochs=2"];
    // small models of crates/nn/tests/golden
    let golden = |name: &str| format!("encoder.folder={:?}", golden_folder(name));
    let all_modes = golden("sentences-all-modes");
    let without_prompt = golden("sentences-without-prompt");
    let families = FAMILIES.map(|(family, pooling)| {
        [golden(&format!("family-{family}")), format!("encoder.pooling={pooling:?}")]
    });
    // tokenizers whose files pad texts to a length, truncate them to a smaller one, and add nothing behind them
    let changed = |name: &str, original: &str, change: &dyn Fn(&mut Value)| {
        copy(&golden_folder(original), &sandbox.path(name));
        let file = format!("{name}/tokenizer.json");
        let mut tokenizer: Value = serde_json::from_str(&sandbox.read(&file)).unwrap();
        change(&mut tokenizer);
        sandbox.write(&file, &tokenizer.to_string());
        format!("encoder={{kind=\"pretrained\", folder=\"{name}\"}}")
    };
    let padded = changed("padded", "sentences-first", &|tokenizer| {
        tokenizer["padding"] = json!({
            "strategy": {"Fixed": 14}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"
        });
        tokenizer["truncation"] = json!({
            "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0
        });
    });
    // an empty text has no more tokens than its prompt, which is not pooled: its last one is
    let without_end = changed("without-end", "sentences-without-prompt", &|tokenizer| {
        tokenizer["post_processor"] = json!({
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}
        });
    });
    // its class would add the last one
    let settings = "without-end/tokenizer_config.json";
    let as_it_is = sandbox.read(settings).replace("BertTokenizer", "PreTrainedTokenizerFast");
    sandbox.write(settings, &as_it_is);
    let last = golden("sentences-last");
    let others: [(&str, &[&str]); 13] = [
        ("small.toml", &[&last]),
        ("small.toml", &[&padded]),
        ("small.toml", &[&without_end]),
        ("small.toml", &[&all_modes, "encoder.prompt=\"\""]),
        ("small.toml", &[&without_prompt]),
        ("bag.toml", &["output.kernel={name=\"linear\"}"]),
        ("bag.toml", &[&transformer, "decoding.normalise=true"]),
        ("bag.toml", &[&transformer, "encoder.pooling=\"max\""]),
        ("bag.toml", &[&both, "decoding.hubs={folds=2, neighbours=[2]}"]),
        ("small.toml", &["encoder.pooling=\"first\"", "output.power=0.5"]),
        (synthetic, &vectors),
        (BINS, &few),
        (PEAKS, &few),
    ];
    let mut cases: Vec<(&str, Vec<&str>)> = Vec::new();
    for changes in &families {
        cases.push(("small.toml", changes.iter().map(String::as_str).collect()));
    }
    cases.extend(others.map(|(config, changes)| (config, changes.to_vec())));
    let texts = Split::texts(TEXTS.map(String::from).to_vec());
    let mut runs = Vec::new();
    let mut arguments = Vec::new();
    for (at, (config, changes)) in cases.iter().enumerate() {
        let sandbox = if [BINS, PEAKS].contains(config) { &spectra } else { &sandbox };
        let run = exported(sandbox, config, &at.to_string(), changes);
        let split = match *config {
            own if own == synthetic => run.read_split(SplitName::Test, None).unwrap(),
            BINS | PEAKS => {
                let all = run.read_split(SplitName::Validation, None).unwrap();
                Split::texts(all.inputs.texts().unwrap()[..TEXTS.len()].to_vec())
            }
            _ => texts.clone(),
        };
        let folder = sandbox.path(&format!("{at}-onnx"));
        let inputs = inputs_of(&folder.join("inputs"), &split).to_string();
        arguments.extend([folder.into_os_string(), inputs.into()]);
        runs.push((run, split));
    }
    let output = python.args(["-c", SCRIPT]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<f32>> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2 * TEXTS.len() * cases.len());
    for (((run, split), rows), changes) in runs.iter().zip(rows.chunks(2 * TEXTS.len())).zip(cases)
    {
        let (z, scores) = rows.split_at(TEXTS.len());
        let p = run.candidates.dim();
        let known = &run.candidates;
        let expected = run.coordinates(split).unwrap();
        let expected = run.config.decoding.scaled(&expected, p).unwrap();
        let apart = |a: f32, b: f32| assert!((a - b).abs() < 1e-4, "{changes:?}: {a} {b}");
        assert_eq!(z.concat().len(), expected.len());
        z.concat().iter().zip(&expected).for_each(|(&a, &b)| apart(a, b));
        for (scores, z) in scores.iter().zip(expected.chunks_exact(p)) {
            assert_eq!(scores.len(), known.len());
            for (candidate, &score) in scores.iter().enumerate() {
                let class = known.class_of(candidate) as usize;
                let point = known.point(class).unwrap();
                let product: f32 = point.iter().zip(z).map(|(a, b)| a * b).sum();
                apart(score, product + known.constants()[class]);
            }
        }
    }
}

#[test]
fn encoders_without_a_form_in_onnx_are_refused_by_name() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&[
        "train",
        "small.toml",
        "--set",
        &format!("encoder={{{}}}", RIDGE.replace('\n', ", ")),
        "--out",
        "run",
    ]);
    let export = ["export", "run", "--onnx", "--out", "found"];
    sandbox.fail(&export, 2, &["encoder.kind = \"kernel-machine\"", "ngram-bag", "transformer"]);
    assert!(!sandbox.path("found").exists());
}
