//! The longest carbon chain outside rings.

use dsokr_molecule::{Bond, BondOrder, Element, Molecule};

/// The longest path of carbons outside rings, as indices of its atoms from one end to the other;
/// empty if all carbons are in rings.
///
/// The carbons may be joined by any bonds but dative ones; a carbonyl carbon belongs to the chain.
/// Such carbons form a forest, so the path is a diameter of its widest tree; of several the one
/// found first.
///
/// ```
/// use dsokr_molecule::Molecule;
/// use dsokr_quickstart_generator::longest_carbon_chain;
///
/// let nonanoic_acid = Molecule::parse("CCCCCCCCC(=O)O")?;
/// assert_eq!(longest_carbon_chain(&nonanoic_acid).len(), 9);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[must_use]
pub fn longest_carbon_chain(molecule: &Molecule) -> Vec<usize> {
    let forest = Forest::of(molecule);
    let mut from = vec![NONE; molecule.atoms().len()];
    let mut seen = vec![false; molecule.atoms().len()];
    let mut longest = Vec::new();
    for start in 0..seen.len() {
        if !forest.chain[start] || seen[start] {
            continue;
        }
        // The end of the longest path from any start is an end of a diameter.
        let tree = forest.walk(start, &mut from);
        for &(atom, _) in &tree {
            seen[atom] = true;
            from[atom] = NONE;
        }
        let (mut atom, length) = farthest(&forest.walk(farthest(&tree).0, &mut from));
        if length > longest.len() {
            longest.clear();
            longest.push(atom);
            while from[atom] != atom {
                atom = from[atom];
                longest.push(atom);
            }
        }
    }
    longest
}

/// No atom.
const NONE: usize = usize::MAX;

/// The carbons outside rings, which form trees.
struct Forest<'a> {
    molecule: &'a Molecule,
    /// Which atoms they are.
    chain: Vec<bool>,
}

impl<'a> Forest<'a> {
    fn of(molecule: &'a Molecule) -> Self {
        let mut chain: Vec<bool> =
            molecule.atoms().iter().map(|atom| atom.element == Element::C).collect();
        molecule.rings().iter().flat_map(|ring| &ring.atoms).for_each(|&atom| chain[atom] = false);
        Self { molecule, chain }
    }

    /// Neighbours of an atom that are carbons of its chain.
    fn onward(&self, atom: usize) -> impl Iterator<Item = usize> + '_ {
        let joined = |bond: &Bond| bond.order != BondOrder::Dative;
        let neighbors = self.molecule.neighbors(atom).iter();
        neighbors
            .filter(move |n| self.chain[n.atom] && joined(&self.molecule.bonds()[n.bond]))
            .map(|n| n.atom)
    }

    /// All chain atoms that can be reached, and how many atoms the path to each has. `from` is the atom
    /// that a walk came from, itself for its start. Atoms that have one are not visited again, so a walk
    /// ends whatever the graph.
    fn walk(&self, start: usize, from: &mut [usize]) -> Vec<(usize, usize)> {
        from[start] = start;
        let mut reached = vec![(start, 1)];
        let mut next = 0;
        while let Some(&(atom, length)) = reached.get(next) {
            next += 1;
            for onward in self.onward(atom) {
                if from[onward] == NONE {
                    from[onward] = atom;
                    reached.push((onward, length + 1));
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
