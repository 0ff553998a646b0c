//! Update rules: against Burn's, against the same rules on numbers of 64 bits, and of groups.

use burn::module::Module;
use burn::optim::{AdamConfig, AdamWConfig, GradientsParams, SgdConfig};
use burn::tensor::DType;
use dsokr_nn::parameters::collect;
use dsokr_nn::{Encoder, Model, Pass};
use dsokr_train::{GroupConfig, OptimizerName, TrainingConfig, Update};

use crate::common::{Problem, Steps, Table, apart, bag, cast, mlp, rows, values};

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i + seed) * 7919 % 1009) as f32 - 504.0) / 300.0).collect()
}

/// The table after five steps with changing gradients, in 32 or 64 bits.
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

#[test]
fn rules_in_32_bits_are_those_of_burn_in_64() {
    let epsilon = 1e-5;
    let weight_decay = 0.1;
    let config = |optimizer| TrainingConfig {
        optimizer,
        epsilon,
        weight_decay: if optimizer == OptimizerName::AdamW { weight_decay } else { 0.0 },
        ..TrainingConfig::default()
    };
    for (optimizer, mut theirs) in [
        (OptimizerName::Sgd, SgdConfig::new().init()),
        (OptimizerName::Adam, AdamConfig::new().with_epsilon(epsilon).init()),
        (
            OptimizerName::AdamW,
            AdamWConfig::new().with_epsilon(epsilon).with_weight_decay(weight_decay).init(),
        ),
    ] {
        let mut own = Update::from_config(&config(optimizer));
        let step = |table, gradients| own.step(1e-2, table, gradients, None);
        let ours = values(&stepped(step, DType::F32));
        let mut own = Update::from_config(&config(optimizer));
        let step = |table, gradients| own.step(1e-2, table, gradients, None);
        let wide = values(&stepped(step, DType::F64));
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
    let groups = vec![GroupConfig { parameters, optimizer, learning_rate: 0.25 }];
    let optimizer = OptimizerName::Adam;
    let learning_rate = 0.1;
    let config = TrainingConfig { optimizer, learning_rate, groups, ..TrainingConfig::default() };
    let sum = encoder.forward(&[&vec![1.0]], Pass::Evaluate).sum() * 2.0;
    let gradients = GradientsParams::from_grads(sum.backward(), &encoder);
    let before = collect(&encoder);
    // halfway through a warm-up, both rates are halved
    let after = collect(&Update::from_config(&config).step(0.05, encoder, gradients, None));
    for (name, moved) in [("layers.0.bias", 0.125 * 2.0), ("layers.0.weight", 0.05)] {
        let values = before[name].values.iter().zip(&*after[name].values);
        assert!(values.into_iter().all(|(a, b)| (a - b - moved).abs() < 1e-5), "{name}");
    }
}

/// Two modules that share a parameter.
#[derive(Module, Debug)]
struct Shared {
    one: Table,
    other: Table,
}

#[test]
fn a_parameter_that_modules_share_is_changed_once_and_stays_shared() {
    let table = Table::new(&[1.0, 2.0, 3.0, 4.0], 2);
    let shared = Shared { one: table.clone(), other: table.clone() };
    let config = TrainingConfig { optimizer: OptimizerName::Adam, ..TrainingConfig::default() };
    let mut update = Update::from_config(&config);
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
