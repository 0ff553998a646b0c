use serde::{Deserialize, Serialize};

use super::contenders::Contenders;
use super::fold::Fold;
use super::{Combination, Ensemble};
use crate::{Error, Metrics, Pool};

/// Bytes that contenders may take.
const MEMORY: usize = 256 << 20;

/// A step must gain more than this.
const GAIN: f64 = 1e-12;

/// The most steps.
const STEPS: usize = 200;

/// Moves that are tried exactly when the lists are not complete.
const TRIES: usize = 3;

/// Weights that were fitted, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedWeights {
    /// One weight a member; not negative, with sum one.
    pub weights: Vec<f64>,
    /// Mean reciprocal rank that they reach.
    pub mrr: f64,
    /// The weights that the search started with and each better ones that it went on to.
    pub steps: Vec<WeightStep>,
}

/// Weights that a search came by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightStep {
    /// One weight a member.
    pub weights: Vec<f64>,
    /// Mean reciprocal rank of the ensemble with these weights.
    pub mrr: f64,
}

/// Weights of the members that maximise the mean reciprocal rank of the gold candidates.
///
/// Coordinate ascent on the simplex. The search starts with the weights of `rule`, with equal ones
/// if it has none. In each step, the weight of every member in turn is set to 0, 0.05, …, 1 and to
/// itself ± 0.01, …, 0.04, and the other weights are scaled so that all sum to one; the best of
/// these moves is taken, the first one of equals, until none gains anything (after 200 steps at
/// most). So weights stay equal when nothing is gained, and the end is a maximum along these lines,
/// not always the global one.
///
/// Every figure is exact, as [`Ensemble::rank`] and [`Metrics::from_ranks`] give it. Trials look at
/// contenders alone, the candidates that are not below the gold one under every member, for all
/// others are below it whatever the weights. Their values are kept, up to 256 MiB. Where that is
/// not enough, moves are chosen on the hardest ones and the up to three most promising moves of a
/// step are evaluated on all candidates. Missing gold candidates count with rank ∞.
///
/// The weights are those of `rule` with its standardisation or constant; see
/// [`Combination::with_weights`]. Give it queries that were kept for this, not those to be reported.
///
/// # Errors
/// [`Error::NoWeights`] for [`Combination::Max`]; [`Error::NoQueries`]; else as
/// [`Ensemble::decode`].
///
/// ```
/// use dsokr_decode::{Candidates, Combination, Ensemble, Member, Pool, Queries, fit_weights};
///
/// let ids = ["a", "b"].map(String::from).to_vec();
/// let candidates = Candidates::new(ids.clone(), ids, vec![0, 1], 1, vec![1.0, -1.0], vec![0.0; 2])?;
/// let (good, bad) = ([0.1, -0.1], [-1.0, 1.0]);
/// let member = |name, rows| {
///     Ok::<_, dsokr_decode::Error>(Member {
///         name,
///         queries: Queries::new(1, rows)?,
///         candidates: &candidates,
///         normalised: true,
///     })
/// };
/// let ensemble = Ensemble::new(vec![member("good", &good)?, member("bad", &bad)?])?;
/// let fitted = fit_weights(&ensemble, Pool::Shared, &Combination::default(), &[Some(0), Some(1)])?;
/// assert_eq!((fitted.mrr, fitted.steps[0].mrr), (1.0, 0.5));
/// assert!(fitted.weights[0] > 0.9);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
pub fn fit_weights(
    ensemble: &Ensemble,
    pool: Pool,
    rule: &Combination,
    gold: &[Option<u32>],
) -> Result<FittedWeights, Error> {
    let per_contender = 8 * ensemble.members.len() + 4;
    let limit = MEMORY / (per_contender * gold.len().max(1));
    fit_in(ensemble, pool, rule, gold, limit.max(64))
}

fn fit_in(
    ensemble: &Ensemble,
    pool: Pool,
    rule: &Combination,
    gold: &[Option<u32>],
    limit: usize,
) -> Result<FittedWeights, Error> {
    let members = ensemble.members.len();
    let equal = || vec![1.0 / members as f64; members];
    let mut weights = rule.weights().map_or_else(equal, <[f64]>::to_vec);
    let fold = rule.with_weights(Some(weights.clone()))?.fold(&ensemble.members)?;
    ensemble.check(pool, gold, 0)?;
    if gold.is_empty() {
        return Err(Error::NoQueries);
    }
    let contenders = Contenders::of(ensemble, pool, &fold, gold, limit)?;
    let with = |weights: &[f64]| Fold::sum(fold.values, members, Some(weights));
    let exact = |weights: &[f64], listed: f64| -> Result<f64, Error> {
        if contenders.complete {
            return Ok(listed);
        }
        let rule = rule.with_weights(Some(weights.to_vec()))?;
        Ok(Metrics::from_ranks(&ensemble.rank(pool, &rule, gold)?, 0, 0)?.mrr)
    };
    let mut listed = contenders.mrr(&[with(&weights)])?[0];
    let mut mrr = exact(&weights, listed)?;
    let mut steps = vec![WeightStep { weights: weights.clone(), mrr }];
    while steps.len() <= STEPS {
        let moves = moves(&weights);
        let folds: Vec<Fold> = moves.iter().map(|weights| with(weights)).collect();
        let found = contenders.mrr(&folds)?;
        let mut promising: Vec<usize> =
            (0..moves.len()).filter(|&at| found[at] > listed + GAIN).collect();
        promising.sort_by(|&a, &b| found[b].total_cmp(&found[a]));
        let mut taken = None;
        for at in promising.into_iter().take(if contenders.complete { 1 } else { TRIES }) {
            let reached = exact(&moves[at], found[at])?;
            if reached > mrr + GAIN {
                taken = Some((at, reached));
                break;
            }
        }
        let Some((at, reached)) = taken else {
            break;
        };
        (weights, listed, mrr) = (moves[at].clone(), found[at], reached);
        steps.push(WeightStep { weights: weights.clone(), mrr });
    }
    Ok(FittedWeights { weights, mrr, steps })
}

/// Weights that differ in one member's, the others scaled.
fn moves(weights: &[f64]) -> Vec<Vec<f64>> {
    let mut moves = Vec::new();
    for (member, &own) in weights.iter().enumerate() {
        let coarse = (0..=20).map(|twentieth| f64::from(twentieth) / 20.0);
        let fine = [-4, -3, -2, -1, 1, 2, 3, 4].map(|percent| own + f64::from(percent) / 100.0);
        for new in coarse.chain(fine).filter(|new| (0.0..=1.0).contains(new) && *new != own) {
            let share = (1.0 - new) / (weights.len() - 1).max(1) as f64;
            let other = |&weight: &f64| match own < 1.0 {
                true => weight * ((1.0 - new) / (1.0 - own)),
                false => share,
            };
            let mut moved: Vec<f64> = weights.iter().map(other).collect();
            moved[member] = new;
            moves.push(moved);
        }
    }
    if weights.len() == 1 { Vec::new() } else { moves }
}
