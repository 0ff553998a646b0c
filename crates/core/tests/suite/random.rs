//! Generators: stable values, independent streams.

use dsokr_core::random::{below, finalise, generator, hash, unit};
use rand_chacha::rand_core::Rng;

/// The values must not change: they decide what every seed means.
#[test]
fn golden_values() {
    let first = |seed, purpose, step| generator(seed, purpose, step).next_u64();
    let actual = [
        first(0, "", 0),
        first(0, "sketch/gaussian", 0),
        first(1, "sketch/gaussian", 0),
        first(0, "sketch/gaussian", 1),
        first(u64::MAX, "épreuve", u64::MAX),
    ];
    // Computed with a Python implementation of the docstring of `generator` and of ChaCha8.
    let expected = [
        7119542229917003193,
        13724313267487401795,
        10050837446889176500,
        675226440353166655,
        14575632019156714749,
    ];
    assert_eq!(actual, expected);
}

/// The hashes must not change: they decide which column a hashed term has.
#[test]
fn golden_hashes() {
    // Computed with a Python implementation of the docstrings of `hash` and `finalise`.
    for (text, expected) in [
        ("", 0xF52A15E9A9B5E89B),
        ("a", 0x02C0BDBF481420F8),
        ("C[C@H]", 0x05294110CFC4F1CE),
        ("épreuve", 0xB7073CC931CA51DF),
    ] {
        assert_eq!(hash(text.as_bytes()), expected, "{text:?}");
    }
    assert_eq!([0, 1, u64::MAX].map(finalise), [0, 0x5692161D100B05E5, 0xB4D055FCF2CBBD7B]);
}

#[test]
fn seed_purpose_and_step_all_count() {
    let mut seen = std::collections::HashSet::new();
    for seed in 0..10 {
        for purpose in ["", "a", "b", "ab", "a\0"] {
            for step in 0..10 {
                assert!(seen.insert(generator(seed, purpose, step).next_u64()));
            }
        }
    }
}

/// χ² with 6 degrees of freedom over 70,000 draws.
#[test]
fn integers_are_uniform() {
    let mut random = generator(0, "below", 0);
    let mut counts = [0.0f64; 7];
    for _ in 0..70_000 {
        counts[below(&mut random, 7) as usize] += 1.0;
    }
    let statistic: f64 = counts.iter().map(|count| (count - 1e4).powi(2) / 1e4).sum();
    assert!(statistic < 22.5, "χ² = {statistic}: probability below 0.001");
    assert_eq!([below(&mut random, 1), below(&mut random, 0)], [0, 0]);
    // A bound just above 2⁶³ rejects half of the draws; without that, small values are twice as likely.
    let bound = (1 << 63) + 1;
    let low = (0..4000).filter(|_| below(&mut random, bound) < bound / 2).count();
    assert!((1850..2150).contains(&low), "{low} of 4000 in the lower half");
}

#[test]
fn unit_is_above_zero_and_at_most_one() {
    let mut random = generator(0, "unit", 0);
    let draws: Vec<f64> = (0..10_000).map(|_| unit(&mut random)).collect();
    assert!(draws.iter().all(|&value| value > 0.0 && value <= 1.0));
    let mean = draws.iter().sum::<f64>() / 1e4;
    assert!((mean - 0.5).abs() < 5.0 * (1.0f64 / 12.0 / 1e4).sqrt(), "{mean}");
}
