//! Ids and hidden states against those that PyTorch and transformers computed.

use std::path::{Path, PathBuf};

use dsokr_nn::parameters::Parameters;
use dsokr_nn::pretrained::Pretrained;
use dsokr_nn::transformer::Architecture;
use safetensors::SafeTensors;
use serde_json::Value;

/// A path under the data root, `DSOKR_DATA` or `../shared/data` beside the workspace.
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

/// The golden model's folder.
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
        assert_eq!(model.tokenizer().encode(text, 64).unwrap(), (expected, false), "{text}");
    }
}

fn strings(value: &Value) -> Vec<String> {
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
        let (ids, _) = model.tokenizer().encode(text, 64).unwrap();
        let found: Vec<&str> = ids.iter().map(|id| words[*id as usize]).collect();
        assert_eq!(found, strings(tokens));
    }
}

#[test]
fn golden_hidden_states_follow_from_the_parameters() {
    let test = "golden_hidden_states_follow_from_the_parameters";
    let Some(folder) = golden(test) else { return };
    let model = Pretrained::open(&folder).unwrap();
    let (parameters, unused) = model.parameters().unwrap();
    assert!(unused.is_empty(), "{unused:?}");
    let expected = folder.join("expected.safetensors");
    let (shape, states) = tensor(&expected, "last_hidden_state", f32::from_le_bytes);
    let (_, ids) = tensor(&expected, "input_ids", i32::from_le_bytes);
    let (_, mask) = tensor(&expected, "attention_mask", i32::from_le_bytes);
    let (length, d) = (shape[1], shape[2]);
    for text in 0..shape[0] {
        let tokens: Vec<usize> = (text * length..(text + 1) * length)
            .filter(|i| mask[*i] == 1)
            .map(|i| ids[i] as usize)
            .collect();
        let found = hidden_states(&parameters, model.architecture(), &tokens);
        for (row, state) in found.iter().enumerate() {
            for (column, value) in state.iter().enumerate() {
                let expected = f64::from(states[(text * length + row) * d + column]);
                assert!((value - expected).abs() < 1e-5, "{value} {expected}");
            }
        }
    }
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
    let (parameters, unused) = model.parameters().unwrap();
    let known = ["embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"];
    assert_eq!(unused, known);
    let expected = texts.with_file_name("minilm_expected.safetensors");
    let texts: Value = serde_json::from_str(&std::fs::read_to_string(&texts).unwrap()).unwrap();
    let texts = strings(&texts["texts"]);
    assert_ids(&model, &texts, &expected);
    let (shape, pooled) = tensor(&expected, "mean_pooled", f32::from_le_bytes);
    for (text, pooled) in texts.iter().zip(pooled.chunks_exact(shape[1])) {
        let (ids, _) = model.tokenizer().encode(text, 64).unwrap();
        let ids: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
        let states = hidden_states(&parameters, model.architecture(), &ids);
        for (column, expected) in pooled.iter().enumerate() {
            let mean = states.iter().map(|s| s[column]).sum::<f64>() / states.len() as f64;
            assert!((mean - f64::from(*expected)).abs() < 1e-4, "{mean} {expected}");
        }
    }
}

type Rows = Vec<Vec<f64>>;

/// A post-norm transformer in 64-bit floats, written plainly from the parameters' documentation.
fn hidden_states(parameters: &Parameters, architecture: &Architecture, tokens: &[usize]) -> Rows {
    let (d, heads) = (architecture.width, architecture.heads);
    let values = |path: &str| parameters[path].values.iter().map(|v| f64::from(*v)).collect();
    let row = |path: &str, i: usize| -> Vec<f64> {
        parameters[path].values[i * d..(i + 1) * d].iter().map(|v| f64::from(*v)).collect()
    };
    let linear = |path: &str, x: &Rows| -> Rows {
        let weight: Vec<f64> = values(&format!("{path}.weight"));
        let bias: Vec<f64> = values(&format!("{path}.bias"));
        let apply = |x: &Vec<f64>| {
            let mut y = bias.clone();
            for (x, weight) in x.iter().zip(weight.chunks_exact(bias.len())) {
                y.iter_mut().zip(weight).for_each(|(y, w)| *y += x * w);
            }
            y
        };
        x.iter().map(apply).collect()
    };
    let norm = |path: &str, x: Rows| -> Rows {
        let gamma: Vec<f64> = values(&format!("{path}.gamma"));
        let beta: Vec<f64> = values(&format!("{path}.beta"));
        let apply = |x: Vec<f64>| {
            let mean = x.iter().sum::<f64>() / d as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / d as f64;
            let scale = (variance + architecture.epsilon).sqrt();
            (0..d).map(|j| gamma[j] * (x[j] - mean) / scale + beta[j]).collect()
        };
        x.into_iter().map(apply).collect()
    };
    let plus = |a: &Rows, b: &Rows| -> Rows {
        let sum = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
        a.iter().zip(b).map(sum).collect()
    };
    let words: Rows = tokens.iter().map(|id| row("tokens", *id)).collect();
    let places = (0..tokens.len()).map(|i| row("positions", i + architecture.first_position));
    let mut x = plus(&words, &places.collect());
    x = norm("norm", plus(&x, &vec![row("types", 0); tokens.len()]));
    for layer in 0..architecture.layers {
        let path = |name: &str| format!("layers.{layer}.{name}");
        let qkv = linear(&path("qkv"), &x);
        let mut context = vec![vec![0.0; d]; x.len()];
        let size = d / heads;
        for head in 0..heads {
            let at = |part: usize| part * d + head * size..part * d + (head + 1) * size;
            for (query, context) in qkv.iter().zip(&mut context) {
                let score = |key: &Vec<f64>| {
                    let products = query[at(0)].iter().zip(&key[at(1)]).map(|(a, b)| a * b);
                    (products.sum::<f64>() / (size as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = qkv.iter().map(score).collect();
                let total: f64 = scores.iter().sum();
                for (score, value) in scores.iter().zip(&qkv) {
                    let context = &mut context[at(0)];
                    let values = context.iter_mut().zip(&value[at(2)]);
                    values.for_each(|(c, v)| *c += score / total * v);
                }
            }
        }
        x = norm(&path("attention_norm"), plus(&x, &linear(&path("output"), &context)));
        let mut hidden = linear(&path("rise"), &x);
        hidden.iter_mut().flatten().for_each(|h| *h = gelu(*h));
        x = norm(&path("feed_forward_norm"), plus(&x, &linear(&path("fall"), &hidden)));
    }
    x
}

/// `x Φ(x)`, by the series of the error function, which is exact enough where Φ is not 0 or 1.
fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let erf = if z.abs() > 5.0 {
        z.signum()
    } else {
        // erf(z) = 2/√π e^{-z²} Σ 2^n z^{2n+1} / (2n+1)!!
        let mut term = z;
        let mut sum = z;
        for n in 1..200 {
            term *= 2.0 * z * z / (2 * n + 1) as f64;
            sum += term;
        }
        2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum
    };
    0.5 * x * (1.0 + erf)
}
