//! Learned weights of columns against differences of predictions, and what they change.

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Features, Kernel, RowSource, SketchKind};
use dsokr_core::RowWeights;
use dsokr_core::random::{generator, unit};
use dsokr_machines::{Arithmetic, KernelModel, Scaling, Targets, TrainingInputs, fit};

use crate::naive::fit_sketched;

const COLUMNS: usize = 24;
const WIDTH: usize = 3;

/// Returns rows: column j is in those whose number is a multiple of j / 2 + 1, so two columns each are in as many
/// rows.
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
        let actual = f64::from(weights.row(column).1[0]);
        assert!((actual - expected).abs() < 1e-4, "column {column}: {actual}, expected {expected}");
    }
}

/// A model that keeps the entries of a sketch has the slopes of its predictions as well.
#[test]
fn a_model_of_a_sketch_has_weights_of_columns() {
    let rows = rows();
    let mut random = generator(8, "targets", 0);
    let values: Vec<f64> = (0..rows.len() * WIDTH).map(|_| unit(&mut random) - 0.5).collect();
    let targets = Targets::new(WIDTH, values).unwrap();
    let kind = SketchKind::CountSketch;
    let model = fit_sketched(Kernel::Linear, &rows, &targets, &kind, 9, 0, 1e-2).unwrap().model;
    assert_eq!(model.anchors(), 9);
    let single = (0..COLUMNS as u32).map(|column| [(column, 1.0)]);
    let single: Features = SparseRows::from_rows(COLUMNS, single).unwrap().into();
    let slopes = model.predict(&single).unwrap();
    let squared: Vec<f64> = slopes
        .chunks_exact(WIDTH)
        .map(|row| row.iter().map(|&value| f64::from(value).powi(2)).sum())
        .collect();
    let weights = Scaling::relevance(&model, &RowWeights::equal()).unwrap().rows(&single).unwrap();
    let Features::Sparse(weights) = weights else { panic!() };
    // columns 4 and 5 are in the same number of rows
    let actual = f64::from(weights.row(4).1[0]) / f64::from(weights.row(5).1[0]);
    let expected = (squared[4] / squared[5]).sqrt();
    assert!((actual - expected).abs() < 1e-4 * expected, "{actual}, expected {expected}");
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
fn weights_are_of_the_columns_that_the_model_is_given() {
    let raw = rows();
    let first = Scaling::relevance(&model(Kernel::Linear, &raw), &RowWeights::equal()).unwrap();
    // weights of a model of scaled rows, which is given raw ones
    let scaled = first.rows(&raw).unwrap();
    let model = model(Kernel::Linear, &scaled);
    let single = (0..COLUMNS as u32).map(|column| [(column, 1.0)]);
    let single: Features = SparseRows::from_rows(COLUMNS, single).unwrap().into();
    let values = |scaling: &Scaling| {
        let Features::Sparse(rows) = scaling.rows(&single).unwrap() else { panic!() };
        (0..COLUMNS).map(|column| f64::from(rows.row(column).1[0])).collect::<Vec<f64>>()
    };
    let of_scaled = values(&Scaling::relevance(&model, &RowWeights::equal()).unwrap());
    let scaled = model.with_scaling(first.clone()).unwrap();
    let of_raw = values(&Scaling::relevance(&scaled, &RowWeights::equal()).unwrap());
    let factors = values(&first);
    // columns 0 and 1 are in the same rows, so they are compared with the same mean
    let ratio = |all: &[f64]| all[0] / all[1];
    let expected = ratio(&of_scaled) * ratio(&factors);
    assert!((ratio(&of_raw) / expected - 1.0).abs() < 1e-4, "{} {expected}", ratio(&of_raw));
    assert!((ratio(&factors) - 1.0).abs() > 0.01, "the scaling changes nothing: {factors:?}");
}

#[test]
fn queries_of_any_length_have_a_prediction_in_single_precision() {
    let rows = rows();
    let model = model(Kernel::Cosine, &rows);
    let Features::Sparse(sparse) = &rows else { panic!() };
    let expected = model.predict(&rows).unwrap();
    for factor in [1e-13f32, 1e-25, 1e13] {
        let row = |row: usize| {
            let (columns, values) = sparse.row(row);
            // every other row keeps its length
            let factor = if row.is_multiple_of(2) { factor } else { 1.0 };
            columns.iter().copied().zip(values.iter().map(move |value| value * factor))
        };
        let cells = (0..rows.len()).map(|at| row(at).collect::<Vec<_>>());
        let scaled: Features = SparseRows::from_rows(COLUMNS, cells).unwrap().into();
        let actual = model.predict(&scaled).unwrap_or_else(|error| panic!("{factor}: {error}"));
        for (at, (value, expected)) in actual.iter().zip(&expected).enumerate() {
            assert!((value - expected).abs() < 1e-5, "{factor}, {at}: {value}, {expected}");
        }
        let second = |all: &[f32]| all[WIDTH..2 * WIDTH].to_vec();
        assert_eq!(second(&actual), second(&expected), "{factor}: a row of the same length");
    }
}

#[test]
fn a_model_that_is_not_linear_in_sparse_rows_is_refused() {
    let gaussian = model(Kernel::Gaussian { gamma: 0.5 }, &rows());
    let message = Scaling::relevance(&gaussian, &RowWeights::equal()).unwrap_err().to_string();
    assert!(message.contains("gaussian") && message.contains("linear"), "{message}");
}
