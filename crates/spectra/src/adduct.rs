//! Adducts: what an ion is made of.

use std::collections::BTreeMap;
use std::str::FromStr;

use dsokr_core::Error;
use dsokr_core::message::shorten;
use dsokr_molecule::{ELECTRON, Element, ElementCounts, exact_mass, isotope_mass, read_formula};

use crate::polarity::Polarity;

/// An ion of n molecules with what was added and lost, such as `[M+H]+`, `[2M+Na]+` and `[M-H2O+2H]2+`.
///
/// Adducts are read as GNPS, MoNA, NIST, MS-DIAL and SIRIUS write them: `M+H`, `[M+H]1+`, `[M+2H]++`, `M+`, `[Cat]+`,
/// `[M+ACN+H]+`, `[M+FA-H]-`, `[M]+*`. Without a charge it is the one of the ions that are added and lost.
/// `13C`, `15N`, `18O` and `34S` stand for a heavy isotope in the place of the light one, `13C2` for two, `37Cl` and `81Br` for a
/// heavy ion that is added. Files name acids and their anions for one another, so a negative charge says which of them is there:
/// `[M+Ac-H]-` is `[M+HAc-H]-`, and `[M+FA]-` is `[M+HCOO]-`. Without brackets the charge must agree with the ions, and a digit
/// before the sign is of the charge or of a formula, whichever agrees: `M+2H2+` has two charges, `M+NH4+` has one, and `M+2H+`
/// is no adduct. With a metal whose charge is not known, as in `M+Ni-H+`, or a halogen that is lost, as in `M-Br+O-`, the charge that
/// is stated counts.
///
/// ```
/// use dsokr_spectra::Adduct;
///
/// let adduct: Adduct = "[M+Na]+".parse()?;
/// assert!((adduct.mz(180.06339) - 203.05261).abs() < 1e-5);
/// assert_eq!("M+Na".parse::<Adduct>()?, adduct);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adduct {
    /// n, at least 1.
    molecules: u32,
    /// Number of atoms of each element that were added, less those that were lost.
    atoms: BTreeMap<Element, i64>,
    /// Mass in Da of what was added, electrons included, less the mass of what was lost.
    shift: f64,
    /// Number of charges, at least 1.
    charges: f64,
    polarity: Polarity,
}

/// Names of what is added or lost, whatever their case, with their formulas.
const NAMES: [(&str, &str); 20] = [
    ("ACN", "C2H3N"),
    ("MeOH", "CH4O"),
    ("EtOH", "C2H6O"),
    ("IsoProp", "C3H8O"),
    ("iPrOH", "C3H8O"),
    ("IPA", "C3H8O"),
    ("DMSO", "C2H6OS"),
    ("DMF", "C3H7NO"),
    ("FA", "CH2O2"),
    ("HFA", "CH2O2"),
    ("For", "CHO2"),
    ("formate", "CHO2"),
    ("HAc", "C2H4O2"),
    ("AcOH", "C2H4O2"),
    ("HOAc", "C2H4O2"),
    ("Ac", "C2H3O2"),
    ("OAc", "C2H3O2"),
    ("acetate", "C2H3O2"),
    ("TFA", "C2HF3O2"),
    ("NH4+", "NH4"),
];

/// Formulas of acids and of their anions in [`NAMES`].
const ACIDS: [&str; 5] = ["CH2O2", "CHO2", "C2H4O2", "C2H3O2", "C2HF3O2"];

/// Charges of ions that are added or lost, by formula; other formulas are of neutral molecules.
const IONS: [(&str, i32); 21] = [
    ("H", 1),
    ("Li", 1),
    ("Na", 1),
    ("K", 1),
    ("Rb", 1),
    ("Cs", 1),
    ("Ag", 1),
    ("NH4", 1),
    ("CH3", 1),
    ("Mg", 2),
    ("Ca", 2),
    ("Zn", 2),
    ("F", -1),
    ("Cl", -1),
    ("Br", -1),
    ("I", -1),
    ("OH", -1),
    ("HCOO", -1),
    ("CH3COO", -1),
    ("NO3", -1),
    ("HCO3", -1),
];

/// Metals whose ions have one charge.
const METALS: [&str; 6] = ["Li", "Na", "K", "Rb", "Cs", "Ag"];

/// Elements that are no metals; of other ones an ion has the charge that [`IONS`] says, or any.
const NONMETALS: [&str; 15] =
    ["H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "Te", "I"];

/// Elements that molecules lose as an atom or as an anion, as they lose methyl as a radical or as a cation.
const HALOGENS: [&str; 4] = ["F", "Cl", "Br", "I"];

/// What marks radicals: an asterisk or a dot.
const RADICAL: [char; 4] = ['*', '.', '•', '·'];

/// Elements whose heavy isotopes an adduct may name.
const LABELLED: [Element; 6] =
    [Element::C, Element::N, Element::O, Element::S, Element::CL, Element::BR];

impl Adduct {
    /// `[M+H]+`.
    pub const PROTONATED: &str = "[M+H]+";

    /// Returns the m/z of the ion of a molecule with this mass in Da, the sum of its atoms' masses.
    pub fn mz(&self, mass: f64) -> f64 {
        (f64::from(self.molecules) * mass + self.shift) / self.charges
    }

    /// Returns the mass in Da of the molecule whose ion has this m/z.
    pub fn mass(&self, mz: f64) -> f64 {
        (mz * self.charges - self.shift) / f64::from(self.molecules)
    }

    /// Returns the polarity of the ion: positive or negative.
    pub fn polarity(&self) -> Polarity {
        self.polarity
    }

    /// Returns the atoms of the ion of a molecule with these atoms; none where it has fewer than were lost.
    pub fn ion(&self, molecule: &ElementCounts) -> Option<ElementCounts> {
        let all = molecule
            .iter()
            .map(|(&element, &count)| (element, count as i64 * i64::from(self.molecules)));
        let mut ion: BTreeMap<Element, i64> = all.collect();
        self.atoms.iter().for_each(|(&element, count)| *ion.entry(element).or_insert(0) += count);
        let counts = ion.into_iter().filter(|&(_, count)| count != 0);
        counts.map(|(element, count)| Some((element, usize::try_from(count).ok()?))).collect()
    }

    /// Returns hydrogens that were added, below 0 for those lost.
    pub(crate) fn hydrogens(&self) -> i32 {
        self.atoms.get(&Element::H).map_or(0, |&count| count as i32)
    }

    /// Returns whether nothing but electrons was added or lost.
    pub(crate) fn has_no_atoms(&self) -> bool {
        self.atoms.values().all(|&count| count == 0)
    }

    /// Returns the metal with one charge that was added.
    pub(crate) fn metal(&self) -> Option<Element> {
        let is_added = |metal: &Element| self.atoms.get(metal).is_some_and(|&count| count > 0);
        METALS.iter().filter_map(|symbol| Element::from_symbol(symbol)).find(is_added)
    }

    /// Creates the adducts of a text that leaves several open, as MassBank does: `[M+CH3COO]-/[M-CH3]-`, with a slash
    /// or a comma between.
    ///
    /// # Errors
    /// A text of which one cannot be read.
    pub fn alternatives(text: &str) -> Result<Vec<Self>, Error> {
        Self::texts(text).map(str::parse).collect()
    }

    /// Returns the texts of the adducts that a text leaves open, at least one.
    pub(crate) fn texts(text: &str) -> impl Iterator<Item = &str> {
        text.split(['/', ','])
    }

    fn read(text: &str) -> Option<Self> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        let compact = compact.replace(['−', '–'], "-");
        let (ion, charge) = parts_of(&compact)?;
        let [ion, charge] = [ion, charge].map(|part| part.trim_matches(RADICAL));
        // the cation of a salt is the molecule
        let ion = ion.strip_prefix("Cat").map_or(ion.to_owned(), |behind| format!("M{behind}"));
        let (molecules, parts) = ion.split_once('M')?;
        let mut parts = Part::all(parts)?;
        let charge = if charge.is_empty() {
            Part::charge(&parts)
        } else {
            let stated = read_charge(charge)?;
            let hydrogens = Part::hydrogens_of_acids(&parts, stated);
            parts.extend(hydrogens);
            stated
        };
        let polarity = Polarity::of_charge(charge)?;
        let mut shift = -f64::from(charge) * ELECTRON;
        let mut atoms = BTreeMap::new();
        for Part { times, mass, counts, .. } in parts {
            shift += f64::from(times) * mass;
            for (element, count) in counts {
                *atoms.entry(element).or_insert(0) += i64::from(times) * count as i64;
            }
        }
        let charges = f64::from(charge.abs());
        Some(Self { molecules: number(molecules)?, atoms, shift, charges, polarity })
    }
}

/// Returns the parts of an ion and its charge, which may be empty: of `[M+H]+`, `(M+H)+`, `M+H` and `M+`. Without brackets a
/// digit before the sign of the charge is a part of the formula, as in `M+NH4+` and `M+O2-`, or of the charge, as in `M+2H2+`: none where
/// the ions have neither charge, nor where they have another one than is stated, as in `M+2H+`. Of ions whose charge is not known, as
/// in `M+Ni-H+`, the stated one is that of all.
fn parts_of(text: &str) -> Option<(&str, &str)> {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(rest) = text.strip_prefix(open) {
            return rest.split_once(close);
        }
    }
    let ion = text.trim_end_matches(|c: char| "+-".contains(c) || RADICAL.contains(&c));
    let (ion, charge) = text.split_at(ion.len());
    if !charge.contains(['+', '-']) {
        return Some((ion, charge));
    }
    if ion.ends_with(|c: char| c.is_ascii_digit()) {
        let readings = [text.split_at(ion.len()), text.split_at(ion.len() - 1)];
        let agrees = |(ion, charge): &(&str, &str)| {
            charges(ion, charge).is_some_and(|[stated, of_ions]| stated == of_ions)
        };
        let [of_formula, _] = readings;
        let others = Some(of_formula).filter(|(ion, charge)| takes_charge(ion, charge));
        return readings.into_iter().find(agrees).or(others);
    }
    // a molecule without ions, such as `M+`, and one that lost or took up another has the charge that is stated
    let agrees =
        charges(ion, charge).is_none_or(|[stated, of_ions]| stated == of_ions || of_ions == 0);
    (agrees || leaves_charge_open(ion)).then_some((ion, charge))
}

/// Returns whether an ion with a digit at its end has the charge that is stated, since its parts bring none together or an open one:
/// each is a molecule or an ion.
fn takes_charge(ion: &str, charge: &str) -> bool {
    let Some(parts) = ion.split_once('M').and_then(|(_, parts)| Part::all(parts)) else {
        return false;
    };
    let are_told = parts.iter().all(|part| part.charge != 0 || part.is_molecule());
    let bring_none = charges(ion, charge).is_some_and(|[_, of_ions]| of_ions == 0);
    are_told && !parts.is_empty() && (bring_none || leaves_charge_open(ion))
}

/// Returns whether the charge of some part of an ion is not known.
fn leaves_charge_open(ion: &str) -> bool {
    let parts = ion.split_once('M').and_then(|(_, parts)| Part::all(parts));
    parts.is_some_and(|parts| parts.iter().any(|part| !part.has_known_charge()))
}

/// Returns the charge that is stated, and that of the ions that were added and lost, acids being anions as it says.
fn charges(ion: &str, charge: &str) -> Option<[i32; 2]> {
    let (_, parts) = ion.split_once('M')?;
    let mut parts = Part::all(parts)?;
    let stated = read_charge(charge.trim_matches(RADICAL))?;
    let hydrogens = Part::hydrogens_of_acids(&parts, stated);
    parts.extend(hydrogens);
    Some([stated, Part::charge(&parts)])
}

/// Returns a charge with its sign: `+`, `2+`, `+2`, `++`, and the same with `-`.
fn read_charge(text: &str) -> Option<i32> {
    let sign = if text.contains('-') { -1 } else { 1 };
    let signs = text.chars().filter(|c| ['+', '-'].contains(c)).count();
    let digits = text.trim_matches(if sign == 1 { '+' } else { '-' });
    match (digits, signs) {
        (_, 0) => None,
        ("", signs) => Some(sign * i32::try_from(signs).ok()?),
        (digits, 1) => Some(sign * i32::try_from(number(digits)?).ok()?),
        (_, _) => None,
    }
}

/// Something that is added to a molecule or lost by it.
struct Part {
    /// How often, below 0 where it is lost.
    times: i32,
    /// The mass in Da.
    mass: f64,
    counts: ElementCounts,
    /// The charge that it brings where it is an ion.
    charge: i32,
    /// Whether it is named as an acid or as its anion.
    is_acid: bool,
}

impl Part {
    /// Creates the parts of a text such as `+2H-H2O`.
    fn all(mut text: &str) -> Option<Vec<Self>> {
        let mut all = Vec::new();
        while !text.is_empty() {
            let sign = match text.as_bytes()[0] {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let end = text[1..].find(['+', '-']).map_or(text.len(), |at| at + 1);
            let part = Self::read(&text[1..end])?;
            all.push(Self { times: sign * part.times, ..part });
            text = &text[end..];
        }
        Some(all)
    }

    fn read(text: &str) -> Option<Self> {
        let name = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &text[..text.len() - name.len()];
        if let Some(isotope) = Self::isotope(digits, name) {
            return Some(isotope);
        }
        let named = NAMES.iter().find(|(adduct_name, _)| adduct_name.eq_ignore_ascii_case(name));
        let formula = named.map_or(name, |(_, formula)| formula);
        let counts = read_formula(formula)?;
        let ion = IONS.iter().find(|(ion, _)| read_formula(ion).as_ref() == Some(&counts));
        let charge = ion.map_or(0, |&(_, charge)| charge);
        let is_acid = named.is_some_and(|(_, formula)| ACIDS.contains(formula));
        let times = i32::try_from(number(digits)?).ok()?;
        Some(Self { times, mass: exact_mass(&counts), counts, charge, is_acid })
    }

    /// Returns whether it is a molecule: of several elements, or of oxygen, without metals. `H2`, `C2` and `Na2` are none: a digit
    /// behind an element alone may be of a charge.
    fn is_molecule(&self) -> bool {
        let mut elements = self.counts.keys();
        let is_oxygen = self.counts.contains_key(&Element::O);
        let has_metal = elements.any(|element| !NONMETALS.contains(&element.symbol()));
        !has_metal && (is_oxygen || self.counts.len() != 1)
    }

    /// Returns whether its charge is known, which that of a metal that [`IONS`] lacks is not, nor that of a halogen or a methyl that is
    /// lost.
    fn has_known_charge(&self) -> bool {
        let is_listed = |symbol: &str| {
            NONMETALS.contains(&symbol) || IONS.iter().any(|&(ion, _)| ion == symbol)
        };
        let mut symbols = self.counts.keys().map(|element| element.symbol());
        let is_halogen =
            self.counts.len() == 1 && symbols.clone().all(|own| HALOGENS.contains(&own));
        let is_methyl = read_formula("CH3").as_ref() == Some(&self.counts);
        symbols.all(is_listed) && !((is_halogen || is_methyl) && self.times < 0)
    }

    /// Returns the charge of all parts together.
    fn charge(parts: &[Self]) -> i32 {
        parts.iter().map(|part| part.times * part.charge).sum()
    }

    /// Returns the hydrogens that acids have more, or fewer, than their names say in a negative ion of this charge: the charge
    /// that other parts do not bring is that of anions, and what remains are acids. None where the names agree with the
    /// charge, and where there are fewer acids than charges.
    fn hydrogens_of_acids(parts: &[Self], charge: i32) -> Option<Self> {
        let (acids, others): (Vec<&Self>, Vec<&Self>) = parts.iter().partition(|part| part.is_acid);
        let anions = others.iter().map(|part| part.times * part.charge).sum::<i32>() - charge;
        let named_anions = -acids.iter().map(|part| part.times * part.charge).sum::<i32>();
        let acids = acids.iter().map(|part| part.times).sum::<i32>();
        let times = named_anions - anions;
        if charge > 0 || times == 0 || !(0..=acids).contains(&anions) {
            return None;
        }
        let counts = ElementCounts::from([(Element::H, 1)]);
        Some(Self { times, mass: exact_mass(&counts), counts, charge: 1, is_acid: false })
    }

    /// Creates heavy isotopes: in the place of light ones, such as `13C` and `13C2`, or as ions that are added, such as `37Cl`.
    fn isotope(digits: &str, name: &str) -> Option<Self> {
        let symbol = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let element = LABELLED.into_iter().find(|element| element.symbol() == symbol)?;
        let mass = isotope_mass(element, digits.parse().ok()?)?;
        let times = i32::try_from(number(&name[symbol.len()..])?).ok()?;
        let atom = ElementCounts::from([(element, 1)]);
        if element == Element::CL || element == Element::BR {
            return Some(Self { times, mass, counts: atom, charge: -1, is_acid: false });
        }
        let light = exact_mass(&atom);
        let counts = ElementCounts::new();
        Some(Self { times, mass: mass - light, counts, charge: 0, is_acid: false })
    }
}

/// Returns a number from 1 to 99; 1 where there is none.
fn number(text: &str) -> Option<u32> {
    let number = if text.is_empty() { 1 } else { text.parse::<u32>().ok()? };
    (1..100).contains(&number).then_some(number)
}

impl FromStr for Adduct {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            let allowed = "[nM±…]z±, such as [M+H]+, [M+Na]+, [M+NH4]+, [M+H-H2O]+, [2M+H]+, [M+2H]2+, [M]+, [M-H]- or \
                           [M+HCOO]-";
            Error::value("the adduct", format_args!("{:?}", shorten(text)), allowed)
        })
    }
}
