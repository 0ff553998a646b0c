//! Bases of sums of kernels.

use dsokr_basis::features::{JoinedRows, PartRows};
use dsokr_basis::kernel::contract;
use dsokr_basis::random::generator;
use dsokr_basis::{
    Basis, Features, Kernel, Projection, RowKind, RowSource, SketchKind, SketchOptions, Tempering,
};

use crate::support::{bits, counts, dense};

const N: usize = 40;

const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// Rows of three kinds.
fn sources() -> Vec<Features> {
    let mut random = generator(3, "sums", 0);
    vec![dense(N, 11, &mut random), bits(N, 70, &mut random), counts(N, 37, &mut random)]
}

fn joined(sources: &[Features]) -> JoinedRows {
    let boxed = |rows: &Features| Box::new(rows.clone()) as Box<dyn RowSource>;
    JoinedRows::new(sources.iter().map(boxed).collect()).unwrap()
}

/// A basis of each source: two tempered, one as it was fitted.
fn bases(sources: &[Features]) -> Vec<Basis> {
    let kernels = [Kernel::Linear, Kernel::Tanimoto, Kernel::Cosine];
    let temperings =
        [Tempering::from_power(0.5), Tempering::from_power(0.25), Tempering::default()];
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
    let (rows, bases) = (joined(&sources), bases(&sources));
    let parts: Vec<Projection> =
        bases.iter().zip(&sources).map(|(basis, rows)| basis.project(rows).unwrap()).collect();
    // weights are divided by their sum
    let sum = Basis::sum(weighted(bases, &WEIGHTS.map(|weight| 4.0 * weight)), 100, &rows).unwrap();
    let found = sum.project(&rows).unwrap();
    assert_eq!((sum.kind, sum.width), (RowKind::Sparse, 118));
    for i in 0..N {
        for j in 0..N {
            let expected: f64 =
                parts.iter().zip(WEIGHTS).map(|(part, weight)| weight * product(part, i, j)).sum();
            assert!((product(&found, i, j) - expected).abs() < 1e-5, "{i}, {j}");
        }
        let own: f64 = parts.iter().zip(WEIGHTS).map(|(p, w)| w * p.squared_norms[i]).sum();
        assert!((found.squared_norms[i] - own).abs() < 1e-5, "{i}");
    }
    let wide = sum.project_wide(&rows, 0..N).unwrap();
    for (i, row) in found.coordinates.chunks_exact(found.dimension).enumerate() {
        let same = row.iter().enumerate().all(|(j, &v)| (f64::from(v) - wide[(j, i)]).abs() < 1e-5);
        assert!(same, "{i}");
    }
}

#[test]
fn few_coordinates_are_the_leading_principal_axes() {
    let sources = sources();
    let rows = joined(&sources);
    let whole = Basis::sum(weighted(bases(&sources), &WEIGHTS), 100, &rows).unwrap();
    let few = Basis::sum(weighted(bases(&sources), &WEIGHTS), 5, &rows).unwrap();
    assert_eq!(few.dimension(), 5);
    for (few, whole) in few.spectrum.iter().zip(&whole.spectrum) {
        assert!((few - whole).abs() < 1e-9 * whole, "{few}, {whole}");
    }
    let (few, whole) = (few.project(&rows).unwrap(), whole.project(&rows).unwrap());
    for i in 0..N {
        let same =
            few.row(i).iter().zip(whole.row(i)).all(|(a, b)| (a.abs() - b.abs()).abs() < 1e-4);
        assert!(same, "{i}");
        assert!(few.residuals[i] > whole.residuals[i]);
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
    assert_eq!(with.spectrum, without.spectrum);
    let (with, without) = (with.project(&rows).unwrap(), without.project(&joined(&two)).unwrap());
    assert_eq!(with, without);
}

#[test]
fn a_sum_keeps_the_contract_of_kernels() {
    let sources = sources();
    let rows = joined(&sources);
    let sum = Basis::sum(weighted(bases(&sources), &WEIGHTS), 12, &rows).unwrap();
    contract::check(sum.kernel(), &rows).unwrap();
    assert!(!sum.is_normalised(), "one part is not tempered");
    let tempered = sum.tempered(&Tempering::from_power(0.5), &rows).unwrap();
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
    let tempered = sum.clone().tempered(&Tempering::from_power(0.5), &rows).unwrap();
    assert_ne!(sum.fingerprint(), tempered.fingerprint());
    for basis in [sum, tempered] {
        basis.save(&path).unwrap();
        let loaded = Basis::load(&path).unwrap();
        assert_eq!(loaded.fingerprint(), basis.fingerprint());
        assert_eq!(loaded.project(&rows).unwrap(), basis.project(&rows).unwrap());
        assert_eq!((&loaded.spectrum, loaded.tempering()), (&basis.spectrum, basis.tempering()));
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
