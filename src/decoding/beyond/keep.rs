//! Facts that all predicted molecules of a search have.

use dsokr_molecule::{Fact, Formula, Molecule, formula};

use crate::config::BeyondConfig;
use crate::config::candidate_rule::MoleculeRule;
use crate::decoding::filter::FoundFilter;
use crate::error::Error;

/// What the molecules that are found for queries have, beside what the settings say.
#[derive(Default)]
pub(crate) struct Restrictions {
    /// The molecules that the rule for the candidates of each query leaves, none where these are all; empty where the
    /// rule asks nothing of molecules.
    pub rules: Vec<Option<MoleculeRule>>,
    /// The filter of candidates. A molecule for which it does not hold is not shown.
    pub filter: Option<FoundFilter>,
}

/// Tests that a molecule passes.
pub(super) struct Keep {
    formula: Option<String>,
    mass: Option<[f64; 2]>,
    part: Option<Fact>,
}

impl Keep {
    pub fn from_config(settings: &BeyondConfig) -> Result<Self, Error> {
        let given = settings.formula.clone().filter(|_| !settings.keeps_first_formula());
        let formula = given.filter(|formula| !formula.is_empty());
        Ok(Self { formula, mass: settings.mass, part: settings.part()? })
    }

    /// Returns whether some molecule may fail.
    pub fn is_restricted(&self) -> bool {
        self.formula.is_some() || self.mass.is_some() || self.part.is_some()
    }

    /// Returns whether a SMILES may write a molecule that passes, as far as its atoms say, which are read in a fraction of
    /// the time of the molecule.
    pub fn may_hold(&self, smiles: &str) -> bool {
        if self.formula.is_none() && self.mass.is_none() {
            return true;
        }
        Formula::parse(smiles).is_ok_and(|read| {
            // a charge may follow the atoms
            let atoms = formula(&read.atoms);
            self.formula.as_ref().is_none_or(|required| required.starts_with(&atoms))
                && self.has_mass(read.molar_mass)
        })
    }

    /// Returns whether [`may_hold`](Self::may_hold) says all: a mass alone is that of the atoms.
    pub fn is_of_atoms(&self) -> bool {
        self.formula.is_none() && self.part.is_none()
    }

    fn has_mass(&self, mass: f64) -> bool {
        self.mass.is_none_or(|[low, high]| (low..=high).contains(&mass))
    }

    pub fn holds(&self, molecule: &Molecule, formula: &str) -> bool {
        let has =
            |part: &Fact| Fact::which(std::slice::from_ref(part), molecule.clone()) == [Some(true)];
        self.formula.as_ref().is_none_or(|required| required == formula)
            && self.has_mass(molecule.molar_mass())
            && self.part.as_ref().is_none_or(has)
    }
}
