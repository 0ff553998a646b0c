//! Weights of members by maximum likelihood.

use dsokr_core::{Error, RowWeights};
use rayon::prelude::*;

use super::rivals::{QueryRivals, Rivals, WantedRivals};
use super::whole::Sweep;
use super::{Combination, Ensemble};
use crate::error::check_queries;
use crate::pool::Pool;

/// Number of a query's candidates in the likelihood, in addition to the gold one.
const RIVALS: usize = 300;

/// Steps of Newton's method, the most halvings of one, and sweeps for its direction.
const STEPS: usize = 100;
const HALVINGS: i32 = 40;
const SWEEPS: usize = 200;

/// A step that gains less ends the search.
const GAIN: f64 = 1e-10;

/// Weights that were fitted by maximum likelihood.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyWeights {
    /// The weights, one a member; not negative, with sum one.
    pub weights: Vec<f64>,
    /// The factor of combined values in the exponent, 1 over the temperature.
    pub sharpness: f64,
    /// The mean logarithm of the gold candidates' probabilities, weighted as the queries are.
    pub log_likelihood: f64,
}

/// Returns weights of the members under which the gold candidates are most likely.
///
/// The probability of a candidate c is `exp(Σ_t v_t s_t(q, c))` over the sum of the same for the 300 candidates
/// of the query that are first under equal weights and the gold one, where `s_t` are the values that `rule`
/// combines. The mean logarithm of the gold candidates' probabilities is concave in v, and is maximised over
/// `v ≥ 0` by Newton's method with bounds. The weights are v over its sum, the sharpness. Queries without a
/// gold candidate do not count, others as their weights say; where no v above 0 is likelier than 0, weights of members are
/// equal.
///
/// Likelihood counts every query by how sure the prediction is, so it needs fewer queries than ranks do, and its
/// maximum is the global one. Give it predictions that have not seen their gold: leave-one-out predictions to
/// training pairs leave the validation split clean.
///
/// # Errors
/// [`Error::Unsupported`] for [`Combination::Max`]; [`Error::TooFew`] for no queries, and where no gold is a
/// candidate; [`Error::Shape`] unless there is one weight for each query, or none; the errors of [`Ensemble::decode`].
///
/// ```
/// use dsokr_core::RowWeights;
/// use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, Member, Pool, Queries, likely_weights};
///
/// let ids = ["a", "b"].map(String::from).to_vec();
/// let coordinates = vec![1.0, -1.0];
/// let parts = CandidateParts { ids, dim: 1, coordinates, ..CandidateParts::default() };
/// let candidates = Candidates::new(parts)?;
/// let good = [0.1, -0.1, 0.1];
/// let bad = [-1.0, 1.0, 0.1];
/// let member = |name, rows| {
///     Ok::<_, dsokr_core::Error>(Member {
///         name,
///         queries: Queries::new(1, rows)?,
///         candidates: &candidates,
///         normalised: true,
///     })
/// };
/// let ensemble = Ensemble::new(vec![member("good", &good)?, member("bad", &bad)?])?;
/// let gold = [Some(0), Some(1), Some(1)];
/// let rule = Combination::default();
/// let found = likely_weights(&ensemble, Pool::Shared, &rule, &gold, &RowWeights::equal())?;
/// assert_eq!(found.weights, [1.0, 0.0]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn likely_weights(
    ensemble: &Ensemble,
    pool: Pool,
    rule: &Combination,
    gold: &[Option<u32>],
    query_weights: &RowWeights,
) -> Result<LikelyWeights, Error> {
    query_weights.check(gold.len())?;
    let models = &ensemble.models;
    let members = models.members.len();
    let combiner = rule.with_weights(None)?.combiner(&models.members)?;
    models.check(pool, gold, 0)?;
    check_queries(gold.iter().flatten().count())?;
    let sweep = Sweep { models, pool, combiner: &combiner, gold };
    let wanted = WantedRivals { limit: RIVALS, includes_hopeless: true };
    let rivals = Rivals::from_sweep(&sweep, wanted)?;
    let queries = rivals.queries.iter().enumerate();
    let fields: Vec<(f64, &QueryRivals)> = queries
        .filter_map(|(query, field)| Some((query_weights.get(query), field.as_ref()?)))
        .collect();
    let mut factors = vec![0.0; members];
    let mut here = Local::at(&fields, &factors);
    for _ in 0..STEPS {
        let step = here.direction(&factors);
        let taken = (0..HALVINGS).find_map(|halvings| {
            let share = 0.5f64.powi(halvings);
            let moved = |(factor, step): (&f64, &f64)| (factor + share * step).max(0.0);
            let next: Vec<f64> = factors.iter().zip(&step).map(moved).collect();
            let there = Local::at(&fields, &next);
            (there.value > here.value).then_some((next, there))
        });
        let Some((next, there)) = taken else { break };
        let gain = there.value - here.value;
        factors = next;
        here = there;
        if gain < GAIN {
            break;
        }
    }
    let sharpness: f64 = factors.iter().sum();
    let weights = if sharpness > 0.0 {
        factors.iter().map(|factor| factor / sharpness).collect()
    } else {
        vec![1.0 / members as f64; members]
    };
    Ok(LikelyWeights { weights, sharpness, log_likelihood: here.value })
}

/// The weighted mean log-likelihood at some factors, its gradient, and the negative of its Hessian.
struct Local {
    value: f64,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
}

impl Local {
    fn at(fields: &[(f64, &QueryRivals)], factors: &[f64]) -> Self {
        let parts: Vec<Self> =
            fields.par_iter().map(|(_, field)| Self::from_rivals(field, factors)).collect();
        let members = factors.len();
        let zero = || Self {
            value: 0.0,
            gradient: vec![0.0; members],
            curvature: vec![0.0; members * members],
        };
        // in the order of the queries, whatever the number of threads
        let total: f64 = fields.iter().map(|(weight, _)| weight).sum();
        parts.into_iter().zip(fields).fold(zero(), |mut sum, (part, (weight, _))| {
            sum.value += weight * part.value / total;
            let add = |sum: &mut [f64], part: &[f64]| {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += weight * part / total);
            };
            add(&mut sum.gradient, &part.gradient);
            add(&mut sum.curvature, &part.curvature);
            sum
        })
    }

    /// Creates the likelihood of one query. Its values count from the gold candidate's.
    fn from_rivals(field: &QueryRivals, factors: &[f64]) -> Self {
        let members = factors.len();
        let rows = field.counts.len();
        let value = |member: usize, row: usize| field.value(member, row) - field.gold[member];
        let exponent = |row: usize| -> f64 {
            (0..members).map(|member| factors[member] * value(member, row)).sum()
        };
        let exponents: Vec<f64> = (0..rows).map(exponent).collect();
        let most = exponents.iter().copied().fold(0.0, f64::max);
        let counts = field.counts.iter().copied().map(f64::from);
        let mut shares: Vec<f64> =
            exponents.iter().zip(counts).map(|(e, count)| count * (e - most).exp()).collect();
        let sum: f64 = f64::from(field.tied) * (-most).exp() + shares.iter().sum::<f64>();
        shares.iter_mut().for_each(|share| *share /= sum);
        let mut gradient = vec![0.0; members];
        let mut curvature = vec![0.0; members * members];
        let mut row_values = vec![0.0; members];
        for (row, share) in shares.into_iter().enumerate() {
            for (member, out) in row_values.iter_mut().enumerate() {
                *out = value(member, row);
            }
            for (i, &a) in row_values.iter().enumerate() {
                gradient[i] -= share * a;
                for (out, &b) in curvature[i * members..][..members].iter_mut().zip(&row_values) {
                    *out += share * a * b;
                }
            }
        }
        for i in 0..members {
            for j in 0..members {
                curvature[i * members + j] -= gradient[i] * gradient[j];
            }
        }
        Self { value: -(most + sum.ln()), gradient, curvature }
    }

    /// Returns the step that maximises the quadratic model with factors not below 0, by coordinates.
    fn direction(&self, factors: &[f64]) -> Vec<f64> {
        let members = factors.len();
        let trace: f64 = (0..members).map(|i| self.curvature[i * (members + 1)]).sum();
        let ridge = 1e-9 * trace.max(f64::MIN_POSITIVE);
        let mut step = vec![0.0; members];
        for _ in 0..SWEEPS {
            let mut change = 0.0f64;
            for i in 0..members {
                let row = &self.curvature[i * members..][..members];
                let product: f64 = row.iter().zip(&step).map(|(h, s)| h * s).sum();
                let slope = self.gradient[i] - product - ridge * step[i];
                let moved = (step[i] + slope / (row[i] + ridge)).max(-factors[i]);
                change = change.max((moved - step[i]).abs());
                step[i] = moved;
            }
            if change < 1e-12 {
                break;
            }
        }
        step
    }
}
