//! Weights of members that maximise the MRR of queries with known golds, found by moves of weight from one member to
//! another.

use dsokr_core::Error;

use super::rivals::{Rivals, WantedRivals};
use super::rule::Combiner;
use super::whole::Sweep;
use super::{Combination, Ensemble};
use crate::error::check_queries;
use crate::metrics::Metrics;
use crate::pool::Pool;
use crate::queries::Queries;

/// Rivals of a query that are kept however many queries there are.
const FEWEST: usize = 16;

/// A step must gain more than this.
const GAIN: f64 = 1e-12;

/// The most steps.
const STEPS: usize = 200;

/// Moves of a step that are evaluated on all candidates, until one gains.
const TRIES: usize = 3;

/// Weights that were fitted, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedWeights {
    /// The weights, one a member; not negative, with sum one.
    pub weights: Vec<f64>,
    /// Mean reciprocal rank that they reach.
    pub mrr: f64,
}

/// Returns weights of the members that maximise the mean reciprocal rank of the gold candidates.
///
/// The method is coordinate ascent on the simplex. The search starts with the weights of `rule`, or with equal ones if
/// it has none. In each step, the weight of every member in turn is set to 0, 0.05, …, 1 and to itself ± 0.01, …, 0.04,
/// and the other weights are scaled so that all sum to one. The best of these moves is taken, the first one of equals.
/// Where none gains anything, a tenth, a half or all of a member's weight is passed on to a different one, and the best
/// such move is taken. The search ends where that gains nothing either (after 200 steps at most). So weights stay equal
/// when nothing is gained, and the end is a maximum along these lines, not always the global one.
///
/// Every metric is exact, as [`Ensemble::rank`] and [`Metrics::from_ranks`] give it. Trials look only at
/// rivals, the candidates that are not below the gold one under every member, because all
/// others are below it whatever the weights. Their values are kept, up to `memory` bytes (or 16 a query). Of queries
/// with too many for that the hardest are kept, moves are chosen on those, and the most promising moves
/// of a step, at most three, are evaluated on all candidates of these queries before one is taken.
/// Missing gold candidates count with rank ∞.
///
/// The weights belong to `rule` with its standardisation or constant; see [`Combination::with_weights`]. Fit them on
/// queries that were kept for this, not on those to be reported.
///
/// # Errors
/// [`Error::Unsupported`] for [`Combination::Max`]; [`Error::TooFew`] for no queries; else as
/// [`Ensemble::decode`].
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, Member, Pool, Queries, fit_weights};
///
/// let ids = ["a", "b"].map(String::from).to_vec();
/// let coordinates = vec![1.0, -1.0];
/// let parts = CandidateParts { ids, dim: 1, coordinates, ..CandidateParts::default() };
/// let candidates = Candidates::new(parts)?;
/// let good = [0.1, -0.1];
/// let bad = [-1.0, 1.0];
/// let member = |name, rows| {
///     Ok::<_, dsokr_core::Error>(Member {
///         name,
///         queries: Queries::new(1, rows)?,
///         candidates: &candidates,
///         normalised: true,
///     })
/// };
/// let ensemble = Ensemble::new(vec![member("good", &good)?, member("bad", &bad)?])?;
/// let rule = Combination::default();
/// let gold = [Some(0), Some(1)];
/// let fitted = fit_weights(&ensemble, Pool::Shared, &rule, &gold, 1 << 20)?;
/// assert_eq!(fitted.mrr, 1.0);
/// assert!(fitted.weights[0] > 0.9);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn fit_weights(
    ensemble: &Ensemble,
    pool: Pool,
    rule: &Combination,
    gold: &[Option<u32>],
    memory: usize,
) -> Result<FittedWeights, Error> {
    let models = &ensemble.models;
    let count = models.members.len();
    let limit = memory / ((8 * count + 4) * gold.len().max(1));
    let equal = || vec![1.0 / count as f64; count];
    let weights = rule.weights().map_or_else(equal, <[f64]>::to_vec);
    let combiner = rule.with_weights(Some(weights.clone()))?.combiner(&models.members)?;
    models.check(pool, gold, 0)?;
    check_queries(gold.len())?;
    let sweep = Sweep { models, pool, combiner: &combiner, gold };
    let wanted = WantedRivals { limit: limit.max(FEWEST), includes_hopeless: false };
    let rivals = Rivals::from_sweep(&sweep, wanted)?;
    let with = |weights: &[f64]| Combiner::sum(combiner.values, count, Some(weights));
    // queries whose rivals are not all kept are ranked among all candidates
    let hard = &rivals.incomplete;
    let chosen: Vec<SelectedQueries> =
        models.members.iter().map(|member| SelectedQueries::new(&member.queries, hard)).collect();
    let mut members = models.members.clone();
    for (member, chosen) in members.iter_mut().zip(&chosen) {
        member.queries = chosen.queries()?;
    }
    let hardest = if hard.is_empty() {
        None
    } else {
        let hardest = Ensemble::new(members)?.with_rerankers(models.rerankers.clone())?;
        Some(hardest.shared_by(&ensemble.processes))
    };
    let hard_gold: Vec<_> = hard.iter().map(|&query| gold[query]).collect();
    let lists = match pool {
        Pool::Shared => None,
        Pool::PerQuery(lists) => Some(lists.select(hard)),
    };
    let hard_pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
    let exact = |weights: &[f64]| {
        let mut ranks = rivals.ranks(&with(weights))?;
        if let Some(hardest) = &hardest {
            let rule = rule.with_weights(Some(weights.to_vec()))?;
            let hard_ranks = hardest.rank(hard_pool, &rule, &hard_gold)?;
            hard.iter().zip(hard_ranks).for_each(|(&query, rank)| ranks[query] = rank);
        }
        Ok::<f64, Error>(Metrics::from_ranks(&ranks, 0, 0)?.mrr())
    };
    let listed = rivals.mrr(&[with(&weights)])?[0];
    let mrr = exact(&weights)?;
    let mut best = TriedWeights { weights, listed, mrr };
    for _ in 0..STEPS {
        let improved = |moves: Vec<Vec<f64>>| {
            let combiners: Vec<Combiner> = moves.iter().map(|weights| with(weights)).collect();
            let mrr_of_moves = rivals.mrr(&combiners)?;
            let mut promising: Vec<usize> =
                (0..moves.len()).filter(|&at| mrr_of_moves[at] > best.listed + GAIN).collect();
            promising.sort_by(|&a, &b| mrr_of_moves[b].total_cmp(&mrr_of_moves[a]));
            for at in promising.into_iter().take(TRIES) {
                let mrr = exact(&moves[at])?;
                if mrr > best.mrr + GAIN {
                    let weights = moves[at].clone();
                    return Ok(Some(TriedWeights { weights, listed: mrr_of_moves[at], mrr }));
                }
            }
            Ok::<_, Error>(None)
        };
        let better = match improved(moves(&best.weights))? {
            None => improved(transfers(&best.weights))?,
            better => better,
        };
        let Some(better) = better else { break };
        best = better;
    }
    Ok(FittedWeights { weights: best.weights, mrr: best.mrr })
}

/// Weights that have been tried.
struct TriedWeights {
    weights: Vec<f64>,
    /// The mean reciprocal rank among the rivals that are kept, which may be too high.
    listed: f64,
    /// The mean reciprocal rank.
    mrr: f64,
}

/// Some of a member's queries.
struct SelectedQueries {
    dim: usize,
    rows: Vec<f32>,
    names: Option<Vec<String>>,
    texts: Option<Vec<String>>,
}

impl SelectedQueries {
    fn new(queries: &Queries, places: &[usize]) -> Self {
        let select = |values: &[String]| places.iter().map(|&at| values[at].clone()).collect();
        Self {
            dim: queries.dim(),
            rows: places.iter().flat_map(|&at| queries.row(at)).copied().collect(),
            names: queries.names().map(select),
            texts: queries.texts().map(select),
        }
    }

    fn queries(&self) -> Result<Queries<'_>, Error> {
        let queries = match &self.names {
            Some(names) => Queries::named(names, self.dim, &self.rows)?,
            None => Queries::new(self.dim, &self.rows)?,
        };
        match &self.texts {
            Some(texts) => queries.with_texts(texts),
            None => Ok(queries),
        }
    }
}

/// Returns weights that differ in one member's, the others scaled.
fn moves(weights: &[f64]) -> Vec<Vec<f64>> {
    let mut moves = Vec::new();
    for (member, &weight_of_member) in weights.iter().enumerate() {
        let coarse = (0..=20).map(|twentieth| f64::from(twentieth) / 20.0);
        let fine = [-4, -3, -2, -1, 1, 2, 3, 4]
            .map(|percent| weight_of_member + f64::from(percent) / 100.0);
        for new in
            coarse.chain(fine).filter(|new| (0.0..=1.0).contains(new) && *new != weight_of_member)
        {
            let share = (1.0 - new) / (weights.len() - 1).max(1) as f64;
            let other = |&weight: &f64| {
                if weight_of_member < 1.0 {
                    weight * ((1.0 - new) / (1.0 - weight_of_member))
                } else {
                    share
                }
            };
            let mut moved: Vec<f64> = weights.iter().map(other).collect();
            moved[member] = new;
            moves.push(moved);
        }
    }
    if weights.len() == 1 { Vec::new() } else { moves }
}

/// Returns the weights after each move of a share from one member to a different one.
fn transfers(weights: &[f64]) -> Vec<Vec<f64>> {
    let mut moves = Vec::new();
    for (from, &weight_of_member) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0)
    {
        for to in (0..weights.len()).filter(|&to| to != from) {
            for share in [0.1, 0.5, 1.0] {
                let mut moved = weights.to_vec();
                moved[from] = weight_of_member * (1.0 - share);
                moved[to] += weight_of_member * share;
                moves.push(moved);
            }
        }
    }
    moves
}
