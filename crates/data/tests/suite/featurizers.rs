//! Featurizers.

use std::collections::BTreeMap;

use dsokr_core::random::hash;
use dsokr_core::{Cancellation, Error};
use dsokr_data::featurizers::*;

#[test]
fn ngrams_are_all_substrings() {
    let texts = ["CC(=O)O", "", "c", "αβγαβ", "CCCC"];
    let count = |text: &str| -> BTreeMap<String, f32> {
        let letters: Vec<char> = text.chars().collect();
        let mut counts = BTreeMap::new();
        for start in 0..letters.len() {
            for end in start + 1..=letters.len().min(start + 3) {
                *counts.entry(letters[start..end].iter().collect()).or_default() += 1.0;
            }
        }
        counts
    };
    let vocabulary = NgramVocabulary::fit(1..=3, &texts).unwrap();
    let names: Vec<&str> = vocabulary.ngrams().collect();
    assert!(names.is_sorted());
    let rows = vocabulary.rows(&texts).unwrap();
    for (i, text) in texts.iter().enumerate() {
        let (columns, values) = rows.row(i);
        let names = columns.iter().map(|&column| names[column as usize].to_owned());
        let actual: BTreeMap<String, f32> = names.zip(values.iter().copied()).collect();
        assert_eq!(actual, count(text), "{text:?}");
    }
    let vocabulary = NgramVocabulary::fit(1..=1, &["ab"]).unwrap();
    assert_eq!(vocabulary.rows(&["zbz"]).unwrap().row(0), (&[1][..], &[1.0][..]));
}

#[test]
fn the_fit_of_a_vocabulary_is_a_stage_that_can_be_cancelled() {
    let cancellation = Cancellation::default();
    cancellation.cancel();
    let fitted = cancellation.scope(|| NgramVocabulary::fit(1..=2, &["a text"]));
    assert!(matches!(fitted, Err(Error::Cancelled)), "{fitted:?}");
}

/// These must not change: hashed columns are stored in models.
#[test]
fn golden_hashed_columns() {
    let columns = ["CC", "C(", "é="].map(|text| bucket(text, 1000));
    // Computed with a Python implementation of the docstring.
    assert_eq!(columns, [93, 147, 199]);
}

#[test]
fn lengths_of_ngrams_are_checked() {
    let fit = NgramVocabulary::fit::<&str>;
    assert!(refused(fit(0..=2, &["a"]), "lengths of n-grams = 0..=2: expected"));
    #[expect(clippy::reversed_empty_ranges)]
    let empty = 3..=2;
    assert!(refused(fit(empty, &["a"]), "lengths of n-grams = 3..=2: expected"));
    assert!(refused(fit(2..=3, &["a", ""]), "rows of width 0"));
}

#[test]
fn rankings_are_checked() {
    type Embed = fn(&[Vec<u32>]) -> Result<(), Error>;
    let embeds: [Embed; 3] = [
        |r| kemeny_signs(r).map(drop),
        |r| hamming_one_hot(r).map(drop),
        |r| lehmer_codes(r).map(drop),
    ];
    for embed in embeds {
        let error = embed(&[vec![0, 1], vec![0, 1, 2]]).unwrap_err();
        assert!(error.to_string().contains("row 1: 3 entries, expected 2"), "{error}");
        assert!(refused(embed(&[]), "no rows"));
        assert!(refused(embed(&[vec![]]), "rows of width 0"));
    }
    assert!(refused(kemeny_signs(&[vec![0]]), "rows of width 0"));
    let error = hamming_one_hot(&[vec![0, 1], vec![2, 0]]).unwrap_err();
    assert!(error.to_string().contains("row 1: column 2 is outside of 0..2"), "{error}");
    let error = hamming_one_hot(&[vec![0, 1], vec![1, 1]]).unwrap_err();
    assert!(error.to_string().contains("row 1: item 1 has rank 1"), "{error}");
}

/// Every ranking of four items has a code of its own, number i in 0..=i, and as many inversions as its codes sum to.
#[test]
fn lehmer_codes_are_those_of_inversions() {
    let all = (0..256u32).map(|code| (0..4).map(|item| code >> (2 * item) & 3).collect());
    let all: Vec<Vec<u32>> =
        all.filter(|ranks: &Vec<u32>| (0..4).all(|rank| ranks.contains(&rank))).collect();
    let codes = lehmer_codes(&all).unwrap();
    let mut seen: Vec<&[f32]> = codes.values().chunks(4).collect();
    for (ranks, code) in all.iter().zip(&seen) {
        assert!(code.iter().zip(0u8..).all(|(&c, most)| (0.0..=f32::from(most)).contains(&c)));
        let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        let inversions = pairs.filter(|&(i, j)| ranks[i] > ranks[j]).count();
        assert_eq!(code.iter().sum::<f32>(), inversions as f32, "{ranks:?}");
    }
    seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
    seen.dedup();
    assert_eq!(seen.len(), 24);
}

#[test]
fn an_unknown_label_is_named() {
    let labels = LabelVocabulary::fit(&[vec!["a", "b"]]).unwrap();
    let unknown = labels.rows(&[vec!["a"], vec!["b", "c"]]);
    assert!(refused(unknown, "row 1: unknown label \"c\"; 2 labels are known"));
    assert_eq!(labels.rows(&[vec!["b", "b"]]).unwrap().values(), [2]);
    assert!(refused(LabelVocabulary::fit(&[Vec::<&str>::new()]), "rows of width 0"));
}

/// These must not change: they decide which column a hashed term has.
#[test]
fn hashed_terms_have_golden_columns() {
    for text in ["", "a", "C[C@H]", "épreuve"] {
        let expected = hash(text.as_bytes());
        assert_eq!(u64::from(bucket(text, 1000)), expected % 1000);
        assert_eq!(u64::from(bucket(text, u32::MAX)), expected % u64::from(u32::MAX));
        assert_eq!([bucket(text, 1), bucket(text, 0)], [0, 0]);
    }
}

/// Returns whether there is an error whose message contains `part`.
fn refused<T>(result: Result<T, Error>, part: &str) -> bool {
    result.is_err_and(|error| error.to_string().contains(part))
}
