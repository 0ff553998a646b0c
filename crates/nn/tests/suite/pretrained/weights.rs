//! Parameters against the made-up values in every kind of file.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_nn::parameters::Parameters;
use dsokr_nn::pretrained::Pretrained;
use safetensors::Dtype;
use serde_json::json;

use super::folder::{Fixture, value, write_safetensors};

/// Asserts that the body of the artificial BERT has the documented layout.
fn assert_made(parameters: &Parameters, positions: usize, types: usize) {
    let d = 4;
    let ff = 6;
    let mut expected: BTreeMap<String, (Vec<usize>, Vec<f32>)> = BTreeMap::new();
    let mut table = |path: &str, shape: Vec<usize>, name: &str| {
        let values = (0..shape.iter().product()).map(|k| value(name, k)).collect();
        expected.insert(path.to_owned(), (shape, values));
    };
    table("tokens", vec![16, d], "embeddings.word_embeddings.weight");
    table("positions", vec![positions, d], "embeddings.position_embeddings.weight");
    table("types", vec![types, d], "embeddings.token_type_embeddings.weight");
    table("norm.gamma", vec![d], "embeddings.LayerNorm.weight");
    table("norm.beta", vec![d], "embeddings.LayerNorm.bias");
    for i in 0..2 {
        let path = format!("layers.{i}");
        let name = format!("encoder.layer.{i}");
        let norms = [("attention_norm", "attention.output"), ("feed_forward_norm", "output")];
        for (norm, part) in norms {
            let part = format!("{name}.{part}.LayerNorm");
            table(&format!("{path}.{norm}.gamma"), vec![d], &format!("{part}.weight"));
            table(&format!("{path}.{norm}.beta"), vec![d], &format!("{part}.bias"));
        }
    }
    for i in 0..2 {
        let name = |part: &str, end: &str| format!("encoder.layer.{i}.{part}.{end}");
        let dense = [
            ("output", "attention.output.dense", d, d),
            ("up", "intermediate.dense", d, ff),
            ("down", "output.dense", ff, d),
        ];
        let mut insert = |path: &str, inputs, outputs, at: &dyn Fn(usize, usize) -> f32| {
            let rows = (0..inputs).flat_map(|row| (0..outputs).map(move |column| (row, column)));
            let values = rows.map(|(row, column)| at(row, column)).collect();
            expected.insert(format!("layers.{i}.{path}.weight"), (vec![inputs, outputs], values));
        };
        for (path, part, inputs, outputs) in dense {
            // PyTorch's row is an output
            let weight = name(part, "weight");
            insert(path, inputs, outputs, &|row, column| value(&weight, column * inputs + row));
        }
        insert("qkv", d, 3 * d, &|row, column| {
            let part = ["query", "key", "value"][column / d];
            let weight = name(&format!("attention.self.{part}"), "weight");
            value(&weight, column % d * d + row)
        });
        let bias = |part: &str, size: usize| {
            let name = name(part, "bias");
            (0..size).map(move |k| value(&name, k)).collect::<Vec<f32>>()
        };
        for (path, part, _, outputs) in dense {
            let path = format!("layers.{i}.{path}.bias");
            expected.insert(path, (vec![outputs], bias(part, outputs)));
        }
        let three =
            ["query", "key", "value"].map(|part| bias(&format!("attention.self.{part}"), d));
        expected.insert(format!("layers.{i}.qkv.bias"), (vec![3 * d], three.concat()));
    }
    let paths: Vec<_> = expected.keys().collect();
    assert_eq!(parameters.keys().collect::<Vec<_>>(), paths);
    for (path, (shape, values)) in &expected {
        let parameter = &parameters[path];
        assert_eq!(&parameter.shape, shape, "{path}");
        assert_eq!(*parameter.values, *values, "{path}");
    }
}

#[test]
fn safetensors_of_every_type_give_the_body() {
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16] {
        let fixture = Fixture { dtype, ..Fixture::bert() };
        let (parameters, unused) = fixture.open().unwrap().parameters().unwrap();
        assert_made(&parameters, 8, 2);
        assert!(unused.is_empty(), "{unused:?}");
    }
}

#[test]
fn configuration_becomes_architecture() {
    let model = Fixture::bert().open().unwrap();
    let bert = model.architecture();
    assert_eq!((bert.vocabulary, bert.positions, bert.first_position, bert.types), (16, 8, 0, 2));
    assert_eq!((bert.layers, bert.width, bert.heads, bert.feed_forward), (2, 4, 2, 6));
    assert_eq!((bert.dropout, bert.attention_dropout, bert.inner_dropout), (0.1, 0.2, 0.0));
    assert_eq!((bert.epsilon, bert.longest()), (1e-12, 8));
    // what older files leave out
    let mut fixture = Fixture::bert();
    for key in ["hidden_act", "pad_token_id", "layer_norm_eps", "hidden_dropout_prob"] {
        fixture.set(key, json!(null));
    }
    assert_eq!(fixture.open().unwrap().architecture(), bert);
}

#[test]
fn robertas_positions_start_after_the_padding_token() {
    for family in ["roberta", "data2vec-text", "xlm-roberta", "camembert"] {
        let mut fixture = Fixture::roberta();
        fixture.set("model_type", family.into());
        let head = fixture.tensors["roberta.embeddings.LayerNorm.bias"].clone();
        fixture.tensors.insert("lm_head.layer_norm.bias".into(), head.clone());
        fixture.tensors.insert("classifier.out_proj.bias".into(), head.clone());
        fixture.tensors.insert("roberta.pooler.dense.bias".into(), head);
        let model = fixture.open().unwrap();
        assert_eq!((model.architecture().first_position, model.architecture().longest()), (2, 8));
        assert_eq!(model.architecture().padding, Some(1));
        assert!(model.check(8).is_ok());
        assert!(model.check(9).is_err());
        let (parameters, unused) = model.parameters().unwrap();
        assert_made(&parameters, 10, 1);
        let expected =
            ["classifier.out_proj.bias", "lm_head.layer_norm.bias", "roberta.pooler.dense.bias"];
        assert_eq!(unused, expected);
    }
}

fn with_pytorch_file(name: &str) -> (Fixture, Pretrained) {
    let fixture = Fixture::bert();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/pretrained");
    std::fs::copy(fixtures.join(name), fixture.file("pytorch_model.bin")).unwrap();
    let model = Pretrained::open(fixture.write_description()).unwrap();
    (fixture, model)
}

#[test]
fn pytorchs_zip_files_give_the_body() {
    // 16-bit floats; one tensor is a transposed view
    let (_made, model) = with_pytorch_file("half.bin");
    let (parameters, unused) = model.parameters().unwrap();
    assert_made(&parameters, 8, 2);
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn pytorchs_first_files_give_the_body() {
    // before the zip format, under the prefix `bert.`, with `gamma` and `beta`, and heads
    let (_made, model) = with_pytorch_file("legacy.bin");
    let (parameters, unused) = model.parameters().unwrap();
    assert_made(&parameters, 8, 2);
    let expected = [
        "bert.embeddings.position_ids",
        "bert.pooler.dense.bias",
        "bert.pooler.dense.weight",
        "cls.predictions.bias",
        "cls.predictions.decoder.weight",
        "cls.predictions.transform.LayerNorm.gamma",
        "cls.seq_relationship.weight",
    ];
    assert_eq!(unused, expected);
}

#[test]
fn safetensors_are_preferred() {
    let (fixture, _) = with_pytorch_file("half.bin");
    std::fs::write(fixture.file("pytorch_model.bin"), "not read").unwrap();
    assert_made(&fixture.open().unwrap().parameters().unwrap().0, 8, 2);
}

#[test]
fn shards_give_the_body() {
    let fixture = Fixture::bert();
    let names: Vec<_> = fixture.tensors.keys().cloned().collect();
    let mut map = serde_json::Map::new();
    for (shard, part) in names.chunks(14).enumerate() {
        let file = format!("model-{shard}.safetensors");
        let tensors =
            part.iter().map(|name| (name.clone(), fixture.tensors[name].clone())).collect();
        write_safetensors(&fixture.file(&file), Dtype::F32, &tensors);
        map.extend(part.iter().map(|name| (name.clone(), file.clone().into())));
    }
    let index = fixture.file("model.safetensors.index.json");
    std::fs::write(&index, json!({"weight_map": map}).to_string()).unwrap();
    let open = || Pretrained::open(fixture.write_description()).unwrap().parameters();
    assert_made(&open().unwrap().0, 8, 2);

    std::fs::remove_file(fixture.file("model-1.safetensors")).unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("model-1.safetensors"), "{error}");
    std::fs::copy(fixture.file("model-0.safetensors"), fixture.file("model-1.safetensors"))
        .unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("model-1.safetensors") && error.contains("is also in"), "{error}");
    let outside = json!({"weight_map": {"a": "../model-0.safetensors"}});
    for index_text in [outside.to_string(), "{}".into(), "[]".into()] {
        std::fs::write(&index, &index_text).unwrap();
        let error = open().unwrap_err().to_string();
        assert!(error.contains("model.safetensors.index.json"), "{error}");
    }
}

#[test]
fn prefixes_of_training_scripts_are_stripped() {
    for prefix in ["model.", "module.bert.", "0.auto_model."] {
        let mut fixture = Fixture::bert();
        let tensors = std::mem::take(&mut fixture.tensors);
        fixture.tensors =
            tensors.into_iter().map(|(name, t)| (format!("{prefix}{name}"), t)).collect();
        let outer = prefix.strip_suffix("bert.").unwrap_or("");
        let head = format!("{outer}cls.predictions.bias");
        fixture.tensors.insert(head.clone(), (vec![1], vec![0.0]));
        let (parameters, unused) = fixture.open().unwrap().parameters().unwrap();
        assert_made(&parameters, 8, 2);
        assert_eq!(unused, [head]);
    }
}

/// Heads of any task, such as those of ChemBERTa and ColBERT.
#[test]
fn tensors_beside_the_body_are_not_used() {
    let mut fixture = Fixture::roberta();
    for name in ["norm_mean", "regression.dense.bias", "linear.weight"] {
        fixture.tensors.insert(name.into(), (vec![2], vec![0.0; 2]));
    }
    let (parameters, unused) = fixture.open().unwrap().parameters().unwrap();
    assert_made(&parameters, 10, 1);
    assert_eq!(unused, ["linear.weight", "norm_mean", "regression.dense.bias"]);
    fixture.tensors.insert("roberta.linear.weight".into(), (vec![2], vec![0.0; 2]));
    let error = fixture.open().unwrap().parameters().unwrap_err().to_string();
    assert!(error.contains("1 (`roberta.linear.weight` [2]) unknown"), "{error}");
}

#[test]
fn encoders_that_are_berts_are_read_as_such() {
    let cases = [
        ("dpr", "question_encoder.bert_model.", "bert", "projection_dim", json!(0), json!(128)),
        ("ernie", "ernie.", "ernie", "use_task_id", json!(false), json!(true)),
    ];
    for (family, prefix, written, key, value, other) in cases {
        let mut fixture = Fixture::bert();
        fixture.set("model_type", family.into());
        fixture.set(key, value);
        let tensors = std::mem::take(&mut fixture.tensors);
        fixture.tensors =
            tensors.into_iter().map(|(name, t)| (format!("{prefix}{name}"), t)).collect();
        let model = fixture.open().unwrap();
        let (parameters, _) = model.parameters().unwrap();
        assert_made(&parameters, 8, 2);
        let target = tempfile::tempdir().unwrap();
        let again = target.path().join("again");
        model.write(&again, &parameters).unwrap();
        let config = std::fs::read_to_string(again.join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["model_type"], written);
        assert_eq!(Pretrained::open(&again).unwrap().parameters().unwrap().0, parameters);
        fixture.set(key, other.clone());
        let error = fixture.open().unwrap_err().to_string();
        assert!(error.contains(&format!("{key} = {other}: ")), "{error}");
    }
}
