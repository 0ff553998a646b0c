//! What is the same of a Kekulé structure however its atoms are numbered.

use super::draft::Draft;
use crate::molecule::Bond;
use crate::refinement::{mix, refined_by, unordered};

/// Rounds of refinement of a hash, whose first colours know the distances of all atoms.
const ROUNDS: usize = 4;

/// Memory that is used again from one hash to the next.
#[derive(Default)]
pub(super) struct Scratch {
    arcs: Vec<Vec<(u64, usize)>>,
    distances: Vec<Option<usize>>,
    queue: Vec<usize>,
}

impl Draft {
    /// The bonds of each atom, as their orders and the atoms at their other ends.
    pub(super) fn arcs(&self, arcs: &mut Vec<Vec<(u64, usize)>>) {
        arcs.iter_mut().for_each(Vec::clear);
        arcs.resize(self.len().max(arcs.len()), Vec::new());
        for Bond { atoms: [a, b], order, .. } in &self.bonds {
            arcs[*a].push((*order as u64, *b));
            arcs[*b].push((*order as u64, *a));
        }
    }

    /// A hash that structures share which differ in the numbers of their atoms only; none where there are
    /// configurations, which it does not see. Distances between atoms are part of it, because refinement by itself does not
    /// tell two rings of five atoms from rings of six that share a bond.
    pub(super) fn hash(&self, scratch: &mut Scratch) -> Option<u64> {
        if self.is_configured() {
            return None;
        }
        let Scratch { arcs, distances, queue } = scratch;
        self.arcs(arcs);
        let own: Vec<u64> = (0..self.len()).map(|atom| self.color(atom)).collect();
        let mut colors = own.clone();
        for (atom, color) in colors.iter_mut().enumerate() {
            distances.clear();
            distances.resize(self.len(), None);
            // a sum, which has no order
            reached(arcs, atom, distances, queue);
            for &other in queue.iter() {
                let far = distances[other].unwrap_or(0) as u64;
                *color = color.wrapping_add(mix(own[other], far));
            }
        }
        let colors = refined_by(colors, arcs, ROUNDS);
        let kept = colors.into_iter().zip(&self.removed).filter(|&(_, &removed)| !removed);
        Some(unordered(kept.map(|(color, _)| color).collect(), 0))
    }
}

/// Fills `queue` with the atoms that bonds lead to from one, itself among them, in the order of their `distances` in bonds,
/// which are none before.
pub(super) fn reached(
    arcs: &[Vec<(u64, usize)>],
    from: usize,
    distances: &mut [Option<usize>],
    queue: &mut Vec<usize>,
) {
    distances[from] = Some(0);
    queue.clear();
    queue.push(from);
    let mut next = 0;
    while let Some(&atom) = queue.get(next) {
        next += 1;
        let further = distances[atom].map(|steps| steps + 1);
        for &(_, end) in &arcs[atom] {
            if distances[end].is_none() {
                distances[end] = further;
                queue.push(end);
            }
        }
    }
}
