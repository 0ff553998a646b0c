//! The best of all permutations against enumeration, from weights and from predictions in a basis.

use crate::common::message;
use dsokr_basis::features::{BitRows, hamming_one_hot, kemeny_signs};
use dsokr_basis::random::{Generator, below, generator, unit};
use dsokr_basis::{Basis, Features, Kernel, RowSource, SketchKind, SketchOptions};
use dsokr_decode::Error;
use dsokr_decode::permutations::{MAX_ITEMS, PairWeights, PositionWeights, Ranking};

/// All orders of `items` items, in lexicographic order.
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

/// `⟨w, φ⟩` with the features of the featurizer, in whole numbers or `f64`.
fn kemeny_score(weights: &[f32], order: &[u32]) -> f64 {
    let signs = kemeny_signs(&[ranks(order)]).unwrap();
    weights.iter().zip(signs.values()).map(|(&w, &s)| f64::from(w) * f64::from(s)).sum()
}

fn hamming_score(weights: &[f32], order: &[u32]) -> f64 {
    let bits = hamming_one_hot(&[ranks(order)]).unwrap();
    let set = |at: usize| bits.words()[at / 64] >> (at % 64) & 1 == 1;
    (0..weights.len()).filter(|&at| set(at)).map(|at| f64::from(weights[at])).sum()
}

/// The first order with the best score.
fn enumerated(items: usize, score: impl Fn(&[u32]) -> f64) -> (Vec<u32>, f64) {
    let mut best = (Vec::new(), f64::NEG_INFINITY);
    for order in orders(items) {
        let found = score(&order);
        if found > best.1 {
            best = (order, found);
        }
    }
    best
}

/// Small whole numbers, so that sums are exact and tie often; or real ones.
fn weights(random: &mut Generator, count: usize, whole: bool) -> Vec<f32> {
    let real = |random: &mut Generator| (unit(random) - 0.5) as f32;
    let draw = |random: &mut Generator| below(random, 5) as f32 - 2.0;
    (0..count).map(|_| if whole { draw(random) } else { real(random) }).collect()
}

fn check(found: &Ranking, expected: &(Vec<u32>, f64), whole: bool) {
    assert_eq!(found.order, expected.0);
    assert!((found.score - expected.1).abs() <= 1e-9, "{} {}", found.score, expected.1);
    assert!(!whole || found.score == expected.1);
    assert_eq!(found.ranks(), ranks(&found.order));
}

#[test]
fn exact_pre_images_are_those_of_enumeration() {
    let mut random = generator(0, "test weights", 0);
    for items in 1..=7 {
        for round in 0..if items == 7 { 6 } else { 30 } {
            let whole = round % 2 == 0;
            let pairs = weights(&mut random, items * (items - 1) / 2, whole);
            // the featurizer refuses a single item, which has one order
            let score = |order: &[u32]| if items == 1 { 0.0 } else { kemeny_score(&pairs, order) };
            let found = PairWeights::new(items, &pairs).unwrap();
            check(&found.best().unwrap(), &enumerated(items, score), whole);

            let positions = weights(&mut random, items * items, whole);
            let expected = enumerated(items, |order| hamming_score(&positions, order));
            check(&PositionWeights::new(items, &positions).unwrap().best(), &expected, whole);
        }
    }
}

#[test]
fn scores_are_products_with_the_features() {
    let mut random = generator(1, "test weights", 0);
    let (pairs, positions) = (weights(&mut random, 28, true), weights(&mut random, 64, true));
    let by_pairs = PairWeights::new(8, &pairs).unwrap();
    let by_position = PositionWeights::new(8, &positions).unwrap();
    for order in orders(8).iter().step_by(97) {
        assert_eq!(by_pairs.score(order).unwrap(), kemeny_score(&pairs, order));
        assert_eq!(by_position.score(order).unwrap(), hamming_score(&positions, order));
    }
}

#[test]
fn ties_go_to_the_first_order() {
    // nothing to choose between: the items as they are numbered
    assert_eq!(PairWeights::new(6, &[0.0; 15]).unwrap().best().unwrap().order, [0, 1, 2, 3, 4, 5]);
    assert_eq!(PositionWeights::new(4, &[3.0; 16]).unwrap().best().order, [0, 1, 2, 3]);
    // a cycle: 0 before 1 before 2 before 0, three orders tie
    let cycle = PairWeights::new(3, &[1.0, -1.0, 1.0]).unwrap().best().unwrap();
    assert_eq!((&cycle.order[..], cycle.score), (&[0, 1, 2][..], 1.0));
    // weights that no binary fraction is, summed in any order
    assert_eq!(PairWeights::new(3, &[0.1, -0.1, 0.1]).unwrap().best().unwrap().order, [0, 1, 2]);
}

/// How often local search finds the best order of 60 random problems; never a better one.
fn hits(items: usize, restarts: usize) -> usize {
    let mut random = generator(2, "test weights", items as u64);
    let mut equal = 0;
    for problem in 0..60 {
        let weights = weights(&mut random, items * (items - 1) / 2, problem % 2 == 0);
        let mut search = generator(problem, "test restarts", 0);
        let weights = PairWeights::new(items, &weights).unwrap();
        let (found, best) = (weights.local_search(restarts, &mut search), weights.best().unwrap());
        assert_eq!(found.score, weights.score(&found.order).unwrap());
        assert!(found.score <= best.score, "{found:?} above {best:?}");
        equal += usize::from(found.score == best.score);
    }
    equal
}

#[test]
fn local_search_finds_most_optima_and_nothing_above() {
    for items in 2..=8 {
        assert!(hits(items, 10) >= 57, "{items} items");
    }
    assert!(hits(12, 30) >= 50);
}

#[test]
fn no_exchange_improves_the_best_positions() {
    let mut random = generator(3, "test weights", 0);
    let positions = weights(&mut random, 40 * 40, false);
    let positions = PositionWeights::new(40, &positions).unwrap();
    let best = positions.best();
    for (a, b, c) in (0..40).flat_map(|a| (0..a).flat_map(move |b| (0..40).map(move |c| (a, b, c))))
    {
        let mut order = best.order.clone();
        order.swap(a, b);
        order.swap(b, c);
        assert!(positions.score(&order).unwrap() <= best.score);
    }
}

#[test]
fn local_search_moves_a_hidden_order_into_place() {
    // all pairs agree on one order of 60 items: a single local optimum
    let mut random = generator(4, "test order", 0);
    let mut hidden: Vec<u32> = (0..60).collect();
    (1..60).for_each(|at| hidden.swap(at, below(&mut random, at as u64 + 1) as usize));
    let ranks = ranks(&hidden);
    let signs = kemeny_signs(&[ranks]).unwrap();
    let found = PairWeights::new(60, signs.values()).unwrap().local_search(0, &mut random);
    assert_eq!((found.order, found.score), (hidden, 1770.0));
}

/// A basis on rankings of 5 items and a prediction in it, and every ranking in the same rows.
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
    let z = (0..basis.rank()).map(|_| (unit(&mut random) - 0.5) as f32).collect();
    (basis, z, embed(&all))
}

fn signs(rankings: &[Vec<u32>]) -> Features {
    Features::Dense(kemeny_signs(rankings).unwrap())
}

fn one_hot(rankings: &[Vec<u32>]) -> Features {
    Features::Bits(hamming_one_hot(rankings).unwrap())
}

#[test]
fn a_prediction_has_the_same_scores_in_the_basis_and_in_feature_space() {
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
        let orders = orders(5);
        let by_pairs = (at % 2 == 0).then(|| PairWeights::of_prediction(&basis, &z).unwrap());
        let by_position =
            (at % 2 == 1).then(|| PositionWeights::of_prediction(&basis, &z).unwrap());
        let mut best = 0;
        let largest = (0..120).map(|row| score(row).abs()).fold(0.0, f64::max);
        for (row, order) in orders.iter().enumerate() {
            let found = match (&by_pairs, &by_position) {
                (Some(weights), _) => weights.score(order).unwrap(),
                (_, Some(weights)) => weights.score(order).unwrap(),
                _ => unreachable!(),
            };
            assert!((found - score(row)).abs() <= 1e-5 * largest, "{found} {}", score(row));
            if score(row) > score(best) {
                best = row;
            }
        }
        let found = by_pairs.map(|weights| weights.best().unwrap());
        let found = found.or(by_position.map(|weights| weights.best())).unwrap();
        assert_eq!(found.order, orders[best]);
    }
}

#[test]
fn what_is_no_ranking_is_refused() {
    for items in [0, MAX_ITEMS + 1] {
        let expected = format!("{items} items, allowed: 1..=2048");
        assert_eq!(message(PairWeights::new(items, &[])), expected);
        assert_eq!(message(PositionWeights::new(items, &[])), expected);
    }
    assert_eq!(message(PairWeights::new(3, &[1.0; 4])), "4 pair weights, expected 3");
    assert_eq!(message(PositionWeights::new(3, &[1.0; 8])), "8 position weights, expected 9");
    assert_eq!(
        message(PairWeights::new(3, &[1.0, f32::NAN, 0.0])),
        "weight 1: NaN is not a finite number"
    );
    let many = PairWeights::new(17, &[1.0; 136]).unwrap();
    assert_eq!(message(many.best()), "17 items, allowed: 1..=16");
    let weights = PositionWeights::new(2, &[1.0; 4]).unwrap();
    for (order, start) in [([0, 0], "position 1: item 0 of 2"), ([2, 0], "position 0: item 2 of 2")]
    {
        assert_eq!(
            message(weights.score(&order)),
            format!("{start}, numbered from 0, is unknown or ranked already")
        );
    }
    assert_eq!(message(weights.score(&[0])), "1 ranked items, expected 2");

    let (basis, z, _) = fitted(Kernel::Kemeny, signs);
    assert_eq!(
        message(PositionWeights::of_prediction(&basis, &z)),
        "rows of width 10; rankings of K items have rows of K*K bits"
    );
    assert!(matches!(PairWeights::of_prediction(&basis, &z[1..]), Err(Error::Basis(_))));
    let (basis, z, _) = fitted(Kernel::Gaussian { gamma: 0.5 }, signs);
    assert!(
        message(PairWeights::of_prediction(&basis, &z)).contains("holds anchors or is tempered")
    );
    let five = Features::Bits(BitRows::from_indices(5, [[0, 1], [2, 3], [1, 4]]).unwrap());
    let basis =
        Basis::fit(Kernel::Linear, &five, &SketchOptions::new(SketchKind::Gaussian, 2)).unwrap();
    let z = vec![1.0; basis.rank()];
    assert_eq!(
        message(PairWeights::of_prediction(&basis, &z)),
        "rows of width 5; rankings of K items have rows of K(K-1)/2 pair signs"
    );
    assert_eq!(five.len(), 3);
}

#[test]
fn extreme_weights_are_ranked_by_size() {
    for scale in [f32::MAX, 1e-44] {
        let found = PairWeights::new(3, &[-scale, -scale, -scale]).unwrap().best().unwrap();
        assert_eq!(found.order, [2, 1, 0]);
        assert!((found.score / f64::from(scale) - 3.0).abs() < 1e-9);
    }
}
