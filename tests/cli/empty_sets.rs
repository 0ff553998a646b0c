//! Label sets of which some are empty: the empty set is an output as any other.

use std::fmt::Write;

use dsokr::core::random::{generator, unit};

use crate::sandbox::{Sandbox, number};

const ROWS: usize = 3000;
const LABELS: usize = 10;
const WORDS: usize = 50;

const CONFIG: &str = r#"
[data]
source = "multi-label"
folder = "small"
file = "sets.svm"
splits = { order = "file", train = 2600, validation = 100, test = 300 }

[output]
label = "labels"
features = { kind = "labels", column = "labels" }
kernel = { name = "tanimoto" }

[sketch]
size = 300

[encoder]
kind = "kernel-machine"
kernel = { name = "cosine" }
lambda = 1e-3

[evaluation]
metric = "f1"
split = "test"
"#;

/// The F1 of one logistic regression for each label on the same rows, with scikit-learn 1.9.1:
///
/// ```python
/// from sklearn.datasets import load_svmlight_file
/// from sklearn.linear_model import LogisticRegression
/// from sklearn.metrics import f1_score
/// from sklearn.multiclass import OneVsRestClassifier
/// from sklearn.preprocessing import MultiLabelBinarizer
///
/// x, y = load_svmlight_file("sets.svm", multilabel=True)
/// y = MultiLabelBinarizer().fit_transform(y)
/// peer = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(x[:2600], y[:2600])
/// print(f1_score(y[2700:], peer.predict(x[2700:]), average="samples", zero_division=1))
/// ```
const PEER: f64 = 0.6168;

/// Counts of words and sets of labels, drawn as scikit-learn's `make_multilabel_classification` draws them: each
/// label has its own distribution of words, and a row takes about 50 words from those of its labels.
fn rows() -> Vec<(Vec<u32>, Vec<usize>)> {
    let mut random = generator(0, "multi-label rows", 0);
    let mut shares = |count: usize| -> Vec<f64> {
        let drawn: Vec<f64> = (0..count).map(|_| unit(&mut random)).collect();
        let sum: f64 = drawn.iter().sum();
        drawn.into_iter().map(|share| share / sum).collect()
    };
    let of_labels = shares(LABELS);
    let of_words: Vec<Vec<f64>> = (0..LABELS).map(|_| shares(WORDS)).collect();
    let mut random = generator(0, "multi-label rows", 1);
    let mut pick = |shares: &[f64]| {
        let mut left = unit(&mut random) * shares.iter().sum::<f64>();
        let passes = |share: &f64| {
            left -= share;
            left <= 0.0
        };
        shares.iter().position(passes).unwrap_or(shares.len() - 1)
    };
    let mut uniform = generator(0, "multi-label rows", 2);
    let mut poisson = |mean: f64| {
        let mut count = 0;
        let mut product = unit(&mut uniform);
        while product > (-mean).exp() {
            (count, product) = (count + 1, product * unit(&mut uniform));
        }
        count
    };
    let mut row = || {
        let size = poisson(3.0).min(LABELS - 1);
        let count = poisson(50.0).max(1);
        let mut labels: Vec<usize> = Vec::new();
        while labels.len() < size {
            let label = pick(&of_labels);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels.sort_unstable();
        let own = |word: usize| labels.iter().map(|&label| of_words[label][word]).sum();
        let own: Vec<f64> =
            if labels.is_empty() { vec![1.0; WORDS] } else { (0..WORDS).map(own).collect() };
        let mut words = vec![0; WORDS];
        (0..count).for_each(|_| words[pick(&own)] += 1);
        (words, labels)
    };
    (0..ROWS).map(|_| row()).collect()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut file = String::new();
    let rows = rows();
    let empty = rows.iter().filter(|(_, labels)| labels.is_empty()).count();
    assert!((120..180).contains(&empty), "{empty} rows without a label");
    for (words, labels) in rows {
        let labels: Vec<String> = labels.iter().map(usize::to_string).collect();
        write!(file, "{}", labels.join(",")).unwrap();
        for (at, count) in words.iter().enumerate().filter(|(_, count)| **count > 0) {
            write!(file, " {}:{count}", at + 1).unwrap();
        }
        file.push('\n');
    }
    sandbox.write("data/small/sets.svm", &file);
    sandbox.write("sets.toml", CONFIG);
    sandbox
}

/// Under a normalised kernel two empty sets are as alike as two other equal sets. With k(∅, ∅) = 0 the empty set
/// is the only candidate that pays no norm, and the prediction for nearly every row.
#[test]
fn the_empty_set_does_not_swallow_the_others() {
    let sandbox = sandbox();
    let cosine = r#"output.kernel={ name = "cosine" }"#;
    let settings: [&[&str]; 6] = [
        &[],
        &["sketch.full=true"],
        &[r#"output.kernel={ name = "gaussian-tanimoto", gamma = 1.0 }"#],
        &["decoding.expected_f1={ candidates = 200, temperature = 0.01 }"],
        &[cosine, "decoding.search=exact"],
        &[cosine, "decoding.search=exact", "sketch.full=true"],
    ];
    for changes in settings {
        let report = sandbox.train("sets.toml", changes);
        assert!(number(&report, "f1") > PEER, "{changes:?}: {report}");
    }
}

/// Where predictions are nearly nothing, the advice says so, and does not speak of ids.
#[test]
fn one_prediction_for_most_rows_is_named() {
    let sandbox = sandbox();
    let strong = ["encoder.lambda=10.0", r#"output.kernel={ name = "linear" }"#];
    // predictions that are weights of outputs are not scaled
    for (full, is_scaled) in [("sketch.full=false", true), ("sketch.full=true", false)] {
        let mut train = vec!["train", "sets.toml", "--quiet", "--set", full];
        train.extend(strong.iter().flat_map(|set| ["--set", *set]));
        let text = sandbox.succeed(&train);
        assert!(
            text.contains(
                "advice: 300 of 300 test predictions are the same output, the empty set (correct for "
            ),
            "{text}"
        );
        assert_eq!(text.contains("decoding.normalise = true"), is_scaled, "{text}");
        // a kernel machine has none
        assert!(text.contains("scaling of the inputs") && !text.contains("epochs"), "{text}");
        assert!(!text.contains("ids of pairs"), "{text}");
    }
}
