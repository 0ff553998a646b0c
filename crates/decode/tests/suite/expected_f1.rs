//! The largest expected F1, against all sets.

use dsokr_core::random::{below, generator};
use dsokr_decode::best_expected_f1;

/// Returns the expected F1 of a set, from its definition.
fn expected(set: u32, outcomes: &[(f64, u32)]) -> f64 {
    let total: f64 = outcomes.iter().map(|(weight, _)| weight).sum();
    let f1 = |other: u32| match set.count_ones() + other.count_ones() {
        0 => 1.0,
        both => 2.0 * f64::from((set & other).count_ones()) / f64::from(both),
    };
    outcomes.iter().map(|&(weight, other)| weight / total * f1(other)).sum()
}

#[test]
fn no_other_set_has_a_larger_expected_f1() {
    const LABELS: u32 = 8;
    let mut beyond = 0;
    let mut empty = 0;
    for case in 0..300 {
        let mut random = generator(1, "outcomes", case);
        let count = 1 + below(&mut random, 9);
        let sets: Vec<(f64, u32)> = (0..count)
            .map(|_| {
                let mask = below(&mut random, 1 << LABELS) & below(&mut random, 1 << LABELS);
                (below(&mut random, 1000) as f64 + 0.5, mask as u32)
            })
            .collect();
        let columns = |mask: u32| (0..LABELS).filter(|label| (mask >> label) & 1 == 1).collect();
        let listed: Vec<(f64, Vec<u32>)> =
            sets.iter().map(|&(weight, mask)| (weight, columns(mask))).collect();
        let outcomes: Vec<(f64, &[u32])> =
            listed.iter().map(|(weight, labels)| (*weight, &labels[..])).collect();
        let actual = best_expected_f1(&outcomes).unwrap();
        let mask = actual.parts.iter().fold(0, |mask, label| mask | (1 << label));
        let most = (0..1 << LABELS).map(|set| expected(set, &sets)).fold(0.0, f64::max);
        assert!((actual.score - most).abs() < 1e-12, "{sets:?}: {actual:?}, {most}");
        assert!((expected(mask, &sets) - most).abs() < 1e-12, "{sets:?}: {actual:?}");
        beyond += usize::from(sets.iter().all(|&(_, set)| set != mask));
        empty += usize::from(mask == 0 && sets.iter().any(|&(_, set)| set != 0));
    }
    assert!(empty > 0, "the empty set is never the best");
    assert!(beyond > 20, "only {beyond} answers are no outcome");
}

#[test]
fn weights_that_are_no_weights_are_refused() {
    let outcomes = |weight| -> Vec<(f64, &'static [u32])> { vec![(weight, &[1]), (0.0, &[2])] };
    for weight in [-1.0, f64::NAN, f64::INFINITY, 0.0] {
        assert!(best_expected_f1(&outcomes(weight)).is_err(), "{weight}");
    }
    assert_eq!(best_expected_f1(&outcomes(2.0)).unwrap().parts, [1]);
    let empty = best_expected_f1(&[(1.0, &[])]).unwrap();
    assert_eq!((empty.parts.len(), empty.score), (0, 1.0));
}
