//! Which candidates each query is ranked against: lists in a file, or those of the mass or the formula of a spectrum.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use dsokr_core::store::check_inside;
use dsokr_data::{DataRoot, Split};
use dsokr_decode::{Candidates, PerQuery};
use dsokr_molecule::{ELECTRON, ElementCounts, Molecule};
use dsokr_spectra::{Adduct, Polarity, Spectrum};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};
use crate::metrics::molecules::are_smiles;

/// A rule for the candidates that each query is ranked against. As a text it is the name of a file, `mass:PPM`,
/// `formula` or `all`.
#[derive(Clone, Debug, derive_more::Display, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CandidateRule {
    /// A file of lists, which [`PerQuery::read`] reads.
    Lists(String),
    /// Molecules whose ion, with the adduct that the spectrum names, has the precursor's m/z within so many millionths of
    /// it; by default the adduct is a proton, `[M+H]+` or `[M-H]-`. All where the adduct is not one that is known.
    #[display("{MASS}{_0}")]
    Mass(f64),
    /// Molecules of the formula that the spectrum names.
    #[display("{FORMULA}")]
    Formula,
    /// All candidates.
    #[display("{ALL}")]
    All,
}

const MASS: &str = "mass:";
const FORMULA: &str = "formula";
const ALL: &str = "all";

impl FromStr for CandidateRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match (text.strip_prefix(MASS), text) {
            (None, FORMULA) => Ok(Self::Formula),
            (None, ALL) => Ok(Self::All),
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
            Self::Mass(_) | Self::Formula | Self::All => Ok(()),
        }
    }

    /// The rule with its file in the folder of the data.
    pub(crate) fn inside(&self, root: &DataRoot) -> Self {
        match self {
            Self::Lists(file) => Self::Lists(root.file(file).to_string_lossy().into_owned()),
            Self::Mass(_) | Self::Formula | Self::All => self.clone(),
        }
    }

    /// The candidates of each query of a split; none where each is ranked against all. `masses` has those of the
    /// candidates, and `polarity` is of spectra that do not say theirs.
    ///
    /// # Errors
    /// A file of lists that cannot be read; candidates that are not molecules; queries that are not spectra, or without a
    /// formula.
    pub(crate) fn lists(
        &self,
        split: &Split,
        candidates: &Candidates,
        masses: &CandidateMasses,
        polarity: Polarity,
    ) -> Result<Option<PerQuery>, Error> {
        let names = split.names();
        type List = Result<Vec<u32>, dsokr_data::Error>;
        // a parallel collection into a `Result` would give any thread's error
        let lists: Vec<List> = match self {
            Self::All => return Ok(None),
            Self::Lists(file) => {
                return Ok(Some(PerQuery::read(Path::new(file), names, candidates)?));
            }
            Self::Mass(ppm) => {
                let default = polarity.protons(1).parse()?;
                let weighed = masses.read(candidates)?;
                let list = |text: &String| {
                    let ions = Ions::of(&text.parse()?, &default);
                    Ok(weighed.of_ions(&ions, *ppm, candidates.len()))
                };
                split.inputs.texts()?.par_iter().map(list).collect()
            }
            Self::Formula => {
                let weighed = masses.read(candidates)?;
                let list = |text: &String| weighed.of_formula(&text.parse()?);
                split.inputs.texts()?.par_iter().map(list).collect()
            }
        };
        let named = |(query, list): (usize, List)| {
            list.map_err(|error| error.of(format_args!("query {:?}: ", names[query])))
        };
        let lists = lists.into_iter().enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(PerQuery::new(&lists, candidates)?))
    }
}

/// What the precursor of a spectrum may be.
pub(crate) struct Ions {
    mz: f64,
    /// Its possible adducts; none of an adduct that is not known.
    adducts: Vec<Adduct>,
}

impl Ions {
    /// Reads the ions of a spectrum, which have the adduct `default` where it names none.
    fn of(spectrum: &Spectrum, default: &Adduct) -> Self {
        let adducts = match spectrum.ions() {
            Ok(none) if none.is_empty() => vec![default.clone()],
            Ok(adducts) => adducts,
            Err(_) => Vec::new(),
        };
        Self { mz: spectrum.precursor_mz(), adducts }
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
        if let Some(masses) = self.0.get() {
            return Ok(masses);
        }
        let read = Weighed::from_candidates(candidates)?;
        Ok(self.0.get_or_init(|| read))
    }
}

impl Weighed {
    /// Reads masses and formulas from the labels of candidates. Labels that are not SMILES are candidates of no query.
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
        let mut masses: Vec<(f64, u32)> =
            all.iter().map(|&(mass, _, candidate)| (mass, candidate)).collect();
        masses.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut formulas: HashMap<_, Vec<u32>> = HashMap::new();
        all.into_iter()
            .for_each(|(_, atoms, candidate)| formulas.entry(atoms).or_default().push(candidate));
        Ok(Self { masses, formulas })
    }

    /// The candidates that may be the molecule of these ions; all of `count` where their adduct is not known.
    fn of_ions(&self, ions: &Ions, ppm: f64, count: usize) -> Vec<u32> {
        if ions.adducts.is_empty() {
            return (0..count as u32).collect();
        }
        let mut list = Vec::new();
        for adduct in &ions.adducts {
            let [low, high] = [-ppm, ppm].map(|ppm| adduct.mass(ions.mz * (1.0 + ppm * 1e-6)));
            let from = self.masses.partition_point(|&(mass, _)| mass < low);
            let near = self.masses[from..].iter().take_while(|&&(mass, _)| mass <= high);
            list.extend(near.map(|&(_, candidate)| candidate));
        }
        list.sort_unstable();
        // two adducts may have the same candidate
        list.dedup();
        list
    }

    fn of_formula(&self, spectrum: &Spectrum) -> Result<Vec<u32>, dsokr_data::Error> {
        Ok(self.formulas.get(&spectrum.molecule()?).cloned().unwrap_or_default())
    }
}
