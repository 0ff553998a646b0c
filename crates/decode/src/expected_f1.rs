use std::collections::BTreeMap;

use dsokr_core::Error;

use crate::error::ensure_allowed;
use crate::permutations::DecodedOutput;

/// Returns the set of labels with the largest expected F1, where the true set is one of `outcomes`, each with a weight
/// w_c, and `p_c = w_c / Σ w` is its probability. The returned set need not be one of them.
///
/// `E[F1(Y)] = Σ_c p_c 2|Y ∩ c| / (|Y| + |c|)` is, among the sets of k labels, a sum over the labels of Y:
/// `Σ_{l ∈ Y} Δ(l, k)` with `Δ(l, k) = Σ_{c ∋ l} p_c 2 / (k + |c|)`. So the best set of k labels has the k largest Δ,
/// and the best of all sets is found exactly (Dembczyński, Waegeman, Cheng and Hüllermeier, NeurIPS 2011). Sizes are
/// tried until no larger set can be better: L distinct labels in sets of S different sizes take O(L S) for each. If Δ
/// are equal the first label is taken, if expectations are equal the smaller set.
///
/// An outcome is a set of columns, each at most once. The score of the result is its expected F1. The score of the
/// empty set is the probability of an empty outcome: F1 is 1 where both sets are empty, as in
/// [`MultiLabelMetrics`](crate::MultiLabelMetrics).
///
/// # Errors
/// [`Error::OutOfRange`] for a weight that is negative or not finite, and for weights that sum to 0.
///
/// ```
/// use dsokr_decode::best_expected_f1;
///
/// // Three sets are equally likely. Their intersection is not an outcome, and has a better F1 on average.
/// let outcomes: [(f64, &[u32]); 3] = [(1.0, &[3, 5, 7]), (1.0, &[3, 5, 8]), (1.0, &[3, 5, 9])];
/// let best = best_expected_f1(&outcomes)?;
/// assert_eq!(best.parts, [3, 5]);
/// assert!((best.score - 0.8).abs() < 1e-15);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn best_expected_f1(outcomes: &[(f64, &[u32])]) -> Result<DecodedOutput, Error> {
    // the sum of no numbers is -0
    let total = 0.0 + outcomes.iter().map(|(weight, _)| weight).sum::<f64>();
    for (weight, _) in outcomes {
        let holds = *weight >= 0.0 && weight.is_finite();
        ensure_allowed(holds, format_args!("a weight of {weight}"), "finite numbers from 0")?;
    }
    let holds = total > 0.0 && total.is_finite();
    let found = format_args!("weights that sum to {total}");
    ensure_allowed(holds, found, "a positive, finite sum")?;
    // the probability of each size, and of each label in sets of each size
    let mut sizes: BTreeMap<usize, f64> = BTreeMap::new();
    for &(weight, labels) in outcomes {
        *sizes.entry(labels.len()).or_default() += weight / total;
    }
    let empty = sizes.remove(&0).unwrap_or(0.0);
    let places: BTreeMap<usize, usize> = sizes.keys().copied().zip(0..).collect();
    let mut labels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for &(weight, outcome) in outcomes {
        for &label in outcome {
            let by_size = labels.entry(label).or_insert_with(|| vec![0.0; sizes.len()]);
            by_size[places[&outcome.len()]] += weight / total;
        }
    }
    let largest = sizes.last_key_value().map_or(0, |(&size, _)| size);
    let mut best = DecodedOutput { score: empty, ..DecodedOutput::default() };
    let mut gains: Vec<(f64, u32)> = Vec::with_capacity(labels.len());
    for k in 1..=labels.len() {
        let factor = |size: usize| 2.0 / (k + size) as f64;
        // all labels of all outcomes are in the set, at best; this falls with k
        let bound: f64 = sizes.iter().map(|(&size, p)| p * size as f64 * factor(size)).sum();
        if k >= largest && bound <= best.score {
            break;
        }
        gains.clear();
        gains.extend(labels.iter().map(|(&label, probabilities)| {
            let terms = probabilities.iter().zip(sizes.keys()).map(|(p, &size)| p * factor(size));
            (terms.sum(), label)
        }));
        gains.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let score: f64 = gains[..k].iter().map(|(gain, _)| gain).sum();
        if score > best.score {
            let mut chosen: Vec<u32> = gains[..k].iter().map(|&(_, label)| label).collect();
            chosen.sort_unstable();
            best = DecodedOutput { parts: chosen, score, ..DecodedOutput::default() };
        }
    }
    Ok(best)
}
