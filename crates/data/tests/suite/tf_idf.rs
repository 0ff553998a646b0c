//! TF-IDF rows of n-grams.

use std::collections::BTreeMap;

use dsokr_core::RowWeights;
use dsokr_data::Split;
use dsokr_data::featurizers::{NgramConfig, NgramKind, TfIdf};

use super::published;

fn ngrams(kind: NgramKind, min: usize, max: usize) -> NgramConfig {
    NgramConfig::new(kind, min, max)
}

/// Returns the n-grams of a text, which a fit to it keeps, in the order of their bytes; none where there is none.
fn terms(config: &NgramConfig, text: &str) -> Vec<String> {
    let Ok(fitted) = TfIdf::fit(std::slice::from_ref(config), [text].into_iter()) else {
        return Vec::new();
    };
    let json: serde_json::Value = serde_json::from_str(&fitted.to_json()).unwrap();
    serde_json::from_value(json["blocks"][0]["terms"].clone()).unwrap()
}

#[test]
fn ngrams_of_each_kind() {
    use NgramKind::{AcrossWords, Characters, Words};
    let acids = ["acids", "ester", "ester of", "methyl", "methyl ester", "of", "of acids"];
    for (kind, min, max, text, expected) in [
        // words have two characters and join with a space
        (Words, 1, 2, "a methyl-ester of 5 acids", &acids[..]),
        // vowel signs and letters in circles are letters, and a virama is not: `[\p{Alphabetic}\p{N}_]{2,}` in book/src/export.md
        (Words, 1, 1, "हिन्दी पानी", &["दी", "पानी", "हिन"]),
        (Words, 1, 1, "ดีมาก ⓐbc", &["ดีมาก", "ⓐbc"]),
        // characters stay within padded words; a short word counts once
        (Characters, 3, 5, "an é", &[" an", " an ", " é ", "an "]),
        (Characters, 5, 7, "an é", &[" an ", " é "]),
        // white space is one space, and texts that are too short have none
        (AcrossWords, 2, 4, "A \n é", &[" é", "a ", "a é"]),
        (AcrossWords, 2, 4, "é", &[]),
        (AcrossWords, 2, 4, " ", &[]),
    ] {
        assert_eq!(terms(&ngrams(kind, min, max), text), expected, "{kind:?} {text:?}");
    }
}

/// The words of scikit-learn's `CountVectorizer(token_pattern=r"\b\w+\b", ngram_range=(1, 2))`, and of three characters and more.
#[test]
fn words_have_as_many_characters_as_a_block_says() {
    let text = "A methyl-ester of 5 acids";
    let of = |shortest| {
        let all = ngrams(NgramKind::Words, 1, 2);
        terms(&NgramConfig { min_characters: Some(shortest), ..all }, text)
    };
    let every = [
        "5",
        "5 acids",
        "a",
        "a methyl",
        "acids",
        "ester",
        "ester of",
        "methyl",
        "methyl ester",
        "of",
        "of 5",
    ];
    assert_eq!(of(1), every);
    assert_eq!(of(2), terms(&ngrams(NgramKind::Words, 1, 2), text));
    assert_eq!(of(3), ["acids", "ester", "ester acids", "methyl", "methyl ester"]);
}

#[test]
fn the_shortest_word_is_a_key_of_blocks_of_words() {
    let words: NgramConfig =
        serde_json::from_str(r#"{"kind": "words", "min": 1, "max": 1}"#).unwrap();
    assert_eq!((words.min_characters, words.shortest_word()), (None, 2));
    assert!(!serde_json::to_string(&words).unwrap().contains("min_characters"));
    for (kind, shortest, allowed) in [
        (NgramKind::Words, 0, "1 or more"),
        (NgramKind::Characters, 2, "remove it"),
        (NgramKind::AcrossWords, 1, "remove it"),
    ] {
        let config = NgramConfig { min_characters: Some(shortest), ..ngrams(kind, 1, 2) };
        let refused = config.validate("encoder.inputs.blocks[1]").unwrap_err().to_string();
        let key = format!("encoder.inputs.blocks[1].min_characters = {shortest}: ");
        assert!(refused.starts_with(&key), "{refused}");
        assert!(refused.contains(allowed), "{refused}");
    }
}

#[test]
fn blocks_in_both_cases_share_a_text() {
    let lower = ngrams(NgramKind::Words, 1, 1);
    let cased = NgramConfig { lowercase: false, ..lower.clone() };
    assert_eq!(terms(&lower, "Methyl ESTER"), ["ester", "methyl"]);
    assert_eq!(terms(&cased, "Methyl ESTER"), ["ESTER", "Methyl"]);
    let blocks = [lower.clone(), cased, lower];
    let row = TfIdf::fit(&blocks, ["Methyl ESTER"].into_iter()).unwrap().transform("methyl ESTER");
    assert!(row.iter().map(|(column, _)| *column).eq([0, 1, 2, 4, 5]));
}

/// A word that is shorter than the n-grams counts once in a row.
#[test]
fn short_words_count_once() {
    let fitted = TfIdf::fit(&[ngrams(NgramKind::Characters, 3, 9)], ["é é", "a"].into_iter());
    let once = TfIdf::fit(&[ngrams(NgramKind::Characters, 3, 3)], ["é é", "a"].into_iter());
    assert_eq!(fitted.unwrap().transform("é a"), once.unwrap().transform("é a"));
}

#[test]
fn hashed_rows_equal_vocabulary_rows_when_buckets_do_not_collide() {
    let texts = ["a methyl ester of an acid", "an ester", "a long chain acid"];
    let exact = [ngrams(NgramKind::Words, 1, 1)];
    let hashed = [NgramConfig { buckets: 1 << 20, ..exact[0].clone() }];
    let exact = TfIdf::fit(&exact, texts.into_iter()).unwrap();
    let hashed = TfIdf::fit(&hashed, texts.into_iter()).unwrap();
    for text in texts {
        let [a, b] = [&exact, &hashed].map(|fitted| {
            let row = fitted.transform(text).into_iter();
            let mut values: Vec<f32> = row.map(|(_, value)| value).collect();
            values.sort_by(f32::total_cmp);
            values
        });
        assert_eq!(a, b);
    }
}

#[test]
fn json_gives_back_the_same_weights() {
    let texts = ["alpha beta", "beta gamma delta"];
    let config = ngrams(NgramKind::Characters, 2, 3);
    let fitted = TfIdf::fit(&[config], texts.into_iter()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tf-idf.json");
    std::fs::write(&file, fitted.to_json()).unwrap();
    let read = TfIdf::read(&file).unwrap();
    assert_eq!(read.transform("beta alpha"), fitted.transform("beta alpha"));
}

/// No number of texts gives such weights, by whose length a row cannot be divided.
#[test]
fn weights_that_no_fit_gives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tf-idf.json");
    let fitted =
        TfIdf::fit(&[ngrams(NgramKind::Words, 1, 1)], ["alpha", "alpha"].into_iter()).unwrap();
    let text = fitted.to_json();
    assert!(text.contains("[1.0]"), "{text}");
    for weight in ["0.0", "-1.0", "1e-30", "3e38"] {
        std::fs::write(&file, text.replace("[1.0]", &format!("[{weight}]"))).unwrap();
        let error = TfIdf::read(&file).unwrap_err().to_string();
        assert!(error.contains("allowed: 1 to 64"), "{weight}: {error}");
    }
}

#[test]
fn nothing_to_learn_from_is_an_error() {
    let config = NgramConfig { min_texts: 3, ..ngrams(NgramKind::Words, 1, 1) };
    let fitted = TfIdf::fit(&[config], ["alpha", "beta"].into_iter());
    let error = fitted.unwrap_err().to_string();
    let says = "the 2 training texts give no n-gram: lower min_texts, or give longer texts";
    assert_eq!(error, says);
    let short = ["a b", "c d"];
    let error = TfIdf::fit(&[ngrams(NgramKind::Words, 1, 1)], short.into_iter()).unwrap_err();
    let says = "no n-gram: set min_characters = 1 in blocks of words, or give longer texts";
    assert!(error.to_string().ends_with(says), "{error}");
    let error = TfIdf::fit(&[ngrams(NgramKind::AcrossWords, 9, 9)], short.into_iter()).unwrap_err();
    assert!(error.to_string().ends_with("no n-gram: give longer texts"), "{error}");
}

/// Values that scikit-learn 1.x computed (smooth idf, sublinear tf, l2).
/// A text of weight 2 is a text twice, also for the fewest texts that an n-gram must be in; one of weight ½ keeps its
/// n-grams.
#[test]
fn texts_count_as_often_as_they_weigh() {
    let texts = ["red wine", "red ink", "blue ink", "old ink", "green"];
    let weights = RowWeights::new(&[1.0, 2.0, 3.0, 1.0, 2.0]).unwrap();
    let copies = ["red wine", "red ink", "red ink", "blue ink", "blue ink", "blue ink", "old ink"];
    let copies = copies.into_iter().chain(["green", "green"]);
    for (buckets, min_texts) in [(0, 1), (0, 2), (64, 1)] {
        let config = NgramConfig { buckets, min_texts, ..ngrams(NgramKind::Words, 1, 2) };
        let config = std::slice::from_ref(&config);
        let weighted = TfIdf::fit_weighted(config, texts.into_iter(), &weights).unwrap();
        assert_eq!(weighted, TfIdf::fit(config, copies.clone()).unwrap(), "{buckets} {min_texts}");
        assert_ne!(weighted.to_json(), TfIdf::fit(config, texts.into_iter()).unwrap().to_json());
    }
    let half = RowWeights::new(&[0.5; 5]).unwrap();
    let config = [ngrams(NgramKind::Words, 1, 1)];
    let width = TfIdf::fit(&config, texts.into_iter()).unwrap().width();
    assert_eq!(TfIdf::fit_weighted(&config, texts.into_iter(), &half).unwrap().width(), width);
}

#[test]
fn rows_equal_scikit_learns() {
    let Some(path) = published("rows_equal_scikit_learns", "golden/tfidf_sklearn.json") else {
        return;
    };
    let golden: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let texts = |key: &str| -> Vec<String> {
        golden[key].as_array().unwrap().iter().map(|t| t.as_str().unwrap().into()).collect()
    };
    let characters = ngrams(NgramKind::Characters, 3, 5);
    for (key, config) in [
        ("word_1_2", ngrams(NgramKind::Words, 1, 2)),
        ("char_wb_3_5_min_df_2", NgramConfig { min_texts: 2, ..characters }),
    ] {
        let train = texts("texts");
        let fitted = TfIdf::fit(&[config], train.iter().map(String::as_str)).unwrap();
        assert_eq!(golden[key]["features"], fitted.width());
        for part in ["texts", "queries"] {
            for (text, row) in texts(part).iter().zip(golden[key][part].as_array().unwrap()) {
                // columns are in the order of the terms
                let row: BTreeMap<_, _> = row.as_object().unwrap().iter().collect();
                let ours = fitted.transform(text);
                assert_eq!(row.len(), ours.len(), "{key}: {text}");
                for ((term, theirs), (_, ours)) in row.into_iter().zip(ours) {
                    let difference = theirs.as_f64().unwrap() - f64::from(ours);
                    assert!(difference.abs() < 1e-6, "{key}: {term:?}");
                }
            }
        }
    }
}

#[test]
fn copies_of_a_text_in_a_group_are_one_text() {
    let texts = ["red wine", "red wine ", "red ink", "red wine"].map(String::from).to_vec();
    let of_weights = |weights: &[f64], groups: &[&str]| {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        let weights = RowWeights::new(weights).unwrap();
        Split { groups, weights, ..Split::texts(texts.clone()) }
    };
    let all = texts.iter().map(String::as_str).collect::<Vec<_>>();
    let three = vec!["red wine", "red ink", "red wine"];
    let weights = |weights: &[f64]| RowWeights::new(weights).unwrap();
    for (given, groups, counted, kept) in [
        (&[] as &[f64], &[] as &[&str], all.clone(), &[] as &[f64]),
        (&[1.0, 3.0, 1.0, 2.0], &[], all.clone(), &[1.0, 3.0, 1.0, 2.0]),
        (&[], &["a", "b", "c", "d"], all.clone(), &[]),
        (&[], &["a", "a", "b", "c"], three.clone(), &[]),
        (&[1.0, 3.0, 1.0, 2.0], &["a", "a", "b", "c"], three, &[3.0, 1.0, 2.0]),
        (&[], &["a"; 4], vec!["red wine", "red ink"], &[]),
    ] {
        let split = of_weights(given, groups);
        let texts = split.counted_texts().unwrap();
        assert_eq!(texts, (counted, weights(kept)), "{given:?} {groups:?}");
        // rows of one query are left out together too
        let split = of_weights(given, &[]);
        let queries = groups.iter().map(|&query| query.to_owned()).collect::<Vec<String>>();
        let split = Split { queries: (!queries.is_empty()).then_some(queries), ..split };
        assert_eq!(split.counted_texts().unwrap(), texts, "{given:?} {groups:?}");
    }
}
