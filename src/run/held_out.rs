//! Training pairs as queries for the members of an ensemble that have not seen them: weights are fitted to their held-out
//! predictions, and candidate sets calibrated on them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use dsokr_basis::Basis;
use dsokr_core::{Argument, Processes};
use dsokr_data::Split;
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, MissingGold, Pool, Reranker, fit_weights,
};

use super::{Member, PredictedQueries, Run};
use crate::decoding::evaluation::Models;
use crate::decoding::lexicon::read_reranker;
use crate::error::{Error, ensure};
use crate::metrics::evaluation::connected_groups;
use crate::run_dir::{
    HELD_OUT, HeldOut, KNOWS_ALL, UNSEEN_RERANKER, UnseenPairs, drawn_pairs, held_out,
};
use crate::targets::OutputSpace;

/// Bytes of the scores that weights are fitted by.
const MEMORY: usize = 256 << 20;

/// Training pairs that all members have held-out predictions for, as queries, and what decodes these predictions without
/// having seen the pairs.
pub(super) struct UnseenQueries<'a> {
    run: &'a Run,
    /// The pairs, in rising order.
    pub pairs: Vec<usize>,
    /// Their queries and held-out predictions, with empty texts where nothing keeps them.
    pub queries: PredictedQueries,
    /// The candidates and the reranker of each member, neither of which has seen the pairs.
    decoders: Vec<(Cow<'a, Candidates>, Option<Reranker>)>,
}

impl<'a> UnseenQueries<'a> {
    /// Returns the members as models that have not seen the pairs.
    pub fn models(&'a self) -> Models<'a> {
        // weights and candidate sets are fitted by each process
        let mut models = self.run.models(&Processes::default());
        for ((_, model), (candidates, reranker)) in models.each.iter_mut().zip(&self.decoders) {
            (model.candidates, model.reranker) = (candidates, reranker.as_ref());
        }
        models
    }
}

/// The setting that needs held-out predictions, for errors about what lacks them.
#[derive(Clone, Copy)]
pub(super) struct Reason<'r> {
    /// Its key.
    pub key: &'r str,
    /// Its value.
    pub value: &'r str,
}

impl Reason<'_> {
    pub(super) fn refuses(self, remedy: &str) -> Error {
        Error::value(self.key, self.value, remedy)
    }
}

impl Run {
    /// Returns training pairs as queries: `choose` gets the number of pairs that every member has held-out predictions for, and
    /// chooses from them by position. Where a member is decoded with a reranker, its own or a shared one, only pairs that
    /// this reranker has not seen count.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] with the key of `reason` for members without such pairs; files that are missing or
    /// damaged.
    pub(super) fn unseen_queries(
        &self,
        reason: Reason,
        choose: impl Fn(usize) -> Vec<usize>,
    ) -> Result<UnseenQueries<'_>, Error> {
        let shared = self.shared_unseen_reranker(reason)?;
        let mut held_out = Vec::new();
        let mut unseen = Vec::new();
        let mut decoders = Vec::new();
        for member in &self.members {
            let file = member.file(HELD_OUT, reason)?;
            let dim = member.candidates.dim();
            let mut predicted = held_out::load(&file, dim)?;
            decoders.push(if member.has_reranker() {
                let (candidates, reranker) = member.unseen_decoder(reason)?;
                let mut fold = held_out::load_unseen(&file, dim)?;
                if let Some(predictions) = fold.predictions.take() {
                    // the others know pairs of the same group
                    predicted = HeldOut { predictions, ..predicted.select(&fold.pairs) };
                }
                unseen.push(fold);
                (Cow::Owned(candidates), Some(reranker))
            } else if let Some((owner, reranker)) = &shared {
                let reranker = member.reranker_from(reranker, owner)?;
                (Cow::Borrowed(&member.candidates), Some(reranker))
            } else {
                (Cow::Borrowed(&member.candidates), None)
            });
            held_out.push(predicted);
        }
        let common = common_pairs(&held_out, &unseen);
        if common.is_empty() {
            return Err(reason.refuses(
                "absent: no training pair is held out by all members. Members of the same seed and the same number of \
                 folds hold out the same part first",
            ));
        }
        let pairs: Vec<usize> = choose(common.len()).into_iter().map(|at| common[at]).collect();
        let texts = unseen.iter().find_map(|unseen| unseen.texts_of(&pairs));
        let queries = self.as_queries(&held_out, &pairs, texts, reason)?;
        Ok(UnseenQueries { run: self, pairs, queries, decoders })
    }

    /// Returns the member whose reranker the others share, and its reranker that has not seen a fold of the pairs.
    fn shared_unseen_reranker(&self, reason: Reason) -> Result<Option<(&Member, Reranker)>, Error> {
        let owner =
            self.members.iter().find(|member| Some(&member.name) == self.reranker_of.as_ref());
        let Some(owner) = owner else { return Ok(None) };
        Ok(Some((owner, owner.unseen_reranker(reason)?)))
    }

    /// Returns some training pairs as queries with the held-out predictions of each member.
    fn as_queries(
        &self,
        held_out: &[HeldOut],
        pairs: &[usize],
        texts: Option<Vec<String>>,
        reason: Reason,
    ) -> Result<PredictedQueries, Error> {
        let ids = held_out[0].select(pairs).ids;
        let mut predictions = Vec::new();
        let mut groups: Vec<Vec<String>> = Vec::new();
        for (member, held_out) in self.members.iter().zip(held_out) {
            let held_out = held_out.select(pairs);
            if held_out.ids != ids {
                return Err(reason.refuses("absent: members have different training pairs"));
            }
            groups.push(held_out.groups.iter().map(u64::to_string).collect());
            let decoding = &member.config.decoding;
            predictions.push(decoding.scaled(&held_out.predictions, member.candidates.dim())?);
        }
        let texts = texts.unwrap_or_else(|| vec![String::new(); pairs.len()]);
        let names = pairs.iter().map(usize::to_string).collect();
        let groups = connected_groups(groups.iter().map(Vec::as_slice));
        let split = Split { ids, queries: Some(names), groups, ..Split::texts(texts) };
        Ok(PredictedQueries::from_split(split, predictions))
    }

    /// Fits the weights of the rule on queries whose gold is known; of several right outputs of a query
    /// the first one counts.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn fit_weights(&mut self, queries: &PredictedQueries) -> Result<(), Error> {
        let key = Argument::new("fit-weights");
        let allowed = "several runs, or an ensemble";
        ensure(self.shards.is_none(), key, "a run of one model", allowed)?;
        let missing = self.config().evaluation.missing_gold;
        let fitted = self.models(&queries.processes).weighted(queries, missing)?;
        self.rule = fitted.ok_or_else(|| {
            let allowed = "absent: weights are fitted by MRR, and no gold is a candidate";
            Error::value("ensemble.weights", "\"validation\"", allowed)
        })?;
        Ok(())
    }

    /// Fits the weights of the rule to held-out predictions of the members, by MRR ([`fit_weights`]).
    pub(crate) fn weigh_held_out(&mut self) -> Result<(), Error> {
        let reason = Reason { key: "ensemble.weights", value: "\"held-out\"" };
        let drawn = |count| drawn_pairs(count, self.config().seed);
        let unseen = self.unseen_queries(reason, drawn)?;
        let fitted = unseen.models().weighted(&unseen.queries, MissingGold::RankInfinity)?;
        let remedy = "absent: no output of a training pair is a candidate";
        self.rule = fitted.ok_or_else(|| reason.refuses(remedy))?;
        Ok(())
    }
}

/// Returns the pairs that every member has a held-out prediction for, and that no reranker of a member has seen.
fn common_pairs(held_out: &[HeldOut], unseen: &[UnseenPairs]) -> Vec<usize> {
    let predicted = held_out.iter().map(|held_out| &held_out.pairs);
    let lists: Vec<&Vec<usize>> =
        predicted.chain(unseen.iter().map(|unseen| &unseen.pairs)).collect();
    let in_all = |pair: &&usize| lists.iter().all(|list| list.binary_search(pair).is_ok());
    held_out[0].pairs.iter().filter(in_all).copied().collect()
}

impl Models<'_> {
    /// Returns the rule with the weights that are best for queries with known outputs; none where none of these is a candidate.
    fn weighted(
        &self,
        queries: &PredictedQueries,
        missing: MissingGold,
    ) -> Result<Option<Combination>, Error> {
        let pool: Pool = queries.pool();
        let ensemble = self.ensemble(queries.split(), &queries.predictions)?;
        let gold = ensemble.gold(pool, &queries.split().ids, missing)?;
        if gold.iter().all(Option::is_none) {
            return Ok(None);
        }
        let fitted = fit_weights(&ensemble, pool, &self.rule, &gold, MEMORY)?;
        Ok(Some(self.rule.with_weights(Some(fitted.weights))?))
    }
}

impl Member {
    /// Returns whether it was trained with a reranker of its own.
    pub(super) fn has_reranker(&self) -> bool {
        self.config.decoding.reranker.is_some()
    }

    /// Returns a file of its run directory.
    fn file(&self, name: &str, reason: Reason) -> Result<PathBuf, Error> {
        let folder: &Path =
            self.folder.as_deref().ok_or_else(|| reason.refuses("absent, of runs in memory"))?;
        Ok(folder.join(name))
    }

    /// Returns the reranker of a different member of an ensemble, in the coordinates of this one.
    pub(super) fn reranker_from(
        &self,
        reranker: &Reranker,
        other: &Self,
    ) -> Result<Reranker, Error> {
        let basis =
            |run: &Self| run.space.as_ref().and_then(OutputSpace::basis).map(Basis::fingerprint);
        let member = &self.config.name;
        let name = format!("{:?}", other.config.name);
        let allowed = format_args!("absent: the member {member} has a different basis");
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

    /// Returns its reranker that has not seen a fold of the training pairs.
    fn unseen_reranker(&self, reason: Reason) -> Result<Reranker, Error> {
        let file = self.file(UNSEEN_RERANKER, reason)?;
        let held_out = self.file(HELD_OUT, reason)?;
        if self.config.decoding.held_out && !held_out::has_unseen(&held_out)? {
            let allowed = format!(
                "absent, or a run with more decoding.reranker.held_out_folds: in {}, {KNOWS_ALL}",
                self.name
            );
            return Err(reason.refuses(&allowed));
        }
        read_reranker(&Reranker::open(&file)?)
    }

    /// Returns the candidates and the reranker as they are to a fold of the training pairs that neither the hub constants nor the
    /// reranker have seen, of a member with a reranker of its own.
    fn unseen_decoder(&self, reason: Reason) -> Result<(Candidates, Reranker), Error> {
        let reranker = self.unseen_reranker(reason)?.among(&self.candidates)?;
        let seen = &self.candidates;
        Ok((seen.clone().with_hubs_like(seen, reranker.predictions())?, reranker))
    }
}
