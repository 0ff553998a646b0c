//! Features of molecules and texts as inputs of kernel machines, against counts and ridge regressions by hand.

use std::collections::{BTreeMap, HashMap};

use dsokr::core::Processes;
use dsokr::data::{Split, SplitName};

use dsokr::molecule::{Composition, Molecule, MoleculeFeatures};
use dsokr::run::Run;
use dsokr::{Cancellation, Config, Error, fit};
use faer::Mat;
use faer::prelude::Solve;

use crate::Folder;

const LAMBDA: f64 = 1e-3;

#[test]
fn cancelled_features_of_molecules_are_a_cancellation() {
    let molecules = [Molecule::parse("CCO").unwrap()];
    let cancellation = Cancellation::default();
    cancellation.cancel();
    let counted = cancellation.scope(|| Composition {}.counts(&molecules));
    let error = Error::from(dsokr::data::Error::from(counted.unwrap_err()));
    assert!(error.is_cancelled() && !error.is_request(), "{error}");
}

/// Chains of C, N and O with a number that depends on what is in them.
fn molecules() -> Vec<(String, f64)> {
    let atoms = ["C", "CC", "CO", "CN", "C(C)C", "CCOC", "CNC", "OCC"];
    let tails = ["C", "N", "O", "CC", "CCN", "CCO"];
    let of = |(at, head): (usize, &&str)| {
        let pairs = tails.iter().enumerate().map(move |(place, tail)| {
            let smiles = format!("{head}{tail}");
            let count = |atom| smiles.matches(atom).count() as f64;
            let value = count("C") - 2.0 * count("O") + 0.1 * (at * place) as f64;
            (smiles, value)
        });
        pairs.collect::<Vec<_>>()
    };
    let all: BTreeMap<String, f64> = atoms.iter().enumerate().flat_map(of).collect();
    all.into_iter().collect()
}

fn atoms(smiles: &str) -> HashMap<String, f64> {
    let count = |atom: &str| (atom.to_owned(), smiles.matches(atom).count() as f64);
    ["C", "N", "O"].map(count).into()
}

/// Runs of one and two characters, as often as they occur.
fn ngrams(smiles: &str) -> HashMap<String, f64> {
    let mut counts = HashMap::new();
    for length in [1, 2] {
        for start in 0..=smiles.len() - length {
            *counts.entry(smiles[start..start + length].to_owned()).or_default() += 1.0;
        }
    }
    counts
}

type Counts = fn(&str) -> HashMap<String, f64>;
/// Weight, counts and kernel.
type Summand = (f64, Counts, Formula);

/// Returns the products `⟨a, b⟩`, `⟨a, a⟩` and `⟨b, b⟩`.
fn products(counts: Counts, texts: [&[String]; 2]) -> (Mat<f64>, [Vec<f64>; 2]) {
    let rows = texts.map(|texts| texts.iter().map(|text| counts(text)).collect::<Vec<_>>());
    let dot = |a: &HashMap<String, f64>, b: &HashMap<String, f64>| -> f64 {
        a.iter().map(|(column, value)| value * b.get(column).unwrap_or(&0.0)).sum()
    };
    let [a, b] = &rows;
    let gram = Mat::from_fn(a.len(), b.len(), |i, j| dot(&a[i], &b[j]));
    (gram, [a, b].map(|rows| rows.iter().map(|row| dot(row, row)).collect()))
}

type Formula = fn(f64, f64, f64, f64) -> f64;
const TANIMOTO: Formula = |ab, aa, bb, _| ab / (aa + bb - ab);
const COSINE: Formula = |ab, aa, bb, _| ab / (aa * bb).sqrt();
const GAUSSIAN: Formula = |ab, aa, bb, median| (-(aa + bb - 2.0 * ab) / median).exp();

/// Returns a kernel's values, with the median squared distance of the training texts.
fn kernel(
    (counts, formula): (Counts, Formula),
    train: &[String],
    texts: [&[String]; 2],
) -> Mat<f64> {
    let (own, [norms, _]) = products(counts, [train, train]);
    let pairs = (0..train.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    let mut all: Vec<f64> = pairs.map(|(i, j)| norms[i] + norms[j] - 2.0 * own[(i, j)]).collect();
    all.sort_by(f64::total_cmp);
    let median = 0.5 * (all[all.len() / 2] + all[(all.len() - 1) / 2]);
    let (gram, [a, b]) = products(counts, texts);
    Mat::from_fn(a.len(), b.len(), |i, j| formula(gram[(i, j)], a[i], b[j], median))
}

/// Trains on the molecules and compares the squared error with that of a ridge regression by hand.
fn check(folder: &Folder, name: &str, [inputs, encoder]: [&str; 2], summands: &[Summand]) {
    let all = molecules();
    let text = format!(
        r#"
seed = 1

[data]
source = "pool"
folder = "./"
file = "molecules.tsv"
inputs = {{ {inputs} }}
splits = {{ validation = 10 }}

[output]
features = {{ kind = "numbers", column = "value" }}
kernel = {{ name = "linear" }}

[sketch]
size = 1

[evaluation]
metric = "squared_error"

[encoder]
kind = "kernel-machine"
lambda = {LAMBDA}
{encoder}"#
    );
    let rows = all.iter().enumerate().map(|(at, (text, value))| format!("{at}\t{text}\t{value}\n"));
    folder.file("molecules.tsv", format!("id\tsmiles\tvalue\n{}", rows.collect::<String>()));
    let config = Config::load(folder.file("config.toml", text)).expect("a configuration");
    let out = folder.path(name);
    let report = fit(&config, &out).expect("a run").report;
    let data = config.source().load(&config.data_root(None).unwrap()).unwrap();
    let pairs = |split: &Split| -> (Vec<String>, Vec<f64>) {
        split.ids.iter().map(|id| all[id.parse::<usize>().unwrap()].clone()).unzip()
    };
    let (train, known) = pairs(&data.train);
    let (new, truth) = pairs(&data.validation);
    let gram = |texts: [&[String]; 2]| {
        let mut sum = Mat::<f64>::zeros(texts[0].len(), texts[1].len());
        for &(weight, counts, formula) in summands {
            sum += faer::Scale(weight) * kernel((counts, formula), &train, texts);
        }
        sum
    };
    let mut system = gram([&train, &train]);
    (0..train.len()).for_each(|i| system[(i, i)] += train.len() as f64 * LAMBDA);
    let targets = Mat::from_fn(train.len(), 1, |i, _| known[i]);
    let found = gram([&new, &train]) * system.partial_piv_lu().solve(targets);
    let errors = truth.iter().enumerate().map(|(i, value)| (found[(i, 0)] - value).powi(2));
    let expected = errors.sum::<f64>() / new.len() as f64;
    let error = report.metrics.squared_error.unwrap();
    assert!((error / expected - 1.0).abs() < 1e-3, "{encoder}: {error}, {expected}");

    // what the columns are is read from the run
    let run = Run::open(&out).unwrap();
    let queries = run
        .predict(
            &Processes::default(),
            |member| member.read_split(SplitName::Validation, None),
            None,
        )
        .unwrap();
    let again = run.evaluate(&queries).unwrap().0.scores.squared_error.unwrap();
    assert!((again / error - 1.0).abs() < 1e-6, "{encoder}: {again}, {error}");
}

#[test]
fn features_of_texts_are_inputs_of_kernel_machines() {
    let folder = Folder::new();
    let graph = "features = { kind = \"molecules\", column = \"smiles\", graph = { name = \"vertex-histogram\" } }";
    let counts = "features = { kind = \"ngrams\", column = \"smiles\", min = 1, max = 2 }";
    let inputs = |features: &str| format!("inputs = {{ kind = \"features\", {features} }}");
    let one =
        |features: &str, kernel: &str| format!("{}\nkernel = {{ {kernel} }}\n", inputs(features));
    let gaussian = "name = \"gaussian\", gamma = \"median\"";
    let sum = format!(
        "kernels = [{{ {}, kernel = {{ {gaussian} }} }}, {{ {}, kernel = {{ name = \"cosine\" }}, weight = 3.0 }}]\n",
        inputs(counts),
        inputs(graph)
    );
    let cases: [(String, &[Summand]); 4] = [
        (one(graph, "name = \"tanimoto\""), &[(1.0, atoms, TANIMOTO)]),
        (one(counts, "name = \"cosine\""), &[(1.0, ngrams, COSINE)]),
        (one(counts, gaussian), &[(1.0, ngrams, GAUSSIAN)]),
        (sum, &[(0.25, ngrams, GAUSSIAN), (0.75, atoms, COSINE)]),
    ];
    for (at, (encoder, summands)) in cases.iter().enumerate() {
        check(&folder, &format!("run{at}"), ["column = \"smiles\"", encoder], summands);
    }
    let other = one(&graph.replace("smiles", "value"), "name = \"cosine\"");
    let other = format!(
        "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"molecules.tsv\"\n\
                         inputs = {{ column = \"smiles\" }}\nsplits = {{ validation = 10 }}\n[output]\n\
                         features = {{ kind = \"numbers\", column = \"value\" }}\n\
                         kernel = {{ name = \"linear\" }}\n[sketch]\nsize = 1\n[encoder]\n\
                         kind = \"kernel-machine\"\nlambda = 1.0\n{other}"
    );
    let error = Config::load(folder.file("other.toml", other)).unwrap_err().to_string();
    assert!(
        error.contains("encoder.inputs.features.column = \"value\": expected \"smiles\""),
        "{error}"
    );
}

/// Returns whether eight runs of characters occur.
fn bits(smiles: &str) -> HashMap<String, f64> {
    let runs = ["C", "N", "O", "CC", "CN", "CO", "OC", "("];
    runs.iter().filter(|run| smiles.contains(**run)).map(|&run| (run.to_owned(), 1.0)).collect()
}

#[test]
fn rows_of_a_pool_have_vectors_of_bits_as_inputs() {
    let folder = Folder::new();
    let header = |rows: usize| {
        format!(
            "{:<117}\n",
            format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 1), }}")
        )
    };
    let all = molecules();
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(header(all.len()).bytes());
    let runs = ["C", "N", "O", "CC", "CN", "CO", "OC", "("];
    file.extend(all.iter().map(|(smiles, _)| {
        runs.iter().fold(0u8, |byte, run| byte << 1 | u8::from(smiles.contains(run)))
    }));
    folder.file("bits.npy", file);
    let inputs =
        "kind = \"features\", table = \"molecules.tsv\", file = \"bits.npy\", packed = true";
    let encoder = "kernel = { name = \"tanimoto\" }\n";
    check(&folder, "run", [inputs, encoder], &[(1.0, bits, TANIMOTO)]);
}
