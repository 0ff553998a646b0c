//! The skeleton of a molecule: its ring systems and what links them.

use crate::graph::Graph;
use crate::molecule::{Bond, BondOrder, Molecule};

/// The label of an aromatic bond; others have their orders 1 to 4: Kekulé structures of one ring differ.
const AROMATIC: u64 = 5;

impl Molecule {
    /// Returns the skeleton: the atoms in rings and on chains between rings, with the atoms that these have double
    /// bonds to (Bemis and Murcko 1996, as RDKit's `MurckoScaffold`). Atoms are labelled by their element, bonds by
    /// their order, aromatic ones alike; charges, hydrogens, isotopes and configurations are left out. A molecule
    /// without rings has none: its graph is empty.
    ///
    /// Molecules of one skeleton are variants of one another, so a test of new molecules keeps them together
    /// ([`Graph::invariant`] tells skeletons apart, but for a few that refinement of colours does not).
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let skeleton = |smiles| Ok::<_, dsokr_molecule::Error>(Molecule::parse(smiles)?.skeleton());
    /// let diphenylmethane = skeleton("c1ccccc1Cc1ccccc1")?.invariant();
    /// assert_eq!(skeleton("Clc1ccc(CC)cc1C(N)c1ccccc1")?.invariant(), diphenylmethane);
    /// // benzophenone has the oxygen of its carbonyl group in it
    /// assert_ne!(skeleton("O=C(c1ccccc1)c1ccccc1")?.invariant(), diphenylmethane);
    /// assert!(skeleton("CCCCO")?.is_empty());
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn skeleton(&self) -> Graph {
        let n = self.atoms().len();
        let mut degrees: Vec<usize> = (0..n).map(|atom| self.degree(atom)).collect();
        let mut kept = vec![true; n];
        let mut ends: Vec<usize> = (0..n).filter(|&atom| degrees[atom] < 2).collect();
        while let Some(end) = ends.pop() {
            kept[end] = false;
            for (next, _) in self.around(end).filter(|&(next, _)| kept[next]) {
                degrees[next] -= 1;
                if degrees[next] == 1 {
                    ends.push(next);
                }
            }
        }
        let core = kept.clone();
        let doubled = self.bonds().iter().filter(|bond| bond.order == BondOrder::Double);
        for [a, b] in doubled.map(|bond| bond.atoms) {
            kept[a] |= core[b];
            kept[b] |= core[a];
        }
        let order = |bond: &Bond| u64::from(bond.order.multiplicity());
        self.graph(|bond| if bond.aromatic { AROMATIC } else { order(bond) }).induced(&kept)
    }
}
