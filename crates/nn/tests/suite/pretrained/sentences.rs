//! Folders of sentence-transformers against what its `encode` and `encode_query` return (benches/encoder_folders.py).

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor};
use dsokr_core::random::generator;
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};
use dsokr_nn::{Encoder, Pass, Pooling, Start, TokenIds, Transformer};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::folder::write_files;
use super::golden::{assert_close, strings};
use crate::host;

const FOLDERS: [&str; 6] = [
    "sentences-all-modes",
    "sentences-default-prompt",
    "sentences-dense",
    "sentences-first",
    "sentences-last",
    "sentences-without-prompt",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn config(folder: &Path, prompt: Option<&str>) -> PretrainedConfig {
    let config = json!({ "folder": folder, "prompt": prompt });
    serde_json::from_value(config).unwrap()
}

/// Returns the encoder with a head onto three coordinates.
fn encoder(config: &PretrainedConfig, model: &Pretrained) -> Transformer {
    let offset = [0.5, -0.25, 0.0];
    let random = &mut generator(0, "head", 0);
    let start = Start { offset: &offset, random, device: &Device::flex() };
    config.init(model, start).unwrap().0
}

fn ids(config: &PretrainedConfig, model: &Pretrained, texts: &[String]) -> Vec<TokenIds> {
    let reader = config.reader(model);
    texts.iter().map(|text| reader.encode(text).unwrap().0.into()).collect()
}

fn embedded(encoder: &Transformer, ids: &[TokenIds]) -> Tensor<2> {
    let texts: Vec<&[u32]> = ids.iter().map(|ids| &**ids).collect();
    encoder.embed(&texts, Pass::Evaluate)
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

/// Returns a copy of a folder, to be changed.
fn copied(name: &str) -> TempDir {
    let target = tempfile::tempdir().unwrap();
    copy(&folder(name), target.path());
    target
}

/// Replaces a text, which must be there, in a file of a folder.
fn replace(folder: &Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// Returns the vectors of texts by the model of a folder.
fn vectors(folder: &Path, texts: &[String]) -> Vec<f32> {
    let model = Pretrained::open(folder).unwrap();
    let config = config(folder, None);
    host(embedded(&encoder(&config, &model), &ids(&config, &model, texts)))
}

fn expected(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap()
}

fn numbers(rows: &Value) -> Vec<f32> {
    let rows = rows.as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    rows.map(|value| value.as_f64().unwrap() as f32).collect()
}

#[test]
fn vectors_are_those_of_sentence_transformers() {
    for name in FOLDERS {
        let folder = folder(name);
        let expected = expected(&folder);
        let texts = strings(&expected["texts"]);
        let model = Pretrained::open(&folder).unwrap();
        for (prompt, key) in [(Some(""), "plain"), (None, "query")] {
            let config = config(&folder, prompt);
            let ids = ids(&config, &model, &texts);
            if prompt.is_none() {
                assert_eq!(config.reader(&model).prompt(), expected["prompt"], "{name}");
                let tokens: Vec<Vec<u32>> = ids.iter().map(|ids| ids.to_vec()).collect();
                assert_eq!(json!(tokens), expected["ids"], "{name}");
            }
            let encoder = encoder(&config, &model);
            let vectors = host(embedded(&encoder, &ids));
            assert_close(&vectors, &numbers(&expected[key]), 1e-5, &format!("{name}, {key}"));
        }
    }
}

/// A run keeps what the folder says; its weights are those of the run.
#[test]
fn a_run_reads_texts_and_vectors_as_the_folder_did() {
    for name in FOLDERS {
        let folder = folder(name);
        let texts = strings(&expected(&folder)["texts"]);
        let model = Pretrained::open(&folder).unwrap();
        let config = config(&folder, None);
        let original = encoder(&config, &model);
        let run = tempfile::tempdir().unwrap();
        write_files(&model, run.path());
        let kept = Pretrained::open_kept(run.path()).unwrap();
        assert_eq!(config.reader(&kept).prompt(), config.reader(&model).prompt());
        let tokens = ids(&config, &kept, &texts);
        assert_eq!(format!("{tokens:?}"), format!("{:?}", ids(&config, &model, &texts)));
        let parameters = dsokr_nn::parameters::collect(&original);
        let read = dsokr_nn::parameters::restore(encoder(&config, &kept), parameters).unwrap();
        assert_eq!(host(embedded(&read, &tokens)), host(embedded(&original, &tokens)), "{name}");
    }
}

#[test]
fn an_exported_folder_returns_the_coordinates() {
    for name in FOLDERS {
        let folder = folder(name);
        let texts = strings(&expected(&folder)["texts"]);
        let model = Pretrained::open(&folder).unwrap();
        let settings = config(&folder, None);
        let encoder_before = encoder(&settings, &model);
        let tokens = ids(&settings, &model, &texts);
        let coordinates =
            encoder_before.forward(&tokens.iter().collect::<Vec<_>>(), Pass::Evaluate);
        let target = tempfile::tempdir().unwrap();
        let exported = target.path().join("exported");
        let reader = settings.reader(&model);
        model.export(&exported, &encoder_before, &reader, false).unwrap();

        let model = Pretrained::open(&exported).unwrap();
        let settings = config(&exported, None);
        let tokens = ids(&settings, &model, &texts);
        let vectors = embedded(&encoder(&settings, &model), &tokens);
        assert_close(&host(vectors), &host(coordinates), 1e-5, name);
    }
}

#[test]
fn a_pooling_that_is_named_reads_the_transformer_alone() {
    let folder = folder("sentences-dense");
    let model = Pretrained::open(&folder).unwrap();
    let config = PretrainedConfig { pooling: Some(Pooling::Mean), ..config(&folder, Some("")) };
    let texts = strings(&expected(&folder)["texts"]);
    let tokens = ids(&config, &model, &texts);
    let slices: Vec<&[u32]> = tokens.iter().map(|ids| &**ids).collect();
    let (body, _) = model.body(&Device::flex()).unwrap();
    let pooled = host(body.pooled(&slices, Pooling::Mean, Pass::Evaluate));
    assert_eq!(host(embedded(&encoder(&config, &model), &tokens)), pooled);
}

#[test]
fn what_is_not_supported_is_refused_by_file_and_key() {
    // a file, what is replaced in it, and what the message says
    let cases = [
        ("modules.json", "models.Dense", "models.LSTM", &["modules.json", "LSTM", "Normalize"][..]),
        (
            "modules.json",
            "models.Transformer",
            "models.StaticEmbedding",
            &["type = ", "StaticEmbedding", "kind \"features\""],
        ),
        ("modules.json", "sentence_transformers.models.Dense", "custom.Dense", &["custom.Dense"]),
        ("modules.json", "1_Pooling", "../1_Pooling", &["path = \"../1_Pooling\""]),
        ("modules.json", "models.Pooling", "models.Dense", &["Transformer, Dense", "a Pooling"]),
        (
            "1_Pooling/config.json",
            "\"pooling_mode_max_tokens\"",
            "\"pooling_mode_cross\"",
            &["pooling_mode_cross = true", "pooling_mode_lasttoken"],
        ),
        (
            "1_Pooling/config.json",
            "\"pooling_mode_cls_token\": false",
            "\"pooling_mode\": \"sum\"",
            &["pooling_mode = \"sum\"", "weightedmean"],
        ),
        ("1_Pooling/config.json", "8", "9", &["in_features = 24", "27"]),
        ("2_Dense/config.json", "24", "25", &["2_Dense", "in_features = 25", "24"]),
        (
            "2_Dense/config.json",
            "activation.Tanh",
            "activation.Softplus",
            &["activation_function", "Softplus", "GELU"],
        ),
        (
            "2_Dense/config.json",
            "\"bias\"",
            "\"use_residual\": true, \"bias\"",
            &["use_residual = true: false"],
        ),
        (
            "2_Dense/config.json",
            "\"bias\"",
            "\"module_input_name\": \"token_embeddings\", \"bias\"",
            &["module_input_name", "sentence_embedding"],
        ),
        ("1_Pooling/config.json", "8", "18446744073709551615", &["word_embedding_dimension"]),
        ("1_Pooling/config.json", "8", "2147483647", &["width 2147483647 × 3", "2147483647"]),
        ("sentence_bert_config.json", "null", "\"long\"", &["max_seq_length = \"long\""]),
        ("sentence_bert_config.json", "null", "0", &["max_seq_length = 0", "from 1"]),
        ("sentence_bert_config.json", "null", "-1", &["max_seq_length = -1", "from 1"]),
        ("sentence_bert_config.json", "null", "7.9", &["max_seq_length = 7.9", "from 1"]),
        (
            "sentence_bert_config.json",
            "null",
            "null, \"query_length\": 5",
            &["query_length = 5: null"],
        ),
        (
            "sentence_bert_config.json",
            "null",
            "null, \"processing_kwargs\": {\"text\": {\"max_length\": 4}}",
            &["processing_kwargs = {"],
        ),
        (
            "sentence_bert_config.json",
            "null",
            "null, \"query_expansion\": {\"strategy\": \"fixed\", \"length\": 8}",
            &["query_expansion"],
        ),
        (
            "sentence_bert_config.json",
            "null",
            "null, \"tokenizer_args\": {\"do_lower_case\": true}",
            &["tokenizer_args"],
        ),
        (
            "sentence_bert_config.json",
            "null",
            "null, \"model_kwargs\": {\"dtype\": \"bfloat16\"}",
            &["model_kwargs"],
        ),
        (
            "sentence_bert_config.json",
            "null",
            "null, \"modality_config\": {\"message\": {\"method\": \"forward\", \
             \"method_output_name\": \"last_hidden_state\"}}",
            &["modality_config", "only texts"],
        ),
        (
            "tokenizer_config.json",
            "{",
            "{\"truncation_side\": \"left\",",
            &["truncation_side = \"left\"", "right"],
        ),
        (
            "tokenizer.json",
            "\"truncation\": null",
            "\"truncation\": {\"direction\": \"Left\", \"max_length\": 4, \"strategy\": \
             \"LongestFirst\", \"stride\": 0}",
            &["tokenizer.json", "direction = \"Left\""],
        ),
        (
            "config_sentence_transformers.json",
            "\"query\"}",
            "\"task\"}",
            &["default_prompt_name = \"task\"", "\"passage\""],
        ),
        (
            "config_sentence_transformers.json",
            "\"query\"}",
            "\"query\", \"truncate_dim\": 4}",
            &["truncate_dim = 4: null", "whole vectors"],
        ),
    ];
    for (file, from, to, says) in cases {
        let target = copied("sentences-dense");
        replace(target.path(), file, from, to);
        let error = Pretrained::open(target.path()).unwrap_err().to_string();
        for part in says {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

/// Settings that say nothing, as the library writes them.
#[test]
fn empty_settings_are_read() {
    let target = copied("sentences-dense");
    let settings = json!({
        "max_seq_length": 9, "processing_kwargs": {}, "query_length": null, "model_args": {},
        "tokenizer_args": {"trust_remote_code": true}, "unpad_inputs": false,
    });
    fs::write(target.path().join("sentence_bert_config.json"), settings.to_string()).unwrap();
    let prompts = json!({"prompts": {"query": ""}, "truncate_dim": null}).to_string();
    fs::write(target.path().join("config_sentence_transformers.json"), prompts).unwrap();
    let model = Pretrained::open(target.path()).unwrap();
    assert_eq!(config(target.path(), None).max_length(&model), 9);
}

/// `encode` drops nothing.
#[test]
fn a_layer_of_dropout_changes_no_vector() {
    let original = folder("sentences-dense");
    let target = copied("sentences-dense");
    let path = target.path().join("modules.json");
    let mut modules: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let class = "sentence_transformers.models.Dropout";
    let dropout = json!({"idx": 9, "name": "9", "path": "9_Dropout", "type": class});
    modules.as_array_mut().unwrap().insert(2, dropout);
    fs::write(&path, modules.to_string()).unwrap();
    let texts = strings(&expected(&original)["texts"]);
    assert_eq!(vectors(target.path(), &texts), vectors(&original, &texts));
}

#[test]
fn prompts_that_are_not_read_are_known() {
    let target = copied("sentences-dense");
    let unused = |prompts: Value| {
        let settings = json!({ "prompts": prompts }).to_string();
        fs::write(target.path().join("config_sentence_transformers.json"), settings).unwrap();
        let model = Pretrained::open(target.path()).unwrap();
        model.sentences.unwrap().unused_prompts().join(", ")
    };
    let others = json!({"s2p_query": "a", "query": "", "document": "b", "s2s_query": "c"});
    assert_eq!(unused(others), "s2p_query, s2s_query");
    assert_eq!(unused(json!({"s2p_query": "a", "query": "b"})), "");
    assert_eq!(unused(json!({"query": "", "document": "", "other": ""})), "");
}

/// A table of such a size would need 200 GB; the file has a smaller one.
#[test]
fn sizes_of_dense_layers_are_those_of_their_weights() {
    let target = copied("sentences-dense");
    let file = "2_Dense/config.json";
    replace(target.path(), file, "\"out_features\": 5", "\"out_features\": 2147483647");
    let model = Pretrained::open(target.path()).unwrap();
    let random = &mut generator(0, "head", 0);
    let start = Start { offset: &[0.5], random, device: &Device::flex() };
    let error = config(target.path(), None).init(&model, start).unwrap_err().to_string();
    assert!(error.contains("`linear.bias` has shape [5], the model has [2147483647]"), "{error}");
}

/// What a run keeps is bounded as what it was made of.
#[test]
fn kept_sizes_that_cannot_be_are_refused() {
    let kept = |change: &dyn Fn(&mut Value)| {
        let model = Pretrained::open(&folder("sentences-dense")).unwrap();
        let run = tempfile::tempdir().unwrap();
        write_files(&model, run.path());
        let kept = run.path().join("sentence-transformers.json");
        let mut json: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
        change(&mut json);
        fs::write(kept, json.to_string()).unwrap();
        Pretrained::open_without_weights(run.path())
    };
    assert!(kept(&|_| {}).is_ok());
    for size in [0, 1u64 << 40] {
        let error = kept(&|json| json["layers"][0]["dense"]["outputs"] = size.into());
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("vectors of width {size}")), "{error}");
    }
    // former versions put the default prompt before queries that have none, and so did the run
    let former = kept(&|json| {
        json["prompts"] = json!({"passage": "a b"});
        json["default_prompt"] = "passage".into();
    });
    assert_eq!(former.unwrap().sentences.unwrap().prompt(), "a b");
}

/// Where the pooling does not say the width of vectors, the model does.
#[test]
fn layers_that_do_not_fit_to_the_model_are_refused() {
    let target = copied("sentences-dense");
    let change = |file: &str, from: &str, to: &str| replace(target.path(), file, from, to);
    change("1_Pooling/config.json", "\"word_embedding_dimension\"", "\"of_version_1\"");
    assert!(Pretrained::open(target.path()).is_ok());
    change("2_Dense/config.json", "24", "16");
    let error = Pretrained::open(target.path()).unwrap_err().to_string();
    assert!(error.contains("in_features = 16: 24"), "{error}");
    change("2_Dense/config.json", "16", "18");
    change("1_Pooling/config.json", "of_version_1\": 8", "word_embedding_dimension\": 6");
    let error = Pretrained::open(target.path()).unwrap_err().to_string();
    assert!(error.contains("of width 6: the model's have 8"), "{error}");
}

/// First versions of the library put the transformer into a folder below the model's.
#[test]
fn a_transformer_in_a_folder_of_its_own_gives_the_same_vectors() {
    let original = folder("sentences-first");
    let target = copied("sentences-first");
    let below = target.path().join("0_Transformer");
    fs::create_dir(&below).unwrap();
    for name in [
        "config.json",
        "model.safetensors",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ] {
        fs::rename(target.path().join(name), below.join(name)).unwrap();
    }
    replace(target.path(), "modules.json", "\"path\": \"\"", "\"path\": \"0_Transformer\"");
    let texts = strings(&expected(&original)["texts"]);
    assert_eq!(vectors(target.path(), &texts), vectors(&original, &texts));

    for folder in [target.path(), &original] {
        let model = Pretrained::open(folder).unwrap();
        assert_eq!(config(folder, None).max_length(&model), 7);
    }

    // neither part is overwritten
    let model = Pretrained::open(target.path()).unwrap();
    let settings = config(target.path(), None);
    let encoder = encoder(&settings, &model);
    for folder in [target.path(), &below] {
        let written = model.export(folder, &encoder, &settings.reader(&model), false);
        let error = written.unwrap_err().to_string();
        assert!(error.contains("write to a different one"), "{error}");
    }
}
