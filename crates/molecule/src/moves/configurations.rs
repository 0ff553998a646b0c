//! Configurations of a structure that is being edited.

use super::builder::Builder;
use crate::element::Element;
use crate::molecule::{Atom, BondOrder, Center, Geometry, HYDROGEN};

impl Builder {
    /// Turns a configuration round, or adds one.
    pub(super) fn flip_center(&mut self, atom: usize) {
        match self.centers.iter_mut().find(|center| center.atom == atom) {
            Some(center) => center.clockwise = !center.clockwise,
            None => {
                let mut ligands: Vec<usize> = self.around(atom).map(|(other, _)| other).collect();
                ligands.extend((self.atoms[atom].hydrogens == 1).then_some(HYDROGEN));
                self.centers.push(Center { atom, ligands, clockwise: true });
            }
        }
    }

    pub(super) fn forget_center(&mut self, atom: usize) -> Option<()> {
        let at = self.centers.iter().position(|center| center.atom == atom)?;
        self.centers.remove(at);
        Some(())
    }

    /// Turns the geometry of a double bond round, or adds one.
    pub(super) fn flip_geometry(&mut self, bond: usize) -> Option<()> {
        if let Some(geometry) = self.geometries.iter_mut().find(|geometry| geometry.bond == bond) {
            geometry.together = !geometry.together;
            return Some(());
        }
        let [a, b] = self.bonds[bond].atoms;
        let reference = |end: usize, partner: usize| {
            self.around(end).map(|(other, _)| other).find(|&other| other != partner)
        };
        let references = [reference(a, b)?, reference(b, a)?];
        self.geometries.push(Geometry { bond, ends: [a, b], references, together: true });
        Some(())
    }

    pub(super) fn forget_geometry(&mut self, bond: usize) -> Option<()> {
        let at = self.geometries.iter().position(|geometry| geometry.bond == bond)?;
        self.geometries.remove(at);
        Some(())
    }

    pub(super) fn change_ligand(&mut self, atom: usize, from: usize, to: usize) {
        let Some(at) = self.centers.iter().position(|center| center.atom == atom) else { return };
        let ligands = &mut self.centers[at].ligands;
        let place = ligands.iter().position(|&ligand| ligand == from);
        match place.filter(|_| !ligands.contains(&to)) {
            Some(place) => ligands[place] = to,
            None => drop(self.centers.remove(at)),
        }
    }

    /// Describes the geometries at `end` without a ligand there, by the other one.
    pub(super) fn forget_reference(&mut self, end: usize, ligand: usize) {
        let others: Vec<usize> = self.around(end).map(|(other, _)| other).collect();
        self.geometries.retain_mut(|geometry| {
            let Some(side) = geometry.ends.iter().position(|&geometry_end| geometry_end == end)
            else {
                return true;
            };
            if geometry.references[side] != ligand {
                return geometry.ends[1 - side] != ligand;
            }
            let partner = geometry.ends[1 - side];
            let other = others.iter().find(|&&other| other != partner && other != ligand);
            let Some(&other) = other else { return false };
            geometry.references[side] = other;
            geometry.together = !geometry.together;
            true
        });
    }

    /// Drops configurations at atoms that have none any more: with other ligands, with two ligands that are alike, with
    /// two hydrogens, with double bonds.
    pub(super) fn keep_possible_configurations(&mut self) {
        if !self.is_configured() {
            return;
        }
        let colors = self.graph().refined(self.len());
        let color = |ligand: usize| if ligand == HYDROGEN { 0 } else { colors[ligand] };
        let mut centers = std::mem::take(&mut self.centers);
        let mut geometries = std::mem::take(&mut self.geometries);
        centers.retain(|center| {
            let Atom { element, hydrogens, .. } = self.atoms[center.atom];
            let mut around: Vec<usize> = self.around(center.atom).map(|(end, _)| end).collect();
            around.extend((hydrogens == 1).then_some(HYDROGEN));
            around.sort_unstable();
            let mut ligands = center.ligands.clone();
            ligands.sort_unstable();
            let single = |(_, bond): (usize, usize)| self.bonds[bond].order == BondOrder::Single;
            let tetrahedral = element != Element::C || self.around(center.atom).all(single);
            let alike =
                |(at, &a): (usize, &usize)| ligands[..at].iter().any(|&b| color(a) == color(b));
            hydrogens <= 1
                && (3..=4).contains(&ligands.len())
                && around == ligands
                && tetrahedral
                && !ligands.iter().enumerate().any(alike)
        });
        geometries.retain(|geometry| {
            let [a, b] = geometry.ends;
            let bond = self.bond_between(a, b);
            let double = |bond: usize| self.bonds[bond].order == BondOrder::Double;
            let distinct = |end: usize, partner: usize| {
                let others = self.around(end).map(|(other, _)| other);
                let mut others: Vec<u64> = others.filter(|&o| o != partner).map(color).collect();
                others.sort_unstable();
                !others.is_empty() && others.windows(2).all(|pair| pair[0] != pair[1])
            };
            bond.is_some_and(double) && distinct(a, b) && distinct(b, a)
        });
        self.centers = centers;
        self.geometries = geometries;
    }
}
