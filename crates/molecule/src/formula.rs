//! Elemental formula, molar mass and the mass of the most abundant isotopes.

use std::collections::BTreeMap;

use crate::element::Element;
use crate::molecule::Molecule;

/// Standard atomic weights by atomic number, from hydrogen (IUPAC 2021, abridged); of elements without stable
/// isotopes the mass number of the longest-lived one.
#[rustfmt::skip]
const WEIGHTS: [f64; 118] = [
    1.008, 4.0026, 6.94, 9.0122, 10.81, 12.011, 14.007, 15.999, 18.998, 20.180,
    22.990, 24.305, 26.982, 28.085, 30.974, 32.06, 35.45, 39.95, 39.098, 40.078,
    44.956, 47.867, 50.942, 51.996, 54.938, 55.845, 58.933, 58.693, 63.546, 65.38,
    69.723, 72.630, 74.922, 78.971, 79.904, 83.798, 85.468, 87.62, 88.906, 91.224,
    92.906, 95.95, 97.0, 101.07, 102.91, 106.42, 107.87, 112.41, 114.82, 118.71,
    121.76, 127.60, 126.90, 131.29, 132.91, 137.33, 138.91, 140.12, 140.91, 144.24,
    145.0, 150.36, 151.96, 157.25, 158.93, 162.50, 164.93, 167.26, 168.93, 173.05,
    174.97, 178.49, 180.95, 183.84, 186.21, 190.23, 192.22, 195.08, 196.97, 200.59,
    204.38, 207.2, 208.98, 209.0, 210.0, 222.0, 223.0, 226.0, 227.0, 232.04,
    231.04, 238.03, 237.0, 244.0, 243.0, 247.0, 247.0, 251.0, 252.0, 257.0,
    258.0, 259.0, 262.0, 267.0, 268.0, 269.0, 270.0, 269.0, 277.0, 281.0,
    282.0, 285.0, 286.0, 290.0, 290.0, 293.0, 294.0, 294.0,
];

impl Element {
    /// Creates the element of a symbol as in the periodic table (`Cl`); none for other texts.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        chematic_core::Element::from_symbol(symbol).map(|element| Self(element.atomic_number()))
    }

    /// Returns the standard atomic weight; 0 for the wildcard.
    pub(crate) fn weight(self) -> f64 {
        let place = usize::from(self.0).checked_sub(1);
        place.and_then(|place| WEIGHTS.get(place)).copied().unwrap_or(0.0)
    }
}

/// Mass of an electron in Da (CODATA 2018).
pub const ELECTRON: f64 = 5.485_799_09e-4;

/// Number of atoms of each element.
pub type ElementCounts = BTreeMap<Element, usize>;

/// Number of atoms of each element and isotope, by mass number; no mass number for atoms whose isotope is not named.
pub type IsotopeCounts = BTreeMap<(Element, Option<u16>), usize>;

/// Returns the atoms of a formula whose elements may be in any order and occur several times, as `C9H8O4` and `CH3COO`;
/// none for other texts. A charge at its end, as in `C2H3O2-`, `Ca+2` and `[C5H14NO]+`, does not count.
pub fn read_formula(text: &str) -> Option<ElementCounts> {
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let atoms = match text.find(['+', '-']) {
        Some(at) if are_digits(&text[at + 1..]) => &text[..at],
        Some(_) => return None,
        None => text,
    };
    let mut rest = match atoms.strip_prefix('[').and_then(|atoms| atoms.split_once(']')) {
        Some((inside, charges)) if are_digits(charges) => inside,
        Some(_) | None => atoms,
    };
    let mut counts = ElementCounts::new();
    while !rest.is_empty() {
        let end = rest.char_indices().skip(1).find(|(_, c)| !c.is_ascii_lowercase());
        let (symbol, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        let end = behind.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = behind.split_at(end);
        let count = if digits.is_empty() { 1 } else { digits.parse().ok()? };
        *counts.entry(Element::from_symbol(symbol)?).or_insert(0usize) +=
            Some(count).filter(|&count| count <= 10_000)?;
        rest = behind;
    }
    Some(counts).filter(|counts| !counts.is_empty())
}

/// Returns atoms in Hill's order: carbon, hydrogen, then the others by their symbols; all by their symbols without
/// carbon.
pub fn formula(counts: &ElementCounts) -> String {
    let counts: IsotopeCounts =
        counts.iter().map(|(&element, &count)| ((element, None), count)).collect();
    isotope_formula(&counts)
}

/// Returns atoms in [Hill's order](formula). Isotopes that are named follow the other atoms of their element, as mzPAF and
/// ProForma write them.
///
/// ```
/// use dsokr_molecule::{Element, IsotopeCounts, isotope_formula};
///
/// let atoms = [((Element::C, None), 2), ((Element::H, Some(2)), 3), ((Element::O, None), 1)];
/// assert_eq!(isotope_formula(&IsotopeCounts::from(atoms)), "C2[2H3]O");
/// ```
pub fn isotope_formula(counts: &IsotopeCounts) -> String {
    let organic = counts.keys().any(|&(element, _)| element == Element::C);
    let place = |element: Element| match element {
        Element::C if organic => (0, ""),
        Element::H if organic => (1, ""),
        other => (2, other.symbol()),
    };
    let mut order: Vec<(Element, Option<u16>, usize)> =
        counts.iter().map(|(&(element, isotope), &count)| (element, isotope, count)).collect();
    order.sort_by_key(|&(element, isotope, _)| (place(element), isotope));
    let written = |(element, isotope, count): (Element, Option<u16>, usize)| match isotope {
        Some(number) => format!("[{number}{}{count}]", element.symbol()),
        None => counted(element.symbol(), count),
    };
    order.into_iter().map(written).collect()
}

/// Returns the mass in Da of neutral atoms, of each element the most abundant isotope.
pub fn exact_mass(composition: &ElementCounts) -> f64 {
    composition.iter().map(|(element, &count)| count as f64 * element.exact_mass()).sum()
}

/// Returns a symbol with the number of its atoms, empty for none.
pub(crate) fn counted(symbol: &str, count: usize) -> String {
    match count {
        0 => String::new(),
        1 => symbol.to_owned(),
        count => format!("{symbol}{count}"),
    }
}

/// Returns a charge as formulas and SMILES write it, empty for 0.
pub(crate) fn signed(charge: i32) -> String {
    match charge {
        0 => String::new(),
        1 => "+".to_owned(),
        -1 => "-".to_owned(),
        charge => format!("{charge:+}"),
    }
}

impl Molecule {
    /// Returns the number of atoms of each element, folded hydrogens among them.
    pub fn composition(&self) -> ElementCounts {
        let mut counts = ElementCounts::new();
        for atom in self.atoms() {
            *counts.entry(atom.element).or_insert(0) += 1;
            if atom.hydrogens > 0 {
                *counts.entry(Element::H).or_insert(0) += usize::from(atom.hydrogens);
            }
        }
        counts
    }

    /// Returns the [formula] of its atoms. A charge follows, as in `C2H3O2-` and `Ca+2`.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// assert_eq!(Molecule::parse("CC(=O)Oc1ccccc1C(=O)O")?.formula(), "C9H8O4");
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn formula(&self) -> String {
        formula(&self.composition()) + &signed(self.charge())
    }

    /// Returns the monoisotopic mass in Da: every atom is the most abundant isotope of its element, or the isotope that
    /// the molecule names. The mass of as many electrons as the molecule's charge is subtracted. Wildcards weigh
    /// nothing. The masses of isotopes that neither occur in nature nor are used as labels are off by some hundredths.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// assert!((Molecule::parse("CC(=O)Oc1ccccc1C(=O)O")?.exact_mass() - 180.04226).abs() < 1e-5);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn exact_mass(&self) -> f64 {
        self.neutral_mass() - f64::from(self.charge()) * ELECTRON
    }

    /// Returns the [monoisotopic mass](Self::exact_mass) in Da of the molecule's atoms with all of their electrons,
    /// whatever its charge. The mass of an ion is this mass and that of its adduct, which counts electrons.
    ///
    /// ```
    /// use dsokr_molecule::{ELECTRON, Molecule};
    ///
    /// let ammonium = Molecule::parse("[NH4+]")?;
    /// assert!((ammonium.neutral_mass() - ammonium.exact_mass() - ELECTRON).abs() < 1e-9);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn neutral_mass(&self) -> f64 {
        let labelled = self.atoms().iter().filter_map(|atom| Some((atom.element, atom.isotope?)));
        let labels =
            labelled.map(|(element, number)| element.labelled_mass(number) - element.exact_mass());
        exact_mass(&self.composition()) + labels.sum::<f64>()
    }

    /// Returns the molar mass in g/mol: the sum of standard atomic weights, and of the masses of the isotopes that it
    /// names. Wildcards weigh nothing.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// assert!((Molecule::parse("O")?.molar_mass() - 18.015).abs() < 1e-9);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn molar_mass(&self) -> f64 {
        let heavy = self.atoms().iter().map(|atom| match atom.isotope {
            Some(number) => atom.element.labelled_mass(number),
            None => atom.element.weight(),
        });
        let hydrogens: usize = self.atoms().iter().map(|atom| usize::from(atom.hydrogens)).sum();
        heavy.sum::<f64>() + hydrogens as f64 * Element::H.weight()
    }
}
