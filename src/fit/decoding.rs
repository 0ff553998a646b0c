//! How predictions of a fitted model are decoded: candidates that are corrected for hubs, the reranker, and candidates
//! that have been added to the run.

use dsokr_decode::{Candidates, Reranker};

use super::hubs;
use super::predictions::Predictions;
use super::reranker::{self, PairTexts};
use crate::decoding::evaluator::Evaluator;
use crate::error::{Error, ensure};
use crate::learners::choice::Choice;
use crate::learners::learner::{Fit, Fitted};
use crate::run::{Member, Run};
use crate::run_dir::{HELD_OUT, HeldOut, RERANKER, RunDir, UNSEEN_RERANKER, UnseenPairs};
use crate::targets::{OutputTargets, Problem};

/// The corrections that a configuration asks for, checked against its training pairs.
pub(super) struct Corrections<'a> {
    problem: &'a Problem,
    /// What the reranker compares of texts.
    texts: Option<PairTexts<'a>>,
}

/// The parts that predictions are decoded with.
pub(super) struct Decoding {
    /// The candidates, where they are not as the targets place them.
    pub candidates: Option<Candidates>,
    /// The reranker of the first candidates.
    pub reranker: Option<Reranker>,
    /// The values that were chosen from lists.
    pub choices: Vec<Choice>,
}

impl<'a> Corrections<'a> {
    /// The corrections of a problem.
    ///
    /// # Errors
    /// Numbers that are too large for the training pairs.
    pub fn of(problem: &'a Problem) -> Result<Self, Error> {
        let decoding = &problem.config.decoding;
        if let Some(settings) = &decoding.hubs {
            hubs::check(settings, problem.len())?;
        }
        if let Some(settings) = &decoding.reranker {
            reranker::check(settings, problem.len())?;
        }
        Ok(Self { problem, texts: None })
    }

    /// The corrections with what the reranker compares of texts.
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

    /// The text of the lexicon of words.
    pub fn lexicon(&self) -> Option<&str> {
        self.texts.as_ref().and_then(PairTexts::lexicon)
    }

    /// Fits the corrections to a fitted model, and writes them into its run. Everything is chosen and fitted without
    /// candidates that were added to a resumed run, as it was before.
    ///
    /// # Errors
    /// A learner that gives no held-out predictions; errors of the file system.
    pub fn fit(
        &self,
        learner: &dyn Fit,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        fitted: &Fitted,
        predictions: &Predictions,
        run: &RunDir,
    ) -> Result<Decoding, Error> {
        let held_out = fitted.held_out.as_ref();
        let mut unseen = None;
        let added = if self.problem.saved.is_some() { run.candidates_with_added()? } else { None };
        let mut decoding = self.corrected(evaluator, held_out, predictions)?;
        if let (Some(corrected), None) = (&decoding.candidates, &added) {
            run.replace_candidates(corrected)?;
        }
        let candidates = decoding.candidates.as_ref().unwrap_or(evaluator.candidates());
        if let (Some(settings), Some(held_out)) = (&self.problem.config.decoding.reranker, held_out)
        {
            let folds = reranker::fold_predictions(settings, self.problem, learner, targets)?;
            let fitted = reranker::fit(
                settings,
                self.texts.as_ref(),
                &folds,
                self.problem,
                targets,
                candidates,
                held_out,
            )?;
            run.save_reranker(RERANKER, &fitted.reranker)?;
            if let Some((reranker, pairs)) = fitted.unseen {
                run.save_reranker(UNSEEN_RERANKER, &reranker)?;
                unseen = Some(pairs);
            }
            decoding.reranker = Some(fitted.reranker);
        }
        self.save_held_out(held_out, unseen, run)?;
        if let Some(added) = added {
            let predictions = held_out.map(|held_out| held_out.predictions.as_slice());
            let all = hubs::of_all(added, candidates, predictions)?;
            run.replace_candidates(&all)?;
            decoding.candidates = Some(all);
        }
        let candidates = decoding.candidates.as_ref().unwrap_or(evaluator.candidates());
        let reranker = decoding.reranker.take();
        decoding.reranker = reranker.map(|reranker| reranker.among(candidates)).transpose()?;
        Ok(decoding)
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
            Some(_) => Ok(()),
            None => {
                let allowed = "false: this encoder gives no predictions for training inputs that it has not seen";
                ensure(!decoding.held_out, "decoding.held_out", true, allowed)
            }
        }
    }

    /// Candidates that are corrected for hubs.
    fn corrected(
        &self,
        evaluator: &Evaluator,
        held_out: Option<&HeldOut>,
        predictions: &Predictions,
    ) -> Result<Decoding, Error> {
        let settings = self.problem.config.decoding.hubs.as_ref();
        let validation = predictions.validation.as_ref();
        let (Some(settings), Some(held_out), Some(z)) = (settings, held_out, validation) else {
            return Ok(Decoding { candidates: None, reranker: None, choices: Vec::new() });
        };
        let placed = evaluator.candidates();
        let (corrected, choices) =
            hubs::correct(settings, evaluator, placed, &held_out.predictions, z)?;
        Ok(Decoding { candidates: Some(corrected), reranker: None, choices })
    }
}

impl Decoding {
    /// The run of a fitted model whose predictions are decoded so.
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
        Run::of_one(Member::of_fit(problem, run, space, candidates, self.reranker, predictor)?)
    }

    /// An evaluator that decodes so.
    ///
    /// # Errors
    /// Lists of candidates that cannot be read again.
    pub fn evaluator<'b>(&'b self, evaluator: &'b Evaluator) -> Result<Evaluator<'b>, Error> {
        let candidates = self.candidates.as_ref().unwrap_or(evaluator.candidates());
        evaluator.among(candidates, self.reranker.as_ref())
    }
}
