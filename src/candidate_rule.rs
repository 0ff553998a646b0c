//! Which candidates each query is ranked against: lists in a file, or those of the mass or the formula of a spectrum.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use dsokr_data::spectra::Spectrum;
use dsokr_data::{DataRoot, Split, check_inside};
use dsokr_decode::{Candidates, PerQuery};
use dsokr_molecule::{ELECTRON, ElementCounts, Molecule};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::ensure;
use crate::molecules::are_smiles;

/// A rule for the candidates that each query is ranked against. As a text it is the name of a file, `mass:PPM` or
/// `formula`.
#[derive(Clone, Debug, derive_more::Display, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CandidateRule {
    /// A file of lists, which [`PerQuery::read`] reads.
    Lists(String),
    /// Molecules whose ion, with the adduct that the spectrum names (`[M+H]+` where it names none), has the precursor's
    /// m/z within so many millionths of it.
    #[display("{MASS}{_0}")]
    Mass(f64),
    /// Molecules of the formula that the spectrum names.
    #[display("{FORMULA}")]
    Formula,
}

const MASS: &str = "mass:";
const FORMULA: &str = "formula";

impl FromStr for CandidateRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match (text.strip_prefix(MASS), text) {
            (None, FORMULA) => Ok(Self::Formula),
            (None, file) => Ok(Self::Lists(file.into())),
            (Some(ppm), _) => {
                let number = ppm.trim().parse().ok().filter(|ppm| (1e-3..=1e5).contains(ppm));
                let allowed =
                    "mass:PPM with a number of millionths, 0.001 to 100000, such as mass:10";
                let wrong = || Error::value("candidates", format_args!("{text:?}"), allowed);
                number.map(Self::Mass).ok_or_else(wrong)
            }
        }
    }
}

impl TryFrom<String> for CandidateRule {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<CandidateRule> for String {
    fn from(rule: CandidateRule) -> Self {
        rule.to_string()
    }
}

impl CandidateRule {
    /// Refuses a file that is not inside of the data.
    pub(crate) fn validate(&self, key: &str) -> Result<(), Error> {
        match self {
            Self::Lists(file) => Ok(check_inside(key, file)?),
            Self::Mass(_) | Self::Formula => Ok(()),
        }
    }

    /// The rule with its file in the folder of the data.
    pub(crate) fn inside(&self, root: &DataRoot) -> Self {
        match self {
            Self::Lists(file) => Self::Lists(root.file(file).to_string_lossy().into_owned()),
            Self::Mass(_) | Self::Formula => self.clone(),
        }
    }

    /// The candidates of each query of a split. `known` has the masses of the candidates.
    ///
    /// # Errors
    /// A file of lists that cannot be read; candidates that are not molecules; queries that are not spectra, whose adduct
    /// cannot be read, or without a formula.
    pub(crate) fn lists(
        &self,
        split: &Split,
        candidates: &Candidates,
        known: &CandidateMasses,
    ) -> Result<PerQuery, Error> {
        let known = match self {
            Self::Lists(file) => {
                return Ok(PerQuery::read(Path::new(file), split.names(), candidates)?);
            }
            Self::Mass(_) | Self::Formula => known.read(candidates)?,
        };
        let names = split.names();
        let list = |(query, text): (usize, &String)| {
            let own = || match self {
                Self::Mass(ppm) => known.of_mass(&text.parse()?, *ppm),
                Self::Formula | Self::Lists(_) => known.of_formula(&text.parse()?),
            };
            own().map_err(|error| error.of(format_args!("query {:?}: ", names[query])))
        };
        // a parallel collection into a `Result` would give any thread's error
        let lists: Vec<_> = split.inputs.texts()?.par_iter().enumerate().map(list).collect();
        Ok(PerQuery::new(
            &lists.into_iter().collect::<Result<Vec<_>, dsokr_data::Error>>()?,
            candidates,
        )?)
    }
}

/// Masses and formulas of candidates that are molecules, read when they are first needed.
#[derive(Default)]
pub(crate) struct CandidateMasses(OnceLock<Weighed>);

struct Weighed {
    /// The mass in Da of the atoms of each, by increasing mass.
    masses: Vec<(f64, u32)>,
    formulas: HashMap<ElementCounts, Vec<u32>>,
}

impl CandidateMasses {
    fn read(&self, candidates: &Candidates) -> Result<&Weighed, Error> {
        if let Some(known) = self.0.get() {
            return Ok(known);
        }
        let read = Weighed::from_candidates(candidates)?;
        Ok(self.0.get_or_init(|| read))
    }
}

impl Weighed {
    /// Of the labels of candidates. Those that are not SMILES are candidates of no query.
    ///
    /// # Errors
    /// Candidates that are not molecules.
    fn from_candidates(candidates: &Candidates) -> Result<Self, Error> {
        let allowed = "the column of the SMILES of candidates, whose masses and formulas are compared with spectra";
        ensure(are_smiles(candidates), "output.label", "a column of other labels", allowed)?;
        let read = |candidate: usize| {
            let molecule = Molecule::parse(candidates.label(candidate)).ok()?;
            let mass = molecule.exact_mass() + f64::from(molecule.charge()) * ELECTRON;
            Some((mass, molecule.composition(), candidate as u32))
        };
        let all: Vec<_> = (0..candidates.len()).into_par_iter().filter_map(read).collect();
        let mut masses: Vec<(f64, u32)> = all.iter().map(|&(mass, _, own)| (mass, own)).collect();
        masses.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut formulas: HashMap<_, Vec<u32>> = HashMap::new();
        all.into_iter().for_each(|(_, atoms, own)| formulas.entry(atoms).or_default().push(own));
        Ok(Self { masses, formulas })
    }

    fn of_mass(&self, spectrum: &Spectrum, ppm: f64) -> Result<Vec<u32>, dsokr_data::Error> {
        let adduct = spectrum.ion()?;
        let mz = spectrum.precursor_mz;
        let [low, high] = [-ppm, ppm].map(|ppm| adduct.mass(mz * (1.0 + ppm * 1e-6)));
        let from = self.masses.partition_point(|&(mass, _)| mass < low);
        let mut list: Vec<u32> = self.masses[from..]
            .iter()
            .take_while(|&&(mass, _)| mass <= high)
            .map(|&(_, own)| own)
            .collect();
        list.sort_unstable();
        Ok(list)
    }

    fn of_formula(&self, spectrum: &Spectrum) -> Result<Vec<u32>, dsokr_data::Error> {
        Ok(self.formulas.get(&spectrum.molecule()?).cloned().unwrap_or_default())
    }
}
