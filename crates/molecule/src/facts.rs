//! Facts about a molecule that hold or do not, parts that it has among them.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::element::Element;
use crate::error::Error;
use crate::features::{Descriptors, chain_lengths};
use crate::groups::{FunctionalGroup, functional_groups};
use crate::molecule::{BondOrder, Center, Geometry, Molecule};

/// A fact that may hold for a molecule, read from one of the forms
///
/// | form | holds if |
/// |---|---|
/// | `atom Cl` | it has an atom of the element |
/// | `group Ester` | it has the [`FunctionalGroup`] |
/// | `part C1CCNCC1` | it has the part, written as a SMILES: the same elements; aromatic atoms, bonds in rings, double and triple bonds, charges and configurations where the part has them; else any |
/// | `chain 18` | a longest path from an end of a carbon chain outside rings has so many carbons |
/// | `charge -2`, `charge negative`, `charge positive` | the sum of its charges is this, below 0, above 0 |
/// | `zwitterion` | it has charges of both signs on atoms that are not neighbours of one another |
/// | `components` | it has several, as salts and hydrates |
/// | `isotope` | an atom has a mass number |
/// | `center R`, `center S` | it has a stereo centre of this name |
/// | `double bond E`, `double bond Z` | it has a double bond of this name |
///
/// Several forms with ` | ` between them hold if one of them does.
///
/// ```
/// use dsokr_molecule::{Fact, Molecule};
///
/// let facts: Vec<Fact> = ["group Ester", "charge negative | components", "part c1ccncc1"]
///     .iter().map(|fact| fact.parse()).collect::<Result<_, _>>()?;
/// let salt = Molecule::parse("[Na+].[O-]C(=O)c1ccncc1")?;
/// assert_eq!(Fact::which(&facts, salt), [Some(false), Some(true), Some(true)]);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact(Vec<Form>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Atom(Element),
    Group(FunctionalGroup),
    Substructure(Box<Substructure>),
    Chain(u32),
    Charge(RangeInclusive<i32>),
    Zwitterion,
    Components,
    Isotope,
    Center { right: bool },
    DoubleBond { together: bool },
}

/// The parts of a molecule that several facts need.
struct Known {
    whole: Whole,
    elements: BTreeMap<Element, usize>,
    groups: BTreeMap<FunctionalGroup, usize>,
    chains: BTreeSet<u32>,
    /// Descriptors of configurations, which few facts ask for.
    stereo: OnceCell<Descriptors>,
}

impl Fact {
    /// Creates the fact that a molecule has a part.
    ///
    /// # Errors
    /// [`Error::Smiles`] for a text that is not the SMILES of one component of at most 64 atoms.
    pub fn from_part(smiles: &str) -> Result<Self, Error> {
        Ok(Self(vec![Form::Substructure(Box::new(Substructure::parse(smiles)?))]))
    }

    /// Returns which of the facts hold of a molecule; none where the search for a part is given up, after 2²⁰ steps.
    pub fn which(facts: &[Self], molecule: Molecule) -> Vec<Option<bool>> {
        let facts_of_molecule = Known {
            elements: molecule.composition(),
            groups: functional_groups(&molecule),
            chains: chain_lengths(&molecule),
            stereo: OnceCell::new(),
            whole: Whole::from_molecule(molecule, Role::Searched),
        };
        facts.iter().map(|fact| fact.holds(&facts_of_molecule)).collect()
    }

    fn holds(&self, molecule: &Known) -> Option<bool> {
        let mut all_known = true;
        for form in &self.0 {
            match form.holds(molecule) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => all_known = false,
            }
        }
        all_known.then_some(false)
    }
}

impl Form {
    fn holds(&self, properties: &Known) -> Option<bool> {
        let molecule = &properties.whole.molecule;
        let atoms = molecule.atoms();
        let stereo = || properties.stereo.get_or_init(|| Descriptors::from_molecule(molecule));
        Some(match self {
            Self::Atom(element) => properties.elements.contains_key(element),
            Self::Group(group) => properties.groups.contains_key(group),
            Self::Substructure(part) => return part.is_in(&properties.whole),
            Self::Chain(length) => properties.chains.contains(length),
            Self::Charge(sums) => sums.contains(&molecule.charge()),
            Self::Zwitterion => [-1, 1].iter().all(|sign| {
                let charge = |atom: usize| i32::from(atoms[atom].charge) * sign;
                (0..atoms.len()).any(|atom| {
                    let around = &mut molecule.neighbors(atom).iter();
                    charge(atom) > 0 && around.all(|n| charge(n.atom) >= 0)
                })
            }),
            Self::Components => molecule.components().len() > 1,
            Self::Isotope => atoms.iter().any(|atom| atom.isotope.is_some()),
            Self::Center { right } => stereo().centers.iter().any(|c| c.1 == Some(*right)),
            Self::DoubleBond { together } => {
                stereo().geometries.iter().any(|geometry| geometry.1 == Some(*together))
            }
        })
    }

    fn parse(text: &str) -> Result<Self, dsokr_core::Error> {
        let (kind, argument) = text.split_once(' ').unwrap_or((text, ""));
        let argument = argument.trim();
        let refused =
            |allowed: &str| dsokr_core::Error::value("fact", format!("{text:?}"), allowed);
        let or = |form: Option<Self>, allowed: &str| form.ok_or_else(|| refused(allowed));
        match (kind, argument) {
            ("atom", _) => {
                let element = (1..119).map(Element).find(|element| element.symbol() == argument);
                or(element.map(Self::Atom), "the symbol of an element behind \"atom\"")
            }
            ("group", _) => {
                let mut groups = FunctionalGroup::ALL.iter();
                let group = groups.find(|group| format!("{group:?}") == argument);
                let all = format!("{:?}", FunctionalGroup::ALL);
                let allowed = format!("a group behind \"group\": {}", all.trim_matches(['[', ']']));
                or(group.copied().map(Self::Group), &allowed)
            }
            ("part", _) => Substructure::parse(argument)
                .map(|part| Self::Substructure(Box::new(part)))
                .map_err(|reason| refused(&format!("a SMILES behind \"part\", and {reason}"))),
            ("chain", _) => {
                let length = argument.parse().ok().filter(|&length| length > 0);
                or(length.map(Self::Chain), "a number of carbons behind \"chain\"")
            }
            ("charge", "negative") => Ok(Self::Charge(i32::MIN..=-1)),
            ("charge", "positive") => Ok(Self::Charge(1..=i32::MAX)),
            ("charge", _) => {
                let allowed = "a whole number, negative or positive behind \"charge\"";
                or(argument.parse().ok().map(|sum| Self::Charge(sum..=sum)), allowed)
            }
            ("zwitterion", "") => Ok(Self::Zwitterion),
            ("components", "") => Ok(Self::Components),
            ("isotope", "") => Ok(Self::Isotope),
            ("center", "R" | "S") => Ok(Self::Center { right: argument == "R" }),
            ("double", "bond E" | "bond Z") => {
                Ok(Self::DoubleBond { together: argument == "bond Z" })
            }
            _ => Err(refused(
                "atom SYMBOL, group NAME, part SMILES, chain LENGTH, charge SUM, zwitterion, components, isotope, center R, center S, double bond E or double bond Z",
            )),
        }
    }
}

impl FromStr for Fact {
    type Err = Error;

    /// Reads the forms of a text.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a text that has none of the forms. It names the text and the forms.
    fn from_str(text: &str) -> Result<Self, Error> {
        let forms = text.split(" | ").map(|form| Form::parse(form.trim()));
        Ok(Self(forms.collect::<Result<_, dsokr_core::Error>>()?))
    }
}

/// The most atoms of a part.
const LARGEST: usize = 64;

/// The most atoms that are tried. The search for a large ring in a sheet of other rings takes time that grows
/// exponentially. Within this limit, all facts of the program's lexicon are decided for all molecules of ChEBI-20.
const TRIES: usize = 1 << 20;

/// A part that molecules may have, written as a SMILES.
///
/// An atom of the part is an atom of the same element; an aromatic one is aromatic, and a charged one has the same
/// charge. `*` is any atom. A bond in a ring of the part is in a ring; a double or triple bond that is not
/// aromatic is one of the same order in the Kekulé structure, which is RDKit's canonical one and does not depend
/// on how the molecule is written; other bonds are any. So `C1CCNCC1` is piperidine and pyridine, `c1ccncc1`
/// only pyridine, and benzene has the part `C=C`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Substructure {
    whole: Whole,
    steps: Vec<Step>,
}

/// A molecule with what is asked of it for each part.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Whole {
    molecule: Molecule,
    /// Whether each bond is in a ring.
    ring_bonds: Vec<bool>,
    /// Number of atoms by element, without the wildcard, and by whether they are aromatic.
    atoms: BTreeMap<(Element, bool), usize>,
    /// What is around each atom.
    surroundings: Vec<Surroundings>,
}

/// What a molecule is to the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// What is searched for.
    Part,
    /// Where it is searched for.
    Searched,
}

/// Numbers of an atom's bonds and neighbours of several kinds. An atom of a part has no more of any kind than the atom of a
/// molecule in its place.
///
/// A number has three bits below a bit that is 0. More than seven are stored as seven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Surroundings(u64);

impl Surroundings {
    /// The bit above each number.
    const ABOVE: u64 = 0x8888_8888_8888_8888;

    /// Counts what is around an atom. The double bonds of an aromatic ring ask for nothing in a part.
    fn of(molecule: &Molecule, ring_bonds: &[bool], atom: usize, role: Role) -> Self {
        let mut counts = [0u64; 11];
        for neighbor in molecule.neighbors(atom) {
            let bond = &molecule.bonds()[neighbor.bond];
            let element = molecule.atoms()[neighbor.atom].element;
            let kind = match element {
                Element::C => 0,
                Element::N => 1,
                Element::O => 2,
                Element::S => 3,
                Element::P => 4,
                Element::F | Element::CL | Element::BR | Element::I => 5,
                _ => 6,
            };
            // a neighbour of any element is of no kind
            counts[kind] += u64::from(element != Element::WILDCARD);
            counts[7] += 1;
            counts[8] += u64::from(ring_bonds[neighbor.bond]);
            if role == Role::Searched || !bond.aromatic {
                counts[9] += u64::from(bond.order == BondOrder::Double);
                counts[10] += u64::from(bond.order == BondOrder::Triple);
            }
        }
        let shifted = counts.iter().zip((0..).step_by(4)).map(|(&count, at)| count.min(7) << at);
        Self(shifted.sum())
    }

    /// Returns whether no number is larger than that of a molecule's atom.
    fn are_part_of(self, other: &Self) -> bool {
        ((other.0 | Self::ABOVE) - self.0) & Self::ABOVE == Self::ABOVE
    }
}

/// An atom of the part, and its bonds to atoms of earlier steps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    atom: usize,
    /// Number of the earlier step, and the bond.
    bonds: Vec<(usize, usize)>,
}

impl Substructure {
    fn parse(smiles: &str) -> Result<Self, Error> {
        let molecule = Molecule::parse(smiles)?;
        let atoms = molecule.atoms().len();
        if !(1..=LARGEST).contains(&atoms) {
            return Err(Error::smiles(0, format!("{atoms} atoms; allowed: 1 to {LARGEST}")));
        }
        let whole = Whole::from_molecule(molecule, Role::Part);
        let molecule = &whole.molecule;
        // few atoms are not carbon, and few have many bonds, so that few places are tried
        let places = |atom: usize| {
            let is_carbon = molecule.atoms()[atom].element == Element::C;
            (is_carbon, Reverse(molecule.neighbors(atom).len()))
        };
        let rare = (0..atoms).min_by_key(|&atom| places(atom)).unwrap_or(0);
        let mut steps = vec![Step { atom: rare, bonds: Vec::new() }];
        while steps.len() < atoms {
            let earlier = |atom: usize| steps.iter().position(|step| step.atom == atom);
            let next = (0..atoms).filter(|&atom| earlier(atom).is_none()).map(|atom| {
                let bonds = molecule.neighbors(atom).iter();
                let bonds = bonds.filter_map(|n| Some((earlier(n.atom)?, n.bond))).collect();
                Step { atom, bonds }
            });
            // an atom that closes a ring is tried at few places
            let next = next.min_by_key(|step| (Reverse(step.bonds.len()), places(step.atom)));
            let Some(next) = next.filter(|step| !step.bonds.is_empty()) else {
                return Err(Error::smiles(0, "several components; allowed: one"));
            };
            steps.push(next);
        }
        Ok(Self { whole, steps })
    }

    /// Returns whether a molecule has the part; none if a search of [`TRIES`] does not tell.
    fn is_in(&self, whole: &Whole) -> Option<bool> {
        let enough = |(&(element, aromatic), &count): (&(Element, bool), &usize)| {
            let number = |aromatic| whole.atoms.get(&(element, aromatic)).copied().unwrap_or(0);
            number(true) + if aromatic { 0 } else { number(false) } >= count
        };
        if !self.whole.atoms.iter().all(enough) {
            return Some(false);
        }
        let mut tries = 0;
        match self.extend(whole, &mut Vec::with_capacity(self.steps.len()), &mut tries) {
            false if tries > TRIES => None,
            answer => Some(answer),
        }
    }

    /// Returns whether the steps after the matched ones can be taken too. `matched` has the atom of each step so far.
    fn extend(&self, whole: &Whole, matched: &mut Vec<usize>, tries: &mut usize) -> bool {
        let Some(step) = self.steps.get(matched.len()) else {
            return self.is_configured(whole, matched);
        };
        let from = step.bonds.first().map(|&(earlier, _)| matched[earlier]);
        let mut take = |atom: usize| {
            *tries += 1;
            *tries <= TRIES && self.fits(step, atom, whole, matched) && {
                matched.push(atom);
                let all = self.extend(whole, matched, tries);
                matched.pop();
                all
            }
        };
        match from {
            Some(from) => whole.molecule.neighbors(from).iter().any(|n| take(n.atom)),
            None => {
                let part = &self.whole.surroundings[step.atom];
                let mut atoms = whole.surroundings.iter().enumerate();
                atoms.any(|(atom, around)| part.are_part_of(around) && take(atom))
            }
        }
    }

    /// Returns whether the atoms of all steps have the configurations of the part.
    fn is_configured(&self, whole: &Whole, matched: &[usize]) -> bool {
        let part = &self.whole.molecule;
        let other = &whole.molecule;
        let mut places = vec![0; matched.len()];
        self.steps.iter().zip(matched).for_each(|(step, &atom)| places[step.atom] = atom);
        part.centers.iter().all(|center| {
            let counterpart = other.centers.iter().find(|other| other.atom == places[center.atom]);
            counterpart.is_some_and(|other| turns_alike(center, other, &places))
        }) && part.geometries.iter().all(|geometry| {
            let ends = geometry.ends.map(|end| places[end]);
            let is_there = |end: &usize| ends.contains(end);
            let counterpart = other.geometries.iter().find(|other| other.ends.iter().all(is_there));
            counterpart.is_some_and(|other| lies_alike(geometry, other, &places))
        })
    }

    /// Returns whether `atom` can be the atom of `step`, given the atoms of earlier steps.
    fn fits(&self, step: &Step, atom: usize, whole: &Whole, matched: &[usize]) -> bool {
        let part_atom = &self.whole.molecule.atoms()[step.atom];
        let target = &whole.molecule.atoms()[atom];
        let allows = |bond: usize, order: BondOrder| {
            let part_bond = &self.whole.molecule.bonds()[bond];
            part_bond.aromatic || part_bond.order.multiplicity() == 1 || part_bond.order == order
        };
        let surroundings = &self.whole.surroundings[step.atom];
        (part_atom.element == Element::WILDCARD || part_atom.element == target.element)
            && surroundings.are_part_of(&whole.surroundings[atom])
            && (target.aromatic || !part_atom.aromatic)
            && (part_atom.charge == 0 || part_atom.charge == target.charge)
            && !matched.contains(&atom)
            && step.bonds.iter().all(|&(earlier, bond)| {
                let neighbors = &mut whole.molecule.neighbors(atom).iter();
                neighbors.any(|n| {
                    n.atom == matched[earlier]
                        && allows(bond, whole.molecule.bonds()[n.bond].order)
                        && (whole.ring_bonds[n.bond] || !self.whole.ring_bonds[bond])
                })
            })
    }
}

/// Returns whether a centre of a molecule has the configuration of one of a part, whose atoms have these places in it.
/// Any ligand may take the place of the part's hydrogen.
fn turns_alike(part: &Center, other: &Center, places: &[usize]) -> bool {
    let is_placed =
        |ligand| part.ligands.iter().any(|&part_ligand| places.get(part_ligand) == Some(&ligand));
    let rank = |ligand| if is_placed(ligand) { ligand } else { usize::MAX };
    other.clockwise_by(rank) == part.clockwise_by(|ligand| places[ligand])
}

/// Returns whether a double bond of the part and one of the molecule have the same geometry.
fn lies_alike(part: &Geometry, other: &Geometry, places: &[usize]) -> bool {
    let mut references = other.references;
    if other.ends != part.ends.map(|end| places[end]) {
        references.reverse();
    }
    let other_side = (0..2).filter(|&end| references[end] != places[part.references[end]]);
    part.together == (other.together ^ (other_side.count() == 1))
}

impl Whole {
    fn from_molecule(molecule: Molecule, role: Role) -> Self {
        let mut ring_bonds = vec![false; molecule.bonds().len()];
        let rings = molecule.rings().iter();
        rings.flat_map(|ring| molecule.ring_bonds(ring)).for_each(|bond| ring_bonds[bond] = true);
        let mut atoms = BTreeMap::new();
        for atom in molecule.atoms().iter().filter(|atom| atom.element != Element::WILDCARD) {
            *atoms.entry((atom.element, atom.aromatic)).or_insert(0) += 1;
        }
        let around = |atom| Surroundings::of(&molecule, &ring_bonds, atom, role);
        let surroundings = (0..molecule.atoms().len()).map(around).collect();
        Self { molecule, ring_bonds, atoms, surroundings }
    }
}
