//! Facts that all predicted molecules of a search have.

use dsokr_molecule::{Fact, Molecule};

use crate::config::BeyondConfig;
use crate::error::Error;

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

    /// Whether some molecule may fail.
    pub fn is_restricted(&self) -> bool {
        self.formula.is_some() || self.mass.is_some() || self.part.is_some()
    }

    pub fn holds(&self, molecule: &Molecule, formula: &str) -> bool {
        let within = |[low, high]: [f64; 2]| (low..=high).contains(&molecule.molar_mass());
        let has =
            |part: &Fact| Fact::which(std::slice::from_ref(part), molecule.clone()) == [Some(true)];
        self.formula.as_ref().is_none_or(|required| required == formula)
            && self.mass.is_none_or(within)
            && self.part.as_ref().is_none_or(has)
    }
}
