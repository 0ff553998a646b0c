//! Update rules: against Burn's, against the same rules on numbers of 64 bits, and of groups.

use burn::module::Module;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{
    AdamConfig, AdamWConfig, AdjustLrFn, GradientsParams, LionConfig, MuonConfig, SgdConfig,
};
use burn::tensor::{DType, Tensor};
use dsokr_nn::parameters::{Parameter, collect};
use dsokr_nn::{Encoder, Mlp, Model, Pass};
use dsokr_train::{GroupConfig, OptimizerName, TrainingConfig, Update};

use crate::common::{Problem, Shared, Steps, Table, apart, bag, cast, dense, mlp, rows, values};

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i + seed) * 7919 % 1009) as f32 - 504.0) / 300.0).collect()
}

/// Returns the table after five steps with changing gradients, in 32 or 64 bits.
fn stepped(mut step: impl FnMut(Table, GradientsParams) -> Table, dtype: DType) -> Table {
    let size = 8_000 * 5;
    let mut table = cast(Table::new(&numbers(size, 0), 5), dtype);
    for number in 1..6 {
        let factors = cast(Table::new(&numbers(size, number), 5), dtype).rows.val();
        let loss = (table.rows.val() * factors.detach()).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &table);
        table = step(table, gradients);
    }
    table
}

/// Returns the table after five steps of our optimiser.
fn steps_of(config: &TrainingConfig, dtype: DType) -> Table {
    let mut own = None;
    let step = |table, gradients| {
        let own = own.get_or_insert_with(|| Update::new(config, &table));
        own.step(1e-2, table, gradients, None)
    };
    stepped(step, dtype)
}

#[test]
fn rules_in_32_bits_are_those_of_burn_in_64() {
    let epsilon = 1e-5;
    let weight_decay = 0.1;
    let config = |optimizer| TrainingConfig {
        optimizer,
        epsilon,
        weight_decay: optimizer.decays().then_some(weight_decay),
        ..TrainingConfig::default()
    };
    for (optimizer, mut theirs) in [
        (OptimizerName::Sgd, SgdConfig::new().init()),
        (OptimizerName::Adam, AdamConfig::new().with_epsilon(epsilon).init()),
        (
            OptimizerName::AdamW,
            AdamWConfig::new().with_epsilon(epsilon).with_weight_decay(weight_decay).init(),
        ),
        (
            OptimizerName::Lion,
            LionConfig::new().with_beta_2(0.999).with_weight_decay(weight_decay).init(),
        ),
        (
            OptimizerName::Muon,
            MuonConfig::new()
                .with_weight_decay(Some(WeightDecayConfig::new(weight_decay)))
                .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW)
                .init(),
        ),
    ] {
        let ours = values(&steps_of(&config(optimizer), DType::F32));
        let wide = values(&steps_of(&config(optimizer), DType::F64));
        let step = |table, gradients| theirs.step(1e-2, table, gradients);
        let theirs = values(&stepped(step, DType::F64));
        assert!(apart(&ours, &theirs) < 1e-6, "{optimizer:?}");
        assert!(apart(&wide, &theirs) < 1e-6, "{optimizer:?} of 64 bits");
    }
}

#[test]
fn groups_have_their_own_rule_and_rate() {
    let encoder = mlp(1, &[], 0.0);
    let parameters = "bias".into();
    let optimizer = OptimizerName::Sgd;
    let group = GroupConfig {
        parameters,
        optimizer: Some(optimizer),
        learning_rate: Some(0.25),
        weight_decay: None,
    };
    let groups = vec![group];
    let optimizer = OptimizerName::Adam;
    let learning_rate = 0.1;
    let config = TrainingConfig { optimizer, learning_rate, groups, ..TrainingConfig::default() };
    let sum = encoder.forward(&[&vec![1.0]], Pass::Evaluate).sum() * 2.0;
    let gradients = GradientsParams::from_grads(sum.backward(), &encoder);
    let before = collect(&encoder);
    // halfway through a warm-up, both rates are halved
    let after = collect(&Update::new(&config, &encoder).step(0.05, encoder, gradients, None));
    for (name, moved) in [("layers.0.bias", 0.125 * 2.0), ("layers.0.weight", 0.05)] {
        let values = before[name].values.iter().zip(&*after[name].values);
        assert!(values.into_iter().all(|(a, b)| (a - b - moved).abs() < 1e-5), "{name}");
    }
}

#[test]
fn groups_are_patterns_of_paths() {
    let group =
        |parameters: &str| GroupConfig { parameters: parameters.into(), ..Default::default() };
    let path = "encoder.body.layers.3.query.bias";
    for pattern in ["bias", "layers.3", "layers.*.bias", "body.*query*", "*"] {
        assert!(group(pattern).holds(path), "{pattern}");
    }
    for pattern in ["table", "layers.2", "bias.*.layers", "layers.*.weight"] {
        assert!(!group(pattern).holds(path), "{pattern}");
    }
}

/// Returns how far each parameter of a model moves in a step of AdamW without a gradient: by its rate times its decay of each value.
/// `sum` is a number that depends on all of them.
fn shares<M: Module>(
    config: &TrainingConfig,
    model: M,
    sum: impl Fn(&M) -> Tensor<1>,
) -> Vec<(String, f32)> {
    let before = collect(&model);
    let mut update = Update::new(config, &model);
    let zero = sum(&model) * 0.0;
    let gradients = GradientsParams::from_grads(zero.backward(), &model);
    let after = collect(&update.step(config.learning_rate, model, gradients, None));
    let share = |(name, before): (&String, &Parameter)| {
        let largest = |values: &[f32]| values.iter().fold(0.0, |all: f32, v| all.max(v.abs()));
        let before_largest = largest(&before.values);
        let moved = before_largest - largest(&after[name].values);
        (name.clone(), if before_largest == 0.0 { 0.0 } else { moved / before_largest })
    };
    before.iter().map(share).collect()
}

/// Checks the shares of parameters with these names.
fn check_shares(found: &[(String, f32)], expected: &[(&str, f32)]) {
    for (name, share) in expected {
        let (_, found) = found.iter().find(|(other, _)| other == name).unwrap();
        assert!((found - share).abs() < 1e-6, "{name}: {found}, not {share}");
    }
}

#[test]
fn layers_have_rates_of_their_own_and_groups_decays() {
    let of_mlp = |config: &TrainingConfig| {
        let sum = |model: &Mlp| model.forward(&[&vec![1.0; 3]], Pass::Evaluate).sum();
        shares(config, mlp(3, &[4, 4], 0.0), sum)
    };
    let config = TrainingConfig {
        learning_rate: 0.1,
        weight_decay: Some(0.1),
        layer_decay: 0.5,
        ..TrainingConfig::default()
    };
    let plain = [
        ("layers.0.weight", 0.01 * 0.125),
        ("layers.1.weight", 0.01 * 0.25),
        ("layers.2.weight", 0.01 * 0.5),
        ("layers.2.bias", 0.0),
    ];
    check_shares(&of_mlp(&config), &plain);
    let group = GroupConfig {
        parameters: "layers.2".into(),
        weight_decay: Some(0.2),
        ..GroupConfig::default()
    };
    let own = [
        ("layers.1.weight", 0.01 * 0.25),
        ("layers.2.weight", 0.02 * 0.5),
        ("layers.2.bias", 0.02 * 0.5),
    ];
    check_shares(&of_mlp(&TrainingConfig { groups: vec![group], ..config }), &own);
}

/// An MLP's layers beside those of a transformer.
#[derive(Module, Debug)]
struct Beside {
    bag: Plain,
    body: Body,
}

#[derive(Module, Debug)]
struct Plain {
    layers: Vec<Table>,
}

#[derive(Module, Debug)]
struct Body {
    tokens: Table,
    layers: Vec<Block>,
}

/// A layer with a part.
#[derive(Module, Debug)]
struct Block {
    query: Table,
}

#[test]
fn layers_with_parts_are_counted_before_those_of_an_mlp_beside_them() {
    let table = || Table::new(&[1.0; 4], 2);
    let block = || Block { query: table() };
    let bag = Plain { layers: vec![table(), table(), table(), table()] };
    let body = Body { tokens: table(), layers: vec![block(), block()] };
    let sum = |model: &Beside| {
        let layers = model.body.layers.iter().map(|block| &block.query);
        let tables = model.bag.layers.iter().chain([&model.body.tokens]).chain(layers);
        tables.map(|table| table.rows.val().sum()).reduce(|all, table| all + table).unwrap()
    };
    let config = TrainingConfig {
        learning_rate: 0.1,
        weight_decay: Some(0.1),
        layer_decay: 0.5,
        ..TrainingConfig::default()
    };
    let expected = [
        ("bag.layers.0.rows", 0.01),
        ("bag.layers.3.rows", 0.01),
        ("body.tokens.rows", 0.01 * 0.125),
        ("body.layers.0.query.rows", 0.01 * 0.25),
        ("body.layers.1.query.rows", 0.01 * 0.5),
    ];
    check_shares(&shares(&config, Beside { bag, body }, sum), &expected);
}

/// Embeddings beside the module of the layers, below a bag that is beside both.
#[derive(Module, Debug)]
struct Outer {
    bag: Table,
    bert: Inner,
    head: Table,
}

#[derive(Module, Debug)]
struct Inner {
    embeddings: Table,
    encoder: Blocks,
    pooler: Table,
}

#[derive(Module, Debug)]
struct Blocks {
    layer: Vec<Block>,
}

#[test]
fn embeddings_beside_the_module_of_the_layers_have_the_lowest_rate() {
    let table = || Table::new(&[1.0; 4], 2);
    let block = || Block { query: table() };
    let encoder = Blocks { layer: vec![block(), block()] };
    let bert = Inner { embeddings: table(), encoder, pooler: table() };
    let sum = |model: &Outer| {
        let layers = model.bert.encoder.layer.iter().map(|block| &block.query);
        let beside = [&model.bag, &model.bert.embeddings, &model.bert.pooler, &model.head];
        let tables = beside.into_iter().chain(layers);
        tables.map(|table| table.rows.val().sum()).reduce(|all, table| all + table).unwrap()
    };
    let config = TrainingConfig {
        learning_rate: 0.1,
        weight_decay: Some(0.1),
        layer_decay: 0.5,
        ..TrainingConfig::default()
    };
    let expected = [
        ("bag.rows", 0.01),
        ("bert.embeddings.rows", 0.01 * 0.125),
        ("bert.encoder.layer.0.query.rows", 0.01 * 0.25),
        ("bert.encoder.layer.1.query.rows", 0.01 * 0.5),
        ("bert.pooler.rows", 0.01),
        ("head.rows", 0.01),
    ];
    check_shares(&shares(&config, Outer { bag: table(), bert, head: table() }, sum), &expected);
}

#[test]
fn frozen_parameters_stay_as_they_are_and_do_not_count_in_the_norm() {
    let trained = |groups| {
        let config = TrainingConfig {
            epochs: 1,
            batch: 8,
            warmup: 0,
            clip: 0.01,
            groups,
            ..Default::default()
        };
        let config = TrainingConfig { optimizer: OptimizerName::Sgd, learning_rate: 1.0, ..config };
        let problem = Problem::new(config, dense(8), &[1.0; 16]);
        let model = Model::new(mlp(5, &[3], 0.0));
        let before = values(&model);
        (before, values(&problem.train(model, &mut Steps::default()).unwrap().model))
    };
    let group = |parameters: &str| GroupConfig {
        parameters: parameters.into(),
        learning_rate: Some(0.0),
        ..GroupConfig::default()
    };
    let (before, after) = trained(vec![group("layers.1"), group("layers.*.weight")]);
    let moved = before.iter().filter(|(name, values)| after[*name] != **values);
    assert_eq!(moved.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["encoder.layers.0.bias"]);
    // the step is as long as the limit, although other gradients would have been longer
    let apart = before["encoder.layers.0.bias"].iter().zip(&after["encoder.layers.0.bias"]);
    let length = apart.map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
    assert!((length - 0.01).abs() < 1e-5, "{length}");
}

#[test]
fn a_model_without_a_trained_parameter_is_refused() {
    let all =
        GroupConfig { parameters: "*".into(), learning_rate: Some(0.0), ..Default::default() };
    let config = TrainingConfig { groups: vec![all], ..TrainingConfig::default() };
    let problem = Problem::new(config, dense(8), &[1.0; 16]);
    let trained = problem.train(Model::new(mlp(5, &[3], 0.0)), &mut Steps::default());
    let error = trained.err().unwrap();
    assert!(error.to_string().contains("none is trained"), "{error}");
}

#[test]
fn a_parameter_that_modules_share_is_changed_once_and_stays_shared() {
    let shared = Shared::new(&[1.0, 2.0, 3.0, 4.0], 2);
    let config = TrainingConfig { optimizer: OptimizerName::Adam, ..TrainingConfig::default() };
    let mut update = Update::new(&config, &shared);
    let mut stepped = shared;
    for _ in 0..3 {
        let loss = (stepped.one.rows.val() * stepped.other.rows.val()).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &stepped);
        stepped = update.step(0.1, stepped, gradients, None);
    }
    let values = values(&stepped);
    assert_eq!(values["one.rows"], values["other.rows"]);
    // Adam's steps have the length of the rate
    let expected = [0.7, 1.7, 2.7, 3.7];
    let near = |(a, b): (&f32, f32)| (a - b).abs() < 1e-2;
    assert!(values["one.rows"].iter().zip(expected).all(near), "{values:?}");
}

#[test]
fn the_gradient_of_a_parameter_that_modules_share_is_clipped_once() {
    let clip = 0.01;
    let config = TrainingConfig { clip, ..TrainingConfig::default() };
    let problem = Problem::new(config, vec![0, 1, 1], &[1.0, -1.0, 0.5, 2.0, 0.0, 3.0]);
    let (_, gradients) = problem.gradients(Model::new(Shared::new(&[0.0; 4], 2)));
    let gradient = &gradients["encoder.one.rows"];
    assert_eq!(gradient, &gradients["encoder.other.rows"]);
    let length = gradient.iter().map(|value| value * value).sum::<f32>().sqrt();
    assert!((length - clip).abs() < 1e-5 * clip, "{length}");
}

#[test]
fn adam_with_gradients_by_rows_is_adam_bit_for_bit() {
    for clip in [0.0, 0.05] {
        let trained = |micro_batch| {
            let batch = 2;
            let epochs = 3;
            let warmup = 0;
            // a batch that is one part of itself has gradients that are not by rows
            let config = TrainingConfig {
                batch,
                epochs,
                warmup,
                micro_batch,
                clip,
                ..TrainingConfig::default()
            };
            let problem = Problem::new(config, rows(6), &[1.0; 12]);
            values(
                &problem
                    .train(Model::new(bag(false, 10_000)), &mut Steps::default())
                    .unwrap()
                    .model,
            )
        };
        let apart = apart(&trained(2), &trained(0));
        assert!(apart < if clip > 0.0 { 1e-6 } else { f32::MIN_POSITIVE }, "{clip}: {apart}");
    }
}

#[test]
fn a_gradient_that_is_not_finite_makes_the_weights_nan_whatever_the_rule() {
    for optimizer in [
        OptimizerName::Sgd,
        OptimizerName::Adam,
        OptimizerName::AdamW,
        OptimizerName::Lion,
        OptimizerName::Muon,
    ] {
        for momentum in [None, Some(0.9)] {
            let has_momentum = matches!(optimizer, OptimizerName::Sgd | OptimizerName::Muon);
            let momentum = momentum.filter(|_| has_momentum);
            let config = TrainingConfig { optimizer, momentum, ..TrainingConfig::default() };
            let table = Table::new(&numbers(10, 0), 5);
            let loss = (table.rows.val() * f32::NAN).sum();
            let gradients = GradientsParams::from_grads(loss.backward(), &table);
            let table = Update::new(&config, &table).step(1e-2, table, gradients, None);
            let weights = collect(&table).into_values().next().unwrap();
            assert!(weights.values.iter().all(|weight| weight.is_nan()), "{optimizer:?}");
        }
    }
}
