//! Which candidates each query is ranked against: lists in a file, those of the mass or the formula of a spectrum, those
//! of the queries, or a sample.

use std::collections::HashSet;
use std::path::Path;
use std::str::FromStr;

use dsokr_core::random::{below, generator};
use dsokr_core::store::check_inside;
use dsokr_data::table::open_text;
use dsokr_data::{DataRoot, Split};
use dsokr_decode::{Candidates, PerQuery};
use dsokr_molecule::{ElementCounts, formula};
use dsokr_spectra::{Polarity, Spectrum};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::masses::{CandidateMasses, Ions};
use crate::error::{Error, ensure};

/// A rule for the candidates that each query is ranked against. As a text it is the name of a file, `mass:PPM`,
/// `formula`, `queries`, `sample:N`, `sample:N:SEED` or `all`.
#[derive(Clone, Debug, derive_more::Display, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CandidateRule {
    /// A file of lists, which [`PerQuery::read`] reads, also with `.gz` behind its name.
    Lists(String),
    /// Molecules whose ion, with the adduct that the spectrum names, has the precursor's m/z within so many millionths of
    /// it; by default the adduct is a proton, `[M+H]+` or `[M-H]-`. All where the adduct is not one that is known.
    #[display("{MASS}{_0}")]
    Mass(f64),
    /// Molecules of the formula that the spectrum names.
    #[display("{FORMULA}")]
    Formula,
    /// The right outputs of all queries of the split.
    #[display("{QUERIES}")]
    Queries,
    /// The right outputs of the query, and so many other candidates, which are drawn at random, without replacement, for
    /// each query.
    #[display("{SAMPLE}{others}{}", if *seed == 0 { String::new() } else { format!(":{seed}") })]
    Sample {
        /// The number of candidates that are drawn.
        others: usize,
        /// The seed of the draws; 0 if the text has none.
        seed: u64,
    },
    /// All candidates.
    #[display("{ALL}")]
    All,
}

/// Which molecules a rule leaves to a query, be they candidates or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MoleculeRule {
    /// Molecules with a mass in Da in one of these ranges.
    Masses(Vec<[f64; 2]>),
    /// Molecules of a formula, which is written without a charge.
    Formula(String),
}

impl MoleculeRule {
    /// Returns whether a molecule is one of them that has this mass in Da and this formula, with or without a charge.
    pub fn holds(&self, mass: f64, formula: &str) -> bool {
        match self {
            Self::Masses(ranges) => ranges.iter().any(|&[low, high]| (low..=high).contains(&mass)),
            Self::Formula(required) => {
                let atoms = formula.find(['+', '-']).map_or(formula, |charge| &formula[..charge]);
                atoms == required
            }
        }
    }
}

const MASS: &str = "mass:";
const FORMULA: &str = "formula";
const QUERIES: &str = "queries";
const SAMPLE: &str = "sample:";
const ALL: &str = "all";

impl FromStr for CandidateRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |allowed| Error::value("candidates", format_args!("{text:?}"), allowed);
        if let Some(ppm) = text.strip_prefix(MASS) {
            let number = ppm.trim().parse().ok().filter(|ppm| (1e-3..=1e5).contains(ppm));
            let allowed = "mass:PPM with a number of millionths, 0.001 to 100000, such as mass:10";
            return number.map(Self::Mass).ok_or_else(|| wrong(allowed));
        }
        if let Some(sample) = text.strip_prefix(SAMPLE) {
            let allowed =
                "sample:N or sample:N:SEED with whole numbers and N at least 1, such as sample:63";
            return Self::sample(sample).ok_or_else(|| wrong(allowed));
        }
        Ok(match text {
            FORMULA => Self::Formula,
            QUERIES => Self::Queries,
            ALL => Self::All,
            file => Self::Lists(file.into()),
        })
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
    /// Returns the rule of `N` or `N:SEED`.
    fn sample(text: &str) -> Option<Self> {
        let (others, seed) = text.split_once(':').unwrap_or((text, "0"));
        let others = others.trim().parse().ok().filter(|&others| others > 0)?;
        Some(Self::Sample { others, seed: seed.trim().parse().ok()? })
    }

    /// Returns the rule with this seed, if it draws candidates.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        match self {
            Self::Sample { others, .. } => Self::Sample { others: *others, seed },
            Self::Lists(_) | Self::Mass(_) | Self::Formula | Self::Queries | Self::All => {
                self.clone()
            }
        }
    }

    /// Refuses a rule that a search has nothing for: a file of lists, and rules by right outputs.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] of `candidates`.
    pub fn check_search(&self) -> Result<(), Error> {
        let because = match self {
            Self::Mass(_) | Self::Formula | Self::All => return Ok(()),
            Self::Lists(_) => "",
            Self::Queries | Self::Sample { .. } => ": the right outputs of a search are not known",
        };
        let found = format!("{:?}", self.to_string());
        let allowed = format!(
            "\"all\", or where the model reads spectra \"mass:PPM\" or \"formula\"{because}"
        );
        Err(Error::value("candidates", found, allowed))
    }

    /// Refuses a file that is not inside of the data.
    pub(crate) fn validate(&self, key: &str) -> Result<(), Error> {
        match self {
            Self::Lists(file) => Ok(check_inside(key, file)?),
            Self::Mass(_) | Self::Formula | Self::Queries | Self::Sample { .. } | Self::All => {
                Ok(())
            }
        }
    }

    /// Returns the rule with its file in the folder of the data.
    pub(crate) fn inside(&self, root: &DataRoot) -> Self {
        match self {
            Self::Lists(file) => Self::Lists(root.file(file).to_string_lossy().into_owned()),
            Self::Mass(_) | Self::Formula | Self::Queries | Self::Sample { .. } | Self::All => {
                self.clone()
            }
        }
    }

    /// Returns the candidates of each query of a split; none where each is ranked against all. `masses` has those of the
    /// candidates, and `polarity` is of spectra that do not say theirs.
    ///
    /// # Errors
    /// A file of lists that cannot be read; candidates that are not molecules; queries that are not spectra, or without a
    /// formula; queries without right outputs among the candidates; too few candidates for a sample.
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
                let path = Path::new(file);
                let text = open_text(path)?;
                return Ok(Some(PerQuery::read_from(text, path, names, candidates)?));
            }
            Self::Queries => {
                let mut list = self.right_outputs(split, candidates)?.concat();
                list.sort_unstable();
                list.dedup();
                return Ok(Some(PerQuery::repeated(list, names.len(), candidates)?));
            }
            Self::Sample { others, seed } => {
                let right = self.right_outputs(split, candidates)?;
                let most = right.iter().map(|right| candidates.len() - right.len()).min();
                let most = most.unwrap_or(0);
                let allowed = format_args!(
                    "sample:N with N at least 1 and at most {most}, the number of other candidates"
                );
                ensure((1..=most).contains(others), "candidates", self, allowed)?;
                let draw = |(query, right): (usize, Vec<u32>)| {
                    Ok(drawn(right, *others, candidates.len(), *seed, query as u64))
                };
                right.into_iter().enumerate().map(draw).collect()
            }
            Self::Mass(ppm) => {
                let default = polarity.protons(1).parse()?;
                let masses = masses.read(candidates)?;
                let list = |text: &String| {
                    let ions = Ions::of(&text.parse()?, &default);
                    Ok(masses.of_ions(&ions, *ppm, candidates.len()))
                };
                split.inputs.texts()?.par_iter().map(list).collect()
            }
            Self::Formula => {
                let masses = masses.read(candidates)?;
                let atoms = |text: &String| Ok(text.parse::<Spectrum>()?.molecule()?);
                let formulas: Vec<Result<ElementCounts, dsokr_data::Error>> =
                    split.inputs.texts()?.par_iter().map(atoms).collect();
                let different: HashSet<&ElementCounts> = formulas.iter().flatten().collect();
                let lists = masses.of_formulas(&different, candidates);
                let list = |atoms| lists.get(&atoms).cloned().unwrap_or_default();
                formulas.into_iter().map(|atoms| atoms.map(list)).collect()
            }
        };
        let named = |(query, list): (usize, List)| {
            list.map_err(|error| error.of(format_args!("query {:?}: ", names[query])))
        };
        let lists = lists.into_iter().enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(PerQuery::new(&lists, candidates)?))
    }

    /// Returns the molecules that the rule leaves to each query of a split, which are spectra; none where it leaves all. It
    /// is empty where the rule asks nothing of molecules. `polarity` is of spectra that do not say theirs.
    ///
    /// # Errors
    /// Queries that are not spectra, or without a formula.
    pub(crate) fn molecules(
        &self,
        split: &Split,
        polarity: Polarity,
    ) -> Result<Vec<Option<MoleculeRule>>, Error> {
        type Rule = Result<Option<MoleculeRule>, dsokr_data::Error>;
        let rules: Vec<Rule> = match self {
            Self::Lists(_) | Self::Queries | Self::Sample { .. } | Self::All => Vec::new(),
            Self::Mass(ppm) => {
                let default = polarity.protons(1).parse()?;
                let rule = |text: &String| {
                    let masses = Ions::of(&text.parse()?, &default).masses(*ppm);
                    Ok((!masses.is_empty()).then_some(MoleculeRule::Masses(masses)))
                };
                split.inputs.texts()?.iter().map(rule).collect()
            }
            Self::Formula => {
                let rule = |text: &String| {
                    let atoms = text.parse::<Spectrum>()?.molecule()?;
                    Ok(Some(MoleculeRule::Formula(formula(&atoms))))
                };
                split.inputs.texts()?.iter().map(rule).collect()
            }
        };
        Ok(rules.into_iter().collect::<Result<_, _>>()?)
    }

    /// Returns the right outputs of each query that are candidates.
    fn right_outputs(
        &self,
        split: &Split,
        candidates: &Candidates,
    ) -> Result<Vec<Vec<u32>>, Error> {
        let places = |golds: Vec<String>| {
            let mut places: Vec<u32> = golds
                .iter()
                .filter_map(|gold| candidates.find(gold))
                .map(|candidate| candidate as u32)
                .collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let right: Vec<Vec<u32>> = split.golds().into_iter().map(places).collect();
        let allowed = "a rule for queries without right outputs among the candidates: mass:PPM, formula, all or a file";
        ensure(right.iter().any(|right| !right.is_empty()), "candidates", self, allowed)?;
        Ok(right)
    }
}

/// Returns `right`, and behind it so many of the other candidates below `count`, at random.
fn drawn(mut right: Vec<u32>, others: usize, count: usize, seed: u64, query: u64) -> Vec<u32> {
    let mut random = generator(seed, "sampled candidates", query);
    let mut taken: HashSet<u32> = right.iter().copied().collect();
    let wanted = right.len() + others;
    while right.len() < wanted {
        let candidate = below(&mut random, count as u64) as u32;
        if taken.insert(candidate) {
            right.push(candidate);
        }
    }
    right
}
