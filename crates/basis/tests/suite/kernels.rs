//! The contract that every kernel keeps on every kind of rows it is defined on.

use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_basis::kernel::{OutputKernel, contract};
use dsokr_basis::{Features, Kernel, RowKind, RowSource};
use dsokr_data::featurizers::{UNRANKED, kemeny_signs};

use crate::support::{
    assert_close, cases, describe, expand, from_faer, gram, jacobi, refused, transpose,
};

const N: usize = 300;

#[test]
fn every_kernel_keeps_the_public_contract() {
    for (kernel, rows) in cases(40) {
        contract::check(&kernel, &rows)
            .unwrap_or_else(|breach| panic!("{}: {breach}", describe(&kernel, &rows)));
    }
}

#[test]
fn block_is_pointwise_brute_force() {
    for (kernel, rows) in cases(23) {
        let what = describe(&kernel, &rows);
        let actual = from_faer(&kernel.block(&rows, &rows).unwrap());
        assert_close(&actual, &gram(&kernel, &expand(&rows)), 1e-12, &what);
    }
}

#[test]
fn block_is_symmetric() {
    for (kernel, rows) in cases(N) {
        let actual = from_faer(&kernel.block(&rows, &rows).unwrap());
        assert_close(&actual, &transpose(&actual), 1e-14, &describe(&kernel, &rows));
    }
}

#[test]
fn gram_matrix_is_positive_semi_definite() {
    for (kernel, rows) in cases(40) {
        let actual = from_faer(&kernel.block(&rows, &rows).unwrap());
        let (values, _) = jacobi(&actual);
        let largest = values[0];
        let smallest = values[values.len() - 1];
        let what = describe(&kernel, &rows);
        assert!(largest > 0.5, "{what}: largest eigenvalue {largest}");
        assert!(smallest >= -1e-12 * largest, "{what}: smallest eigenvalue {smallest}");
    }
}

#[test]
fn diagonal_is_that_of_the_block() {
    for (kernel, rows) in cases(N) {
        let what = describe(&kernel, &rows);
        let block = kernel.block(&rows, &rows).unwrap();
        let diagonal = kernel.diagonal(&rows).unwrap();
        for (i, &value) in diagonal.iter().enumerate() {
            assert!((value - block[(i, i)]).abs() <= 1e-12, "{what}: row {i}");
            if kernel.is_normalised() {
                assert_eq!(value, 1.0, "{what}: row {i}");
            }
        }
    }
}

#[test]
fn blocks_of_other_sizes_agree() {
    for (kernel, rows) in cases(N) {
        let what = describe(&kernel, &rows);
        let whole = kernel.block(&rows, &rows).unwrap();
        for (a, b) in [(0..1, 0..N), (5..140, 129..131), (N - 1..N, 0..7)] {
            let part = kernel
                .block(&rows.block(a.clone()).unwrap(), &rows.block(b.clone()).unwrap())
                .unwrap();
            let expected = whole.submatrix(a.start, b.start, a.len(), b.len()).to_owned();
            assert_close(&from_faer(&part), &from_faer(&expected), 1e-14, &what);
        }
        let empty = kernel.block(&rows.block(4..4).unwrap(), &rows).unwrap();
        assert_eq!((empty.nrows(), empty.ncols()), (0, N), "{what}");
    }
}

#[test]
fn same_values_on_any_number_of_threads() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for (kernel, rows) in cases(N) {
        let block = || from_faer(&kernel.block(&rows, &rows).unwrap());
        let what = describe(&kernel, &rows);
        assert_eq!(pool(1).install(block), pool(3).install(block), "{what}");
    }
}

#[test]
fn a_zero_row_has_the_documented_values() {
    let rows = Features::Dense(DenseRows::new(2, vec![0.0, 0.0, 3.0, 4.0]).unwrap());
    for kernel in [Kernel::Cosine, Kernel::Tanimoto] {
        let block = kernel.block(&rows, &rows).unwrap();
        assert_eq!((block[(0, 0)], block[(0, 1)], block[(1, 1)]), (1.0, 0.0, 1.0));
    }
    let block = Kernel::GaussianTanimoto { gamma: 2.0 }.block(&rows, &rows).unwrap();
    assert_eq!((block[(0, 0)], block[(0, 1)], block[(1, 1)]), (1.0, (-4.0f64).exp(), 1.0));
}

#[test]
fn feature_scale_makes_the_kernel_linear() {
    for (kernel, rows) in cases(23) {
        if kernel.feature_scale(1.0).is_none() {
            continue;
        }
        let scaled: Vec<Vec<f64>> = expand(&rows)
            .iter()
            .map(|row| {
                let scale = kernel.feature_scale(row.iter().map(|v| v * v).sum()).unwrap();
                row.iter().map(|v| scale * v).collect()
            })
            .collect();
        let mut actual = gram(&Kernel::Linear, &scaled);
        // the zero row has a feature of its own
        for (i, row) in expand(&rows).iter().enumerate().filter(|_| kernel.is_normalised()) {
            actual[i][i] += f64::from(row.iter().all(|&value| value == 0.0));
        }
        let what = describe(&kernel, &rows);
        assert_close(&actual, &gram(&kernel, &expand(&rows)), 1e-12, &what);
    }
}

/// With equal ranks, the Kemeny kernel is Kendall's τ-b, here counted from the rankings themselves.
#[test]
fn kemeny_with_ties_is_tau_b() {
    let ranks = [
        vec![0, 0, 1, 2, 3],
        vec![3, 1, 1, 0, 2],
        vec![0, 1, 2, 3, 4],
        // pairs with an item that is not ranked are as tied ones
        vec![2, UNRANKED, 0, UNRANKED, 1],
    ];
    let rows = Features::Dense(kemeny_signs(&ranks).unwrap());
    let block = Kernel::Kemeny.block(&rows, &rows).unwrap();
    for (i, a) in ranks.iter().enumerate() {
        for (j, b) in ranks.iter().enumerate() {
            let mut balance = 0i32;
            let mut untied_a = 0;
            let mut untied_b = 0;
            for x in 0..5usize {
                for y in 0..x {
                    let order = |r: &[u32]| {
                        if r[x] == UNRANKED || r[y] == UNRANKED {
                            0
                        } else {
                            (r[x] as i32 - r[y] as i32).signum()
                        }
                    };
                    balance += order(a) * order(b);
                    untied_a += order(a).abs();
                    untied_b += order(b).abs();
                }
            }
            let tau = f64::from(balance) / f64::from(untied_a * untied_b).sqrt();
            assert!((block[(i, j)] - tau).abs() < 1e-15, "{i}, {j}: {tau}");
        }
    }
}

#[test]
fn parameters_and_rows_are_validated() {
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for kernel in [Kernel::Gaussian { gamma }, Kernel::GaussianTanimoto { gamma }] {
            let error = kernel.validate(RowKind::Dense).unwrap_err();
            assert!(error.to_string().contains("gamma = "), "{error}");
        }
    }
    for (kernel, kind) in [
        (Kernel::NGram, RowKind::Dense),
        (Kernel::NGram, RowKind::Bits),
        (Kernel::Kemeny, RowKind::Bits),
        (Kernel::Hamming, RowKind::Dense),
    ] {
        let error = kernel.validate(kind).unwrap_err();
        assert!(
            error.to_string().contains(&format!("is not defined on {kind} rows, allowed: ")),
            "{error}"
        );
    }
}

#[test]
fn values_without_meaning_are_refused_with_their_place() {
    let sparse = |value| {
        let rows = [vec![(0, 1.0)], vec![(1, 1.0), (4, value)]];
        Features::Sparse(SparseRows::from_rows(5, rows).unwrap())
    };
    for (kernel, value) in [(Kernel::NGram, -1.0), (Kernel::Kemeny, 0.5), (Kernel::Hamming, 2.0)] {
        let message = format!("row 1: column 4 holds {value}, kernel {} allows: ", kernel.name());
        assert!(refused(kernel.check(&sparse(value)), &message));
    }
    let dense = Features::Dense(DenseRows::new(2, vec![1.0, -1.0, 0.0, 3.0]).unwrap());
    let error = Kernel::Kemeny.check(&dense).unwrap_err();
    assert!(error.to_string().contains("row 1: column 1 holds"), "{error}");
}

#[test]
fn hamming_rows_with_different_numbers_of_ones_are_refused() {
    let rows = |indices: [Vec<u32>; 3]| Features::Bits(BitRows::from_indices(4, indices).unwrap());
    // label sets
    for uneven in [rows([vec![0, 2], vec![1, 2], vec![2]]), rows([vec![0], vec![1], vec![]])] {
        let error = Kernel::Hamming.check(&uneven).unwrap_err().to_string();
        assert!(error.contains("row 2: ") && error.contains("take tanimoto or cosine"), "{error}");
    }
    Kernel::Hamming.check(&rows([vec![0, 2], vec![1, 2], vec![0, 3]])).unwrap();
}

#[test]
fn rows_that_do_not_fit_together_are_refused() {
    let dense = |width| Features::Dense(DenseRows::new(width, vec![1.0; width]).unwrap());
    let bits = Features::Bits(BitRows::from_indices(2, [[0]]).unwrap());
    let error = Kernel::Linear.block(&dense(2), &bits).unwrap_err();
    assert!(error.to_string().contains(" rows are needed"), "{error}");
    let error = Kernel::Linear.block(&dense(2), &dense(3)).unwrap_err();
    assert!(error.to_string().contains("rows of width 3 where width 2 is needed"), "{error}");
}

#[test]
fn configuration_is_strict() {
    let kernels = [
        (r#"{"name":"linear"}"#, Kernel::Linear),
        (r#"{"name":"cosine"}"#, Kernel::Cosine),
        (r#"{"name":"gaussian","gamma":0.5}"#, Kernel::Gaussian { gamma: 0.5 }),
        (r#"{"name":"tanimoto"}"#, Kernel::Tanimoto),
        (r#"{"name":"gaussian-tanimoto","gamma":2.0}"#, Kernel::GaussianTanimoto { gamma: 2.0 }),
        (r#"{"name":"ngram"}"#, Kernel::NGram),
        (r#"{"name":"kemeny"}"#, Kernel::Kemeny),
        (r#"{"name":"hamming"}"#, Kernel::Hamming),
    ];
    let schema = serde_json::to_string(&schemars::schema_for!(Kernel)).unwrap();
    for (text, kernel) in kernels {
        assert_eq!(serde_json::from_str::<Kernel>(text).unwrap(), kernel);
        assert_eq!(serde_json::to_string(&kernel).unwrap(), text);
        let extra = text.replace('}', r#","sigma":1.0}"#);
        let error = serde_json::from_str::<Kernel>(&extra).unwrap_err().to_string();
        assert!(error.contains("sigma"), "{error}");
        assert!(schema.contains(&format!("\"{}\"", kernel.name())), "{}", kernel.name());
    }
    assert!(serde_json::from_str::<Kernel>(r#"{"name":"gaussian"}"#).is_err());
    let error = serde_json::from_str::<Kernel>(r#"{"name":"cosin"}"#).unwrap_err().to_string();
    assert!(error.contains("cosin") && error.contains("tanimoto"), "{error}");
}

#[test]
fn the_exponential_is_that_of_the_standard_library() {
    let exp = |x: f64| Kernel::Gaussian { gamma: 1.0 }.evaluate(0.0, -x, 0.0);
    assert_eq!((exp(0.0), exp(-0.0)), (1.0, 1.0));
    assert_eq!((exp(-708.1), exp(f64::NEG_INFINITY)), (0.0, 0.0));
    let mut worst = 0.0f64;
    for step in 0..1_000_000 {
        let x = -708.0 * (f64::from(step) / 1e6).powi(4);
        worst = worst.max((exp(x) / x.exp() - 1.0).abs());
    }
    assert!(worst < 4.5e-16, "{worst}");
}
