//! Molecules as MDL mol blocks, the records of SD files.

use std::fmt::Write;

use super::molecule::{BOND, UNIT, placed};
use crate::molecule::{BondOrder, Element, Molecule};

/// The largest number that a field of a V2000 block holds.
const MOST: usize = 999;

impl Molecule {
    /// A V2000 mol block with the coordinates of the [drawing](Self::svg) and Kekulé bonds; configurations are
    /// left out. Molecules of more than 999 atoms or bonds, which the format cannot hold, have an empty block.
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
        for (atom, [x, y]) in atoms.iter().zip(points) {
            let (x, y) = (x * UNIT / BOND, -y * UNIT / BOND);
            let symbol = match atom.element {
                Element::WILDCARD => "A",
                other => other.symbol(),
            };
            let _ = writeln!(
                block,
                "{x:10.4}{y:10.4}{:10.4} {symbol:<3} 0  0  0  0  0  0  0  0  0  0  0  0",
                0.0
            );
        }
        for bond in bonds {
            let order = match bond.order {
                BondOrder::Single => 1,
                BondOrder::Double => 2,
                BondOrder::Triple => 3,
                // any: the format has no quadruple bond
                BondOrder::Quadruple => 8,
                // a coordination bond of newer readers
                BondOrder::Dative => 9,
            };
            let [a, b] = bond.atoms;
            let _ = writeln!(block, "{:3}{:3}{order:3}  0", a + 1, b + 1);
        }
        let numbered = || atoms.iter().enumerate();
        let charges = numbered().map(|(at, atom)| (at, i32::from(atom.charge)));
        property(&mut block, "CHG", charges);
        let masses = numbered().map(|(at, atom)| (at, atom.isotope.map_or(0, i32::from)));
        property(&mut block, "ISO", masses);
        block + "M  END\n"
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_fields_of_fixed_width() {
        let block = Molecule::parse("[13CH3]C(=O)[O-]").unwrap().mol_block("acetate\nof carbon 13");
        let lines: Vec<&str> = block.lines().collect();
        assert_eq!(lines[0], "acetateof carbon 13");
        assert_eq!(lines[3], "  4  3  0  0  0  0  0  0  0  0999 V2000");
        assert!(
            lines[4..8].iter().all(|line| line.len() == 69 && line[20..30] == *"    0.0000"),
            "{block}"
        );
        assert_eq!(lines[8..11].iter().filter(|line| line.ends_with("  2  0")).count(), 1);
        for title in ["$$$$", "$$\n$$ x", "\r$$$$"] {
            let block = Molecule::parse("C").unwrap().mol_block(title);
            assert!(block.starts_with(" $$$$"), "{block}");
            assert_eq!(block.lines().count(), 6, "{block}");
        }
        assert!(lines[11].starts_with("M  CHG  1 ") && lines[11].ends_with("  -1"));
        assert!(lines[12].starts_with("M  ISO  1 ") && lines[12].ends_with("  13"));
        assert_eq!(lines[13], "M  END");
        let large = Molecule::parse(&"C".repeat(1_000)).unwrap().mol_block("");
        assert_eq!(large.lines().nth(3), Some("  0  0  0  0  0  0  0  0  0  0999 V2000"));
    }
}
