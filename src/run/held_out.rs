//! Held-out answers of the members of an ensemble as queries: weights are fitted to them, and candidate sets calibrated;
//! the rerankers of members.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use dsokr_basis::Basis;
use dsokr_core::{Argument, Processes};
use dsokr_data::Split;
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, MissingGold, Pool, Reranker, fit_weights,
};

use super::{Member, QueryAnswers, Run};
use crate::decoding::evaluation::Models;
use crate::decoding::lexicon::read_reranker;
use crate::error::{Error, ensure};
use crate::run_dir::{HELD_OUT, HELD_OUT_PART, RERANKER_PART, drawn_pairs, held_out};
use crate::targets::OutputSpace;

/// Bytes of the scores that weights are fitted by.
const MEMORY: usize = 256 << 20;

/// Answers of all members to the same training pairs, each by a model that was fitted without the pair.
pub(super) struct HeldOutQueries<'a> {
    runs: &'a Run,
    /// The pairs, in rising order.
    pub pairs: Vec<usize>,
    /// Their queries, with empty texts where nothing keeps them.
    pub split: Split,
    /// Of each member, as they are scored.
    pub answers: Vec<Vec<f32>>,
    /// Of each member the candidates and the reranker, which have not seen the pairs.
    places: Vec<(Cow<'a, Candidates>, Option<Reranker>)>,
}

impl<'a> HeldOutQueries<'a> {
    /// The members as models that have not seen the pairs.
    pub fn models(&'a self) -> Models<'a> {
        // weights and candidate sets are fitted by each process
        let mut models = self.runs.models(&Processes::default());
        for ((_, model), (candidates, reranker)) in models.each.iter_mut().zip(&self.places) {
            (model.candidates, model.reranker) = (candidates, reranker.as_ref());
        }
        models
    }
}

impl Run {
    /// Those that `choose` chooses of the pairs that all members answer, by their number. A member with a reranker, its own or that of a
    /// different member, answers pairs that no part of that look has seen.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] of `key` for members without such pairs; files that are missing or damaged.
    pub(super) fn held_out(
        &self,
        (key, found): (&str, &str),
        choose: impl Fn(usize) -> Vec<usize>,
    ) -> Result<HeldOutQueries<'_>, Error> {
        let place = |run: &Member, file: &str| -> Result<PathBuf, Error> {
            let folder = run.folder.as_ref();
            let allowed = "absent, of runs that no folder holds";
            folder.map(|own| own.join(file)).ok_or_else(|| Error::value(key, found, allowed))
        };
        let other = self.members.iter().find(|run| Some(&run.name) == self.reranker_of.as_ref());
        let shared = match other {
            Some(other) => {
                let reranker = Member::unseen_reranker(&place(other, "")?)?;
                Some((other, reranker))
            }
            None => None,
        };
        let mut stored = Vec::new();
        let mut parts = Vec::new();
        let mut places = Vec::new();
        for run in &self.members {
            let own = run.config.decoding.reranker.is_some();
            stored.push(held_out::load(&place(run, HELD_OUT)?, run.candidates.dim())?);
            places.push(match &shared {
                _ if own => {
                    parts.push(held_out::load(&place(run, HELD_OUT_PART)?, run.candidates.dim())?);
                    let (candidates, reranker) =
                        run.candidates_for_held_out_part(&place(run, "")?)?;
                    (Cow::Owned(candidates), Some(reranker))
                }
                Some((other, reranker)) => {
                    (Cow::Borrowed(&run.candidates), Some(run.reranker_from(reranker, other)?))
                }
                None => (Cow::Borrowed(&run.candidates), None),
            });
        }
        let known = |pair: &&usize| {
            let all = stored.iter().chain(&parts).map(|own| &own.pairs);
            all.into_iter().all(|pairs| pairs.binary_search(pair).is_ok())
        };
        let common: Vec<usize> = stored[0].pairs.iter().filter(known).copied().collect();
        let allowed = "absent: no training pair is answered by all members. Members of the same seed and the same number \
                       of folds answer the same part first";
        ensure(!common.is_empty(), key, found, allowed)?;
        let pairs: Vec<usize> = choose(common.len()).into_iter().map(|at| common[at]).collect();
        let ids = stored[0].select(&pairs).ids;
        let mut answers = Vec::new();
        for (run, own) in self.members.iter().zip(&stored) {
            let own = own.select(&pairs);
            let allowed = "absent: members have different training pairs";
            ensure(own.ids == ids, key, found, allowed)?;
            answers.push(run.config.decoding.scaled(&own.predictions, run.candidates.dim())?);
        }
        let texts = parts.iter().find_map(|part| part.select(&pairs).texts);
        let texts = texts.unwrap_or_else(|| vec![String::new(); pairs.len()]);
        let names = pairs.iter().map(usize::to_string).collect();
        let split = Split { ids, queries: Some(names), ..Split::texts(texts) };
        Ok(HeldOutQueries { runs: self, pairs, split, answers, places })
    }

    /// Fits the weights of the rule on queries whose gold is known; of several right outputs of a query
    /// the first one counts.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn fit_weights(&mut self, asked: &QueryAnswers) -> Result<(), Error> {
        let key = Argument::new("fit-weights");
        let allowed = "several runs, or an ensemble";
        ensure(self.shards.is_none(), key, "a run of one model", allowed)?;
        let missing = self.config().evaluation.missing_gold;
        let fitted = self.models(&asked.processes).weighted(
            asked.split(),
            &asked.answers,
            asked.pool(),
            missing,
        )?;
        self.rule = fitted.ok_or_else(|| {
            let allowed = "absent: weights are fitted by MRR, and no gold is a candidate";
            Error::value("ensemble.weights", "\"validation\"", allowed)
        })?;
        Ok(())
    }

    /// Fits the weights of the rule to held-out answers of the members, by MRR ([`fit_weights`]).
    pub(crate) fn weigh_held_out(&mut self) -> Result<(), Error> {
        let key = "ensemble.weights";
        let found = "\"held-out\"";
        let drawn = |count| drawn_pairs(count, self.config().seed);
        let queries = self.held_out((key, found), drawn)?;
        let missing = MissingGold::RankInfinity;
        let models = queries.models();
        let fitted = models.weighted(&queries.split, &queries.answers, Pool::Shared, missing)?;
        let allowed = "absent: no output of a training pair is a candidate";
        self.rule = fitted.ok_or_else(|| Error::value(key, found, allowed))?;
        Ok(())
    }
}

impl Models<'_> {
    /// The rule with the weights that are best for queries with known outputs; none where none of them is a candidate.
    fn weighted(
        &self,
        split: &Split,
        answers: &[Vec<f32>],
        pool: Pool,
        missing: MissingGold,
    ) -> Result<Option<Combination>, Error> {
        let ensemble = self.ensemble(split, answers)?;
        let gold = ensemble.gold(pool, &split.ids, missing)?;
        if gold.iter().all(Option::is_none) {
            return Ok(None);
        }
        let fitted = fit_weights(&ensemble, pool, &self.rule, &gold, MEMORY)?;
        Ok(Some(self.rule.with_weights(Some(fitted.weights))?))
    }
}

impl Member {
    /// The reranker of a different member of an ensemble, in the coordinates of this one.
    pub(super) fn reranker_from(
        &self,
        reranker: &Reranker,
        other: &Self,
    ) -> Result<Reranker, Error> {
        let basis =
            |run: &Self| run.space.as_ref().and_then(OutputSpace::basis).map(Basis::fingerprint);
        let own = &self.config.name;
        let name = format!("{:?}", other.config.name);
        let allowed = format_args!("absent: the member {own} has a different basis");
        ensure(basis(self) == basis(other), "ensemble.reranker", name, allowed)?;
        let origin = |run: &'_ Self| -> Vec<f64> {
            let origin = run.space.as_ref().and_then(OutputSpace::origin);
            origin.map_or_else(|| vec![0.0; reranker.dim()], Cow::into_owned)
        };
        let ours = origin(self);
        let theirs = origin(other);
        let by = |at| (theirs[at] - ours[at]) as f32;
        let reranker = reranker.moved(&(0..reranker.dim()).map(by).collect::<Vec<f32>>())?;
        Ok(reranker.among(&self.candidates)?)
    }

    /// The reranker that has not seen the part of the training pairs that `held-out-part.safetensors` answers.
    pub(super) fn unseen_reranker(path: &Path) -> Result<Reranker, Error> {
        read_reranker(&Reranker::open(&path.join(RERANKER_PART))?)
    }

    /// The candidates as they are to the part of the training pairs that `held-out-part.safetensors` answers, of a run with
    /// a reranker of its own: hub constants and reranker have not seen it.
    pub(super) fn candidates_for_held_out_part(
        &self,
        path: &Path,
    ) -> Result<(Candidates, Reranker), Error> {
        let reranker = Self::unseen_reranker(path)?.among(&self.candidates)?;
        let own = &self.candidates;
        Ok((own.clone().with_hubs_like(own, reranker.predictions())?, reranker))
    }
}
