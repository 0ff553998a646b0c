//! The weights of an ensemble's members.

use std::borrow::Cow;
use std::path::Path;

use dsokr_decode::{CandidateBlocks, FittedWeights, MissingGold, Pool, fit_weights};

use super::{EnsembleRun, QueryAnswers, Run};
use crate::Error;
use crate::config::EnsembleConfig;
use crate::query_texts::QueryTexts;
use crate::ranking::Ranking;
use crate::run_dir::{drawn_pairs, held_out};
use crate::run_files::{HELD_OUT, HELD_OUT_PART, MEMBERS};

impl EnsembleRun {
    /// Fits the weights of the rule on queries whose gold is known; of several right outputs of a query
    /// the first one counts.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn fit_weights(&mut self, asked: &QueryAnswers) -> Result<FittedWeights, Error> {
        let pool = asked.pool();
        let fitted = {
            let models = self.models(None);
            let texts = QueryTexts::of(asked.split());
            let Ranking::Whole(ensemble) = models.ranking(texts, &asked.answers)? else {
                let allowed = "several runs, or an ensemble";
                let key = "the argument fit-weights";
                return Err(Error::value(key, "a run of one model", allowed));
            };
            let missing = self.config().evaluation.missing_gold;
            let gold = ensemble.gold(pool, &asked.split().ids, missing)?;
            if gold.iter().all(Option::is_none) {
                let allowed = "false: weights are fitted by MRR, and no gold is a candidate";
                return Err(Error::value("ensemble.fit_weights", true, allowed));
            }
            fit_weights(&ensemble, pool, &self.rule, &gold)?
        };
        self.rule = self.rule.with_weights(Some(fitted.weights.clone()))?;
        Ok(fitted)
    }

    /// Fits the weights of the rule to held-out answers of the members of the ensemble's directory, by MRR
    /// ([`fit_weights`]). A member with a second look of its own answers pairs that no part of that look has seen.
    pub(crate) fn weigh_held_out(
        &mut self,
        path: &Path,
        settings: &EnsembleConfig,
    ) -> Result<FittedWeights, Error> {
        let place = |name: &str| path.join(MEMBERS).join(name);
        let shared = match &settings.second_look {
            Some(name) => self.member(name).zip(Some(Run::unseen_look(&place(name))?)),
            None => None,
        };
        let (mut answers, mut candidates, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for (run, name) in self.members.iter().zip(&self.names) {
            let (place, own) = (place(name), run.config.decoding.second_look.is_some());
            answers.push(held_out::load(&place.join(HELD_OUT), run.candidates.dim())?);
            candidates.push(match &shared {
                _ if own => {
                    parts.push(held_out::load(&place.join(HELD_OUT_PART), run.candidates.dim())?);
                    let (candidates, look) = run.candidates_for_held_out_part(&place)?;
                    (Cow::Owned(candidates), Some(look))
                }
                Some((other, look)) => {
                    (Cow::Borrowed(&run.candidates), Some(run.second_look_from(look, other)?))
                }
                None => (Cow::Borrowed(&run.candidates), None),
            });
        }
        let known = |pair: &&usize| {
            let answered = answers.iter().map(|own| &own.held_out.pairs);
            let parts = parts.iter().map(|part| &part.held_out.pairs);
            answered.chain(parts).all(|pairs| pairs.binary_search(pair).is_ok())
        };
        let common: Vec<usize> = answers[0].held_out.pairs.iter().filter(known).copied().collect();
        let refused = |allowed| Err(Error::value("ensemble.weights", "\"held-out\"", allowed));
        if common.is_empty() {
            return refused(
                "absent: no training pair is answered by all members. Members of the same seed and the same number of \
                 folds answer the same part first",
            );
        }
        let drawn = drawn_pairs(common.len(), self.config().seed);
        let pairs: Vec<usize> = drawn.into_iter().map(|at| common[at]).collect();
        let (_, ids) = answers[0].of(&pairs);
        let mut queries = Vec::new();
        for (run, own) in self.members.iter().zip(&answers) {
            let (rows, own) = own.of(&pairs);
            if own != ids {
                return refused("absent: members have different training pairs");
            }
            queries.push(run.config.decoding.scaled(&rows, run.candidates.dim())?.into_owned());
        }
        let ids: Vec<String> = ids.into_iter().map(String::from).collect();
        let texts = parts.iter().find_map(|part| part.texts_of(&pairs));
        let names: Vec<String> = pairs.iter().map(usize::to_string).collect();
        let fitted = {
            let mut models = self.models(None);
            for (model, (candidates, look)) in models.each.iter_mut().zip(&candidates) {
                (model.candidates, model.look) = (candidates, look.as_ref());
            }
            let texts = QueryTexts { names: &names, texts: texts.as_deref() };
            let Ranking::Whole(ensemble) = models.ranking(texts, &queries)? else {
                return refused("absent: candidates are in shards");
            };
            let gold = ensemble.gold(Pool::Shared, &ids, MissingGold::RankInfinity)?;
            if gold.iter().all(Option::is_none) {
                return refused("absent: no output of a training pair is a candidate");
            }
            fit_weights(&ensemble, Pool::Shared, &self.rule, &gold)?
        };
        self.rule = self.rule.with_weights(Some(fitted.weights.clone()))?;
        Ok(fitted)
    }
}
