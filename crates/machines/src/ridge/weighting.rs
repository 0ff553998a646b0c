//! How input kernels are weighted, and weights by leave-one-out errors.

use std::ops::RangeInclusive;

use dsokr_basis::eigenbasis::multiply;
use dsokr_basis::features::read;
use dsokr_basis::kernel::gram;
use dsokr_core::{Cancellation, Error, RowWeights};
use faer::{Accum, Mat, MatRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alignment::{TargetGram, alignf, check, combine};
use super::left_out::solve_positive;
use crate::linear::{Factor, PANEL, Panels, product};
use crate::row_groups::RowGroups;
use crate::targets::check_lambda;

/// The error is within this share of itself of what its slope promises at most.
const GAP: f64 = 1e-4;

/// The most steps.
const STEPS: usize = 100;

/// The least and the largest sum of weights that are tried.
const SUMS: RangeInclusive<f64> = 1e-4..=1e4;

/// Weights below this share of their sum are 0.
const VANISHING: f64 = 1e-4;

/// How the weights of `K = Σ_k w_k K_k` are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelWeighting {
    /// `1/K` each. Kernels should be of one scale: normalised to a unit diagonal, say.
    Uniform,
    /// [`alignf`].
    #[default]
    Alignf,
    /// [`held_out_weights`].
    HeldOut,
}

impl KernelWeighting {
    /// Returns the weights of training Gram matrices, for a ridge regression with this λ where they depend on it. A pair
    /// of weight 2 counts as two equal pairs. Pairs of a group are left out together.
    ///
    /// # Errors
    /// The errors of [`alignf`] and [`held_out_weights`]; the uniform sum only checks the kernels.
    pub fn weights(
        self,
        kernels: &[MatRef<f64>],
        target_gram: &TargetGram,
        pair_weights: &RowWeights,
        pair_groups: &RowGroups,
        lambda: f64,
    ) -> Result<Vec<f64>, Error> {
        match self {
            Self::Uniform => {
                check(kernels, target_gram.rows.len())?;
                Ok(vec![1.0 / kernels.len() as f64; kernels.len()])
            }
            Self::Alignf => alignf(kernels, target_gram, pair_weights),
            Self::HeldOut => {
                held_out_weights(kernels, target_gram, pair_weights, pair_groups, lambda)
            }
        }
    }
}

/// Returns the weights w ≥ 0 whose kernel `K = Σ_k w_k K_k` has the least leave-one-out error of a ridge regression,
/// `E(w) = (1/n) Σ_i ‖ψ(y_i) − ĥ_{−i}(x_i)‖²` in the feature space of the output kernel, divided by their sum. The
/// search lets the weights have any sum. The sum acts as λ does, so λ need not be right.
///
/// With `A = (K + nλI)⁻¹` the error is `(1/n) Σ_i (A Y A)_ii / A_ii²`, and its slope `∂E/∂w_k = ⟨K_k, G⟩` for one
/// matrix G. The steps are exponentiated gradient descent (Kivinen and Warmuth 1997). They start from the best equal
/// weights of sums 1e-3 to 1e3 and end when the slope promises less than 1e-4 of E, after at most 100 steps. E need not
/// be convex. A step takes about 7 n³ multiplications, and memory for six matrices n × n.
///
/// With weights ω of the pairs the error is `Σ_i ω_i ‖ψ(y_i) − ĥ_{−i}(x_i)‖² / Σω`, each pair is left out with all of
/// its weight, and `A = (K + λ Σω diag(1/ω))⁻¹`. The pairs of a group G are left out together: their residuals are
/// `A_GG⁻¹ (A Ψ)_G`.
///
/// # Errors
/// The errors of [`alignf`] for kernels, outputs and weights that are not valid; [`Error::Shape`] for groups of a
/// different number of pairs; [`Error::Value`] for a λ that is not above 0.
pub fn held_out_weights(
    kernels: &[MatRef<f64>],
    target_gram: &TargetGram,
    pair_weights: &RowWeights,
    pair_groups: &RowGroups,
    lambda: f64,
) -> Result<Vec<f64>, Error> {
    let n = target_gram.rows.len();
    check(kernels, n)?;
    pair_weights.check(n)?;
    pair_groups.check(n)?;
    check_lambda(lambda)?;
    target_gram.kernel.validate(target_gram.rows.kind())?;
    let outputs = read(target_gram.rows, 0..n)?;
    target_gram.kernel.check(&outputs)?;
    let search = Search {
        kernels,
        outputs: gram(target_gram.kernel, &outputs, &outputs)?,
        pair_weights,
        groups: pair_groups.several(),
        total: pair_weights.total(n),
        lambda,
    };
    // steps end when they gain nothing, so their number is not known
    let _stage = Cancellation::current().stage("weights of kernels", 0);
    let mut best: Option<WeightedKernels> = None;
    for power in -3..=3 {
        let equal = vec![10f64.powi(power) / kernels.len() as f64; kernels.len()];
        let Some(candidate) = search.at(equal)? else { continue };
        if best.as_ref().is_none_or(|best| candidate.error < best.error) {
            best = Some(candidate);
        }
    }
    let none =
        || Error::Numeric("no sum of the kernels has a Cholesky factor: raise lambda".into());
    let mut best = best.ok_or_else(none)?;
    let mut rate = 1.0;
    for _ in 0..STEPS {
        let WeightedKernels { weights, error, slope } = &best;
        let sum: f64 = weights.iter().sum();
        let gains = weights.iter().zip(slope);
        // the largest gain of a weight above 0, or of one that grows from 0
        let gain = gains.fold(0.0f64, |most, (w, gain_of_weight)| {
            most.max((w * gain_of_weight).abs()).max(-sum * gain_of_weight)
        });
        if gain <= GAP * error || rate < f64::EPSILON {
            break;
        }
        let moved =
            |(w, gain): (&f64, &f64)| w * (-rate * sum * gain / error).clamp(-4.0, 4.0).exp();
        let next: Vec<f64> = weights.iter().zip(slope).map(moved).collect();
        let next = if SUMS.contains(&next.iter().sum()) { search.at(next)? } else { None };
        match next.filter(|next| next.error < *error) {
            Some(better) => {
                best = better;
                rate *= 2.0;
            }
            None => rate /= 4.0,
        }
    }
    let weights = best.weights;
    let sum: f64 = weights.iter().sum();
    let cut = weights.iter().map(|w| if w / sum < VANISHING { 0.0 } else { w / sum });
    let left: f64 = cut.clone().sum();
    let cut: Vec<f64> = cut.collect();
    Ok(cut.into_iter().map(|w| w / left).collect())
}

/// Weights of the kernels, with their error and its slope.
struct WeightedKernels {
    weights: Vec<f64>,
    error: f64,
    slope: Vec<f64>,
}

struct Search<'a> {
    kernels: &'a [MatRef<'a, f64>],
    /// Y.
    outputs: Mat<f64>,
    /// ω.
    pair_weights: &'a RowWeights,
    /// The groups of several pairs that are left out together.
    groups: Vec<Vec<usize>>,
    /// Σω; n without weights.
    total: f64,
    lambda: f64,
}

impl Search<'_> {
    /// Returns some weights with the error and its slope; none where rounding leaves no Cholesky factor.
    fn at(&self, weights: Vec<f64>) -> Result<Option<WeightedKernels>, Error> {
        Cancellation::current().check()?;
        let kernel = combine(self.kernels, &weights)?;
        let n = kernel.nrows();
        let mut system = Panels::try_new(n, |rows| {
            Ok::<_, Error>(kernel.submatrix(rows.start, 0, rows.len(), rows.end).to_owned())
        })?;
        let ridge = self.total * self.lambda;
        system.add_diagonal(|i| ridge / self.pair_weights.get(i));
        let Ok(factor) = Factor::new(system)? else { return Ok(None) };
        let mut a = Mat::identity(n, n);
        factor.solve(a.as_mut())?;
        let times = |left: &Mat<f64>, right: &Mat<f64>| {
            let mut out = Mat::zeros(n, n);
            product(out.as_mut(), Accum::Replace, left.as_ref(), right.as_ref(), PANEL);
            out
        };
        let both = times(&times(&a, &self.outputs), &a);
        let term = |i: usize| both[(i, i)] / (a[(i, i)] * a[(i, i)]);
        let weighted = |i: usize| self.pair_weights.get(i) * term(i);
        let mut terms: Vec<f64> = (0..n).map(weighted).collect();
        // columns of ω_j (A Y A / A_jj² − A (A Y A)_jj / A_jj³)
        let mut turned = Mat::from_fn(n, n, |i, j| {
            let change = both[(i, j)] / a[(j, j)] - a[(i, j)] * term(j);
            self.pair_weights.get(j) * change / a[(j, j)]
        });
        for group in &self.groups {
            let Some(added) = self.group_terms(group, &a, &both) else { return Ok(None) };
            for (place, &row) in group.iter().enumerate() {
                terms[row] = added.terms[place];
                for i in 0..n {
                    let change = |at: usize| {
                        let row = group[at];
                        both[(i, row)] * added.of_both[(at, place)]
                            - a[(i, row)] * added.of_inverse[(at, place)]
                    };
                    turned[(i, row)] = (0..group.len()).map(change).sum::<f64>();
                }
            }
        }
        let error = terms.iter().sum::<f64>() / self.total;
        let gradient = times(&turned, &a);
        let slope = |kernel: &MatRef<f64>| {
            let columns = kernel.col_iter().zip(gradient.col_iter());
            -2.0 / self.total * columns.map(|(k, g)| k.transpose() * g).sum::<f64>()
        };
        let slope = self.kernels.iter().map(slope).collect();
        Ok(Some(WeightedKernels { weights, error, slope }))
    }

    /// Returns what a group of pairs adds to the error and its slope, for A and `A Y A`; none where rounding leaves no
    /// Cholesky factor.
    fn group_terms(&self, group: &[usize], a: &Mat<f64>, both: &Mat<f64>) -> Option<GroupTerms> {
        let size = group.len();
        let block =
            |matrix: &Mat<f64>| Mat::from_fn(size, size, |i, j| matrix[(group[i], group[j])]);
        let weight = |place: usize| self.pair_weights.get(group[place]);
        let mut inverse = Mat::identity(size, size);
        if !solve_positive(block(a), inverse.as_mut(), f64::MIN_POSITIVE) {
            return None;
        }
        let weighted = Mat::from_fn(size, size, |i, j| weight(i) * inverse[(i, j)]);
        let inverse = inverse.as_ref();
        let covered = multiply(multiply(inverse, block(both).as_ref()).as_ref(), inverse);
        let of_both = multiply(inverse, weighted.as_ref());
        let of_inverse = multiply(weighted.transpose(), covered.as_ref());
        let terms = (0..size).map(|place| weight(place) * covered[(place, place)]).collect();
        Some(GroupTerms { terms, of_both, of_inverse })
    }
}

/// What a group G of pairs that are left out together adds to the error and its slope, with `B = A_GG`,
/// `C = (A Y A)_GG` and `Ω = diag(ω)`.
struct GroupTerms {
    /// The diagonal of `Ω B⁻¹ C B⁻¹`.
    terms: Vec<f64>,
    /// `B⁻¹ Ω B⁻¹`.
    of_both: Mat<f64>,
    /// `B⁻¹ Ω B⁻¹ C B⁻¹`.
    of_inverse: Mat<f64>,
}
