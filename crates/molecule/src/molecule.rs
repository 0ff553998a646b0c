//! The molecular graph: atoms, bonds, rings, components.

use std::cmp::Ordering;
use std::sync::OnceLock;

use chematic_core::{Atom as Node, AtomIdx, BondOrder as Order, MoleculeBuilder};
use chematic_perception::find_sssr_shared;
use dsokr_basis::features::sorted_by_place;

use crate::element::Element;

/// One atom. Hydrogens are counted on their neighbour. Hydrogens that a SMILES writes as atoms are folded in, except
/// isotopes, ions and H₂.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atom {
    /// The element of the atom.
    pub element: Element,
    /// Formal charge.
    pub charge: i8,
    /// Hydrogens bound to it, written or implied by the valence.
    pub hydrogens: u8,
    /// Mass number, if the SMILES gives one.
    pub isotope: Option<u16>,
    /// Whether it belongs to an aromatic ring.
    pub aromatic: bool,
    /// Whether the SMILES gives it a configuration (`@`, `@@`).
    pub stereo: bool,
}

/// Order of a bond in the Kekulé structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BondOrder {
    /// Two shared electrons.
    Single,
    /// Four shared electrons.
    Double,
    /// Six shared electrons.
    Triple,
    /// Eight shared electrons, between metals.
    Quadruple,
    /// A dative bond: both electrons come from the first atom (`->`).
    Dative,
}

impl BondOrder {
    /// Returns the number of electron pairs, 1 to 4; a dative bond counts 1.
    pub fn multiplicity(self) -> u8 {
        match self {
            Self::Single | Self::Dative => 1,
            Self::Double => 2,
            Self::Triple => 3,
            Self::Quadruple => 4,
        }
    }
}

/// One bond, with both views of it: its order after kekulisation, and whether it is aromatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bond {
    /// The atoms that it joins, as indices into [`Molecule::atoms`].
    pub atoms: [usize; 2],
    /// Order in the Kekulé structure.
    pub order: BondOrder,
    /// Whether it belongs to an aromatic system.
    pub aromatic: bool,
    /// Whether it is a double bond whose geometry the SMILES gives (`/`, `\\`).
    pub stereo: bool,
}

/// One ring of the smallest set of smallest rings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// The atoms of the ring, in the order of a walk round it.
    pub atoms: Vec<usize>,
    /// Whether all its bonds are aromatic.
    pub aromatic: bool,
}

/// A step along a bond: the atom it leads to and the bond taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Neighbor {
    /// Index of the neighbouring atom.
    pub atom: usize,
    /// Index of the bond to it.
    pub bond: usize,
}

/// A molecule as a labelled graph without hydrogens.
///
/// Indices of atoms follow the order of the SMILES. Parts separated by `.` are components of one
/// molecule.
///
/// ```
/// use dsokr_molecule::{Element, Molecule};
///
/// let phenol = Molecule::parse("Oc1ccccc1")?;
/// assert_eq!(phenol.atoms().len(), 7);
/// assert_eq!(phenol.atoms()[0].element, Element::O);
/// assert_eq!(phenol.atoms()[0].hydrogens, 1);
/// assert_eq!(phenol.rings().len(), 1);
/// assert!(phenol.rings()[0].aromatic);
///
/// let error = Molecule::parse("CC(C").unwrap_err();
/// assert_eq!(error.position(), Some(2));
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Molecule {
    pub(crate) atoms: Vec<Atom>,
    pub(crate) bonds: Vec<Bond>,
    /// Found when they are asked for first.
    pub(crate) rings: OnceLock<Vec<Ring>>,
    /// Tetrahedral centres whose configuration is known.
    pub(crate) centers: Vec<Center>,
    /// Double bonds whose geometry is known.
    pub(crate) geometries: Vec<Geometry>,
    /// The neighbours of the first atom, of the second, and so on.
    neighbors: Vec<Neighbor>,
    /// Where the neighbours of each atom begin, and where those of the last one end. A list for each atom would
    /// take three times the memory.
    first_neighbors: Vec<usize>,
}

impl PartialEq for Molecule {
    fn eq(&self, other: &Self) -> bool {
        let graph = self.atoms == other.atoms && self.bonds == other.bonds;
        let configured = self.centers == other.centers && self.geometries == other.geometries;
        graph && configured && self.rings() == other.rings()
    }
}

impl Eq for Molecule {}

impl Molecule {
    /// Assembles the graph without configurations. Its rings are those that no dative bond closes, none of them
    /// aromatic.
    pub(crate) fn assemble(atoms: Vec<Atom>, bonds: Vec<Bond>) -> Self {
        let ends = |(bond, Bond { atoms: [a, b], .. }): (usize, &Bond)| {
            [(*a, Neighbor { atom: *b, bond }), (*b, Neighbor { atom: *a, bond })]
        };
        let both_ends = bonds.iter().enumerate().flat_map(ends);
        let (first_neighbors, neighbors) = sorted_by_place(atoms.len(), both_ends);
        Self {
            atoms,
            bonds,
            rings: OnceLock::new(),
            centers: Vec::new(),
            geometries: Vec::new(),
            neighbors,
            first_neighbors,
        }
    }

    /// Returns all atoms but the hydrogens folded into them.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Returns all bonds between [`atoms`](Self::atoms).
    pub fn bonds(&self) -> &[Bond] {
        &self.bonds
    }

    /// Returns the smallest set of smallest rings: |bonds| − |atoms| + |components| of them, minus those that
    /// only coordinative bonds to metals close (as in RDKit).
    pub fn rings(&self) -> &[Ring] {
        self.rings.get_or_init(|| {
            let mut graph = MoleculeBuilder::with_capacity(self.atoms.len(), self.bonds.len());
            for _ in &self.atoms {
                graph.add_atom(Node::new(chematic_core::Element::C));
            }
            for bond in self.bonds.iter().filter(|bond| bond.order != BondOrder::Dative) {
                let [a, b] = bond.atoms.map(|end| AtomIdx(end as u32));
                // two atoms have one bond
                let _ = graph.add_bond(a, b, Order::Single);
            }
            let ring_set = find_sssr_shared(&graph.build());
            let atoms = |ring: &Vec<AtomIdx>| ring.iter().map(|atom| atom.0 as usize).collect();
            let rings = ring_set.rings().iter().map(atoms);
            rings.map(|atoms| Ring { atoms, aromatic: false }).collect()
        })
    }

    /// Returns the neighbours of an atom, in the order of their bonds.
    ///
    /// # Panics
    /// If `atom` is not an index into [`atoms`](Self::atoms).
    pub fn neighbors(&self, atom: usize) -> &[Neighbor] {
        &self.neighbors[self.first_neighbors[atom]..self.first_neighbors[atom + 1]]
    }

    /// Returns the number of bonds of an atom, those to folded hydrogens not counted.
    ///
    /// # Panics
    /// If `atom` is not an index into [`atoms`](Self::atoms).
    pub fn degree(&self, atom: usize) -> usize {
        self.neighbors(atom).len()
    }

    /// Returns the atoms bound to an atom, and the bonds to them.
    pub(crate) fn around(&self, atom: usize) -> impl Iterator<Item = (usize, &Bond)> {
        self.neighbors(atom).iter().map(|n| (n.atom, &self.bonds[n.bond]))
    }

    /// Returns the bond between two atoms, if there is one.
    pub(crate) fn bond_between(&self, a: usize, b: usize) -> Option<usize> {
        self.neighbors(a).iter().find(|n| n.atom == b).map(|n| n.bond)
    }

    /// Returns the bonds of a ring.
    pub(crate) fn ring_bonds<'a>(&'a self, ring: &'a Ring) -> impl Iterator<Item = usize> + 'a {
        let onward = ring.atoms.iter().cycle().skip(1);
        ring.atoms.iter().zip(onward).filter_map(|(&a, &b)| self.bond_between(a, b))
    }

    /// Returns whether each atom is in a ring.
    pub(crate) fn in_ring(&self) -> Vec<bool> {
        let mut in_ring = vec![false; self.atoms.len()];
        self.rings().iter().flat_map(|ring| &ring.atoms).for_each(|&atom| in_ring[atom] = true);
        in_ring
    }

    /// Returns the same molecule without configurations.
    pub fn without_stereo(mut self) -> Self {
        self.centers = Vec::new();
        self.geometries = Vec::new();
        self.atoms.iter_mut().for_each(|atom| atom.stereo = false);
        self.bonds.iter_mut().for_each(|bond| bond.stereo = false);
        self
    }

    /// Marks atoms and double bonds as those whose configurations are known.
    pub(crate) fn mark_configured(&mut self, atoms: &[usize], bonds: &[usize]) {
        atoms.iter().for_each(|&atom| self.atoms[atom].stereo = true);
        bonds.iter().for_each(|&bond| self.bonds[bond].stereo = true);
    }

    /// Returns the sum of the formal charges.
    pub fn charge(&self) -> i32 {
        self.atoms.iter().map(|a| i32::from(a.charge)).sum()
    }

    /// Returns the number of atoms of one element; hydrogens are those folded in and those that are atoms.
    pub fn count(&self, element: Element) -> usize {
        self.composition().get(&element).copied().unwrap_or(0)
    }

    /// Returns the atoms of each connected component, ascending, in the order of their first atoms.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let mut sets = Union::new(self.atoms.len());
        self.bonds.iter().for_each(|bond| sets.merge(bond.atoms[0], bond.atoms[1]));
        sets.groups()
    }
}

/// Stands for the hydrogen among the ligands of a [`Center`].
pub(crate) const HYDROGEN: usize = usize::MAX;

/// A tetrahedral centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Center {
    /// The atom in the middle.
    pub(crate) atom: usize,
    /// The three or four ligands of the centre: atoms, and [`HYDROGEN`] at most once.
    pub(crate) ligands: Vec<usize>,
    /// Seen from the first ligand, the others follow clockwise (`@@`) in the order of the list.
    pub(crate) clockwise: bool,
}

impl Center {
    /// Returns whether the ligands, sorted by increasing `rank`, follow clockwise; `None` when two ligands
    /// have the same rank. The hydrogen comes last.
    pub(crate) fn clockwise_by(&self, rank: impl Fn(usize) -> usize) -> Option<bool> {
        let rank = |ligand| if ligand == HYDROGEN { usize::MAX } else { rank(ligand) };
        let mut odd = false;
        for (place, &first) in self.ligands.iter().enumerate() {
            for &second in &self.ligands[place + 1..] {
                let first = rank(first);
                let second = rank(second);
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
    /// The two atoms of the double bond.
    pub(crate) ends: [usize; 2],
    /// One of the one or two other neighbours of each end.
    pub(crate) references: [usize; 2],
    /// Whether the two references lie on the same side.
    pub(crate) together: bool,
}

impl Geometry {
    /// Returns whether the neighbours of lowest `rank` at both ends lie on the same side; `None` when two at one end
    /// have the same rank.
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

/// Numbers from 0 in disjoint sets, each in its own at first.
pub(crate) struct Union(Vec<usize>);

impl Union {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// Returns the number that stands for the set of the given one.
    pub(crate) fn root(&mut self, mut number: usize) -> usize {
        while self.0[number] != number {
            self.0[number] = self.0[self.0[number]];
            number = self.0[number];
        }
        number
    }

    /// Merges the sets of two numbers.
    pub(crate) fn merge(&mut self, a: usize, b: usize) {
        let a = self.root(a);
        let b = self.root(b);
        self.0[a] = b;
    }

    /// Returns the members of each set, ascending, in the order of their first members.
    pub(crate) fn groups(mut self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut of_root = vec![None; self.0.len()];
        for member in 0..self.0.len() {
            let group = *of_root[self.root(member)].get_or_insert(groups.len());
            groups.resize(groups.len().max(group + 1), Vec::new());
            groups[group].push(member);
        }
        groups
    }
}
