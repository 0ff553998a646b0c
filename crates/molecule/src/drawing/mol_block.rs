//! MDL mol blocks, the records of SD files: V2000, and V3000 of large molecules.

use std::fmt::Write;

use super::Point;
use super::layout::{BOND, Placed, RDKIT_BOND, placed, unit};
use super::wedges::{Wedge, wedges};
use crate::canonical::is_usual;
use crate::element::Element;
use crate::mol_file::assumed_hydrogens;
use crate::molecule::{Atom, Bond, BondOrder, Molecule};

/// The largest number that a field of a V2000 block holds.
const MOST: usize = 999;

impl Molecule {
    /// Returns a mol block with the coordinates of the [drawing](Self::svg), its Kekulé bonds and its wedges. Double
    /// bonds whose geometry is not known say so, and so do those that the drawing shows with the other geometry, as it
    /// may in large rings. It is a V2000 block, or a V3000 block of a molecule of more than 999 atoms or bonds, which a
    /// V2000 block cannot hold. The title is one line of at most 80 characters, without control characters; a space
    /// precedes one that would end a record of an SD file (`$$$$`).
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
        let Placed { molecule, points, .. } = placed(self);
        let drawn = Drawn::new(&molecule, &points);
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let title: String = title.chars().filter(|&c| !breaks(c)).collect();
        let space = if title.starts_with("$$$$") { " " } else { "" };
        let title: String = space.chars().chain(title.chars()).take(80).collect();
        let table = if drawn.atoms.len() <= MOST && drawn.bonds.len() <= MOST {
            drawn.v2000()
        } else {
            drawn.v3000()
        };
        format!("{title}\n  dsokr\n\n{table}M  END\n")
    }
}

/// The contents of a mol block.
struct Drawn {
    atoms: Vec<DrawnAtom>,
    bonds: Vec<DrawnBond>,
}

struct DrawnAtom {
    atom: Atom,
    symbol: &'static str,
    x: f64,
    y: f64,
    valence: u32,
}

struct DrawnBond {
    /// Numbers of its atoms from 1; a wedge is narrow at the first.
    atoms: [usize; 2],
    /// 1 to 3; 8 is any bond, since the format has no quadruple one; 9 is a coordination bond of newer readers.
    order: u32,
    stereo: BondStereo,
}

/// The value of a bond's stereo field.
#[derive(Clone, Copy)]
enum BondStereo {
    None,
    Towards,
    Away,
    /// A double bond whose geometry is unknown, or not the one that is drawn.
    Open,
}

impl Drawn {
    fn new(molecule: &Molecule, points: &[Point]) -> Self {
        let atoms = molecule.atoms().iter().zip(points).enumerate();
        let atoms = atoms.map(|(at, (&atom, [x, y]))| DrawnAtom {
            atom,
            symbol: if atom.element == Element::WILDCARD { "A" } else { atom.element.symbol() },
            x: x * RDKIT_BOND / BOND,
            y: -y * RDKIT_BOND / BOND,
            valence: valence(molecule, at),
        });
        let bonds = molecule.bonds().iter().zip(wedges(molecule, points)).enumerate();
        let bonds = bonds.map(|(at, (bond, wedge))| {
            let [a, b] = bond.atoms.map(|atom| atom + 1);
            let order = [1, 2, 3, 8, 9][bond.order as usize];
            let (atoms, stereo) = match wedge {
                Some(Wedge { from, towards }) => {
                    let other = a + b - (from + 1);
                    let stereo = if towards { BondStereo::Towards } else { BondStereo::Away };
                    ([from + 1, other], stereo)
                }
                None if is_open(molecule, at, bond) || is_drawn_wrong(molecule, points, at) => {
                    ([a, b], BondStereo::Open)
                }
                None => ([a, b], BondStereo::None),
            };
            DrawnBond { atoms, order, stereo }
        });
        Self { atoms: atoms.collect(), bonds: bonds.collect() }
    }

    /// Returns fields of fixed width, without the line of the end. Writing to a string cannot fail.
    fn v2000(&self) -> String {
        let mut block = String::new();
        let [atoms, bonds] = [self.atoms.len(), self.bonds.len()];
        let _ = writeln!(block, "{atoms:3}{bonds:3}  0  0  0  0  0  0  0  0999 V2000");
        for DrawnAtom { symbol, x, y, valence, .. } in &self.atoms {
            let _ = writeln!(
                block,
                "{x:10.4}{y:10.4}{:10.4} {symbol:<3} 0  0  0  0  0{valence:3}  0  0  0  0  0  0",
                0.0,
            );
        }
        for DrawnBond { atoms: [a, b], order, stereo } in &self.bonds {
            let stereo = match stereo {
                BondStereo::None => 0,
                BondStereo::Towards => 1,
                BondStereo::Away => 6,
                BondStereo::Open => 3,
            };
            let _ = writeln!(block, "{a:3}{b:3}{order:3}{stereo:3}");
        }
        let numbered = || self.atoms.iter().map(|drawn| &drawn.atom).enumerate();
        property(&mut block, "CHG", numbered().map(|(at, atom)| (at, i32::from(atom.charge))));
        let masses = numbered().map(|(at, atom)| (at, atom.isotope.map_or(0, i32::from)));
        property(&mut block, "ISO", masses);
        block
    }

    /// Returns fields apart by spaces, without the line of the end.
    fn v3000(&self) -> String {
        let mut block = "  0  0  0     0  0            999 V3000\n".to_owned();
        let [atoms, bonds] = [self.atoms.len(), self.bonds.len()];
        let _ = writeln!(block, "M  V30 BEGIN CTAB\nM  V30 COUNTS {atoms} {bonds} 0 0 0");
        block += "M  V30 BEGIN ATOM\n";
        for (number, DrawnAtom { atom, symbol, x, y, valence }) in (1..).zip(&self.atoms) {
            let _ = write!(block, "M  V30 {number} {symbol} {x:.4} {y:.4} 0 0");
            if atom.charge != 0 {
                let _ = write!(block, " CHG={}", atom.charge);
            }
            if let Some(mass) = atom.isotope {
                let _ = write!(block, " MASS={mass}");
            }
            match valence {
                0 => {}
                15 => block += " VAL=-1",
                valence => {
                    let _ = write!(block, " VAL={valence}");
                }
            }
            block.push('\n');
        }
        block += "M  V30 END ATOM\nM  V30 BEGIN BOND\n";
        for (number, DrawnBond { atoms: [a, b], order, stereo }) in (1..).zip(&self.bonds) {
            let stereo = match stereo {
                BondStereo::None => "",
                BondStereo::Towards => " CFG=1",
                BondStereo::Away => " CFG=3",
                BondStereo::Open => " CFG=2",
            };
            let _ = writeln!(block, "M  V30 {number} {order} {a} {b}{stereo}");
        }
        block + "M  V30 END BOND\nM  V30 END CTAB\n"
    }
}

/// Returns the field of an atom's valence: 0 where readers assume its hydrogens, 15 for a valence of 0.
fn valence(molecule: &Molecule, index: usize) -> u32 {
    let Atom { element, charge, hydrogens, .. } = molecule.atoms()[index];
    let bonds = || molecule.around(index).map(|(_, bond)| bond.order);
    let orders: u32 = bonds().map(|order| u32::from(order.multiplicity())).sum();
    // elements that are written without brackets have a usual number of hydrogens, as bare atoms too
    let organic = (0..5).any(|hydrogens| is_usual(element, 0, hydrogens));
    let assumes = if charge == 0 {
        is_usual(element, orders, hydrogens.into())
    } else {
        let taken = u8::try_from(orders).unwrap_or(u8::MAX);
        assumed_hydrogens(element, charge, taken) == hydrogens
    };
    let assumed = organic && assumes;
    let total = orders + u32::from(hydrogens);
    if assumed || bonds().any(|order| order == BondOrder::Dative) || total > 14 {
        0
    } else if total == 0 {
        15
    } else {
        total
    }
}

/// Returns whether a bond is a double bond that could have two geometries and has none.
fn is_open(molecule: &Molecule, at: usize, bond: &Bond) -> bool {
    bond.order == BondOrder::Double
        && !bond.aromatic
        && bond.atoms.iter().all(|&atom| (2..=3).contains(&molecule.degree(atom)))
        && !molecule.geometries.iter().any(|geometry| geometry.bond == at)
        && !molecule.is_in_small_ring(at)
}

/// Returns whether a double bond has a geometry that its drawing does not show.
fn is_drawn_wrong(molecule: &Molecule, points: &[Point], bond: usize) -> bool {
    let mut geometries = molecule.geometries.iter().filter(|geometry| geometry.bond == bond);
    geometries.any(|geometry| {
        let [a, b] = geometry.ends;
        let [dx, dy] = unit(points, a, b);
        let sides = [0, 1].map(|end| {
            let [x, y] = unit(points, geometry.ends[end], geometry.references[end]);
            dx * y - dy * x
        });
        let together = if geometry.together { 1.0 } else { -1.0 };
        sides[0] * sides[1] * together <= 0.0
    })
}

/// Writes a property of atoms, eight to a line; atoms of value 0 are left out.
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
