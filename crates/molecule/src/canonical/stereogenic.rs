//! Decides which marks of a molecule are configurations: only marks at atoms and double bonds that have two.
//!
//! An atom has two configurations if its ligands differ, and a double bond if the ligands at each end do. Ligands may
//! differ by their own configurations, so marks are accepted from the inside outwards. The remaining marks have ligands
//! that are alike, such as the atoms 1 and 4 of 1,4-dimethylcyclohexane. Such a mark is a configuration only together
//! with others in its rings. The elements that can be centres are RDKit's.

use super::Structure;
use super::search::{canonical_form, classes};
use crate::element::Element;
use crate::molecule::{Center, HYDROGEN, Molecule};

/// A mark, by its place among the centres or the double bonds of the molecule.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Center(usize),
    DoubleBond(usize),
}

/// The smallest ring whose double bonds can be E.
const WIDE_RING: usize = 8;

impl Molecule {
    /// Removes marks at atoms and double bonds that have one configuration only: `C[C@H](C)O` is `CC(C)O`.
    pub(crate) fn drop_marks_without_meaning(&mut self) {
        if self.centers.is_empty() && self.geometries.is_empty() {
            return;
        }
        let kept = self.stereogenic();
        for (place, center) in self.centers.iter().enumerate() {
            self.atoms[center.atom].stereo = kept.contains(&Mark::Center(place));
        }
        for (place, geometry) in self.geometries.iter().enumerate() {
            self.bonds[geometry.bond].stereo &= kept.contains(&Mark::DoubleBond(place));
        }
        let mut places = 0..;
        self.centers.retain(|_| places.next().is_some_and(|at| kept.contains(&Mark::Center(at))));
        let mut places = 0..;
        self.geometries
            .retain(|_| places.next().is_some_and(|at| kept.contains(&Mark::DoubleBond(at))));
    }

    /// Returns the marks that are configurations.
    fn stereogenic(&self) -> Vec<Mark> {
        let centers = (0..self.centers.len()).map(Mark::Center);
        let double_bonds = (0..self.geometries.len()).map(Mark::DoubleBond);
        let all = centers.chain(double_bonds);
        let mut open: Vec<Mark> = all.filter(|&mark| self.can_be_configured(mark)).collect();
        let mut kept = Vec::new();
        loop {
            let classes = classes(&self.marked(&kept));
            let (apart, alike) =
                open.into_iter().partition(|&mark| self.ligands_differ(mark, &classes));
            open = alike;
            kept.extend::<Vec<Mark>>(apart.clone());
            if apart.is_empty() || open.is_empty() {
                open.retain(|&mark| !self.has_three_alike(mark, &classes));
                break;
            }
        }
        while !open.is_empty() {
            let idle = |&mark: &Mark| self.is_idle(mark, &open, &kept);
            let idle: Vec<Mark> = open.iter().copied().filter(idle).collect();
            if idle.is_empty() {
                break;
            }
            open.retain(|mark| !idle.contains(mark));
        }
        kept.extend(open);
        kept
    }

    /// Returns the whole molecule with some of its marks, and atoms that are alike by all else.
    fn marked(&self, marks: &[Mark]) -> Structure {
        let mut centers = Vec::new();
        let mut geometries = Vec::new();
        for &mark in marks {
            match mark {
                Mark::Center(at) => centers.push(self.centers[at].clone()),
                Mark::DoubleBond(at) => geometries.push(self.geometries[at].clone()),
            }
        }
        Structure::configured(self, (0..self.atoms().len()).collect(), &centers, &geometries)
    }

    /// Returns whether a mark is at an atom or a bond that can have configurations, whatever its ligands are.
    fn can_be_configured(&self, mark: Mark) -> bool {
        match mark {
            Mark::Center(at) => self.can_be_center(&self.centers[at]),
            Mark::DoubleBond(at) => !self.is_in_small_ring(self.geometries[at].bond),
        }
    }

    /// Returns whether a bond is in a ring so small that a double bond there has one geometry only.
    pub(crate) fn is_in_small_ring(&self, bond: usize) -> bool {
        let mut small = self.rings().iter().filter(|ring| ring.atoms.len() < WIDE_RING);
        small.any(|ring| self.ring_bonds(ring).any(|other| other == bond))
    }

    /// Returns whether there are four ligands, or three and a lone pair that keeps its place: at phosphorus and arsenic,
    /// at sulfur and selenium of a sulfoxide or sulfonium, and at nitrogen in a ring of three atoms or at a bridgehead,
    /// where it cannot turn inside out.
    fn can_be_center(&self, center: &Center) -> bool {
        const ARSENIC: Element = Element(33);
        const SELENIUM: Element = Element(34);
        let atom = center.atom;
        let degree = self.degree(atom);
        if degree == 4 {
            return true;
        }
        let has_hydrogen = center.ligands.contains(&HYDROGEN);
        match self.atoms()[atom].element {
            Element::P | ARSENIC => true,
            _ if has_hydrogen => degree == 3,
            Element::S | SELENIUM => {
                let orders = self.around(atom).map(|(_, bond)| bond.order.multiplicity());
                let valence: u8 = orders.sum();
                valence == 4 || valence == 3 && self.atoms()[atom].charge == 1
            }
            Element::N => {
                let mut rings = self.rings().iter();
                rings.any(|ring| ring.atoms.len() == 3 && ring.atoms.contains(&atom))
                    || self.is_bridgehead(atom)
            }
            _ => false,
        }
    }

    /// Returns whether three bonds of an atom are in rings, each of which shares two bonds with another ring of the
    /// atom.
    fn is_bridgehead(&self, atom: usize) -> bool {
        let rings = self.rings().iter().filter(|ring| ring.atoms.contains(&atom));
        let rings: Vec<Vec<usize>> = rings.map(|ring| self.ring_bonds(ring).collect()).collect();
        let in_ring = |bond: usize| rings.iter().any(|ring| ring.contains(&bond));
        let bonds = self.neighbors(atom).iter().filter(|neighbor| in_ring(neighbor.bond)).count();
        let overlaps = |(at, ring): (usize, &Vec<usize>)| {
            let mut others = rings.iter().enumerate().filter(|&(other, _)| other != at);
            others.any(|(_, other)| ring.iter().filter(|bond| other.contains(bond)).count() >= 2)
        };
        bonds >= 3 && rings.iter().enumerate().all(overlaps)
    }

    fn ligands_differ(&self, mark: Mark, classes: &[usize]) -> bool {
        let class = |atom: usize| classes[atom];
        match mark {
            Mark::Center(at) => self.centers[at].clockwise_by(class).is_some(),
            Mark::DoubleBond(at) => {
                let neighbors = |end: usize| self.around(end).map(|(other, _)| other);
                self.geometries[at].together_by(neighbors, class).is_some()
            }
        }
    }

    /// Returns whether a centre has three ligands that are alike, and a hydrogen or a lone pair, as in cubane.
    fn has_three_alike(&self, mark: Mark, classes: &[usize]) -> bool {
        let Mark::Center(at) = mark else { return false };
        let ligands = self.centers[at].ligands.iter().filter(|&&ligand| ligand != HYDROGEN);
        let classes: Vec<usize> = ligands.map(|&ligand| classes[ligand]).collect();
        classes.len() == 3 && classes.iter().all(|&class| class == classes[0])
    }

    /// Returns whether a mark says nothing beside the other open ones: two of its ligands change places without moving
    /// any of these, or, where the two are not in a ring with it, with all that hangs on them.
    fn is_idle(&self, mark: Mark, open: &[Mark], kept: &[Mark]) -> bool {
        let mut structure = self.marked(kept);
        let mut number = 0;
        for &other in open.iter().filter(|&&other| other != mark) {
            for atom in self.atoms_of(other) {
                for fixed in std::iter::once(atom).chain(self.around(atom).map(|(end, _)| end)) {
                    number += 1;
                    structure.keys[fixed][8] = number;
                }
            }
        }
        if !self.ligands_differ(mark, &classes(&structure)) {
            return true;
        }
        if self.is_in_ring(mark) {
            return false;
        }
        let mut turned = self.marked(&[kept, open].concat());
        turned.number_twins();
        let form = canonical_form(&turned);
        match mark {
            Mark::Center(at) => {
                let atom = self.centers[at].atom;
                let center = turned.centers.iter_mut().find(|center| center.atom == atom);
                center.into_iter().for_each(|center| center.clockwise ^= true);
            }
            Mark::DoubleBond(at) => {
                let bond = self.geometries[at].bond;
                let geometry = turned.geometries.iter_mut().find(|other| other.bond == bond);
                geometry.into_iter().for_each(|geometry| geometry.together ^= true);
            }
        }
        form == canonical_form(&turned)
    }

    /// Returns the atoms that a mark is at: a centre, or the ends of a double bond.
    fn atoms_of(&self, mark: Mark) -> Vec<usize> {
        match mark {
            Mark::Center(at) => vec![self.centers[at].atom],
            Mark::DoubleBond(at) => self.geometries[at].ends.to_vec(),
        }
    }

    /// Returns whether an atom of a mark is in a ring.
    fn is_in_ring(&self, mark: Mark) -> bool {
        let atoms = self.atoms_of(mark);
        self.rings().iter().any(|ring| atoms.iter().any(|atom| ring.atoms.contains(atom)))
    }
}
