//! Bases of sums of kernels.

use dsokr_basis::features::{BitRows, DenseRows, JoinedRows, PartRows};
use dsokr_basis::kernel::{OutputKernel, SumKernel, contract};
use dsokr_basis::{
    Basis, Features, Kernel, Projection, RowKind, RowSource, SketchKind, SketchOptions, Tempering,
};
use dsokr_core::random::{generator, unit};

use crate::support::{bits, counts, dense};

const N: usize = 40;

const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// Returns rows of three kinds.
fn sources() -> Vec<Features> {
    let mut random = generator(3, "sums", 0);
    vec![dense(N, 11, &mut random), bits(N, 70, &mut random), counts(N, 37, &mut random)]
}

fn joined(sources: &[Features]) -> JoinedRows {
    let boxed = |rows: &Features| Box::new(rows.clone()) as Box<dyn RowSource>;
    JoinedRows::new(sources.iter().map(boxed).collect()).unwrap()
}

/// Returns a basis of each source: two tempered, one as it was fitted.
fn bases(sources: &[Features]) -> Vec<Basis> {
    let kernels = [Kernel::Linear, Kernel::Tanimoto, Kernel::Cosine];
    let temperings = [
        Tempering { power: 0.5, centred: true, normalised: true },
        Tempering { power: 0.25, centred: true, normalised: true },
        Tempering::default(),
    ];
    let fit = |((rows, kernel), tempering): ((&Features, Kernel), Tempering)| {
        let options = SketchOptions::new(SketchKind::Gaussian, 9).with_seed(5);
        Basis::fit(kernel, rows, &options).unwrap().tempered(&tempering, rows).unwrap()
    };
    sources.iter().zip(kernels).zip(temperings).map(fit).collect()
}

fn weighted(bases: Vec<Basis>, weights: &[f64]) -> Vec<(f64, Basis)> {
    weights.iter().copied().zip(bases).collect()
}

fn product(projection: &Projection, i: usize, j: usize) -> f64 {
    let pairs = projection.row(i).iter().zip(projection.row(j));
    pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

#[test]
fn a_sum_is_the_concatenation_of_its_parts() {
    let sources = sources();
    let rows = joined(&sources);
    let bases = bases(&sources);
    let parts: Vec<Projection> =
        bases.iter().zip(&sources).map(|(basis, rows)| basis.project(rows).unwrap()).collect();
    // weights are divided by their sum
    let sum = Basis::sum(weighted(bases, &WEIGHTS.map(|weight| 4.0 * weight)), 100, &rows).unwrap();
    let actual = sum.project(&rows).unwrap();
    assert_eq!((sum.kind(), sum.width()), (RowKind::Sparse, 118));
    for i in 0..N {
        for j in 0..N {
            let expected: f64 =
                parts.iter().zip(WEIGHTS).map(|(part, weight)| weight * product(part, i, j)).sum();
            assert!((product(&actual, i, j) - expected).abs() < 1e-5, "{i}, {j}");
        }
        let squared_norm: f64 =
            parts.iter().zip(WEIGHTS).map(|(p, w)| w * p.squared_norms()[i]).sum();
        assert!((actual.squared_norms()[i] - squared_norm).abs() < 1e-5, "{i}");
    }
    let wide = sum.project_wide(&rows, 0..N).unwrap();
    for (i, row) in actual.coordinates().chunks_exact(actual.dimension()).enumerate() {
        let same = row.iter().enumerate().all(|(j, &v)| (f64::from(v) - wide[(j, i)]).abs() < 1e-5);
        assert!(same, "{i}");
    }
}

#[test]
fn few_coordinates_are_the_leading_principal_axes() {
    let sources = sources();
    let rows = joined(&sources);
    let whole = Basis::sum(weighted(bases(&sources), &WEIGHTS), 100, &rows).unwrap();
    let most = Basis::sum(weighted(bases(&sources), &WEIGHTS), usize::MAX, &rows).unwrap();
    assert_eq!(most.spectrum(), whole.spectrum());
    let few = Basis::sum(weighted(bases(&sources), &WEIGHTS), 5, &rows).unwrap();
    assert_eq!(few.dimension(), 5);
    for (few, whole) in few.spectrum().iter().zip(whole.spectrum()) {
        assert!((few - whole).abs() < 1e-9 * whole, "{few}, {whole}");
    }
    let few = few.project(&rows).unwrap();
    let whole = whole.project(&rows).unwrap();
    for i in 0..N {
        let same =
            few.row(i).iter().zip(whole.row(i)).all(|(a, b)| (a.abs() - b.abs()).abs() < 1e-4);
        assert!(same, "{i}");
        assert!(few.residuals()[i] > whole.residuals()[i]);
    }
}

#[test]
fn a_weight_of_zero_only_takes_columns() {
    let sources = sources();
    let rows = joined(&sources);
    let with = Basis::sum(weighted(bases(&sources), &[0.6, 0.0, 0.4]), 50, &rows).unwrap();
    let [first, _, third] = &sources[..] else { panic!("three sources") };
    let two = [first.clone(), third.clone()];
    let [a, _, c] = bases(&sources).try_into().unwrap();
    let without = Basis::sum(vec![(0.6, a), (0.4, c)], 50, &joined(&two)).unwrap();
    assert_eq!(with.spectrum(), without.spectrum());
    let with = with.project(&rows).unwrap();
    let without = without.project(&joined(&two)).unwrap();
    assert_eq!(with, without);
}

#[test]
fn a_sum_keeps_the_contract_of_kernels() {
    let sources = sources();
    let rows = joined(&sources);
    let sum = Basis::sum(weighted(bases(&sources), &WEIGHTS), 12, &rows).unwrap();
    contract::check(sum.kernel(), &rows).unwrap();
    assert!(sum.is_normalised(), "the cosine kernel is, and the others are tempered");
    let projected = sum.project(&rows).unwrap();
    assert!(projected.squared_norms().iter().all(|norm| (norm - 1.0).abs() < 1e-6));
    let options = SketchOptions::new(SketchKind::Gaussian, 9);
    let linear = Basis::fit(Kernel::Linear, &sources[0], &options).unwrap();
    let parts = vec![(1.0, linear), (1.0, bases(&sources).swap_remove(1))];
    let of_two = Basis::sum(parts, 12, &joined(&sources[..2])).unwrap();
    assert!(!of_two.is_normalised(), "the linear kernel is not");
    let tempered =
        sum.tempered(&Tempering { power: 0.5, centred: true, normalised: true }, &rows).unwrap();
    assert!(tempered.is_normalised());
    let tempered: Vec<Basis> = bases(&sources).drain(..2).collect();
    let two = joined(&sources[..2]);
    assert!(Basis::sum(weighted(tempered, &[1.0, 1.0]), 12, &two).unwrap().is_normalised());
}

#[test]
fn a_loaded_sum_is_the_saved_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("basis.safetensors");
    let sources = sources();
    let rows = joined(&sources);
    let sum = Basis::sum(weighted(bases(&sources), &[0.5, 0.0, 0.5]), 12, &rows).unwrap();
    let tempered = sum
        .clone()
        .tempered(&Tempering { power: 0.5, centred: true, normalised: true }, &rows)
        .unwrap();
    assert_ne!(sum.fingerprint(), tempered.fingerprint());
    for basis in [sum, tempered] {
        basis.save(&path).unwrap();
        let loaded = Basis::load(&path).unwrap();
        assert_eq!(loaded.fingerprint(), basis.fingerprint());
        assert_eq!(loaded.project(&rows).unwrap(), basis.project(&rows).unwrap());
        assert_eq!((loaded.spectrum(), loaded.tempering()), (basis.spectrum(), basis.tempering()));
        assert_eq!(loaded.kernel().name(), basis.kernel().name());
        assert_eq!(loaded.is_normalised(), basis.is_normalised());
    }
}

#[test]
fn the_parts_of_joined_rows_are_their_sources() {
    let sources = sources();
    let rows = joined(&sources);
    let all: Vec<usize> = (0..N).rev().collect();
    for (part, source) in PartRows::all(&rows).iter().zip(&sources) {
        assert_eq!((part.kind(), part.width(), part.len()), (source.kind(), source.width(), N));
        assert_eq!(part.block(0..N).unwrap(), *source);
        assert_eq!(part.select(&all).unwrap(), source.select(&all).unwrap());
    }
    let short = Box::new(sources[1].select(&[0, 1]).unwrap());
    let error = JoinedRows::new(vec![Box::new(sources[0].clone()), short]).err().unwrap();
    assert!(error.to_string().contains("sources have 2 and 40 rows"), "{error}");
}

#[test]
fn what_cannot_be_summed_is_refused() {
    let sources = sources();
    let rows = joined(&sources);
    let refused = |weights: &[f64], size, expected: &[&str]| {
        let error = Basis::sum(weighted(bases(&sources), weights), size, &rows).unwrap_err();
        let error = error.to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    refused(&[1.0, -1.0, 1.0], 9, &["weight = -1", "not below 0"]);
    refused(&[1.0, f64::INFINITY, 1.0], 9, &["weight = inf", "finite"]);
    refused(&[0.0, 0.0, 0.0], 9, &["weights = 0", "at least one above 0"]);
    refused(&[1.0, 1.0, 1.0], 0, &["size = 0", "at least 1"]);
    refused(&[1.0, 1.0], 9, &["width 118", "width 81"]);
    let error = Basis::sum(weighted(bases(&sources), &WEIGHTS), 9, &sources[0]).unwrap_err();
    assert!(error.to_string().contains("sparse rows are needed"), "{error}");
}

/// Returns rows of bits in two parts of ten columns each, the last of which are zero in one part or in both.
fn parts_of_ten() -> Features {
    let rows = [vec![0, 3, 12], vec![3, 9, 10, 19], vec![12, 19], vec![1, 3], vec![], vec![]];
    BitRows::from_indices(20, rows).unwrap().into()
}

#[test]
fn a_sum_of_kernels_is_the_sum_of_their_blocks_for_parts_inside_of_words() {
    let rows = parts_of_ten();
    let halves = [0..10, 10..20].map(|columns: std::ops::Range<usize>| {
        let cut = |row: usize| rows.dense_row(row)[columns.clone()].to_vec();
        let values: Vec<f32> = (0..rows.len()).flat_map(cut).collect();
        Features::Dense(DenseRows::new(10, values).unwrap())
    });
    for kernels in [[Kernel::Tanimoto, Kernel::Cosine], [Kernel::Cosine, Kernel::Linear]] {
        for kind in [RowKind::Bits, RowKind::Sparse, RowKind::Dense] {
            let [first, second] = kernels.clone();
            let sum = SumKernel::default().with(0.25, first, kind, 10).with(0.75, second, kind, 10);
            let actual = sum.block(&rows, &rows).unwrap();
            let [a, b] = [0, 1].map(|at| kernels[at].block(&halves[at], &halves[at]).unwrap());
            let expected = faer::Scale(0.25) * a + faer::Scale(0.75) * b;
            assert!((&actual - &expected).norm_max() < 1e-12, "{kernels:?}, {kind}");
            contract::check(&sum, &rows).unwrap();
            assert_eq!(sum.is_normalised(), kernels[1] != Kernel::Linear);
        }
    }
}

#[test]
fn linear_rows_have_the_kernel_of_the_sum_for_empty_parts_too() {
    let rows = parts_of_ten();
    let sum = SumKernel::default()
        .with(0.25, Kernel::Cosine, RowKind::Bits, 10)
        .with(0.5, Kernel::Linear, RowKind::Bits, 5)
        .with(0.25, Kernel::NGram, RowKind::Sparse, 5);
    let linear = sum.linear_rows(&rows).unwrap().unwrap();
    assert_eq!((linear.width(), sum.linear_width()), (22, 22));
    let actual = Kernel::Linear.block(&linear, &linear).unwrap();
    let expected = sum.block(&rows, &rows).unwrap();
    assert!((&actual - &expected).norm_max() < 1e-6, "{actual:?} {expected:?}");
    let gaussian = Kernel::Gaussian { gamma: 1.0 };
    assert!(sum.with(1.0, gaussian, RowKind::Sparse, 3).linear_rows(&rows).is_err(), "23 columns");
}

/// `Σ_j` of the second moments of two bases whose eigenvalues fall by many orders: products of the iteration's vectors
/// have a Cholesky factor that is no longer exact.
#[test]
fn leading_axes_are_orthonormal_whatever_the_spectrum() {
    let mut random = generator(11, "steep", 0);
    for decay in [0.3, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9] {
        let scale = |column: usize| {
            let power = decay * column.min(10) as f64 + 0.03 * column.saturating_sub(10) as f64;
            10f64.powf(-0.5 * power)
        };
        let sources = [0, 1].map(|_| {
            let value = |at: usize| ((unit(&mut random) - 0.5) * scale(at % 25)) as f32;
            let values: Vec<f32> = (0..120 * 25).map(value).collect();
            Features::Dense(DenseRows::new(25, values).unwrap())
        });
        let rows = joined(&sources);
        let fit = |rows: &Features| {
            let every = SketchKind::Subsampling { replacement: false };
            Basis::fit(Kernel::Linear, rows, &SketchOptions::new(every, 120)).unwrap()
        };
        let parts = || sources.iter().map(|rows| (1.0, fit(rows))).collect::<Vec<_>>();
        let few = Basis::sum(parts(), 6, &rows).unwrap();
        let whole = Basis::sum(parts(), 100, &rows).unwrap();
        for (few, whole) in few.spectrum().iter().zip(whole.spectrum()) {
            assert!((few / whole - 1.0).abs() < 1e-3, "{decay}: {few}, {whole}");
        }
        let projected = few.project(&rows).unwrap();
        for i in 0..few.dimension() {
            for j in 0..i {
                let cells = (0..projected.len()).map(|row| projected.row(row));
                let moment: f64 = cells.map(|z| f64::from(z[i]) * f64::from(z[j])).sum();
                let moment = moment / projected.len() as f64;
                let scale = (few.spectrum()[i] * few.spectrum()[j]).sqrt();
                assert!(moment.abs() < 1e-3 * scale, "{decay}: {i}, {j}: {moment}, {scale}");
            }
        }
    }
}
