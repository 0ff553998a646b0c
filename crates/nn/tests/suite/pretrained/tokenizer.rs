//! Ids are those that transformers 5.23 gives; expected ones were taken from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dsokr_nn::pretrained::{Pretrained, Tokenizer};
use serde_json::{Value, json};

use super::folder::{Fixture, VOCABULARY, write_files};
use super::golden::golden;

/// A change of a tokenizer.json.
type Edit<'e> = &'e dyn Fn(&mut Value);

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let (ids, cut) = tokenizer.encode(text, 512).unwrap();
    assert!(!cut);
    ids
}

/// Returns the vocabulary with a tokenizer_config.json.
fn word_pieces(settings: serde_json::Value) -> Tokenizer {
    let mut fixture = Fixture::bert();
    fixture.files.insert("tokenizer_config.json", settings.to_string());
    fixture.open().unwrap().tokenizer
}

#[test]
fn a_vocabulary_is_read_as_bert_reads_it() {
    let tokenizer = Fixture::bert().open().unwrap().tokenizer;
    assert_eq!((tokenizer.vocabulary(), tokenizer.special_tokens), (16, 2));
    let expected: [(&str, &[u32]); 9] = [
        ("", &[2, 3]),
        ("the aca", &[2, 15, 5, 8, 7, 3]),
        ("The ÁCA, é.", &[2, 15, 5, 8, 7, 14, 10, 13, 3]),
        ("a中文c", &[2, 5, 11, 12, 6, 3]),
        // control, zero-width and replacement characters vanish, other spaces separate
        ("a\u{0}c \u{200b}a\tthe\u{a0}c\u{fffd}", &[2, 5, 8, 5, 15, 6, 3]),
        ("[MASK] a[SEP]", &[2, 4, 5, 3, 3]),
        ("x", &[2, 1, 3]),
        ("a c a c a c a c a c", &[2, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6, 3]),
        ("e\u{301} E\u{301} \u{c9}", &[2, 10, 10, 10, 3]),
    ];
    for (text, expected) in expected {
        assert_eq!(ids(&tokenizer, text), expected, "{text:?}");
    }
}

#[test]
fn the_tokenizer_configuration_is_obeyed() {
    let accented = "The ÁCA, é.";
    let cased = word_pieces(json!({"do_lower_case": false}));
    assert_eq!(ids(&cased, accented), [2, 1, 1, 14, 9, 13, 3]);
    assert_eq!(ids(&cased, "e\u{301} E\u{301} \u{c9}"), [2, 1, 1, 1, 3]);
    let stripped = word_pieces(json!({"do_lower_case": false, "strip_accents": true}));
    assert_eq!(ids(&stripped, accented), [2, 1, 1, 14, 10, 13, 3]);
    let accents = word_pieces(json!({"do_lower_case": true, "strip_accents": false}));
    assert_eq!(ids(&accents, accented), [2, 15, 1, 14, 9, 13, 3]);
    let chinese = word_pieces(json!({"tokenize_chinese_chars": false}));
    assert_eq!(ids(&chinese, "a中文c"), [2, 1, 3]);
    let renamed = word_pieces(json!({"cls_token": "the", "sep_token": {"content": "."}}));
    assert_eq!(ids(&renamed, "a"), [15, 5, 13]);
}

#[test]
fn long_texts_are_cut_between_the_special_tokens() {
    let tokenizer = Fixture::bert().open().unwrap().tokenizer;
    let encode = |text, length| tokenizer.encode(text, length).unwrap();
    assert_eq!(encode("The ÁCA, é.", 6), (vec![2, 15, 5, 8, 7, 3], true));
    assert_eq!(encode("a c a c a c a c a c", 6), (vec![2, 5, 6, 5, 6, 3], true));
    assert_eq!(encode("the aca", 6), (vec![2, 15, 5, 8, 7, 3], false));
    assert_eq!(encode("the aca", 5), (vec![2, 15, 5, 8, 3], true));
    assert_eq!(encode("the aca", 3), (vec![2, 15, 3], true));
    assert_eq!(encode("", 3), (vec![2, 3], false));
    for length in 0..3 {
        let error = tokenizer.encode("the", length).unwrap_err().to_string();
        assert!(error.contains(&format!("max_length = {length}")), "{error}");
        assert!(error.contains("at least 3"), "{error}");
    }
}

#[test]
fn padding_and_truncation_of_the_file_are_switched_off() {
    // expected ids by the tokenizers library for Python, with its truncation to 5 for the last
    let tokenizer = Fixture::roberta().open().unwrap().tokenizer;
    assert_eq!(ids(&tokenizer, ""), [0, 2]);
    assert_eq!(ids(&tokenizer, "ac a caac"), [0, 8, 7, 6, 5, 4, 8, 2]);
    assert_eq!(ids(&tokenizer, "b"), [0, 3, 2]);
    assert_eq!(tokenizer.encode("ac a caac", 5).unwrap(), (vec![0, 8, 7, 6, 2], true));
}

/// With a share of 1, a text is its letters.
#[test]
fn merges_are_not_dropped() {
    let mut fixture = Fixture::roberta();
    let mut file: Value = serde_json::from_str(&fixture.files["tokenizer.json"]).unwrap();
    file["model"]["dropout"] = json!(1.0);
    fixture.files.insert("tokenizer.json", file.to_string());
    for class in ["RobertaTokenizer", "PreTrainedTokenizerFast"] {
        let settings = json!({ "tokenizer_class": class }).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        let tokenizer = fixture.open().unwrap().tokenizer;
        assert_eq!(ids(&tokenizer, "ac a caac"), [0, 8, 7, 6, 5, 4, 8, 2]);
        let kept: Value = serde_json::from_str(&tokenizer.json).unwrap();
        assert_eq!(kept["model"]["dropout"], Value::Null);
    }
}

#[test]
fn a_run_folder_gives_back_the_tokenizer() {
    let mut cased = Fixture::bert();
    cased.files.insert("tokenizer_config.json", json!({"do_lower_case": false}).to_string());
    for fixture in [Fixture::bert(), cased, Fixture::roberta()] {
        let model = fixture.open().unwrap();
        let run = tempfile::tempdir().unwrap();
        write_files(&model, run.path());
        // from tokenizer.json alone, which is taken as it is
        for name in ["vocab.txt", "tokenizer_config.json"] {
            let _ = std::fs::remove_file(run.path().join(name));
        }
        let again = Pretrained::open_kept(run.path()).unwrap();
        assert_eq!(again.architecture(), model.architecture());
        assert_eq!(again.tokenizer.json, model.tokenizer.json);
        for text in ["The ÁCA, é. a中文c", "ac a caac", "", "[MASK] \u{0}"] {
            let before = ids(&model.tokenizer, text);
            let after = ids(&again.tokenizer, text);
            assert_eq!(before, after);
        }
        assert!(again.parameters().is_err());
    }
}

#[test]
fn a_vocabulary_alone_gives_the_ids_of_the_golden_tokenizer_file() {
    let Some(folder) = golden("a_vocabulary_alone_gives_the_ids_of_the_golden_tokenizer_file")
    else {
        return;
    };
    let whole = Pretrained::open(&folder).unwrap();
    let alone = tempfile::tempdir().unwrap();
    for name in ["config.json", "vocab.txt"] {
        std::fs::copy(folder.join(name), alone.path().join(name)).unwrap();
    }
    let alone = Pretrained::open_without_weights(alone.path()).unwrap();
    let texts = [
        "the molecule is an acid",
        "a methyl ester of (2s)-2-amino-3-methylbutanoic acid, role: x+1",
        "ÉTHANE\u{301} 中 \u{200b} methanol\u{0}\t\u{2028}[MASK][PAD] ethane\u{fffd}",
        "",
    ];
    for text in texts {
        for length in [3, 8, 64] {
            let expected = whole.tokenizer.encode(text, length).unwrap();
            assert_eq!(alone.tokenizer.encode(text, length).unwrap(), expected, "{text:?}");
        }
    }
    // by transformers
    let long = "the molecule is an acid, a methyl ester of methanol and ethane";
    let cut = whole.tokenizer.encode(long, 8).unwrap();
    assert_eq!(cut, (vec![2, 91, 92, 93, 94, 95, 44, 3], true));
    let accents = whole.tokenizer.encode("ÉTHANE\u{301} 中 \u{200b} methanol\u{0}", 64).unwrap();
    assert_eq!(accents, (vec![2, 101, 102, 1, 100, 48, 61, 98, 3], false));
    // all but the character that the vocabulary lacks
    assert_eq!(whole.tokenizer.count_known(&accents.0), 8);
}

#[test]
fn a_tokenizer_that_does_not_fit_is_refused() {
    let refused = |fixture: &Fixture, parts: &[&str]| {
        let error = fixture.open().unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{error}: no {part:?}");
        }
    };
    let mut larger = Fixture::bert();
    larger.set("vocab_size", 15.into());
    refused(&larger, &["vocab.txt", "vocabulary = 16", "at most 15, vocab_size in config.json"]);
    let mut padded = Fixture::bert();
    padded.set("vocab_size", 20.into());
    assert!(padded.open().is_ok(), "a table of token vectors may have rows to spare");

    for token in ["[UNK]", "[CLS]", "[SEP]"] {
        let mut fixture = Fixture::bert();
        let words = VOCABULARY.map(|word| if word == token { "other" } else { word });
        fixture.files.insert("vocab.txt", words.join("\n"));
        refused(&fixture, &["vocab.txt", "_token", token]);
    }
    let edited = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut fixture = Fixture::roberta();
        let mut file = serde_json::from_str(&fixture.files["tokenizer.json"]).unwrap();
        edit(&mut file);
        fixture.files.insert("tokenizer.json", file.to_string());
        fixture
    };
    let absent = edited(&|file| file["post_processor"]["sep"] = json!(["</t>", 2]));
    refused(&absent, &["tokenizer.json", "`</t>` is not token 2"]);
    let other = edited(&|file| file["post_processor"]["cls"] = json!(["<s>", 4]));
    refused(&other, &["tokenizer.json", "`<s>` is not token 4"]);
    let as_it_is = json!({"tokenizer_class": "PreTrainedTokenizerFast"}).to_string();
    let mut none = edited(&|file| file["post_processor"] = json!(null));
    none.files.insert("tokenizer_config.json", as_it_is.clone());
    refused(&none, &["tokenizer.json", "no special token", "TemplateProcessing", "`<s> $A </s>`"]);
    let mut none = with_file(|file| file["post_processor"] = json!(null));
    none.files.insert("tokenizer_config.json", as_it_is.clone());
    refused(&none, &["tokenizer.json", "no special token", "`[CLS] $A [SEP]`"]);
    let unknown = edited(&|file| file["model"]["unk_token"] = json!("<huh>"));
    refused(&unknown, &["tokenizer.json", "`<huh>`"]);
    let doubled = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let sequence = |count| json!({"type": "Sequence", "normalizers": vec![&doubled; count]});
    let growing = edited(&|file| file["normalizer"] = sequence(40));
    refused(&growing, &["tokenizer.json", "normalizer", "times as long", "at most 1000"]);
    let mut bounded = edited(&|file| file["normalizer"] = sequence(9));
    bounded.files.insert("tokenizer_config.json", as_it_is);
    assert!(bounded.open().is_ok());
    let broken = edited(&|file| file["model"]["type"] = json!("Words"));
    refused(&broken, &["tokenizer.json", "not a tokenizer"]);
}

#[test]
fn a_vocabulary_of_another_tokenizer_is_refused() {
    let class = |fixture: &mut Fixture, class: &str| {
        let settings = json!({"tokenizer_class": class}).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        fixture.open()
    };
    let error = class(&mut Fixture::bert(), "BertJapaneseTokenizer").unwrap_err().to_string();
    for part in [
        "tokenizer_config.json",
        "tokenizer_class",
        "BertJapanese",
        "BertTokenizerFast",
        "kind \"features\"",
    ] {
        assert!(error.contains(part), "{error}");
    }
    // what a RoBERTa's vocab.txt holds must be said
    let mut roberta = Fixture::roberta();
    roberta.files = Fixture::bert().files.clone();
    let error = roberta.open().unwrap_err().to_string();
    for part in
        ["tokenizer_config.json: it is not there", "{\"tokenizer_class\": \"BertTokenizer\"}"]
    {
        assert!(error.contains(part), "{error}");
    }
    roberta.files.insert("tokenizer_config.json", "{}".into());
    let error = roberta.open().unwrap_err().to_string();
    assert!(error.contains("tokenizer_class = nothing"), "{error}");
    assert!(class(&mut roberta, "BertTokenizer").is_ok());
}

/// config.json names the class where tokenizer_config.json does not.
#[test]
fn the_class_of_the_configuration_is_read() {
    let mut fixture = Fixture::bert();
    fixture.set("tokenizer_class", "BertJapaneseTokenizer".into());
    fixture.files.insert("tokenizer_config.json", json!({"do_lower_case": false}).to_string());
    let error = fixture.open().unwrap_err().to_string();
    for part in ["/config.json", "tokenizer_class = \"BertJapaneseTokenizer\"", "BertTokenizer"] {
        assert!(error.contains(part), "{error}");
    }
    let settings = json!({"tokenizer_class": "BertTokenizer"}).to_string();
    fixture.files.insert("tokenizer_config.json", settings);
    assert!(fixture.open().is_ok());
    fixture.files.insert("tokenizer_config.json", json!({"tokenizer_class": 1}).to_string());
    let error = fixture.open().unwrap_err().to_string();
    assert!(error.contains("tokenizer_class = 1: a string"), "{error}");
}

/// Returns a folder with a tokenizer.json of BERT.
fn with_file(edit: impl FnOnce(&mut Value)) -> Fixture {
    let mut fixture = Fixture::bert();
    let json = fixture.open().unwrap().tokenizer.json;
    let mut file = serde_json::from_str(&json).unwrap();
    edit(&mut file);
    fixture.files.insert("tokenizer.json", file.to_string());
    fixture
}

/// The ids of transformers 5.24. By the code of transformers 4 its classes set the normaliser likewise.
#[test]
fn a_tokenizer_file_is_read_by_its_class() {
    let lower: [&[u32]; 2] = [&[2, 15, 5, 8, 7, 14, 10, 13, 3], &[2, 5, 11, 12, 6, 3]];
    let cased: [&[u32]; 2] = [&[2, 1, 1, 14, 9, 13, 3], &[2, 5, 11, 12, 6, 3]];
    let stripped: [&[u32]; 2] = [&[2, 1, 1, 14, 10, 13, 3], &[2, 5, 11, 12, 6, 3]];
    let accents: [&[u32]; 2] = [&[2, 15, 1, 14, 9, 13, 3], &[2, 5, 11, 12, 6, 3]];
    let joined: [&[u32]; 2] = [&[2, 15, 5, 8, 7, 14, 10, 13, 3], &[2, 1, 3]];
    let fast = "PreTrainedTokenizerFast";
    // whether the file lower-cases, tokenizer_config.json, the class in config.json, and ids
    let cases = [
        (false, None, Value::Null, lower),
        (false, Some(json!({"tokenizer_class": "BertTokenizer"})), Value::Null, lower),
        (true, Some(json!({"do_lower_case": false})), Value::Null, cased),
        (
            false,
            Some(json!({"do_lower_case": false, "strip_accents": true})),
            Value::Null,
            stripped,
        ),
        (true, Some(json!({"strip_accents": false})), Value::Null, accents),
        (true, Some(json!({"tokenize_chinese_chars": false})), Value::Null, joined),
        (false, Some(json!({"tokenizer_class": fast, "do_lower_case": true})), Value::Null, cased),
        (false, Some(json!({"tokenizer_class": "BertTokenizerFast"})), fast.into(), lower),
        (false, Some(json!({"do_lower_case": true})), fast.into(), cased),
    ];
    for (lowercase, settings, class, expected) in cases {
        let mut fixture = with_file(|file| file["normalizer"]["lowercase"] = lowercase.into());
        fixture.set("tokenizer_class", class);
        if let Some(settings) = &settings {
            fixture.files.insert("tokenizer_config.json", settings.to_string());
        }
        let tokenizer = fixture.open().unwrap().tokenizer;
        for (text, expected) in ["The ÁCA, é.", "a中文c"].into_iter().zip(expected) {
            assert_eq!(ids(&tokenizer, text), expected, "{settings:?}: {text}");
        }
    }
    // what the class does not change stays as it is
    let same = with_file(|_| ());
    assert_eq!(same.open().unwrap().tokenizer.json, same.files["tokenizer.json"]);
}

/// As above.
#[test]
fn a_space_precedes_texts_by_the_class_of_roberta() {
    let with_space: [&[u32]; 2] = [&[0, 7, 5, 7, 6, 5, 4, 8, 2], &[0, 7, 8, 2]];
    let without: [&[u32]; 2] = [&[0, 8, 7, 6, 5, 4, 8, 2], &[0, 4, 8, 2]];
    let cases = [
        (false, json!({"add_prefix_space": true}), with_space),
        (true, json!({}), without),
        (true, json!({"add_prefix_space": true}), with_space),
        (true, json!({"tokenizer_class": "PreTrainedTokenizerFast"}), with_space),
    ];
    for (of_file, settings, expected) in cases {
        let mut fixture = Fixture::roberta();
        let mut file: Value = serde_json::from_str(&fixture.files["tokenizer.json"]).unwrap();
        file["pre_tokenizer"]["add_prefix_space"] = of_file.into();
        fixture.files.insert("tokenizer.json", file.to_string());
        fixture.files.insert("tokenizer_config.json", settings.to_string());
        let tokenizer = fixture.open().unwrap().tokenizer;
        for (text, expected) in ["ac a caac", "aac"].into_iter().zip(expected) {
            assert_eq!(ids(&tokenizer, text), expected, "{settings}: {text}");
        }
    }
}

/// As above.
#[test]
fn a_file_without_special_tokens_gets_those_of_its_class() {
    let mut fixture = with_file(|file| file["post_processor"] = json!(null));
    let tokenizer = fixture.open().unwrap().tokenizer;
    assert_eq!(ids(&tokenizer, "a中文c"), [2, 5, 11, 12, 6, 3]);
    assert_eq!(tokenizer.special_tokens, 2);
    fixture.files.insert("tokenizer_config.json", json!({"cls_token": "the"}).to_string());
    assert_eq!(ids(&fixture.open().unwrap().tokenizer, "a中文c"), [15, 5, 11, 12, 6, 3]);
    fixture.files.insert("tokenizer_config.json", json!({"sep_token": "[END]"}).to_string());
    let error = fixture.open().unwrap_err().to_string();
    assert!(error.contains("no sep_token `[END]`"), "{error}");
    let mut roberta = Fixture::roberta();
    let mut file: Value = serde_json::from_str(&roberta.files["tokenizer.json"]).unwrap();
    // none, and the one that `ByteLevelBPETokenizer.save` writes
    let of_library = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false});
    for processor in [json!(null), of_library] {
        file["post_processor"] = processor;
        roberta.files.insert("tokenizer.json", file.to_string());
        assert_eq!(ids(&roberta.open().unwrap().tokenizer, "aac"), [0, 4, 8, 2]);
    }
}

/// Transformers 4 takes these parts from the file, and 5 from the class.
#[test]
fn files_that_versions_of_transformers_read_differently_are_refused() {
    let sequence =
        json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]});
    let cases = [
        ("/normalizer/clean_text", json!(false), "BertTokenizer", "clean_text = false: true"),
        ("/normalizer", sequence, "BertTokenizer", "normalizer = [\"NFC\",\"Lowercase\"]"),
        ("/normalizer", json!(null), "BertTokenizer", "normalizer.type = null"),
        ("/pre_tokenizer", json!({"type": "Whitespace"}), "BertTokenizer", "pre_tokenizer.type"),
        (
            "/normalizer/handle_chinese_chars",
            json!(false),
            "MPNetTokenizer",
            "handle_chinese_chars",
        ),
        ("/normalizer/lowercase", json!(true), "RobertaTokenizer", "model.type = \"WordPiece\""),
        ("/model/max_input_chars_per_word", json!(200), "BertTokenizer", "_word = 200: 100"),
        (
            "/post_processor",
            json!({"type": "BertProcessing", "cls": ["[MASK]", 4], "sep": ["[SEP]", 3]}),
            "BertTokenizer",
            "post_processor = [\"[MASK]\",\"[SEP]\"]: [\"[CLS]\",\"[SEP]\"], cls_token",
        ),
    ];
    for (pointer, value, class, says) in cases {
        let mut fixture = with_file(|file| *file.pointer_mut(pointer).unwrap() = value);
        let settings = json!({ "tokenizer_class": class }).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        let error = fixture.open().unwrap_err().to_string();
        for part in ["tokenizer.json: ", says, class, "\"PreTrainedTokenizerFast\""] {
            assert!(error.contains(part), "{error}: no {part}");
        }
        let settings = json!({"tokenizer_class": "PreTrainedTokenizerFast"}).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        assert!(fixture.open().is_ok(), "{pointer}");
    }
}

#[test]
fn other_types_of_tokens_are_refused() {
    let sequence = |id: &str, kind: u32| json!({"Sequence": {"id": id, "type_id": kind}});
    let special = |id: &str, kind: u32| json!({"SpecialToken": {"id": id, "type_id": kind}});
    let with_types = |of_first: u32, of_text: u32| {
        let mut fixture = with_file(|file| {
            file["post_processor"] = json!({
                "type": "TemplateProcessing",
                "single": [special("[CLS]", of_first), sequence("A", of_text), special("[SEP]", 0)],
                "pair": [sequence("A", 0), special("[SEP]", 0), sequence("B", 1)],
                "special_tokens": {
                    "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                    "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
                },
            });
        });
        let settings = json!({"tokenizer_class": "PreTrainedTokenizerFast"}).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        fixture
    };
    assert_eq!(ids(&with_types(0, 0).open().unwrap().tokenizer, "a"), [2, 5, 3]);
    for (of_first, of_text) in [(1, 0), (0, 1)] {
        let fixture = with_types(of_first, of_text);
        let error = fixture.open().unwrap_err().to_string();
        for part in ["tokenizer.json: ", "another type than 0", "\"type_id\": 0"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// Returns a folder with a tokenizer.json of SentencePiece, as transformers writes those of XLM-RoBERTa.
fn with_pieces(class: &str, mut settings: Value, edit: impl FnOnce(&mut Value)) -> Fixture {
    let spaces = json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u{2581}"});
    let end = |token: &str| json!({"SpecialToken": {"id": token, "type_id": 0}});
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Strip", "strip_left": false, "strip_right": true}, spaces,
        ]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
        ]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [end("<s>"), text("A"), end("</s>")],
            "pair": [end("<s>"), text("A"), end("</s>"), text("B"), end("</s>")],
            "special_tokens": {
                "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
            },
        },
        "decoder": null,
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": false, "vocab": [
            ["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0],
            ["\u{2581}", -2.0], ["a", -2.0], ["c", -2.0], ["\u{2581}a", -3.0],
        ]},
    });
    edit(&mut file);
    let mut fixture = Fixture::roberta();
    fixture.set("model_type", "xlm-roberta".into());
    if !class.is_empty() {
        settings["tokenizer_class"] = class.into();
    }
    let settings = settings.to_string();
    fixture.files =
        BTreeMap::from([("tokenizer.json", file.to_string()), ("tokenizer_config.json", settings)]);
    fixture
}

/// As above: version 5 builds all but the vocabulary and the tables of characters.
#[test]
fn pieces_that_versions_of_transformers_read_differently_are_refused() {
    let of_albert = |accents: bool, lower: bool| {
        let quotes = ["``", "''"].map(
            |quotes| json!({"type": "Replace", "pattern": {"String": quotes}, "content": "\""}),
        );
        let mut parts = quotes.to_vec();
        if !accents {
            parts.extend(["NFKD", "StripAccents"].map(|kind| json!({ "type": kind })));
        }
        if lower {
            parts.push(json!({"type": "Lowercase"}));
        }
        move |file: &mut Value| {
            file["normalizer"] = json!({ "type": "Sequence", "normalizers": parts });
            file["model"]["unk_id"] = 1.into();
        }
    };
    let cased = json!({"do_lower_case": false, "keep_accents": true});
    for class in ["", "XLMRobertaTokenizer", "CamembertTokenizerFast"] {
        let fixture = with_pieces(class, json!({}), |_| ());
        assert_eq!(ids(&fixture.open().unwrap().tokenizer, "a  ca "), [0, 7, 4, 6, 5, 2]);
    }
    let albert = "AlbertTokenizer";
    assert!(with_pieces(albert, json!({}), of_albert(false, true)).open().is_ok());
    assert!(with_pieces(albert, cased.clone(), of_albert(true, false)).open().is_ok());

    let none = json!({});
    let refused = [
        (with_pieces(albert, cased, of_albert(false, true)), "normalizer = ["),
        (with_pieces(albert, none.clone(), of_albert(true, false)), "normalizer = ["),
        (
            with_pieces("", none.clone(), |file| file["normalizer"] = json!({"type": "Lowercase"})),
            "normalizer = [\"Lowercase\"]: []",
        ),
        (
            with_pieces("", json!({"add_prefix_space": false}), |_| ()),
            "prepend_scheme = \"always\": add_prefix_space = false",
        ),
        (with_pieces("", none, |file| file["model"]["unk_id"] = 1.into()), "unk_id = 1: 3"),
        (with_pieces("", json!({"eos_token": "<unk>"}), |_| ()), "bos_token and eos_token"),
    ];
    for (mut fixture, says) in refused {
        let error = fixture.open().unwrap_err().to_string();
        for part in ["tokenizer.json: ", says, "\"PreTrainedTokenizerFast\""] {
            assert!(error.contains(part), "{error}: no {part}");
        }
        let settings = json!({"tokenizer_class": "PreTrainedTokenizerFast"}).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        assert!(fixture.open().is_ok(), "{says}");
    }
}

/// As above, of a class that puts no token before a text.
#[test]
fn pieces_of_t5_have_one_token_at_their_end() {
    let with_t5 = |settings: Value, edit: &dyn Fn(&mut Value)| {
        with_pieces("T5TokenizerFast", settings, |file| {
            let end = json!({"SpecialToken": {"id": "</s>", "type_id": 0}});
            let text = json!({"Sequence": {"id": "A", "type_id": 0}});
            file["post_processor"]["single"] = json!([text, end]);
            file["post_processor"]["special_tokens"] =
                json!({"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}});
            file["post_processor"]["pair"] = json!([text, {"Sequence": {"id": "B", "type_id": 0}}]);
            file["model"]["unk_id"] = 2.into();
            file["model"]["vocab"] = json!([
                ["<pad>", 0.0],
                ["</s>", 0.0],
                ["<unk>", 0.0],
                ["\u{2581}", -2.0],
                ["a", -2.0],
                ["c", -2.0],
                ["\u{2581}a", -3.0],
            ]);
            edit(file);
        })
    };
    let tokenizer = with_t5(json!({}), &|_| ()).open().unwrap().tokenizer;
    assert_eq!((ids(&tokenizer, "a  ca "), ids(&tokenizer, "")), (vec![6, 3, 5, 4, 1], vec![1]));

    let first = json!([
        {"SpecialToken": {"id": "</s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ]);
    let enclose = |file: &mut Value| file["post_processor"]["single"] = first.clone();
    let never = |file: &mut Value| {
        file["pre_tokenizer"]["pretokenizers"][1]["prepend_scheme"] = "never".into();
    };
    let refused = [
        (with_t5(json!({}), &|file| file["model"]["unk_id"] = 3.into()), "unk_id = 3: 2"),
        (with_t5(json!({}), &enclose), "[\"</s>\",\"</s>\"]: [\"</s>\"], eos_token,"),
        // version 5 does not read the key
        (with_t5(json!({"add_prefix_space": false}), &never), "prepend_scheme = \"never\""),
    ];
    for (fixture, says) in refused {
        let error = fixture.open().unwrap_err().to_string();
        for part in ["tokenizer.json: ", says, "\"PreTrainedTokenizerFast\""] {
            assert!(error.contains(part), "{error}: no {part}");
        }
    }
}

/// Version 4 of transformers builds the ends of texts by the settings of this class, and version 5 takes those of the file.
#[test]
fn tokens_that_settings_of_llama_ask_for_are_those_of_the_file() {
    let open = |settings: Value| with_pieces("LlamaTokenizerFast", settings, |_| ()).open();
    let tokenizer = open(json!({"add_eos_token": true})).unwrap().tokenizer;
    assert_eq!(ids(&tokenizer, "a ca"), [0, 7, 4, 6, 5, 2]);
    for (settings, says) in [
        (json!({}), "[\"<s>\",\"</s>\"]: [\"<s>\"], add_bos_token and add_eos_token"),
        (json!({"add_eos_token": null}), "[\"<s>\",\"</s>\"]: [\"<s>\"], add_bos_token"),
        (json!({"add_bos_token": false, "add_eos_token": true}), "[\"<s>\",\"</s>\"]: [\"</s>\"],"),
    ] {
        let error = open(settings).unwrap_err().to_string();
        for part in ["tokenizer.json: ", says, "LlamaTokenizer", "\"PreTrainedTokenizerFast\""] {
            assert!(error.contains(part), "{error}: no {part}");
        }
    }
}

/// As above, of a class whose version 5 builds what normalises and splits texts too.
#[test]
fn texts_that_the_class_of_gemma_would_split_otherwise_are_refused() {
    let open = |settings: Value, edit: &dyn Fn(&mut Value)| {
        let fixture = with_pieces("GemmaTokenizerFast", settings, |file| {
            let space = json!({"String": " "});
            file["normalizer"] =
                json!({"type": "Replace", "pattern": space, "content": "\u{2581}"});
            file["pre_tokenizer"] = json!({
                "type": "Split", "pattern": space, "behavior": "MergedWithPrevious", "invert": false,
            });
            file["model"] = json!({
                "type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
                "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "\u{2581}": 4, "a": 5, "c": 6, "\u{2581}a": 7},
                "merges": ["\u{2581} a"],
            });
            edit(file);
        });
        fixture.open()
    };
    let settings = json!({"bos_token": "<s>", "eos_token": "</s>", "add_eos_token": true});
    let tokenizer = open(settings.clone(), &|_| ()).unwrap().tokenizer;
    assert_eq!(ids(&tokenizer, "c a ca"), [0, 6, 7, 4, 6, 5, 2]);
    let without_end = json!({"bos_token": "<s>", "eos_token": "</s>"});
    let refused: [(&Value, Edit, &str); 4] = [
        (&settings, &|file| file["normalizer"] = json!(null), "normalizer = null: {"),
        (&settings, &|file| file["pre_tokenizer"] = json!(null), "pre_tokenizer = null: {"),
        (&settings, &|file| file["model"]["fuse_unk"] = json!(false), "fuse_unk = false: true"),
        (&without_end, &|_| (), "[\"<s>\",\"</s>\"]: [\"<s>\"], add_bos_token"),
    ];
    for (settings, edit, says) in refused {
        let error = open(settings.clone(), edit).unwrap_err().to_string();
        for part in ["tokenizer.json: ", says, "GemmaTokenizer", "\"PreTrainedTokenizerFast\""] {
            assert!(error.contains(part), "{error}: no {part}");
        }
    }
}

/// Version 5 builds what normalises and splits texts by the class of Qwen's tokenizers, and takes the ends of the file.
#[test]
fn texts_that_the_class_of_qwen_would_split_otherwise_are_refused() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sentences-last");
    let folder = tempfile::tempdir().unwrap();
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(golden.join(name), folder.path().join(name)).unwrap();
    }
    let file = folder.path().join("tokenizer.json");
    let original: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let open = |edit: &dyn Fn(&mut Value)| {
        let mut changed = original.clone();
        edit(&mut changed);
        fs::write(&file, changed.to_string()).unwrap();
        Pretrained::open_without_weights(folder.path())
    };
    let tokenizer = open(&|_| ()).unwrap().tokenizer;
    assert_eq!((ids(&tokenizer, ""), tokenizer.special_tokens), (vec![97], 1));
    let replaced = |path: &'static str, value: Value| {
        move |file: &mut Value| *file.pointer_mut(path).unwrap() = value.clone()
    };
    let refused: [(Edit, &str); 5] = [
        (&replaced("/normalizer", json!({"type": "NFKC"})), "normalizer.type = \"NFKC\": \"NFC\""),
        (&replaced("/pre_tokenizer/pretokenizers/0/pattern/Regex", json!(" ")), "pre_tokenizer = "),
        (&replaced("/pre_tokenizer/pretokenizers/1/use_regex", json!(true)), "pre_tokenizer = "),
        (&replaced("/pre_tokenizer", json!({"type": "Whitespace"})), "pre_tokenizer = "),
        (&replaced("/model/ignore_merges", json!(true)), "ignore_merges = true: false"),
    ];
    for (edit, says) in refused {
        let error = open(edit).unwrap_err().to_string();
        for part in ["tokenizer.json: ", says, "Qwen2Tokenizer", "\"PreTrainedTokenizerFast\""] {
            assert!(error.contains(part), "{error}: no {part}");
        }
    }
    // an empty text would have no token
    let error = open(&replaced("/post_processor", json!(null))).unwrap_err().to_string();
    assert!(error.contains("`$A <|endoftext|>`"), "{error}");
}

#[test]
fn pieces_that_are_not_split_at_spaces_are_those_of_the_file() {
    let fixture = with_pieces("", json!({}), |file| {
        file["normalizer"] = Value::Null;
        file["pre_tokenizer"] = json!({
            "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": false,
        });
    });
    // the blank at the end is a piece
    assert_eq!(ids(&fixture.open().unwrap().tokenizer, "a "), [0, 7, 4, 2]);
}

#[test]
fn byte_pairs_that_the_class_would_split_otherwise_are_refused() {
    let mut fixture = Fixture::roberta();
    let mut file: Value = serde_json::from_str(&fixture.files["tokenizer.json"]).unwrap();
    file["pre_tokenizer"]["use_regex"] = json!(false);
    fixture.files.insert("tokenizer.json", file.to_string());
    let error = fixture.open().unwrap_err().to_string();
    for part in ["use_regex = false: true", "RobertaTokenizer", "\"PreTrainedTokenizerFast\""] {
        assert!(error.contains(part), "{error}");
    }
}

/// A run keeps the tokenizer.json that its training made of all files.
#[test]
fn what_a_run_has_kept_is_read_as_it_is() {
    let mut fixture = with_file(|file| file["normalizer"]["lowercase"] = false.into());
    let settings = json!({"do_lower_case": true, "truncation_side": "left"}).to_string();
    fixture.files.insert("tokenizer_config.json", settings);
    let error = fixture.open().unwrap_err().to_string();
    for part in ["tokenizer_config.json", "truncation_side = \"left\"", "\"right\""] {
        assert!(error.contains(part), "{error}");
    }
    let kept = Pretrained::open_kept(fixture.path()).unwrap();
    assert_eq!(ids(&kept.tokenizer, "The é"), [2, 1, 9, 3]);
}

/// Both versions of transformers add them, in each of their files.
#[test]
fn tokens_of_other_files_are_added_to_a_tokenizer_file() {
    let flags = json!({"content": "[MOL]", "lstrip": false, "rstrip": false, "normalized": false,
                       "single_word": false, "special": true});
    let settings = "tokenizer_config.json";
    let cases = [
        (settings, json!({"additional_special_tokens": ["[MOL]"]})),
        (settings, json!({"additional_special_tokens": [flags]})),
        (settings, json!({"extra_special_tokens": ["[MOL]"]})),
        (settings, json!({"extra_special_tokens": {"mol_token": "[MOL]"}})),
        (settings, json!({"added_tokens_decoder": {"16": flags}})),
        (settings, json!({"bos_token": "[MOL]"})),
        ("special_tokens_map.json", json!({"additional_special_tokens": ["[MOL]"]})),
        ("added_tokens.json", json!({"[MOL]": 16})),
    ];
    for class in ["BertTokenizer", "PreTrainedTokenizerFast"] {
        for (name, content) in &cases {
            let mut fixture = with_file(|_| ());
            fixture.set("vocab_size", 18.into());
            let mut files = BTreeMap::from([(settings, json!({}))]);
            files.insert(*name, content.clone());
            files.get_mut(settings).unwrap()["tokenizer_class"] = class.into();
            fixture.files.extend(files.iter().map(|(name, json)| (*name, json.to_string())));
            let model = fixture.open().unwrap();
            assert_eq!(ids(&model.tokenizer, "a [MOL] c"), [2, 5, 16, 6, 3], "{name}: {content}");
            // the run and its export have them
            let written = fixture.file("kept.json");
            fs::write(&written, &model.tokenizer.json).unwrap();
            let again = Tokenizer::read(&written).unwrap();
            assert_eq!(ids(&again, "a [MOL] c"), [2, 5, 16, 6, 3], "{name}: {content}");
        }
    }
}

/// The tokens of tokenizer_config.json come first.
#[test]
fn further_tokens_have_the_order_of_transformers() {
    let mut fixture = with_file(|_| ());
    fixture.set("vocab_size", 18.into());
    let tokens = |name: &str| json!({ "additional_special_tokens": [name] }).to_string();
    fixture.files.insert("tokenizer_config.json", tokens("[MOL]"));
    fixture.files.insert("special_tokens_map.json", tokens("[END]"));
    let tokenizer = fixture.open().unwrap().tokenizer;
    assert_eq!(ids(&tokenizer, "a [MOL] [END]"), [2, 5, 16, 17, 3]);

    // the order of names in the file, not that of the alphabet; of a name that is there twice, Python's json has the
    // first place and the last value
    for named in [
        r#"{"mol_token": "[MOL]", "end_token": "[END]"}"#,
        r#"{"mol_token": "[OLD]", "end_token": "[END]", "mol_token": "[MOL]"}"#,
    ] {
        let mut fixture = with_file(|_| ());
        fixture.set("vocab_size", 18.into());
        let settings = format!("{{\"extra_special_tokens\": {named}}}");
        fixture.files.insert("tokenizer_config.json", settings);
        let tokenizer = fixture.open().unwrap().tokenizer;
        assert_eq!(ids(&tokenizer, "a [MOL] [END]"), [2, 5, 16, 17, 3], "{named}");
    }
}

#[test]
fn flags_of_tokens_are_those_of_the_settings() {
    let mut fixture = with_file(|_| ());
    let with_flags = json!({"content": "[MASK]", "lstrip": true, "rstrip": false,
                            "normalized": false, "single_word": false, "special": true});
    let lstrip = |fixture: &Fixture| {
        let json: Value = serde_json::from_str(&fixture.open().unwrap().tokenizer.json).unwrap();
        let tokens = json["added_tokens"].as_array().unwrap();
        tokens.iter().find(|token| token["content"] == "[MASK]").unwrap()["lstrip"].clone()
    };
    assert_eq!(lstrip(&fixture), false);
    // a name is no reason to change them
    let named = json!({ "mask_token": with_flags, "extra_special_tokens": {} }).to_string();
    fixture.files.insert("tokenizer_config.json", named);
    assert_eq!(fixture.open().unwrap().tokenizer.json, fixture.files["tokenizer.json"]);
    let decoded = json!({ "added_tokens_decoder": {"4": with_flags} }).to_string();
    fixture.files.insert("tokenizer_config.json", decoded);
    assert_eq!(lstrip(&fixture), true);
}

/// Names of special tokens stand in many files of models that do not have them.
#[test]
fn tokens_without_a_vector_are_no_part_of_the_model() {
    let mut fixture = with_file(|_| ());
    let settings = json!({"bos_token": "<s>", "cls_token": "[CLS]"}).to_string();
    fixture.files.insert("tokenizer_config.json", settings);
    assert_eq!(fixture.open().unwrap().tokenizer.json, fixture.files["tokenizer.json"]);
    let settings = json!({"additional_special_tokens": ["[MOL]"]}).to_string();
    fixture.files.insert("tokenizer_config.json", settings);
    let error = fixture.open().unwrap_err().to_string();
    for part in ["vocabulary = 17: at most 16, vocab_size", "\"[MOL]\" has no", "resize_token"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn special_tokens_that_are_split_are_refused() {
    let mut fixture = with_file(|_| ());
    for (is_split, is_read) in [(json!(false), true), (json!(null), true), (json!(true), false)] {
        let settings = json!({ "split_special_tokens": is_split }).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        let opened = fixture.open();
        assert_eq!(opened.is_ok(), is_read);
        if let Err(error) = opened {
            assert!(error.to_string().contains("split_special_tokens = true: false"), "{error}");
        }
    }
}

#[test]
fn added_tokens_with_other_ids_are_refused() {
    // a gap, the place of another token, and what is no token
    let cases = [
        (json!({"18": {"content": "[MOL]"}}), "token 18"),
        (json!({"5": {"content": "[MOL]"}}), "token 5"),
        (json!({"16": {"content": 1}}), "added_tokens_decoder = "),
        (json!({"x": {"content": "[MOL]"}}), "added_tokens_decoder = "),
    ];
    for (added, says) in cases {
        let mut fixture = Fixture::bert();
        fixture.set("vocab_size", 20.into());
        let settings = json!({ "added_tokens_decoder": added }).to_string();
        fixture.files.insert("tokenizer_config.json", settings);
        let error = fixture.open().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let mut fixture = Fixture::bert();
    fixture.files.insert("added_tokens.json", json!({"[MOL]": 17}).to_string());
    fixture.set("vocab_size", 20.into());
    let error = fixture.open().unwrap_err().to_string();
    assert!(error.contains("\"[MOL]\" is token 17"), "{error}");
}

/// Folders with the files of a vocabulary and no tokenizer.json (benches/encoder_folders.py).
#[test]
fn vocabularies_give_the_ids_of_transformers() {
    let sizes = json!({
        "roberta": {"model_type": "roberta", "vocab_size": 300, "pad_token_id": 1},
        "esm": {"model_type": "esm", "vocab_size": 33, "pad_token_id": 1,
                "position_embedding_type": "rotary"},
        "mpnet": {"model_type": "mpnet", "vocab_size": 15},
        "bert-added": {"model_type": "bert", "vocab_size": 14},
        "roberta-added": {"model_type": "roberta", "vocab_size": 300, "pad_token_id": 1},
        "esm-added": {"model_type": "esm", "vocab_size": 35, "pad_token_id": 1},
        "esm-without-eos": {"model_type": "esm", "vocab_size": 33, "pad_token_id": 1},
    });
    for (family, config) in sizes.as_object().unwrap() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let golden = golden.join(format!("tokenizer-{family}"));
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(&golden).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        let mut config = config.clone();
        for (key, size) in [
            ("hidden_size", 4),
            ("num_hidden_layers", 1),
            ("num_attention_heads", 2),
            ("intermediate_size", 6),
            ("max_position_embeddings", 40),
            ("type_vocab_size", 1),
        ] {
            config[key] = size.into();
        }
        fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let model = Pretrained::open_without_weights(folder.path()).unwrap();
        let expected = fs::read_to_string(golden.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        // the folder that is written has a tokenizer.json, which gives the same ids
        let written = folder.path().join("tokenizer.json");
        fs::write(&written, &model.tokenizer.json).unwrap();
        let again = Tokenizer::read(&written).unwrap();
        let texts = expected["texts"].as_array().unwrap();
        for (text, ids) in texts.iter().zip(expected["ids"].as_array().unwrap()) {
            let text = text.as_str().unwrap();
            assert_eq!(
                json!(model.tokenizer.encode(text, 40).unwrap().0),
                *ids,
                "{family}: {text:?}"
            );
            assert_eq!(json!(again.encode(text, 40).unwrap().0), *ids, "{family}: {text:?}");
        }
    }
}
