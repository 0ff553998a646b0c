//! Facts about a molecule that hold or do not.

mod part;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::Error;
use crate::features::chain_lengths;
use crate::groups::{FunctionalGroup, functional_groups};
use crate::molecule::{Element, Molecule};
use part::{Part, Whole};

/// What may hold of a molecule, read from one of the forms
///
/// | form | holds if |
/// |---|---|
/// | `atom Cl` | it has an atom of the element |
/// | `group Ester` | it has the [`FunctionalGroup`] |
/// | `part C1CCNCC1` | it has the part, written as a SMILES: the same elements; aromatic atoms, bonds in rings, double and triple bonds and charges where the part has them; else any |
/// | `chain 18` | a longest path from an end of a carbon chain outside rings has so many carbons |
/// | `charge -2`, `charge negative`, `charge positive` | the sum of its charges is this, below 0, above 0 |
/// | `zwitterion` | it has charges of both signs on atoms that are not neighbours of one another |
/// | `components` | it has several, as salts and hydrates |
/// | `isotope` | an atom has a mass number |
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
    Part(Box<Part>),
    Chain(u32),
    Charge(i32),
    Negative,
    Positive,
    Zwitterion,
    Components,
    Isotope,
}

/// What several facts ask of a molecule.
struct Known {
    whole: Whole,
    groups: BTreeMap<FunctionalGroup, usize>,
    chains: BTreeSet<u32>,
}

impl Fact {
    /// Which of the facts hold of a molecule; none where the search for a part is given up, after 2²⁰ steps.
    pub fn which(facts: &[Self], molecule: Molecule) -> Vec<Option<bool>> {
        let known = Known {
            groups: functional_groups(&molecule),
            chains: chain_lengths(&molecule),
            whole: Whole::of(molecule),
        };
        facts.iter().map(|fact| fact.holds(&known)).collect()
    }

    fn holds(&self, known: &Known) -> Option<bool> {
        let mut all_known = true;
        for form in &self.0 {
            match form.holds(known) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => all_known = false,
            }
        }
        all_known.then_some(false)
    }
}

impl Form {
    fn holds(&self, known: &Known) -> Option<bool> {
        let molecule = &known.whole.molecule;
        let atoms = molecule.atoms();
        Some(match self {
            Self::Atom(element) => molecule.count(*element) > 0,
            Self::Group(group) => known.groups.contains_key(group),
            Self::Part(part) => return part.is_in(&known.whole),
            Self::Chain(length) => known.chains.contains(length),
            Self::Charge(sum) => molecule.charge() == *sum,
            Self::Negative => molecule.charge() < 0,
            Self::Positive => molecule.charge() > 0,
            Self::Zwitterion => [-1, 1].iter().all(|sign| {
                let charge = |atom: usize| i32::from(atoms[atom].charge) * sign;
                (0..atoms.len()).any(|atom| {
                    let around = &mut molecule.neighbors(atom).iter();
                    charge(atom) > 0 && around.all(|n| charge(n.atom) >= 0)
                })
            }),
            Self::Components => molecule.components().iter().any(|&component| component > 0),
            Self::Isotope => atoms.iter().any(|atom| atom.isotope.is_some()),
        })
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let (kind, of) = text.split_once(' ').unwrap_or((text, ""));
        let of = of.trim();
        let refused =
            |allowed: &str| Err(Error::parameter("fact", "", format!("{text:?}"), allowed));
        Ok(match (kind, of) {
            ("atom", _) => {
                let mut elements = (1..119).map(Element);
                match elements.find(|element| element.symbol() == of) {
                    Some(element) => Self::Atom(element),
                    None => return refused("the symbol of an element behind \"atom\""),
                }
            }
            ("group", _) => {
                let mut groups = FunctionalGroup::ALL.iter();
                match groups.find(|group| format!("{group:?}") == of) {
                    Some(group) => Self::Group(*group),
                    None => {
                        let all = FunctionalGroup::ALL.iter().map(|group| format!("{group:?}"));
                        let all = all.collect::<Vec<_>>().join(", ");
                        return refused(&format!("a group behind \"group\": {all}"));
                    }
                }
            }
            ("part", _) => match Part::parse(of) {
                Ok(part) => Self::Part(Box::new(part)),
                Err(reason) => {
                    return refused(&format!("a SMILES behind \"part\", and {reason}"));
                }
            },
            ("chain", _) => match of.parse() {
                Ok(length) if length > 0 => Self::Chain(length),
                Ok(_) | Err(_) => return refused("a number of carbons behind \"chain\""),
            },
            ("charge", "negative") => Self::Negative,
            ("charge", "positive") => Self::Positive,
            ("charge", _) => match of.parse() {
                Ok(sum) => Self::Charge(sum),
                Err(_) => {
                    return refused("a whole number, negative or positive behind \"charge\"");
                }
            },
            ("zwitterion", "") => Self::Zwitterion,
            ("components", "") => Self::Components,
            ("isotope", "") => Self::Isotope,
            _ => {
                return refused(
                    "atom SYMBOL, group NAME, part SMILES, chain LENGTH, charge SUM, zwitterion, components or \
                     isotope",
                );
            }
        })
    }
}

impl FromStr for Fact {
    type Err = Error;

    /// # Errors
    /// [`Error::Parameter`] for a text that has none of the forms. It names the text and the forms.
    fn from_str(text: &str) -> Result<Self, Error> {
        text.split(" | ").map(|form| Form::parse(form.trim())).collect::<Result<_, _>>().map(Self)
    }
}
