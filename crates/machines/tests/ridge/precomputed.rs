//! Solvers that sketch inputs, Lipschitz losses included, work on a Gram matrix in the place of rows and a kernel.

use std::collections::BTreeMap;

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Features, Kernel, Mat, OutputKernel, RowSource};
use dsokr_machines::{
    GramMatrix, KernelModel, LastSystem, Solver, Targets, TrainingInputs, nystrom_features,
};

use crate::naive::{Rows, add, product, solve, transpose};

const N: usize = 60;
const NEW: usize = 20;

fn rows(from: usize, count: usize) -> Features {
    let value = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 1009.0;
    let values: Vec<f32> = (3 * from..3 * (from + count)).map(value).collect();
    DenseRows::new(3, values).unwrap().into()
}

#[test]
fn a_gram_matrix_gives_the_model_of_its_rows() {
    let train = rows(0, N);
    let new = rows(N, NEW);
    let kernel = Kernel::Gaussian { gamma: 2.0 };
    let gram = kernel.block(&train, &train).unwrap();
    let values = kernel.block(&new, &train).unwrap();
    let wave = |at: usize| (at as f64 * 0.37).sin();
    let targets = Targets::new(2, (0..2 * N).map(wave).collect::<Vec<f64>>()).unwrap();
    for solver in [
        r#"{"name": "sketched", "sketch": {"size": 25}}"#,
        r#"{"name": "sketched", "sketch": {"size": 25, "method": {"kind": "gaussian"}}}"#,
        r#"{"name": "conjugate-gradients", "sketch": {"size": 25}, "iterations": 60}"#,
        r#"{"name": "divide-and-conquer", "sketch": {"size": 10}, "parts": 4}"#,
        r#"{"name": "lipschitz", "sketch": {"size": 25}, "loss": {"name": "huber", "kappa": 0.5}}"#,
        r#"{"name": "lipschitz", "sketch": {"size": 25, "method": {"kind": "gaussian"}}, "loss": {"name": "pinball", "levels": [0.3, 0.6]}}"#,
    ] {
        let solver: Solver = serde_json::from_str(solver).unwrap();
        let leave_one_out = matches!(solver, Solver::Sketched(_));
        let fit = |inputs| {
            let prepared = solver.prepare(inputs, 5, LastSystem::default()).unwrap();
            let fitted = prepared.fit(&targets, 1e-3, leave_one_out).unwrap();
            let best = prepared.spectrum(&targets).unwrap().is_some();
            (fitted, best)
        };
        let ((by_rows, held_out), _) = fit(TrainingInputs::rows(kernel.clone(), &train));
        let ((by_gram, of_gram), has_spectrum) =
            fit(TrainingInputs::Gram(&GramMatrix::new(gram.clone())));
        let close = |a: &[f32], b: &[f32]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
        };
        let expected = by_rows.predict(&new).unwrap();
        assert_eq!(expected.len(), 2 * new.len());
        assert!(close(&by_gram.predict_gram(values.as_ref()).unwrap(), &expected), "{solver:?}");
        assert_eq!(held_out.is_some(), of_gram.is_some());
        assert!(close(&held_out.unwrap_or_default(), &of_gram.unwrap_or_default()), "{solver:?}");
        assert_eq!(has_spectrum, leave_one_out);
        assert!(by_gram.predict(&new).is_err());
        let folder = tempfile::tempdir().unwrap();
        by_gram.save(folder.path(), &BTreeMap::new()).unwrap();
        let stored = KernelModel::open(folder.path()).unwrap().unwrap();
        let again = KernelModel::read(&stored).unwrap().predict_gram(values.as_ref()).unwrap();
        assert!(close(&again, &expected), "{solver:?}");
    }
}

/// `ĥ(x) = Ψᵀ K_nm (K_nmᵀ K_nm + nλ K_mm)⁻¹ k^x` of the values with m anchors (thesis, proposition 4.2).
#[test]
fn values_with_anchors_give_the_sketched_solution() {
    let train = rows(0, N);
    let new = rows(N, NEW);
    let kernel = Kernel::Gaussian { gamma: 30.0 };
    let picked = train.select(&(0..N).step_by(4).collect::<Vec<_>>()).unwrap();
    let block = |a: &Features, b: &Features| kernel.block(a, b).unwrap();
    let values = block(&train, &picked);
    let new_values = block(&new, &picked);
    let among = block(&picked, &picked);
    let targets = Targets::new(1, (0..N).map(|at| (at as f64 * 0.37).sin()).collect::<Vec<_>>());
    let lambda = 1e-3;
    let features = |values: &Mat<f64>| nystrom_features(values.as_ref(), among.as_ref()).unwrap();
    let of_train = features(&values);
    let of_new = features(&new_values);
    let inputs = TrainingInputs::rows(Kernel::Linear, &of_train);
    let prepared = Solver::default().prepare(inputs, 0, LastSystem::default()).unwrap();
    let (model, _) = prepared.fit(&targets.unwrap(), lambda, false).unwrap();
    let actual = model.predict(&of_new).unwrap();

    let listed = |matrix: &Mat<f64>| -> Rows {
        (0..matrix.nrows()).map(|i| matrix.row(i).iter().copied().collect()).collect()
    };
    let k = listed(&values);
    let sides = (0..N).map(|at| vec![(at as f64 * 0.37).sin()]).collect();
    let turned = transpose(&k);
    let system = add(&product(&turned, &k), N as f64 * lambda, &listed(&among));
    let expected = product(&listed(&new_values), &solve(&system, &product(&turned, &sides)));
    for (value, expected) in actual.iter().zip(expected) {
        assert!((f64::from(*value) - expected[0]).abs() < 1e-5, "{value} {expected:?}");
    }
    assert!(nystrom_features(values.as_ref(), values.as_ref()).is_err());
}
