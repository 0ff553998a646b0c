//! Scores that are sums over pairs of items: the linear ordering problem.

use dsokr_basis::random::{Generator, shuffle};

use super::ranking::{MAX_ITEMS, Ranking, check_items, check_order, rounded};
use crate::Error;
use crate::error::check_len;

/// Weights of the pairs of K items: `score(σ) = Σ_{i<j} w_ij · (+1 if i is ranked before j, else −1)`.
///
/// ```
/// use dsokr_decode::permutations::PairWeights;
///
/// // 0 before 1, 2 before 0, and, less surely, 1 before 2
/// let ranking = PairWeights::new(3, &[1.0, -1.0, 0.5])?.best()?;
/// assert_eq!((&ranking.order[..], ranking.score), (&[2, 0, 1][..], 1.5));
/// assert_eq!(ranking.ranks(), [1, 2, 0]);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PairWeights {
    items: usize,
    /// What i before j adds, K × K row-major, in units; antisymmetric.
    gains: Vec<i64>,
    unit: f64,
}

impl PairWeights {
    /// Most items that [`best`](Self::best) takes, 16.
    pub const EXACT_ITEMS: usize = 16;

    /// Weights of the pairs i < j in lexicographic order, K(K−1)/2 of them, as
    /// [`kemeny_signs`](dsokr_basis::features::kemeny_signs) orders its columns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for less than 1 or more than [`MAX_ITEMS`] items, [`Error::Length`] for a
    /// different number of weights, [`Error::NotFinite`] for a NaN or an infinity among them.
    pub fn new(items: usize, weights: &[f32]) -> Result<Self, Error> {
        check_items(items, MAX_ITEMS)?;
        check_len("pair weights", weights.len(), items * (items - 1) / 2)?;
        let (whole, unit) = rounded(weights)?;
        let mut gains = vec![0; items * items];
        let pairs = (0..items).flat_map(|i| (i + 1..items).map(move |j| (i, j)));
        for ((i, j), weight) in pairs.zip(whole) {
            gains[i * items + j] = weight;
            gains[j * items + i] = -weight;
        }
        Ok(Self { items, gains, unit })
    }

    /// K.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The score of an order, first to last.
    ///
    /// # Errors
    /// [`Error::Length`] for a different number of items; [`Error::Inconsistent`] for an item that is
    /// unknown or ranked twice.
    pub fn score(&self, order: &[u32]) -> Result<f64, Error> {
        check_order(self.items, order)?;
        Ok(self.total(order) as f64 * self.unit)
    }

    /// The best of all orders, the lexicographically first of those that tie: by dynamic programming
    /// over sets of items (Lawler 1964), 2ᴷ K² steps and 8 · 2ᴷ bytes.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for more than [`EXACT_ITEMS`](Self::EXACT_ITEMS) items.
    pub fn best(&self) -> Result<Ranking, Error> {
        let items = self.items;
        check_items(items, Self::EXACT_ITEMS)?;
        let members = |set: usize| (0..items).filter(move |item| set >> item & 1 == 1);
        // what an item adds that comes before all others of a set
        let ahead = |item: usize, set: usize| -> i64 {
            members(set).map(|other| self.gain(item, other)).sum()
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
        let score = best.last().map_or(0.0, |&score| score as f64 * self.unit);
        Ok(Ranking { order, score })
    }

    /// A good order for any number of items: the best of `restarts` + 1 local searches, the first
    /// from the items sorted by the sum of their weights, the others from random orders. A search
    /// moves one item at a time to where it adds most, until no item has a better place.
    pub fn local_search(&self, restarts: usize, random: &mut Generator) -> Ranking {
        let wins = |&item: &u32| self.gains[item as usize * self.items..][..self.items].iter();
        let mut start: Vec<u32> = (0..self.items as u32).collect();
        start.sort_by_key(|item| std::cmp::Reverse(wins(item).sum::<i64>()));
        let step = |order: &mut [u32], at| self.insert(order, at);
        let total = |order: &[u32]| self.total(order);
        let (order, score) = best_of(start, restarts, random, step, total);
        Ranking { order, score: score as f64 * self.unit }
    }

    /// Moves the item at a place to where it adds most, the nearest such place to the front; whether
    /// that adds anything.
    fn insert(&self, order: &mut [u32], at: usize) -> bool {
        let item = order[at] as usize;
        let (mut most, mut best) = (0, at);
        let mut gain = 0;
        for (to, &other) in order.iter().enumerate().skip(at + 1) {
            gain -= 2 * self.gain(item, other as usize);
            if gain > most {
                (most, best) = (gain, to);
            }
        }
        gain = 0;
        for to in (0..at).rev() {
            gain += 2 * self.gain(item, order[to] as usize);
            if gain > most || gain == most && most > 0 {
                (most, best) = (gain, to);
            }
        }
        match best.cmp(&at) {
            std::cmp::Ordering::Less => order[best..=at].rotate_right(1),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => order[at..=best].rotate_left(1),
        }
        most > 0
    }

    fn gain(&self, first: usize, second: usize) -> i64 {
        self.gains[first * self.items + second]
    }

    fn total(&self, order: &[u32]) -> i64 {
        let after = |at: usize| {
            let item = order[at] as usize;
            order[at + 1..].iter().map(move |&other| self.gain(item, other as usize)).sum::<i64>()
        };
        (0..order.len()).map(after).sum()
    }
}

/// The best of the local optima above `start` and above `restarts` random orders; of equal scores the
/// lexicographically first order found.
///
/// `step` changes an order at a place for the better and says whether it did. An order in which no
/// place can be improved is a local optimum.
fn best_of(
    start: Vec<u32>,
    restarts: usize,
    random: &mut Generator,
    step: impl Fn(&mut [u32], usize) -> bool,
    score: impl Fn(&[u32]) -> i64,
) -> (Vec<u32>, i64) {
    let climb = |mut order: Vec<u32>| {
        loop {
            let mut better = false;
            for at in 0..order.len() {
                better |= step(&mut order, at);
            }
            if !better {
                let reached = score(&order);
                return (order, reached);
            }
        }
    };
    let mut order: Vec<u32> = (0..start.len() as u32).collect();
    let mut best = climb(start);
    for _ in 0..restarts {
        shuffle(&mut order, random);
        let found = climb(order.clone());
        if found.1 > best.1 || found.1 == best.1 && found.0 < best.0 {
            best = found;
        }
    }
    best
}
