//! Configurations: which way ligands are arranged round an atom or a double bond.

use std::cmp::Ordering;

/// Stands for the hydrogen among the ligands of a [`Center`].
pub(crate) const HYDROGEN: usize = usize::MAX;

/// A tetrahedral centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Center {
    /// The atom in the middle.
    pub(crate) atom: usize,
    /// Its three or four ligands: atoms, and [`HYDROGEN`] at most once.
    pub(crate) ligands: Vec<usize>,
    /// Seen from the first ligand, the others follow clockwise (`@@`) in the order of the list.
    pub(crate) clockwise: bool,
}

impl Center {
    /// Whether the ligands, sorted by increasing `rank`, follow clockwise; `None` when two ligands
    /// have the same rank. The hydrogen comes last.
    pub(crate) fn clockwise_by(&self, rank: impl Fn(usize) -> usize) -> Option<bool> {
        let rank = |ligand| if ligand == HYDROGEN { usize::MAX } else { rank(ligand) };
        let mut odd = false;
        for (place, &first) in self.ligands.iter().enumerate() {
            for &second in &self.ligands[place + 1..] {
                let (first, second) = (rank(first), rank(second));
                if first == second {
                    return None;
                }
                odd ^= first > second;
            }
        }
        Some(self.clockwise ^ odd)
    }
}

/// A double bond with a geometry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The double bond.
    pub(crate) bond: usize,
    /// Its ends.
    pub(crate) ends: [usize; 2],
    /// For each end, one of its one or two other neighbours.
    pub(crate) references: [usize; 2],
    /// Whether the two references lie on the same side.
    pub(crate) together: bool,
}

impl Geometry {
    /// Whether the neighbours of lowest `rank` at both ends lie on the same side; `None` when two at one end have
    /// the same rank.
    pub(crate) fn together_by<N: Iterator<Item = usize>>(
        &self,
        neighbors: impl Fn(usize) -> N,
        rank: impl Fn(usize) -> usize,
    ) -> Option<bool> {
        let mut together = self.together;
        for ((end, partner), reference) in
            self.ends.into_iter().zip([self.ends[1], self.ends[0]]).zip(self.references)
        {
            for other in neighbors(end).filter(|&other| other != partner && other != reference) {
                match rank(other).cmp(&rank(reference)) {
                    Ordering::Less => together = !together,
                    Ordering::Equal => return None,
                    Ordering::Greater => {}
                }
            }
        }
        Some(together)
    }
}
