//! Parts of a graph, and the same graph with other labels.

use super::{Arc, Graph};

impl Graph {
    /// The subgraph that some of the nodes induce: those nodes, in increasing order, and all edges
    /// between them.
    ///
    /// `keep` says for each node whether it stays; nodes past its end do not.
    ///
    /// ```
    /// use dsokr_molecule::graph::Graph;
    ///
    /// let path = Graph::new(vec![6, 7, 8], &[(0, 1, 1), (1, 2, 2)])?;
    /// let part = path.induced(&[false, true, true]);
    /// assert_eq!(part, Graph::new(vec![7, 8], &[(0, 1, 2)])?);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    #[must_use]
    pub fn induced(&self, keep: &[bool]) -> Self {
        let stays = |node: usize| keep.get(node).copied().unwrap_or(false);
        let mut new_index = vec![0; self.len()];
        let mut labels = Vec::new();
        for node in (0..self.len()).filter(|&node| stays(node)) {
            new_index[node] = labels.len();
            labels.push(self.labels[node]);
        }
        let (mut offsets, mut arcs) = (vec![0], Vec::new());
        for node in (0..self.len()).filter(|&node| stays(node)) {
            let kept = self.arcs(node).iter().filter(|arc| stays(arc.node));
            arcs.extend(kept.map(|arc| Arc { node: new_index[arc.node], label: arc.label }));
            offsets.push(arcs.len());
        }
        Self { labels, offsets, arcs }
    }

    /// The labels of the nodes, to be changed.
    pub(crate) fn labels_mut(&mut self) -> &mut [u64] {
        &mut self.labels
    }
}
