//! Rows, curves, histograms and paired comparisons of ranks.

use dsokr_core::random::{below, generator};
use dsokr_decode::report::{
    QueryRow, ReliabilityBin, compare, hits_curve, query_rows, rank_histogram, reliability, worst,
};
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Decoded, Ensemble, Hit, Member, Metrics, MissingGold,
    Pool, Queries, Rank, bootstrap,
};

use crate::common::message;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

/// Returns random ranks among 500, some tied, some missing.
fn ranks(seed: u64, count: usize) -> Vec<Option<Rank>> {
    let mut random = generator(seed, "ranks", 0);
    let rank = |_| {
        // Low ranks are as frequent as high ones.
        let most = 1 << below(&mut random, 9);
        let above = below(&mut random, most);
        let tied = 1 + below(&mut random, 4) * below(&mut random, 3);
        (below(&mut random, 20) > 0).then(|| Rank::new(above, tied, 500).unwrap())
    };
    (0..count).map(rank).collect()
}

#[test]
fn rows_say_what_was_ranked_first() {
    let candidates = Candidates::new(CandidateParts {
        ids: texts(&["a", "b", "c", "d"]),
        labels: texts(&["A", "B", "C", "D"]),
        class: vec![0, 1, 1, 2],
        dim: 2,
        coordinates: vec![1.0, 0.0, 0.0, 1.0, 0.5, 0.25],
        constants: vec![0.0, 0.125, 0.0],
        ..CandidateParts::default()
    })
    .unwrap();
    let rows = [2.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    let queries = Queries::new(2, &rows).unwrap();
    let member = Member { name: "run", queries, candidates: &candidates, normalised: true };
    let ensemble = Ensemble::new(vec![member]).unwrap();
    let names = texts(&["q1", "q2", "q3"]);
    let ids = texts(&["d", "c", "absent"]);
    let gold = ensemble.gold(Pool::Shared, &ids, MissingGold::RankInfinity).unwrap();
    let decoded = ensemble.decode(Pool::Shared, &Combination::default(), &gold, 2).unwrap();
    let actual = query_rows(&names, &ids, &decoded, &candidates).unwrap();
    let cells: Vec<String> = actual.iter().map(|row| row.cells().join("|")).collect();
    assert_eq!(
        cells,
        ["q1|d|2|0|0.5|a|A|2|1", "q2|c|1.5|1|0.75|b|B|1.125|1.125", "q3|absent||0|0|b|B|1.125|"]
    );
    assert_eq!(QueryRow::COLUMNS.len(), actual[0].cells().len());
    let back: Vec<QueryRow> =
        serde_json::from_str(&serde_json::to_string(&actual).unwrap()).unwrap();
    assert_eq!(back, actual);

    let short = query_rows(&names[..2], &ids, &decoded, &candidates);
    assert_eq!(message(short), "2 query ids, expected 3");
    let short = query_rows(&names, &ids[..1], &decoded, &candidates);
    assert_eq!(message(short), "1 gold ids, expected 3");
    let none = ensemble.decode(Pool::Shared, &Combination::default(), &gold, 0).unwrap();
    let rows = query_rows(&names, &ids, &none, &candidates);
    assert_eq!(message(rows), "query \"q1\": no hits, at least 1 is needed");
    let one = texts(&["x"]);
    let few = Candidates::new(CandidateParts {
        ids: one.clone(),
        labels: one,
        dim: 1,
        coordinates: vec![1.0],
        ..CandidateParts::default()
    })
    .unwrap();
    let other = query_rows(&names, &ids, &decoded, &few);
    assert_eq!(message(other), "query \"q2\": candidate 1, allowed: 0..1, the candidates");
}

#[test]
fn the_worst_come_first() {
    let at = |above, tied| Rank::new(above, tied, 50).ok();
    let ranks = [at(3, 1), None, at(1, 9), at(5, 1), at(7, 1), None];
    // Expected ranks 4, ∞, 6, 6, 8, ∞.
    assert_eq!(worst(&ranks, 5), [1, 5, 4, 2, 3]);
    assert_eq!(worst(&ranks, 20).len(), 6);
    assert!(worst(&ranks, 0).is_empty());
}

#[test]
fn the_curve_goes_through_the_metrics_and_their_intervals() {
    let ranks = ranks(1, 300);
    let curve = hits_curve(&ranks, 600, &[], 200, 7).unwrap();
    let metrics = Metrics::from_ranks(&ranks, 500, 0).unwrap();
    for (k, hits) in [
        (1, metrics.value("hits@1").unwrap()),
        (5, metrics.value("hits@5").unwrap()),
        (10, metrics.value("hits@10").unwrap()),
    ] {
        let interval = bootstrap(&ranks, |rank| rank.expected_hit(k as u64), 200, 7).unwrap().1;
        let point = curve[k - 1];
        assert_eq!(point.k, k);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(point.hits, hits));
        let [low, high] = point.ci95.unwrap();
        assert!(close(low, interval[0]) && close(high, interval[1]));
    }
    assert!(curve.is_sorted_by(|a, b| a.hits <= b.hits + 1e-12 && a.k < b.k));
    let is_within = |hits: f64, [low, high]: [f64; 2]| low <= hits && hits <= high;
    assert!(curve.iter().all(|point| is_within(point.hits, point.ci95.unwrap())));
    // At the size of the pool, all that are not missing.
    let actual = ranks.iter().flatten().count() as f64 / 300.0;
    assert!((curve[599].hits - actual).abs() < 1e-12);
    assert_eq!(
        message(hits_curve(&ranks, 0, &[], 200, 7)),
        "a curve to hits@0, allowed: hits@1 and above"
    );
    assert_eq!(message(hits_curve(&[], 5, &[], 200, 7)), "no queries, at least 1 is needed");
    let few = hits_curve(&ranks, 5, &[], 39, 7);
    assert_eq!(message(few), "39 bootstrap resamples, at least 40 are needed");
}

#[test]
fn histograms_count_every_rank_of_a_tie() {
    let ranks = ranks(2, 400);
    for per_decade in [1, 2, 4, 7, 100] {
        let actual = rank_histogram(&ranks, per_decade).unwrap();
        assert_eq!(actual.missing, ranks.iter().filter(|rank| rank.is_none()).count());
        assert_eq!(actual.bins[0].first, 1);
        assert!(actual.bins.windows(2).all(|bins| bins[0].last + 1 == bins[1].first));
        for bin in &actual.bins {
            // A rank r falls into a bin with probability P(r ≤ last) − P(r < first).
            let within =
                |rank: &Rank| rank.expected_hit(bin.last) - rank.expected_hit(bin.first - 1);
            let expected: f64 = ranks.iter().flatten().map(within).sum();
            assert!((bin.queries - expected).abs() < 1e-9, "{bin:?}: {expected}");
        }
        let total: f64 = actual.bins.iter().map(|bin| bin.queries).sum();
        assert!((total - (400 - actual.missing) as f64).abs() < 1e-9);
    }
    let firsts = |above, per_decade| -> Vec<u64> {
        let actual = rank_histogram(&[Rank::new(above, 1, above + 1).ok()], per_decade).unwrap();
        actual.bins.iter().map(|bin| bin.first).collect()
    };
    assert_eq!(firsts(99, 4), [1, 2, 4, 6, 10, 18, 32, 57, 100]);
    assert_eq!(firsts(1_000_000, 1), [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]);
    assert_eq!(rank_histogram(&[None], 4).unwrap().bins, []);
    // The last bins reach the largest counts.
    let huge = rank_histogram(&[Rank::new(u64::MAX - 1, 1, u64::MAX).ok()], 3).unwrap();
    assert_eq!(huge.bins.iter().map(|bin| bin.queries).sum::<f64>(), 1.0);
    assert_eq!(message(rank_histogram(&[], 4)), "no queries, at least 1 is needed");
    for actual in [0, 101] {
        let refused = rank_histogram(&ranks, actual);
        assert_eq!(message(refused), format!("{actual} bins a decade of ranks, allowed: 1..=100"));
    }
}

#[test]
fn comparisons_are_paired() {
    let a = ranks(3, 500);
    let b = ranks(4, 500);
    let actual = compare(&a, &b, &[], 1000, 5).unwrap();
    let one = Metrics::from_ranks(&a, 500, 0).unwrap();
    let two = Metrics::from_ranks(&b, 500, 0).unwrap();
    let backwards = compare(&b, &a, &[], 1000, 5).unwrap();
    for name in ["mrr", "hits@1", "hits@5", "hits@10", "hits@20"] {
        let x = actual.metrics[name];
        let y = backwards.metrics[name];
        assert_eq!((Some(x.first), Some(x.second)), (one.value(name), two.value(name)));
        assert_eq!(x.difference, x.first - x.second);
        assert_eq!(x.difference, -y.difference);
        let [of_x, of_y] = [x, y].map(|paired| paired.ci95.unwrap());
        assert!((of_x[0] + of_y[1]).abs() < 1e-12 && (of_x[1] + of_y[0]).abs() < 1e-12);
        assert!((x.first_better.unwrap() + y.first_better.unwrap() - 1.0).abs() < 1e-12);
        assert!(of_x[0] < x.difference && x.difference < of_x[1]);
    }
    // Against itself there is no difference whatever is drawn.
    let same = compare(&a, &a, &[], 100, 5).unwrap().metrics["mrr"];
    assert_eq!((same.difference, same.ci95, same.first_better), (0.0, Some([0.0; 2]), Some(0.5)));

    assert_eq!(
        message(compare(&a, &b[1..], &[], 100, 5)),
        "499 ranks of the second model, expected 500"
    );
    assert_eq!(message(compare(&[], &[], &[], 100, 5)), "no queries, at least 1 is needed");
    assert_eq!(
        message(compare(&a, &b, &[], 39, 5)),
        "39 bootstrap resamples, at least 40 are needed"
    );
}

#[test]
fn a_small_gain_on_every_query_is_sure_where_intervals_overlap() {
    // The second model is one rank behind everywhere: the metrics vary a lot between queries, the
    // difference hardly does.
    let first: Vec<_> = (0..200).map(|q| Rank::new(q % 40, 1, 500).ok()).collect();
    let second: Vec<_> = (0..200).map(|q| Rank::new(q % 40 + 1, 1, 500).ok()).collect();
    let actual = compare(&first, &second, &[], 1000, 0).unwrap().metrics["mrr"];
    assert!(actual.ci95.unwrap()[0] > 0.0 && actual.first_better == Some(1.0));
    let one = bootstrap(&first, Rank::expected_reciprocal, 1000, 0).unwrap().1;
    let two = bootstrap(&second, Rank::expected_reciprocal, 1000, 0).unwrap().1;
    assert!(two[1] > one[0], "the intervals {one:?} and {two:?} overlap");
}

#[test]
fn intervals_of_differences_have_the_width_of_the_central_limit() {
    let a = ranks(6, 2000);
    let b = ranks(7, 2000);
    let actual = compare(&a, &b, &[], 2000, 1).unwrap().metrics["mrr"];
    let reciprocal = |rank: &Option<Rank>| rank.map_or(0.0, |rank| rank.expected_reciprocal());
    let differences: Vec<f64> =
        a.iter().zip(&b).map(|(a, b)| reciprocal(a) - reciprocal(b)).collect();
    let mean = differences.iter().sum::<f64>() / 2000.0;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 2000.0;
    let expected = 2.0 * 1.96 * (variance / 2000.0).sqrt();
    let [low, high] = actual.ci95.unwrap();
    let width = high - low;
    assert!((width / expected - 1.0).abs() < 0.1, "{width} {expected}");
}

/// Four copies of each query say no more than the query, and groups of one query are queries.
#[test]
fn groups_of_queries_are_drawn_whole() {
    let a = ranks(10, 100);
    let b = ranks(11, 100);
    let copied = |ranks: &[Option<Rank>]| -> Vec<Option<Rank>> {
        ranks.iter().flat_map(|&rank| [rank; 4]).collect()
    };
    let groups: Vec<String> = (0..400).map(|query| (query / 4).to_string()).collect();
    let curve = hits_curve(&a, 20, &[], 200, 2).unwrap();
    let whole = hits_curve(&copied(&a), 20, &groups, 200, 2).unwrap();
    let close = |one: Option<[f64; 2]>, four: Option<[f64; 2]>| {
        let mut ends = one.unwrap().into_iter().zip(four.unwrap());
        ends.all(|(a, b)| (a - b).abs() < 1e-12)
    };
    for (one, four) in curve.iter().zip(&whole) {
        assert!(close(one.ci95, four.ci95), "{one:?} {four:?}");
    }
    let one = compare(&a, &b, &[], 200, 2).unwrap().metrics["mrr"];
    let four = compare(&copied(&a), &copied(&b), &groups, 200, 2).unwrap().metrics["mrr"];
    assert!(close(one.ci95, four.ci95));

    // one group and two have no intervals
    for (count, has) in [(1, false), (2, false), (3, true)] {
        let groups: Vec<String> = (0..100).map(|query| (query % count).to_string()).collect();
        let compared = compare(&a, &b, &groups, 200, 2).unwrap();
        assert_eq!((compared.queries, compared.groups), (100, Some(count)));
        let mrr = compared.metrics["mrr"];
        assert_eq!((mrr.ci95.is_some(), mrr.first_better.is_some()), (has, has));
        let curve = hits_curve(&a, 20, &groups, 200, 2).unwrap();
        assert!(curve.iter().all(|point| point.ci95.is_some() == has), "{count}");
    }
    let two = ["a", "b"].map(str::to_owned);
    assert!(compare(&a[..2], &b[..2], &two, 200, 2).unwrap().metrics["mrr"].ci95.is_some());

    let single: Vec<String> = (0..100).map(|query| format!("group {query}")).collect();
    assert_eq!(hits_curve(&a, 20, &single, 200, 2).unwrap(), curve);
    let other = hits_curve(&a, 20, &groups, 200, 2);
    assert_eq!(message(other), "400 groups of queries, expected 100");
}

#[test]
fn reports_do_not_depend_on_threads() {
    let a = ranks(8, 300);
    let b = ranks(9, 300);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (compare(&a, &b, &[], 200, 2).unwrap(), hits_curve(&a, 20, &[], 200, 2).unwrap())
        })
    };
    assert_eq!(run(1), run(2));
}

/// Ten bins of 100 queries would begin within the queries of one score.
#[test]
fn queries_of_one_score_are_in_one_bin() {
    let bins = |scores: &[f32]| -> Vec<(f64, f64, usize)> {
        let query = |&score: &f32| {
            let hits = vec![Hit { candidate: 0, score }];
            Decoded { rank: Rank::new(0, 1, 100).ok(), gold_score: None, hits }
        };
        let queries: Vec<Decoded> = scores.iter().map(query).collect();
        let bins = reliability(&queries, &[], 10).unwrap();
        bins.iter().map(|bin| (bin.from, bin.to, bin.queries)).collect()
    };
    let scores = |parts: &[(f32, usize)]| -> Vec<f32> {
        parts.iter().flat_map(|&(score, count)| vec![score; count]).collect()
    };
    let distinct: Vec<f32> = (0..100).map(|score| score as f32).collect();
    assert!(bins(&distinct).iter().all(|bin| bin.2 == 10) && bins(&distinct).len() == 10);
    assert_eq!(
        bins(&scores(&[(0.0, 35), (1.0, 12), (2.0, 53)])),
        [(0.0, 0.0, 35), (1.0, 1.0, 12), (2.0, 2.0, 53)]
    );
    // what would be left for a bin of its own is less than ten queries
    assert_eq!(bins(&scores(&[(0.0, 50), (1.0, 45), (2.0, 5)])), [(0.0, 0.0, 50), (1.0, 2.0, 50)]);
    assert_eq!(bins(&scores(&[(1.0, 100)])), [(1.0, 1.0, 100)]);
    // bins behind a large one are as large as others
    let many: Vec<f32> = (0..1000).map(|at: i32| (at - 500).max(-1) as f32).collect();
    let sizes: Vec<usize> = bins(&many).iter().map(|bin| bin.2).collect();
    assert_eq!(sizes, [500, 100, 100, 100, 100, 100]);
}

/// Twenty copies of five queries, of which two are right, say as much as the five.
#[test]
fn copies_of_queries_count_once_in_a_bin() {
    let query = |at: usize| {
        let hits = vec![Hit { candidate: 0, score: at as f32 }];
        let rank = Rank::new(u64::from(at >= 2), 1, 100).ok();
        Decoded { rank, gold_score: None, hits }
    };
    let five: Vec<Decoded> = (0..5).map(query).collect();
    let copies: Vec<Decoded> = (0..100).map(|at| query(at / 20)).collect();
    let groups: Vec<String> = (0..100).map(|at| (at / 20).to_string()).collect();
    let alone = reliability(&five, &[], 10).unwrap();
    let whole = reliability(&copies, &groups, 10).unwrap();
    assert_eq!((alone.len(), whole.len()), (1, 1));
    let [alone, whole] = [alone[0], whole[0]];
    assert_eq!((alone.queries, alone.groups), (5, None));
    assert_eq!((whole.queries, whole.groups), (100, Some(5)));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(close(whole.right, 0.4) && close(whole.mean_score, alone.mean_score), "{whole:?}");
    assert!(close(whole.low, alone.low) && close(whole.high, alone.high), "{whole:?} {alone:?}");
    // groups of one query are queries
    let single: Vec<String> = (0..100).map(|at| at.to_string()).collect();
    let queries: Vec<Decoded> = (0..100).map(query).collect();
    let expected = reliability(&queries, &[], 10).unwrap();
    assert_eq!(reliability(&queries, &single, 10).unwrap(), expected);
}

#[test]
fn the_bin_of_a_score_holds_it_or_is_the_nearest() {
    let bin = |from: f64, to: f64| ReliabilityBin {
        from,
        to,
        mean_score: from,
        queries: 10,
        groups: None,
        right: 0.5,
        low: 0.2,
        high: 0.8,
    };
    let bins = [bin(0.0, 1.0), bin(2.0, 3.0), bin(3.0, 5.0)];
    for (score, expected) in
        [(-1.0, 0), (0.0, 0), (0.5, 0), (1.4, 0), (1.6, 1), (2.5, 1), (3.0, 2), (9.0, 2)]
    {
        assert_eq!(ReliabilityBin::nearest(&bins, score), Some(&bins[expected]), "{score}");
    }
    assert_eq!(ReliabilityBin::nearest(&[], 1.0), None);
}
