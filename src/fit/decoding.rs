//! How predictions of a fitted model are decoded: candidates that are corrected for hubs, the reranker, and candidates
//! that have been added to the run.

use std::borrow::Cow;

use dsokr_decode::{Candidates, Reranker};
use tracing::info;

use super::held_out::{AllHeldOut, FurtherFits};
use super::hubs;
use super::reranker::{self, FittedReranker, PairTexts, RerankerTraining};
use super::validation::ValidationPredictions;
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::Choice;
use crate::learners::learner::{Fit, Fitted, FoldPredictions};
use crate::run::{Member, Run};
use crate::run_dir::{HELD_OUT, HeldOut, RERANKER, RunDir, UNSEEN_RERANKER, UnseenPairs};
use crate::targets::{OutputTargets, Problem};

/// The corrections that a configuration asks for, checked against its training pairs.
pub(super) struct Corrections<'a> {
    problem: &'a Problem,
    /// The fits that their held-out predictions need.
    pub further: FurtherFits,
    /// What the reranker compares of texts.
    texts: Option<PairTexts<'a>>,
}

/// A fitted model, with what its corrections are fitted to and written into.
pub(super) struct FittedModel<'a> {
    pub learner: &'a dyn Fit,
    pub targets: &'a OutputTargets,
    /// Evaluates the model among candidates that are not corrected.
    pub evaluator: &'a Evaluator<'a>,
    /// Its held-out predictions.
    pub held_out: &'a AllHeldOut,
    /// Its predictions for the validation split.
    pub validation: &'a ValidationPredictions,
    pub run: &'a RunDir,
}

/// The parts that predictions are decoded with.
#[derive(Default)]
pub(super) struct Decoding {
    /// The candidates, where they are not as the targets place them.
    pub candidates: Option<Candidates>,
    /// The reranker of the first candidates.
    pub reranker: Option<Reranker>,
    /// The values that were chosen from lists.
    pub choices: Vec<Choice>,
    /// What the reranker changes on the validation split; none without a reranker or without validation pairs.
    pub reranked: Option<Reranked>,
    /// Whether the run keeps held-out predictions, but no reranker that has not seen some of their pairs.
    pub lacks_unseen: bool,
}

/// The metric that chooses, on the validation split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reranked {
    /// Its value with the reranker.
    pub with: f64,
    /// Its value without the reranker.
    pub without: f64,
}

impl<'a> Corrections<'a> {
    /// Plans the corrections of a problem.
    ///
    /// # Errors
    /// Numbers that are too large for the training pairs.
    pub fn plan(problem: &'a Problem) -> Result<Self, Error> {
        let decoding = &problem.config.decoding;
        let further = FurtherFits::plan(problem)?;
        if let Some(settings) = &decoding.hubs {
            hubs::check(settings, further.predicted_count(), problem.len())?;
        }
        if let Some(settings) = &decoding.reranker {
            reranker::check(settings, further.compared_count())?;
        }
        Ok(Self { problem, further, texts: None })
    }

    /// Returns the corrections with what the reranker compares of texts.
    ///
    /// # Errors
    /// A lexicon that cannot be read; inputs that are not texts, or candidates that are not molecules.
    pub fn with_texts(self, candidates: &Candidates) -> Result<Self, Error> {
        let texts = match &self.problem.config.decoding.reranker {
            Some(settings) => PairTexts::read(settings, self.problem, candidates)?,
            None => None,
        };
        Ok(Self { texts, ..self })
    }

    /// Returns the text of the lexicon of words.
    pub fn lexicon(&self) -> Option<&str> {
        self.texts.as_ref().and_then(PairTexts::lexicon)
    }

    /// Fits the corrections to a fitted model, and writes them into its run. Everything is chosen and fitted without
    /// candidates that were added to a resumed run, as it was before.
    ///
    /// # Errors
    /// Errors of the learner and of the file system.
    pub fn fit(&self, model: &FittedModel) -> Result<Decoding, Error> {
        let FittedModel { evaluator, validation, run, .. } = *model;
        let held_out = model.held_out.pairs.as_ref();
        let mut decoding = Decoding::default();

        // 1. hubs: the constants of candidates
        let z = validation.z.as_deref();
        if let Some((corrected, choices)) = hubs::corrected(evaluator, held_out, z)? {
            decoding.candidates = Some(corrected);
            decoding.choices = choices;
        }
        let added = if self.problem.saved.is_some() { run.candidates_with_added()? } else { None };
        if let (Some(corrected), None) = (&decoding.candidates, &added) {
            run.replace_candidates(corrected)?;
        }

        // 2. the reranker of these
        let candidates = decoding.candidates.as_ref().unwrap_or(evaluator.candidates());
        let mut unseen = None;
        if let Some(fitted) = self.fit_reranker(model, candidates)? {
            let reranker = fitted.reranker.among(candidates)?;
            decoding.reranked = reranked(evaluator, candidates, &reranker, validation)?;
            decoding.reranker = Some(reranker);
            decoding.lacks_unseen =
                self.problem.config.decoding.held_out && fitted.unseen.is_none();
            unseen = fitted.unseen.map(|(_, pairs)| pairs);
        }

        // 3. the held-out predictions that the run keeps
        self.save_held_out(held_out, unseen, run)?;

        // 4. candidates that were added to the run, as the others
        if let Some(added) = added {
            let predictions = held_out.map(|held_out| held_out.predictions.as_slice());
            let all = hubs::correct_as(added, candidates, predictions)?;
            run.replace_candidates(&all)?;
            let reranker = decoding.reranker.take();
            decoding.reranker = reranker.map(|reranker| reranker.among(&all)).transpose()?;
            decoding.candidates = Some(all);
        }
        Ok(decoding)
    }

    /// Fits the reranker of candidates and writes it into the run; none where the configuration has none.
    fn fit_reranker(
        &self,
        model: &FittedModel,
        candidates: &Candidates,
    ) -> Result<Option<FittedReranker>, Error> {
        let settings = self.problem.config.decoding.reranker.as_ref();
        let (Some(settings), Some(held_out)) = (settings, &model.held_out.pairs) else {
            return Ok(None);
        };
        let fitted = reranker::fit(&RerankerTraining {
            settings,
            texts: self.texts.as_ref(),
            problem: self.problem,
            targets: model.targets,
            candidates,
            folds: &self.fold_predictions(model)?,
            held_out,
        })?;
        model.run.save_reranker(RERANKER, &fitted.reranker)?;
        if let Some((reranker, _)) = &fitted.unseen {
            model.run.save_reranker(UNSEEN_RERANKER, reranker)?;
        }
        Ok(Some(fitted))
    }

    /// Returns the predictions for each fold of the training pairs by a model that was fitted without it: left behind by the
    /// fit, made by the learner, or by further fits.
    fn fold_predictions<'m>(
        &self,
        model: &FittedModel<'m>,
    ) -> Result<Cow<'m, [FoldPredictions]>, Error> {
        let FittedModel { learner, targets, held_out, .. } = *model;
        if let Some(folds) = &held_out.folds {
            return Ok(Cow::Borrowed(folds));
        }
        let folds = self.further.learner_folds();
        let allowed = "Some, since Abilities::held_out says that the learner gives them";
        let none = || Error::value("Fit::fold_predictions of the learner", "None", allowed);
        Ok(Cow::Owned(learner.fold_predictions(targets, folds)?.ok_or_else(none)?))
    }

    /// Writes the held-out predictions into the run, where the configuration keeps them or hubs need them, with the pairs
    /// that a reranker of the run has not seen.
    fn save_held_out(
        &self,
        held_out: Option<&HeldOut>,
        unseen: Option<UnseenPairs>,
        run: &RunDir,
    ) -> Result<(), Error> {
        let decoding = &self.problem.config.decoding;
        match held_out {
            // hubs of candidates that are added are computed from these too, for which 16 bits are enough
            Some(held_out) if decoding.held_out || decoding.hubs.is_some() => {
                let path = run.path().join(HELD_OUT);
                held_out.save(&path, unseen.as_ref(), decoding.held_out)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the metric that chooses, on the validation split, with a reranker and without it.
fn reranked(
    evaluator: &Evaluator,
    candidates: &Candidates,
    reranker: &Reranker,
    validation: &ValidationPredictions,
) -> Result<Option<Reranked>, Error> {
    let Some(z) = &validation.z else { return Ok(None) };
    let metric = evaluator.config().evaluation.metric;
    let value = |reranker| {
        let evaluator = evaluator.among(candidates, reranker)?;
        Ok::<_, Error>(metric.value(&evaluator.validation(z)?.metrics))
    };
    let reranked = Reranked { with: value(Some(reranker))?, without: value(None)? };
    info!(metric = %metric, with = reranked.with, without = reranked.without, "reranker");
    Ok(Some(reranked))
}

impl Decoding {
    /// Returns the run of a fitted model whose predictions are decoded so.
    ///
    /// # Errors
    /// A search beyond the candidates that cannot be made.
    pub fn into_run(
        self,
        problem: &Problem,
        run: &RunDir,
        targets: OutputTargets,
        placed: Candidates,
        fitted: Fitted,
    ) -> Result<Run, Error> {
        let candidates = self.candidates.unwrap_or(placed);
        let space = targets.space;
        let predictor = fitted.predictor;
        Run::from_member(Member::from_fit(
            problem,
            run,
            space,
            candidates,
            self.reranker,
            predictor,
        )?)
    }

    /// Returns an evaluator that decodes so.
    ///
    /// # Errors
    /// Lists of candidates that cannot be read again.
    pub fn evaluator<'b>(&'b self, evaluator: &'b Evaluator) -> Result<Evaluator<'b>, Error> {
        let candidates = self.candidates.as_ref().unwrap_or(evaluator.candidates());
        evaluator.among(candidates, self.reranker.as_ref())
    }
}
