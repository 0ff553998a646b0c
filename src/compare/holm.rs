/// Holm's step-down correction of p-values for their number k, in the order given (Holm 1979).
///
/// Sorted ascending, the i-th becomes `min(1, max_{j ≤ i} (k − j + 1) p_j)`. The probability of
/// rejecting any true hypothesis at level α is at most α, whatever their dependence.
///
/// ```
/// assert_eq!(dsokr::compare::holm(&[0.5, 0.25, 0.0625]), [0.5, 0.5, 0.1875]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[at]).min(1.0);
        corrected[at] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of statsmodels 0.15.0, `multipletests(p, method="holm")[1]`.
    #[test]
    fn agrees_with_statsmodels() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.5, 0.03];
        let expected = [0.05, 0.12, 0.12, 0.03, 0.5, 0.12];
        for (found, expected) in holm(&p).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
