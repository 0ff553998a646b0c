//! Configurations from the places of atoms, and from wedges.

use super::{Block, BlockOrder, Mark};
use crate::element::Element;
use crate::molecule::{BondOrder, Center, Geometry, HYDROGEN, Molecule};

/// Below this volume of unit vectors three ligands and a fourth lie in a plane.
const FLAT: f64 = 1e-2;

/// The sine of an angle below which three atoms are on a line.
const LINEAR: f64 = 0.1;

/// The smallest ring in which a double bond may have either geometry.
const SMALLEST_RING: usize = 8;

type Vector = [f64; 3];

/// Returns the molecule with the configurations that the block describes. `index` maps the atoms of the block to atoms
/// of the molecule, and `bonds_of` has the bonds of each atom of the block.
pub(super) fn with_configurations(
    block: &Block,
    bonds_of: &[Vec<usize>],
    index: &[usize],
    mut molecule: Molecule,
) -> Molecule {
    let is_solid = block.atoms.iter().any(|atom| atom.place[2].abs() > 1e-3);
    let view = View { block, bonds_of, index, molecule: &molecule, is_solid };
    let centers: Vec<Center> = (0..index.len()).filter_map(|atom| view.center(atom)).collect();
    let bonds = 0..block.bonds.len();
    let geometries: Vec<Geometry> = bonds.filter_map(|bond| view.geometry(bond)).collect();
    let marked = centers.iter().map(|center| center.atom).collect::<Vec<_>>();
    let doubles = geometries.iter().map(|geometry| geometry.bond).collect::<Vec<_>>();
    molecule.mark_configured(&marked, &doubles);
    molecule.centers = centers;
    molecule.geometries = geometries;
    molecule
}

/// A block with the molecule that it has become.
struct View<'a> {
    block: &'a Block,
    bonds_of: &'a [Vec<usize>],
    index: &'a [usize],
    molecule: &'a Molecule,
    /// Whether atoms have three coordinates.
    is_solid: bool,
}

impl View<'_> {
    fn other(&self, bond: usize, atom: usize) -> usize {
        let [a, b] = self.block.bonds[bond].atoms;
        a + b - atom
    }

    /// Returns the vector from one atom to another, of length 1 in the plane of a drawing, or in space.
    fn direction(&self, from: usize, to: usize) -> Option<Vector> {
        let [a, b] = [from, to].map(|atom| self.block.atoms[atom].place);
        unit([b[0] - a[0], b[1] - a[1], b[2] - a[2]])
    }

    /// Returns the configuration of an atom of the block.
    fn center(&self, atom: usize) -> Option<Center> {
        let index = Some(self.index[atom]).filter(|&index| index != HYDROGEN)?;
        let bonds = &self.bonds_of[atom];
        let mark = |&bond: &usize| {
            if self.block.bonds[bond].atoms[0] == atom {
                self.block.bonds[bond].mark
            } else {
                Mark::Plain
            }
        };
        let marks: Vec<Mark> = bonds.iter().map(mark).collect();
        if marks.contains(&Mark::Either) || !self.may_be_center(index) {
            return None;
        }
        let is_wedged = marks.iter().any(|mark| matches!(mark, Mark::Up | Mark::Down));
        if !self.is_solid && !is_wedged {
            return None;
        }
        let mut ligands: Vec<(usize, Vector)> = Vec::new();
        for (&bond, mark) in bonds.iter().zip(marks) {
            let other = self.other(bond, atom);
            let mut towards = self.direction(atom, other)?;
            if !self.is_solid {
                towards[2] = match mark {
                    Mark::Up => 1.0,
                    Mark::Down => -1.0,
                    Mark::Plain | Mark::Either => 0.0,
                };
            }
            ligands.push((self.index[other], towards));
        }
        let hydrogens = usize::from(self.molecule.atoms()[index].hydrogens);
        let drawn = ligands.iter().filter(|(ligand, _)| *ligand == HYDROGEN).count();
        if hydrogens > 1 || !(3..=4).contains(&ligands.len()) {
            return None;
        }
        // what is not drawn, a hydrogen or a pair of electrons, is opposite of the others
        let away = ligands.iter().fold([0.0; 3], |sum, (_, v)| [0, 1, 2].map(|at| sum[at] - v[at]));
        if ligands.len() == 3 && hydrogens > drawn {
            ligands.push((HYDROGEN, away));
        }
        let vectors: Vec<Vector> = ligands.iter().map(|(_, vector)| *vector).collect();
        let clockwise = match *vectors.as_slice() {
            [a, b, c, d] => is_clockwise([a, b, c, d])?,
            // the pair of electrons behind the first ligand
            [a, b, c] => is_clockwise([a, away, b, c])?,
            _ => return None,
        };
        let ligands = ligands.into_iter().map(|(ligand, _)| ligand).collect();
        Some(Center { atom: index, ligands, clockwise })
    }

    /// Returns whether an atom has one configuration that lasts, and not a double bond or a pair that turns over.
    fn may_be_center(&self, atom: usize) -> bool {
        const SILICON: Element = Element(14);
        const SELENIUM: Element = Element(34);
        let center = self.molecule.atoms()[atom];
        let bonds: Vec<_> = self.molecule.around(atom).map(|(_, bond)| bond).collect();
        let is_flat = bonds.iter().any(|bond| bond.aromatic || bond.order == BondOrder::Triple);
        let doubles = bonds.iter().filter(|bond| bond.order == BondOrder::Double).count();
        let degree = self.molecule.degree(atom) + usize::from(center.hydrogens);
        match center.element {
            Element::C | SILICON => !is_flat && doubles == 0 && degree == 4,
            Element::N => !is_flat && doubles == 0 && (degree == 4 || self.in_three_ring(atom)),
            Element::P => !is_flat && degree >= 3,
            Element::S | SELENIUM => !is_flat && degree >= 3,
            _ => !is_flat && doubles == 0 && degree == 4,
        }
    }

    fn in_three_ring(&self, atom: usize) -> bool {
        self.molecule.rings().iter().any(|ring| ring.atoms.len() == 3 && ring.atoms.contains(&atom))
    }

    /// Returns the geometry of a double bond of the block.
    fn geometry(&self, bond: usize) -> Option<Geometry> {
        let drawn = &self.block.bonds[bond];
        let is_double = drawn.order == BlockOrder::Kekule(BondOrder::Double);
        if !is_double || drawn.mark == Mark::Either {
            return None;
        }
        let ends = drawn.atoms.map(|atom| self.index[atom]);
        let molecule_bond = self.molecule.bond_between(ends[0], ends[1])?;
        let mut rings = self.molecule.rings().iter();
        let is_rigid = rings.any(|ring| {
            ring.atoms.len() < SMALLEST_RING && ends.iter().all(|end| ring.atoms.contains(end))
        });
        if is_rigid {
            return None;
        }
        let [a, b] = drawn.atoms;
        let axis = self.direction(a, b)?;
        let (first, one) = self.reference(a, bond, axis)?;
        let (second, other) = self.reference(b, bond, axis)?;
        let product = dot(one, other);
        (product.abs() > LINEAR * LINEAR).then_some(Geometry {
            bond: molecule_bond,
            ends,
            references: [first, second],
            together: product > 0.0,
        })
    }

    /// Returns the neighbour of an end of a double bond that is farthest from the axis, and its direction away from it; none where
    /// a wavy bond leaves it open, or all neighbours are on the axis.
    fn reference(&self, end: usize, double: usize, axis: Vector) -> Option<(usize, Vector)> {
        let mut singles = Vec::new();
        for &bond in self.bonds_of[end].iter().filter(|&&bond| bond != double) {
            let drawn = &self.block.bonds[bond];
            if drawn.mark == Mark::Either {
                return None;
            }
            let other = self.other(bond, end);
            if drawn.order == BlockOrder::Kekule(BondOrder::Single) && self.index[other] != HYDROGEN
            {
                singles.push(other);
            }
        }
        let across = |other: usize| {
            let towards = self.direction(end, other)?;
            let along = dot(towards, axis);
            Some((other, [0, 1, 2].map(|at| towards[at] - along * axis[at])))
        };
        let length = |across: Vector| dot(across, across).sqrt();
        // one of two neighbours may be on the axis
        let (other, across) = singles
            .into_iter()
            .filter_map(across)
            .max_by(|(_, one), (_, other)| length(*one).total_cmp(&length(*other)))?;
        (length(across) > LINEAR).then_some((self.index[other], across))
    }
}

/// Returns whether the last three of four directions follow clockwise, seen from the first; none where they lie in a
/// plane.
fn is_clockwise([first, a, b, c]: [Vector; 4]) -> Option<bool> {
    let from = |v: Vector| [0, 1, 2].map(|at| v[at] - first[at]);
    let [a, b, c] = [from(a), from(b), from(c)];
    let volume = dot(a, cross(b, c));
    (volume.abs() > FLAT).then_some(volume > 0.0)
}

fn unit(v: Vector) -> Option<Vector> {
    let length = dot(v, v).sqrt();
    (length > 1e-6).then(|| v.map(|value| value / length))
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(&b).map(|(a, b)| a * b).sum()
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
