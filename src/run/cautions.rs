//! Which candidates a search ranks where nobody says it, and what is doubtful about queries.

use std::collections::{BTreeMap, HashSet};

use dsokr_data::{Split, SplitName, input_numbers};
use dsokr_decode::{PerQuery, Reranker};
use dsokr_spectra::Spectrum;

use super::{PredictedQueries, Run};
use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::metrics::queries::queries_text;

/// Millionths of the precursor's m/z in which a search looks for molecules by default.
const PPM: f64 = 10.0;

/// The caution about a text of which the model knows no part, such as a word.
const UNKNOWN: &str = "the model knows no part of this text: the order means nothing";

impl Run {
    /// Returns the rule that a search goes by: the one that is given, else for a model of spectra whose candidates are
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

    /// Returns a query as a model of spectra reads it: where it names no adduct, it has a proton more or less, by the
    /// polarity of the training spectra.
    ///
    /// # Errors
    /// A text that is not a spectrum.
    pub fn spectrum(&self, text: &str) -> Result<Spectrum, Error> {
        let assumed = self.members[0].polarities.assumed().protons(1);
        let spectrum: Spectrum = text.parse()?;
        Ok(spectrum.or_adduct(&assumed)?)
    }

    /// Reads what the rule of a search compares queries with, so that the first search need not wait for it.
    ///
    /// # Errors
    /// Candidates that the rule does not read.
    pub fn read_rule(&self) -> Result<(), Error> {
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

    /// Returns whether no member knows any part of each query, which the members read as these splits: the prediction for it says
    /// nothing of it. Empty where every query says something to a member, and for pairs of the data, which are evaluated.
    ///
    /// # Errors
    /// Texts that cannot be prepared.
    pub(super) fn unknown(&self, splits: &[Split]) -> Result<Vec<bool>, Error> {
        let first = &splits[0];
        let Ok(texts) = first.inputs.texts() else { return Ok(Vec::new()) };
        if first.outputs.iter().any(Option::is_some) {
            return Ok(Vec::new());
        }
        // queries that are coordinates have empty texts
        let mut unknown: Vec<bool> = texts.iter().map(|text| !text.is_empty()).collect();
        for (member, split) in self.members.iter().zip(splits) {
            // a reranker compares words with candidates by itself
            let has_words = member.reranker.as_ref().is_some_and(Reranker::reads_texts);
            if has_words || !unknown.contains(&true) {
                return Ok(Vec::new());
            }
            let known = member.predictor.knows(split)?;
            if known.is_empty() {
                return Ok(Vec::new());
            }
            for (unknown, known) in unknown.iter_mut().zip(known) {
                *unknown &= !known;
            }
        }
        Ok(unknown)
    }

    /// Returns what is doubtful about each query of a split under a rule that gave these lists, which is logged too: that it is
    /// `unknown`, and of spectra what their precursors say. Empty where nothing is.
    pub(super) fn cautions(
        &self,
        split: &Split,
        unknown: &[bool],
        rule: Option<&CandidateRule>,
        lists: Option<&PerQuery>,
    ) -> Vec<Vec<String>> {
        let spectra = self.config().encoder.abilities().spectra;
        let spectra = split.inputs.texts().ok().filter(|_| spectra);
        if spectra.is_none() && !unknown.contains(&true) {
            return Vec::new();
        }
        let caution = |query: usize| {
            let mut cautions = Vec::new();
            if unknown.get(query) == Some(&true) {
                cautions.push(UNKNOWN.to_owned());
            }
            if let Some(texts) = spectra
                && let Ok(spectrum) = texts[query].parse::<Spectrum>()
            {
                let candidates = lists.map_or(usize::MAX, |lists| lists.list(query).len());
                cautions.extend(self.polarity_caution(&spectrum));
                cautions.extend(candidates_caution(&spectrum, rule, candidates));
            }
            cautions
        };
        let cautions: Vec<Vec<String>> = (0..split.ids.len()).map(caution).collect();
        self.log_cautions(&cautions, split.names());
        cautions
    }

    /// Logs each caution once, with the number of queries that it is about and the first of them.
    pub(super) fn log_cautions(&self, cautions: &[Vec<String>], names: &[String]) {
        if self.logs_cautions {
            log(cautions, names);
        }
    }

    /// Returns a caution about metrics of a split of the data on which a member has chosen something; none where nothing was
    /// chosen.
    pub fn caution_about(&self, split: SplitName) -> Option<String> {
        self.members.iter().find_map(|member| member.config.caution_about(split))
    }

    /// Returns a caution where some queries have the input of a training pair of the first member: an equal text or vector,
    /// or another SMILES of the molecule. None where the training pairs cannot be read, since their files have gone.
    ///
    /// # Errors
    /// Errors from reading vectors.
    pub fn caution_of_learned(&self, queries: &PredictedQueries) -> Result<Option<String>, Error> {
        let data = queries.data.as_deref();
        let Ok(train) = self.members[0].read_split(SplitName::Train, data) else {
            return Ok(None);
        };
        let numbers = input_numbers(&[&train.inputs, &queries.split().inputs])?;
        let [training_inputs, query_inputs] = &numbers[..] else { return Ok(None) };
        let learned: HashSet<u64> = training_inputs.iter().copied().flatten().collect();
        let is_learned = |number: &&Option<u64>| number.is_some_and(|n| learned.contains(&n));
        let count = query_inputs.iter().filter(is_learned).count();
        if count == 0 {
            return Ok(None);
        }
        let all = queries_text(query_inputs.len());
        let have = if count == 1 {
            "has the input of a training pair"
        } else {
            "have inputs of training pairs"
        };
        Ok(Some(format!("{count} of {all} {have}: the metrics say less about new ones")))
    }

    /// Returns a caution where a member keeps the rows of a group together, and the table of the queries does not say their groups.
    pub(crate) fn caution_of_groups(&self, queries: &PredictedQueries) -> Option<String> {
        let is_known = |split: &Split| !split.lacks_groups && !split.groups.is_empty();
        if queries.splits.iter().any(is_known) {
            return None;
        }
        let mut members = self.members.iter().zip(&queries.splits);
        let (member, _) = members.find(|(_, split)| split.lacks_groups)?;
        let rule = member.config.data.facts().splits?.group.as_deref()?;
        Some(format!(
            "the table lacks what data.splits.group = {rule:?} is about, so that each of its rows counts by itself"
        ))
    }

    /// Returns the caution about a spectrum of a polarity that no training spectrum has.
    fn polarity_caution(&self, spectrum: &Spectrum) -> Option<String> {
        let trained = self.members[0].polarities.only()?;
        let polarity = spectrum.polarity().filter(|polarity| *polarity != trained)?;
        Some(format!(
            "a spectrum of {polarity} mode, and the model was trained on {trained} mode only"
        ))
    }
}

/// Returns the caution about a spectrum to which a rule gives no candidate, or by its mass all of them, since its adduct is
/// unknown.
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
fn log(cautions: &[Vec<String>], names: &[String]) {
    let mut queries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (cautions, name) in cautions.iter().zip(names) {
        for caution in cautions {
            queries.entry(caution).or_default().push(name);
        }
    }
    for (caution, names) in queries {
        let others = match names.len() - 1 {
            0 => String::new(),
            1 => " and 1 other".to_owned(),
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
