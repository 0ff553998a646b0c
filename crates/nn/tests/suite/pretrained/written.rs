//! Folders that are written back are what was read, and transformers reads them.

use std::collections::BTreeMap;

use dsokr_nn::parameters::Parameters;
use dsokr_nn::pretrained::Pretrained;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::folder::{Fixture, value, write_files};

#[test]
fn a_body_comes_back_in_the_same_layout() {
    let mut fixture = Fixture::bert();
    fixture.set("architectures", json!(["BertForMaskedLM"]));
    fixture.set("torch_dtype", json!("float16"));
    fixture.set("id2label", json!({"0": "kept"}));
    fixture.dtype = safetensors::Dtype::F16;
    fixture.files.insert("special_tokens_map.json", "{\"kept\": true}".into());
    let pooler: Vec<f32> = (0..16).map(|k| value("pooler", k)).collect();
    fixture.tensors.insert("pooler.dense.weight".into(), (vec![4, 4], pooler));
    fixture.tensors.insert("cls.predictions.bias".into(), (vec![16], vec![0.5; 16]));
    let model = fixture.open().unwrap();
    let (parameters, _) = model.parameters().unwrap();
    let target = tempfile::tempdir().unwrap();
    let folder = target.path().join("deeper").join("folder");
    model.write(&folder, &parameters).unwrap();

    let again = Pretrained::open(&folder).unwrap();
    assert_eq!(again.architecture(), model.architecture());
    assert_eq!(again.parameters().unwrap(), (parameters, vec!["pooler.dense.weight".to_owned()]));

    // names, shapes and values of the file are those that were read, but for the head
    let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(metadata.metadata().as_ref().unwrap()["format"], "pt");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    fixture.tensors.remove("cls.predictions.bias");
    let written: BTreeMap<String, (Vec<usize>, Vec<f32>)> = file
        .iter()
        .map(|(name, view)| {
            assert_eq!(view.dtype(), safetensors::Dtype::F32);
            let floats = view.data().chunks_exact(4);
            let floats = floats.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            (name.to_owned(), (view.shape().to_vec(), floats))
        })
        .collect();
    assert!(written == fixture.tensors);

    let text = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    let mut expected = fixture.config.clone();
    expected["architectures"] = json!(["BertModel"]);
    expected["dtype"] = json!("float32");
    expected["torch_dtype"] = json!("float32");
    assert_eq!(config, expected);
    for name in ["vocab.txt", "special_tokens_map.json"] {
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), fixture.files[name]);
    }
    let tokenizer = std::fs::read_to_string(folder.join("tokenizer.json")).unwrap();
    assert_eq!(tokenizer, model.tokenizer.json);
}

#[test]
fn a_run_folder_without_the_weights_can_write_a_body() {
    let fixture = Fixture::roberta();
    let model = fixture.open().unwrap();
    let run = tempfile::tempdir().unwrap();
    write_files(&model, run.path());
    let (body, _) = model.parameters().unwrap();
    let described = Pretrained::open_without_weights(run.path()).unwrap();
    // weights may join the description
    described.write(run.path(), &body).unwrap();
    let (again, unused) = Pretrained::open(run.path()).unwrap().parameters().unwrap();
    assert_eq!((again, unused), (body, vec![]));
    let original = &fixture.files["tokenizer.json"];
    assert_eq!(&std::fs::read_to_string(run.path().join("tokenizer.json")).unwrap(), original);
}

/// Padding at the start of a text would move its positions.
#[test]
fn texts_are_padded_at_their_ends() {
    let mut fixture = Fixture::roberta();
    let mut file: Value = serde_json::from_str(&fixture.files["tokenizer.json"]).unwrap();
    file["padding"]["direction"] = "Left".into();
    fixture.files.insert("tokenizer.json", file.to_string());
    let settings = json!({"padding_side": "left", "model_max_length": 8});
    fixture.files.insert("tokenizer_config.json", settings.to_string());
    let model = fixture.open().unwrap();
    let (body, _) = model.parameters().unwrap();
    let target = tempfile::tempdir().unwrap();
    let folder = target.path().join("written");
    model.write(&folder, &body).unwrap();
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    assert_eq!(
        read("tokenizer_config.json"),
        json!({"padding_side": "right", "model_max_length": 8})
    );
    file["padding"] = Value::Null;
    assert_eq!(read("tokenizer.json"), file);
    let again = Pretrained::open(&folder).unwrap().tokenizer;
    assert_eq!(again.encode("ac a", 8).unwrap(), model.tokenizer.encode("ac a", 8).unwrap());
}

#[test]
fn a_body_that_does_not_fit_is_refused_before_anything_is_written() {
    let model = Fixture::bert();
    let model = model.open().unwrap();
    let (body, _) = model.parameters().unwrap();
    let target = tempfile::tempdir().unwrap();
    let folder = target.path().join("new");
    let mut missing = body.clone();
    missing.remove("layers.1.up.bias");
    let error = model.write(&folder, &missing).unwrap_err();
    assert!(error.to_string().contains("1 (`layers.1.up.bias` [6]) missing"), "{error}");
    let mut more = body.clone();
    more.insert("head.bias".into(), body["norm.beta"].clone());
    let error = model.write(&folder, &more).unwrap_err();
    assert!(error.to_string().contains("1 (`head.bias` [4]) unknown"), "{error}");
    let mut shape = body.clone();
    shape.get_mut("layers.0.up.weight").unwrap().shape = vec![6, 4];
    let error = model.write(&folder, &shape).unwrap_err();
    assert!(error.to_string().contains("has shape [6, 4], the model has [4, 6]"), "{error}");
    let mut short = body.clone();
    short.get_mut("tokens").unwrap().values = vec![0.0; 3].into();
    assert!(model.write(&folder, &short).is_err());
    let mut nan = body.clone();
    change(&mut nan, 7, f32::NAN);
    let error = model.write(&folder, &nan).unwrap_err();
    assert!(error.to_string().ends_with("not finite (element 7)"), "{error}");
    assert!(!folder.exists());
}

/// Changes a value of the table of token vectors.
fn change(body: &mut Parameters, element: usize, value: f32) {
    let mut values = body["tokens"].values.to_vec();
    values[element] = value;
    body.get_mut("tokens").unwrap().values = values.into();
}

#[test]
fn the_weights_that_were_read_are_not_overwritten() {
    let fixture = Fixture::bert();
    let model = fixture.open().unwrap();
    let (mut body, _) = model.parameters().unwrap();
    change(&mut body, 0, 9.0);
    let error = model.write(fixture.path(), &body).unwrap_err().to_string();
    assert!(error.contains("write to a different one"), "{error}");
    assert_ne!(model.parameters().unwrap().0, body);
}
