//! One connected part of a molecule, as the search for a canonical order sees it.

use crate::molecule::{Bond, BondOrder, Molecule};
use crate::stereo::{Center, Geometry, HYDROGEN};

/// The properties of an atom that do not depend on its number: no automorphism maps an atom to one of
/// other properties. The text begins at the atom of the smallest key, one with few neighbours.
pub(super) type Key = [u32; 9];

/// A bond as seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arc {
    pub(super) label: u32,
    pub(super) node: u32,
}

/// A connected part. Its atoms are numbered from 0; `atoms` are their numbers in the molecule.
pub(super) struct Structure {
    pub(super) atoms: Vec<usize>,
    pub(super) keys: Vec<Key>,
    pub(super) arcs: Vec<Vec<Arc>>,
    pub(super) centers: Vec<Center>,
    pub(super) geometries: Vec<Geometry>,
}

impl Structure {
    /// The part of a molecule that has the atoms `atoms`, all of one component or of several.
    pub(super) fn new(molecule: &Molecule, atoms: Vec<usize>) -> Self {
        let mut local = vec![usize::MAX; molecule.atoms().len()];
        atoms.iter().zip(0..).for_each(|(&atom, number)| local[atom] = number);
        let inside = |atom: usize| local[atom] != usize::MAX;
        let own = |atom: usize| if atom == HYDROGEN { HYDROGEN } else { local[atom] };
        let centers: Vec<Center> = molecule
            .centers
            .iter()
            .filter(|center| inside(center.atom))
            .map(|center| Center {
                atom: own(center.atom),
                ligands: center.ligands.iter().map(|&ligand| own(ligand)).collect(),
                clockwise: center.clockwise,
            })
            .collect();
        let geometries = molecule.geometries.iter().filter(|geometry| inside(geometry.ends[0]));
        let geometries: Vec<Geometry> = geometries
            .map(|geometry| Geometry {
                bond: geometry.bond,
                ends: geometry.ends.map(own),
                references: geometry.references.map(own),
                together: geometry.together,
            })
            .collect();

        let mut configured = vec![[0; 2]; atoms.len()];
        centers.iter().for_each(|center| configured[center.atom][0] += 1);
        let ends = geometries.iter().flat_map(|geometry| geometry.ends);
        ends.for_each(|end| configured[end][1] += 1);

        let mut arcs = Vec::with_capacity(atoms.len());
        let mut keys = Vec::with_capacity(atoms.len());
        for (number, &atom) in atoms.iter().enumerate() {
            let what = &molecule.atoms()[atom];
            let arc = |neighbor: &crate::Neighbor| Arc {
                label: if geometries.iter().any(|geometry| geometry.bond == neighbor.bond) {
                    GEOMETRY
                } else {
                    label(&molecule.bonds()[neighbor.bond], atom)
                },
                node: u32::try_from(local[neighbor.atom]).unwrap_or(u32::MAX),
            };
            arcs.push(molecule.neighbors(atom).iter().map(arc).collect::<Vec<_>>());
            keys.push([
                u32::try_from(molecule.degree(atom)).unwrap_or(u32::MAX),
                u32::from(what.aromatic),
                u32::from(what.element.atomic_number()),
                what.isotope.map_or(0, |isotope| 1 + u32::from(isotope)),
                u32::from(what.charge.unsigned_abs()) * 2 + u32::from(what.charge < 0),
                u32::from(what.hydrogens),
                configured[number][0],
                configured[number][1],
                0,
            ]);
        }
        let mut structure = Self { atoms, keys, arcs, centers, geometries };
        structure.number_twins(&configured);
        structure
    }

    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Atoms that hang on the same neighbour and are alike can be exchanged without any change, so
    /// they are numbered as they come: the search need not try their orders.
    fn number_twins(&mut self, configured: &[[u32; 2]]) {
        for (node, configured) in configured.iter().enumerate() {
            if *configured != [0, 0] {
                continue;
            }
            let leaves =
                self.arcs[node].iter().filter(|arc| self.arcs[arc.node as usize].len() == 1);
            let mut leaves: Vec<_> =
                leaves.map(|arc| (arc.label, self.keys[arc.node as usize], arc.node)).collect();
            leaves.sort_unstable();
            let mut ordinal = 0;
            for pair in 1..leaves.len() {
                let alike =
                    (leaves[pair - 1].0, leaves[pair - 1].1) == (leaves[pair].0, leaves[pair].1);
                ordinal = if alike { ordinal + 1 } else { 0 };
                self.keys[leaves[pair].2 as usize][8] = ordinal;
            }
        }
    }

    /// For each atom, what its configurations say when ligands are sorted by `rank`: 0 for an atom
    /// without one and where ligands of equal rank leave it open.
    pub(super) fn configurations(&self, rank: impl Fn(usize) -> usize + Copy) -> Vec<u32> {
        let mut says = vec![0; self.len()];
        for center in &self.centers {
            if let Some(clockwise) = center.clockwise_by(rank) {
                says[center.atom] += 1 + u32::from(clockwise);
            }
        }
        for geometry in &self.geometries {
            if let Some(together) = geometry.together_by(|end| self.neighbors(end), rank) {
                for end in geometry.ends {
                    says[end] += if together { 3 } else { 64 };
                }
            }
        }
        says
    }

    /// Neighbours of one end of a double bond but the other end.
    pub(super) fn others(&self, end: usize, partner: usize) -> impl Iterator<Item = usize> + '_ {
        self.neighbors(end).filter(move |&node| node != partner)
    }

    fn neighbors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.arcs[node].iter().map(|arc| arc.node as usize)
    }
}

/// Label of a double bond whose geometry is known.
const GEOMETRY: u32 = 8;

/// 1 to 4 for the orders, 5 for aromatic bonds, 6 and 7 for the two ends of a dative one.
fn label(bond: &Bond, from: usize) -> u32 {
    match bond.order {
        _ if bond.aromatic => 5,
        BondOrder::Dative if bond.atoms[0] == from => 6,
        BondOrder::Dative => 7,
        order => u32::from(order.multiplicity()),
    }
}
