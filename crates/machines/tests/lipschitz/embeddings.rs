//! Reduced rank regression and Output Embedding Learning.

use dsokr_basis::features::DenseRows;
use dsokr_basis::{
    Basis, Features, Kernel, Mat, OutputKernel, RowSource, SketchKind, SketchOptions,
};
use dsokr_core::Error;
use dsokr_core::loss::Square;
use dsokr_core::random::{Generator, generator};
use dsokr_machines::{
    LipschitzProblem, Loss, Offset, OutputEmbedding, OutputMatrix, OutputSpace, Stop, Targets,
};

use crate::support::{EVERY, fit_on, normal, solve, solved};

/// Returns `ĥ` by kernel ridge regression on coordinates, at the given rows.
fn ridge(
    kernel: Kernel,
    x: &Features,
    targets: &Targets,
    lambda: f64,
    at: &[&Features],
) -> Vec<Vec<f32>> {
    let m = x.len().min(if kernel == Kernel::Linear { x.width() } else { x.len() });
    let kind = if kernel == Kernel::Linear { SketchKind::Gaussian } else { EVERY };
    let basis =
        Basis::fit(kernel, x, &SketchOptions::new(kind.clone(), m).with_tolerance(1e-12)).unwrap();
    let output = OutputMatrix::identity(targets.width()).unwrap();
    let problem =
        LipschitzProblem { loss: Loss::Square(Square {}), output, lambda, offset: Offset::Zero };
    let stop = Stop { gap: 1e-10, steps: 1000 };
    let machine = fit_on(basis, x, targets, &problem, &stop).unwrap();
    assert!(solved(&machine).converged);
    at.iter().map(|rows| machine.predict(*rows).unwrap()).collect()
}

fn points(n: usize, width: usize, random: &mut Generator) -> Features {
    let values: Vec<f32> = (0..n * width).map(|_| normal(random) as f32).collect();
    Features::Dense(DenseRows::new(width, values).unwrap())
}

fn values(rows: &Features) -> &[f32] {
    let Features::Dense(rows) = rows else { panic!("dense rows") };
    rows.values()
}

#[test]
fn coordinates_give_the_scores_of_the_published_algorithms() {
    // Algorithm 1 of output embedding learning on Gram matrices; with c = 1, algorithms 1 and 2 of the
    // reduced rank paper.
    let n = 14;
    let extra = 9;
    let new = 5;
    let p = 3;
    let lambda = 0.05;
    let mut random = generator(0, "test/dual", 0);
    let x = points(n, 2, &mut random);
    let y = points(n, 3, &mut random);
    let unlabelled = points(extra, 3, &mut random);
    let candidates = points(new, 3, &mut random);
    let queries = points(new, 2, &mut random);
    let input = Kernel::Gaussian { gamma: 0.3 };
    let output = Kernel::Gaussian { gamma: 0.2 };
    let k = |kernel: &Kernel, a: &Features, b: &Features| kernel.block(a, b).unwrap();
    let gram = k(&input, &x, &x);
    let ridged =
        Mat::from_fn(n, n, |i, j| gram[(i, j)] + if i == j { n as f64 * lambda } else { 0.0 });
    // A basis of all outputs, labelled and not: exact coordinates.
    let mut all = Features::empty(dsokr_basis::RowKind::Dense, 3).unwrap();
    for rows in [&y, &unlabelled, &candidates] {
        all.append(rows).unwrap();
    }
    let basis = Basis::fit(
        output.clone(),
        &all,
        &SketchOptions::new(EVERY, n + extra + new).with_tolerance(1e-12),
    )
    .unwrap();
    let targets = Targets::from_projection(&basis.project(&y).unwrap()).unwrap();
    let predicted = ridge(input.clone(), &x, &targets, lambda, &[&x, &queries]);
    let coordinates = |rows: &Features| basis.project(rows).unwrap().into_coordinates();
    for c in [1.0, 0.6, 0.0] {
        // W K_x: column i holds α(x_i).
        let alpha = solve(&ridged, &gram);
        let blocks = Mat::from_fn(n + extra, n + extra, |i, j| {
            let a = i.min(j);
            let b = i.max(j);
            let labelled = k(&output, &y, &y);
            if b < n {
                let h = alpha.transpose() * labelled * &alpha;
                c / n as f64 * h[(a, b)]
            } else if a < n {
                let h = alpha.transpose() * k(&output, &y, &unlabelled);
                (c * (1.0 - c) / (n * extra) as f64).sqrt() * h[(a, b - n)]
            } else {
                (1.0 - c) / extra as f64 * k(&output, &unlabelled, &unlabelled)[(a - n, b - n)]
            }
        });
        let eigen = blocks.self_adjoint_eigen(faer::Side::Lower).unwrap();
        let top = n + extra - p;
        let scale = |l: usize| eigen.S().column_vector()[l].sqrt();
        let beta = Mat::from_fn(n + extra, p, |i, j| eigen.U()[(i, top + j)] / scale(top + j));
        // G ψ(y) and G ĥ(x) by the kernel trick.
        let project = |with_y: &Mat<f64>, with_unlabelled: &Mat<f64>| {
            let h = alpha.transpose() * with_y;
            let mixed = Mat::from_fn(n + extra, with_y.ncols(), |i, j| {
                if i < n {
                    (c / n as f64).sqrt() * h[(i, j)]
                } else {
                    ((1.0 - c) / extra as f64).sqrt() * with_unlabelled[(i - n, j)]
                }
            });
            beta.transpose() * mixed
        };
        let at = solve(&ridged, &k(&input, &x, &queries));
        let h = project(&(k(&output, &y, &y) * &at), &(k(&output, &unlabelled, &y) * &at));
        let points = project(&k(&output, &y, &candidates), &k(&output, &unlabelled, &candidates));
        let expected = h.transpose() * points;

        let unlabelled = coordinates(&unlabelled);
        let embedding =
            OutputEmbedding::learn(basis.dimension(), &predicted[0], &unlabelled, c, p).unwrap();
        let h = embedding.project(&predicted[1]).unwrap();
        let points = embedding.project(&coordinates(&candidates)).unwrap();
        for (i, h) in h.chunks(p).enumerate() {
            for (j, y) in points.chunks(p).enumerate() {
                let actual: f32 = h.iter().zip(y).map(|(a, b)| a * b).sum();
                let expected = expected[(i, j)];
                assert!((f64::from(actual) - expected).abs() < 1e-4, "c {c}: {actual}, {expected}");
            }
        }
        // the candidates of the decoder are these p numbers, from the mean of the training outputs
        let (space, targets) = OutputSpace::basis(basis.clone(), None, &y).unwrap();
        let (space, _) = space.embedded(&embedding, &targets).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        space.save(file.path()).unwrap();
        let read = OutputSpace::load(file.path(), Some(basis.clone())).unwrap();
        assert_eq!(read.fingerprint(), space.fingerprint());
        let placed = read.points(&candidates).unwrap();
        assert_eq!((placed.dimension, placed.coordinates.len()), (p, new * p));
        let points = placed.coordinates.chunks(p);
        for (i, h) in h.chunks(p).enumerate() {
            let score = |y: &[f32]| h.iter().zip(y).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            let scores: Vec<f64> = points.clone().map(score).collect();
            for (j, score_of_row) in scores.iter().enumerate() {
                let apart = expected[(i, j)] - expected[(i, 0)];
                assert!(
                    (score_of_row - scores[0] - apart).abs() < 1e-4,
                    "c {c}: {score_of_row}, {apart}"
                );
            }
        }
        let (dim, restored) = read.restored(&h).unwrap();
        assert_eq!((dim, restored), (basis.dimension(), embedding.restore(&h).unwrap()));
        assert!(matches!(read.embedded(&embedding, &targets), Err(Error::Shape(_))));
    }
}

#[test]
fn directions_are_orthonormal_and_every_one_is_the_identity() {
    let mut random = generator(0, "test/identity", 0);
    let rows = points(50, 6, &mut random);
    let embedding = OutputEmbedding::learn(6, values(&rows), &[], 1.0, 6).unwrap();
    let restored = embedding.restore(&embedding.project(values(&rows)).unwrap()).unwrap();
    assert!(restored.iter().zip(values(&rows)).all(|(a, b)| (a - b).abs() < 1e-5));
    // What is lost is the sum of the eigenvalues beyond the rank.
    for rank in 1..6 {
        let few = embedding.truncate(rank).unwrap();
        let kept = few.restore(&few.project(values(&rows)).unwrap()).unwrap();
        let squares = kept.iter().zip(values(&rows)).map(|(a, b)| f64::from(a - b).powi(2));
        let lost = squares.sum::<f64>() / 50.0;
        let expected: f64 = few.spectrum()[rank..].iter().sum();
        assert!((lost - expected).abs() < 1e-5, "{rank}: {lost}, {expected}");
        let again = OutputEmbedding::learn(6, values(&rows), &[], 1.0, rank).unwrap();
        assert_eq!(few, again);
    }
}

/// Computes `y = H x + noise` with H of the given rank, q inputs and d outputs; and the noise-free outputs.
fn low_rank(
    n: usize,
    (q, d): (usize, usize),
    rank: usize,
    noise: f64,
    seed: u64,
) -> (Features, Vec<f64>, Vec<f64>) {
    let mut fixed = generator(0, "test/low-rank", 0);
    let u = Mat::from_fn(q, rank, |_, _| normal(&mut fixed) / (q as f64).sqrt());
    let v = Mat::from_fn(d, rank, |_, _| normal(&mut fixed));
    let h = &v * u.transpose();
    let mut random = generator(seed, "test/low-rank", 1);
    let x = points(n, q, &mut random);
    let mut clean = Vec::new();
    for row in values(&x).chunks(q) {
        for i in 0..d {
            clean.push(row.iter().enumerate().map(|(j, &x)| h[(i, j)] * f64::from(x)).sum());
        }
    }
    let y = clean.iter().map(|f: &f64| f + noise * normal(&mut random)).collect();
    (x, y, clean)
}

fn error(predicted: &[f32], truth: &[f64], d: usize) -> f64 {
    let squares = predicted.iter().zip(truth).map(|(&f, y)| (f64::from(f) - y).powi(2));
    squares.sum::<f64>() / (truth.len() / d) as f64
}

const LAMBDAS: [f64; 5] = [1e-4, 1e-3, 1e-2, 0.1, 1.0];

#[test]
fn reduced_rank_beats_full_rank_under_diffuse_noise() {
    // The finite rank example of the paper: a signal of rank 3 in 40 outputs, noise of equal size in all.
    let d = 40;
    let (x, y, _) = low_rank(120, (d, d), 3, 1.0, 1);
    let (new, _, truth) = low_rank(1000, (d, d), 3, 1.0, 2);
    let targets = Targets::new(d, y).unwrap();
    let mut full = f64::INFINITY;
    let mut reduced = [f64::INFINITY; 5];
    for lambda in LAMBDAS {
        let predicted = ridge(Kernel::Linear, &x, &targets, lambda, &[&x, &new]);
        full = full.min(error(&predicted[1], &truth, d));
        let embedding = OutputEmbedding::learn(d, &predicted[0], &[], 1.0, d).unwrap();
        for (least, rank) in reduced.iter_mut().zip([1, 3, 6, 20, 40]) {
            let embedding = embedding.truncate(rank).unwrap();
            let kept = embedding.restore(&embedding.project(&predicted[1]).unwrap()).unwrap();
            *least = least.min(error(&kept, &truth, d));
        }
    }
    let [one, three, six, _, all] = reduced;
    // Every rank is full rank, the true one is best, and it halves the error at least.
    assert!((all - full).abs() < 1e-4 * full);
    assert!(three < one && three < six && three < 0.5 * full, "{reduced:?}, {full}");
}

#[test]
fn unlabelled_outputs_help_where_labels_are_few() {
    // 20 labelled rows of large noise blur the three directions of the signal; 2,000 outputs without
    // inputs show them.
    let q = 10;
    let d = 60;
    let (x, y, _) = low_rank(20, (q, d), 3, 2.0, 3);
    let (_, unlabelled, _) = low_rank(2000, (q, d), 3, 2.0, 4);
    let (new, _, truth) = low_rank(500, (q, d), 3, 2.0, 5);
    let targets = Targets::new(d, y).unwrap();
    let unlabelled: Vec<f32> = unlabelled.into_iter().map(|value| value as f32).collect();
    let best = |c: f64| {
        let error_at = |lambda: f64| {
            let predicted = ridge(Kernel::Linear, &x, &targets, lambda, &[&x, &new]);
            let embedding = OutputEmbedding::learn(d, &predicted[0], &unlabelled, c, 3).unwrap();
            let kept = embedding.restore(&embedding.project(&predicted[1]).unwrap()).unwrap();
            error(&kept, &truth, d)
        };
        LAMBDAS.map(error_at).into_iter().fold(f64::INFINITY, f64::min)
    };
    let supervised = best(1.0);
    let mixed = best(0.3);
    assert!(mixed < 0.9 * supervised, "{mixed}, {supervised}");
}

#[test]
fn threads_change_no_bit() {
    let mut random = generator(0, "test/threads", 0);
    let rows = points(5000, 7, &mut random);
    let learn = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let embedding =
                OutputEmbedding::learn(7, values(&rows), &values(&rows)[..70], 0.5, 3).unwrap();
            (embedding.project(values(&rows)).unwrap(), embedding)
        })
    };
    assert_eq!(learn(1), learn(3));
}

#[test]
fn bad_embeddings_are_refused() {
    let learn = |predictions: &[f32], outputs: &[f32], c: f64, rank: usize| {
        OutputEmbedding::learn(2, predictions, outputs, c, rank).unwrap_err()
    };
    let two = [1.0, 2.0];
    assert!(learn(&two, &[], 1.5, 1).to_string().contains("= 1.5: expected from 0 to 1"));
    assert!(matches!(learn(&two, &[], f64::NAN, 1), Error::Value { .. }));
    assert!(learn(&two, &[], 1.0, 3).to_string().contains("= 3: expected 1..=2"));
    assert!(matches!(learn(&two, &[], 1.0, 0), Error::Value { .. }));
    assert!(matches!(learn(&two, &[], 0.5, 1), Error::Value { .. }));
    assert!(matches!(learn(&[1.0], &[], 1.0, 1), Error::Shape(_)));
    assert!(matches!(learn(&[0.0; 2], &[], 1.0, 1), Error::Numeric(_)));
    assert!(matches!(
        learn(&[1.0, 1.0, 0.0, f32::NAN], &[], 1.0, 1),
        Error::NotFinite { row: 1, column: 1, .. }
    ));
    let embedding = OutputEmbedding::learn(2, &two, &[], 1.0, 1).unwrap();
    assert!(matches!(embedding.project(&[1.0]), Err(Error::Shape(_))));
    assert!(matches!(embedding.truncate(2), Err(Error::Value { .. })));
}
