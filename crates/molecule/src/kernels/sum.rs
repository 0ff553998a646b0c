//! The sum of normalised kernels, `k(G, G') = Σ_i k_i(G, G') / √(k_i(G, G) k_i(G', G'))`: what one kernel
//! does not see, another one does.

use super::GraphKernel;
use super::counts::Counts;
use crate::graph::Graph;
use crate::refinement::mix;

/// Adds the features of each kernel, scaled to norm 1.
pub(super) fn count(graph: &Graph, of: &[GraphKernel], prefix: u64, counts: &mut Counts) {
    for (number, kernel) in of.iter().enumerate() {
        let mut own = Counts::default();
        kernel.count(graph, mix(prefix, number as u64), &mut own);
        let mut values = own.finish();
        let norm = values.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
        // a graph without features has an empty list and no norm to be divided by
        values.iter_mut().for_each(|(_, value)| *value /= norm);
        counts.add_values(values);
    }
}
