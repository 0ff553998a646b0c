//! Rankings as outputs, without candidates: the best of all permutations of K items.
//!
//! Under a kernel that is linear in scaled features a prediction z is a direction w in feature space
//! ([`Basis::feature_direction`](dsokr_basis::Basis::feature_direction)), and the pre-image is
//! `argmax_σ ⟨w, φ(σ)⟩`. All permutations have the same norm, so that neither the kernel's scale nor
//! the constant `−½k(σ, σ)` of decoding changes which is best. With
//! `dsokr_data::featurizers::kemeny_signs` that is a linear ordering problem
//! ([`best_by_pairs`]), with `dsokr_data::featurizers::hamming_one_hot` a linear sum
//! assignment problem ([`best_by_positions`]) (Korba, Garcia and d'Alché-Buc 2018). The norms of
//! `dsokr_data::featurizers::lehmer_codes` differ, and their numbers are chosen one by one ([`best_by_codes`]).
//!
//! Weights are rounded to multiples of 2⁻⁴⁰ of the power of two above the largest, and then summed
//! exactly: equal scores are equal whatever the order of the sums. `f32` weights within 2⁻¹⁶ of the
//! largest are not rounded at all.

use dsokr_core::Error;
use dsokr_core::assignment::{Matching, NONE, Scratch};

use crate::error::{all_finite, ensure, ensure_allowed};

/// The most items whose best order by pairs is found among all orders.
const EXACT_ITEMS: usize = 16;
/// The most items that a local search orders from several starts.
const RESTARTED_ITEMS: usize = 128;
/// The most items of a ranking: sums of their weights fit 64 bits.
const MOST: usize = 2048;
/// Bits of the largest weight.
const BITS: i32 = 40;

/// A permutation of items, a set of labels or a row of numbers, and its score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecodedOutput {
    /// The items, first to last, or the columns of the labels, ascending.
    pub parts: Vec<u32>,
    /// The numbers of a row; none of the others.
    pub numbers: Vec<f32>,
    /// `⟨z, ψ̃(y)⟩ + b(y)`, of permutations without b, which is the same for all; or the expected F1 of a set.
    pub score: f64,
}

impl DecodedOutput {
    /// Returns the rank of every item of a permutation, from 0, which featurizers take.
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.parts.len()];
        (0..).zip(&self.parts).for_each(|(rank, &item)| ranks[item as usize] = rank);
        ranks
    }
}

/// Returns the best of all orders of K items for a direction w in feature space, the lexicographically first if orders
/// tie; `scale` is the scale of rows. `w_ij` counts for i before j and against j before i, for the pairs i < j in
/// lexicographic order, as `dsokr_data::featurizers::kemeny_signs` orders its columns.
///
/// Up to 16 items are ordered by dynamic programming over sets of items (Lawler 1964), in 2ᴷ K² steps and 8 · 2ᴷ bytes.
/// More items are ordered by local search ([`order_locally`]), whose order may be worse than the best one.
pub(crate) fn best_by_pairs(direction: &[f32], scale: f64) -> Result<DecodedOutput, Error> {
    let width = direction.len();
    let items = (1 + 8 * width).isqrt().div_ceil(2);
    check_items(items, items * (items - 1) / 2, width, "K(K-1)/2 pair signs", MOST)?;
    let (whole, unit) = whole_weights(direction, scale)?;
    let mut gains = vec![0; items * items];
    let pairs = (0..items).flat_map(|i| (i + 1..items).map(move |j| (i, j)));
    for ((i, j), weight) in pairs.zip(whole) {
        gains[i * items + j] = weight;
        gains[j * items + i] = -weight;
    }
    let (order, best) = if items <= EXACT_ITEMS {
        order_exactly(items, &gains)
    } else {
        order_locally(items, &gains)
    };
    let parts = order.into_iter().map(|item| item as u32).collect();
    Ok(DecodedOutput { parts, score: best as f64 * unit, ..DecodedOutput::default() })
}

/// Returns the best order, the first of those that tie, and what it gains: `gains[i · items + j]` for each i before j.
fn order_exactly(items: usize, gains: &[i64]) -> (Vec<usize>, i64) {
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
        order.push(item);
        set &= !(1 << item);
    }
    (order, best[(1 << items) - 1])
}

/// Returns an order that no move of one item to a different place improves, and what it gains.
///
/// [`descend`] starts from the order by Borda's sums of gains. Where there are not too many items, it also starts from the best
/// order so far with a run of items reversed, until no such start leads to a better one (iterated local search; Charon and
/// Hudry 2010).
fn order_locally(items: usize, gains: &[i64]) -> (Vec<usize>, i64) {
    let sums: Vec<i64> = gains.chunks_exact(items).map(|row| row.iter().sum()).collect();
    let mut best: Vec<usize> = (0..items).collect();
    best.sort_by_key(|&item| std::cmp::Reverse(sums[item]));
    let mut most = descend(&mut best, gains);
    let lengths = [items / 4, items / 3, items / 2, 2 * items / 3];
    let lengths = if items <= RESTARTED_ITEMS { &lengths[..] } else { &[] };
    let runs = lengths.iter().flat_map(|&run| (0..=items - run).map(move |at| at..at + run));
    let runs: Vec<_> = runs.collect();
    while let Some(better) = runs.iter().find_map(|run| {
        let mut order = best.clone();
        order[run.clone()].reverse();
        let gain = descend(&mut order, gains);
        (gain > most).then_some((order, gain))
    }) {
        (best, most) = better;
    }
    (best, most)
}

/// Moves each item in turn to its best place until none moves, and returns what the order gains.
fn descend(order: &mut Vec<usize>, gains: &[i64]) -> i64 {
    let items = order.len();
    let gain = |first: usize, second: usize| gains[first * items + second];
    let mut still = 0;
    for item in (0..items).cycle() {
        let Some(from) = order.iter().position(|&other| other == item) else { continue };
        order.remove(from);
        // what the item gains at each place, less what it gains in front of all others
        let mut gained = 0;
        let mut here = 0;
        let mut best = (0, 0);
        for (at, &other) in (1..).zip(order.iter()) {
            gained += 2 * gain(other, item);
            here = if at == from { gained } else { here };
            best = if gained > best.0 { (gained, at) } else { best };
        }
        let to = if best.0 > here { best.1 } else { from };
        order.insert(to, item);
        still = if to == from { still + 1 } else { 0 };
        if still == items {
            break;
        }
    }
    let behind = |(at, &first): (usize, &usize)| -> i64 {
        order[at + 1..].iter().map(|&second| gain(first, second)).sum()
    };
    order.iter().enumerate().map(behind).sum()
}

/// Returns the ranking whose code is nearest to a row of K numbers: `argmin_σ ‖w − c(σ)‖²`, each `c_i` the whole number
/// in `0..=i` that is nearest to `w_i`, the smaller of two; its score is `⟨w, c⟩ − ½‖c‖²`.
///
/// Item i is behind all but `c_i` of the items before it, as `dsokr_data::featurizers::lehmer_codes`
/// counts them.
pub(crate) fn best_by_codes(weights: &[f32]) -> Result<DecodedOutput, Error> {
    check_items(weights.len(), weights.len(), weights.len(), "K numbers", MOST)?;
    all_finite(weights, |at| format!("weight {at}"))?;
    let mut parts = Vec::with_capacity(weights.len());
    let mut score = 0.0;
    for (item, &weight) in weights.iter().enumerate() {
        let weight = f64::from(weight);
        let most = item as f64;
        let code = (weight - 0.5).ceil().clamp(0.0, most);
        score += weight * code - 0.5 * code * code;
        parts.insert(item - code as usize, item as u32);
    }
    Ok(DecodedOutput { parts, score, ..DecodedOutput::default() })
}

/// Returns the best of all orders of K items for a direction w in feature space, the lexicographically first if orders
/// tie, by the Hungarian method in K³ steps; `scale` is the scale of rows. `w_{iK + r}` counts where item i has rank r,
/// as `dsokr_data::featurizers::hamming_one_hot` orders its columns.
pub(crate) fn best_by_positions(direction: &[f32], scale: f64) -> Result<DecodedOutput, Error> {
    let items = direction.len().isqrt();
    check_items(items, items * items, direction.len(), "K*K bits", MOST)?;
    let (whole, unit) = whole_weights(direction, scale)?;
    // the cost of rank r and item i is at r · K + i
    let costs: Vec<i64> =
        (0..whole.len()).map(|at| -whole[at % items * items + at / items]).collect();
    let all: Vec<usize> = (0..items).collect();
    let row = |rank: usize| &costs[rank * items..][..items];
    let mut matching = Matching::new(row, items);
    matching.solve(row, &all, &all, i64::MAX / 2, &mut Scratch::default(), || false);
    let total = -matching.total;
    make_first(&mut matching, row);
    let order = matching.column_of;
    let parts = order.into_iter().map(|item| item as u32).collect();
    Ok(DecodedOutput { parts, score: total as f64 * unit, ..DecodedOutput::default() })
}

/// Refuses rows whose width does not fit the number of items, and too many items.
fn check_items(
    items: usize,
    width: usize,
    found: usize,
    kind: &str,
    most: usize,
) -> Result<(), Error> {
    let wide = format_args!("rows of width {found}; rankings of K items have rows of {kind}");
    ensure(width == found, || Error::unsupported(wide.to_string()))?;
    let holds = (1..=most).contains(&items);
    let found = format_args!("{items} items");
    ensure_allowed(holds, found, format_args!("1..={most}"))
}

/// Returns the weights of a direction in feature space, times the scale of rows of permutations, under which
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

/// Returns the lexicographically first of the cheapest assignments, given one of them: every one is of pairs without excess.
/// Row by row, gives each the first such column that leaves an assignment to the rows behind it.
fn make_first<'c>(matching: &mut Matching<i64>, costs: impl Fn(usize) -> &'c [i64]) {
    let n = matching.column_of.len();
    let tight = |matching: &Matching<i64>, row: usize, column: usize| {
        matching.excess(row, column, costs(row)) == 0
    };
    for row in 0..n {
        for column in 0..matching.column_of[row] {
            let given_up = matching.column_of[row];
            let displaced = matching.row_of[column];
            if !tight(matching, row, column) || displaced < row {
                continue;
            }
            let mut seen = vec![false; n];
            seen[column] = true;
            matching.row_of[given_up] = NONE;
            if place(matching, &tight, displaced, row, &mut seen) {
                matching.column_of[row] = column;
                matching.row_of[column] = row;
                break;
            }
            matching.row_of[given_up] = row;
        }
    }
}

/// Gives a row a tight column that is free, or whose row, one behind `first`, finds a different such column.
fn place(
    matching: &mut Matching<i64>,
    tight: &impl Fn(&Matching<i64>, usize, usize) -> bool,
    row: usize,
    first: usize,
    seen: &mut [bool],
) -> bool {
    for column in 0..seen.len() {
        let holder = matching.row_of[column];
        // NONE is behind all rows
        if seen[column] || holder < first || !tight(matching, row, column) {
            continue;
        }
        seen[column] = true;
        if holder == NONE || place(matching, tight, holder, first, seen) {
            matching.column_of[row] = column;
            matching.row_of[column] = row;
            return true;
        }
    }
    false
}
