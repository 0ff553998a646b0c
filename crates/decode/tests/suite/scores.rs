//! The bits of scores.

use std::collections::HashMap;

use dsokr_decode::{CandidateParts, Candidates, Hubs, Queries, top_rows};

use crate::common::real_queries;

/// Returns the scores of all queries with all rows, in groups of the given sizes.
fn in_groups(dim: usize, queries: &[f32], rows: &[f32], per: (usize, usize)) -> Vec<u32> {
    let mut all = HashMap::new();
    for (b, rows) in rows.chunks(per.1 * dim).enumerate() {
        let count = rows.len() / dim;
        let ids = (0..count).map(|row| row.to_string()).collect();
        let constants = vec![0.25; count];
        let parts = CandidateParts {
            ids,
            dim,
            coordinates: rows.to_vec(),
            constants,
            ..Default::default()
        };
        let candidates = Candidates::new(parts).unwrap();
        for (a, group) in queries.chunks(per.0 * dim).enumerate() {
            let actual = top_rows(&Queries::new(dim, group).unwrap(), &candidates, count).unwrap();
            for (query, hits) in actual.into_iter().enumerate() {
                let query = a * per.0 + query;
                all.extend(
                    hits.iter().map(|hit| ((query, b * per.1 + hit.row), hit.score.to_bits())),
                );
            }
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_unstable();
    all.into_iter().map(|(_, bits)| bits).collect()
}

#[test]
fn bits_do_not_depend_on_position_or_block_size() {
    let depths = [1, 2, 3, 4, 5, 15, 16, 17, 31, 63, 100, 255, 256, 257, 258, 259, 300, 513, 600];
    for dim in depths {
        let queries = real_queries(1, 83, dim);
        let rows = real_queries(2, 131, dim);
        let reference = in_groups(dim, &queries, &rows, (83, 131));
        assert_eq!(reference.len(), 83 * 131);
        for per in [(1, 1), (1, 131), (83, 1), (2, 2), (16, 3), (17, 64), (48, 50), (80, 130)] {
            let actual = in_groups(dim, &queries, &rows, per);
            assert!(reference == actual, "dimension {dim}, groups of {per:?}");
        }
    }
}

#[test]
fn scores_equal_inner_products_in_f64() {
    for dim in [1, 2, 7, 256, 300, 1000] {
        let queries = real_queries(3, 20, dim);
        let rows = real_queries(4, 30, dim);
        let actual = in_groups(dim, &queries, &rows, (20, 30));
        for (at, bits) in actual.into_iter().enumerate() {
            let query = at / 30;
            let row = at % 30;
            let pairs = queries[query * dim..].iter().zip(&rows[row * dim..]).take(dim);
            let exact: f64 = 0.25 + pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
            let error = (f64::from(f32::from_bits(bits)) - exact).abs();
            assert!(error < 1e-7 * dim.max(4) as f64, "dimension {dim}: off by {error}");
        }
    }
}

#[test]
fn means_of_hubs_do_not_depend_on_the_other_candidates() {
    let dim = 37;
    let z = real_queries(5, 101, 37);
    let rows = real_queries(6, 700, dim);
    let means = |rows: &[f32]| {
        let ids = (0..rows.len() / dim).map(|row| row.to_string()).collect();
        let parts = CandidateParts { ids, dim, coordinates: rows.to_vec(), ..Default::default() };
        let candidates = Candidates::new(parts).unwrap();
        Hubs::fit(&Queries::new(dim, &z).unwrap(), &candidates, 9).unwrap().means
    };
    let all = means(&rows);
    for size in [1, 17, 699] {
        assert_eq!(rows.chunks(size * dim).flat_map(means).collect::<Vec<_>>(), all, "{size}");
    }
}
