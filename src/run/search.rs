//! Answers to queries, ranks of chosen candidates, and how sure first places are.

use std::collections::BTreeSet;
use std::ops::Range;

use dsokr_core::Processes;
use dsokr_data::{Split, Truth};
use dsokr_decode::report::{ReliabilityBin, reliability};
use dsokr_decode::{
    CandidateBlocks, Candidates, Decoded, Hit, MissingGold, Pool, Rank, RankedHits,
};

use super::{Member, PredictedQueries, Run, WantedCandidates};
use crate::config::Checked;
use crate::config::candidate_rule::CandidateRule;
use crate::decoding::answer;
use crate::decoding::answer::{Answer, DistinctHits, Quantile, distinct_hits};
use crate::decoding::beyond::BeyondSearch;
use crate::decoding::evaluation::Models;
use crate::error::{Error, ensure};
use crate::metrics::quantiles::number;

impl Run {
    /// Returns the answer to a text: the `top` best candidates, by the default [rule](Self::rule_of_search), and what else the
    /// configuration predicts. Duplicates are one hit, so there may be fewer.
    ///
    /// # Errors
    /// As [`answer_queries`](Self::answer_queries); an empty text.
    pub fn search(&self, text: &str, top: usize) -> Result<Answer, Error> {
        Ok(self.search_all(&[text], top)?.into_iter().next().unwrap_or_default())
    }

    /// Returns the answer to each of several texts, which are ranked together: faster than a [`search`](Self::search) for each.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn search_all(&self, texts: &[impl AsRef<str>], top: usize) -> Result<Vec<Answer>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let among = self.rule_of_search(None)?;
        let alone = &Processes::default();
        self.answer_queries(alone, |member| member.texts(texts), among.as_ref(), None, top)
    }

    /// Returns the answer to each query, as [`search`](Self::search) does. `read` gives the queries as a member reads them, with
    /// inputs of any kind. A rule `among` says which candidates compete for each query, without it all do; of these an answer
    /// has only those that are [`wanted`](Self::wanted). The memory grows with their number, so a long stream is answered some queries at a time. Several processes, which
    /// all call this, rank the candidates together.
    ///
    /// # Errors
    /// Errors of `read`; a `top` of 0; inputs that a member does not read; as
    /// [`predict`](Self::predict).
    pub fn answer_queries(
        &self,
        processes: &Processes,
        read: impl Fn(&Member) -> Result<Split, Error>,
        among: Option<&CandidateRule>,
        wanted: Option<&WantedCandidates>,
        top: usize,
    ) -> Result<Vec<Answer>, Error> {
        check_top(top)?;
        let top = top.min(self.candidates());
        let queries = self.predict(processes, read, among)?;
        self.answers_by(self.search.as_ref(), &queries, 0..top, wanted)
    }

    /// Returns the hits of each query at the places `places` among the distinct candidates that are wanted, best first; fewer at
    /// the end. Ranks, ties and gaps are those among all candidates of the query. `wanted` says which candidates are wanted, of
    /// all or of those that the [`shards`](Self::shards) of this process hold; without it all are. It says nothing of molecules
    /// beyond the candidates.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's; a score that is not finite.
    pub fn answers(
        &self,
        queries: &PredictedQueries,
        places: Range<usize>,
        wanted: Option<&[bool]>,
    ) -> Result<Vec<Answer>, Error> {
        let search = self.search.as_ref();
        let restrictions = self.restrictions(search, queries, None)?;
        let models = Models { search, restrictions, ..self.models(&queries.processes) };
        self.doubted_answers(&models, queries, places, wanted)
    }

    /// Answers queries as [`answers`](Self::answers) does, with a given search for molecules beyond the candidates, or with none.
    /// What is wanted holds of these too.
    pub(crate) fn answers_by(
        &self,
        search: Option<&BeyondSearch>,
        queries: &PredictedQueries,
        places: Range<usize>,
        wanted: Option<&WantedCandidates>,
    ) -> Result<Vec<Answer>, Error> {
        let restrictions = self.restrictions(search, queries, wanted)?;
        let models = Models { search, restrictions, ..self.models(&queries.processes) };
        self.doubted_answers(&models, queries, places, wanted.map(WantedCandidates::each))
    }

    /// Returns the answer of `models` to each query, with what is doubtful about it.
    fn doubted_answers(
        &self,
        models: &Models,
        queries: &PredictedQueries,
        places: Range<usize>,
        wanted: Option<&[bool]>,
    ) -> Result<Vec<Answer>, Error> {
        let mut answers = models.answers(
            queries.split(),
            &queries.predictions,
            queries.pool(),
            places,
            wanted,
        )?;
        // those of the queries are in the log already
        let search_cautions: Vec<Vec<String>> =
            answers.iter().map(|answer| answer.cautions.clone()).collect();
        self.log_cautions(&search_cautions, queries.split().names());
        for (answer, query_cautions) in answers.iter_mut().zip(&queries.cautions) {
            answer.cautions.splice(0..0, query_cautions.iter().cloned());
        }
        for (answer, &is_unknown) in answers.iter_mut().zip(&queries.unknown) {
            // the order is that of the constants of candidates
            answer.gap = answer.gap.filter(|_| !is_unknown);
        }
        Ok(answers)
    }

    /// Returns the predicted quantiles of each query; none for several members, or a model without them.
    pub fn quantiles(&self, queries: &PredictedQueries) -> Vec<Vec<Quantile>> {
        quantiles_of(self.config(), &queries.predictions)
    }

    /// Returns the number of a candidate of a run whose outputs are numbers.
    ///
    /// # Errors
    /// Coordinates that cannot be read.
    pub fn number(&self, candidates: &Candidates, candidate: usize) -> Result<f32, Error> {
        let levels = self.config().encoder.abilities().levels.unwrap_or_default();
        number(levels, candidates, candidates.class_of(candidate))
    }

    /// Returns the rank and the score of chosen candidates of each query, by id, among all candidates.
    ///
    /// # Errors
    /// As [`answers`](Self::answers); an id that does not belong to a candidate.
    pub fn rank_candidates(
        &self,
        queries: &PredictedQueries,
        chosen: &[Vec<String>],
    ) -> Result<Vec<Vec<Decoded>>, Error> {
        // each query once for each of its chosen candidates
        let mut rows: Vec<usize> = Vec::new();
        for (query, ids) in chosen.iter().enumerate() {
            rows.extend(ids.iter().map(|_| query));
        }
        let repeat = |(member, z): (&Member, &Vec<f32>)| -> Vec<f32> {
            let p = member.candidates.dim();
            rows.iter().flat_map(|query| &z[query * p..][..p]).copied().collect()
        };
        let predictions: Vec<Vec<f32>> =
            self.members().iter().zip(&queries.predictions).map(repeat).collect();
        let repeated = queries.split().select(&rows)?;
        if repeated.ids.is_empty() {
            return Ok(vec![Vec::new(); chosen.len()]);
        }
        let models = self.models(&queries.processes);
        let ensemble = models.ensemble(&repeated, &predictions)?;
        let gold = ensemble.gold(Pool::Shared, &chosen.concat(), MissingGold::Error)?;
        let mut decoded = ensemble.decode(Pool::Shared, &self.rule, &gold, 1)?.into_iter();
        Ok(chosen.iter().map(|ids| decoded.by_ref().take(ids.len()).collect()).collect())
    }

    /// Returns how often the first candidate is right, for queries in the order of its gap to the next candidate that
    /// is not a duplicate: at most `bins` bins, whose scores are gaps. A set of labels or a ranking is right if it
    /// is the true one, any other candidate if it is the gold candidate.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn gap_reliability(
        &self,
        queries: &PredictedQueries,
        bins: usize,
    ) -> Result<Vec<ReliabilityBin>, Error> {
        let split = queries.split();
        let mut models = self.models(&queries.processes);
        // the gaps are gaps between candidates
        models.search = None;
        let answers = models.answers(split, &queries.predictions, queries.pool(), 0..1, None)?;
        let ranks = match self.first_ranks(split.truth.as_ref(), &answers)? {
            Some(ranks) => ranks,
            None => {
                let models = self.models(&queries.processes);
                let ensemble = models.ensemble(split, &queries.predictions)?;
                let golds = models.rank_golds(
                    &ensemble,
                    split,
                    &queries.predictions,
                    queries.pool(),
                    models.missing(split),
                )?;
                golds.decoded.into_iter().map(|query| query.rank).collect()
            }
        };
        let decoded = ranks.into_iter().zip(answers).map(|(rank, answer)| {
            let hit = Hit { candidate: 0, score: answer.gap.unwrap_or(f32::MAX) };
            Decoded { rank, gold_score: None, hits: vec![hit] }
        });
        Ok(reliability(&decoded.collect::<Vec<_>>(), &queries.groups(), bins)?)
    }

    /// Returns rank 1 where the first hit is the true set of labels or ranking, which need not be a candidate, and none
    /// elsewhere; nothing of outputs that are neither.
    fn first_ranks(
        &self,
        truth: Option<&Truth>,
        answers: &[Answer],
    ) -> Result<Option<Vec<Option<Rank>>>, Error> {
        let first = answers.iter().map(|answer| answer.hits.first());
        let labels = first.map(|hit| hit.map_or("", |hit| hit.label.as_str()));
        let features = &self.config().output.features;
        let set = |labels: &[String]| labels.iter().cloned().collect::<BTreeSet<_>>();
        let Some(truth) = truth else { return Ok(None) };
        let right: Vec<bool> = match truth {
            Truth::Labels(truth) => {
                let Some(Truth::Labels(first)) = features.truth_of_labels(labels)? else {
                    return Ok(None);
                };
                first.iter().zip(truth).map(|(a, b)| set(a) == set(b)).collect()
            }
            Truth::Rankings(truth) => {
                let Some(Truth::Rankings(first)) = features.truth_of_labels(labels)? else {
                    return Ok(None);
                };
                first.iter().zip(truth).map(|(a, b)| a == b).collect()
            }
            // labels of other kinds are not parsed
            Truth::Molecules(_) | Truth::Graphs(_) | Truth::Classes(_) | Truth::Numbers(_) => {
                return Ok(None);
            }
        };
        let rank =
            |right| if right { Rank::new(0, 1, self.candidates() as u64).ok() } else { None };
        Ok(Some(right.into_iter().map(rank).collect()))
    }
}

impl Member {
    /// Reads texts as queries without outputs, prepared as the configuration prepares its own.
    ///
    /// # Errors
    /// An empty text; one that should be a SMILES and is not.
    pub fn texts(&self, texts: &[impl AsRef<str>]) -> Result<Split, Error> {
        let source = self.config.source();
        let read = |text: &str| {
            let found = format_args!("{text:?}");
            let allowed = "a text that is not empty";
            ensure(!text.trim().is_empty(), "the text", found, allowed)?;
            Ok(source.query(text)?)
        };
        let texts = texts.iter().map(|text| read(text.as_ref()));
        Ok(Split::texts(texts.collect::<Result<_, Error>>()?))
    }

    /// Returns the predicted coordinates z of texts, `[texts × p]` row-major, before any scaling of
    /// `decoding`.
    ///
    /// # Errors
    /// As [`texts`](Self::texts); a model that reads no text.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<f32>, Error> {
        self.coordinates(&self.texts(texts)?)
    }
}

impl Models<'_> {
    /// Returns the caution about a search beyond the candidates of a query that has found nothing.
    fn nothing_found(&self) -> String {
        let filter = self.restrictions.filter.as_ref();
        let caution = if filter.is_some_and(|filter| !filter.may_hold()) {
            "nothing was searched beyond the candidates: the filter asks for columns, which only candidates have"
        } else {
            "the search beyond the candidates met no molecule that passes the filter and has what is to be kept"
        };
        caution.to_owned()
    }

    /// Returns the answer to each query with these predictions, and cautions about searches for it; see [`Run::answers`].
    pub(super) fn answers(
        &self,
        split: &Split,
        predictions: &[Vec<f32>],
        pool: Pool,
        places: Range<usize>,
        wanted: Option<&[bool]>,
    ) -> Result<Vec<Answer>, Error> {
        let ensemble = self.ensemble(split, predictions)?;
        let DistinctHits { queries: ranked, named } =
            distinct_hits(&ensemble, &self.rule, pool, places.clone(), wanted)?;
        let decoder = self.decoder();
        let queries = &ensemble.members()[0].queries;
        let mut exact =
            decoder.best_outputs(&self.processes, queries, pool)?.unwrap_or_default().into_iter();
        let beyond = self.beyond(&ensemble, pool, places.end)?.unwrap_or_default();
        let mut beyond = beyond.into_iter();
        let config = decoder.config;
        let mut quantiles = quantiles_of(config, predictions).into_iter();
        let levels = config.encoder.abilities().levels;
        let mut competing = (0..split.ids.len()).map(|query| match pool {
            Pool::Shared => None,
            Pool::PerQuery(lists) => Some(lists.list(query).len()),
        });
        let answer = |RankedHits { hits, gap }: RankedHits| {
            let hits = hits.into_iter().map(|hit| answer::Hit::from_ranked(hit, &named, levels));
            let hits = hits.collect::<Result<_, Error>>()?;
            let quantiles = quantiles.next().unwrap_or_default();
            let exact = exact.next();
            let molecules = beyond.next();
            let is_empty = molecules.as_ref().is_some_and(Vec::is_empty);
            let cautions = Vec::from_iter(is_empty.then(|| self.nothing_found()));
            let beyond = molecules.into_iter().flatten().skip(places.start).collect();
            let competing = competing.next().flatten();
            Ok(Answer { hits, cautions, exact, beyond, quantiles, competing, gap })
        };
        ranked.into_iter().map(answer).collect()
    }
}

/// Returns the predicted quantiles of each query, for these predictions of each model.
fn quantiles_of(config: &Checked, predictions: &[Vec<f32>]) -> Vec<Vec<Quantile>> {
    let Some(levels) = config.encoder.abilities().levels else {
        return Vec::new();
    };
    let [z] = predictions else {
        return Vec::new();
    };
    z.chunks(levels.len()).map(|z| Quantile::all(levels, z)).collect()
}

/// Refuses a search for no hits.
fn check_top(top: usize) -> Result<(), Error> {
    if top > 0 {
        Ok(())
    } else {
        let found = format_args!("the top {top} candidates were asked for");
        Err(dsokr_core::Error::out_of_range(found, "at least 1").into())
    }
}
