//! Candidate sets that hold a right output with a given probability.

use std::f64::consts::LN_2;

use burn::tensor::Device;
use dsokr::basis::random::{generator, shuffle};
use dsokr::data::SplitName;
use dsokr::run::{CalibratingQueries, CalibratingQuery, EnsembleRun};
use dsokr::{Config, fit};

use crate::Folder;

fn calibrating(queries: Vec<CalibratingQuery>) -> CalibratingQueries {
    CalibratingQueries { queries, on: "a test".into(), caution: None }
}

/// By hand: four queries leave none for the temperature, which is 1 then. The level of scores 1 and 0 is
/// `log(e + 1) = 1.3133`, that of 2 and 2 `2 + log 2`.
#[test]
fn the_threshold_is_an_order_statistic_of_distances() {
    let query = |first: &[f32], gold: Option<f32>| CalibratingQuery { first: first.into(), gold };
    let queries = calibrating(vec![
        query(&[1.0, 0.0], Some(1.0)),
        query(&[1.0, 0.0], Some(0.0)),
        query(&[2.0, 2.0], Some(2.0)),
        query(&[1.0, 0.0], None),
    ]);
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found}");
    // the distances are 0.3133, 0.6931, 1.3133 and ∞; ⌈5 · coverage⌉ = 1, 2, 3
    for (coverage, expected) in [(0.2, 0.313262), (0.3, LN_2), (0.4, LN_2), (0.6, 1.313262)] {
        let sets = queries.sets(coverage, 7).unwrap();
        near(sets.threshold, expected);
        assert_eq!(sets.temperature, 1.0);
    }
    let sets = queries.sets(0.6, 7).unwrap();
    // levels of three candidates: log(e^1 + e^0.5 + e^-2) = 1.5199
    assert_eq!(sets.size(&[1.0, 0.5, -2.0]), 2);
    let error = queries.sets(0.7, 7).unwrap_err().to_string();
    assert!(
        error.contains("coverage = 0.7: allowed is at most 0.6000") && error.contains("3 have"),
        "{error}"
    );
    for wrong in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(queries.sets(wrong, 7).unwrap_err().to_string().contains("between 0 and 1"));
    }
    let narrow = queries.sets(0.2, 7).unwrap();
    assert_eq!(narrow.size(&[0.0, 0.0, 0.0, 0.0]), 1, "the best candidate always is in the set");
}

/// The validation and test queries of the quickstart set are divided 200 times. Of a random half, a set at the k-th of n
/// distances holds k/(n + 1) of the other half in the mean, and at most 1/(n + 1) more where distances tie.
#[test]
fn sets_hold_the_right_output_as_often_as_they_say() {
    let changes = [
        "encoder={kind=\"kernel-machine\", lambda=1e-4, inputs={kind=\"ngrams\", blocks=[{kind=\"words\", min=1, max=1}]}}",
        "sketch.size=60",
    ];
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/quickstart.toml");
    let config = Config::load_with(path.as_ref(), &changes).unwrap();
    let folder = Folder::new();
    let trained = fit(&config, folder.path("run")).unwrap();
    let run = EnsembleRun::open(&[trained.path], &Device::flex()).unwrap();
    let mut all = Vec::new();
    for split in [SplitName::Validation, SplitName::Test] {
        let asked = run.ask(|member| member.read_split(split, None), None).unwrap();
        all.extend(run.calibrating(&asked).unwrap());
    }
    assert_eq!(all.len(), 400);
    for coverage in [0.5, 0.8, 0.9] {
        let (mut within, mut held, mut sure) = (0, 0, 0);
        for seed in 0..200 {
            shuffle(&mut all, &mut generator(seed, "halves", 0));
            let (own, others) = all.split_at(200);
            let sets = calibrating(own.to_vec()).sets(coverage, seed).unwrap();
            let is_within =
                |query: &&CalibratingQuery| query.distance(sets.temperature) <= sets.threshold;
            within += others.iter().filter(is_within).count();
            held += others.iter().filter(|query| sets.hold(query)).count();
            sure += others.iter().filter(|query| sets.size(&query.first) == 1).count();
        }
        let share = |count: usize| count as f64 / (200.0 * 200.0);
        // the share of 200 queries within a threshold from 160 has this deviation; its mean over 200 divisions a fourteenth
        let expected = (161.0 * coverage - 1e-9).ceil() / 161.0;
        let deviation = (expected * (1.0 - expected) * (1.0 / 200.0 + 1.0 / 160.0) / 200.0).sqrt();
        let band = expected - 3.0 * deviation..expected + 1.0 / 161.0 + 3.0 * deviation;
        assert!(band.contains(&share(within)), "{coverage}: {}, expected {band:?}", share(within));
        println!(
            "{coverage}: {} within, {} held, {} of one",
            share(within),
            share(held),
            share(sure)
        );
        // the best candidate of a set that would be empty adds little where sets are not of one candidate
        assert!(held >= within && (coverage < 0.8 || share(held) < coverage + 0.03));
        assert!(sure > 0, "some answers are sure");
    }
}
