//! Moves of groups and rings.

use super::Edits;
use super::builder::Builder;
use crate::element::Element;
use crate::molecule::BondOrder;

impl Edits<'_> {
    /// Adds molecules with groups of the palette in the place of hydrogens and of substituents.
    pub(super) fn change_groups(&mut self, builder: &Builder) {
        let palette = self.palette;
        let room = self.room(builder);
        for group in palette.groups.iter().filter(|group| group.atoms.len() <= room) {
            for atom in (0..builder.len()).filter(|&atom| builder.atoms[atom].hydrogens > 0) {
                self.try_edit(builder, |edit| {
                    let first = edit.append(&group.atoms, &group.bonds);
                    edit.connect(atom, first, BondOrder::Single)
                });
            }
        }
        for bond in 0..builder.bonds.len() {
            let [a, b] = builder.bonds[bond].atoms;
            for (from, stays) in [(a, b), (b, a)] {
                let Some(side) = builder.side(bond, from) else { continue };
                let fits = |atoms: usize| atoms <= room + side.len();
                for group in palette.groups.iter().filter(|group| fits(group.atoms.len())) {
                    self.try_edit(builder, |edit| {
                        edit.disconnect(bond)?;
                        side.iter().for_each(|&atom| edit.remove(atom));
                        edit.bonds.retain(|bond| !side.contains(&bond.atoms[0]));
                        let first = edit.append(&group.atoms, &group.bonds);
                        edit.connect(stays, first, BondOrder::Single)
                    });
                }
            }
        }
    }

    /// Adds molecules with rings of five or six atoms on bonds whose ends have hydrogens: three or four carbons, or four with two double
    /// bonds, which are aromatic on a double bond.
    pub(super) fn fuse_rings(&mut self, builder: &Builder) {
        use BondOrder::{Double, Single};
        let paths: [&[BondOrder]; 3] =
            [&[Single; 4], &[Single; 5], &[Single, Double, Single, Double, Single]];
        let room = self.room(builder);
        for bond in &builder.bonds {
            let [a, b] = bond.atoms;
            if [a, b].iter().any(|&end| builder.atoms[end].hydrogens == 0) {
                continue;
            }
            for path in paths.into_iter().filter(|path| path.len() <= room + 1) {
                self.try_edit(builder, |edit| {
                    let mut before = a;
                    for &order in &path[..path.len() - 1] {
                        let added = edit.add_atom(Element::C);
                        edit.connect(before, added, order)?;
                        before = added;
                    }
                    edit.connect(before, b, path[path.len() - 1])
                });
            }
        }
    }
}
