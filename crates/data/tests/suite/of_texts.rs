//! Features of texts that training texts lack.

use dsokr_basis::{Features, Kernel, OutputKernel, RowSource};
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
