//! Learned weights of columns against differences of predictions, and what they change.

use dsokr_basis::features::SparseRows;
use dsokr_basis::random::{generator, unit};
use dsokr_basis::{Features, Kernel, RowSource, RowWeights};
use dsokr_machines::{Arithmetic, KernelModel, Scaling, Targets, TrainingInputs, fit};

const COLUMNS: usize = 24;
const WIDTH: usize = 3;

/// Column j is in the rows whose number is a multiple of j / 2 + 1, so two columns each are in as many rows.
fn rows() -> Features {
    let mut random = generator(7, "rows", 0);
    let row = |row: usize| {
        let columns =
            (0..COLUMNS as u32 - 2).filter(|column| row.is_multiple_of(*column as usize / 2 + 1));
        columns.map(|column| (column, 0.2 + unit(&mut random) as f32)).collect::<Vec<_>>()
    };
    SparseRows::from_rows(COLUMNS, (0..40).map(row)).unwrap().into()
}

fn model(kernel: Kernel, rows: &Features) -> KernelModel {
    let mut random = generator(8, "targets", 0);
    let values: Vec<f64> = (0..rows.len() * WIDTH).map(|_| unit(&mut random) - 0.5).collect();
    let targets = Targets::new(WIDTH, values).unwrap();
    fit(&TrainingInputs::rows(kernel, rows), &targets, 1e-2, Arithmetic::Single).unwrap().model
}

#[test]
fn weights_are_slopes_of_predictions_beside_those_of_columns_as_frequent() {
    let rows = rows();
    let model = model(Kernel::Linear, &rows);
    // of a linear model, what a column alone predicts is its slope
    let single = (0..COLUMNS as u32).map(|column| [(column, 1.0)]);
    let single: Features = SparseRows::from_rows(COLUMNS, single).unwrap().into();
    let slopes = model.predict(&single).unwrap();
    let squared: Vec<f64> = slopes
        .chunks_exact(WIDTH)
        .map(|row| row.iter().map(|&value| f64::from(value).powi(2)).sum())
        .collect();
    let Features::Sparse(sparse) = &rows else { panic!() };
    let mut count = [0usize; COLUMNS];
    (0..rows.len()).for_each(|row| sparse.row(row).0.iter().for_each(|&c| count[c as usize] += 1));
    let about = |column: usize| (2.0 * (count[column] as f64).log2()).round() as i64;

    let weights = Scaling::relevance(&model, &RowWeights::equal()).unwrap().rows(&single).unwrap();
    let Features::Sparse(weights) = weights else { panic!() };
    for column in 0..COLUMNS {
        let alike: Vec<f64> =
            (0..COLUMNS).filter(|&l| about(l) == about(column)).map(|l| squared[l]).collect();
        let mean = alike.iter().sum::<f64>() / alike.len() as f64;
        // the last two columns are in no row
        let expected = if count[column] == 0 { 1.0 } else { (squared[column] / mean).sqrt() };
        let found = f64::from(weights.row(column).1[0]);
        assert!((found - expected).abs() < 1e-4, "column {column}: {found}, expected {expected}");
    }
}

#[test]
fn a_column_that_the_targets_follow_gains_weight() {
    let rows = rows();
    let Features::Sparse(sparse) = &rows else { panic!() };
    // column 4 and column 5 are in the same rows; the target follows column 4
    let value = |row: usize| {
        let (columns, values) = sparse.row(row);
        columns.iter().position(|&c| c == 4).map_or(0.0, |at| f64::from(values[at]))
    };
    let targets = Targets::new(1, (0..rows.len()).map(value).collect::<Vec<_>>()).unwrap();
    for kernel in [Kernel::Linear, Kernel::Cosine] {
        let model = fit(&TrainingInputs::rows(kernel, &rows), &targets, 1e-4, Arithmetic::Double)
            .unwrap()
            .model;
        let both = SparseRows::from_rows(COLUMNS, [[(4, 1.0), (5, 1.0)]]).unwrap();
        let scaled: Features = Scaling::relevance(&model, &RowWeights::equal())
            .unwrap()
            .rows(&Features::Sparse(both))
            .unwrap();
        let Features::Sparse(scaled) = scaled else { panic!() };
        let weights = scaled.row(0).1;
        assert!(weights[0] > 2.0 * weights[1], "{weights:?}");
    }
}

#[test]
fn a_model_that_is_not_linear_in_sparse_rows_is_refused() {
    let gaussian = model(Kernel::Gaussian { gamma: 0.5 }, &rows());
    let message = Scaling::relevance(&gaussian, &RowWeights::equal()).unwrap_err().to_string();
    assert!(message.contains("gaussian") && message.contains("linear"), "{message}");
}
