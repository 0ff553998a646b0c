//! The built-in encoders keep the contract; files hold what modules held.

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};
use dsokr_basis::features::SparseRow;
use dsokr_core::random::generator;
use dsokr_data::featurizers::{NgramConfig, NgramKind, TfIdf};
use dsokr_nn::bag::BagBeside;
use dsokr_nn::pretrained::Tokenizer;
use dsokr_nn::{
    BagConfig, Encoder, Mlp, MlpConfig, Model, NgramBag, Pass, PeakList, PeakTransformer,
    PeakTransformerConfig, Pooling, Start, TokenIds, TokenIdsBuilder, Transformer,
    TransformerConfig, contract, init, parameters,
};

use crate::host;

const TEXTS: [&str; 5] = [
    "the molecule is a methyl ester",
    "a long chain fatty acid with two double bonds",
    "an amine",
    "the methyl ester of an amino acid, a member of the class of amines",
    "a steroid",
];

fn device() -> Device {
    Device::flex().autodiff()
}

fn offset(p: usize) -> Vec<f32> {
    (0..p).map(|i| 0.1 * i as f32 - 0.2).collect()
}

/// Returns a bag over the words and pairs of words of the texts, and their rows.
pub fn bag(config: &BagConfig, p: usize) -> (NgramBag, Vec<SparseRow>) {
    let words = NgramConfig::new(NgramKind::Words, 1, 2);
    let tf_idf = TfIdf::fit(&[words], TEXTS.into_iter()).unwrap();
    let rows = TEXTS.iter().map(|text| tf_idf.transform(text)).collect();
    let mut random = generator(3, "test", 0);
    (
        config.init(
            tf_idf.width(),
            Start { offset: &offset(p), random: &mut random, device: &device() },
        ),
        rows,
    )
}

pub fn bag_config() -> BagConfig {
    BagConfig { embedding: 12, hidden: vec![10], ..Default::default() }
}

pub fn mlp(hidden: &[usize]) -> (Mlp, Vec<Vec<f32>>) {
    let config = MlpConfig { hidden: hidden.to_vec(), dropout: 0.3 };
    let rows = (0..4).map(|i| (0..6).map(|j| ((i * 6 + j) as f32).sin()).collect()).collect();
    (
        config.init(
            6,
            Start { offset: &offset(5), random: &mut generator(1, "test", 0), device: &device() },
        ),
        rows,
    )
}

pub fn transformer(pooling: Pooling) -> (Transformer, Vec<TokenIds>) {
    let config = TransformerConfig {
        max_length: 16,
        layers: 2,
        width: 16,
        heads: 4,
        feed_forward: 32,
        pooling,
        ..TransformerConfig::default()
    };
    let tokens = Tokenizer::fit(&config.tokens, TEXTS.into_iter()).unwrap();
    let encode = |text: &&str| tokens.encode(text, config.max_length).unwrap().0.into();
    let ids = TEXTS.iter().map(encode).collect();
    let mut random = generator(2, "test", 0);
    (
        config.init(
            tokens.vocabulary(),
            Start { offset: &offset(5), random: &mut random, device: &device() },
        ),
        ids,
    )
}

pub fn peaks() -> (PeakTransformer, Vec<PeakList>) {
    let config = PeakTransformerConfig {
        wavelengths: 6,
        width: 16,
        heads: 4,
        feed_forward: 32,
        ..PeakTransformerConfig::default()
    };
    let spectrum = |n: u32| {
        let peak = |i| (60.0 + 17.3 * f64::from(i * n), 1.0 / f64::from(1 + i));
        (100.0 * f64::from(n), (0..n).map(peak).collect())
    };
    let mut random = generator(2, "test", 0);
    let start = Start { offset: &offset(5), random: &mut random, device: &device() };
    (config.init(start), (1..6).map(spectrum).collect())
}

/// Moves every parameter a little, so that those which start at zero take part.
fn stepped<E: Encoder>(encoder: E, inputs: &[E::Input]) -> E {
    let all: Vec<&E::Input> = inputs.iter().collect();
    let mut optimizer = SgdConfig::new().init();
    let mut encoder = encoder;
    for key in 0..3 {
        let loss = (encoder.forward(&all, Pass::train(key)) - 0.7).square().sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &encoder);
        encoder = optimizer.step(0.02, encoder, gradients);
    }
    encoder
}

fn keeps_the_contract<E: Encoder>((encoder, inputs): (E, Vec<E::Input>)) {
    let encoder = stepped(encoder, &inputs);
    if let Err(breach) = contract::check(&encoder, &inputs) {
        panic!("{breach}");
    }
}

/// Compares the rows of a batch that is encoded in two parts with those of the whole batch, dropout included.
fn parts_have_the_masks_of_the_batch<E: Encoder>((encoder, inputs): (E, Vec<E::Input>)) {
    let model = Model::new(stepped(encoder, &inputs));
    let all: Vec<&E::Input> = inputs.iter().collect();
    let whole = host(model.encoder.forward(&all, Pass::train(9)));
    for first in 1..all.len() {
        let (before, rest) = all.split_at(first);
        let part = |preceding: &[&E::Input], part: &[&E::Input]| {
            host(model.encoder.forward(part, model.pass_after(9, preceding.iter().copied())))
        };
        let parts = [part(&[], before), part(before, rest)].concat();
        let apart = whole.iter().zip(&parts).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-5, "{first}: {apart}");
        // masks that are counted from the start of the part are others
        assert_ne!(part(&[], rest), part(before, rest));
    }
}

#[test]
fn parts_of_a_batch_have_its_masks() {
    parts_have_the_masks_of_the_batch(mlp(&[16, 8]));
    parts_have_the_masks_of_the_batch(bag(&BagConfig { entry_dropout: 0.4, ..bag_config() }, 5));
    for pooling in [Pooling::First, Pooling::Mean, Pooling::Max] {
        parts_have_the_masks_of_the_batch(transformer(pooling));
    }
    let (bag, rows) = bag(&BagConfig { entry_dropout: 0.4, ..bag_config() }, 5);
    let (beside, ids) = transformer(Pooling::Mean);
    parts_have_the_masks_of_the_batch((
        BagBeside { bag, beside },
        rows.into_iter().zip(ids).collect(),
    ));
}

#[test]
fn bags_keep_the_contract() {
    keeps_the_contract(bag(&bag_config(), 5));
    keeps_the_contract(bag(&BagConfig { linear: false, ..bag_config() }, 5));
    keeps_the_contract(bag(&BagConfig { hidden: vec![], ..bag_config() }, 5));
    keeps_the_contract(bag(&BagConfig { entry_dropout: 0.4, ..bag_config() }, 5));
}

#[test]
fn mlps_keep_the_contract() {
    keeps_the_contract(mlp(&[8, 7]));
    keeps_the_contract(mlp(&[]));
}

#[test]
fn transformers_keep_the_contract() {
    keeps_the_contract(transformer(Pooling::Mean));
    keeps_the_contract(transformer(Pooling::First));
    keeps_the_contract(peaks());
}

#[test]
fn the_contract_notices_an_encoder_that_mixes_its_batch() {
    #[derive(Module, Debug)]
    struct Mixing {
        inner: Mlp,
    }
    impl Encoder for Mixing {
        type Input = Vec<f32>;
        fn dimension(&self) -> usize {
            self.inner.dimension()
        }
        fn forward(&self, batch: &[&Vec<f32>], pass: Pass) -> Tensor<2> {
            let z = self.inner.forward(batch, pass);
            z.clone() - z.mean_dim(0)
        }
    }
    let (mlp, rows) = mlp(&[8]);
    assert!(contract::check(&Mixing { inner: mlp }, &rows).is_err());
}

#[test]
fn a_bag_with_a_linear_path_starts_at_the_offset() {
    let (encoder, rows) = bag(&bag_config(), 5);
    assert_eq!(host(encoder.forward(&[&rows[0]], Pass::Evaluate)), offset(5));
}

#[test]
fn a_text_without_known_ngrams_is_encoded() {
    let (encoder, _) = bag(&bag_config(), 5);
    let z = encoder.forward(&[&SparseRow::default()], Pass::Evaluate);
    assert_eq!(z.dims(), [1, 5]);
}

#[test]
fn dropout_acts_in_training_only_and_changes_with_the_key() {
    let (encoder, rows) = mlp(&[64]);
    let all: Vec<&Vec<f32>> = rows.iter().collect();
    let z = |pass| host(encoder.forward(&all, pass));
    assert_ne!(z(Pass::train(1)), z(Pass::train(2)));
    assert_ne!(z(Pass::train(1)), z(Pass::Evaluate));
}

#[test]
fn padding_does_not_reach_the_output() {
    let (encoder, ids) = transformer(Pooling::Mean);
    let encoder = stepped(encoder, &ids);
    let alone = host(encoder.forward(&[&ids[2]], Pass::Evaluate));
    let longest: TokenIds = ids.iter().max_by_key(|ids| ids.len()).unwrap().clone();
    assert!(ids[2].len() < longest.len());
    let padded = host(encoder.forward(&[&ids[2], &longest], Pass::Evaluate));
    assert!(alone.iter().zip(&padded).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn parameters_come_back_and_wrong_ones_are_refused() {
    let (encoder, rows) = mlp(&[8]);
    let saved = parameters::collect(&stepped(encoder.clone(), &rows));
    let restored = parameters::restore(encoder.clone(), saved.clone()).unwrap();
    assert_eq!(parameters::collect(&restored), saved);

    let change = |edit: &dyn Fn(&mut parameters::Parameters)| {
        let mut edited = saved.clone();
        edit(&mut edited);
        parameters::restore(encoder.clone(), edited).unwrap_err()
    };
    let missing = change(&|p| drop(p.remove("layers.0.weight")));
    let text = missing.to_string();
    assert!(text.contains("1 (`layers.0.weight` [6, 8]) missing; 0 unknown"), "{text}");
    let unknown = change(&|p| drop(p.insert("more".into(), p["layers.0.bias"].clone())));
    let text = unknown.to_string();
    assert!(text.contains("0 missing; 1 (`more` [8]) unknown"), "{text}");
    let shape = change(&|p| p.get_mut("layers.0.bias").unwrap().shape = vec![2, 4]);
    assert!(shape.to_string().contains("has shape [2, 4], the model has [8]"), "{shape}");
    let nan = change(&|p| {
        p.get_mut("layers.0.bias").unwrap().values =
            [&[0.0; 3], &[f32::NAN; 5][..]].concat().into();
    });
    assert!(nan.to_string().ends_with("not finite (element 3)"), "{nan}");
}

#[test]
#[should_panic(expected = "row 0 of a batch has 3 numbers, the MLP reads 6")]
fn a_row_of_another_length_is_named() {
    let (encoder, _) = mlp(&[8]);
    // as many numbers as two rows have
    encoder.forward(&[&vec![0.5; 3], &vec![0.5; 9]], Pass::Evaluate);
}

#[test]
#[should_panic(expected = "row 2 of a batch has column 5000, the table has")]
fn a_column_beyond_the_table_of_a_bag_is_named() {
    let (encoder, rows) = bag(&bag_config(), 3);
    encoder.forward(&[&rows[0], &rows[1], &vec![(5000, 1.0)]], Pass::Evaluate);
}

#[test]
fn settings_out_of_range_are_named() {
    let heads = TransformerConfig { heads: 5, ..TransformerConfig::default() }.validate();
    assert!(heads.unwrap_err().to_string().contains("heads = 5"));
    let drop = MlpConfig { dropout: 1.0, ..MlpConfig::default() }.validate();
    assert!(drop.unwrap_err().to_string().contains("[0, 1)"));
    let all = BagConfig { entry_dropout: 1.0, ..bag_config() }.validate("ngram_dropout");
    assert!(all.unwrap_err().to_string().contains("ngram_dropout = 1"));
}

#[test]
fn a_head_starts_at_the_targets_scale_whatever_their_number() {
    for p in [10, 1000] {
        let mut random = generator(0, "test", p as u64);
        let device = Device::flex();
        let head = init::head(64, &vec![0.5; p], &mut random, &device);
        let x = init::normal([200, 64], 1.0, &mut random, &device).val();
        let apart = (head.forward(x) - 0.5).square().sum_dim(1).mean().into_scalar::<f32>();
        assert!((apart - 1.0 / 3.0).abs() < 0.05, "{apart} for {p} coordinates");
    }
}

/// Ids in memory and in a file (more than 2²²) are the ids that were given.
#[test]
fn ids_in_memory_and_in_a_file_are_those_that_were_given() {
    assert!(TokenIdsBuilder::default().finish().unwrap().is_empty());
    let few: Vec<Vec<u32>> = (0..50).map(|i| (0..i % 7).map(|j| i * 7 + j).collect()).collect();
    let long: Vec<u32> = (0..1 << 21).collect();
    let many = [few.clone(), vec![long; 3], few.clone()].concat();
    for texts in [few, many] {
        let mut builder = TokenIdsBuilder::default();
        texts.iter().for_each(|text| builder.push(text).unwrap());
        let shared = builder.finish().unwrap();
        assert_eq!(shared.len(), texts.len());
        assert!(shared.iter().zip(&texts).all(|(shared, text)| **shared == **text));
    }
}
