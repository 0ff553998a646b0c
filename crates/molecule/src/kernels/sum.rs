//! The sum of normalised kernels, `k(G, G') = Σ_i k_i(G, G') / √(k_i(G, G) k_i(G', G'))`: what one kernel
//! does not see, another one does.

use super::GraphKernel;
use super::counts::{Counts, normalise};
use crate::graph::Graph;
use crate::refinement::mix;

/// Adds the features of each kernel, scaled to norm 1.
pub(super) fn count(graph: &Graph, of: &[GraphKernel], prefix: u64, counts: &mut Counts) {
    for (number, kernel) in of.iter().enumerate() {
        let mut own = Counts::default();
        kernel.count(graph, mix(prefix, number as u64), &mut own);
        let mut values = own.finish();
        normalise(&mut values);
        counts.add_values(values);
    }
}
