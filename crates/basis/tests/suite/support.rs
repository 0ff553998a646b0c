//! Rows for every kernel, and dense algebra in plain loops to compare with.

use std::ops::Range;

use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_basis::{Block, Features, Kernel, RowKind, RowSource};
use dsokr_core::Error;
use dsokr_core::random::{below, generator, unit};
use dsokr_data::featurizers::{hamming_one_hot, kemeny_signs};
use rand_chacha::ChaCha8Rng;

/// Returns rows whose blocks are read by a function.
pub fn through<'a, F>(rows: &'a Features, block: F) -> Through<'a, F>
where
    F: Fn(&'a Features, Range<usize>) -> Result<Block<'a>, Error> + Send + Sync,
{
    Through(rows, block)
}

/// The rows that [`through`] gives.
pub struct Through<'a, F>(&'a Features, F);

impl<'a, F> RowSource for Through<'a, F>
where
    F: Fn(&'a Features, Range<usize>) -> Result<Block<'a>, Error> + Send + Sync,
{
    fn len(&self) -> usize {
        self.0.len()
    }

    fn width(&self) -> usize {
        self.0.width()
    }

    fn kind(&self) -> RowKind {
        self.0.kind()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        self.1(self.0, rows)
    }
}

/// A matrix as rows of `f64`.
pub type Rows = Vec<Vec<f64>>;

/// Returns every kernel on every kind of rows that it is defined on, `n` rows each.
///
/// Rows 1 and 2 are equal; row 3 is zero where the kernel and the featurizer allow it.
pub fn cases(n: usize) -> Vec<(Kernel, Features)> {
    let mut random = generator(7, "test rows", n as u64);
    let dense = dense(n, 11, &mut random);
    let bits = bits(n, 70, &mut random);
    let counts = counts(n, 37, &mut random);
    let ranks = rankings(n, 6, &mut random);
    let signs = Features::Dense(kemeny_signs(&ranks).unwrap());
    let one_hot = Features::Bits(hamming_one_hot(&ranks).unwrap());
    let gamma = 0.3;
    let mut cases = Vec::new();
    for rows in [&dense, &bits, &counts] {
        cases.push((Kernel::Linear, rows.clone()));
        cases.push((Kernel::Cosine, rows.clone()));
        cases.push((Kernel::Gaussian { gamma }, rows.clone()));
        cases.push((Kernel::Tanimoto, rows.clone()));
        cases.push((Kernel::GaussianTanimoto { gamma }, rows.clone()));
    }
    cases.push((Kernel::NGram, counts));
    cases.push((Kernel::Kemeny, to_sparse(&signs)));
    cases.push((Kernel::Kemeny, signs));
    cases.push((Kernel::Hamming, to_sparse(&one_hot)));
    cases.push((Kernel::Hamming, one_hot));
    cases
}

pub fn describe(kernel: &Kernel, rows: &dyn RowSource) -> String {
    format!("{} on {} rows", kernel.name(), rows.kind())
}

pub fn dense(n: usize, width: usize, random: &mut ChaCha8Rng) -> Features {
    let mut values: Vec<f32> = (0..n * width).map(|_| (2.0 * unit(random) - 1.0) as f32).collect();
    repeat_and_zero(&mut values, width);
    Features::Dense(DenseRows::new(width, values).unwrap())
}

pub fn bits(n: usize, width: usize, random: &mut ChaCha8Rng) -> Features {
    let mut rows: Vec<Vec<u32>> =
        (0..n).map(|_| (0..width as u32).filter(|_| below(random, 3) == 0).collect()).collect();
    rows[2] = rows[1].clone();
    rows[3] = Vec::new();
    Features::Bits(BitRows::from_indices(width, rows).unwrap())
}

pub fn counts(n: usize, width: usize, random: &mut ChaCha8Rng) -> Features {
    let mut values: Vec<f32> =
        (0..n * width).map(|_| below(random, 5).saturating_sub(2) as f32).collect();
    repeat_and_zero(&mut values, width);
    to_sparse(&Features::Dense(DenseRows::new(width, values).unwrap()))
}

pub fn rankings(n: usize, items: u32, random: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    let mut rankings: Vec<Vec<u32>> = (0..n)
        .map(|_| {
            let mut ranks: Vec<u32> = (0..items).collect();
            (1..items as usize)
                .rev()
                .for_each(|i| ranks.swap(i, below(random, i as u64 + 1) as usize));
            ranks
        })
        .collect();
    rankings[2] = rankings[1].clone();
    rankings
}

fn repeat_and_zero(values: &mut [f32], width: usize) {
    values.copy_within(width..2 * width, 2 * width);
    values[3 * width..4 * width].fill(0.0);
}

pub fn to_sparse(rows: &Features) -> Features {
    let expanded = expand(rows);
    let entries = expanded.iter().map(|row| {
        row.iter().enumerate().filter(|entry| *entry.1 != 0.0).map(|(j, &v)| (j as u32, v as f32))
    });
    Features::Sparse(SparseRows::from_rows(rows.width(), entries).unwrap())
}

/// Returns the rows of a block, every column written out.
pub fn expand(block: &Block) -> Rows {
    let width = block.width();
    let mut rows = vec![vec![0.0; width]; block.len()];
    for (i, row) in rows.iter_mut().enumerate() {
        match block {
            Block::Dense(block) => {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = f64::from(block.values()[i * width + j]);
                }
            }
            Block::Bits(block) => {
                for (j, value) in row.iter_mut().enumerate() {
                    let word = block.values()[i * width.div_ceil(64) + j / 64];
                    *value = (word >> (j % 64) & 1) as f64;
                }
            }
            Block::Sparse(block) => {
                let (columns, values) = block.row(i);
                for (&column, &value) in columns.iter().zip(values) {
                    row[column as usize] = f64::from(value);
                }
            }
        }
    }
    rows
}

/// Returns the kernel of two rows from its definition, not from the three products.
pub fn brute_force(kernel: &Kernel, a: &[f64], b: &[f64]) -> f64 {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let tanimoto = |x: &[f64], y: &[f64]| {
        let binary = x.iter().chain(y).all(|&v| v == 0.0 || v == 1.0);
        let (common, all) = if binary {
            let count = |f: fn(f64, f64) -> bool| x.iter().zip(y).filter(|p| f(*p.0, *p.1)).count();
            (count(|x, y| x == 1.0 && y == 1.0) as f64, count(|x, y| x == 1.0 || y == 1.0) as f64)
        } else {
            (dot(x, y), dot(x, x) + dot(y, y) - dot(x, y))
        };
        if all == 0.0 { 1.0 } else { common / all }
    };
    match *kernel {
        Kernel::Linear => dot(a, b),
        Kernel::Cosine | Kernel::NGram if dot(a, a) + dot(b, b) == 0.0 => 1.0,
        Kernel::Cosine | Kernel::NGram => {
            let unit = |x: &[f64]| -> Vec<f64> {
                let norm = dot(x, x).sqrt();
                x.iter().map(|v| if norm == 0.0 { 0.0 } else { v / norm }).collect()
            };
            dot(&unit(a), &unit(b))
        }
        Kernel::Gaussian { gamma } => {
            (-gamma * a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()).exp()
        }
        Kernel::Tanimoto => tanimoto(a, b),
        Kernel::GaussianTanimoto { gamma } => {
            let squared = tanimoto(a, a) + tanimoto(b, b) - 2.0 * tanimoto(a, b);
            (-gamma * squared).exp()
        }
        // Pair signs: concordant less discordant pairs, as a share of all pairs.
        Kernel::Kemeny => {
            let mut concordant = 0;
            let mut discordant = 0;
            for (x, y) in a.iter().zip(b) {
                concordant += usize::from(x == y);
                discordant += usize::from(x != y);
            }
            (concordant as f64 - discordant as f64) / a.len() as f64
        }
        // One-hot rows: positions that agree, as a share of all positions.
        Kernel::Hamming => {
            let positions = (a.len() as f64).sqrt() as usize;
            let rank = |row: &[f64], at: usize| {
                row[at * positions..(at + 1) * positions].iter().position(|&v| v == 1.0)
            };
            let agree = (0..positions).filter(|&at| rank(a, at) == rank(b, at)).count();
            agree as f64 / positions as f64
        }
        _ => panic!("no brute force for {kernel:?}"),
    }
}

pub fn gram(kernel: &Kernel, rows: &Rows) -> Rows {
    rows.iter().map(|a| rows.iter().map(|b| brute_force(kernel, a, b)).collect()).collect()
}

pub fn product(a: &Rows, b: &Rows) -> Rows {
    let columns = b.first().map_or(0, Vec::len);
    let entry = |row: &[f64], j: usize| row.iter().zip(b).map(|(x, b)| x * b[j]).sum();
    a.iter().map(|row| (0..columns).map(|j| entry(row, j)).collect()).collect()
}

pub fn transpose(a: &Rows) -> Rows {
    let columns = a.first().map_or(0, Vec::len);
    (0..columns).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

pub fn from_faer(a: &faer::Mat<f64>) -> Rows {
    (0..a.nrows()).map(|i| (0..a.ncols()).map(|j| a[(i, j)]).collect()).collect()
}

/// Returns eigenvalues, descending, and eigenvectors (as rows) of a symmetric matrix, by Jacobi rotations.
pub fn jacobi(matrix: &Rows) -> (Vec<f64>, Rows) {
    let n = matrix.len();
    let mut a = matrix.clone();
    let mut v: Rows = (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect();
    for _ in 0..60 {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j].powi(2)).sum();
        if off == 0.0 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                    (v[p][k], v[q][k]) = (c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    (order.iter().map(|&i| a[i][i]).collect(), order.iter().map(|&i| v[i].clone()).collect())
}

/// Asserts that two matrices agree entry by entry up to `tolerance`.
#[track_caller]
pub fn assert_close(actual: &Rows, expected: &Rows, tolerance: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}: number of rows");
    for (i, (x, y)) in actual.iter().zip(expected).enumerate() {
        assert_eq!(x.len(), y.len(), "{what}: length of row {i}");
        for (j, (x, y)) in x.iter().zip(y).enumerate() {
            assert!((x - y).abs() <= tolerance, "{what}: [{i}, {j}] is {x}, expected {y}");
        }
    }
}

/// Returns whether a result is an error whose message holds `part`.
pub fn refused<T>(result: Result<T, Error>, part: &str) -> bool {
    result.is_err_and(|error| error.to_string().contains(part))
}
