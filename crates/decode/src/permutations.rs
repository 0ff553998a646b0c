//! Rankings as outputs, without candidates: the best of all permutations of K items.
//!
//! Under a kernel that is linear in scaled features a prediction z is a direction w in feature space
//! ([`Basis::feature_direction`](dsokr_basis::Basis::feature_direction)), and the pre-image is
//! `argmax_σ ⟨w, φ(σ)⟩`. All permutations have the same norm, so that neither the kernel's scale nor
//! the constant `−½k(σ, σ)` of decoding changes which is best. With
//! [`kemeny_signs`](dsokr_basis::features::kemeny_signs) that is a linear ordering problem
//! ([`best_by_pairs`]), with [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot) a linear sum
//! assignment problem ([`best_by_positions`]) (Korba, Garcia and d'Alché-Buc 2018).
//!
//! Weights are rounded to multiples of 2⁻⁴⁰ of the power of two above the largest, and then summed
//! exactly: equal scores are equal whatever the order of the sums. `f32` weights within 2⁻¹⁶ of the
//! largest are not rounded at all.

use crate::Error;
use crate::error::{all_finite, check_range, ensure};

/// Most items that are ordered by their pairs.
const EXACT_ITEMS: usize = 16;
/// Most items of a ranking: sums of their weights fit 64 bits.
const MOST: usize = 2048;
/// Bits of the largest weight.
const BITS: i32 = 40;

/// A permutation of items, a set of labels or a row of numbers, and its score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// The items, first to last, or the columns of the labels, ascending.
    pub parts: Vec<u32>,
    /// The numbers of a row; none of the others.
    pub numbers: Vec<f32>,
    /// `⟨z, ψ̃(y)⟩ + b(y)`, of permutations without b, which is the same for all; or the expected F1 of a set.
    pub score: f64,
}

impl Structure {
    /// The rank of every item of a permutation, from 0: what featurizers take.
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.parts.len()];
        (0..).zip(&self.parts).for_each(|(rank, &item)| ranks[item as usize] = rank);
        ranks
    }
}

/// The best of all orders of K items for a direction w in feature space, the lexicographically first of those that
/// tie; `scale` is that of rows. `w_ij` counts for i before j and against j before i, for the pairs i < j in
/// lexicographic order, as [`kemeny_signs`](dsokr_basis::features::kemeny_signs) orders its columns.
///
/// By dynamic programming over sets of items (Lawler 1964), 2ᴷ K² steps and 8 · 2ᴷ bytes.
pub(crate) fn best_by_pairs(direction: &[f32], scale: f64) -> Result<Structure, Error> {
    let width = direction.len();
    let items = (1 + 8 * width).isqrt().div_ceil(2);
    check_items(items, items * (items - 1) / 2, width, "K(K-1)/2 pair signs", EXACT_ITEMS)?;
    let (whole, unit) = whole_weights(direction, scale)?;
    let mut gains = vec![0; items * items];
    let pairs = (0..items).flat_map(|i| (i + 1..items).map(move |j| (i, j)));
    for ((i, j), weight) in pairs.zip(whole) {
        gains[i * items + j] = weight;
        gains[j * items + i] = -weight;
    }
    let members = |set: usize| (0..items).filter(move |item| set >> item & 1 == 1);
    // what an item adds that comes before all others of a set
    let ahead = |item: usize, set: usize| -> i64 {
        members(set).map(|other| gains[item * items + other]).sum()
    };
    // best[set]: the most that the items of a set can add among themselves
    let mut best = vec![0i64; 1 << items];
    for set in 1..best.len() {
        let first = |item: usize| ahead(item, set) + best[set & !(1 << item)];
        best[set] = members(set).map(first).max().unwrap_or(0);
    }
    let mut set = best.len() - 1;
    let mut order = Vec::with_capacity(items);
    while let Some(item) =
        members(set).find(|&item| ahead(item, set) + best[set & !(1 << item)] == best[set])
    {
        order.push(item as u32);
        set &= !(1 << item);
    }
    let score = best[(1 << items) - 1] as f64 * unit;
    Ok(Structure { parts: order, score, ..Structure::default() })
}

/// The best of all orders of K items for a direction w in feature space, the lexicographically first of those that
/// tie; `scale` is that of rows: by the Hungarian method, K³ steps. `w_{iK + r}` counts where item i has rank r, as
/// [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot) orders its columns.
pub(crate) fn best_by_positions(direction: &[f32], scale: f64) -> Result<Structure, Error> {
    let items = direction.len().isqrt();
    check_items(items, items * items, direction.len(), "K*K bits", MOST)?;
    let (whole, unit) = whole_weights(direction, scale)?;
    // of rank r and item i at r · K + i
    let weights: Vec<i64> =
        (0..whole.len()).map(|at| whole[at % items * items + at / items]).collect();
    let mut prices = Prices::new(items, &weights);
    (0..items).for_each(|row| prices.augment(row));
    prices.make_first();
    let order = prices.column_of;
    let total: i64 = order.iter().zip(weights.chunks(items)).map(|(&item, row)| row[item]).sum();
    let parts = order.into_iter().map(|item| item as u32).collect();
    Ok(Structure { parts, score: total as f64 * unit, ..Structure::default() })
}

/// Refuses rows that are not `width` wide, as those of so many items are, and too many items.
fn check_items(
    items: usize,
    width: usize,
    found: usize,
    kind: &str,
    most: usize,
) -> Result<(), Error> {
    let wide = format_args!("rows of width {found}; rankings of K items have rows of {kind}");
    ensure(width == found, || Error::Unsupported(wide.to_string()))?;
    let (holds, found) = ((1..=most).contains(&items), format_args!("{items} items"));
    check_range(holds, found, format_args!("1..={most}"))
}

/// The weights of a direction in feature space, times the scale of rows of permutations, under which
/// `⟨w, φ(σ)⟩ = ⟨z, ψ̃(σ)⟩`: as whole multiples of a small unit, so that sums are exact, and that unit.
fn whole_weights(direction: &[f32], scale: f64) -> Result<(Vec<i64>, f64), Error> {
    let weights: Vec<f32> = direction.iter().map(|&w| (f64::from(w) * scale) as f32).collect();
    all_finite(&weights, |at| format!("weight {at}"))?;
    let largest = weights.iter().fold(0.0f64, |largest, &weight| largest.max(weight.abs().into()));
    // least power of two that is not below the largest weight; of zeros any will do
    let exponent = if largest == 0.0 { 0 } else { largest.log2().ceil() as i32 };
    let scale = 2f64.powi(BITS - exponent);
    let whole = weights.iter().map(|&weight| (f64::from(weight) * scale).round() as i64);
    Ok((whole.collect(), scale.recip()))
}

const NONE: usize = usize::MAX;

/// The linear sum assignment problem on whole numbers, by the Hungarian method with shortest augmenting paths (Jonker
/// and Volgenant 1987): the column of every row in the heaviest assignment of n rows to n columns, the lexicographically
/// first of those that tie; `weights` is n × n, row-major.
///
/// `weight(r, c) ≤ row[r] + column[c]`, with equality (a tight pair) where r goes to c. So an
/// assignment of tight pairs is heaviest, and every heaviest one is of tight pairs.
struct Prices<'a> {
    n: usize,
    weights: &'a [i64],
    row: Vec<i64>,
    column: Vec<i64>,
    column_of: Vec<usize>,
    row_of: Vec<usize>,
}

impl<'a> Prices<'a> {
    fn new(n: usize, weights: &'a [i64]) -> Self {
        let heaviest = |row: &[i64]| row.iter().copied().max().unwrap_or(0);
        Self {
            n,
            weights,
            row: weights.chunks_exact(n).map(heaviest).collect(),
            column: vec![0; n],
            column_of: vec![NONE; n],
            row_of: vec![NONE; n],
        }
    }

    fn slack(&self, row: usize, column: usize) -> i64 {
        self.row[row] + self.column[column] - self.weights[row * self.n + column]
    }

    /// Gives a row a column, along a shortest path that moves other rows on.
    fn augment(&mut self, source: usize) {
        let mut distance: Vec<i64> = (0..self.n).map(|column| self.slack(source, column)).collect();
        let mut before = vec![source; self.n];
        let mut done = vec![false; self.n];
        let (mut end, length) = loop {
            let open = (0..self.n).filter(|&column| !done[column]);
            let Some(column) = open.min_by_key(|&column| distance[column]) else { return };
            let (row, length) = (self.row_of[column], distance[column]);
            if row == NONE {
                break (column, length);
            }
            done[column] = true;
            for next in (0..self.n).filter(|&next| !done[next]) {
                let through = length + self.slack(row, next);
                if through < distance[next] {
                    (distance[next], before[next]) = (through, row);
                }
            }
        };
        self.row[source] -= length;
        for column in (0..self.n).filter(|&column| done[column]) {
            let change = length - distance[column];
            self.column[column] += change;
            self.row[self.row_of[column]] -= change;
        }
        loop {
            let row = before[end];
            self.row_of[end] = row;
            std::mem::swap(&mut self.column_of[row], &mut end);
            if row == source {
                return;
            }
        }
    }

    /// Row by row, gives each the first column that leaves a tight assignment to the rows behind it.
    fn make_first(&mut self) {
        for row in 0..self.n {
            for column in 0..self.column_of[row] {
                let (given_up, displaced) = (self.column_of[row], self.row_of[column]);
                if self.slack(row, column) != 0 || displaced < row {
                    continue;
                }
                let mut seen = vec![false; self.n];
                seen[column] = true;
                self.row_of[given_up] = NONE;
                if self.place(displaced, row, &mut seen) {
                    (self.column_of[row], self.row_of[column]) = (column, row);
                    break;
                }
                self.row_of[given_up] = row;
            }
        }
    }

    /// Gives a row a tight column that is free, or whose row, one behind `first`, finds another such column.
    fn place(&mut self, row: usize, first: usize, seen: &mut [bool]) -> bool {
        for column in 0..self.n {
            let holder = self.row_of[column];
            // NONE is behind all rows
            if seen[column] || holder < first || self.slack(row, column) != 0 {
                continue;
            }
            seen[column] = true;
            if holder == NONE || self.place(holder, first, seen) {
                (self.column_of[row], self.row_of[column]) = (column, row);
                return true;
            }
        }
        false
    }
}
