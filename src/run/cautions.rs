//! Which candidates a search ranks where nobody says it, and what is doubtful about queries that are spectra.

use std::collections::BTreeMap;

use dsokr_data::Split;
use dsokr_decode::PerQuery;
use dsokr_spectra::Spectrum;

use super::Run;
use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};

/// Millionths of the precursor's m/z in which a search looks for molecules by default.
const PPM: f64 = 10.0;

impl Run {
    /// The rule that a search goes by: the one that is given, else for a model of spectra whose candidates are
    /// molecules `mass:10`; none where all candidates are ranked.
    ///
    /// # Errors
    /// A rule by mass or formula for a model that does not read spectra.
    pub fn rule_of_search(
        &self,
        given: Option<&CandidateRule>,
    ) -> Result<Option<CandidateRule>, Error> {
        let reads_spectra = self.config().encoder.abilities().spectra;
        match given {
            Some(CandidateRule::All) => Ok(None),
            Some(rule @ (CandidateRule::Mass(_) | CandidateRule::Formula)) => {
                let found = format!("{:?}", rule.to_string());
                let allowed = "\"all\" or absent: the model does not read spectra";
                ensure(reads_spectra, "candidates", found, allowed)?;
                Ok(Some(rule.clone()))
            }
            Some(
                rule @ (CandidateRule::Lists(_)
                | CandidateRule::Queries
                | CandidateRule::Sample { .. }),
            ) => Ok(Some(rule.clone())),
            None => {
                let weighs = reads_spectra
                    && self.shards.is_none()
                    && self.masses.are_known(&self.members[0].candidates);
                Ok(weighs.then_some(CandidateRule::Mass(PPM)))
            }
        }
    }

    /// A query as a model of spectra reads it: where it names no adduct, it has a proton more or less, by the polarity of the
    /// training spectra.
    ///
    /// # Errors
    /// A text that is not a spectrum.
    pub(crate) fn spectrum(&self, text: &str) -> Result<Spectrum, Error> {
        let assumed = self.members[0].polarities.assumed().protons(1);
        let spectrum: Spectrum = text.parse()?;
        Ok(spectrum.or_adduct(&assumed)?)
    }

    /// Reads what the rule of a search compares queries with, so that the first search need not wait for it.
    ///
    /// # Errors
    /// Candidates that the rule does not read.
    pub(crate) fn read_rule(&self) -> Result<(), Error> {
        match self.rule_of_search(None)? {
            Some(CandidateRule::Mass(_) | CandidateRule::Formula) => {
                self.masses.read(&self.members[0].candidates)?;
            }
            Some(
                CandidateRule::Lists(_)
                | CandidateRule::Queries
                | CandidateRule::Sample { .. }
                | CandidateRule::All,
            )
            | None => {}
        }
        Ok(())
    }

    /// What is doubtful about each query of a split under a rule that gave these lists, which is logged too; empty for
    /// queries that are not spectra.
    pub(super) fn cautions(
        &self,
        split: &Split,
        rule: Option<&CandidateRule>,
        lists: Option<&PerQuery>,
    ) -> Vec<Vec<String>> {
        let spectra = self.config().encoder.abilities().spectra;
        let Some(texts) = split.inputs.texts().ok().filter(|_| spectra) else { return Vec::new() };
        let caution = |(query, text): (usize, &String)| {
            let Ok(spectrum) = text.parse::<Spectrum>() else { return Vec::new() };
            let polarity = self.polarity_caution(&spectrum);
            let candidates = lists.map_or(usize::MAX, |lists| lists.list(query).len());
            let candidates = candidates_caution(&spectrum, rule, candidates);
            polarity.into_iter().chain(candidates).collect()
        };
        let cautions: Vec<Vec<String>> = texts.iter().enumerate().map(caution).collect();
        log(&cautions, split.names());
        cautions
    }

    /// The caution about a spectrum of a polarity that no training spectrum has.
    fn polarity_caution(&self, spectrum: &Spectrum) -> Option<String> {
        let trained = self.members[0].polarities.only()?;
        let polarity = spectrum.polarity().filter(|polarity| *polarity != trained)?;
        Some(format!(
            "a spectrum of {polarity} mode, and the model was trained on {trained} mode only"
        ))
    }
}

/// The caution about a spectrum to which a rule gives no candidate, or by its mass all of them, since its adduct is unknown.
fn candidates_caution(
    spectrum: &Spectrum,
    rule: Option<&CandidateRule>,
    candidates: usize,
) -> Option<String> {
    let none = match rule {
        Some(CandidateRule::Mass(_)) if spectrum.ions().is_err() => {
            let adduct = spectrum.adduct().unwrap_or_default();
            return Some(format!(
                "the adduct {adduct:?} is not known, so candidates of every mass are ranked"
            ));
        }
        Some(CandidateRule::Mass(ppm)) => {
            format!("no candidate has an ion within {ppm} ppm of the precursor")
        }
        Some(CandidateRule::Formula) => {
            format!("no candidate has the formula {}", spectrum.formula().unwrap_or_default())
        }
        Some(
            CandidateRule::Lists(_)
            | CandidateRule::Queries
            | CandidateRule::Sample { .. }
            | CandidateRule::All,
        )
        | None => "the list of its candidates is empty".to_owned(),
    };
    (candidates == 0).then(|| format!("{none}; with the candidates \"all\", every one is ranked"))
}

/// Logs each caution once, with the number of queries that it is about and the first of them.
pub(super) fn log(cautions: &[Vec<String>], names: &[String]) {
    let mut queries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (cautions, name) in cautions.iter().zip(names) {
        for caution in cautions {
            queries.entry(caution).or_default().push(name);
        }
    }
    for (caution, names) in queries {
        let others = match names.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} others"),
        };
        let first = match names[0] {
            // the one of a search
            "" => "the query".to_owned(),
            name => format!("query {name:?}"),
        };
        tracing::warn!("{first}{others}: {caution}");
    }
}
