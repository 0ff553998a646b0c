//! The parts of transformers: tokens, packed texts, and the body with its options.

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use dsokr_core::random::generator;
use dsokr_kernels::Sequences;
use dsokr_nn::pretrained::Tokenizer;
use dsokr_nn::transformer::{Activation, Architecture, Body, TokenKind, TokensConfig};
use dsokr_nn::{Gradients, Pass, Pooling, Precision, parameters};

use crate::host;

pub fn body(device: &Device) -> Body {
    let architecture = Architecture {
        vocabulary: 50,
        positions: 22,
        first_position: 2,
        types: 2,
        layers: 3,
        width: 16,
        heads: 4,
        feed_forward: 40,
        epsilon: 1e-12,
        dropout: 0.2,
        attention_dropout: 0.1,
        inner_dropout: 0.3,
        precision: Precision::F32,
        ..Architecture::default()
    };
    Body::init(&architecture, &mut generator(3, "parameters", 0), device)
}

pub fn with(body: &Body, change: impl FnOnce(&mut Architecture)) -> Body {
    let mut body = body.clone();
    change(&mut body.architecture);
    body
}

pub const TEXTS: [&[u32]; 3] = [&[2, 7, 9, 3], &[2], &[2, 11, 12, 13, 14, 15, 16, 17, 18, 19]];

#[test]
fn pooled_vectors_are_those_of_the_hidden_ones() {
    let body = body(&Device::flex());
    let hidden = host(body.hidden(&TEXTS, Pass::Evaluate));
    let mut rows = hidden.chunks_exact(16);
    for (i, text) in TEXTS.iter().enumerate() {
        let rows: Vec<&[f32]> = rows.by_ref().take(text.len()).collect();
        let column = |j: usize| rows.iter().map(move |row| row[j]);
        let first: Vec<f32> = rows[0].to_vec();
        let mean: Vec<f32> = (0..16).map(|j| column(j).sum::<f32>() / text.len() as f32).collect();
        let max: Vec<f32> = (0..16).map(|j| column(j).fold(f32::MIN, f32::max)).collect();
        let cases = [(Pooling::First, first), (Pooling::Mean, mean), (Pooling::Max, max)];
        for (pooling, expected) in cases {
            let pooled = host(body.pooled(&TEXTS, pooling, Pass::Evaluate));
            let row = &pooled[i * 16..(i + 1) * 16];
            let apart = row.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f32::max) < 1e-5, "{pooling:?} of text {i}");
        }
    }
}

/// By `create_position_ids_from_input_ids` of transformers.
#[test]
fn a_token_for_padding_has_a_position_of_its_own() {
    let plain = body(&Device::flex());
    let padded = with(&plain, |sizes| sizes.padding = Some(1));
    let hidden = |body: &Body, text: &[u32]| host(body.hidden(&[TEXTS[2], text], Pass::Evaluate));
    assert_eq!(hidden(&plain, TEXTS[0]), hidden(&padded, TEXTS[0]));
    // the rows 2, 1, 3, 4 of the table, in the places of 2, 3, 4, 5
    let text: &[u32] = &[2, 1, 9, 3];
    let only = |body: &Body| host(body.hidden(&[text], Pass::Evaluate));
    let mut all = parameters::collect(&plain);
    let table = all.get_mut("positions").unwrap();
    let values = table.values.to_vec();
    let order = (0..3).chain([1]).chain(3..21);
    let moved: Vec<f32> = order.flat_map(|row| values[row * 16..][..16].to_vec()).collect();
    table.values = moved.into();
    let moved = parameters::restore(plain.clone(), all).unwrap();
    assert_eq!(only(&padded), only(&moved));
    assert_ne!(only(&padded), only(&plain));
}

#[test]
fn first_tokens_are_dropped_behind_the_last_layer_too() {
    let body = with(&body(&Device::flex()), |sizes| {
        sizes.dropout = 0.5;
        sizes.drops_everywhere = true;
    });
    let vectors = host(body.pooled(&TEXTS, Pooling::First, Pass::train(3)));
    let zeros = vectors.iter().filter(|value| **value == 0.0).count();
    // of 48 numbers
    assert!((12..=36).contains(&zeros), "{zeros}");
}

/// Returns the value and all gradients of a sum of squares in training.
fn outcome(body: &Body, pooling: Pooling) -> (Vec<f32>, Vec<(String, Vec<f32>)>) {
    let y = body.pooled(&TEXTS, pooling, Pass::train(8));
    let value = host(y.clone());
    let gradients = GradientsParams::from_grads(y.square().sum().backward(), body);
    let mut gradients = Gradients::from(gradients);
    let mut all = Vec::new();
    parameters::visit(body, |name, parameter| {
        let gradient = parameter.take_gradient(&mut gradients);
        all.extend(gradient.map(|gradient| (name.to_owned(), gradient)));
    });
    (value, all)
}

#[test]
fn recomputation_changes_neither_values_nor_gradients() {
    let plain = body(&Device::flex().autodiff());
    let lean = with(&plain, |sizes| sizes.recompute = true);
    for pooling in [Pooling::First, Pooling::Mean] {
        let expected = outcome(&plain, pooling);
        let recomputed = outcome(&lean, pooling);
        assert_eq!(expected.0, recomputed.0);
        assert_eq!(expected.1.len(), 3 + 2 + 3 * 12);
        assert_eq!(expected.1, recomputed.1);
    }
}

#[test]
fn narrow_products_are_near() {
    let plain = body(&Device::flex().autodiff());
    let apart = |a: &[f32], b: &[f32]| {
        let largest = a.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / largest
    };
    for (pooling, precision, bound) in
        [(Pooling::Mean, Precision::Bf16, 5e-2), (Pooling::First, Precision::Bf16, 5e-2)]
    {
        let (expected, gradients) = outcome(&plain, pooling);
        for recompute in [false, true] {
            let narrow = with(&plain, |sizes| {
                sizes.precision = precision;
                sizes.recompute = recompute;
            });
            let (value, narrow_gradients) = outcome(&narrow, pooling);
            let difference = apart(&expected, &value);
            assert!(difference > 0.0 && difference < bound, "{precision:?}: {difference}");
            assert_eq!(narrow_gradients.len(), gradients.len());
            // of first tokens the value is bounded, and not the gradients
            let gradients = gradients.iter().filter(|_| pooling == Pooling::Mean);
            for ((_, a), (_, b)) in gradients.zip(&narrow_gradients) {
                assert!(apart(a, b) < 10.0 * bound, "{precision:?}");
            }
        }
    }
}

#[test]
fn frozen_layers_get_no_gradient_and_the_others_the_same() {
    let free = body(&Device::flex().autodiff());
    let (value, all) = outcome(&free, Pooling::Mean);
    for recompute in [false, true] {
        let frozen = with(&free.clone().freeze(2), |sizes| sizes.recompute = recompute);
        let (same, some) = outcome(&frozen, Pooling::Mean);
        assert_eq!(value, same);
        assert_eq!(some.len(), 12);
        assert!(some.iter().all(|gradient| all.contains(gradient)));
    }
}

#[test]
fn characters_keep_their_case() {
    let config = TokensConfig { kind: TokenKind::Characters, vocabulary: 100, lowercase: false };
    let tokens = Tokenizer::fit(&config, ["CCO", "c1ccccc1"].into_iter()).unwrap();
    // [PAD] [UNK] [CLS] and the alphabet {1, C, O, c}
    assert_eq!(tokens.vocabulary(), 7);
    let (upper, _) = tokens.encode("CC", 16).unwrap();
    let (lower, _) = tokens.encode("cc", 16).unwrap();
    assert_eq!((upper.len(), lower.len(), upper[0]), (3, 3, 2));
    assert_ne!(upper, lower);
}

#[test]
fn byte_pairs_learn_frequent_words_and_texts_are_cut() {
    let config = TokensConfig { vocabulary: 60, ..TokensConfig::default() };
    let tokens =
        Tokenizer::fit(&config, ["methyl ester", "Methyl ether", "methyl amine"].into_iter());
    let tokens = tokens.unwrap();
    let (ids, cut) = tokens.encode("METHYL", 16).unwrap();
    assert_eq!((ids.len(), cut), (2, false));
    let (ids, cut) = tokens.encode("methyl methyl methyl", 2).unwrap();
    assert_eq!((ids.len(), cut), (2, true));
}

#[test]
fn training_is_deterministic_and_json_gives_back_the_same_ids() {
    let texts = ["a long chain fatty acid", "the methyl ester of a fatty acid"];
    let fit = || Tokenizer::fit(&TokensConfig::default(), texts.into_iter()).unwrap();
    let json = fit().json;
    assert_eq!(json, fit().json);
    let file = std::env::temp_dir().join(format!("dsokr-tokens-{}.json", std::process::id()));
    std::fs::write(&file, &json).unwrap();
    let read = Tokenizer::read_trained(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let text = "a methyl fatty chain, unseen ω";
    assert_eq!(read.encode(text, 64).unwrap(), fit().encode(text, 64).unwrap());
}

#[test]
fn texts_follow_one_another() {
    let packed = Sequences::packed([3, 1, 2]);
    assert_eq!((packed.bounds(), packed.rows(), packed.longest()), (&[0, 3, 4, 6][..], 6, 3));
    assert_eq!(packed.ranges().collect::<Vec<_>>(), [0..3, 3..4, 4..6]);
}

#[test]
#[should_panic(expected = "without tokens")]
fn a_text_without_tokens_is_refused() {
    Sequences::packed([2, 0]);
}

/// Values and derivatives at −3, −0.75, 0.25 and 1.5 are those of transformers 5.24 and PyTorch.
#[test]
fn activations_are_those_of_pytorch() {
    #[rustfmt::skip]
    let cases = [
        (Activation::Gelu, [-0.004050, -0.169971, 0.149677, 1.399789], [-0.011946, 0.000774, 0.695373, 1.127469]),
        (Activation::GeluTanh, [-0.003637, -0.170039, 0.149675, 1.399572], [-0.011584, 0.001062, 0.695354, 1.127711]),
        (Activation::QuickGelu, [-0.018071, -0.163610, 0.151200, 1.391662], [-0.024548, 0.000428, 0.706500, 1.098848]),
        (Activation::Relu, [0.0, 0.0, 0.25, 1.5], [0.0, 0.0, 1.0, 1.0]),
        (Activation::LeakyRelu, [-0.03, -0.0075, 0.25, 1.5], [0.01, 0.01, 1.0, 1.0]),
        (Activation::Silu, [-0.142278, -0.240616, 0.140544, 1.226362], [-0.088104, 0.157400, 0.623710, 1.041294]),
        (Activation::Mish, [-0.145647, -0.276495, 0.169572, 1.403378], [-0.093393, 0.160746, 0.754173, 1.088488]),
        (Activation::Sigmoid, [0.047426, 0.320821, 0.562177, 0.817574], [0.045177, 0.217895, 0.246134, 0.149146]),
        (Activation::Tanh, [-0.995055, -0.635149, 0.244919, 0.905148], [0.009866, 0.596586, 0.940015, 0.180707]),
        (Activation::Identity, [-3.0, -0.75, 0.25, 1.5], [1.0, 1.0, 1.0, 1.0]),
    ];
    for (activation, values, slopes) in cases {
        let points = [[-3.0, -0.75, 0.25, 1.5]];
        let x = Tensor::<2>::from_floats(points, &Device::flex().autodiff()).require_grad();
        let y = activation.apply(x.clone());
        let gradient = x.grad(&y.clone().sum().backward()).unwrap();
        for (actual, expected) in [(host(y), values), (host(gradient), slopes)] {
            for (a, b) in actual.iter().zip(expected) {
                assert!((a - b).abs() < 1e-5, "{activation:?}: {actual:?} {expected:?}");
            }
        }
    }
}
