use std::ops::Range;

use dsokr_basis::random::{generator, unit};

use super::*;
use crate::ScoreBlock;

fn reals(count: usize, purpose: &str) -> Vec<f32> {
    let mut random = generator(0, purpose, count as u64);
    (0..count).map(|_| unit(&mut random) as f32 - 0.5).collect()
}

/// Products of the queries with the rows, computed in groups of the given sizes.
fn in_groups(dim: usize, queries: &[f32], rows: &[f32], per: (usize, usize)) -> Vec<u32> {
    let (q, n) = (queries.len() / dim, rows.len() / dim);
    let mut all = vec![0; q * n];
    let mut out = Vec::new();
    for (a, group) in queries.chunks(per.0 * dim).enumerate() {
        let first = a * per.0;
        let tile = QueryTile::new(first..first + group.len() / dim, dim, group);
        for (b, rows) in rows.chunks(per.1 * dim).enumerate() {
            product(&tile, dim, rows, &mut out);
            for (row, products) in out.chunks(tile.lanes).take(rows.len() / dim).enumerate() {
                for (query, value) in products[..tile.queries.len()].iter().enumerate() {
                    all[(first + query) * n + b * per.1 + row] = value.to_bits();
                }
            }
        }
    }
    all
}

#[test]
fn bits_do_not_depend_on_position_or_block_size() {
    let depths = [1, 2, 3, 4, 5, 15, 16, 17, 31, 63, 100, 255, 256, 257, 258, 259, 300, 513, 600];
    for dim in depths {
        let (queries, rows) = (reals(83 * dim, "queries"), reals(131 * dim, "rows"));
        let reference = in_groups(dim, &queries, &rows, (83, 131));
        for per in [(1, 1), (1, 131), (83, 1), (2, 2), (16, 3), (17, 64), (48, 50), (80, 130)] {
            let found = in_groups(dim, &queries, &rows, per);
            assert_eq!(reference, found, "dimension {dim}, groups of {per:?}");
        }
    }
}

#[test]
fn products_equal_inner_products_in_f64() {
    for dim in [1, 2, 7, 256, 300, 1000] {
        let (queries, rows) = (reals(20 * dim, "queries"), reals(30 * dim, "rows"));
        let found = in_groups(dim, &queries, &rows, (20, 30));
        for (at, bits) in found.into_iter().enumerate() {
            let (query, row) = (at / 30, at % 30);
            let pairs = queries[query * dim..].iter().zip(&rows[row * dim..]).take(dim);
            let exact: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let error = (f64::from(f32::from_bits(bits)) - exact).abs();
            assert!(error < 1e-7 * dim as f64, "dimension {dim}: off by {error}");
        }
    }
}

/// The first rows of a set, each its own candidate.
struct Rows {
    dim: usize,
    values: Vec<f32>,
}

impl CandidateBlocks for Rows {
    fn dim(&self) -> usize {
        self.dim
    }

    fn rows(&self) -> usize {
        self.values.len() / self.dim
    }

    fn candidates(&self) -> u64 {
        self.rows() as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        Ok(ScoreBlock {
            coordinates: self.values[rows.start * self.dim..rows.end * self.dim].into(),
            constants: vec![0.25; rows.len()].into(),
            multiplicities: vec![1; rows.len()].into(),
        })
    }
}

#[test]
fn ranks_and_lists_do_not_depend_on_the_blocks() {
    for dim in [1, 2, 37, 300] {
        let rows = Rows { dim, values: reals(700 * dim, "rows") };
        let values = reals(101 * dim, "queries");
        let queries = Queries::new(dim, &values).unwrap();
        let gold: Vec<_> = (0..101).map(|query| Some(query * 6)).collect();
        let run = |queries_per, rows_per, span| {
            let blocking = Blocking { queries: queries_per, rows: rows_per, span };
            let found = crate::hits::decode_in(&queries, &gold, &rows, 9, blocking).unwrap();
            let hubs = crate::Hubs::of_in(&queries, &rows, 9, blocking).unwrap();
            (found.ranks, found.scores, found.rows, hubs)
        };
        let reference = run(192, 256, 4096);
        for (queries_per, rows_per, span) in
            [(16, 1, 1), (16, 700, 700), (32, 7, 64), (112, 3, 699), (48, 64, 65)]
        {
            assert_eq!(reference, run(queries_per, rows_per, span));
        }
    }
}
