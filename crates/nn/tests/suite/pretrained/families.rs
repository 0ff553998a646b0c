//! Bodies of each family against hidden states and gradients of transformers and PyTorch (benches/encoder_folders.py).

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_core::random::generator;
use dsokr_nn::parameters::{FloatParameter, Parameter, Parameters, restore, visit};
use dsokr_nn::pretrained::{Pretrained, PretrainedConfig};
use dsokr_nn::transformer::{Activation, Body, DistanceVectors, Positions};
use dsokr_nn::{Encoder, Error, Gradients, Pass, Pooling, Start, TokenIds};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};

use super::folder::{Values, write_files, write_safetensors};
use super::golden::assert_close;
use crate::host;

/// The families of `tests/golden`, each with a folder of a small encoder.
fn families() -> Vec<String> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let names = fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut families: Vec<String> =
        names.filter_map(|name| Some(name.strip_prefix("family-")?.to_owned())).collect();
    families.sort();
    assert!(families.len() > 10, "{families:?}");
    families
}

fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("family-{family}"))
}

fn ids(folder: &Path) -> Vec<Vec<u32>> {
    let text = fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(expected["ids"].clone()).unwrap()
}

fn tensors(file: &Path) -> BTreeMap<String, Vec<f32>> {
    let bytes = fs::read(file).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.iter().map(|(name, view)| {
        let floats = view.data().chunks_exact(4);
        let floats = floats.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        (name.to_owned(), floats)
    });
    tensors.collect()
}

/// Returns the hidden states of texts, and the gradients of their sum with the weights cos 0, cos 1, ….
fn states_and_gradients(body: &Body, ids: &[Vec<u32>]) -> (Vec<f32>, Parameters) {
    let texts: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let states = body.hidden(&texts, Pass::Evaluate);
    let shape = states.dims();
    let weights: Vec<f32> = (0..shape[0] * shape[1]).map(|k| (k as f64).cos() as f32).collect();
    let weights = Tensor::<2>::from_data(TensorData::new(weights, shape), &states.device());
    let loss = (states.clone() * weights).sum();
    let gradients = GradientsParams::from_grads(loss.backward(), body);
    let gradients = Gradients::new(gradients, HashMap::new());
    let mut by_path = Parameters::new();
    visit(body, |path, parameter: &dyn FloatParameter| {
        let values = parameter.flat_gradient(&gradients).unwrap_or_else(|| panic!("{path}"));
        let values = host(values).into();
        by_path.insert(path.to_owned(), Parameter { shape: parameter.shape(), values });
    });
    (host(states), by_path)
}

/// Compares the states and gradients of a family on a device with those of transformers.
fn assert_states_and_gradients(family: &str, device: &Device) {
    let folder = folder(family);
    let expected = tensors(&folder.join("expected.safetensors"));
    let model = Pretrained::open(&folder).unwrap();
    let (body, _) = model.body(&device.clone().autodiff()).unwrap();
    let (states, gradients) = states_and_gradients(&body, &ids(&folder));
    assert_close(&states, &expected["states"], 1e-4, &format!("{family}: states"));

    // gradients in the layout of the file
    let target = tempfile::tempdir().unwrap();
    model.write(&target.path().join("gradients"), &gradients).unwrap();
    let written = tensors(&target.path().join("gradients/model.safetensors"));
    for (name, values) in expected.iter().filter(|(name, _)| *name != "states") {
        // transformers writes ESM's normalisations under the names of BERT's first files
        let present = name.replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias");
        let actual = written.get(&present).unwrap_or_else(|| panic!("{family}: no {name}"));
        let largest = values.iter().fold(1.0f32, |largest, value| largest.max(value.abs()));
        assert_close(actual, values, 1e-4 * largest, &format!("{family}: {name}"));
    }
}

#[test]
fn states_and_gradients_are_those_of_transformers() {
    families().iter().for_each(|family| assert_states_and_gradients(family, &Device::flex()));
}

/// On the adapter that there is, such as Mesa's software Vulkan (book/src/devices.md).
#[cfg(feature = "wgpu")]
#[test]
fn states_and_gradients_on_a_gpu_are_those_of_transformers() {
    let device = Device::wgpu(burn::tensor::DeviceKind::DefaultDevice);
    families().iter().for_each(|family| assert_states_and_gradients(family, &device));
}

/// Activation checkpointing changes neither states nor gradients.
#[test]
fn recomputed_layers_have_the_same_gradients() {
    for family in families() {
        let folder = folder(&family);
        let (body, _) =
            Pretrained::open(&folder).unwrap().body(&Device::flex().autodiff()).unwrap();
        let ids = ids(&folder);
        let mut lean = body.clone();
        lean.architecture.recompute = true;
        let (states, gradients) = states_and_gradients(&body, &ids);
        let (lean_states, lean_gradients) = states_and_gradients(&lean, &ids);
        assert_close(&lean_states, &states, 1e-5, &family);
        for (path, gradient) in gradients {
            let largest = gradient.values.iter().fold(1.0f32, |most, value| most.max(value.abs()));
            let what = format!("{family}: {path}");
            // sums of residual paths have a different order
            assert_close(&lean_gradients[&path].values, &gradient.values, 1e-5 * largest, &what);
        }
    }
}

/// In training and evaluation, and of parts of a batch, by the contract of encoders; with first tokens, which other
/// layers than BERT's compute with all others.
#[test]
fn encoders_of_each_family_satisfy_the_contract() {
    for family in families() {
        let folder = folder(&family);
        let model = Pretrained::open(&folder).unwrap();
        let inputs: Vec<TokenIds> = ids(&folder).into_iter().map(TokenIds::from).collect();
        for pooling in [Pooling::Mean, Pooling::First] {
            let config = json!({ "folder": folder, "pooling": pooling, "dropout": 0.2 });
            let config: PretrainedConfig = serde_json::from_value(config).unwrap();
            let random = &mut generator(0, "head", 0);
            let device = &Device::flex().autodiff();
            let start = Start { offset: &[0.5, -0.5], random, device };
            let (encoder, _) = config.init(&model, start).unwrap();
            if let Err(error) = dsokr_nn::contract::check(&encoder, &inputs) {
                panic!("{family}, {pooling:?}: {error}");
            }
            assert_eq!(encoder.forward(&[&inputs[2]], Pass::train(3)).dims(), [1, 2]);
        }
    }
}

/// BERT's layers compute the last one for first tokens alone, others for all tokens.
#[test]
fn pooled_first_tokens_are_those_of_all_states() {
    for family in families() {
        let folder = folder(&family);
        let (body, _) = Pretrained::open(&folder).unwrap().body(&Device::flex()).unwrap();
        let ids = ids(&folder);
        let texts: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
        let states = host(body.hidden(&texts, Pass::Evaluate));
        let width = body.architecture.width;
        let mut expected = Vec::new();
        let mut start = 0;
        for text in &ids {
            expected.extend_from_slice(&states[start * width..][..width]);
            start += text.len();
        }
        let pooled = host(body.pooled(&texts, Pooling::First, Pass::Evaluate));
        assert_close(&pooled, &expected, 1e-5, &family);
    }
}

#[test]
fn a_written_folder_is_the_same_body() {
    for family in families() {
        let folder = folder(&family);
        let model = Pretrained::open(&folder).unwrap();
        let (parameters, _) = model.parameters().unwrap();
        let target = tempfile::tempdir().unwrap();
        let again = target.path().join("again");
        model.write(&again, &parameters).unwrap();
        let written = Pretrained::open(&again).unwrap();
        assert_eq!(written.architecture(), model.architecture(), "{family}");
        assert_eq!(written.parameters().unwrap().0, parameters, "{family}");
        let (body, _) = model.body(&Device::flex()).unwrap();
        assert!(restore(body, parameters).is_ok(), "{family}");
    }
}

/// Most files of ESM-2 have a table of positions that rotary positions leave unused. The states are those of
/// transformers, which leaves it out too.
#[test]
fn a_table_beside_rotary_positions_is_not_used() {
    let (_, unused) = Pretrained::open(&folder("esm")).unwrap().parameters().unwrap();
    let table = "embeddings.position_embeddings.weight".to_owned();
    assert!(unused.contains(&table), "{unused:?}");
    let (parameters, unused) =
        Pretrained::open(&folder("esm-absolute")).unwrap().parameters().unwrap();
    assert!(parameters.contains_key("positions") && !unused.contains(&table), "{unused:?}");
}

/// Returns what is not used of the weights of a T5 that are changed, and whether its parameters are those of the folder.
fn changed_weights(
    change: impl FnOnce(&mut BTreeMap<String, Values>),
) -> Result<(Vec<String>, bool), Error> {
    let model = Pretrained::open(&folder("t5")).unwrap();
    let bytes = fs::read(folder("t5").join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut values = tensors(&folder("t5").join("model.safetensors"));
    let shaped = file.iter().map(|(name, view)| {
        (name.to_owned(), (view.shape().to_vec(), values.remove(name).unwrap()))
    });
    let mut shaped: BTreeMap<String, Values> = shaped.collect();
    change(&mut shaped);
    let target = tempfile::tempdir().unwrap();
    write_files(&model, target.path());
    write_safetensors(&target.path().join("model.safetensors"), Dtype::F32, &shaped);
    let (parameters, unused) = Pretrained::open(target.path())?.parameters()?;
    Ok((unused, parameters == model.parameters().unwrap().0))
}

/// Files of sentence-T5 and of whole models have the table of tokens twice, or under its other name alone.
#[test]
fn the_table_of_tokens_of_a_t5_has_two_names() {
    let again = "encoder.embed_tokens.weight";
    let (unused, is_same) = changed_weights(|tensors| {
        tensors.insert(again.into(), tensors["shared.weight"].clone());
        tensors.insert("lm_head.weight".into(), tensors["shared.weight"].clone());
        let block = "block.0.layer.0.SelfAttention.q.weight";
        tensors.insert(format!("decoder.{block}"), tensors[&format!("encoder.{block}")].clone());
    })
    .unwrap();
    assert!(is_same);
    let decoder = "decoder.block.0.layer.0.SelfAttention.q.weight";
    assert_eq!(unused, [decoder, again, "lm_head.weight"]);

    let only_again = |tensors: &mut BTreeMap<String, Values>| {
        let table = tensors.remove("shared.weight").unwrap();
        tensors.insert(again.into(), table);
    };
    assert_eq!(changed_weights(only_again).unwrap(), (Vec::new(), true));
    // beside a head of another task
    let (unused, is_same) = changed_weights(|tensors| {
        only_again(tensors);
        let names: Vec<String> = tensors.keys().cloned().collect();
        for name in names {
            let tensor = tensors.remove(&name).unwrap();
            tensors.insert(format!("transformer.{name}"), tensor);
        }
        tensors.insert("score.weight".into(), (vec![1], vec![0.0]));
    })
    .unwrap();
    assert_eq!((unused, is_same), (vec!["score.weight".to_owned()], true));

    let error = changed_weights(|tensors| {
        let (shape, mut values) = tensors["shared.weight"].clone();
        values[3] += 1.0;
        tensors.insert(again.into(), (shape, values));
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains(again) && error.contains("other values"), "{error}");
}

/// Opens a family's folder with a different configuration.
fn changed(
    family: &str,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<Pretrained, Error> {
    let target = tempfile::tempdir().unwrap();
    write_files(&Pretrained::open(&folder(family)).unwrap(), target.path());
    let config = target.path().join("config.json");
    let mut json = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    change(&mut json);
    fs::write(config, Value::Object(json).to_string()).unwrap();
    Pretrained::open_without_weights(target.path())
}

/// What configurations do not say is what transformers' classes have then.
#[test]
fn missing_keys_have_the_defaults_of_the_family() {
    let golden = folder("esm").with_file_name("defaults.json");
    let defaults: Value = serde_json::from_str(&fs::read_to_string(golden).unwrap()).unwrap();
    for family in [
        "albert",
        "deberta",
        "distilbert",
        "electra",
        "esm",
        "modernbert",
        "mpnet",
        "nomic",
        "t5",
        "mt5",
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "gemma3",
    ] {
        let name = match family {
            "nomic" => "nomic_bert",
            "deberta" => "deberta-v2",
            "gemma3" => "gemma3_text",
            other => other,
        };
        let model = changed(family, |config| {
            let ends = [
                "_act",
                "_act_fn",
                "activation",
                "_eps",
                "_epsilon",
                "dropout",
                "dropout_prob",
                "dropout_rate",
                "feed_forward_proj",
                "num_buckets",
                "max_distance",
            ];
            config.retain(|key, _| !ends.iter().any(|end| key.ends_with(end)));
        });
        let model = model.unwrap();
        let found = model.architecture();
        let expected = &defaults[name];
        let near = |value: f64, key: &str| {
            // the classes of decoders have no dropout of hidden units
            let is_left_out = expected[key].is_null();
            assert!(!is_left_out || (model.architecture().causal && key == "dropout"));
            let expected = expected[key].as_f64().unwrap_or(0.0);
            assert!((value - expected).abs() < 1e-8, "{family}: {key} = {value}");
        };
        near(found.dropout.into(), "dropout");
        near(found.attention_dropout.into(), "attention_dropout");
        if !expected["epsilon"].is_null() {
            assert_eq!(found.epsilon, expected["epsilon"].as_f64().unwrap(), "{family}");
        }
        let activation = match expected["activation"].as_str() {
            Some("gelu_new" | "gelu_pytorch_tanh") => Activation::GeluTanh,
            Some("silu") => Activation::Silu,
            Some("relu") => Activation::Relu,
            Some("gelu") | None => Activation::Gelu,
            Some(other) => panic!("{other}"),
        };
        assert_eq!(found.activation, activation, "{family}");
    }
}

/// `DistilBertModel` has 1e-12 whatever the file says.
#[test]
fn the_epsilon_of_distilbert_is_fixed() {
    let insert = |config: &mut Map<String, Value>| {
        config.insert("layer_norm_eps".into(), json!(1e-2));
    };
    let model = changed("distilbert", insert).unwrap();
    assert_eq!(model.architecture().epsilon, 1e-12);
}

#[test]
fn a_dropout_of_zero_drops_no_inner_units() {
    let model = changed("modernbert", |config| {
        config.insert("mlp_dropout".into(), json!(0.25));
    });
    let model = model.unwrap();
    let inner = |dropout: Option<f64>| {
        let config = json!({ "folder": "unread", "dropout": dropout, "max_length": 8 });
        let config: PretrainedConfig = serde_json::from_value(config).unwrap();
        let random = &mut generator(0, "head", 0);
        let start = Start { offset: &[0.5], random, device: &Device::flex() };
        config.init(&model, start).unwrap().0.body.architecture.inner_dropout
    };
    assert_eq!([inner(None), inner(Some(0.5)), inner(Some(0.0))], [0.25, 0.25, 0.0]);
}

/// As in `T5Stack`: inner units, and the results of the last normalisation.
#[test]
fn the_one_share_of_t5_drops_units_everywhere() {
    let folder = folder("t5");
    let model = Pretrained::open(&folder).unwrap();
    let body = |dropout: Option<f64>| {
        let config = json!({ "folder": folder, "dropout": dropout });
        let config: PretrainedConfig = serde_json::from_value(config).unwrap();
        let random = &mut generator(0, "head", 0);
        let start = Start { offset: &[0.5], random, device: &Device::flex().autodiff() };
        config.init(&model, start).unwrap().0.body
    };
    let shares = [None, Some(0.5), Some(0.0)].map(|share| body(share).architecture.inner_dropout());
    assert_eq!(shares, [0.1, 0.5, 0.0]);

    let ids = ids(&folder);
    let texts: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let share_of_zeros = |pass: Pass| {
        let states = host(body(Some(0.5)).hidden(&texts, pass));
        states.iter().filter(|value| **value == 0.0).count() as f64 / states.len() as f64
    };
    assert_eq!(share_of_zeros(Pass::Evaluate), 0.0);
    let share = share_of_zeros(Pass::train(3));
    assert!((share - 0.5).abs() < 0.1, "{share}");
}

/// `dense_act_fn` and `is_gated_act`, which transformers writes, replace what `feed_forward_proj` says.
#[test]
fn units_of_t5_are_those_of_its_configuration() {
    let units = |keys: &[(&str, Value)]| {
        let model = changed("t5", |config| {
            config.retain(|key, _| !key.ends_with("_act_fn") && !key.ends_with("_act"));
            config.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        });
        model.map(|model| (model.architecture().gated, model.architecture().activation))
    };
    let cases = [
        ("relu", (false, Activation::Relu)),
        ("gated-gelu", (true, Activation::GeluTanh)),
        ("gelu", (false, Activation::Gelu)),
        ("gated-silu", (true, Activation::Silu)),
    ];
    for (name, expected) in cases {
        assert_eq!(units(&[("feed_forward_proj", json!(name))]).unwrap(), expected, "{name}");
    }
    let keys = [("is_gated_act", json!(true)), ("dense_act_fn", json!("gelu_new"))];
    assert_eq!(units(&keys).unwrap(), (true, Activation::GeluTanh));

    for (key, value, says) in [
        ("feed_forward_proj", json!("gated"), "or \"gated-\""),
        ("feed_forward_proj", json!("gated-prelu"), "\"relu\""),
        ("d_kv", json!(null), "a whole number"),
        ("d_kv", json!(1u64 << 40), "a whole number"),
        ("relative_attention_num_buckets", json!(3), "from 4"),
        ("relative_attention_max_distance", json!(2), "from 3"),
    ] {
        let error = units(&[(key, value.clone())]).unwrap_err().to_string();
        assert!(error.contains(&format!("{key} = {value}: ")), "{error}");
        assert!(error.contains(says), "{error}");
    }
}

/// Nothing but memory bounds texts without a table of positions.
#[test]
fn texts_of_t5_may_be_longer_than_those_of_its_training() {
    let model = changed("t5", |config| drop(config.insert("n_positions".into(), json!(16))));
    let model = model.unwrap();
    assert!(model.check(1 << 16).is_ok());
    let error = model.check((1 << 16) + 1).unwrap_err().to_string();
    assert!(error.contains("max_length = 65537") && error.contains("65536"), "{error}");
}

#[test]
fn a_deberta_that_is_different_is_refused() {
    for (key, value, says) in [
        ("relative_attention", json!(false), "true"),
        ("share_att_key", json!(null), "true"),
        ("position_biased_input", json!(true), "false"),
        ("pos_att_type", json!("c2p"), "\"p2c\""),
        ("pos_att_type", json!(["c2p", "c2p"]), "\"p2c\""),
        ("pos_att_type", json!(["c2p", "p2c", 1]), "\"p2c\""),
        ("conv_kernel_size", json!(3), "a convolution"),
        ("embedding_size", json!(4), "hidden_size = 8"),
        ("attention_head_size", json!(8), "4"),
        ("position_buckets", json!(2), "at least 4"),
        ("position_buckets", json!(38), "less than 38"),
        ("position_buckets", json!(1u64 << 40), "a whole number"),
        ("norm_rel_ebd", json!(["layer_norm"]), "\"none\""),
    ] {
        let error = changed("deberta", |config| drop(config.insert(key.into(), value.clone())));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("{key} = {value}: ")), "{error}");
        assert!(error.contains(says), "{error}");
    }
}

/// Numbers below 1 stand for none, and the string is what the files of the hub have.
#[test]
fn distances_of_a_deberta_are_those_of_its_configuration() {
    let vectors = |keys: &[(&str, Value)]| {
        let model = changed("deberta", |config| {
            config.remove("max_relative_positions");
            config.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        });
        match model.unwrap().architecture().position_kind {
            Positions::Disentangled(vectors) => vectors,
            ref other => panic!("{other:?}"),
        }
    };
    let expected = DistanceVectors { span: 8, farthest: Some(44), has_norm: true };
    assert_eq!(vectors(&[]), expected);
    let keys = [("max_relative_positions", json!(-1)), ("pos_att_type", json!("P2C | c2p"))];
    assert_eq!(vectors(&keys), expected);
    let keys = [("position_buckets", json!(-1)), ("norm_rel_ebd", json!("none"))];
    let expected = DistanceVectors { span: 44, farthest: None, has_norm: false };
    assert_eq!(vectors(&keys), expected);
}

/// The elements of vectors for distances that are dropped are the same for the texts of a batch, whatever the longest one.
#[test]
fn dropped_vectors_for_distances_do_not_depend_on_other_texts() {
    let folder = folder("deberta");
    let config = json!({ "folder": folder, "dropout": 0.5 });
    let config: PretrainedConfig = serde_json::from_value(config).unwrap();
    let random = &mut generator(0, "head", 0);
    let start = Start { offset: &[0.5], random, device: &Device::flex().autodiff() };
    let body = config.init(&Pretrained::open(&folder).unwrap(), start).unwrap().0.body;
    let ids = ids(&folder);
    let [short, long] = [&ids[2][..], &ids[4]];
    let states = |texts: &[&[u32]], key| host(body.hidden(texts, Pass::train(key)));
    let alone = states(&[short], 3);
    let beside = states(&[short, long], 3);
    assert_close(&beside[..alone.len()], &alone, 1e-5, "beside a long text");
    assert_ne!(alone, states(&[short], 4));
}

#[test]
fn a_decoder_that_is_different_is_refused() {
    let too_many = json!(["full_attention", "sliding_attention", "full_attention"]);
    for (family, key, value, says) in [
        ("llama", "num_key_value_heads", json!(3), "a divisor of num_attention_heads = 4"),
        ("llama", "num_key_value_heads", json!(0), "a divisor"),
        ("llama", "num_key_value_heads", json!("2"), "a divisor"),
        ("llama", "head_dim", json!(5), "even"),
        ("llama", "head_dim", json!(0), "a whole number"),
        ("llama", "attention_bias", json!("no"), "true or false"),
        ("llama", "num_attention_heads", json!(8), "even width, and not 1"),
        ("qwen3", "head_dim", json!(null), "a whole number"),
        ("mistral", "sliding_window", json!(0), "a whole number from 1"),
        ("mistral", "is_causal", json!(false), "sliding windows"),
        ("qwen2", "is_causal", json!(false), "sliding windows"),
        ("qwen2", "layer_types", too_many, "2 of"),
        ("qwen2", "layer_types", json!(["full_attention", "linear_attention"]), "2 of"),
        ("qwen2", "is_causal", json!(1), "true or false"),
        ("gemma3", "is_causal", json!(false), "use_bidirectional_attention"),
        ("gemma3", "query_pre_attn_scalar", json!(256), "6, head_dim"),
        ("gemma3", "attn_logit_softcapping", json!(50.0), "null"),
        ("gemma3", "sliding_window", json!(null), "a whole number from 1"),
        ("gemma3", "rope_scaling", json!({"rope_type": "linear", "factor": 8.0}), "not supported"),
    ] {
        let model = changed(family, |config| {
            if key == "num_attention_heads" {
                config.remove("head_dim");
            }
            config.insert(key.into(), value.clone());
        });
        let error = model.unwrap_err().to_string();
        assert!(error.contains(&format!("{key} = {value}: ")), "{error}");
        assert!(error.contains(says), "{error}");
    }
    for family in ["mistral", "qwen2", "qwen3", "gemma3"] {
        let model = changed(family, |config| drop(config.remove("num_key_value_heads")));
        let error = model.unwrap_err().to_string();
        assert!(error.contains("num_key_value_heads = nothing: "), "{error}");
    }
    let model = changed("qwen2", |config| {
        config.insert("use_sliding_window".into(), json!(false));
    });
    let error = model.unwrap_err().to_string();
    assert!(error.contains("layer_types = ") && error.contains("use_sliding_window"), "{error}");
}

/// As `LlamaConfig`, `MistralConfig` and `Qwen2Config` of transformers 5.24 have them.
#[test]
fn heads_and_windows_of_decoders_are_those_of_their_configurations() {
    let architecture = |family: &str, keys: &[(&str, Value)]| {
        let model = changed(family, |config| {
            config.remove("layer_types");
            config.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        });
        model.unwrap().architecture().clone()
    };
    let windows =
        |family: &str, keys: &[(&str, Value)]| match architecture(family, keys).position_kind {
            Positions::Rotary { reach, local, .. } => (reach, local),
            other => panic!("{other:?}"),
        };
    let llama = architecture("llama", &[("num_key_value_heads", json!(null))]);
    assert_eq!((llama.key_heads, llama.head_width()), (0, 6));
    let llama = architecture("llama", &[("head_dim", json!(null))]);
    assert_eq!((llama.key_heads, llama.head_width()), (2, 2));
    assert!(llama.causal && !architecture("qwen2-both-sides", &[]).causal);

    assert_eq!(windows("mistral", &[]), (5, vec![true, true]));
    assert_eq!(windows("mistral", &[("sliding_window", json!(null))]), (0, vec![false, false]));
    assert_eq!(windows("qwen2", &[]), (5, vec![false, true]));
    assert_eq!(windows("qwen2", &[("max_window_layers", json!(2))]), (0, vec![false, false]));
    let keys = [("use_sliding_window", json!(false)), ("sliding_window", json!(6))];
    assert_eq!(windows("qwen2", &keys), (0, vec![false, false]));
    let keys = [("layer_types", json!(["sliding_attention", "full_attention"]))];
    assert_eq!(windows("qwen2", &keys), (5, vec![true, false]));
    // one layer of six, or of as many as the file says, attends to all
    assert_eq!(windows("gemma3", &[("sliding_window_pattern", json!(1))]), (7, vec![false, false]));
    assert_eq!(windows("gemma3", &[("sliding_window_pattern", json!(6))]), (7, vec![true, true]));
    // half of the window to either side
    let keys = [("use_bidirectional_attention", json!(true))];
    assert_eq!(windows("gemma3", &keys).0, 4);
}

/// In every spelling that transformers reads.
#[test]
fn scaled_rotary_positions_are_refused() {
    let scaled = json!({"rope_type": "linear", "factor": 2.0});
    let cases = [
        ("nomic", "rope_scaling", scaled.clone()),
        ("nomic", "rope_scaling", json!({"type": "dynamic", "factor": 2.0})),
        ("nomic", "rope_parameters", json!({"type": "linear", "factor": 2.0})),
        ("nomic", "rope_parameters", json!([1000.0])),
        ("nomic", "rope_parameters", json!({"rope_theta": 9.0, "partial_rotary_factor": 0.5})),
        ("nomic", "partial_rotary_factor", json!(0.5)),
        ("nomic", "rope_theta", json!("1000")),
        ("llama", "rope_scaling", json!({"rope_type": "llama3", "factor": 8.0})),
        (
            "llama",
            "rope_parameters",
            json!({"rope_type": "llama3", "rope_theta": 9.0, "factor": 8.0}),
        ),
        (
            "qwen3",
            "rope_parameters",
            json!({"rope_type": "yarn", "rope_theta": 9.0, "factor": 4.0}),
        ),
        ("modernbert", "rope_scaling", scaled.clone()),
        ("modernbert", "rope_parameters", json!({"rope_type": "default", "rope_theta": 9.0})),
        ("modernbert", "rope_parameters", json!([])),
        ("modernbert", "rope_parameters", json!({"full_attention": scaled})),
        ("modernbert", "rope_parameters", json!({"full_attention": 9.0})),
    ];
    for (family, key, value) in cases {
        let error = changed(family, |config| drop(config.insert(key.into(), value.clone())));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("{key} = ")), "{family}, {value}: {error}");
    }
}

/// `NomicBertConfig(rope_theta=500).rope_parameters["rope_theta"]` is 500 in transformers 5.24.
#[test]
fn the_base_of_older_configurations_is_read() {
    let base_of = |changes: &[(&str, Value)]| {
        let model = changed("nomic", |config| {
            config.remove("rope_parameters");
            config.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        });
        match &model.unwrap().architecture().position_kind {
            Positions::Rotary { base, .. } => *base,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(base_of(&[]), 1000.0);
    assert_eq!(base_of(&[("rope_theta", json!(500))]), 500.0);
    let parameters = json!({"rope_type": "default", "rope_theta": 300});
    assert_eq!(base_of(&[("rope_theta", json!(500)), ("rope_parameters", parameters)]), 300.0);
}

/// Scores that no fused operation computes have 32 bits in memory, and so have gated units.
#[test]
fn memory_counts_scores_and_gated_units_in_32_bits() {
    let parts = |family: &str, length: f64| {
        let model = Pretrained::open(&folder(family)).unwrap();
        let config = json!({ "folder": folder(family), "precision": "bf16" });
        let config: PretrainedConfig = serde_json::from_value(config).unwrap();
        config.size(&model, length, 3)
    };
    let scores = |family, length| {
        let parts = parts(family, length);
        let bytes = parts.iter().filter(|part| part.keys.contains("heads"));
        bytes.map(|part| part.gpu_width * part.activations).sum::<f64>()
    };
    // of two heads: the product, what is added to it, the softmax, and its dropout
    assert_eq!(scores("mpnet", 41.0), 2.0 * 4.0 * 4.0 * 2.0 * 41.0 * 41.0);
    assert_eq!(scores("modernbert", 41.0), 3.0 * 4.0 * 4.0 * 2.0 * 41.0 * 41.0);
    // three heads
    assert_eq!(scores("t5", 41.0), 2.0 * 4.0 * 4.0 * 3.0 * 41.0 * 41.0);
    // four heads of queries, whatever the number of those of keys
    assert_eq!(scores("qwen2", 41.0), 2.0 * 4.0 * 4.0 * 4.0 * 41.0 * 41.0);
    assert_eq!(scores("qwen2-both-sides", 41.0), 0.0);
    // within the window of every layer
    assert_eq!(scores("modernbert", 4.0), 0.0);
    let width = |family| {
        let units = parts(family, 41.0).into_iter().find(|part| part.keys.contains("feed_forward"));
        units.unwrap().gpu_width
    };
    assert_eq!((width("mpnet"), width("nomic"), width("albert")), (2.0, 4.0, 4.0));
}

/// Nomic's folders on the hub have the keys of their own code.
#[test]
fn keys_of_the_hub_give_the_same_architecture() {
    let model = Pretrained::open(&folder("nomic")).unwrap();
    let target = tempfile::tempdir().unwrap();
    write_files(&model, target.path());
    let config = json!({
        "model_type": "nomic_bert", "vocab_size": 24, "n_embd": 8, "n_layer": 2, "n_head": 2,
        "n_inner": 10, "n_positions": 44, "type_vocab_size": 2, "activation_function": "swiglu",
        "layer_norm_epsilon": 1e-12, "resid_pdrop": 0.0, "attn_pdrop": 0.0, "prenorm": false,
        "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false,
        "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false,
    });
    let open = |config: &Value| {
        fs::write(target.path().join("config.json"), config.to_string()).unwrap();
        Pretrained::open_without_weights(target.path())
    };
    let architecture = open(&config).unwrap().architecture().clone();
    assert_eq!(architecture, *model.architecture());

    // written back in the keys of transformers' class too
    let (parameters, _) = model.parameters().unwrap();
    let written = target.path().join("written");
    open(&config).unwrap().write(&written, &parameters).unwrap();
    let again = Pretrained::open(&written).unwrap();
    assert_eq!(again.architecture(), model.architecture());
    assert_eq!(again.parameters().unwrap().0, parameters);
    let keys = |folder: &Path| -> Map<String, Value> {
        serde_json::from_str(&fs::read_to_string(folder.join("config.json")).unwrap()).unwrap()
    };
    let found = keys(&written);
    let ends =
        ["_size", "_layers", "_heads", "_embeddings", "_act", "_eps", "_prob", "rope_parameters"];
    for (key, value) in keys(&folder("nomic")) {
        if ends.iter().any(|end| key.ends_with(end)) {
            assert_eq!(found.get(&key), Some(&value), "{key}");
        }
    }

    for (key, value) in [
        ("prenorm", json!(true)),
        ("rotary_emb_fraction", json!(0.5)),
        ("rotary_emb_fraction", json!(null)),
    ] {
        let mut changed = config.clone();
        changed[key] = value;
        let error = open(&changed).unwrap_err().to_string();
        assert!(error.contains(&format!("{key} = ")), "{error}");
    }
}
