//! Hub means against sorting all similarities, and what a correction does to candidates.

use std::collections::BTreeMap;
use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_decode::{CandidateBlocks, Candidates, Hubs, Queries, ScoreBlock, rank, top_k};
use proptest::prelude::*;

use crate::common::{Set, integer_queries, message, real_queries};

/// Returns the mean of the k largest products with each row, all of them formed and sorted.
fn brute_force(set: &Set, predictions: &[f32], k: usize) -> Vec<f64> {
    let product = |z: &[f32], row: &[f32]| -> f64 {
        z.iter().zip(row).map(|(&z, &c)| f64::from(z) * f64::from(c)).sum()
    };
    let mean = |row: &Vec<f32>| {
        let mut all: Vec<f64> = predictions.chunks(set.dim).map(|z| product(z, row)).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all[..k].iter().sum::<f64>() / k as f64
    };
    set.rows.iter().map(mean).collect()
}

fn check(set: &Set, predictions: &[f32], k: usize, allowed: f64) {
    let queries = Queries::new(set.dim, predictions).unwrap();
    let hubs = Hubs::fit(&queries, &set.candidates(), k).unwrap();
    assert_eq!((hubs.neighbours, hubs.means.len()), (k, set.rows.len()));
    for (row, expected) in brute_force(set, predictions, k).into_iter().enumerate() {
        let actual = f64::from(hubs.means[row]);
        assert!((actual - expected).abs() <= allowed, "row {row}: {actual}, {expected}");
    }
}

/// Small integers: many similarities are equal, and sums are exact but for the last rounding.
#[test]
fn means_equal_a_full_sort() {
    for (predictions, count, distinct, dim, k) in [
        (1, 1, 1, 1, 1),
        (5, 20, 1, 2, 5),
        (40, 300, 200, 2, 10),
        (193, 700, 513, 4, 50),
        (400, 5000, 4700, 5, 3),
        (700, 40, 33, 3, 700),
    ] {
        let set = Set::integers(k as u64, count, distinct, dim);
        check(&set, &integer_queries(k as u64, predictions, dim), k, 1e-6);
    }
}

#[test]
fn means_depend_on_neither_threads_nor_order_nor_constants() {
    let count = 3000;
    let dim = 37;
    let k = 10;
    let set = Set::reals(1, count, 2500, dim);
    let rows = real_queries(1, 500, dim);
    check(&set, &rows, k, 1e-5);
    let means = |rows: &[f32], set: &Set, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let queries = Queries::new(dim, rows).unwrap();
        pool.install(|| Hubs::fit(&queries, &set.candidates(), k).unwrap())
    };
    let actual = means(&rows, &set, 1);
    assert_eq!(actual, means(&rows, &set, 4));
    let reversed: Vec<f32> = rows.chunks(dim).rev().flatten().copied().collect();
    assert_eq!(actual, means(&reversed, &set, 3));
    let mut other = set.clone();
    other.constants.iter_mut().for_each(|constant| *constant += 5.0);
    assert_eq!(actual, means(&rows, &other, 2));
}

/// Rows that notice how many of them are asked for at once.
struct Watched(Candidates);

impl CandidateBlocks for Watched {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn rows(&self) -> usize {
        self.0.distinct()
    }

    fn candidates(&self) -> u64 {
        self.0.len() as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        assert!(rows.len() <= 4096, "{} rows at once", rows.len());
        self.0.block(rows)
    }
}

#[test]
fn candidates_are_read_in_blocks() {
    let set = Set::integers(8, 40_000, 39_000, 2);
    let predictions = integer_queries(8, 30, 2);
    let queries = Queries::new(2, &predictions).unwrap();
    let actual = Hubs::fit(&queries, &Watched(set.candidates()), 4).unwrap();
    assert_eq!(actual, Hubs::fit(&queries, &set.candidates(), 4).unwrap());
}

#[test]
fn a_correction_is_subtracted_replaced_and_undone() {
    let set = Set::reals(3, 60, 40, 5);
    let plain = set.candidates();
    let predictions = real_queries(3, 25, 5);
    let hubs = Hubs::fit(&Queries::new(5, &predictions).unwrap(), &plain, 6).unwrap();
    let expected = |weight: f64| -> Vec<f32> {
        let pairs = set.constants.iter().zip(brute_force(&set, &predictions, 6));
        pairs.map(|(b, h)| (f64::from(*b) - weight * h) as f32).collect()
    };
    let mut corrected = plain.clone();
    for weight in [0.5, 0.25, 0.0, 2.0] {
        corrected = corrected.with_hubs(hubs.clone(), weight).unwrap();
        for (actual, expected) in corrected.constants().iter().zip(expected(weight.into())) {
            assert!((actual - expected).abs() < 1e-5, "{actual}, {expected}");
        }
        assert_eq!(corrected.hubs(), Some((&hubs, weight)));
    }
    assert_eq!(corrected.coordinates().unwrap(), plain.coordinates().unwrap());
    assert_eq!(corrected.without_hubs(), plain);

    // Scores are those of candidates that were made with the corrected constants.
    let by_hand = Set { constants: expected(0.5), ..set.clone() };
    let corrected = plain.with_hubs(hubs, 0.5).unwrap();
    let rows = real_queries(4, 30, 5);
    let queries = Queries::new(5, &rows).unwrap();
    for (query, hits) in rows.chunks(5).zip(top_k(&queries, &corrected, 60).unwrap()) {
        for (hit, (_, score)) in hits.iter().zip(by_hand.sorted(query, &by_hand.all())) {
            assert!((f64::from(hit.score) - score).abs() < 1e-5);
        }
    }
}

/// One point near everything wins every query, and none after the correction; its duplicates tie still.
#[test]
fn a_hub_loses_what_it_won_by_being_near_everything() {
    let dim = 6;
    let mut rows: Vec<Vec<f32>> =
        (0..dim).map(|j| (0..dim).map(|i| (i == j) as u8 as f32).collect()).collect();
    rows.push(vec![0.9; dim]);
    let class: Vec<u32> = (0..dim as u32).chain([6, 6, 6]).collect();
    let set = Set { dim, class, rows, constants: vec![0.0; 7] };
    let queries: Vec<f32> =
        (0..dim).flat_map(|j| (0..dim).map(move |i| if i == j { 1.0 } else { 0.1 })).collect();
    let unit = Queries::new(dim, &queries).unwrap().normalised();
    let queries = Queries::new(dim, &unit).unwrap();
    let gold: Vec<Option<u32>> = (0..dim as u32).map(Some).collect();
    let above = |candidates: &Candidates| -> Vec<u64> {
        let ranks = rank(&queries, &gold, candidates).unwrap();
        ranks.into_iter().map(|rank| rank.unwrap().above()).collect()
    };
    let plain = set.candidates();
    assert_eq!(above(&plain), [3; 6]);
    let hubs = Hubs::fit(&queries, &plain, 3).unwrap();
    let corrected = plain.with_hubs(hubs, 1.0).unwrap();
    assert_eq!(above(&corrected), [0; 6]);
    let ranks = rank(&queries, &[Some(6); 6], &corrected).unwrap();
    assert!(ranks.iter().all(|rank| rank.unwrap().tied() == 3));
}

#[test]
fn a_file_holds_the_correction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    let set = Set::reals(5, 90, 70, 4);
    let predictions = real_queries(5, 20, 4);
    let hubs = Hubs::fit(&Queries::new(4, &predictions).unwrap(), &set.candidates(), 7).unwrap();
    let corrected = set.candidates().with_hubs(hubs.clone(), 0.3).unwrap();
    let metadata = BTreeMap::from([("basis".to_string(), "0123".to_string())]);
    corrected.save(&path, &metadata).unwrap();
    let read = Candidates::load(&path).unwrap();
    assert_eq!(read, corrected);
    assert_eq!(read.hubs(), Some((&hubs, 0.3)));
    assert_eq!(read.without_hubs(), set.candidates());
    assert_eq!(Candidates::open(&path).unwrap().metadata("basis").unwrap(), "0123");

    // A program that knows nothing of hubs finds the corrected constants where it looks for them.
    let stored = Stored::open(&path, "candidates", 2).unwrap();
    let (_, weights) = stored.read::<f32>("weights", 2).unwrap();
    assert!(weights.iter().step_by(2).eq(corrected.constants()));
}

#[test]
fn files_with_other_constants_than_their_hubs_give_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    let forge = |weight: &str, neighbours: &str, hubs: &[f32], shape: [usize; 2]| {
        let weights = [0.75, 1.0, 0.0, 1.0];
        let tensors = [
            Tensor::f32("coordinates", &[2, 1], &[1.0, 2.0]),
            Tensor::f32("weights", &[2, 2], &weights),
            Tensor::f32("hubs", &shape, hubs),
            Tensor::u64("row_offsets", &[3], &[0, 1, 2]),
            Tensor::u32("members", &[2], &[0, 1]),
            Tensor::u8("ids", &[2], b"ab"),
            Tensor::u64("id_offsets", &[3], &[0, 1, 2]),
            Tensor::u8("labels", &[0], b""),
            Tensor::u64("label_offsets", &[3], &[0, 0, 0]),
            Tensor::u32("by_id", &[2], &[0, 1]),
        ];
        let metadata = [("hub_weight", weight), ("hub_neighbours", neighbours)];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Contents::new("candidates", 2, &metadata, &tensors).write(&path).unwrap();
        Candidates::load(&path)
    };
    let hubs = [1.0, 0.5, 0.5, 1.0];
    assert_eq!(forge("0.5", "3", &hubs, [2, 2]).unwrap().hubs().unwrap().1, 0.5);
    for (weight, hubs, shape) in [
        ("0.25", &hubs[..], [2, 2]),
        ("-0.5", &hubs[..], [2, 2]),
        ("NaN", &hubs[..], [2, 2]),
        ("0.5", &[1.0, 0.5, 0.5, f32::NAN][..], [2, 2]),
        ("0.5", &[1.0, 0.5, 0.5, 0.5][..], [2, 2]),
        ("0.5", &hubs[..], [1, 4]),
        ("0.5", &hubs[..2], [1, 2]),
    ] {
        let error = forge(weight, "3", hubs, shape).unwrap_err();
        let refused = matches!(error, Error::File { .. });
        assert!(refused, "{weight}, {hubs:?}: {error}");
    }
    for (weight, neighbours) in [("half", "3"), ("0.5", "0"), ("0.5", "few")] {
        let error = forge(weight, neighbours, &hubs, [2, 2]).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error}");
    }
}

#[test]
fn what_cannot_be_honoured_is_refused() {
    let candidates = Set::integers(2, 10, 8, 2).candidates();
    let rows = integer_queries(2, 6, 2);
    let queries = Queries::new(2, &rows).unwrap();
    for actual in [0, 7] {
        assert_eq!(
            message(Hubs::fit(&queries, &candidates, actual)),
            format!("{actual} neighbours of 6 predictions, allowed: 1 to 6")
        );
    }
    let empty = Queries::new(2, &[]).unwrap();
    assert_eq!(
        message(Hubs::fit(&empty, &candidates, 1)),
        "1 neighbours of 0 predictions, allowed: 1 to 0"
    );
    let other = Queries::new(3, &rows).unwrap();
    assert_eq!(
        message(Hubs::fit(&other, &candidates, 1)),
        "queries of dimension 3, candidates of dimension 2"
    );
    let hubs = Hubs::fit(&queries, &candidates, 6).unwrap();
    for weight in [-0.1, f32::NAN, f32::INFINITY] {
        assert_eq!(
            message(candidates.clone().with_hubs(hubs.clone(), weight)),
            format!("hub weight {weight}, allowed: finite numbers from 0")
        );
    }
    let fewer = Set::integers(2, 10, 7, 2).candidates();
    assert_eq!(message(fewer.with_hubs(hubs.clone(), 0.5)), "8 hub means, expected 7");
    let nearest = Hubs::fit(&queries, &candidates, 1).unwrap();
    assert!(nearest.means.iter().any(|&mean| mean > 1.5));
    let error = message(candidates.with_hubs(nearest, f32::MAX));
    let place = format!("hub weight {} is too large: candidate row ", f32::MAX);
    assert!(error.starts_with(&place), "{error}");
    assert!(error.ends_with(", constant: -inf is not a finite number"), "{error}");

    let names = ["a".to_string(), "b".to_string()];
    let large = Set {
        dim: 1,
        class: vec![0, 1],
        rows: vec![vec![1.0], vec![-1e30]],
        constants: vec![0.0; 2],
    };
    let queries = Queries::named(&names, 1, &[1.0, 1e30]).unwrap();
    assert_eq!(
        message(Hubs::fit(&queries, &large.candidates(), 1)),
        "query \"b\", candidate row 1, score: -inf is not a finite number"
    );
}

#[test]
fn queries_of_any_size_are_brought_to_unit_length() {
    let rows = [3e38, 4e37, 1e-40, 0.0, 0.0, 0.0, -0.5, 0.5];
    let unit = Queries::new(2, &rows).unwrap().normalised();
    for (row, unit) in rows.chunks(2).zip(unit.chunks(2)) {
        let squared: f64 = unit.iter().map(|&v| f64::from(v).powi(2)).sum();
        let expected = if row == [0.0, 0.0] { 0.0 } else { 1.0 };
        assert!((squared - expected).abs() < 1e-6, "{row:?}: {unit:?}");
        let cross = f64::from(row[0]) * f64::from(unit[1]) - f64::from(row[1]) * f64::from(unit[0]);
        assert!(cross.abs() <= 1e-6 * f64::from(row[0].abs().max(row[1].abs())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn integer_means_equal_a_full_sort(
        seed in any::<u64>(),
        predictions in 1usize..300,
        distinct in 1usize..90,
        dim in 1usize..6,
        part in 0.0f64..1.0,
    ) {
        let k = 1 + (part * (predictions - 1) as f64) as usize;
        let set = Set::integers(seed, distinct, distinct, dim);
        check(&set, &integer_queries(seed, predictions, dim), k, 1e-6);
    }
}
