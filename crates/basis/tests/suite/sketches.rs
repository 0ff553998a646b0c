//! The contract that every kind of sketch keeps.

use dsokr_basis::{RowKind, RowSource, Sketch, SketchKind};
use dsokr_core::random::{generator, unit};
use faer::Mat;

use crate::support::{Rows, assert_close, from_faer, product, refused, transpose};

fn kinds() -> Vec<SketchKind> {
    vec![
        SketchKind::Subsampling { replacement: false },
        SketchKind::Subsampling { replacement: true },
        SketchKind::Leverage { lambda: 0.1, pilot: 1 },
        SketchKind::Gaussian,
        SketchKind::SparsifiedRademacher { density: 0.3 },
        SketchKind::SparsifiedRademacher { density: 1.0 },
        SketchKind::SparsifiedGaussian { density: 0.3 },
        SketchKind::Accumulation { terms: 3 },
        SketchKind::CountSketch,
    ]
}

/// Returns a sketch of any kind; leverage scores are made up.
fn draw(kind: &SketchKind, m: usize, n: usize, seed: u64) -> Sketch {
    match kind {
        SketchKind::Leverage { .. } => {
            let scores: Vec<f64> = (0..n).map(|i| 1.0 + (i % 4) as f64).collect();
            Sketch::by_scores(kind, m, &scores, seed).unwrap()
        }
        _ => Sketch::draw(kind, m, n, seed).unwrap(),
    }
}

/// Returns W, the columns of a sketch that are not zero.
fn columns_of(sketch: &Sketch) -> Rows {
    let mixing = sketch.mixing();
    let column = |at: usize| mixing.columns().dense_row(at).into_iter().map(f64::from).collect();
    let columns: Rows = (0..mixing.anchors()).map(column).collect();
    transpose(&columns)
}

/// The mean of RᵀR over 4,000 draws is the identity, up to five standard errors of each entry
/// (and the rounding of `f32` weights for entries that do not vary).
#[test]
fn expectation_of_the_gram_matrix_is_the_identity() {
    const DRAWS: usize = 4000;
    let m = 5;
    let n = 12;
    for kind in kinds() {
        let mut sum = vec![vec![0.0; n]; n];
        let mut squares = vec![vec![0.0; n]; n];
        for seed in 0..DRAWS as u64 {
            let dense = from_faer(&draw(&kind, m, n, seed).dense());
            for i in 0..n {
                for j in 0..n {
                    let entry: f64 = dense.iter().map(|row| row[i] * row[j]).sum();
                    sum[i][j] += entry;
                    squares[i][j] += entry * entry;
                }
            }
        }
        for i in 0..n {
            for j in 0..n {
                let mean = sum[i][j] / DRAWS as f64;
                let variance = (squares[i][j] / DRAWS as f64 - mean * mean).max(0.0);
                let standard_error = (variance / DRAWS as f64).sqrt();
                // A wrong factor must be seen: 1/(m p) for 1/√(m p), or n/m for m/n, is off by 0.5.
                assert!(standard_error < 0.05, "{kind:?}: too few draws for [{i}, {j}]");
                let expected = f64::from(i == j);
                let allowed = 5.0 * standard_error + 1e-6;
                assert!((mean - expected).abs() <= allowed, "{kind:?}: [{i}, {j}] is {mean}");
            }
        }
    }
}

#[test]
fn the_seed_decides_everything() {
    for kind in kinds() {
        let dense = |seed| from_faer(&draw(&kind, 6, 700, seed).dense());
        assert_eq!(dense(3), dense(3), "{kind:?}");
        assert_ne!(dense(3), dense(4), "{kind:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| dense(3)), dense(3), "{kind:?}");
    }
}

#[test]
fn anchors_and_mixing_decompose_the_sketch() {
    let m = 6;
    let n = 1300;
    for kind in kinds() {
        let sketch = draw(&kind, m, n, 1);
        let anchors = sketch.anchors();
        assert!(anchors.windows(2).all(|pair| pair[0] < pair[1]), "{kind:?}: sorted and distinct");
        assert!(anchors.iter().all(|&anchor| anchor < n), "{kind:?}: within the outputs");
        let selection: Rows = anchors
            .iter()
            .map(|&anchor| (0..n).map(|j| f64::from(j == anchor)).collect())
            .collect();
        let mixing = columns_of(&sketch);
        for column in 0..anchors.len() {
            assert!(mixing.iter().any(|row| row[column] != 0.0), "{kind:?}: a column of zeros");
        }
        let whole = from_faer(&sketch.dense());
        assert_close(&product(&mixing, &selection), &whole, 0.0, &format!("{kind:?}"));
        // What the blocks say is what the whole says, in any order, and no more.
        let mut seen = 0;
        for block in (0..sketch.blocks()).rev() {
            let columns = sketch.columns(block);
            assert_eq!(columns, sketch.columns(block));
            assert_eq!((columns.values.len(), columns.values.width()), (columns.rows.len(), m));
            let few = columns.values.kind() == RowKind::Sparse;
            assert_eq!(few, kind.has_few_entries(), "{kind:?}");
            for (at, row) in columns.rows.iter().enumerate() {
                let column: Vec<f64> = whole.iter().map(|line| line[*row]).collect();
                let values = columns.values.dense_row(at);
                let values: Vec<f64> = values.iter().map(|&value| value.into()).collect();
                assert_eq!(values, column, "{kind:?}: column {row}");
            }
            seen += columns.rows.len();
        }
        assert_eq!(seen, anchors.len());
        assert!(sketch.columns(sketch.blocks()).rows.is_empty());
    }
}

/// The places and sizes of entries follow the definition of each kind.
#[test]
fn entries_are_those_of_the_definition() {
    let m = 50;
    let n = 1200;
    let columns = |kind: &SketchKind| {
        let dense = from_faer(&draw(kind, m, n, 5).dense());
        let column = |j: usize| dense.iter().map(|row| row[j]).filter(|v| *v != 0.0).collect();
        (0..n).map(column).collect::<Vec<Vec<f64>>>()
    };
    let close = |value: f64, expected: f64| (value.abs() - expected).abs() < 1e-6 * expected;

    let subsampling = columns(&SketchKind::Subsampling { replacement: false });
    assert_eq!(subsampling.iter().filter(|column| column.len() == 1).count(), m);
    assert!(
        subsampling.concat().iter().all(|&v| v > 0.0 && close(v, (n as f64 / m as f64).sqrt()))
    );

    let count = columns(&SketchKind::CountSketch);
    assert!(count.iter().all(|column| column.len() == 1 && column[0].abs() == 1.0));

    let density = 0.03;
    let rademacher = columns(&SketchKind::SparsifiedRademacher { density }).concat();
    let expected = density * (m * n) as f64;
    let deviation = (expected * (1.0 - density)).sqrt();
    assert!((rademacher.len() as f64 - expected).abs() < 5.0 * deviation, "{}", rademacher.len());
    assert!(rademacher.iter().all(|&v| close(v, (m as f64 * density).sqrt().recip())));
    let positive = rademacher.iter().filter(|&&v| v > 0.0).count() as f64;
    assert!(
        (positive - rademacher.len() as f64 / 2.0).abs() < 2.5 * (rademacher.len() as f64).sqrt()
    );

    let accumulation = columns(&SketchKind::Accumulation { terms: 4 }).concat();
    let weight = (n as f64 / (4 * m) as f64).sqrt();
    assert!(accumulation.len() <= 4 * m && accumulation.len() > 3 * m);
    assert!(accumulation.iter().all(|&v| (1..=4).any(|k| close(v, f64::from(k) * weight))));
}

/// The list of all kinds is valid for any number of outputs, and says which of them pick rows.
#[test]
fn every_kind_has_usual_parameters() {
    for n in [1usize, 15, 700] {
        let m = n.div_ceil(7);
        for kind in SketchKind::all(n) {
            kind.validate(m, n).unwrap();
            let mixing = columns_of(&draw(&kind, m, n, 3));
            let single = mixing.iter().all(|row| row.iter().filter(|v| **v != 0.0).count() == 1);
            assert!(single || !kind.picks_rows(), "{kind:?}");
            assert!(n < 700 || single == kind.picks_rows(), "{kind:?}");
        }
    }
}

/// By which memory and time are estimated.
#[test]
fn each_kind_touches_no_more_outputs_and_holds_no_more_entries_than_it_says() {
    let m = 100;
    let n = 700;
    for kind in SketchKind::all(n) {
        let sketch = draw(&kind, m, n, 3);
        let outputs = kind.compared_outputs(m, n);
        let anchors = sketch.anchors().len() as f64;
        // the number of random entries varies
        assert!(anchors <= 1.05 * outputs, "{kind:?}: {anchors} {outputs}");
        let entries = outputs * kind.held_entries(m, n);
        let mixing = columns_of(&sketch);
        let drawn = mixing.iter().flatten().filter(|value| **value != 0.0).count() as f64;
        assert!(drawn <= 1.05 * entries, "{kind:?}: {drawn} {entries}");
    }
}

/// Moments of the Gaussian sketch: 60,000 entries of N(0, 1/m).
#[test]
fn gaussian_entries_are_normal() {
    let m = 60;
    let n = 1000;
    let dense = from_faer(&draw(&SketchKind::Gaussian, m, n, 2).dense()).concat();
    let scaled: Vec<f64> = dense.iter().map(|v| v * (m as f64).sqrt()).collect();
    let count = scaled.len() as f64;
    let moment = |k: i32| scaled.iter().map(|v| v.powi(k)).sum::<f64>() / count;
    // Standard errors of the moments of N(0, 1): √(1, 2, 15, 96) / √count.
    for (k, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let allowed = 5.0 * (f64::from(variance as u32) / count).sqrt();
        assert!((moment(k) - expected).abs() < allowed, "moment {k}: {}", moment(k));
    }
    for (bound, share) in [(1.0, 0.317_310_5), (2.0, 0.045_500_3), (3.6, 0.000_318_2)] {
        let actual = scaled.iter().filter(|v| v.abs() > bound).count() as f64;
        let allowed = 5.0 * (count * share).sqrt();
        assert!((actual - count * share).abs() < allowed, "beyond {bound}: {actual}");
    }
}

/// Outputs are drawn in proportion to their scores: a χ² test with 9 degrees of freedom.
#[test]
fn leverage_sketch_follows_the_scores() {
    let kind = SketchKind::Leverage { lambda: 0.1, pilot: 1 };
    let scores: Vec<f64> = (1..=10).map(f64::from).collect();
    let mut counts = [0.0; 10];
    for seed in 0..3000 {
        let dense = from_faer(&Sketch::by_scores(&kind, 1, &scores, seed).unwrap().dense());
        let picked = dense[0].iter().position(|&v| v != 0.0).unwrap();
        counts[picked] += 1.0;
        let expected = (55.0 / scores[picked]).sqrt();
        assert!((dense[0][picked] - expected).abs() < 1e-5 * expected);
    }
    let statistic: f64 = (0..10)
        .map(|i| {
            let expected = 3000.0 * scores[i] / 55.0;
            (counts[i] - expected).powi(2) / expected
        })
        .sum();
    assert!(statistic < 27.9, "χ² = {statistic}: probability below 0.001");
}

#[test]
fn sizes_and_parameters_are_refused() {
    let gaussian = SketchKind::Gaussian;
    for m in [0, 6] {
        let error = Sketch::draw(&gaussian, m, 5, 0).unwrap_err();
        assert!(error.to_string().contains(&format!("size = {m}: expected 1..=5,")), "{error}");
    }
    assert!(refused(Sketch::draw(&gaussian, 1, 0, 0), "no rows"));
    for density in [0.0, -0.5, 1.5, f64::NAN] {
        for kind in [
            SketchKind::SparsifiedRademacher { density },
            SketchKind::SparsifiedGaussian { density },
        ] {
            let error = Sketch::draw(&kind, 2, 5, 0).unwrap_err();
            assert!(error.to_string().contains("density = "), "{error}");
        }
    }
    for kind in [
        SketchKind::Accumulation { terms: 0 },
        SketchKind::Accumulation { terms: 10_001 },
        SketchKind::Leverage { lambda: 0.0, pilot: 2 },
        SketchKind::Leverage { lambda: 0.1, pilot: 0 },
    ] {
        let error = Sketch::draw(&kind, 2, 5, 0).unwrap_err();
        assert!(error.to_string().contains(" = "), "{kind:?}: {error}");
    }
    for density in [1e-9, f64::MIN_POSITIVE] {
        let kind = SketchKind::SparsifiedGaussian { density };
        let error = Sketch::draw(&kind, 5, 50, 0).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("no non-zero among") && message.len() < 200, "{message}");
    }
    let leverage = SketchKind::Leverage { lambda: 0.1, pilot: 2 };
    assert!(refused(Sketch::draw(&leverage, 2, 5, 0), "depends on the data"));
    for kind in kinds() {
        let drawn = Sketch::by_scores(&kind, 1, &[1.0; 5], 0);
        match kind {
            SketchKind::Leverage { .. } => assert!(drawn.is_ok()),
            _ => assert!(refused(
                drawn,
                &format!("a {} sketch is not drawn from scores", kind.name())
            )),
        }
    }
    for (scores, row) in [([1.0, -1.0], 1), ([f64::NAN, 1.0], 0), ([0.0, 0.0], 1)] {
        let error =
            Sketch::by_scores(&SketchKind::Leverage { lambda: 0.1, pilot: 1 }, 1, &scores, 0)
                .unwrap_err();
        assert!(error.to_string().starts_with(&format!("row {row}: probability")), "{error}");
    }
}

/// Products with a sketch are those with its columns written out, of every kind.
#[test]
fn products_are_those_of_the_dense_matrix() {
    let m = 9;
    let mut random = generator(4, "products", 0);
    let mut matrix =
        |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| unit(&mut random) - 0.5);
    let rare = SketchKind::SparsifiedGaussian { density: 0.05 };
    for kind in kinds().into_iter().chain([rare]) {
        let sketch = draw(&kind, m, 700, 2);
        let mixing = sketch.mixing();
        let w = columns_of(&sketch);
        let a = mixing.anchors();
        let part = a / 3..a;
        let part_of_w: Rows = w.iter().map(|row| row[part.clone()].to_vec()).collect();

        let values = matrix(part.len(), 5);
        let mut out = Mat::<f64>::zeros(m, 5);
        mixing.add_mixed(part.clone(), values.as_ref(), out.as_mut());
        let expected = product(&part_of_w, &from_faer(&values));
        assert_close(&from_faer(&out), &expected, 1e-10, &format!("{kind:?}: W V"));

        let values = matrix(4, part.len());
        let mut out = Mat::<f64>::zeros(4, m);
        mixing.add_mixed_right(part.clone(), values.as_ref(), 0.5, out.as_mut());
        let twice = &out * faer::Scale(2.0);
        let expected = product(&from_faer(&values), &transpose(&part_of_w));
        assert_close(&from_faer(&twice), &expected, 1e-10, &format!("{kind:?}: V Wᵀ"));

        let turn = matrix(3, m);
        let expected = product(&from_faer(&turn), &w);
        let actual = from_faer(&mixing.turned(turn.as_ref()));
        assert_close(&actual, &expected, 1e-10, &format!("{kind:?}: G W"));
    }
}

/// The streams must not change: a basis is named by its seed.
#[test]
fn golden_entries() {
    let first = |kind: &SketchKind| -> Vec<(usize, usize, f32)> {
        let columns = draw(kind, 3, 700, 42).columns(1.min(draw(kind, 3, 700, 42).blocks() - 1));
        let entries = columns.rows.iter().enumerate().flat_map(|(column, &row)| {
            let values = columns.values.dense_row(column).into_iter().enumerate();
            values.map(move |(at, value)| (at, row, value))
        });
        entries.filter(|entry| entry.2 != 0.0).take(3).collect()
    };
    for (kind, expected) in GOLDEN_KINDS.iter().zip(GOLDEN) {
        let actual = first(kind);
        assert_eq!(actual.len(), 3, "{kind:?}");
        for (actual, expected) in actual.iter().zip(expected) {
            assert_eq!((actual.0, actual.1), (expected.0, expected.1), "{kind:?}");
            assert!((actual.2 - expected.2).abs() < 1e-6, "{kind:?}: {actual:?}");
        }
    }
}

const GOLDEN_KINDS: [SketchKind; 7] = [
    SketchKind::Subsampling { replacement: false },
    SketchKind::Subsampling { replacement: true },
    SketchKind::Gaussian,
    SketchKind::SparsifiedRademacher { density: 0.05 },
    SketchKind::SparsifiedGaussian { density: 0.05 },
    SketchKind::Accumulation { terms: 2 },
    SketchKind::CountSketch,
];

/// (row, column, value) of the first non-zeros.
const GOLDEN: [[(usize, usize, f32); 3]; 7] = [
    [(0, 550, 15.275252), (1, 587, 15.275252), (2, 636, 15.275252)],
    [(0, 552, 15.275252), (2, 587, 15.275252), (1, 637, 15.275252)],
    [(0, 512, 0.62406844), (1, 512, -0.29377082), (2, 512, 0.6616071)],
    [(2, 539, 2.5819888), (2, 546, -2.5819888), (0, 548, -2.5819888)],
    [(1, 513, 0.57238346), (0, 516, 4.248942), (1, 522, -1.7898945)],
    [(1, 116, -10.801234), (0, 265, 10.801234), (0, 318, 10.801234)],
    [(2, 512, -1.0), (2, 513, 1.0), (1, 514, 1.0)],
];

#[test]
fn configuration_is_strict() {
    let kinds = [
        (r#"{"kind":"subsampling"}"#, SketchKind::Subsampling { replacement: false }),
        (r#"{"kind":"leverage"}"#, SketchKind::Leverage { lambda: 1e-3, pilot: 200 }),
        (r#"{"kind":"gaussian"}"#, SketchKind::Gaussian),
        (
            r#"{"kind":"sparsified-rademacher","density":0.1}"#,
            SketchKind::SparsifiedRademacher { density: 0.1 },
        ),
        (
            r#"{"kind":"sparsified-gaussian","density":0.1}"#,
            SketchKind::SparsifiedGaussian { density: 0.1 },
        ),
        (r#"{"kind":"accumulation"}"#, SketchKind::Accumulation { terms: 10 }),
        (r#"{"kind":"count-sketch"}"#, SketchKind::CountSketch),
    ];
    let schema = serde_json::to_string(&schemars::schema_for!(SketchKind)).unwrap();
    for (text, kind) in kinds {
        assert_eq!(serde_json::from_str::<SketchKind>(text).unwrap(), kind);
        let written = serde_json::to_string(&kind).unwrap();
        assert_eq!(serde_json::from_str::<SketchKind>(&written).unwrap(), kind);
        let extra = text.replace('}', r#","oversampling":2}"#);
        let error = serde_json::from_str::<SketchKind>(&extra).unwrap_err().to_string();
        assert!(error.contains("oversampling"), "{error}");
        assert!(schema.contains(&format!("\"{}\"", kind.name())), "{}", kind.name());
    }
    assert!(serde_json::from_str::<SketchKind>(r#"{"kind":"sparsified-gaussian"}"#).is_err());
}
