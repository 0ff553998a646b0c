//! Exact search against the scores of all structures, from coefficients and from coordinates.

use dsokr_basis::features::{BitRows, DenseRows};
use dsokr_basis::{Basis, Features, Kernel, OutputKernel, RowSource, SketchKind, SketchOptions};
use dsokr_core::random::{generator, unit};
use dsokr_data::featurizers::{hamming_one_hot, kemeny_signs, lehmer_codes};
use dsokr_decode::{DecodedOutput, Encoding, ExactSearch, Queries};

use crate::common::message;

/// Returns the ranks of the items in all orders of four items.
fn rankings() -> Vec<Vec<u32>> {
    let all = (0..256u32).map(|code| (0..4).map(|item| code >> (2 * item) & 3).collect());
    all.filter(|ranks: &Vec<u32>| (0..4).all(|rank| ranks.contains(&rank))).collect()
}

/// Returns all sets of five labels.
fn sets() -> Vec<Vec<u32>> {
    (0..32u32).map(|mask| (0..5).filter(|label| mask >> label & 1 == 1).collect()).collect()
}

fn reals(count: usize, seed: u64) -> Vec<f32> {
    let mut random = generator(seed, "test predictions", 0);
    (0..count).map(|_| (unit(&mut random) - 0.4) as f32).collect()
}

/// Returns all structures as rows, and how they are encoded.
fn problems() -> Vec<(Kernel, Features, Encoding)> {
    let signs = Features::Dense(kemeny_signs(&rankings()).unwrap());
    let one_hot = Features::Bits(hamming_one_hot(&rankings()).unwrap());
    let labels = Features::Bits(BitRows::from_indices(5, sets()).unwrap());
    vec![
        (Kernel::Kemeny, signs.clone(), Encoding::KemenySigns),
        (Kernel::Linear, signs, Encoding::KemenySigns),
        (Kernel::Hamming, one_hot.clone(), Encoding::HammingOneHot),
        (Kernel::Linear, one_hot, Encoding::HammingOneHot),
        (Kernel::Linear, lehmer_codes(&rankings()).unwrap().into(), Encoding::LehmerCodes),
        (Kernel::Linear, labels.clone(), Encoding::LabelBits(0..=5)),
        (Kernel::Cosine, labels.clone(), Encoding::LabelBits(1..=3)),
        (Kernel::Cosine, labels, Encoding::LabelBits(0..=5)),
    ]
}

/// Returns the row of a structure among all, and its score without the constant that all rankings share.
fn place(actual: &DecodedOutput, encoding: &Encoding) -> (usize, f64) {
    let place = match encoding {
        Encoding::LabelBits(_) => sets().iter().position(|other| *other == actual.parts),
        Encoding::KemenySigns | Encoding::HammingOneHot | Encoding::LehmerCodes => {
            rankings().iter().position(|other| *other == actual.ranks())
        }
        Encoding::Numbers => unreachable!("rows of numbers cannot be listed"),
    };
    (place.unwrap(), actual.score)
}

/// Checks that what is found has the largest of `scores`, one for each structure.
fn check(actual: &DecodedOutput, scores: &[f64], encoding: &Encoding, constants: &[f64]) {
    let allowed = |&row: &usize| match encoding {
        Encoding::LabelBits(sizes) => sizes.contains(&sets()[row].len()),
        Encoding::KemenySigns | Encoding::HammingOneHot | Encoding::LehmerCodes => true,
        Encoding::Numbers => unreachable!("rows of numbers cannot be listed"),
    };
    let total = |row: usize| scores[row] + constants[row];
    let best = (0..scores.len()).filter(allowed).map(total).fold(f64::NEG_INFINITY, f64::max);
    let (row, score) = place(actual, encoding);
    assert!(total(row) >= best - 1e-5, "{actual:?}: {} below {best}", total(row));
    let expected = match encoding {
        Encoding::KemenySigns | Encoding::HammingOneHot => scores[row],
        Encoding::LabelBits(_) | Encoding::LehmerCodes => total(row),
        Encoding::Numbers => unreachable!("rows of numbers cannot be listed"),
    };
    assert!((score - expected).abs() < 1e-4, "{score} {expected}");
}

/// Computes `−½ k(y, y)`, and 0 under normalised kernels.
fn constants(kernel: &Kernel, all: &Features) -> Vec<f64> {
    let scale = if kernel.is_normalised() { 0.0 } else { -0.5 };
    kernel.diagonal(all).unwrap().into_iter().map(|k| scale * k).collect()
}

#[test]
fn coefficients_of_training_outputs_give_the_best_of_all_structures() {
    for (at, (kernel, all, encoding)) in problems().into_iter().enumerate() {
        let rows: Vec<usize> = (0..all.len()).step_by(3).collect();
        let outputs = all.select(&rows).unwrap();
        let gram = kernel.block(&all, &outputs).unwrap();
        let search = ExactSearch::on_outputs(&kernel, &outputs, encoding.clone()).unwrap();
        let alpha = reals(20 * rows.len(), at as u64);
        let queries = Queries::new(rows.len(), &alpha).unwrap();
        let actual = search.best(&queries).unwrap();
        for (actual, alpha) in actual.iter().zip(alpha.chunks(rows.len())) {
            let score = |row: usize| {
                let terms = alpha.iter().enumerate().map(|(j, &a)| f64::from(a) * gram[(row, j)]);
                terms.sum::<f64>()
            };
            let scores: Vec<f64> = (0..all.len()).map(score).collect();
            check(actual, &scores, &encoding, &constants(&kernel, &all));
        }
    }
}

/// `⟨h, ψ(y)⟩ − ½ k(y, y)` of h = Σ α_j ψ(u_j) is largest at what is found.
#[test]
fn no_row_of_numbers_has_a_higher_score_than_the_answer_itself() {
    let outputs = Features::Dense(DenseRows::new(3, reals(12, 1)).unwrap());
    let search = ExactSearch::on_outputs(&Kernel::Linear, &outputs, Encoding::Numbers).unwrap();
    let alpha = reals(4, 2);
    let actual = search.best(&Queries::new(4, &alpha).unwrap()).unwrap().remove(0);
    let score = |row: &[f32]| {
        let row = Features::Dense(DenseRows::new(3, row.to_vec()).unwrap());
        let gram = Kernel::Linear.block(&row, &outputs).unwrap();
        let terms = alpha.iter().enumerate().map(|(j, &a)| f64::from(a) * gram[(0, j)]);
        terms.sum::<f64>() - 0.5 * Kernel::Linear.diagonal(&row).unwrap()[0]
    };
    assert!((score(&actual.numbers) - actual.score).abs() < 1e-6, "{actual:?}");
    for step in reals(60, 3).chunks(3) {
        let other: Vec<f32> = actual.numbers.iter().zip(step).map(|(a, b)| a + 0.1 * b).collect();
        assert!(score(&other) < actual.score, "{other:?}");
    }
    let cosine = ExactSearch::on_outputs(&Kernel::Cosine, &outputs, Encoding::Numbers);
    assert!(message(cosine.map(|_| ())).contains("linear kernel"));
}

#[test]
fn coordinates_in_a_basis_give_the_best_of_all_structures() {
    for (at, (kernel, all, encoding)) in problems().into_iter().enumerate() {
        let options = SketchOptions::new(SketchKind::Gaussian, 6);
        let basis = Basis::fit(kernel.clone(), &all, &options).unwrap();
        let search = ExactSearch::in_basis(&basis, encoding.clone()).unwrap();
        let projected = basis.project(&all).unwrap();
        // All coordinates, and the leading ones.
        for dim in [basis.dimension(), basis.dimension() - 1] {
            let z = reals(20 * dim, 100 + at as u64);
            let actual = search.best(&Queries::new(dim, &z).unwrap()).unwrap();
            for (actual, z) in actual.iter().zip(z.chunks(dim)) {
                let score = |row: usize| {
                    let pairs = projected.row(row).iter().zip(z);
                    pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
                };
                let scores: Vec<f64> = (0..all.len()).map(score).collect();
                check(actual, &scores, &encoding, &constants(&kernel, &all));
            }
        }
    }
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let refused = |kernel: Kernel, rows: &Features, encoding| {
        message(ExactSearch::on_outputs(&kernel, rows, encoding).map(|_| ()))
    };
    let (_, signs, _) = problems().remove(0);
    assert_eq!(
        refused(Kernel::Gaussian { gamma: 1.0 }, &signs, Encoding::KemenySigns),
        "the kernel \"gaussian\" is not linear in features; without candidates only such kernels are \
         decoded"
    );
    assert_eq!(
        refused(Kernel::Linear, &signs, Encoding::HammingOneHot),
        "rows of width 6; rankings of K items have rows of K*K bits"
    );
    assert_eq!(
        refused(Kernel::Linear, &signs, Encoding::LabelBits(0..=7)),
        "sets of 0..=7 labels, allowed: sizes within 0..=6, at least one"
    );
    let kernel = Kernel::Kemeny;
    let search = ExactSearch::on_outputs(&kernel, &signs, Encoding::KemenySigns).unwrap();
    let error = message(search.best(&Queries::new(3, &[1.0; 3]).unwrap()));
    assert_eq!(error, "query #0: 3 coefficients of training outputs, expected 24");
    assert_eq!(signs.len(), 24);
}
