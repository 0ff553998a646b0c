//! Weights of input kernels by leave-one-out errors.

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Features, Kernel, Mat, RowSource};
use dsokr_core::{Error, RowWeights};
use dsokr_machines::{
    GramMatrix, KernelWeighting, OutputSpace, RowGroups, Spectrum, TargetGram, TrainingInputs,
    combine, held_out_weights,
};

const N: usize = 30;

fn inputs(row: usize, column: usize) -> f64 {
    (1.7 * row as f64 + 2.3 * (column * column) as f64 + 0.3).sin()
}

/// `tests/golden/held_out_weights.py` made the values: by 30 fits for each error, and SciPy.
#[test]
fn weights_have_the_least_leave_one_out_error() {
    let kernel = |column: usize| {
        let apart = move |i, j| inputs(i, column) - inputs(j, column);
        Mat::from_fn(N, N, |i, j| (-2.0 * apart(i, j) * apart(i, j)).exp())
    };
    let kernels: Vec<Mat<f64>> = (0..4).map(kernel).collect();
    let grams: Vec<_> = kernels.iter().map(Mat::as_ref).collect();
    let output = |row| {
        let [a, b, c] = [0, 1, 2].map(|column| inputs(row, column));
        let noise = (12.9898 * row as f64 + 78.233).sin() * 43758.5453;
        [(a + 0.5 * b * b + noise.rem_euclid(0.8) - 0.4) as f32, (b * c) as f32]
    };
    let values: Vec<f32> = (0..N).flat_map(output).collect();
    let outputs: Features = DenseRows::new(2, values).unwrap().into();
    let (space, targets) = OutputSpace::training(Kernel::Linear, &outputs).unwrap();
    let target_gram = TargetGram { kernel: &Kernel::Linear, rows: &outputs };
    let error = |weights: &[f64], lambda: f64| {
        let sum = combine(&grams, weights).unwrap();
        let spectrum =
            Spectrum::full(&TrainingInputs::Gram(&GramMatrix::new(sum.clone())), &targets).unwrap();
        spectrum.errors(&[lambda], &space).unwrap()[0]
    };
    let lambda = 0.01;
    let weights =
        held_out_weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), lambda)
            .unwrap();
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    for (weight, expected) in weights.iter().zip([0.5488, 0.2969, 0.1543, 0.0]) {
        assert!((weight - expected).abs() < 0.005, "{weight}, {expected}");
    }
    let best = [0.5488, 0.2969, 0.1543, 0.0].map(|w| 1.8233 * w);
    assert!((error(&best, lambda) - 0.064383).abs() < 1e-5, "{}", error(&best, lambda));
    assert!((error(&[0.25; 4], lambda) - 0.072233).abs() < 1e-5);
    assert_eq!(
        KernelWeighting::HeldOut
            .weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), lambda)
            .unwrap(),
        weights
    );
    // whatever λ is
    for other in [1e-4, 0.3] {
        for (weight, expected) in
            held_out_weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), other)
                .unwrap()
                .iter()
                .zip(&weights)
        {
            assert!((weight - expected).abs() < 0.005, "{other}: {weight}, {expected}");
        }
    }
    // a pair is left out with all of its weight
    let pairs: Vec<f64> = (0..N).map(|row| if row % 3 == 0 { 4.0 } else { 1.0 }).collect();
    let pairs = RowWeights::new(&pairs).unwrap();
    let weighted =
        held_out_weights(&grams, &target_gram, &pairs, &RowGroups::alone(), lambda).unwrap();
    for (weight, expected) in weighted.iter().zip([0.564, 0.205, 0.231, 0.0]) {
        assert!((weight - expected).abs() < 0.005, "{weight}, {expected}");
    }
    // a pair of weight 2 is a pair twice, where both are left out together
    let twice: Vec<usize> = (0..2 * N).map(|row| row % N).collect();
    let copied: Vec<Mat<f64>> = kernels
        .iter()
        .map(|kernel| Mat::from_fn(2 * N, 2 * N, |i, j| kernel[(twice[i], twice[j])]))
        .collect();
    let copied: Vec<_> = copied.iter().map(Mat::as_ref).collect();
    let copied_outputs = outputs.select(&twice).unwrap();
    let copied_gram = TargetGram { kernel: &Kernel::Linear, rows: &copied_outputs };
    let groups: Vec<Vec<usize>> = (0..N).map(|row| vec![row, row + N]).collect();
    let groups = RowGroups::new(2 * N, &groups).unwrap();
    let equal = RowWeights::equal();
    let by_copies = held_out_weights(&copied, &copied_gram, &equal, &groups, lambda).unwrap();
    for (weight, expected) in by_copies.iter().zip(&weights) {
        assert!((weight - expected).abs() < 0.005, "{weight}, {expected}");
    }
    let few = RowWeights::new(&[1.0; 3]).unwrap();
    assert!(matches!(
        held_out_weights(&grams, &target_gram, &few, &RowGroups::alone(), lambda),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        held_out_weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), 0.0),
        Err(Error::Value { .. })
    ));
    assert!(matches!(
        held_out_weights(&[], &target_gram, &RowWeights::equal(), &RowGroups::alone(), 1.0),
        Err(Error::Value { .. })
    ));
}
