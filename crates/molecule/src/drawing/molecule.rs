//! Molecules on 2D coordinates by RDKit's rules: drawings as SVG, and MDL mol blocks, the records of SD files.

use std::borrow::Cow;
use std::fmt::Write;

use super::{MIDDLE, Point, blank, circle, line, opened, text};
use crate::formula::counted;
use crate::molecule::{Atom, Bond, BondOrder, Element, Molecule};

/// Length of a bond, and space around a drawing.
const BOND: f64 = 40.0;
const PADDING: f64 = 20.0;

/// Length of a bond in RDKit's coordinates.
const UNIT: f64 = 1.5;

/// Half the height of the blank behind a label, half the width for each letter, and its least.
const HALF_HEIGHT: f64 = 7.0;
const HALF_LETTER: f64 = 3.9;
const HALF_WIDTH: f64 = 8.0;

/// Size of the letters of labels.
const FONT: f64 = 12.0;

/// The largest number that a field of a V2000 block holds.
const MOST: usize = 999;

impl Molecule {
    /// A drawing as a self-contained SVG document; hydrogens on carbon and configurations of atoms are not
    /// drawn. Molecules that differ in the numbering of their atoms have the same drawing.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let svg = Molecule::parse("Oc1ccccc1")?.svg();
    /// assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn svg(&self) -> String {
        let (molecule, points) = placed(self);
        let mut svg = opened(&points, PADDING);
        for bond in molecule.bonds() {
            draw_bond(&mut svg, bond, bond.atoms.map(|atom| points[atom]));
        }
        for (index, &[x, y]) in points.iter().enumerate() {
            let label = label(&molecule, index);
            if label.is_empty() {
                continue;
            }
            let half_width = HALF_WIDTH.max(HALF_LETTER * label.chars().count() as f64);
            let color = color(molecule.atoms()[index].element);
            blank(&mut svg, [x, y], [half_width, HALF_HEIGHT]);
            text(&mut svg, [x, y + MIDDLE * FONT], FONT, &format!(" fill=\"{color}\""), &label);
        }
        svg.push_str("</svg>\n");
        svg
    }

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
            // 8 is any bond, since the format has no quadruple one; 9 is a coordination bond of newer readers
            let order = [1, 2, 3, 8, 9][bond.order as usize];
            let [a, b] = bond.atoms;
            let _ = writeln!(block, "{:3}{:3}{order:3}  0", a + 1, b + 1);
        }
        let numbered = || atoms.iter().enumerate();
        property(&mut block, "CHG", numbered().map(|(at, atom)| (at, i32::from(atom.charge))));
        let masses = numbered().map(|(at, atom)| (at, atom.isotope.map_or(0, i32::from)));
        property(&mut block, "ISO", masses);
        block + "M  END\n"
    }
}

/// A molecule in the order of atoms of its canonical SMILES, with a point for each atom.
fn placed(molecule: &Molecule) -> (Cow<'_, Molecule>, Vec<Point>) {
    let text = molecule.canonical_smiles();
    // The canonical text reads back as this molecule; where it does not, the molecule's own order of atoms does.
    let molecule = Molecule::parse(&text).ok().map_or(Cow::Borrowed(molecule), Cow::Owned);
    let points = coordinates(&text, molecule.atoms().len());
    (molecule, points)
}

/// A point for each atom of the molecule that the text describes.
fn coordinates(text: &str, atoms: usize) -> Vec<Point> {
    let laid_out = chematic_smiles::parse(text)
        .ok()
        .and_then(|parsed| chematic_smiles::rdkit_2d_coords(&parsed).ok())
        .filter(|points| points.len() == atoms && points.iter().flatten().all(|x| x.is_finite()));
    match laid_out {
        // y points down in an SVG
        Some(points) => {
            points.into_iter().map(|[x, y]| [x * BOND / UNIT, -y * BOND / UNIT]).collect()
        }
        // a molecule that has no layout
        None => (0..atoms).map(circle(atoms, BOND)).collect(),
    }
}

fn draw_bond(svg: &mut String, bond: &Bond, [from, to]: [Point; 2]) {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    // One unit along the bond, and one across.
    let (along, across) = ([dx / length, dy / length], [-dy / length, dx / length]);
    let mut line = |offset: f64, width: f64, dashes: &str| {
        let ends = [from, to].map(|[x, y]| [x + offset * across[0], y + offset * across[1]]);
        line(svg, ends, width, &format!(" fill=\"none\"{dashes}"));
    };
    match bond.order {
        _ if bond.aromatic => {
            line(-2.0, 1.5, "");
            line(2.0, 1.5, " stroke-dasharray=\"4,3\"");
        }
        BondOrder::Single => line(0.0, 1.5, ""),
        BondOrder::Double => [-2.0, 2.0].into_iter().for_each(|offset| line(offset, 1.5, "")),
        BondOrder::Triple => [0.0, -3.0, 3.0].into_iter().for_each(|offset| line(offset, 1.5, "")),
        BondOrder::Quadruple => line(0.0, 3.0, ""),
        BondOrder::Dative => {
            line(0.0, 1.5, "");
            let corner = |back: f64, side: f64| {
                [0, 1].map(|axis| to[axis] - back * along[axis] + side * across[axis])
            };
            let [[x1, y1], [x2, y2], [x3, y3]] =
                [corner(0.0, 0.0), corner(10.0, 3.0), corner(10.0, -3.0)];
            let _ = writeln!(
                svg,
                "  <polygon points=\"{x1:.2},{y1:.2} {x2:.2},{y2:.2} {x3:.2},{y3:.2}\" fill=\"black\"/>"
            );
        }
    }
}

/// The label of an atom; empty at most carbons.
fn label(molecule: &Molecule, index: usize) -> String {
    let Atom { element, charge, hydrogens, isotope, .. } = molecule.atoms()[index];
    let degree = molecule.degree(index);
    let hidden = element == Element::C && charge == 0 && isotope.is_none() && degree > 0;
    if hidden && !is_straight(molecule, index) {
        return String::new();
    }
    let h = counted("H", hydrogens.into());
    let symbol = element.symbol();
    let atom = match (element, degree) {
        (Element::C, 1..) => symbol.to_owned(),
        (Element::C, 0) | (_, 1..) => format!("{symbol}{h}"),
        (_, 0) => format!("{h}{symbol}"),
    };
    let isotope = isotope.map_or(String::new(), |mass| mass.to_string());
    let sign = ["-", "", "+"][usize::from(charge > 0) + usize::from(charge >= 0)];
    let charges = charge.unsigned_abs();
    let charges = if charges > 1 { charges.to_string() } else { String::new() };
    format!("{isotope}{atom}{charges}{sign}")
}

/// Whether an atom lies between two bonds on one straight line, where it would not be seen.
fn is_straight(molecule: &Molecule, index: usize) -> bool {
    let orders: Vec<_> = molecule.around(index).map(|(_, bond)| bond.order).collect();
    orders == [BondOrder::Double; 2] || orders.len() == 2 && orders.contains(&BondOrder::Triple)
}

/// The colour of an element's label (CPK, where needed darker, to be legible on white).
fn color(element: Element) -> &'static str {
    match element {
        Element::N => "#3050F8",
        Element::O => "#FF0D0D",
        Element::S => "#A08000",
        Element::CL => "#18A818",
        Element::F => "#5CA82C",
        Element::BR => "#A62929",
        Element::I => "#940094",
        Element::P => "#FF8000",
        _ => "#000000",
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
