//! Rankings as rows: the order of each pair, the rank of each item, or numbers of inversions.

use dsokr_basis::features::{BitRows, DenseRows, check_width};
use dsokr_core::Error;

/// The rank of an item that a partial ranking leaves out.
pub const UNRANKED: u32 = u32::MAX;

/// Returns the Kemeny embedding of rankings: the order of every pair of items, K(K−1)/2 signs a row.
///
/// `ranks[r][i]` is the rank of item i in ranking r (smaller is better; equal ranks are ties;
/// [`UNRANKED`] is an item that the ranking leaves out). The column of items i < j, in lexicographic
/// order, holds `sign(ranks[j] − ranks[i])`: +1 when i is ranked before j, −1 after, 0 for a tie and
/// where one of them is not ranked. The kernel on these rows is their cosine, Kendall's τ-b over all pairs of items with
/// such pairs as ties, and τ of rankings without ties (Korba et al. 2018; thesis, section 2.1).
///
/// ```
/// use dsokr_data::featurizers::{UNRANKED, kemeny_signs};
///
/// let rows = kemeny_signs(&[vec![0, 1, 2], vec![2, 0, 0], vec![1, UNRANKED, 0]])?;
/// assert_eq!(rows.values(), [1.0, 1.0, 1.0, -1.0, -1.0, 0.0, 0.0, -1.0, 0.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for no rankings and for fewer than two items; [`Error::Row`] when rankings have
/// different numbers of items.
pub fn kemeny_signs(ranks: &[Vec<u32>]) -> Result<DenseRows, Error> {
    let items = items(ranks)?;
    let mut signs = Vec::with_capacity(ranks.len() * items * items.saturating_sub(1) / 2);
    for ranks in ranks {
        for (i, &first) in ranks.iter().enumerate() {
            let sign = |&second: &u32| {
                if first == UNRANKED || second == UNRANKED {
                    0.0
                } else {
                    // an order is 1, 0 or -1
                    f32::from(second.cmp(&first) as i8)
                }
            };
            signs.extend(ranks[i + 1..].iter().map(sign));
        }
    }
    DenseRows::new(items * (items - 1) / 2, signs)
}

/// Returns the Hamming embedding of rankings: which item has which rank, K² bits a row, K of them set.
///
/// `ranks[r][i]`, in `0..K`, is the rank of item i in ranking r; bit `i·K + ranks[r][i]` is set.
/// The kernel on these rows is the share of items with equal ranks (Korba et al. 2018).
///
/// # Errors
/// [`Error::Shape`] for no rankings or no items; [`Error::Row`] when rankings have different numbers
/// of items, for a rank of K or more, and for two items of the same rank.
pub fn hamming_one_hot(ranks: &[Vec<u32>]) -> Result<BitRows, Error> {
    let items = permutations(ranks)?;
    let width = items.saturating_mul(items);
    check_width(width)?;
    let bit = |(item, rank): (usize, &u32)| (item * items) as u32 + rank;
    BitRows::from_indices(width, ranks.iter().map(|ranks| ranks.iter().enumerate().map(bit)))
}

/// Returns the Lehmer codes of rankings: for each item i how many items j < i are ranked behind it, K numbers a row.
///
/// `ranks[r][i]`, in `0..K`, is the rank of item i in ranking r. The code of item i is in `0..=i`, and every
/// row of such numbers is the code of one ranking, so that the nearest code to a prediction is found
/// number by number (Korba et al. 2018).
///
/// ```
/// use dsokr_data::featurizers::lehmer_codes;
///
/// assert_eq!(lehmer_codes(&[vec![1, 0, 3, 2]])?.values(), [0.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// The errors of [`hamming_one_hot`].
pub fn lehmer_codes(ranks: &[Vec<u32>]) -> Result<DenseRows, Error> {
    let items = permutations(ranks)?;
    let code = |ranks: &Vec<u32>, i: usize| ranks[..i].iter().filter(|&&j| j > ranks[i]).count();
    let codes = ranks.iter().flat_map(|ranks| (0..items).map(move |i| code(ranks, i) as f32));
    DenseRows::new(items, codes.collect::<Vec<_>>())
}

/// Returns the number of items of rankings in which each rank occurs once.
fn permutations(ranks: &[Vec<u32>]) -> Result<usize, Error> {
    let items = items(ranks)?;
    let mut taken = vec![usize::MAX; items];
    for (row, ranks) in ranks.iter().enumerate() {
        for (item, &rank) in ranks.iter().enumerate() {
            let Some(taken) = taken.get_mut(rank as usize) else {
                let column = rank as usize;
                return Err(Error::column(row, column, items));
            };
            if *taken == row {
                let message = format!("item {item} has rank {rank}, which an earlier item has too");
                return Err(Error::row(row, message));
            }
            *taken = row;
        }
    }
    Ok(items)
}

fn items(ranks: &[Vec<u32>]) -> Result<usize, Error> {
    let expected = ranks.first().ok_or_else(Error::no_rows)?.len();
    match ranks.iter().position(|ranks| ranks.len() != expected) {
        Some(row) => {
            let found = ranks[row].len();
            Err(Error::row(row, format!("{found} entries, expected {expected}")))
        }
        None => check_width(expected).map(|()| expected),
    }
}
