//! The properties of candidates that are molecules, as filters compare them.

use std::sync::OnceLock;

use dsokr_data::cells;
use dsokr_decode::Candidates;
use dsokr_molecule::{Element, ElementCounts, FunctionalGroup, Molecule, functional_groups};
use rayon::prelude::*;

use super::condition::{Comparison, Operator, Value};
use crate::decoding::fingerprint::Fingerprint;
use crate::error::{Error, did_you_mean, listed};

/// The most candidates whose properties are kept.
pub(crate) const MOST: usize = 1_000_000;

/// The properties that filters name, each with an example.
pub(crate) const PROPERTIES: [(&str, &str); 4] = [
    ("mass", "mass < 300, the molar mass in g/mol"),
    ("formula", "formula = C9H8O4, or C9* for at least nine atoms of carbon"),
    ("group", "group = \"carboxylic acid\", a functional group"),
    (
        "similarity",
        "similarity(\"OC(=O)c1ccccc1\") >= 0.5, of Morgan fingerprints (radius 2, 2,048 bits), by Tanimoto",
    ),
];

/// What filters need to know of candidates that are molecules, read when it is first needed.
#[derive(Default)]
pub(crate) struct MoleculeFacts {
    /// Whether they are molecules.
    pub are_molecules: OnceLock<bool>,
    /// Their properties.
    pub properties: OnceLock<MoleculeProperties>,
}

/// The properties of each candidate; none of labels that are not SMILES.
pub(crate) struct MoleculeProperties(Vec<Option<Properties>>);

pub(super) struct Properties {
    mass: f64,
    /// A bit a group, in the order of [`FunctionalGroup::ALL`].
    groups: u128,
    composition: Box<[(Element, usize)]>,
    fingerprint: Fingerprint,
}

impl Properties {
    pub fn from_label(label: &str) -> Option<Self> {
        let molecule = Molecule::parse(label).ok()?;
        let groups = functional_groups(&molecule);
        let bits = FunctionalGroup::ALL.iter().zip(0..);
        let groups = bits.filter(|(group, _)| groups.contains_key(group));
        Some(Self {
            mass: molecule.molar_mass(),
            groups: groups.map(|(_, bit)| 1 << bit).sum(),
            composition: molecule.composition().into_iter().collect(),
            fingerprint: Fingerprint::new(&molecule),
        })
    }
}

impl MoleculeProperties {
    /// Reads the properties of all candidates of some sets, one behind the other.
    pub(crate) fn from_candidates<'a>(all: impl IntoIterator<Item = &'a Candidates>) -> Self {
        let properties = |candidates: &'a Candidates| {
            (0..candidates.len())
                .into_par_iter()
                .map(|candidate| Properties::from_label(candidates.label(candidate)))
                .collect::<Vec<_>>()
        };
        Self(all.into_iter().flat_map(properties).collect())
    }

    pub(super) fn get(&self, candidate: usize) -> Option<&Properties> {
        self.0.get(candidate)?.as_ref()
    }
}

/// A comparison of a property.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MoleculeTest {
    Mass(Operator, f64),
    Formula {
        atoms: ElementCounts,
        /// Whether there may be more.
        more: bool,
        equal: bool,
    },
    Group {
        bit: u128,
        has: bool,
    },
    Similarity(Fingerprint, Operator, f64),
}

impl MoleculeTest {
    /// Returns the comparison, if its name is that of a property.
    ///
    /// # Errors
    /// A value that the property does not have.
    pub fn read(comparison: &Comparison) -> Result<Option<Self>, Error> {
        let operator = comparison.operator;
        let test = match comparison.name.as_str() {
            "mass" => Self::Mass(operator, number(comparison)?),
            "formula" => {
                let (atoms, more) = read_formula(comparison)?;
                Self::Formula { atoms, more, equal: equality(comparison)? }
            }
            "group" => Self::Group { bit: group(comparison)?, has: equality(comparison)? },
            "similarity" => {
                let least = number(comparison)?;
                if !(0.0..=1.0).contains(&least) {
                    return Err(comparison.places[2].error(&least.to_string(), "0 to 1"));
                }
                return Ok(Some(Self::Similarity(reference(comparison)?, operator, least)));
            }
            _ => return Ok(None),
        };
        if let Some(text) = &comparison.argument {
            let brackets = format!("{text:?} in brackets");
            return Err(comparison.places[0].error(&brackets, "no brackets behind this name"));
        }
        Ok(Some(test))
    }

    pub fn holds(&self, molecule: &Properties) -> bool {
        match self {
            Self::Mass(operator, value) => operator.holds(molecule.mass, *value),
            Self::Formula { atoms, more, equal } => molecule.has(atoms, *more) == *equal,
            Self::Group { bit, has } => (molecule.groups & bit != 0) == *has,
            Self::Similarity(reference, operator, value) => {
                operator.holds(reference.tanimoto(&molecule.fingerprint), *value)
            }
        }
    }
}

impl Properties {
    /// Returns whether the molecule has these atoms, or also `more`.
    fn has(&self, atoms: &ElementCounts, more: bool) -> bool {
        let holds = |(element, wanted): (&Element, &usize)| {
            let count = self.composition.iter().find(|(other, _)| other == element);
            let count = count.map_or(0, |(_, count)| *count);
            count == *wanted || (more && count > *wanted)
        };
        (more || atoms.len() == self.composition.len()) && atoms.iter().all(holds)
    }
}

fn number(comparison: &Comparison) -> Result<f64, Error> {
    match &comparison.value {
        Value::Number(number) => Ok(*number),
        Value::Text(text) => Err(comparison.places[2].error(&format!("{text:?}"), "a number")),
    }
}

/// Returns whether it is to be equal; an order is refused.
pub(super) fn equality(comparison: &Comparison) -> Result<bool, Error> {
    let operator = comparison.operator;
    operator.equality().ok_or_else(|| {
        let order = format!("\"{operator}\" of a text");
        comparison.places[1].error(&order, "= or !=; numbers are also compared by <, <=, >=, >")
    })
}

/// Returns the value as a text, a number as it is shown.
fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
    }
}

/// Returns the bit of a functional group.
fn group(comparison: &Comparison) -> Result<u128, Error> {
    let name = text(&comparison.value);
    let place = FunctionalGroup::ALL.iter().position(|group| group.name() == name);
    let place = place.ok_or_else(|| {
        let names: Vec<String> = FunctionalGroup::ALL.iter().map(|group| group.name()).collect();
        let all = names.iter().map(String::as_str);
        let question = did_you_mean(&name, all.clone());
        let allowed = format!("one of {}", listed(all));
        comparison.places[2].error(&format!("{name:?}{question}"), &allowed)
    })?;
    Ok(1 << place)
}

/// Returns the fingerprint of the molecule that similarity is to.
fn reference(comparison: &Comparison) -> Result<Fingerprint, Error> {
    let smiles = cells::smiles(comparison.argument.as_deref().unwrap_or_default());
    if smiles.is_empty() {
        let allowed = "a SMILES in brackets, such as similarity(\"OC(=O)c1ccccc1\")";
        return Err(comparison.places[0].error("no molecule", allowed));
    }
    let molecule = Molecule::parse(smiles).map_err(|reason| {
        comparison.places[0].error(&format!("{smiles:?} ({reason})"), "a SMILES")
    })?;
    Ok(Fingerprint::new(&molecule))
}

/// Returns the numbers of atoms of a formula such as `C9H8O4`, and whether `*` at its end allows more.
fn read_formula(comparison: &Comparison) -> Result<(ElementCounts, bool), Error> {
    let written = text(&comparison.value);
    let compact: String = written.split_whitespace().collect();
    let (atoms, more) = match compact.strip_suffix('*') {
        Some(atoms) => (atoms, true),
        None => (compact.as_str(), false),
    };
    let atoms = dsokr_molecule::read_formula(atoms).ok_or_else(|| {
        let allowed =
            "element symbols with counts, such as C9H8O4, and * at the end for at least these";
        comparison.places[2].error(&format!("{written:?}"), allowed)
    })?;
    Ok((atoms, more))
}
