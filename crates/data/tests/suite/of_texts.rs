//! Features of texts that training texts lack.

use dsokr_basis::{Features, Kernel, OutputKernel, RowSource};
use dsokr_core::Processes;
use dsokr_core::processes::threads;
use dsokr_data::TextFeatures;
use dsokr_data::config::OutputFeatures;

fn features(json: &str) -> OutputFeatures {
    serde_json::from_str(json).unwrap()
}

fn texts<const N: usize>(all: [&str; N]) -> Vec<String> {
    all.map(str::to_owned).to_vec()
}

/// "aab" has 2 a and 1 b, "abcc" 1 a, 1 b and 2 c: 3 in common, of squared lengths 5 and 6.
#[test]
fn norms_count_what_no_training_text_has() {
    let ngrams = features(r#"{"kind": "ngrams", "column": "t", "min": 1, "max": 1}"#);
    let fitted = TextFeatures::fit(&ngrams, &texts(["aab", "b"])).unwrap();
    let trained = fitted.rows(&texts(["aab"])).unwrap();
    let queried = fitted.rows(&texts(["abcc", "zz", ""])).unwrap();
    assert_eq!((fitted.width(), queried.width(), trained.width()), (3, 3, 3));
    let value = |kernel: Kernel| kernel.block(&trained, &queried).unwrap();
    assert_eq!(value(Kernel::Linear)[(0, 0)], 3.0);
    assert!((value(Kernel::Tanimoto)[(0, 0)] - 3.0 / (5.0 + 6.0 - 3.0)).abs() < 1e-6);
    assert!((value(Kernel::Cosine)[(0, 0)] - 3.0 / 30f64.sqrt()).abs() < 1e-6);
    for query in [1, 2] {
        assert_eq!(value(Kernel::Linear)[(0, query)], 0.0);
    }
    // as it was fitted, to the bit
    let Features::Sparse(whole) = fitted.rows(&texts(["b", "abcc", "aab"])).unwrap() else {
        panic!()
    };
    assert_eq!([0, 1, 2].map(|row| whole.row(row).0.len()), [1, 3, 2]);
    // features that are left out as rare count as little as others that no text has
    let rare =
        features(r#"{"kind": "ngrams", "column": "t", "min": 1, "max": 1, "min_outputs": 2}"#);
    let fitted = TextFeatures::fit(&rare, &texts(["aab", "b"])).unwrap();
    assert_eq!((fitted.width(), fitted.rows(&texts(["abcc"])).unwrap().width()), (1, 1));
}

/// Ethanol has 2 carbon atoms and 1 oxygen atom, methanol 1 of each: as exact counts they share the oxygen.
#[test]
fn values_of_counts_that_no_training_text_has_count_too() {
    let exact = features(
        r#"{"kind": "substructures", "column": "t", "count": {"name": "composition"}, "exact": true}"#,
    );
    let fitted = TextFeatures::fit(&exact, &texts(["CCO"])).unwrap();
    let [a, b] = ["CCO", "CO"].map(|text| fitted.rows(&texts([text])).unwrap());
    let squared_norm = |rows| Kernel::Linear.block(rows, rows).unwrap()[(0, 0)];
    let all = TextFeatures::fit(&exact, &texts(["CCO", "CO"])).unwrap();
    let expected = all.rows(&texts(["CO"])).unwrap();
    assert!(
        (squared_norm(&b) - squared_norm(&expected)).abs() < 1e-5,
        "{} {}",
        squared_norm(&b),
        squared_norm(&expected)
    );
    let common = Kernel::Linear.block(&a, &b).unwrap()[(0, 0)];
    assert!(common > 0.0 && common < squared_norm(&b));
}

/// {p, rare} has one label in common with {p}, of two; a class that no training text has has nothing in common.
#[test]
fn labels_and_classes_that_no_training_text_has_count_in_norms() {
    let labels = features(r#"{"kind": "labels", "column": "t"}"#);
    let fitted = TextFeatures::fit(&labels, &texts(["p", "p q", ""])).unwrap();
    let trained = fitted.rows(&texts(["p", "p q", ""])).unwrap();
    let queried = fitted.rows(&texts(["p rare", "p rare odd rare", "q", ""])).unwrap();
    assert_eq!((fitted.width(), trained.width(), queried.width()), (3, 3, 3));
    let tanimoto = Kernel::Tanimoto.block(&trained, &queried).unwrap();
    let expected = [[0.5, 1.0 / 3.0, 0.0, 0.0], [1.0 / 3.0, 0.25, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]];
    for (i, j) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
        assert!((tanimoto[(i, j)] - expected[i][j]).abs() < 1e-7, "{i} {j}: {}", tanimoto[(i, j)]);
    }
    let message = TextFeatures::fit(&labels, &texts(["", "NA"])).unwrap_err().to_string();
    assert!(message.contains("no row has a label in the column \"t\""), "{message}");
    let classes = features(r#"{"kind": "classes", "column": "t"}"#);
    let fitted = TextFeatures::fit(&classes, &texts(["red", "blue"])).unwrap();
    let trained = fitted.rows(&texts(["red"])).unwrap();
    let queried = fitted.rows(&texts(["purple", "red", "blue"])).unwrap();
    let gaussian = Kernel::Gaussian { gamma: 0.5 }.block(&trained, &queried).unwrap();
    let apart = (-1.0f64).exp();
    for (query, value) in [apart, 1.0, apart].into_iter().enumerate() {
        assert!((gaussian[(0, query)] - value).abs() < 1e-12, "{query}: {}", gaussian[(0, query)]);
    }
}

/// The fingerprint of a run is that of these bytes.
#[test]
fn columns_are_written_as_they_are_read() {
    let written = r#"{"features":{"kind":"ngrams","column":"t","min":1,"max":1,"log":false,"min_outputs":1},"columns":{"width":2,"terms":["a","b"],"features":[],"levels":[],"kept":[]}}"#;
    let ngrams = features(r#"{"kind": "ngrams", "column": "t", "min": 1, "max": 1}"#);
    let fitted = TextFeatures::fit(&ngrams, &texts(["aab", "b"])).unwrap();
    assert_eq!(serde_json::to_string(&fitted).unwrap(), written);
    // labels have a column for others
    let labels = features(r#"{"kind": "labels", "column": "t"}"#);
    let fitted = TextFeatures::fit(&labels, &texts(["p", "p q"])).unwrap();
    let written = serde_json::to_string(&fitted).unwrap();
    let read: TextFeatures = serde_json::from_str(&written).unwrap();
    assert_eq!((read.width(), &read), (3, &fitted));
}

/// Methane has no ring, and an empty text no n-gram.
#[test]
fn texts_without_any_feature_have_rows_of_zeros() {
    let rings =
        r#"{"kind": "substructures", "column": "t", "count": {"name": "rings"}, "exact": true}"#;
    let ngrams = r#"{"kind": "ngrams", "column": "t", "min": 1, "max": 1}"#;
    for (kind, known, other) in [(rings, "c1ccccc1", "C"), (ngrams, "ab", "")] {
        let fitted = TextFeatures::fit(&features(kind), &texts([known])).unwrap();
        let Features::Sparse(rows) = fitted.rows(&texts([other, other])).unwrap() else { panic!() };
        assert_eq!((rows.len(), rows.width()), (2, fitted.width()), "{kind}");
        assert_eq!((rows.row(0).0.len(), rows.row(1).0.len()), (0, 0), "{kind}");
    }
    // a text that cannot be read is an error nevertheless
    let fitted = TextFeatures::fit(&features(rings), &texts(["c1ccccc1"])).unwrap();
    let message = fitted.rows(&texts(["C", "not SMILES"])).unwrap_err().to_string();
    assert!(message.contains("not SMILES"), "{message}");
}

/// Columns are found by all ranks together, each of which reads its part of the texts and gets its rows, bit for bit.
#[test]
fn several_ranks_find_the_columns_of_one() {
    let smiles = texts([
        "CCO",
        "CO",
        "c1ccccc1O",
        "CC(=O)O",
        "CCN",
        "C1CCCCC1",
        "OCC(O)CO",
        "CCCCCC",
        "N#CC",
        "CCS",
        "CC(C)Br",
    ]);
    let ngrams =
        |rest: &str| format!(r#"{{"kind": "ngrams", "column": "t", "min": 1, "max": 2{rest}}}"#);
    let parts = |name: &str, rest: &str| {
        format!(r#"{{"kind": "substructures", "column": "t", "count": {name}{rest}}}"#)
    };
    let morgan = r#"{"name": "morgan", "radius": 1, "width": 64}"#;
    let composition = r#"{"name": "composition"}"#;
    let graph = r#"{"name": "graph", "kernel": {"name": "weisfeiler-lehman", "iterations": 2}}"#;
    for kind in [
        ngrams(""),
        ngrams(r#", "log": true"#),
        ngrams(r#", "min_outputs": 3"#),
        parts(morgan, ""),
        parts(morgan, r#", "exact": true"#),
        parts(composition, r#", "exact": true, "min_outputs": 2"#),
        parts(graph, ""),
        parts(graph, r#", "log": true, "min_outputs": 2"#),
        r#"{"kind": "labels", "column": "t", "separator": "C"}"#.to_owned(),
    ] {
        let features = features(&kind);
        let one = TextFeatures::fit(&features, &smiles).unwrap();
        let rows = one.rows(&smiles).unwrap();
        // ranks without a text too
        for size in [1, 2, 3, 13] {
            for rank in threads(size, |processes| {
                let part = processes.part(smiles.len());
                let texts_of_rank = &smiles[part.clone()];
                let fitted = TextFeatures::fit_all(&[&features], &smiles, texts_of_rank, processes);
                (part, fitted.unwrap().remove(0))
            }) {
                let (part, fitted) = rank;
                assert_eq!(fitted, one, "{kind}, {size} ranks");
                if !part.is_empty() {
                    let rows_of_rank = fitted.rows(&smiles[part.clone()]).unwrap();
                    assert_eq!(rows_of_rank, rows.block(part).unwrap(), "{kind}, {size} ranks");
                }
            }
        }
    }
    let features = features(&parts(morgan, ""));
    let wrong = texts(["CCO", "CO", "not SMILES", "CN"]);
    for rank in threads(2, |processes| {
        let texts_of_rank = &wrong[processes.part(wrong.len())];
        TextFeatures::fit_all(&[&features], &wrong, texts_of_rank, processes).map(drop)
    }) {
        let (_, error) = rank.unwrap_err();
        assert!(error.to_string().contains("not SMILES"), "{error}");
    }
}

/// Features of several kinds that are counted some texts after others have the columns of each that are counted all at once.
#[test]
fn blocks_of_texts_give_the_columns_of_all() {
    let smiles = ["CCO", "CO", "c1ccccc1O", "CC(=O)O", "CCN", "C1CCCCC1"];
    // more than are held at once, the last of which has what no other has
    let mut texts: Vec<String> = (0..8200).map(|at| smiles[at % 6].to_owned()).collect();
    texts[8198] = "CC(F)S".into();
    texts[8199] = "CC(F)Br".into();
    let morgan = r#"{"name": "morgan", "radius": 1, "width": 64}"#;
    let composition = r#"{"name": "composition"}"#;
    let graph = r#"{"name": "graph", "kernel": {"name": "weisfeiler-lehman", "iterations": 2}}"#;
    let mut kinds = vec![features(
        r#"{"kind": "ngrams", "column": "t", "min": 1, "max": 2, "min_outputs": 2}"#,
    )];
    for count in [morgan, composition, graph] {
        for rule in ["", r#", "log": true"#, r#", "exact": true, "min_outputs": 2"#] {
            let kind =
                format!(r#"{{"kind": "substructures", "column": "t", "count": {count}{rule}}}"#);
            kinds.push(features(&kind));
        }
    }
    // labels count nothing, and are fitted to all texts
    kinds.push(features(r#"{"kind": "labels", "column": "t", "separator": "C"}"#));
    let all: Vec<&OutputFeatures> = kinds.iter().collect();
    let fitted = TextFeatures::fit_all(&all, &texts, &texts, &Processes::default()).unwrap();
    for (fitted, kind) in fitted.iter().zip(&kinds) {
        assert_eq!(*fitted, TextFeatures::fit(kind, &texts).unwrap(), "{kind:?}");
    }
    texts[8195] = "not SMILES".into();
    let (at, error) =
        TextFeatures::fit_all(&all, &texts, &texts, &Processes::default()).unwrap_err();
    let expected = TextFeatures::fit(&kinds[1], &texts).unwrap_err();
    assert_eq!((at, error.to_string()), (1, expected.to_string()));
    assert!(error.to_string().contains("8196"), "{error}");
}
