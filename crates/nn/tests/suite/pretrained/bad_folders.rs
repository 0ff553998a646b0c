//! Every broken folder gives an error that names the file, its content and what is allowed.

use std::collections::BTreeMap;

use dsokr_nn::Error;
use serde_json::{Value, json};

use super::folder::Fixture;

/// Opens the folder and reads the weights, which must fail with all the parts in the message.
fn refused(fixture: &Fixture, parts: &[&str]) {
    let error = fixture.open().and_then(|model| model.parameters()).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{error}: no {part:?}");
    }
    assert!(error.contains(&fixture.path().display().to_string()), "{error}: no path");
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let cases: [(&str, Value, &[&str]); 26] = [
        (
            "model_type",
            json!(null),
            &["model_type = nothing", "older", "`\"model_type\": \"bert\"`"],
        ),
        ("model_type", json!("deberta"), &["model_type = \"deberta\"", "\"modernbert\""]),
        ("model_type", json!("gpt2"), &["model_type = \"gpt2\"", "\"xlm-roberta\""]),
        ("model_type", json!("qwen3_moe"), &["model_type = \"qwen3_moe\"", "kind \"features\""]),
        ("position_embedding_type", json!("alibi"), &["\"alibi\"", "kind \"features\""]),
        ("hidden_act", json!("prelu"), &["hidden_act = \"prelu\"", "\"gelu\"", "\"relu\""]),
        ("hidden_act", json!(["relu"]), &["hidden_act = [\"relu\"]", "\"gelu\""]),
        ("position_embedding_type", json!("relative_key"), &["relative_key", "\"absolute\""]),
        ("is_decoder", json!(true), &["is_decoder = true", "false"]),
        ("add_cross_attention", json!(true), &["add_cross_attention = true", "false"]),
        ("is_decoder", json!("no"), &["is_decoder = \"no\"", "false"]),
        ("pruned_heads", json!({"0": [1]}), &["pruned_heads", "nothing"]),
        ("quantization_config", json!({"bits": 4}), &["quantization_config", "nothing"]),
        ("vocab_size", json!(null), &["vocab_size = nothing", "a whole number"]),
        ("hidden_size", json!("4"), &["hidden_size = \"4\"", "a whole number"]),
        ("hidden_size", json!(4.5), &["hidden_size = 4.5", "a whole number"]),
        ("intermediate_size", json!(0), &["intermediate_size = 0", "from 1"]),
        ("type_vocab_size", json!(-1), &["type_vocab_size = -1", "from 1"]),
        ("num_hidden_layers", json!(1_000_000), &["num_hidden_layers = 1000000", "to 1000"]),
        ("max_position_embeddings", json!(1u64 << 40), &["max_position_embeddings", "to 2147"]),
        ("num_attention_heads", json!(3), &["num_attention_heads = 3", "hidden_size = 4"]),
        ("layer_norm_eps", json!(0), &["layer_norm_eps = 0", "(0, 1)"]),
        ("layer_norm_eps", json!("1e-12"), &["layer_norm_eps", "a number"]),
        ("hidden_dropout_prob", json!(1.0), &["hidden_dropout_prob = 1.0", "[0, 1)"]),
        ("hidden_dropout_prob", json!([]), &["hidden_dropout_prob = []", "a number"]),
        ("attention_probs_dropout_prob", json!(-0.1), &["= -0.1", "[0, 1)"]),
    ];
    for (key, value, parts) in cases {
        let mut fixture = Fixture::bert();
        fixture.set(key, value);
        refused(&fixture, parts);
        refused(&fixture, &["config.json", key]);
    }
    let mut roberta = Fixture::roberta();
    roberta.set("max_position_embeddings", json!(2));
    refused(&roberta, &["max_position_embeddings = 2", "at least 3"]);
    roberta.set("pad_token_id", json!("1"));
    refused(&roberta, &["pad_token_id = \"1\"", "a whole number"]);
    roberta.config["pad_token_id"] = Value::Null;
    refused(&roberta, &["pad_token_id = null", "RoBERTa", "is 1"]);
}

#[test]
fn files_that_are_missing_or_broken_are_named() {
    let without = |name: &str| {
        let fixture = Fixture::bert();
        fixture.write();
        std::fs::remove_file(fixture.file(name)).unwrap();
        let model = dsokr_nn::pretrained::Pretrained::open(fixture.path());
        model.unwrap_err().to_string()
    };
    assert!(without("config.json").contains("config.json"));
    let error = without("vocab.txt");
    assert!(error.contains("neither tokenizer.json nor vocab.txt"), "{error}");
    let error = without("model.safetensors");
    assert!(error.contains("none of model.safetensors"), "{error}");
    assert!(error.contains("pytorch_model.bin"), "{error}");

    // files that are not read, and what makes those that are
    let cases = [
        ("tf_model.h5", "from_tf=True"),
        ("flax_model.msgpack", "from_flax=True"),
        ("model.onnx", "save_pretrained"),
        ("model.fp16.safetensors", "rename model.fp16.safetensors to model.safetensors"),
        ("pytorch_model.fp16.bin", "rename pytorch_model.fp16.bin to pytorch_model.bin"),
    ];
    for (name, says) in cases {
        let other = Fixture::bert();
        std::fs::write(other.file(name), "").unwrap();
        let error = dsokr_nn::pretrained::Pretrained::open(other.write_description());
        let error = error.unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(says), "{error}");
    }
    let shard = Fixture::bert();
    std::fs::write(shard.file("model.fp16-00001-of-00002.safetensors"), "").unwrap();
    let error = dsokr_nn::pretrained::Pretrained::open(shard.write_description()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("none of model.safetensors") && !error.contains("rename"), "{error}");
    for name in ["sentencepiece.bpe.model", "spiece.model", "spm.model", "tokenizer.model"] {
        let mut pieces = Fixture::roberta();
        pieces.set("model_type", "xlm-roberta".into());
        pieces.files = BTreeMap::from([(name, "pieces".to_owned())]);
        refused(&pieces, &["no tokenizer", name, "AutoTokenizer", "save_pretrained"]);
    }
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
    for name in ["model.safetensors", "pytorch_model.bin"] {
        let absent = Fixture::bert();
        std::fs::write(absent.write_description().join(name), pointer).unwrap();
        let model = dsokr_nn::pretrained::Pretrained::open(absent.path()).unwrap();
        let error = model.parameters().unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("git lfs pull"), "{error}");
    }
    let mut absent = Fixture::bert();
    absent.files.insert("tokenizer.json", pointer.into());
    refused(&absent, &["tokenizer.json", "git lfs pull"]);
    let adapter = Fixture::bert();
    let base = json!({"base_model_name_or_path": "owner/base"}).to_string();
    std::fs::write(adapter.file("adapter_config.json"), base).unwrap();
    // alone, with the configuration of the model, and with its weights
    for folder in [Fixture::path, Fixture::write_description, Fixture::write] {
        let error = dsokr_nn::pretrained::Pretrained::open(folder(&adapter));
        let error = error.unwrap_err().to_string();
        for part in ["adapter_config.json", "an adapter of owner/base", "merge_and_unload()"] {
            assert!(error.contains(part), "{error}");
        }
    }

    // each file overwritten by something else
    let cases: [(&'static str, &str, &[&str]); 9] = [
        ("config.json", "{\"model_type\": ", &["config.json", "JSON", "line 1"]),
        ("config.json", "[1]", &["config.json", "not a JSON object"]),
        ("tokenizer.json", "{}", &["tokenizer.json", "not a tokenizer"]),
        // at which the library panics
        ("tokenizer.json", "{\"decoder\": {\"type\"", &["tokenizer.json", "not a tokenizer"]),
        (
            "tokenizer.json",
            "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"?\"}}",
            &["tokenizer.json", "not a tokenizer"],
        ),
        (
            "tokenizer.json",
            "{\"model\": {\"type\": \"BPE\", \"continuing_subword_prefix\": \"###\",
              \"vocab\": {\"a\": 0, \"c\": 1, \"ac\": 2}, \"merges\": [[\"a\", \"c\"]]}}",
            &["tokenizer.json", "the merge [\"a\",\"c\"] makes no token"],
        ),
        ("tokenizer_config.json", "no", &["tokenizer_config.json", "JSON"]),
        (
            "tokenizer_config.json",
            "{\"do_lower_case\": 1}",
            &["do_lower_case = 1", "true or false"],
        ),
        ("tokenizer_config.json", "{\"cls_token\": 1}", &["cls_token = 1", "string"]),
    ];
    for (name, text, parts) in cases {
        let fixture = Fixture::bert();
        fixture.write();
        std::fs::write(fixture.file(name), text).unwrap();
        let error = dsokr_nn::pretrained::Pretrained::open(fixture.path()).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{error}: no {part:?}");
        }
        assert!(error.contains(&fixture.path().display().to_string()), "{error}");
    }
    let fixture = Fixture::bert();
    fixture.write();
    std::fs::write(fixture.file("vocab.txt"), b"[PAD]\n\xff\xfe").unwrap();
    let error = dsokr_nn::pretrained::Pretrained::open(fixture.path()).unwrap_err().to_string();
    assert!(error.contains("vocab.txt") && error.contains("UTF-8"), "{error}");
}

#[test]
fn truncated_weights_are_refused() {
    let half = include_bytes!("half.bin");
    let legacy = include_bytes!("legacy.bin");
    let fixture = Fixture::bert();
    fixture.write();
    let whole = std::fs::read(fixture.file("model.safetensors")).unwrap();
    std::fs::remove_file(fixture.file("model.safetensors")).unwrap();
    let files = [
        ("model.safetensors", whole.as_slice()),
        ("pytorch_model.bin", half.as_slice()),
        ("pytorch_model.bin", legacy.as_slice()),
    ];
    for (name, bytes) in files {
        for length in [0, 5, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(fixture.file(name), &bytes[..length]).unwrap();
            let model = dsokr_nn::pretrained::Pretrained::open(fixture.path()).unwrap();
            let error = model.parameters().unwrap_err();
            assert!(matches!(error, Error::Core(_)), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
        std::fs::remove_file(fixture.file(name)).unwrap();
    }
}

#[test]
fn tensors_of_another_architecture_are_named_with_their_shapes() {
    let mut missing = Fixture::bert();
    missing.tensors.remove("encoder.layer.1.attention.self.key.bias").unwrap();
    refused(
        &missing,
        &[
            "model.safetensors",
            "1 (`encoder.layer.1.attention.self.key.bias` [4]) missing",
            "0 unknown",
        ],
    );
    let mut unknown = Fixture::bert();
    unknown.tensors.insert("encoder.layer.0.adapter.weight".into(), (vec![2, 3], vec![0.0; 6]));
    refused(&unknown, &["0 missing; 1 (`encoder.layer.0.adapter.weight` [2, 3]) unknown"]);

    // a file with a layer more than the configuration says
    let mut more = Fixture::bert();
    more.set("num_hidden_layers", json!(1));
    refused(&more, &["16 (`encoder.layer.1.", "…) unknown"]);

    // DistilBERT's names: all are listed in the error's value
    let mut other = Fixture::bert();
    other.tensors = std::mem::take(&mut other.tensors)
        .into_iter()
        .map(|(name, tensor)| {
            let name = name.replace("encoder.layer", "transformer.layer");
            (name.replace("attention.self.query", "attention.q_lin"), tensor)
        })
        .collect();
    let error = other.open().unwrap().parameters().unwrap_err();
    let Error::Names { missing, unknown, .. } = &error else { panic!("{error}") };
    assert_eq!((missing.len(), unknown.len()), (32, 32), "{error}");

    // without the table of tokens there is no prefix to go by
    let mut none = Fixture::roberta();
    none.tensors.remove("roberta.embeddings.word_embeddings.weight");
    refused(&none, &["`embeddings.word_embeddings.weight` [16, 4]", "missing", "unknown"]);
    let mut two = Fixture::bert();
    let table = two.tensors["embeddings.word_embeddings.weight"].clone();
    two.tensors.insert("teacher.embeddings.word_embeddings.weight".into(), table);
    refused(&two, &["several encoders", "`teacher.embeddings"]);
    let mut both = Fixture::bert();
    let bias = both.tensors["embeddings.LayerNorm.bias"].clone();
    both.tensors.insert("embeddings.LayerNorm.beta".into(), bias);
    refused(&both, &["embeddings.LayerNorm.b", "old and its new name"]);
}

#[test]
fn wrong_shapes_types_and_values_are_named() {
    let mut shape = Fixture::bert();
    shape.set("vocab_size", json!(17));
    refused(&shape, &["`embeddings.word_embeddings.weight`", "[16, 4]", "[17, 4]"]);
    let mut transposed = Fixture::bert();
    transposed.tensors.get_mut("encoder.layer.0.output.dense.weight").unwrap().0 = vec![6, 4];
    refused(&transposed, &["`encoder.layer.0.output.dense.weight`", "[6, 4]", "[4, 6]"]);
    let whole = Fixture { dtype: safetensors::Dtype::I32, ..Fixture::bert() };
    refused(&whole, &["model.safetensors", "is I32", "F64, F32, F16 or BF16"]);
    for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for dtype in [safetensors::Dtype::F32, safetensors::Dtype::BF16] {
            let mut fixture = Fixture { dtype, ..Fixture::bert() };
            let name = "encoder.layer.1.intermediate.dense.weight";
            fixture.tensors.get_mut(name).unwrap().1[13] = broken;
            refused(&fixture, &[name, "not finite", "element 13"]);
        }
    }
}

#[test]
fn lengths_out_of_range_are_refused_with_both_values() {
    let model = Fixture::bert();
    let model = model.open().unwrap();
    assert!(model.check(3).is_ok() && model.check(8).is_ok());
    let error = model.check(9).unwrap_err().to_string();
    assert!(error.contains("max_length = 9") && error.contains("at most 8"), "{error}");
    let error = model.check(2).unwrap_err().to_string();
    assert!(error.contains("max_length = 2") && error.contains("at least 3"), "{error}");
}
