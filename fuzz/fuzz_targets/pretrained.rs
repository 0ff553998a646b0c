//! Any bytes as a file of a pretrained encoder; the first byte says which. A tokenizer that is read gives the
//! same tokens when it is written and read again, no more than are allowed, and none beyond its vocabulary.

#![no_main]

use std::fs;

use dsokr_fuzz::{choose, file, folder};
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig, Tokenizer};
use libfuzzer_sys::fuzz_target;

const CONFIG: &str = r#"{"model_type": "bert", "vocab_size": 16, "hidden_size": 4, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 6, "max_position_embeddings": 8, "type_vocab_size": 2,
    "hidden_act": "gelu", "pad_token_id": 0, "layer_norm_eps": 1e-12}"#;

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nc\n##a\n##c\nthe\n";

const TEXTS: [&str; 4] =
    ["", "the cat, aac", "Ünïcode \u{65e5}\u{672c}\u{0}\u{300}", "a a a a a a a a a a a a"];

/// Files that are fuzzed.
const NAMES: [&str; 13] = [
    "tokenizer.json",
    "vocab.txt",
    "config.json",
    "model.safetensors",
    "pytorch_model.bin",
    "tokenizer_config.json",
    "added_tokens.json",
    "sentence-transformers.json",
    "modules.json",
    "pooling/config.json",
    "dense/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// Files of a model of sentence-transformers.
const SENTENCES: [&str; 5] = [
    "modules.json",
    "pooling/config.json",
    "dense/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// The other files of such a model.
const MODULES: [(&str, &str); 3] = [
    (
        "modules.json",
        r#"[{"path": "", "type": "sentence_transformers.models.Transformer"},
            {"path": "pooling", "type": "sentence_transformers.models.Pooling"},
            {"path": "dense", "type": "sentence_transformers.models.Dense"}]"#,
    ),
    ("pooling/config.json", r#"{"pooling_mode": ["cls", "mean"], "include_prompt": false}"#),
    ("dense/config.json", r#"{"in_features": 8, "out_features": 2}"#),
];

/// Tokens of a text, at most.
const LONGEST: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let Some((name, bytes)) = choose(bytes, &NAMES) else { return };
    for old in NAMES {
        let _ = fs::remove_file(folder().join(old));
    }
    file("config.json", CONFIG);
    file("vocab.txt", VOCABULARY);
    if SENTENCES.contains(&name) {
        for (module, text) in MODULES {
            file(module, text);
        }
    }
    file(name, bytes);
    if name == "tokenizer.json" {
        if let Ok(tokenizer) = Tokenizer::read(&folder().join(name)) {
            check(&tokenizer);
        }
        return;
    }
    let Ok(model) = Pretrained::open_without_weights(folder()) else { return };
    check(&model.tokenizer);
    let settings = serde_json::json!({ "folder": folder() });
    let settings: PretrainedConfig = serde_json::from_value(settings).unwrap();
    if settings.check(&model).is_ok() {
        let reader = settings.reader(&model);
        if let Ok((ids, _)) = reader.encode("the cat, aac") {
            assert!(ids.len() <= reader.max_length());
        }
    }
    let Ok(model) = Pretrained::open(folder()) else { return };
    if let Ok((parameters, _)) = model.parameters() {
        assert!(parameters.iter().all(|(_, parameter)| {
            parameter.values.len() == parameter.shape.iter().product::<usize>()
                && parameter.values.iter().all(|value| value.is_finite())
        }));
    }
});

fn check(tokenizer: &Tokenizer) {
    let written = Tokenizer::read(&file("again.json", &tokenizer.json)).unwrap();
    for text in TEXTS {
        let Ok((ids, cut)) = tokenizer.encode(text, LONGEST) else { continue };
        assert!(ids.len() <= LONGEST, "{} tokens", ids.len());
        assert!(ids.iter().all(|&id| (id as usize) < tokenizer.vocabulary()), "{ids:?}");
        assert_eq!(written.encode(text, LONGEST).unwrap(), (ids, cut));
    }
}
