//! Carbon chains outside rings.

use crate::molecule::{BondOrder, Element, Molecule};

/// The longest path of carbons outside rings, as indices of its atoms from one end to the other;
/// empty if all carbons are in rings.
///
/// The carbons may be joined by any bonds but dative ones; a carbonyl carbon belongs to the chain.
/// Such carbons form a forest, so the path is a diameter of its widest tree; of several the one
/// found first.
///
/// ```
/// use dsokr_molecule::{Molecule, longest_carbon_chain};
///
/// let nonanoic_acid = Molecule::parse("CCCCCCCCC(=O)O")?;
/// assert_eq!(longest_carbon_chain(&nonanoic_acid).len(), 9);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[must_use]
pub fn longest_carbon_chain(molecule: &Molecule) -> Vec<usize> {
    let mut carbons = Carbons {
        molecule,
        on_chain: molecule.atoms().iter().map(|a| a.element == Element::C).collect(),
        from: vec![NONE; molecule.atoms().len()],
    };
    for ring in molecule.rings() {
        for &atom in &ring.atoms {
            carbons.on_chain[atom] = false;
        }
    }
    let mut seen = vec![false; molecule.atoms().len()];
    let mut longest = Vec::new();
    for start in 0..seen.len() {
        if !carbons.on_chain[start] || seen[start] {
            continue;
        }
        // The end of the longest path from any start is an end of a diameter.
        let tree = carbons.walk(start);
        for &(atom, _) in &tree {
            seen[atom] = true;
            carbons.from[atom] = NONE;
        }
        let (mut atom, length) = farthest(&carbons.walk(farthest(&tree).0));
        if length > longest.len() {
            longest.clear();
            longest.push(atom);
            while carbons.from[atom] != atom {
                atom = carbons.from[atom];
                longest.push(atom);
            }
        }
    }
    longest
}

const NONE: usize = usize::MAX;

struct Carbons<'a> {
    molecule: &'a Molecule,
    on_chain: Vec<bool>,
    /// The atom from which a walk came; the start of the walk came from itself.
    from: Vec<usize>,
}

impl Carbons<'_> {
    /// All chain atoms that can be reached, and how many atoms the path to each has. Atoms that
    /// have a `from` are not visited again, so a walk ends whatever the graph.
    fn walk(&mut self, start: usize) -> Vec<(usize, usize)> {
        self.from[start] = start;
        let mut reached = vec![(start, 1)];
        let mut next = 0;
        while let Some(&(atom, length)) = reached.get(next) {
            next += 1;
            for n in self.molecule.neighbors(atom) {
                let dative = self.molecule.bonds()[n.bond].order == BondOrder::Dative;
                if self.on_chain[n.atom] && self.from[n.atom] == NONE && !dative {
                    self.from[n.atom] = atom;
                    reached.push((n.atom, length + 1));
                }
            }
        }
        reached
    }
}

/// The first of the atoms with the longest path.
fn farthest(reached: &[(usize, usize)]) -> (usize, usize) {
    let mut best = (NONE, 0);
    for &(atom, length) in reached {
        if length > best.1 {
            best = (atom, length);
        }
    }
    best
}

/// Number of double bonds between neighbours on a path of atoms.
pub(crate) fn double_bonds(molecule: &Molecule, path: &[usize]) -> usize {
    let steps = path.windows(2).filter(|step| {
        let mut neighbors = molecule.neighbors(step[0]).iter();
        neighbors.any(|n| n.atom == step[1] && molecule.bonds()[n.bond].order == BondOrder::Double)
    });
    steps.count()
}
