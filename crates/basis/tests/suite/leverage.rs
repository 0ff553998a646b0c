//! Approximate leverage scores against the exact ones.

use dsokr_basis::leverage;
use dsokr_basis::{Basis, Kernel, SketchKind, SketchOptions};
use dsokr_core::Processes;
use dsokr_core::random::generator;

use crate::support::*;

/// Computes `(K (K + nλI)⁻¹)_ii` by eigenvalues.
fn exact(k: &Rows, lambda: f64) -> Vec<f64> {
    let n = k.len();
    let (values, vectors) = jacobi(k);
    let shrunk = |value: f64| value.max(0.0) / (value.max(0.0) + n as f64 * lambda);
    (0..n)
        .map(|i| values.iter().zip(&vectors).map(|(&v, u)| shrunk(v) * u[i] * u[i]).sum())
        .collect()
}

#[test]
fn scores_are_exact_with_all_columns() {
    for (kernel, rows) in cases(40) {
        let k = gram(&kernel, &expand(&rows));
        for lambda in [1e-3, 0.1] {
            let actual =
                leverage::scores(kernel.clone(), &rows, lambda, 40, 0, &Processes::default())
                    .unwrap();
            let what = format!("{}, λ = {lambda}", describe(&kernel, &rows));
            assert_close(&vec![actual], &vec![exact(&k, lambda)], 1e-4, &what);
        }
    }
}

/// `B Bᵀ ⪯ K` and x ↦ x / (x + nλ) is operator monotone: fewer pilots never raise a score.
#[test]
fn fewer_pilots_bound_the_scores_from_below() {
    for (kernel, rows) in cases(60) {
        let expected = exact(&gram(&kernel, &expand(&rows)), 0.01);
        for pilot in [3, 20] {
            let actual =
                leverage::scores(kernel.clone(), &rows, 0.01, pilot, 5, &Processes::default())
                    .unwrap();
            let what = describe(&kernel, &rows);
            for (actual, expected) in actual.iter().zip(&expected) {
                assert!(
                    *actual >= 0.0 && *actual <= expected + 1e-4,
                    "{what}: {actual}, {expected}"
                );
            }
            let sum: f64 = actual.iter().sum();
            assert!(
                sum <= pilot as f64 && sum > 0.3 * expected.iter().sum::<f64>().min(pilot as f64)
            );
        }
    }
}

/// An output that stands alone among copies of another has the larger score, and gets sampled.
#[test]
fn an_outlier_stands_out() {
    let mut random = generator(1, "outlier", 0);
    let rows = dense(4, 5, &mut random);
    let indices: Vec<usize> = [vec![0; 199], vec![1]].concat();
    let rows = dsokr_basis::RowSource::select(&rows, &indices).unwrap();
    let scores =
        leverage::scores(Kernel::Cosine, &rows, 1e-3, 200, 0, &Processes::default()).unwrap();
    assert!(scores[199] > 50.0 * scores[0], "{} and {}", scores[199], scores[0]);
    let kind = SketchKind::Leverage { lambda: 1e-3, pilot: 200 };
    let ranks = |kind: &SketchKind| -> usize {
        (0..20)
            .map(|seed| {
                Basis::fit(
                    Kernel::Cosine,
                    &rows,
                    &SketchOptions::new(kind.clone(), 8).with_seed(seed),
                )
                .unwrap()
                .dimension()
            })
            .sum()
    };
    let leverage = ranks(&kind);
    let uniform = ranks(&SketchKind::Subsampling { replacement: true });
    assert!(leverage == 40 && uniform < 25, "ranks {leverage} and {uniform} of 40");
}

#[test]
fn bad_parameters_are_refused() {
    let (kernel, rows) = cases(30).swap_remove(0);
    for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = leverage::scores(kernel.clone(), &rows, lambda, 5, 0, &Processes::default())
            .unwrap_err();
        assert!(error.to_string().contains("lambda = "), "{error}");
    }
    let scores = |pilot: usize| {
        leverage::scores(kernel.clone(), &rows, 0.1, pilot, 0, &Processes::default())
    };
    let error = scores(0).unwrap_err();
    assert!(error.to_string().contains("pilot = "), "{error}");
    // all rows are enough
    assert_eq!(scores(31).unwrap(), scores(30).unwrap());
    let kind = SketchKind::Leverage { lambda: 0.1, pilot: 200 };
    Basis::fit(kernel.clone(), &rows, &SketchOptions::new(kind, 10)).unwrap();
}
