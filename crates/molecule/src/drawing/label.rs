//! Labels of atoms: symbol, hydrogens, unpaired electrons, charge and mass number as chemists set them.

use super::Point;
use super::layout::unit;
use crate::element::Element;
use crate::molecule::{Atom, BondOrder, Molecule};

/// Size of the letters, and of subscripts and superscripts.
pub(super) const FONT: f64 = 18.0;
const SMALL: f64 = 13.0;

/// Half the height of capitals, and the shift of superscripts and subscripts.
const HALF_HEIGHT: f64 = 6.9;
const SHIFT: f64 = 6.5;

/// How far hydrogens above or below lie from the symbol.
const LINE: f64 = 17.0;

/// The cosine of the angle to the nearest bond up to which a side is free.
const FREE: f64 = 0.6;

/// A piece of a label, with its middle as an offset from the atom.
pub(super) struct LabelPart {
    pub(super) text: String,
    pub(super) middle: Point,
    pub(super) size: f64,
}

impl LabelPart {
    /// Returns half the width and height of the letters.
    pub(super) fn half(&self) -> [f64; 2] {
        [width(&self.text, self.size) / 2.0, HALF_HEIGHT * self.size / FONT]
    }
}

/// Returns about the width of a text in a sans-serif font.
fn width(text: &str, size: f64) -> f64 {
    let letter = |letter| match letter {
        'i' | 'l' | 'j' | 'f' | 't' | 'r' | 'I' => 0.4,
        'm' | 'M' | 'W' => 0.88,
        'A'..='Z' => 0.76,
        _ => 0.6,
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// The side of a symbol on which its hydrogens stand.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Right,
    Left,
    Below,
    Above,
}

/// The dot of an unpaired electron.
const DOT: char = '\u{2022}';

/// Returns the label of an atom; empty at most carbons.
pub(super) fn label(molecule: &Molecule, points: &[Point], index: usize) -> Vec<LabelPart> {
    let Atom { element, charge, hydrogens, isotope, .. } = molecule.atoms()[index];
    let degree = molecule.degree(index);
    let unpaired = unpaired_electrons(molecule, index);
    let is_plain = charge == 0 && unpaired == 0 && isotope.is_none();
    let is_hidden = element == Element::C && is_plain && degree > 0;
    if is_hidden && !is_straight(molecule, index) {
        return Vec::new();
    }
    let side = side(molecule, points, index);
    let symbol = element.symbol();
    let mut runs = vec![LabelPart { text: symbol.to_owned(), middle: [0.0, 0.0], size: FONT }];
    let half = width(symbol, FONT) / 2.0;
    // the ends of the line of the symbol, to the left and to the right
    let mut left = -half;
    let mut right = half;
    let mut to_right = |end: &mut f64, text: String, [size, y]: [f64; 2]| {
        let wide = width(&text, size);
        runs.push(LabelPart { text, middle: [*end + wide / 2.0, y], size });
        *end += wide;
    };
    if let Some(mass) = isotope {
        let text = mass.to_string();
        left -= width(&text, SMALL);
        let mut start = left;
        to_right(&mut start, text, [SMALL, -SHIFT]);
    }
    let number = (hydrogens > 1).then(|| hydrogens.to_string());
    let wide = width("H", FONT) + number.as_ref().map_or(0.0, |number| width(number, SMALL));
    if hydrogens > 0 {
        let (mut start, y) = match side {
            Side::Right => (right, 0.0),
            Side::Left => (left - wide, 0.0),
            Side::Below => (-width("H", FONT) / 2.0, LINE),
            Side::Above => (-width("H", FONT) / 2.0, -LINE),
        };
        to_right(&mut start, "H".into(), [FONT, y]);
        if let Some(number) = number {
            to_right(&mut start, number, [SMALL, y + SHIFT]);
        }
        if side == Side::Right {
            right = start;
        }
    }
    let sign = if charge > 0 { '+' } else { '\u{2212}' };
    let text = times(unpaired, DOT) + &times(charge.unsigned_abs().into(), sign);
    if !text.is_empty() {
        to_right(&mut right, text, [SMALL, -SHIFT]);
    }
    runs
}

/// Returns a sign with its number where there are several, and nothing where there is none.
fn times(count: u32, sign: char) -> String {
    match count {
        0 => String::new(),
        1 => sign.to_string(),
        count => format!("{count}{sign}"),
    }
}

/// Returns how many electrons of an atom have no partner, as RDKit counts them: those that its octet lacks, as far as it has
/// electrons outside of bonds, and one where an atom with more than an octet has an odd number of these. 0 of metals, hydrogens and
/// wildcards.
fn unpaired_electrons(molecule: &Molecule, index: usize) -> u32 {
    let Atom { element, charge, hydrogens, .. } = molecule.atoms()[index];
    let Some(outer) = outer_electrons(element) else { return 0 };
    let charge = i32::from(charge);
    let mut bonds = i32::from(hydrogens);
    let mut given = 0;
    for (_, bond) in molecule.around(index) {
        if bond.order == BondOrder::Dative && bond.atoms[0] == index {
            given += 2;
        } else {
            bonds += i32::from(bond.order.multiplicity());
        }
    }
    let free = (outer - charge - bonds - given).max(0);
    let lacking = 8 - outer + charge - bonds;
    let unpaired = if lacking > 0 { lacking.min(free) } else { free % 2 };
    unpaired.unsigned_abs()
}

/// Returns the number of outer electrons of an element that has an octet in most molecules; none of others.
fn outer_electrons(element: Element) -> Option<i32> {
    match element.atomic_number() {
        5 => Some(3),
        6 | 14 | 32 => Some(4),
        7 | 15 | 33 => Some(5),
        8 | 16 | 34 | 52 => Some(6),
        9 | 17 | 35 | 53 => Some(7),
        _ => None,
    }
}

/// Returns the side of an atom that is furthest from its bonds, above and below only where no other is free. Halogens
/// and oxygens without bonds follow their hydrogens, as in H₂O and HCl.
fn side(molecule: &Molecule, points: &[Point], index: usize) -> Side {
    let element = molecule.atoms()[index].element;
    if molecule.degree(index) == 0 {
        let after = element.is_halogen() || [Element::O, Element::S].contains(&element);
        return if after { Side::Left } else { Side::Right };
    }
    let nearness = |[x, y]: Point| {
        let cosine = |(other, _)| {
            let [dx, dy] = unit(points, index, other);
            dx * x + dy * y
        };
        molecule.around(index).map(cosine).fold(-1.0, f64::max)
    };
    let nearest = |sides: [(Side, Point); 2]| {
        let [one, other] = sides.map(|(side, direction)| (side, nearness(direction)));
        if other.1 < one.1 - 0.05 { other } else { one }
    };
    let beside = nearest([(Side::Right, [1.0, 0.0]), (Side::Left, [-1.0, 0.0])]);
    let over = nearest([(Side::Below, [0.0, 1.0]), (Side::Above, [0.0, -1.0])]);
    if beside.1 < FREE || beside.1 <= over.1 { beside.0 } else { over.0 }
}

/// Returns whether an atom lies between two bonds on one straight line, where it would not be seen.
fn is_straight(molecule: &Molecule, index: usize) -> bool {
    let orders: Vec<_> = molecule.around(index).map(|(_, bond)| bond.order).collect();
    orders == [BondOrder::Double; 2] || orders.len() == 2 && orders.contains(&BondOrder::Triple)
}

/// Returns the colour of an element's label (CPK, where needed darker, to be legible on white).
pub(super) fn color(element: Element) -> &'static str {
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
