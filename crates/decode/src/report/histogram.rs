use serde::{Deserialize, Serialize};

use crate::error::check_queries;
use crate::{Error, Rank};

/// The most bins a decade.
const MOST: u32 = 100;

/// How many queries have their gold candidate at which ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankHistogram {
    /// Bins without gaps, from rank 1 to the bin of the last rank that occurs.
    pub bins: Vec<RankBin>,
    /// Queries whose gold candidate is missing.
    pub missing: usize,
}

/// Ranks `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankBin {
    /// First rank.
    pub first: u64,
    /// Last rank.
    pub last: u64,
    /// Expected number of queries: one of a query whose gold candidate is tied counts in parts, for
    /// its rank is as likely each of those that the tie spans.
    pub queries: f64,
}

/// Histogram of ranks with `per_decade` bins between a power of ten and the next.
///
/// Bin i starts at `⌈10^(i / per_decade)⌉`; bins that hold no whole number are left out. 4 gives
/// 1, 2–3, 4–5, 6–9, 10–17, …
///
/// # Errors
/// [`Error::TooFew`] for no queries; [`Error::OutOfRange`] unless `per_decade` is within 1..=100.
pub fn rank_histogram(ranks: &[Option<Rank>], per_decade: u32) -> Result<RankHistogram, Error> {
    check_queries(ranks.len())?;
    if !(1..=MOST).contains(&per_decade) {
        let found = format!("{per_decade} bins a decade of ranks");
        return Err(Error::out_of_range(found, format!("1..={MOST}")));
    }
    let present = || ranks.iter().flatten();
    let end = present().map(|rank| rank.above() + rank.tied()).max().unwrap_or(0);
    let mut bins: Vec<RankBin> = Vec::new();
    let mut first = 1;
    for step in 1.. {
        if first > end {
            break;
        }
        match start(step, per_decade) {
            Some(next) if next > first => {
                bins.push(RankBin { first, last: next - 1, queries: 0.0 });
                first = next;
            }
            Some(_) => {}
            None => {
                bins.push(RankBin { first, last: u64::MAX, queries: 0.0 });
                break;
            }
        }
    }
    for rank in present() {
        let (from, to) = (rank.above() + 1, rank.above() + rank.tied());
        let at = bins.partition_point(|bin| bin.last < from);
        for bin in bins[at..].iter_mut().take_while(|bin| bin.first <= to) {
            let shared = bin.last.min(to) - bin.first.max(from) + 1;
            bin.queries += shared as f64 / rank.tied() as f64;
        }
    }
    let missing = ranks.len() - present().count();
    Ok(RankHistogram { bins, missing })
}

/// `⌈10^(step / per_decade)⌉`, exact for whole decades; none beyond the largest integer.
fn start(step: u32, per_decade: u32) -> Option<u64> {
    let decade = 10u64.checked_pow(step / per_decade)?;
    if step.is_multiple_of(per_decade) {
        return Some(decade);
    }
    let part = 10f64.powf(f64::from(step % per_decade) / f64::from(per_decade));
    let start = (part * decade as f64).ceil();
    (start < u64::MAX as f64).then_some(start as u64)
}
