//! Ids and hidden states against those that PyTorch and transformers computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_core::random::generator;
use dsokr_nn::parameters::{collect, restore, visit};
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};
use dsokr_nn::{Encoder, Pass, Pooling, Start, TokenIds, Transformer};
use safetensors::SafeTensors;
use serde_json::Value;

use crate::host;

/// Returns a path under the data root, `DSOKR_DATA` or `../shared/data` beside the workspace.
fn data(test: &str, name: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let root = std::env::var_os("DSOKR_DATA").map_or(PathBuf::from(default), PathBuf::from);
    let path = root.join(name);
    if !path.exists() {
        println!("skipped: {test}: DSOKR_DATA has no {name}");
        return None;
    }
    Some(path)
}

/// Returns the golden model's folder.
pub fn golden(test: &str) -> Option<PathBuf> {
    data(test, "golden/tiny-bert")
}

/// Reads a tensor of 32-bit numbers.
fn tensor<T>(path: &Path, name: &str, number: impl Fn([u8; 4]) -> T) -> (Vec<usize>, Vec<T>) {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let view = file.tensor(name).unwrap();
    let (elements, _) = view.data().as_chunks::<4>();
    (view.shape().to_vec(), elements.iter().map(|e| number(*e)).collect())
}

/// Compares ids with rows that are filled up with 0 where the mask is 0.
fn assert_ids(model: &Pretrained, texts: &[String], expected: &Path) {
    let (shape, ids) = tensor(expected, "input_ids", i32::from_le_bytes);
    let (_, mask) = tensor(expected, "attention_mask", i32::from_le_bytes);
    assert_eq!(shape[0], texts.len());
    let rows = ids.chunks_exact(shape[1]).zip(mask.chunks_exact(shape[1]));
    for (text, (ids, mask)) in texts.iter().zip(rows) {
        let length = mask.iter().filter(|m| **m == 1).count();
        let expected: Vec<u32> = ids[..length].iter().map(|id| *id as u32).collect();
        assert_eq!(model.tokenizer.encode(text, 64).unwrap(), (expected, false), "{text}");
    }
}

pub fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect()
}

#[test]
fn golden_ids_and_tokens() {
    let Some(folder) = golden("golden_ids_and_tokens") else { return };
    let model = Pretrained::open(&folder).unwrap();
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let texts = strings(&expected["texts"]);
    assert_ids(&model, &texts, &folder.join("expected.safetensors"));
    let words = std::fs::read_to_string(folder.join("vocab.txt")).unwrap();
    let words: Vec<&str> = words.lines().collect();
    for (text, tokens) in texts.iter().zip(expected["tokens"].as_array().unwrap()) {
        let (ids, _) = model.tokenizer.encode(text, 64).unwrap();
        let actual: Vec<&str> = ids.iter().map(|id| words[*id as usize]).collect();
        assert_eq!(actual, strings(tokens));
    }
}

/// Returns the golden texts' ids, without padding.
fn golden_ids(folder: &Path) -> Vec<TokenIds> {
    let expected = folder.join("expected.safetensors");
    let (shape, ids) = tensor(&expected, "input_ids", i32::from_le_bytes);
    let (_, mask) = tensor(&expected, "attention_mask", i32::from_le_bytes);
    let rows = ids.chunks_exact(shape[1]).zip(mask.chunks_exact(shape[1]));
    rows.map(|(ids, mask)| {
        let real = ids.iter().zip(mask).filter(|(_, mask)| **mask == 1);
        real.map(|(id, _)| *id as u32).collect::<Vec<_>>().into()
    })
    .collect()
}

fn floats(folder: &Path, name: &str) -> Vec<f32> {
    tensor(&folder.join("expected.safetensors"), name, f32::from_le_bytes).1
}

pub fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    let apart = actual.iter().zip(expected).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(apart <= tolerance, "{what}: {apart}");
}

/// Returns the golden model with its head.
fn golden_encoder(folder: &Path, device: &Device) -> Transformer {
    let (body, unused) = Pretrained::open(folder).unwrap().body(device).unwrap();
    assert!(unused.is_empty(), "{unused:?}");
    let offset = floats(folder, "head.bias");
    let random = &mut generator(0, "head", 0);
    let device = &body.device();
    let start = Start { offset: &offset, random, device };
    let encoder = Transformer::new(body, Pooling::Mean, start);
    let mut parameters = collect(&encoder);
    // PyTorch's weight is [out, in]
    let weight = floats(folder, "head.weight");
    let width = encoder.body.architecture.width;
    let transposed: Vec<f32> =
        (0..weight.len()).map(|i| weight[(i % offset.len()) * width + i / offset.len()]).collect();
    parameters.get_mut("head.weight").unwrap().values = transposed.into();
    restore(encoder, parameters).unwrap()
}

#[test]
fn golden_states_and_predictions() {
    let Some(folder) = golden("golden_states_and_predictions") else { return };
    for device in [Device::flex(), Device::flex().autodiff()] {
        let encoder = golden_encoder(&folder, &device);
        let ids = golden_ids(&folder);
        let texts: Vec<&[u32]> = ids.iter().map(|ids| &**ids).collect();
        let hidden = host(encoder.body.hidden(&texts, Pass::Evaluate));
        let states = floats(&folder, "last_hidden_state");
        let width = encoder.body.architecture.width;
        let padded = states.len() / ids.len();
        let real = ids.iter().enumerate().flat_map(|(i, ids)| {
            states[i * padded..i * padded + ids.len() * width].iter().copied()
        });
        assert_close(&hidden, &real.collect::<Vec<f32>>(), 1e-5, "hidden states");
        let pooled = host(encoder.body.pooled(&texts, Pooling::Mean, Pass::Evaluate));
        assert_close(&pooled, &floats(&folder, "mean_pooled"), 1e-5, "mean pooling");
        let prediction = host(encoder.forward(&ids.iter().collect::<Vec<_>>(), Pass::Evaluate));
        assert_close(&prediction, &floats(&folder, "prediction"), 1e-5, "prediction");
    }
}

/// Returns the mean square error on the golden targets.
fn golden_loss(encoder: &Transformer, folder: &Path, device: &Device) -> Tensor<1> {
    let ids = golden_ids(folder);
    let target = floats(folder, "target");
    let shape = [ids.len(), target.len() / ids.len()];
    let target = Tensor::<2>::from_data(TensorData::new(target, shape), device);
    // the golden model has no dropout
    let z = encoder.forward(&ids.iter().collect::<Vec<_>>(), Pass::train(1));
    (z - target).square().mean()
}

#[test]
fn golden_gradients() {
    let Some(folder) = golden("golden_gradients") else { return };
    let device = Device::flex().autodiff();
    let encoder = golden_encoder(&folder, &device);
    let loss = golden_loss(&encoder, &folder, &device);
    let value = loss.clone().into_scalar::<f32>();
    assert_close(&[value], &floats(&folder, "loss"), 1e-5, "loss");
    let gradients = GradientsParams::from_grads(loss.backward(), &encoder);
    let mut ids = BTreeMap::new();
    visit(&encoder, |path, parameter| {
        ids.insert(path.to_owned(), parameter.id());
    });
    let id = |path: &str| ids[path];
    let matrix = |path| host(gradients.get::<2>(id(path)).unwrap());
    let vector = |path| host(gradients.get::<1>(id(path)).unwrap());
    let golden = |name: &str| floats(&folder, &format!("grad.{name}"));
    let words = golden("embeddings.word_embeddings.weight");
    assert_close(&matrix("body.tokens"), &words, 1e-4, "word embeddings");
    let query = golden("encoder.layer.0.attention.self.query.weight");
    let d = 32;
    let qkv = matrix("body.layers.0.qkv.weight");
    let actual: Vec<f32> = (0..d * d).map(|i| qkv[(i % d) * 3 * d + i / d]).collect();
    assert_close(&actual, &query, 1e-4, "query");
    let inner = golden("encoder.layer.0.intermediate.dense.bias");
    assert_close(&vector("body.layers.0.up.bias"), &inner, 1e-4, "intermediate");
    let norm = golden("encoder.layer.1.output.LayerNorm.weight");
    assert_close(&vector("body.layers.1.feed_forward_norm.gamma"), &norm, 1e-4, "norm");
}

#[test]
fn golden_adam_losses() {
    let Some(folder) = golden("golden_adam_losses") else { return };
    let device = Device::flex().autodiff();
    let adam = AdamConfig::new().with_epsilon(1e-8);
    let mut optimizer = adam.init();
    let mut encoder = golden_encoder(&folder, &device);
    let losses: Vec<f32> = (0..10)
        .map(|_| {
            let loss = golden_loss(&encoder, &folder, &device);
            let value = loss.clone().into_scalar::<f32>();
            let gradients = GradientsParams::from_grads(loss.backward(), &encoder);
            encoder = optimizer.step(1e-2, encoder.clone(), gradients);
            value
        })
        .collect();
    assert_close(&losses, &floats(&folder, "adam_losses"), 1e-3, "Adam losses");
}

#[test]
fn minilm_is_read_whole() {
    let test = "minilm_is_read_whole";
    let Some(folder) = std::env::var_os("DSOKR_MINILM") else {
        println!("skipped: {test}: DSOKR_MINILM names no folder");
        return;
    };
    let Some(texts) = data(test, "golden/minilm_texts.json") else { return };
    let model = Pretrained::open(Path::new(&folder)).unwrap();
    let (body, unused) = model.body(&Device::flex()).unwrap();
    let expected = ["embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"];
    assert_eq!(unused, expected);
    let expected = texts.with_file_name("minilm_expected.safetensors");
    let texts: Value = serde_json::from_str(&std::fs::read_to_string(&texts).unwrap()).unwrap();
    let texts = strings(&texts["texts"]);
    assert_ids(&model, &texts, &expected);
    let (_, pooled) = tensor(&expected, "mean_pooled", f32::from_le_bytes);
    let ids: Vec<Vec<u32>> =
        texts.iter().map(|text| model.tokenizer.encode(text, 64).unwrap().0).collect();
    let texts: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let actual = host(body.pooled(&texts, Pooling::Mean, Pass::Evaluate));
    assert_close(&actual, &pooled, 1e-4, "mean pooling");

    // its modules.json: the mean, scaled to unit length
    let config: PretrainedConfig =
        serde_json::from_value(serde_json::json!({ "folder": folder.to_string_lossy() })).unwrap();
    assert_eq!(config.max_length(&model), 256);
    let random = &mut generator(0, "head", 0);
    let start = Start { offset: &[0.0], random, device: &Device::flex() };
    let (encoder, _) = config.init(&model, start).unwrap();
    let width = encoder.body.architecture.width;
    let unit = pooled.chunks_exact(width).flat_map(|row| {
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        row.iter().map(move |value| value / length)
    });
    let vectors = host(encoder.embed(&texts, Pass::Evaluate));
    assert_close(&vectors, &unit.collect::<Vec<_>>(), 1e-4, "vectors of unit length");
}
