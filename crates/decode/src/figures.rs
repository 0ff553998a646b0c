use crate::Rank;

/// A figure of the ranks of all queries, by which runs can be compared.
///
/// ```
/// use dsokr_decode::{RANK_FIGURES, Rank};
///
/// let ranks = [Rank::new(0, 1, 10).ok(), Rank::new(3, 1, 10).ok()];
/// let values = RANK_FIGURES.map(|figure| (figure.name, (figure.value)(&ranks)));
/// assert_eq!(values[0], ("mrr", (1.0 + 1.0 / 4.0) / 2.0));
/// assert_eq!(values[4], ("mean_rank", 2.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RankFigure {
    /// Its name in reports and configurations.
    pub name: &'static str,
    /// Whether a larger value is a better one.
    pub larger_is_better: bool,
    /// Its value over at least one query; `None` is rank ∞, which may make it infinite.
    pub value: fn(&[Option<Rank>]) -> f64,
}

/// All figures of ranks; an additional one is an additional line.
pub const RANK_FIGURES: [RankFigure; 6] = [
    RankFigure { name: "mrr", larger_is_better: true, value: mrr },
    RankFigure { name: "hits@1", larger_is_better: true, value: hits::<1> },
    RankFigure { name: "hits@5", larger_is_better: true, value: hits::<5> },
    RankFigure { name: "hits@10", larger_is_better: true, value: hits::<10> },
    RankFigure { name: "mean_rank", larger_is_better: false, value: mean_rank },
    RankFigure { name: "median_rank", larger_is_better: false, value: median_rank },
];

/// Mean reciprocal rank, `(1/n) Σ E[1/rank]`.
pub(crate) fn mrr(ranks: &[Option<Rank>]) -> f64 {
    mean(ranks, Rank::expected_reciprocal)
}

/// hits@K, `(1/n) Σ E[rank ≤ K]`.
pub(crate) fn hits<const K: u64>(ranks: &[Option<Rank>]) -> f64 {
    mean(ranks, |rank| rank.expected_hit(K))
}

/// `(1/n) Σ E[rank]`.
pub(crate) fn mean_rank(ranks: &[Option<Rank>]) -> f64 {
    if ranks.contains(&None) { f64::INFINITY } else { mean(ranks, Rank::expected_rank) }
}

/// Median of `E[rank]`, the mean of the two in the middle for even n.
pub(crate) fn median_rank(ranks: &[Option<Rank>]) -> f64 {
    let rank = |rank: &Option<Rank>| rank.map_or(f64::INFINITY, |rank| rank.expected_rank());
    let mut sorted: Vec<f64> = ranks.iter().map(rank).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// The mean of a value that is 0 at rank ∞.
fn mean(ranks: &[Option<Rank>], value: impl Fn(&Rank) -> f64) -> f64 {
    // An empty sum of f64 is −0.
    (0.0 + ranks.iter().flatten().map(value).sum::<f64>()) / ranks.len() as f64
}
