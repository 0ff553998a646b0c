//! The best of all permutations against enumeration, from weights and from predictions in a basis.

use dsokr_basis::features::{BitRows, DenseRows};
use dsokr_basis::{Basis, Features, Kernel, RowSource, SketchKind, SketchOptions};
use dsokr_core::Error;
use dsokr_core::random::{Generator, below, generator, unit};
use dsokr_data::featurizers::{hamming_one_hot, kemeny_signs};
use dsokr_decode::{DecodedOutput, Encoding, ExactSearch, Queries};

use crate::common::message;

/// Returns the best ranking for a direction in feature space: coefficients of the unit vectors.
fn best(encoding: Encoding, weights: &[f32]) -> Result<DecodedOutput, Error> {
    let dim = weights.len();
    let unit = |at: usize| if at / dim == at % dim { 1.0 } else { 0.0 };
    let rows: Vec<f32> = (0..dim * dim).map(unit).collect();
    let rows = Features::Dense(DenseRows::new(dim, rows).unwrap());
    let search = ExactSearch::on_outputs(&Kernel::Linear, &rows, encoding)?;
    Ok(ranking(search.best(&Queries::new(dim, weights)?)?))
}

fn ranking(actual: Vec<DecodedOutput>) -> DecodedOutput {
    actual.into_iter().next().unwrap()
}

fn by_pairs(weights: &[f32]) -> DecodedOutput {
    best(Encoding::KemenySigns, weights).unwrap()
}

fn by_positions(weights: &[f32]) -> DecodedOutput {
    best(Encoding::HammingOneHot, weights).unwrap()
}

/// Returns all orders of `items` items, in lexicographic order.
fn orders(items: usize) -> Vec<Vec<u32>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..items {
        let longer = |order: Vec<u32>| {
            let next = (0..items as u32).filter(|item| !order.contains(item)).collect::<Vec<_>>();
            next.into_iter().map(move |item| [order.clone(), vec![item]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

fn ranks(order: &[u32]) -> Vec<u32> {
    let rank = |item| order.iter().position(|&other| other == item).unwrap() as u32;
    (0..order.len() as u32).map(rank).collect()
}

/// Computes `⟨w, φ⟩` with the features of the featurizer, in whole numbers or `f64`.
fn kemeny_score(weights: &[f32], order: &[u32]) -> f64 {
    let signs = kemeny_signs(&[ranks(order)]).unwrap();
    weights.iter().zip(signs.values()).map(|(&w, &s)| f64::from(w) * f64::from(s)).sum()
}

fn hamming_score(weights: &[f32], order: &[u32]) -> f64 {
    let bits = hamming_one_hot(&[ranks(order)]).unwrap();
    let set = |at: usize| bits.values()[at / 64] >> (at % 64) & 1 == 1;
    (0..weights.len()).filter(|&at| set(at)).map(|at| f64::from(weights[at])).sum()
}

/// Returns the first order with the best score.
fn enumerated(items: usize, score: impl Fn(&[u32]) -> f64) -> (Vec<u32>, f64) {
    let mut best = (Vec::new(), f64::NEG_INFINITY);
    for order in orders(items) {
        let actual = score(&order);
        if actual > best.1 {
            best = (order, actual);
        }
    }
    best
}

/// Returns small whole numbers, so that sums are exact and tie often; or real ones.
fn weights(random: &mut Generator, count: usize, whole: bool) -> Vec<f32> {
    let real = |random: &mut Generator| (unit(random) - 0.5) as f32;
    let draw = |random: &mut Generator| below(random, 5) as f32 - 2.0;
    (0..count).map(|_| if whole { draw(random) } else { real(random) }).collect()
}

fn check(actual: &DecodedOutput, expected: &(Vec<u32>, f64), whole: bool) {
    assert_eq!(actual.parts, expected.0);
    assert!((actual.score - expected.1).abs() <= 1e-9, "{} {}", actual.score, expected.1);
    assert!(!whole || actual.score == expected.1);
    assert_eq!(actual.ranks(), ranks(&actual.parts));
}

#[test]
fn exact_pre_images_are_those_of_enumeration() {
    let mut random = generator(0, "test weights", 0);
    for items in 2..=7 {
        for round in 0..if items == 7 { 6 } else { 30 } {
            let whole = round % 2 == 0;
            let pairs = weights(&mut random, items * (items - 1) / 2, whole);
            let expected = enumerated(items, |order| kemeny_score(&pairs, order));
            check(&by_pairs(&pairs), &expected, whole);

            let positions = weights(&mut random, items * items, whole);
            let expected = enumerated(items, |order| hamming_score(&positions, order));
            check(&by_positions(&positions), &expected, whole);
        }
    }
}

#[test]
fn ties_go_to_the_first_order() {
    // nothing to choose between: the items as they are numbered
    assert_eq!(by_pairs(&[0.0; 15]).parts, [0, 1, 2, 3, 4, 5]);
    assert_eq!(by_positions(&[3.0; 16]).parts, [0, 1, 2, 3]);
    // a cycle: 0 before 1 before 2 before 0, three orders tie
    let cycle = by_pairs(&[1.0, -1.0, 1.0]);
    assert_eq!((&cycle.parts[..], cycle.score), (&[0, 1, 2][..], 1.0));
    // weights that no binary fraction is, summed in any order
    assert_eq!(by_pairs(&[0.1, -0.1, 0.1]).parts, [0, 1, 2]);
}

#[test]
fn no_exchange_improves_the_best_positions() {
    let mut random = generator(3, "test weights", 0);
    let positions = weights(&mut random, 40 * 40, false);
    let score = |order: &[u32]| -> f64 {
        let places = order.iter().enumerate();
        places.map(|(rank, &item)| f64::from(positions[item as usize * 40 + rank])).sum()
    };
    let best = by_positions(&positions);
    assert!((score(&best.parts) - best.score).abs() < 1e-9);
    for (a, b, c) in (0..40).flat_map(|a| (0..a).flat_map(move |b| (0..40).map(move |c| (a, b, c))))
    {
        let mut order = best.parts.clone();
        order.swap(a, b);
        order.swap(b, c);
        assert!(score(&order) <= best.score + 1e-9);
    }
}

#[test]
fn pairs_that_agree_give_their_order() {
    let mut random = generator(4, "test order", 0);
    let mut hidden: Vec<u32> = (0..16).collect();
    (1..16).for_each(|at| hidden.swap(at, below(&mut random, at as u64 + 1) as usize));
    let signs = kemeny_signs(&[ranks(&hidden)]).unwrap();
    let actual = by_pairs(signs.values());
    assert_eq!((actual.parts, actual.score), (hidden, 120.0));
}

/// For more than 16 items no order that differs by one move is better.
#[test]
fn no_move_improves_an_order_of_many_items() {
    let mut random = generator(6, "test weights", 0);
    for items in [17, 30] {
        let pairs = weights(&mut random, items * (items - 1) / 2, false);
        let actual = by_pairs(&pairs);
        assert!((kemeny_score(&pairs, &actual.parts) - actual.score).abs() < 1e-6);
        for (from, to) in (0..items).flat_map(|from| (0..items).map(move |to| (from, to))) {
            let mut order = actual.parts.clone();
            let item = order.remove(from);
            order.insert(to, item);
            assert!(kemeny_score(&pairs, &order) <= actual.score + 1e-6, "{from} {to}");
        }
    }
    let hidden: Vec<u32> = (0..40).map(|at| at * 17 % 40).collect();
    let signs = kemeny_signs(&[ranks(&hidden)]).unwrap();
    assert_eq!(by_pairs(signs.values()).parts, hidden);
}

/// For 12 items, and six more behind them that nothing moves, the local search finds the best order in nine of ten
/// draws without any order in them, and one that is nearly as good in the others.
#[test]
fn local_search_is_near_the_best_order() {
    let mut random = generator(7, "test weights", 0);
    let mut optimal = 0;
    let rounds = 40;
    for _ in 0..rounds {
        let pairs = weights(&mut random, 66, false);
        let mut strengths = pairs.iter();
        let many = (0..18usize).flat_map(|i| (i + 1..18).map(move |j| (i, j)));
        let many = many.map(|(i, j)| match j {
            ..12 => *strengths.next().unwrap(),
            _ if i < 12 => 1.0,
            _ => 0.5,
        });
        let many: Vec<f32> = many.collect();
        let exact = by_pairs(&pairs);
        let local = by_pairs(&many);
        assert_eq!(local.parts[12..], [12, 13, 14, 15, 16, 17]);
        let score = kemeny_score(&pairs, &local.parts[..12]);
        assert!(score <= exact.score + 1e-6 && score > 0.95 * exact.score, "{score} {exact:?}");
        optimal += usize::from(score > exact.score - 1e-6);
    }
    assert!(optimal * 10 >= rounds * 9, "{optimal} of {rounds}");
}

/// Returns a basis on rankings of 5 items and a prediction in it, and every ranking in the same rows.
fn fitted(kernel: Kernel, embed: fn(&[Vec<u32>]) -> Features) -> (Basis, Vec<f32>, Features) {
    let all: Vec<Vec<u32>> = orders(5).iter().map(|order| ranks(order)).collect();
    let some: Vec<Vec<u32>> = all.iter().step_by(3).cloned().collect();
    let basis = Basis::fit(
        kernel,
        &embed(&some),
        &SketchOptions::new(SketchKind::Gaussian, 7).with_seed(3),
    )
    .unwrap();
    let mut random = generator(5, "test prediction", 0);
    let z = (0..basis.dimension()).map(|_| (unit(&mut random) - 0.5) as f32).collect();
    (basis, z, embed(&all))
}

fn signs(rankings: &[Vec<u32>]) -> Features {
    Features::Dense(kemeny_signs(rankings).unwrap())
}

fn one_hot(rankings: &[Vec<u32>]) -> Features {
    Features::Bits(hamming_one_hot(rankings).unwrap())
}

#[test]
fn a_prediction_has_the_same_best_order_in_the_basis_and_in_feature_space() {
    let normalised =
        [(Kernel::Kemeny, signs as fn(&[Vec<u32>]) -> Features), (Kernel::Hamming, one_hot)];
    let linear =
        [(Kernel::Linear, signs as fn(&[Vec<u32>]) -> Features), (Kernel::Linear, one_hot)];
    for (at, (kernel, embed)) in normalised.into_iter().chain(linear).enumerate() {
        let (basis, z, all) = fitted(kernel, embed);
        let projected = basis.project(&all).unwrap();
        let score = |row: usize| -> f64 {
            projected.row(row).iter().zip(&z).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let encoding = [Encoding::KemenySigns, Encoding::HammingOneHot][at % 2].clone();
        let search = ExactSearch::in_basis(&basis, encoding).unwrap();
        let actual = ranking(search.best(&Queries::new(z.len(), &z).unwrap()).unwrap());
        let best = (0..120).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap();
        assert_eq!(actual.parts, orders(5)[best]);
        let largest = (0..120).map(|row| score(row).abs()).fold(0.0, f64::max);
        assert!((actual.score - score(best)).abs() <= 1e-5 * largest);
    }
}

#[test]
fn what_is_no_ranking_is_refused() {
    assert_eq!(
        message(best(Encoding::KemenySigns, &[1.0; 4])),
        "rows of width 4; rankings of K items have rows of K(K-1)/2 pair signs"
    );
    assert_eq!(
        message(best(Encoding::HammingOneHot, &[1.0; 8])),
        "rows of width 8; rankings of K items have rows of K*K bits"
    );
    let search = |basis, encoding| ExactSearch::in_basis(basis, encoding).map(drop);
    let (basis, ..) = fitted(Kernel::Kemeny, signs);
    assert_eq!(
        message(search(&basis, Encoding::HammingOneHot)),
        "rows of width 10; rankings of K items have rows of K*K bits"
    );
    let (basis, ..) = fitted(Kernel::Gaussian { gamma: 0.5 }, signs);
    let error = message(search(&basis, Encoding::KemenySigns));
    assert!(error.contains("holds anchors or is tempered"), "{error}");
    let five = Features::Bits(BitRows::from_indices(5, [[0, 1], [2, 3], [1, 4]]).unwrap());
    let basis =
        Basis::fit(Kernel::Linear, &five, &SketchOptions::new(SketchKind::Gaussian, 2)).unwrap();
    assert_eq!(
        message(search(&basis, Encoding::KemenySigns)),
        "rows of width 5; rankings of K items have rows of K(K-1)/2 pair signs"
    );
    assert_eq!(five.len(), 3);
}

#[test]
fn extreme_weights_are_ranked_by_size() {
    for scale in [f32::MAX, 1e-44] {
        let actual = by_pairs(&[-scale, -scale, -scale]);
        assert_eq!(actual.parts, [2, 1, 0]);
        assert!((actual.score / f64::from(scale) - 3.0).abs() < 1e-9);
    }
}
