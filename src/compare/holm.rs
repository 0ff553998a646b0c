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
