//! ALIGNF against its definition, and the kernels that it refuses.

use dsokr_basis::{Basis, Kernel, Mat, RowSource, SketchKind, SketchOptions};
use dsokr_core::random::{generator, unit};
use dsokr_core::{Error, RowWeights};
use dsokr_machines::{
    Arithmetic, GramMatrix, KernelWeighting, RowGroups, TargetGram, Targets, TrainingInputs,
    alignf, combine, fit,
};

use crate::naive::*;

const N: usize = 150;

/// Returns gaussian kernels of the inputs: of all three columns, of one each, and one of random rows.
fn kernels(problem: &Problem) -> Vec<Rows> {
    let column =
        |j: usize| -> Rows { problem.x.iter().map(|row| vec![row[j], 0.0, 0.0]).collect() };
    let mut random = generator(1, "unrelated rows", 0);
    let noise = (0..N).map(|_| (0..3).map(|_| 4.0 * unit(&mut random) - 2.0).collect()).collect();
    let rows: [Rows; 5] = [problem.x.clone(), column(0), column(1), column(2), noise];
    let mut kernels: Vec<Rows> = rows.iter().map(|rows| gaussian(0.4, rows, rows)).collect();
    // the scale of a kernel does not matter
    kernels[2].iter_mut().flatten().for_each(|value| *value *= 1e3);
    kernels
}

fn matrix(rows: &Rows) -> Mat<f64> {
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

/// Returns `H K H` by products.
fn centred_gram(k: &Rows) -> Rows {
    let n = k.len();
    let h: Rows = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j)) - 1.0 / n as f64).collect())
        .collect();
    product(&product(&h, k), &h)
}

fn cosine(a: &Rows, b: &Rows) -> f64 {
    let dot = |a: &Rows, b: &Rows| -> f64 {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn weights_have_the_largest_centred_alignment() {
    let problem = Problem::new(N, 70);
    let kernels = kernels(&problem);
    let matrices: Vec<Mat<f64>> = kernels.iter().map(matrix).collect();
    let grams: Vec<_> = matrices.iter().map(Mat::as_ref).collect();
    let outputs = problem.outputs();
    let target_gram = TargetGram { kernel: &kernel_y(), rows: &outputs };
    let weights = alignf(&grams, &target_gram, &RowWeights::equal()).unwrap();

    let y = centred_gram(&gaussian(GAMMA_Y, &problem.y, &problem.y));
    let parts: Vec<Rows> = kernels.iter().map(centred_gram).collect();
    let aligned = |weights: &[f64]| {
        let mut sum = vec![vec![0.0; N]; N];
        parts.iter().zip(weights).for_each(|(part, &w)| sum = add(&sum, w, part));
        cosine(&sum, &y)
    };
    let combined = aligned(&weights);
    let length: f64 = weights.iter().map(|w| w * w).sum();
    assert!((length - 1.0).abs() < 1e-12 && weights.iter().all(|&w| w >= 0.0));
    let uniform = KernelWeighting::Uniform
        .weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), 1.0)
        .unwrap();
    assert_eq!(uniform, [0.2; 5]);
    assert!(combined > aligned(&uniform) + 0.01);
    // no step that keeps the weights above 0 gains
    let mut random = generator(2, "other weights", 0);
    for step in [1e-4, 1e-2, 1.0] {
        for _ in 0..60 {
            let other: Vec<f64> = weights
                .iter()
                .enumerate()
                .map(|(k, w)| {
                    let scale = if k == 2 { 1e-3 } else { 1.0 };
                    (w + scale * step * (2.0 * unit(&mut random) - 1.0)).max(0.0)
                })
                .collect();
            let other_alignment = aligned(&other);
            assert!(other_alignment < combined + 1e-10, "{other:?}: {other_alignment}");
        }
    }
    assert_eq!(
        KernelWeighting::Alignf
            .weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), 1.0)
            .unwrap(),
        weights
    );
}

/// A pair of weight 3 is a pair three times.
#[test]
fn weighted_pairs_are_repeated_pairs() {
    let problem = Problem::new(N, 74);
    let kernels = kernels(&problem);
    let repeated: Vec<usize> = (0..N).flat_map(|row| vec![row; 1 + row % 3]).collect();
    let each: Vec<f64> = (0..N).map(|row| 1.0 + (row % 3) as f64).collect();
    let kernel = kernel_y();
    let outputs = problem.outputs();
    let target_gram = TargetGram { kernel: &kernel, rows: &outputs };
    let matrices: Vec<Mat<f64>> = kernels.iter().map(matrix).collect();
    let grams: Vec<_> = matrices.iter().map(Mat::as_ref).collect();
    let of_repeated =
        |k: &Rows| Mat::from_fn(repeated.len(), repeated.len(), |i, j| k[repeated[i]][repeated[j]]);
    let repeated_matrices: Vec<Mat<f64>> = kernels.iter().map(of_repeated).collect();
    let repeated_grams: Vec<_> = repeated_matrices.iter().map(Mat::as_ref).collect();
    let repeated_outputs = outputs.select(&repeated).unwrap();
    let repeated_gram = TargetGram { kernel: &kernel, rows: &repeated_outputs };
    let expected = alignf(&repeated_grams, &repeated_gram, &RowWeights::equal()).unwrap();
    let apart = |weights: &[f64]| -> f64 {
        weights.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    // whatever the unit of the weights is
    for unit in [1.0, 1e-9, 1e9] {
        let scaled: Vec<f64> = each.iter().map(|weight| unit * weight).collect();
        let weights = RowWeights::new(&scaled).unwrap();
        let found = KernelWeighting::Alignf
            .weights(&grams, &target_gram, &weights, &RowGroups::alone(), 1.0)
            .unwrap();
        assert!(apart(&found) < 1e-8, "{unit}: {found:?}, {expected:?}");
    }
    let ones = RowWeights::new(&[1.0; N]).unwrap();
    assert!(apart(&alignf(&grams, &target_gram, &ones).unwrap()) > 1e-3);
    let few = RowWeights::new(&[1.0; 3]).unwrap();
    assert!(matches!(alignf(&grams, &target_gram, &few), Err(Error::Shape(_))));
}

/// The linear kernel of all coordinates of the outputs is their kernel.
#[test]
fn coordinates_give_what_the_kernel_gives() {
    let problem = Problem::new(N, 71);
    let matrices: Vec<Mat<f64>> = kernels(&problem).iter().map(matrix).collect();
    let grams: Vec<_> = matrices.iter().map(Mat::as_ref).collect();
    let outputs = problem.outputs();
    let every = SketchKind::Subsampling { replacement: false };
    let basis = Basis::fit(kernel_y(), &outputs, &SketchOptions::new(every.clone(), N)).unwrap();
    let projected = basis.project(&outputs).unwrap();
    let rows = dense(&wide(projected.dimension(), projected.coordinates()));
    let in_coordinates = TargetGram { kernel: &Kernel::Linear, rows: &rows };
    let by_coordinates = alignf(&grams, &in_coordinates, &RowWeights::equal()).unwrap();
    let by_kernel =
        alignf(&grams, &TargetGram { kernel: &kernel_y(), rows: &outputs }, &RowWeights::equal())
            .unwrap();
    for (a, b) in by_coordinates.iter().zip(&by_kernel) {
        assert!((a - b).abs() < 1e-5, "{a}, {b}");
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| alignf(&grams, &in_coordinates, &RowWeights::equal()).unwrap());
        assert_eq!(again, by_coordinates, "{threads} threads");
    }
}

#[test]
fn kernels_that_are_none_are_named() {
    let problem = Problem::new(N, 72);
    let outputs = problem.outputs();
    let target_gram = TargetGram { kernel: &kernel_y(), rows: &outputs };
    let good = matrix(&gaussian(0.4, &problem.x, &problem.x));
    let refused = |bad: &Mat<f64>| {
        let error =
            alignf(&[good.as_ref(), bad.as_ref()], &target_gram, &RowWeights::equal()).unwrap_err();
        let both = [good.as_ref(), bad.as_ref()];
        let uniform = KernelWeighting::Uniform.weights(
            &both,
            &target_gram,
            &RowWeights::equal(),
            &RowGroups::alone(),
            1.0,
        );
        if let Error::Item { number: 1, source, .. } = error {
            assert!(matches!(uniform, Err(Error::Item { number: 1, .. })));
            return *source;
        }
        error
    };
    let mut bad = good.clone();
    bad[(4, 9)] += 0.5;
    assert!(refused(&bad).to_string().contains("is not symmetric: [4, 9] is "));
    // −c on the diagonal moves every eigenvalue by −c
    let mut bad = good.clone();
    (0..N).for_each(|i| bad[(i, i)] -= 0.25);
    let values = jacobi(&gaussian(0.4, &problem.x, &problem.x)).0;
    let smallest = numbers(&refused(&bad))[0];
    assert!((smallest - (values[N - 1] - 0.25)).abs() < 1e-8, "{smallest}");
    let text = alignf(&[good.as_ref(), bad.as_ref()], &target_gram, &RowWeights::equal())
        .unwrap_err()
        .to_string();
    assert!(text.starts_with("kernel 1: the kernel matrix is not positive"), "{text}");
    let zero = Mat::<f64>::zeros(N, N);
    assert!(refused(&zero).to_string().starts_with("the kernel matrix is zero"));
    let targets = Targets::new(1, [1.0; N]).unwrap();
    let fitted = fit(
        &TrainingInputs::Gram(&GramMatrix::new(zero.clone())),
        &targets,
        1.0,
        Arithmetic::Double,
    );
    assert!(matches!(fitted, Err(Error::Numeric(_))));
    let small = good.as_ref().submatrix(0, 0, N - 1, N - 1).to_owned();
    assert!(refused(&small).to_string().starts_with("149 rows of the kernel matrix"));
    let narrow = good.as_ref().subcols(0, 3).to_owned();
    assert!(refused(&narrow).to_string().starts_with("3 columns of the kernel matrix"));
    let constant = Mat::from_fn(N, N, |_, _| 0.7);
    let error = alignf(&[good.as_ref(), constant.as_ref()], &target_gram, &RowWeights::equal());
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("kernel 1: the kernel is constant"), "{text}");
    assert!(matches!(alignf(&[], &target_gram, &RowWeights::equal()), Err(Error::Value { .. })));

    let numbers = |values: Vec<f64>| dense(&values.into_iter().map(|value| vec![value]).collect());
    let same = numbers(vec![1.0; N]);
    let same = TargetGram { kernel: &Kernel::Linear, rows: &same };
    let error = alignf(&[good.as_ref()], &same, &RowWeights::equal()).unwrap_err();
    assert!(error.to_string().starts_with("the outputs' kernel is constant"), "{error}");
    // inputs of one label are as unlike each other as they can be
    let signs = numbers((0..N).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect());
    let signs = TargetGram { kernel: &Kernel::Linear, rows: &signs };
    let apart = Mat::from_fn(N, N, |i, j| match (i == j, i % 2 == j % 2) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => 1e-3,
    });
    let error = alignf(&[apart.as_ref()], &signs, &RowWeights::equal());
    assert!(error.is_ok(), "the diagonal alone is aligned with the outputs");
    let apart = Mat::from_fn(N, N, |i, j| match (i == j, i % 2 == j % 2) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => 1.0 / 75.0,
    });
    let error = alignf(&[apart.as_ref()], &signs, &RowWeights::equal());
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("no kernel is aligned") && text.contains("alignment is -"), "{text}");
}

#[test]
fn sums_of_kernels() {
    let a = Mat::from_fn(2, 3, |i, j| (i * 3 + j) as f64);
    let b = Mat::from_fn(2, 3, |i, j| (i + j) as f64);
    let sum = combine(&[a.as_ref(), b.as_ref()], &[2.0, 0.5]).unwrap();
    assert_eq!(sum, Mat::from_fn(2, 3, |i, j| (2 * (i * 3 + j)) as f64 + 0.5 * (i + j) as f64));
    let refused = |weights: &[f64]| combine(&[a.as_ref(), b.as_ref()], weights).unwrap_err();
    assert_eq!(refused(&[1.0]).to_string(), "1 weights, expected 2");
    for value in [-0.5, f64::NAN, f64::INFINITY] {
        let text = refused(&[1.0, value]).to_string();
        assert!(text.starts_with(&format!("the weight of kernel 1 = {value}: expected")), "{text}");
    }
    let error = combine(&[a.as_ref(), b.as_ref().subcols(0, 2)], &[1.0, 1.0]).unwrap_err();
    assert_eq!(error.to_string(), "2 columns of a kernel matrix, expected 3");
    assert!(matches!(combine(&[], &[]), Err(Error::Value { .. })));
    let kernel = Kernel::Kemeny;
    let bits = Problem::new(2, 73).outputs();
    let target_gram = TargetGram { kernel: &kernel, rows: &bits };
    let one = Mat::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
    assert!(matches!(
        alignf(&[one.as_ref()], &target_gram, &RowWeights::equal()),
        Err(Error::Shape(_))
    ));
}

/// The weights are v/‖v‖ of the minimum of `vᵀ M v − 2 vᵀ a` over `v ≥ 0`: the conditions of Karush, Kuhn and
/// Tucker hold, also where M is singular.
#[test]
fn no_kernel_of_weight_0_would_join_and_no_other_would_change() {
    for (count, rank, seed) in [(1, 3, 0), (4, 9, 1), (12, 30, 2), (12, 5, 3), (40, 60, 4)] {
        let mut random = generator(seed, "alignments", 0);
        let n = 25;
        let column = |random: &mut _| (0..n).map(|_| unit(random) - 0.5).collect::<Vec<f64>>();
        let gram = |columns: &[Vec<f64>]| -> Rows {
            let element = |i: usize, j: usize| columns.iter().map(|c| c[i] * c[j]).sum();
            (0..n).map(|i| (0..n).map(|j| element(i, j)).collect()).collect()
        };
        // kernels of a few directions, which they share
        let shared: Vec<Vec<f64>> = (0..rank).map(|_| column(&mut random)).collect();
        let kernels: Vec<Rows> = (0..count)
            .map(|k| gram(&[shared[k % rank].clone(), shared[(5 * k + 1) % rank].clone()]))
            .collect();
        let matrices: Vec<Mat<f64>> = kernels.iter().map(matrix).collect();
        let grams: Vec<_> = matrices.iter().map(Mat::as_ref).collect();
        let outputs = [shared[0].clone(), shared[rank / 2].clone(), column(&mut random)];
        let rows = dense(&(0..n).map(|i| outputs.iter().map(|c| c[i]).collect()).collect());
        let w = alignf(
            &grams,
            &TargetGram { kernel: &Kernel::Linear, rows: &rows },
            &RowWeights::equal(),
        )
        .unwrap();

        let dot = |a: &Rows, b: &Rows| -> f64 {
            a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
        };
        let parts: Vec<Rows> = kernels.iter().map(centred_gram).collect();
        let y =
            centred_gram(&gram(&outputs.map(|c| c.iter().map(|&v| f64::from(v as f32)).collect())));
        let a: Vec<f64> = parts.iter().map(|part| dot(part, &y)).collect();
        let m_w = |k: usize| -> f64 { (0..count).map(|l| dot(&parts[k], &parts[l]) * w[l]).sum() };
        let m_w: Vec<f64> = (0..count).map(m_w).collect();
        let along = |v: &[f64]| -> f64 { v.iter().zip(&w).map(|(v, w)| v * w).sum() };
        let length = along(&a) / along(&m_w);
        for k in 0..count {
            let slope = (a[k] - length * m_w[k]) / a.iter().fold(0.0, |most: f64, &a| most.max(a));
            assert!(w[k] >= 0.0 && slope < 1e-6, "{count} {rank}: {slope} at {k}");
            assert!(w[k] == 0.0 || slope > -1e-6, "{count} {rank}: {slope} at {k}");
        }
    }
}
