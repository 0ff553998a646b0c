//! The examples that a reranker learns from.

use std::sync::Arc;

use dsokr_decode::{
    CandidateBlocks, Candidates, Evidence, Neighbourhood, Queries, RerankerExamples,
    RerankerFeatures, Words,
};

use super::RerankerTraining;
use super::texts::PairTexts;
use crate::config::RerankerConfig;
use crate::config::candidate_rule::CandidateRule;
use crate::config::folds::rest;
use crate::error::Error;
use crate::learners::learner::FoldPredictions;
use crate::targets::Problem;

/// How far a candidate's ion may be from the precursor, in millionths, in the lists that examples of spectra have too.
const WINDOW: f64 = 10.0;

/// The examples of a fold, and what a reranker compares them with.
pub(super) struct FoldExamples {
    /// Number of examples that it added.
    pub added: usize,
    /// What a reranker reads that has not seen the fold.
    pub features: RerankerFeatures,
    /// The texts of the examples, where they are compared.
    pub texts: Option<Vec<String>>,
}

/// Makes the examples that a reranker learns from.
pub(super) struct ExampleBuilder<'a> {
    settings: &'a RerankerConfig,
    texts: Option<&'a PairTexts<'a>>,
    /// The weights of words by all training pairs.
    pub all_words: Option<Words>,
    problem: &'a Problem,
    /// The coordinates of the training outputs.
    outputs: Vec<f32>,
    candidates: &'a Candidates,
}

impl<'a> ExampleBuilder<'a> {
    /// Creates the builder of the examples of a training.
    pub fn new(training: &RerankerTraining<'a>) -> Result<Self, Error> {
        let RerankerTraining { settings, texts, problem, targets, candidates, .. } = *training;
        let all_words = match texts.and_then(|texts| texts.words.as_ref()) {
            Some(words) => {
                let pairs = problem.dataset.train.ids.len();
                let of_all = words.fit(0..pairs)?.for_rows(candidates.distinct());
                Some(of_all.with_known(words.of_candidates(problem, candidates)))
            }
            None => None,
        };
        let outputs = targets.coordinates()?;
        Ok(Self { settings, texts, all_words, problem, outputs, candidates })
    }

    /// Adds the pairs of a fold as examples, and some of the other pairs, which its model was fitted to.
    pub fn add_fold(
        &self,
        fold: &FoldPredictions,
        examples: &mut RerankerExamples,
    ) -> Result<FoldExamples, Error> {
        let p = self.candidates.dim();
        let ids = &self.problem.dataset.train.ids;
        let held_out = Queries::new(p, &fold.rest.predictions)?.normalised();
        let among = self.candidates.clone().with_hubs_like(self.candidates, &held_out)?;
        let others = rest(&fold.fold.pairs, ids.len());
        let features = self.features(&others, self.neighbourhood(&fold.rest.pairs, held_out)?)?;

        // a spectrum that the model knows finds itself among those that candidates are compared by: of such examples the
        // network would learn to trust the most similar spectrum too much
        let knows_spectra = self.texts.is_some_and(|texts| texts.spectra.is_some());
        let fitted_pairs: &[usize] = if knows_spectra { &[] } else { &fold.fitted_pairs };
        let fitted_predictions: &[f32] = if knows_spectra { &[] } else { &fold.fitted_predictions };
        let shown = [fold.fold.pairs.as_slice(), fitted_pairs].concat();
        let predictions = [fold.fold.predictions.as_slice(), fitted_predictions].concat();
        let predictions = Queries::new(p, &predictions)?.normalised();
        let texts: Option<Vec<String>> =
            self.texts.map(|all| shown.iter().map(|&pair| all.texts[pair].clone()).collect());
        let queries = Queries::new(p, &predictions)?;
        let queries = match &texts {
            Some(texts) => queries.with_texts(texts)?,
            None => queries,
        };
        let row = |&pair: &usize| among.find(&ids[pair]).map(|at| among.class_of(at));
        let gold: Vec<Option<u32>> = shown.iter().map(row).collect();
        let before = examples.len();
        examples.add(&queries, &gold, &among, &features)?;
        if let Some(spectra) = self.texts.and_then(|texts| texts.spectra.as_ref()) {
            let split = self.problem.dataset.train.select(&shown)?;
            let window = CandidateRule::Mass(WINDOW);
            if let Some(lists) = window.lists(&split, &among, &spectra.masses, spectra.assumed)? {
                examples.add_listed(&queries, &gold, &lists, &among, &features)?;
            }
        }
        Ok(FoldExamples { added: examples.len() - before, features, texts })
    }

    /// Returns the training pairs that queries are compared with, whose held-out predictions have unit length.
    pub fn neighbourhood(
        &self,
        pairs: &[usize],
        held_out: Vec<f32>,
    ) -> Result<Neighbourhood, Error> {
        let p = self.candidates.dim();
        let outputs = pairs.iter().flat_map(|pair| &self.outputs[pair * p..][..p]).copied();
        let neighbours = self.settings.neighbours;
        Ok(Neighbourhood::new(p, held_out, outputs.collect(), neighbours)?)
    }

    /// Returns what a reranker compares with that has seen the pairs `rest`, with the training pairs that are near.
    fn features(
        &self,
        rest: &[usize],
        neighbourhood: Neighbourhood,
    ) -> Result<RerankerFeatures, Error> {
        let words = self.texts.and_then(|texts| texts.words.as_ref());
        let words = match (words, &self.all_words) {
            (Some(words), Some(all)) => Some(words.fit(rest.iter().copied())?.with_rows_of(all)),
            _ => None,
        };
        Ok(RerankerFeatures { neighbourhood, words, evidence: self.evidence(rest) })
    }

    /// Returns what spectra say by some of the pairs; none where they are not compared.
    pub fn evidence(&self, pairs: &[usize]) -> Option<Arc<dyn Evidence>> {
        let spectra = self.texts?.spectra.as_ref()?;
        Some(Arc::new(spectra.spectra.evidence(pairs)))
    }
}
