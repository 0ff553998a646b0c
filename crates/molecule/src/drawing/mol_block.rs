//! MDL mol blocks, the records of SD files.

use std::fmt::Write;

use super::layout::{BOND, UNIT, placed};
use super::wedges::{Wedge, wedges};
use crate::canonical::is_usual;
use crate::molecule::{Atom, Bond, BondOrder, Element, Molecule};

/// The largest number that a field of a V2000 block holds.
const MOST: usize = 999;

impl Molecule {
    /// A V2000 mol block with the coordinates of the [drawing](Self::svg), its Kekulé bonds and its wedges. Double
    /// bonds whose geometry is not known say so. Molecules of more than 999 atoms or bonds, which the format cannot hold, have an empty block.
    /// The title is one line of at most 80 characters, without control characters; a space precedes one that
    /// would end a record of an SD file (`$$$$`).
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let block = Molecule::parse("C[NH3+]")?.mol_block("methylammonium");
    /// assert!(block.starts_with("methylammonium\n"));
    /// assert!(block.contains("M  CHG  1   2   1\n") && block.ends_with("M  END\n"));
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn mol_block(&self, title: &str) -> String {
        let (molecule, points) = placed(self);
        let (atoms, bonds) = (molecule.atoms(), molecule.bonds());
        let holds = atoms.len() <= MOST && bonds.len() <= MOST;
        let (atoms, bonds) = if holds { (atoms, bonds) } else { (&[][..], &[][..]) };
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let title: String = title.chars().filter(|&c| !breaks(c)).collect();
        let space = if title.starts_with("$$$$") { " " } else { "" };
        let title: String = space.chars().chain(title.chars()).take(80).collect();
        let mut block = format!("{title}\n  dsokr\n\n");
        // writing to a string cannot fail
        let _ =
            writeln!(block, "{:3}{:3}  0  0  0  0  0  0  0  0999 V2000", atoms.len(), bonds.len());
        for ((at, atom), [x, y]) in atoms.iter().enumerate().zip(&points) {
            let (x, y) = (x * UNIT / BOND, -y * UNIT / BOND);
            let symbol = match atom.element {
                Element::WILDCARD => "A",
                other => other.symbol(),
            };
            let _ = writeln!(
                block,
                "{x:10.4}{y:10.4}{:10.4} {symbol:<3} 0  0  0  0  0{:3}  0  0  0  0  0  0",
                0.0,
                valence(&molecule, at)
            );
        }
        for ((at, bond), wedge) in bonds.iter().enumerate().zip(wedges(&molecule, &points)) {
            // 8 is any bond, since the format has no quadruple one; 9 is a coordination bond of newer readers
            let order = [1, 2, 3, 8, 9][bond.order as usize];
            let ([a, b], stereo) = match wedge {
                // a wedge is narrow at its first atom
                Some(Wedge { from, towards }) => {
                    let [a, b] = bond.atoms;
                    ([from, a + b - from], if towards { 1 } else { 6 })
                }
                None => (bond.atoms, if is_open(&molecule, at, bond) { 3 } else { 0 }),
            };
            let _ = writeln!(block, "{:3}{:3}{order:3}{stereo:3}", a + 1, b + 1);
        }
        let numbered = || atoms.iter().enumerate();
        property(&mut block, "CHG", numbered().map(|(at, atom)| (at, i32::from(atom.charge))));
        let masses = numbered().map(|(at, atom)| (at, atom.isotope.map_or(0, i32::from)));
        property(&mut block, "ISO", masses);
        block + "M  END\n"
    }
}

/// The field of an atom's valence: 0 where readers assume its hydrogens, 15 for a valence of 0.
fn valence(molecule: &Molecule, index: usize) -> u32 {
    let Atom { element, charge, hydrogens, .. } = molecule.atoms()[index];
    let bonds = || molecule.around(index).map(|(_, bond)| bond.order);
    let orders: u32 = bonds().map(|order| u32::from(order.multiplicity())).sum();
    // elements that are written without brackets have a usual number of hydrogens, as bare atoms too
    let organic = (0..5).any(|hydrogens| is_usual(element, 0, hydrogens));
    let assumed = organic && (charge != 0 || is_usual(element, orders, hydrogens.into()));
    let total = orders + u32::from(hydrogens);
    match assumed || bonds().any(|order| order == BondOrder::Dative) || total > 14 {
        true => 0,
        false if total == 0 => 15,
        false => total,
    }
}

/// Whether a bond is a double bond that could have two geometries and has none.
fn is_open(molecule: &Molecule, at: usize, bond: &Bond) -> bool {
    let in_small_ring = || {
        let mut rings = molecule.rings().iter().filter(|ring| ring.atoms.len() < 8);
        rings.any(|ring| molecule.ring_bonds(ring).any(|own| own == at))
    };
    bond.order == BondOrder::Double
        && !bond.aromatic
        && bond.atoms.iter().all(|&atom| (2..=3).contains(&molecule.degree(atom)))
        && !molecule.geometries.iter().any(|geometry| geometry.bond == at)
        && !in_small_ring()
}

/// Lines of a property of atoms, eight in each; those of value 0 are left out.
fn property(block: &mut String, name: &str, values: impl Iterator<Item = (usize, i32)>) {
    let values: Vec<(usize, i32)> = values.filter(|&(_, value)| value != 0).collect();
    for part in values.chunks(8) {
        let _ = write!(block, "M  {name}{:3}", part.len());
        for (atom, value) in part {
            let _ = write!(block, " {:3} {value:3}", atom + 1);
        }
        block.push('\n');
    }
}
