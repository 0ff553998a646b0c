//! Atoms that a text marks with `@` or `@@`.

/// How a text writes an atom that has a mark, `@` or `@@`.
pub(crate) struct Marked {
    /// The number of atoms bound to it; hydrogens in its brackets are none.
    pub(crate) degree: usize,
    /// Whether its brackets hold a hydrogen.
    pub(crate) has_hydrogen: bool,
    /// Whether it has neither multiple nor aromatic bonds.
    pub(crate) is_saturated: bool,
    /// Whether a connected part of the molecule begins with it.
    pub(crate) is_first: bool,
    /// The number of its ring labels.
    pub(crate) ring_labels: usize,
}

impl Marked {
    /// Returns whether `@` means what OpenSMILES calls `@@`. RDKit reads and writes it so at two kinds of atoms with a
    /// pair of electrons: at one with three single bonds and one ring label, wherever the label's ring ends, and at one
    /// with two bonds and a hydrogen behind another atom.
    pub(crate) fn is_turned(&self) -> bool {
        match (self.degree, self.has_hydrogen) {
            (3, false) => self.is_saturated && self.ring_labels == 1,
            (2, true) => !self.is_first,
            _ => false,
        }
    }
}
