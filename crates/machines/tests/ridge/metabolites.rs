//! A generated set of the shape of metabolite identification: several kernels of spectra, fingerprints as
//! outputs, and for each query the molecules of about its mass.

use dsokr_basis::features::{BitRows, distinct};
use dsokr_basis::{Features, Kernel, Mat, RowSource};
use dsokr_core::RowWeights;
use dsokr_core::random::{generator, unit};
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Metrics, MissingGold, PerQuery, Pool,
    Queries, Rank, bootstrap,
};
use dsokr_machines::{
    Arithmetic, GramMatrix, KernelWeighting, OutputSpace, RowGroups, Spectrum, TargetGram,
    TrainingInputs, alignf, combine, fit,
};

use crate::naive::*;

const TRAIN: usize = 350;
const TEST: usize = 80;
/// Molecules of a database, without spectra, that are candidates.
const OTHERS: usize = 600;
const BITS: usize = 96;
const TRAITS: usize = 5;
/// Candidates of a query.
const LISTED: usize = 25;

struct Metabolites {
    /// Train, test and others: fingerprints, and a mass that depends on the same traits.
    fingerprints: Features,
    masses: Vec<f64>,
    /// Kernels of (train + test) spectra, of unit diagonal.
    kernels: Vec<Rows>,
}

fn normals(rows: usize, columns: usize, seed: u64) -> Rows {
    let mut random = generator(seed, "metabolites", 0);
    let mut normal = || (0..12).map(|_| unit(&mut random) - 0.5).sum::<f64>();
    (0..rows).map(|_| (0..columns).map(|_| normal()).collect()).collect()
}

impl Metabolites {
    /// Creates spectra show the traits through a random map, with noise of a kernel's own level; with an
    /// infinite level they show noise alone.
    fn new(levels: &[f64], seed: u64) -> Self {
        let all = TRAIN + TEST + OTHERS;
        let traits = normals(all, TRAITS, seed);
        let bits = product(&traits, &normals(TRAITS, BITS, seed + 1));
        let chance = normals(all, BITS, seed + 2);
        let ones = bits.iter().zip(&chance).map(|(row, chance)| -> Vec<u32> {
            (0..BITS).filter(|&j| row[j] + 0.5 * chance[j] > 0.8).map(|j| j as u32).collect()
        });
        let fingerprints = BitRows::from_indices(BITS, ones.collect::<Vec<_>>()).unwrap();
        let masses = traits.iter().map(|traits| 300.0 + 40.0 * traits[0] + 10.0 * traits[1]);
        let kernels = levels.iter().enumerate().map(|(k, &level)| {
            let spectra =
                product(&traits[..TRAIN + TEST].to_vec(), &normals(TRAITS, 12, 10 + k as u64));
            let noise = normals(TRAIN + TEST, 12, seed + 20 + k as u64);
            let spectra = if level.is_finite() { add(&spectra, level, &noise) } else { noise };
            // wide: a kernel of noise that would be the identity does little harm
            let width = spectra.iter().flatten().map(|v| v * v).sum::<f64>() / spectra.len() as f64;
            gaussian(0.5 / width, &spectra, &spectra)
        });
        Self {
            fingerprints: fingerprints.into(),
            masses: masses.collect(),
            kernels: kernels.collect(),
        }
    }

    /// Returns values of rows with the training spectra.
    fn values(&self, kernel: usize, rows: std::ops::Range<usize>) -> Mat<f64> {
        Mat::from_fn(rows.len(), TRAIN, |i, j| self.kernels[kernel][rows.start + i][j])
    }

    /// Returns the molecules nearest in mass to each test molecule, itself among them.
    fn lists(&self) -> Vec<Vec<u32>> {
        let list = |query: usize| {
            let apart = |&at: &u32| (self.masses[at as usize] - self.masses[query]).abs();
            let mut list: Vec<u32> = (0..self.masses.len() as u32).collect();
            list.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
            list.truncate(LISTED);
            list
        };
        (TRAIN..TRAIN + TEST).map(list).collect()
    }

    /// Returns the ranks of the test molecules by IOKR on a sum of kernels, λ by leave-one-out.
    fn ranks(&self, weights: &[f64]) -> Vec<Option<Rank>> {
        let sum = |rows: std::ops::Range<usize>| {
            let parts: Vec<Mat<f64>> =
                (0..self.kernels.len()).map(|k| self.values(k, rows.clone())).collect();
            combine(&parts.iter().map(Mat::as_ref).collect::<Vec<_>>(), weights).unwrap()
        };
        let outputs = self.fingerprints.select(&(0..TRAIN).collect::<Vec<_>>()).unwrap();
        let kernel = Kernel::GaussianTanimoto { gamma: 1.0 };
        let (space, targets) = OutputSpace::training(kernel, &outputs).unwrap();
        let gram = sum(0..TRAIN);
        let grid: Vec<f64> = (-6..1).map(|power| 10f64.powi(power)).collect();
        let spectrum =
            Spectrum::full(&TrainingInputs::Gram(&GramMatrix::new(gram.clone())), &targets)
                .unwrap();
        let errors = spectrum.errors(&grid, &space).unwrap();
        let best = (0..grid.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap();
        let lambda = grid[best];
        let model = fit(
            &TrainingInputs::Gram(&GramMatrix::new(gram.clone())),
            &targets,
            lambda,
            Arithmetic::Double,
        )
        .unwrap()
        .model;

        let new = sum(TRAIN..TRAIN + TEST);
        let z = model.predict_gram(new.as_ref()).unwrap();
        let classes = distinct(&self.fingerprints).unwrap();
        let rows = self.fingerprints.select(&classes.representative).unwrap();
        let points = space.points(&rows).unwrap();
        let ids: Vec<String> = (0..self.masses.len()).map(|at| format!("m{at}")).collect();
        let candidates = Candidates::new(CandidateParts {
            ids: ids.clone(),
            class: classes.class,
            dim: points.dimension,
            coordinates: points.coordinates,
            constants: points.constants,
            ..CandidateParts::default()
        })
        .unwrap();
        let lists = PerQuery::new(&self.lists(), &candidates).unwrap();
        let pool = Pool::PerQuery(&lists);
        let gold = &ids[TRAIN..TRAIN + TEST];
        let queries = Queries::named(gold, points.dimension, &z).unwrap();
        let model = Ensemble::one(queries, &candidates, None).unwrap();
        let rows = model.gold(pool, gold, MissingGold::Error).unwrap();
        model.rank(pool, &Combination::default(), &rows).unwrap()
    }
}

#[test]
fn aligned_kernels_identify_metabolites_among_those_of_their_mass() {
    for seed in [100, 200, 300] {
        let set = Metabolites::new(&[0.5, 1.5, 1.0, f64::INFINITY], seed);
        let matrices: Vec<Mat<f64>> = (0..4).map(|k| set.values(k, 0..TRAIN)).collect();
        let grams: Vec<_> = matrices.iter().map(Mat::as_ref).collect();
        let outputs = set.fingerprints.select(&(0..TRAIN).collect::<Vec<_>>()).unwrap();
        let kernel = Kernel::GaussianTanimoto { gamma: 1.0 };
        let target_gram = TargetGram { kernel: &kernel, rows: &outputs };
        let weights = alignf(&grams, &target_gram, &RowWeights::equal()).unwrap();
        // not 0: its diagonal is like that of the outputs' kernel
        let least = weights[..3].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(weights[3] < least, "{:?}", weights);
        let uniform = KernelWeighting::Uniform
            .weights(&grams, &target_gram, &RowWeights::equal(), &RowGroups::alone(), 1.0)
            .unwrap();
        let aligned = set.ranks(&weights);
        let uniform = set.ranks(&uniform);
        let metrics = |ranks: &[Option<Rank>]| Metrics::from_ranks(ranks, LISTED, 0).unwrap();
        let uniform = metrics(&uniform);
        let chance = Metrics::chance(&aligned, &[], LISTED, 0).unwrap();
        let aligned = metrics(&aligned);
        assert!(
            aligned.value("hits@1").unwrap() > 4.0 * chance.value("hits@1").unwrap(),
            "{}, {}",
            aligned.value("hits@1").unwrap(),
            chance.value("hits@1").unwrap()
        );
        assert!(
            aligned.value("hits@1").unwrap() <= aligned.value("hits@5").unwrap()
                && aligned.value("hits@5").unwrap() <= aligned.value("hits@10").unwrap()
        );
        assert!(aligned.mrr() > uniform.mrr(), "{}, {}", aligned.mrr(), uniform.mrr());
    }
}

/// MassSpecGym looks at the first 1, 5 and 20.
#[test]
fn hits_at_other_depths_have_intervals() {
    let set = Metabolites::new(&[0.5, 1.0], 400);
    let ranks = set.ranks(&[1.0, 1.0]);
    let hits = |k| bootstrap(&ranks, |rank| rank.expected_hit(k), 1000, 0).unwrap();
    let [(one, ci95), (five, _), (twenty, _)] = [1, 5, 20].map(hits);
    let metrics = Metrics::from_ranks(&ranks, LISTED, 0).unwrap();
    assert!(
        (one - metrics.value("hits@1").unwrap()).abs() < 1e-12
            && (five - metrics.value("hits@5").unwrap()).abs() < 1e-12
    );
    assert!(five < twenty && twenty < 1.0 + 1e-12);
    assert!(ci95[0] < one && one < ci95[1]);
    let counted = ranks.iter().flatten().filter(|rank| rank.above() < 20).count();
    assert!((twenty - counted as f64 / TEST as f64).abs() < 0.02);
}
