//! Moves that keep all atoms and bonds: charges and configurations.

use super::Edits;
use super::builder::{Builder, valences};
use crate::molecule::{Atom, BondOrder};

impl Edits<'_> {
    /// Adds molecules with a proton more or less at an atom, where the palette has both charges.
    pub(super) fn change_charges(&mut self, builder: &Builder) {
        for atom in (0..builder.len()).filter(|&atom| builder.is_plain(atom)) {
            let Atom { element, charge, hydrogens, .. } = builder.atoms[atom];
            if !self.palette.has_charge(element, charge) {
                continue;
            }
            let more = charge.checked_add(1).zip(hydrogens.checked_add(1));
            let less = charge.checked_sub(1).zip(hydrogens.checked_sub(1));
            for (other, after) in more.into_iter().chain(less) {
                let is_usual = self.palette.has_charge(element, other);
                let is_usual = is_usual && !valences(element, other).is_empty();
                if !is_usual {
                    continue;
                }
                self.try_edit(builder, |edit| {
                    edit.set_kind(atom, element, other)?;
                    (edit.atoms[atom].hydrogens == after).then_some(())
                });
            }
        }
    }

    /// Adds or removes a hydrogen, where the palette has radicals of the element.
    pub(super) fn change_radicals(&mut self, builder: &Builder) {
        for atom in 0..builder.len() {
            let Atom { element, charge, .. } = builder.atoms[atom];
            let neutral = charge == 0 && (builder.is_plain(atom) || builder.is_radical(atom));
            if neutral && self.palette.radicals.contains(&element) {
                self.try_edit(builder, |edit| edit.turn_radical(atom));
            }
        }
    }

    /// Flips, sets or removes configurations, where the palette has configurations. Configurations at atoms and bonds
    /// that can have none are dropped when the structure is written.
    pub(super) fn flip(&mut self, builder: &Builder) {
        if !self.palette.stereo {
            return;
        }
        for atom in 0..builder.len() {
            let ligands = builder.around(atom).count();
            let hydrogens = usize::from(builder.atoms[atom].hydrogens);
            if ligands >= 3 && hydrogens <= 1 && ligands + hydrogens == 4 {
                self.try_edit(builder, |edit| {
                    edit.flip_center(atom);
                    Some(())
                });
                self.try_edit(builder, |edit| {
                    edit.flip_center(atom);
                    edit.flip_center(atom);
                    Some(())
                });
                self.try_edit(builder, |edit| edit.forget_center(atom));
            }
        }
        let in_ring = builder.ring_bonds();
        for (bond, in_ring) in in_ring.into_iter().enumerate() {
            if builder.bonds[bond].order == BondOrder::Double && !in_ring {
                self.try_edit(builder, |edit| edit.flip_geometry(bond));
                self.try_edit(builder, |edit| {
                    edit.flip_geometry(bond)?;
                    edit.flip_geometry(bond)
                });
                self.try_edit(builder, |edit| edit.forget_geometry(bond));
            }
        }
    }
}
