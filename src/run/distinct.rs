//! Coordinates that were made elsewhere, ranks of chosen candidates, and how sure first places are.

use std::collections::BTreeSet;

use dsokr_data::{Split, Truth};
use dsokr_decode::report::{ReliabilityBin, reliability};
use dsokr_decode::{Decoded, Hit, MissingGold, Pool, Rank};

use super::{Answer, EnsembleRun, QueryAnswers, Run};
use crate::Error;
use crate::query_texts::QueryTexts;

impl EnsembleRun {
    /// The predictions for coordinates `[queries × p]` that were made elsewhere.
    ///
    /// # Errors
    /// [`Error::Value`] for several members, each of which has coordinates of its own.
    pub fn ask_coordinates(&self, queries: usize, z: &[f32]) -> Result<QueryAnswers, Error> {
        if self.members().len() > 1 {
            let found = format!("given, for {} members", self.members().len());
            return Err(Error::value("coordinates", found, "a run of one model"));
        }
        let look = self.members()[0].look.as_ref();
        if look.is_some_and(|look| look.words().is_some()) {
            let allowed = "texts: the second look of the run compares their words with candidates";
            return Err(Error::value("coordinates", "given", allowed));
        }
        let read = |_: &Run| Ok(Split::texts(vec![String::new(); queries]));
        self.ask_with(read, None, |_, _| Ok(z.to_vec()))
    }

    /// The rank and the score of chosen candidates of each query, by id, among all candidates.
    ///
    /// # Errors
    /// As [`distinct`](Self::distinct); an id that is no candidate's.
    pub fn rank_candidates(
        &self,
        asked: &QueryAnswers,
        chosen: &[Vec<String>],
    ) -> Result<Vec<Vec<Decoded>>, Error> {
        let rows =
            || chosen.iter().enumerate().flat_map(|(query, own)| own.iter().map(move |_| query));
        let repeat = |(run, z): (&Run, &Vec<f32>)| -> Vec<f32> {
            let p = z.len() / chosen.len().max(1);
            debug_assert_eq!(p, dsokr_decode::CandidateBlocks::dim(&run.candidates));
            rows().flat_map(|query| &z[query * p..][..p]).copied().collect()
        };
        let answers: Vec<Vec<f32>> =
            self.members().iter().zip(&asked.answers).map(repeat).collect();
        let repeated = QueryTexts::of(asked.split()).repeat(&rows().collect::<Vec<_>>());
        if repeated.names.is_empty() {
            return Ok(vec![Vec::new(); chosen.len()]);
        }
        let models = self.models(None);
        let ranking = models.ranking(repeated.of_rows(), &answers)?;
        let gold = ranking.gold(Pool::Shared, &chosen.concat(), MissingGold::Error)?;
        let mut decoded = ranking.decode(Pool::Shared, &self.rule, &gold, 1)?.into_iter();
        Ok(chosen.iter().map(|own| decoded.by_ref().take(own.len()).collect()).collect())
    }

    /// How often the first candidate is right, for queries in the order of its gap to the next candidate that
    /// is no duplicate: at most `bins` bins, whose scores are gaps. A set of labels or a ranking is right if it
    /// is the true one, any other candidate if it is the gold candidate.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn gap_reliability(
        &self,
        asked: &QueryAnswers,
        bins: usize,
    ) -> Result<Vec<ReliabilityBin>, Error> {
        let answers = self.distinct(asked, 0..1, None)?;
        let ranks = match self.first_ranks(asked.split().truth.as_ref(), &answers)? {
            Some(ranks) => ranks,
            None => {
                let (models, split) = (self.models(None), asked.split());
                let ranking = models.ranking(QueryTexts::of(split), &asked.answers)?;
                models.rank_golds(&ranking, split, &asked.answers, asked.pool())?.0.ranks
            }
        };
        let decoded = ranks.into_iter().zip(answers).map(|(rank, answer)| {
            let hit = Hit { candidate: 0, score: answer.gap.unwrap_or(f32::MAX) };
            Decoded { rank, gold_score: None, hits: vec![hit] }
        });
        Ok(reliability(&decoded.collect::<Vec<_>>(), bins)?)
    }

    /// Rank 1 where the first hit is the true set of labels or ranking, which need not be a candidate, and none
    /// elsewhere; nothing of outputs that are neither.
    fn first_ranks(
        &self,
        truth: Option<&Truth>,
        answers: &[Answer],
    ) -> Result<Option<Vec<Option<Rank>>>, Error> {
        let first = || {
            let first = answers.iter().map(|answer| answer.hits.first());
            let labels = first.map(|hit| hit.map_or("", |hit| hit.label.as_str()));
            self.config().output.features.truth_of_labels(labels)
        };
        let right: Vec<bool> = if let Some(Truth::Labels(truth)) = truth
            && let Some(Truth::Labels(first)) = first()?
        {
            let set = |labels: &Vec<String>| labels.iter().cloned().collect::<BTreeSet<_>>();
            first.iter().zip(truth).map(|(a, b)| set(a) == set(b)).collect()
        } else if let Some(Truth::Rankings(truth)) = truth
            && let Some(Truth::Rankings(first)) = first()?
        {
            first.iter().zip(truth).map(|(a, b)| a == b).collect()
        } else {
            return Ok(None);
        };
        let rank =
            |right| if right { Rank::new(0, 1, self.candidates() as u64).ok() } else { None };
        Ok(Some(right.into_iter().map(rank).collect()))
    }
}
