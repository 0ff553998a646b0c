//! Predictions for training pairs by models that have not seen them. Where a fit leaves none behind, the learner is fitted
//! anew without parts of the pairs, which these models then predict.

use dsokr_train::Observer;
use tracing::info;

use crate::config::folds::{Folds, repeated, rest, without};
use crate::config::{HeldOutPredictions, HubConfig, RerankerConfig};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::{self, Fitted, FoldPredictions};
use crate::run_dir::{HeldOut, RunDir};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};

/// The pairs that a model learns, and what predicts for pairs without having seen them.
struct PlannedFit {
    /// The pairs that it is fitted to, in rising order.
    learned: Vec<usize>,
    held_out: Source,
}

/// Where held-out predictions come from.
enum Source {
    /// The fit of the model leaves them, for all pairs that it learns.
    Fit,
    /// The model itself predicts for these pairs, which it does not learn.
    Model(Vec<usize>),
    /// Further models, by their numbers, each predict for pairs that they do not learn.
    Others(Vec<(usize, Vec<usize>)>),
}

impl Source {
    /// Returns the number of pairs with predictions, of a model that learns so many.
    fn count(&self, learned: usize) -> usize {
        match self {
            Self::Fit => learned,
            Self::Model(part) => part.len(),
            Self::Others(parts) => parts.iter().map(|(_, part)| part.len()).sum(),
        }
    }
}

/// A fold of the training pairs, and the model that predicts for it.
struct Fold {
    pairs: Vec<usize>,
    /// The number of the model among the further ones.
    number: usize,
    /// Some of the pairs that the model learns.
    fitted: Vec<usize>,
    /// What predicts for the other pairs without having seen them, and without the fold.
    held_out: Source,
}

/// A model that is fitted for its predictions only.
struct FurtherFit {
    /// The pairs that it learns, in rising order.
    learned: Vec<usize>,
    /// The pairs that it predicts, in rising order.
    predicted: Vec<usize>,
}

/// The fits that held-out predictions need beside that of the run's model: which pairs each learns, and which it predicts.
pub(crate) struct FurtherFits {
    fits: Vec<FurtherFit>,
    /// The model of the run.
    model: PlannedFit,
    /// The folds that a reranker learns from; none where the fit of the model leaves their predictions.
    folds: Vec<Fold>,
    /// The folds of a reranker whose predictions the learner gives by itself; none elsewhere.
    own_folds: Vec<Vec<usize>>,
    /// What a fit leaves.
    leaves: HeldOutPredictions,
}

/// What a further model has predicted.
struct Refitted {
    /// The predictions, with their pairs.
    predicted: HeldOut,
    /// The held-out predictions for the pairs that it learned, where its fit leaves them.
    held_out: Option<HeldOut>,
}

/// Held-out predictions for training pairs.
pub(crate) struct Predicted {
    /// The predictions that correct candidates for hubs, and that queries are compared with; none where the configuration
    /// does not need them.
    pub held_out: Option<HeldOut>,
    /// The predictions for each fold that a reranker learns from; none where the fit of the learner leaves them.
    pub folds: Option<Vec<FoldPredictions>>,
}

impl FurtherFits {
    /// The fits that a configuration needs, with those of its reranker.
    ///
    /// # Errors
    /// More parts than there are pairs; settings of the learner that need more pairs than a fit has.
    pub fn of(problem: &Problem) -> Result<Self, Error> {
        let mut further = Self::of_model(problem)?;
        let Some(settings) = &problem.config.decoding.reranker else {
            return further.checked(problem);
        };
        if further.leaves < HeldOutPredictions::Parts {
            further.add_folds(settings, problem)?;
            return further.checked(problem);
        }
        let folds = settings.parts(further.leaves);
        further.own_folds = folds.draw(&problem.dataset, problem.config.seed)?;
        further.checked(problem)
    }

    /// The fits that a configuration needs, apart from those of its reranker.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn without_reranker(problem: &Problem) -> Result<Self, Error> {
        Self::of_model(problem)?.checked(problem)
    }

    /// Refuses settings of the learner that need more pairs than the fit with the fewest has.
    fn checked(self, problem: &Problem) -> Result<Self, Error> {
        let pairs = problem.len();
        let fits = self.fits.iter().map(|fit| fit.learned.len());
        let own_fits = self.own_folds.iter().map(|fold| pairs - fold.len());
        let fewest = fits.chain(own_fits).min().unwrap_or(pairs).min(self.model.learned.len());
        match problem.config.for_pairs(fewest) {
            Ok(_) => Ok(self),
            Err(Error::Core(source)) => {
                let place = format!("a fit to {fewest} of the {pairs} training pairs");
                Err(dsokr_core::Error::At { place, source: Box::new(source) }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// The fits of the predictions for pairs that the run's model learns.
    fn of_model(problem: &Problem) -> Result<Self, Error> {
        let learned: Vec<usize> = (0..problem.len()).collect();
        let mut further = Self {
            fits: Vec::new(),
            model: PlannedFit { learned: learned.clone(), held_out: Source::Fit },
            folds: Vec::new(),
            own_folds: Vec::new(),
            leaves: problem.config.encoder.abilities().held_out,
        };
        if problem.config.decoding.needs_held_out() {
            let parts = further.drawn(&learned, problem)?;
            further.model = further.model_of(learned, parts, problem);
        }
        Ok(further)
    }

    /// Returns the parts of these pairs that models without them predict.
    fn drawn(&self, pairs: &[usize], problem: &Problem) -> Result<Vec<Vec<usize>>, Error> {
        if self.leaves >= HeldOutPredictions::Pairs {
            return Ok(Vec::new());
        }
        let config = &problem.config;
        config.decoding.parts().draw_among(&problem.dataset, pairs, config.seed)
    }

    /// Returns a model of these pairs, of which other models or itself predict these parts.
    fn model_of(
        &mut self,
        pairs: Vec<usize>,
        parts: Vec<Vec<usize>>,
        problem: &Problem,
    ) -> PlannedFit {
        if self.leaves >= HeldOutPredictions::Pairs {
            return PlannedFit { learned: pairs, held_out: Source::Fit };
        }
        let hubs = problem.config.decoding.hubs.as_ref();
        if !hubs.is_none_or(HubConfig::refits) {
            // the configuration holds out one part
            let part = parts.concat();
            return PlannedFit { learned: without(&pairs, &part), held_out: Source::Model(part) };
        }
        let others = parts.into_iter().map(|part| {
            let number = self.add(without(&pairs, &part), &part);
            (number, part)
        });
        let held_out = Source::Others(others.collect());
        PlannedFit { learned: pairs, held_out }
    }

    /// Adds the models without each fold that a reranker learns from.
    fn add_folds(&mut self, settings: &RerankerConfig, problem: &Problem) -> Result<(), Error> {
        let config = &problem.config;
        let hubs = config.decoding.parts();
        let refits = config.decoding.hubs.as_ref().is_none_or(HubConfig::refits);
        let folds = settings.parts(self.leaves);
        let all = Folds { held_out_folds: folds.count, ..folds };
        let all = all.draw(&problem.dataset, config.seed)?;
        // in one division of the pairs, a model without two parts serves the folds of both
        let is_one = refits && hubs.count == folds.count && folds.count > 2;
        for pairs in all.iter().take(folds.held_out_folds).cloned() {
            let others = rest(&pairs, problem.len());
            let parts = if is_one {
                let parts = all.iter().filter(|part| **part != pairs);
                parts.take(hubs.held_out_folds).cloned().collect()
            } else {
                self.drawn(&others, problem)?
            };
            let PlannedFit { learned, held_out } = self.model_of(others, parts, problem);
            let fitted = repeated(&learned);
            let mut predicted = [pairs.as_slice(), &fitted].concat();
            if let Source::Model(part) = &held_out {
                predicted.extend(part);
            }
            let number = self.add(learned, &predicted);
            self.folds.push(Fold { pairs, number, fitted, held_out });
        }
        Ok(())
    }

    /// Adds predictions of a model of some pairs for others; its number.
    fn add(&mut self, learned: Vec<usize>, predicted: &[usize]) -> usize {
        let same = self.fits.iter().position(|fit| fit.learned == learned);
        let number = same.unwrap_or_else(|| {
            self.fits.push(FurtherFit { learned, predicted: Vec::new() });
            self.fits.len() - 1
        });
        let all = &mut self.fits[number].predicted;
        all.extend(predicted);
        all.sort_unstable();
        all.dedup();
        number
    }

    /// Returns the problem of the run's model, where that does not learn all pairs.
    ///
    /// # Errors
    /// A pair out of range.
    pub fn problem(&self, problem: &Problem) -> Result<Option<Problem>, Error> {
        let is_part = self.model.learned.len() < problem.len();
        if !is_part {
            return Ok(None);
        }
        let learned = &self.model.learned;
        let (config, _) = problem.config.for_pairs(learned.len())?;
        Ok(Some(problem.with_pairs(learned)?.under(config)))
    }

    /// Returns the targets of the run's model, where that does not learn all pairs.
    ///
    /// # Errors
    /// A pair out of range.
    pub fn targets(
        &self,
        targets: &OutputTargets,
        n: usize,
    ) -> Result<Option<OutputTargets>, Error> {
        let is_part = self.model.learned.len() < n;
        is_part.then(|| targets.select(&self.model.learned)).transpose()
    }

    /// Returns the folds of a reranker whose predictions the learner gives by itself; none where further fits make them.
    pub fn own_folds(&self) -> &[Vec<usize>] {
        &self.own_folds
    }

    /// Returns the number of the n training pairs that have held-out predictions.
    pub fn held_out(&self, n: usize) -> usize {
        self.model.held_out.count(n)
    }

    /// Returns the number of pairs with held-out predictions that a query of n training pairs is compared with, in the fit of a
    /// reranker.
    pub fn compared(&self, n: usize) -> usize {
        let of_fold = |fold: &Fold| fold.held_out.count(self.fits[fold.number].learned.len());
        let folds = self.folds.iter().map(of_fold);
        // the pairs of an output stay together, so that folds may differ in size
        let own_folds = self.own_folds.iter().map(|fold| n - fold.len());
        folds.chain(own_folds).min().unwrap_or(n).min(self.held_out(n))
    }

    /// Returns the memory and time of the further fits, where there are some, if `fit` is what the fit of the run's model needs,
    /// for predictions with so many coordinates. They come one after another, and take no more memory than the first.
    pub fn needs(&self, problem: &Problem, fit: &[Need], coordinates: usize) -> Option<Need> {
        if self.fits.is_empty() {
            return None;
        }
        let n = self.model.learned.len() as f64;
        let shares: f64 = self.fits.iter().map(|fit| fit.learned.len() as f64 / n).sum();
        let total = |amount: fn(&Need) -> f64| shares * fit.iter().map(amount).sum::<f64>();
        let predicted: usize = self.fits.iter().map(|fit| fit.predicted.len()).sum();
        let texts = problem.dataset.train.inputs.texts().unwrap_or_default();
        let texts: usize = texts.iter().map(String::len).sum();
        // predictions twice, and the pairs of one fit with their targets
        let rows = 2 * predicted + problem.len();
        let bytes = 4.0 * rows as f64 * coordinates as f64 + texts as f64;
        let key = problem.config.decoding.key_of_further_fits();
        Some(Need {
            multiplications: total(|need| need.multiplications),
            traffic: total(|need| need.traffic),
            ..Need::memory(key, "fits without a part of the pairs", bytes)
        })
    }

    /// Makes the fits, and gathers their predictions with those that the run's model has left or makes. `run` keeps the
    /// predictions of each fit until the run is complete, so that a resumed run does not make it again. A fit that leaves
    /// held-out predictions of its own ([`HeldOutPredictions::Pairs`]) is not kept, and made again.
    ///
    /// # Errors
    /// Errors from the learner; a learner that leaves no predictions, although it says so; pretrained weights that have
    /// changed since the run was started.
    pub fn predict(
        &self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        fitted: &mut Fitted,
        run: Option<&RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Predicted, Error> {
        let problem = evaluator.problem;
        if !problem.config.decoding.needs_held_out() {
            return Ok(Predicted { held_out: None, folds: None });
        }
        let mut refitted = Vec::new();
        for number in 0..self.fits.len() {
            let kept = match run {
                Some(run) => run.kept_fit(number, targets.space.width())?,
                None => None,
            };
            // one of other pairs is of an earlier version, and made again
            let kept = kept.filter(|kept| kept.pairs == self.fits[number].predicted);
            let fit = match kept {
                Some(predicted) => Refitted { predicted, held_out: None },
                None => self.refit(number, (targets, evaluator), run, observer)?,
            };
            if let (Some(run), None) = (run, &fit.held_out) {
                run.keep_fit(number, &fit.predicted)?;
            }
            refitted.push(fit);
        }
        let ids = &problem.dataset.train.ids;
        let of_model = |part: &[usize]| {
            let split = problem.dataset.pairs_among(part, &self.model.learned)?;
            let candidates = evaluator.candidates();
            let predictions = learner::predicted(&*fitted.predictor, &split, candidates)?;
            Ok(HeldOut::new(part.to_vec(), ids, predictions))
        };
        let left = fitted.held_out.take();
        let held_out = gathered(&self.model.held_out, left, &refitted, ids, of_model)?;
        // also where each pair is by itself: without groups a run that names some is of an earlier version
        let train = &problem.dataset.train;
        let groups = if problem.config.data.names_groups() {
            Some(train.all_groups())
        } else {
            train.named_groups()
        };
        let held_out = held_out.grouped(groups.as_deref());
        let of_fold = |fold: &Fold| {
            let Refitted { predicted, held_out } = &refitted[fold.number];
            let of_model = |part: &[usize]| Ok(predicted.select(part));
            Ok(FoldPredictions {
                fold: predicted.select(&fold.pairs),
                rest: gathered(&fold.held_out, held_out.clone(), &refitted, ids, of_model)?,
                fitted: predicted.select(&fold.fitted).predictions,
                fitted_pairs: fold.fitted.clone(),
            })
        };
        let folds: Vec<_> = self.folds.iter().map(of_fold).collect::<Result<_, Error>>()?;
        Ok(Predicted { held_out: Some(held_out), folds: Some(folds).filter(|all| !all.is_empty()) })
    }

    /// Fits the learner to some of the pairs, on this process alone, from the weights that the training of `run` started
    /// from, and predicts others.
    fn refit(
        &self,
        number: usize,
        (targets, evaluator): (&OutputTargets, &Evaluator),
        run: Option<&RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Refitted, Error> {
        let FurtherFit { learned, predicted } = &self.fits[number];
        let count = self.fits.len();
        let number = number + 1;
        info!(
            pairs = learned.len(),
            predicted = predicted.len(),
            "further fit {number} of {count}"
        );
        let all = evaluator.problem;
        let leaves = self.leaves >= HeldOutPredictions::Pairs;
        let problem = all.without_corrections(learned, leaves)?;
        let targets = targets.select(learned)?;
        let mut learner = problem.config.encoder.learner().prepare(&problem)?;
        learner.start(&targets)?;
        if let Some(run) = run {
            run.check_initial_weights(learner.initial_weights().as_deref())?;
        }
        let fitted = learner.fit(&targets, evaluator, None, observer).map_err(without_state)?;
        let ids = &all.dataset.train.ids;
        let split = all.dataset.pairs_among(predicted, learned)?;
        let candidates = evaluator.candidates();
        let predictions = learner::predicted(&*fitted.predictor, &split, candidates)?;
        let held_out = fitted.held_out.filter(|_| leaves).map(|left| {
            let pairs = left.pairs.iter().map(|&pair| learned[pair]).collect();
            HeldOut { pairs, ..left }
        });
        Ok(Refitted { predicted: HeldOut::new(predicted.clone(), ids, predictions), held_out })
    }
}

/// Returns the error of a further fit, which keeps no state: a resumed run makes the fit again.
fn without_state(error: Error) -> Error {
    use dsokr_train::Error::Diverged;
    match error {
        Error::Train(Diverged { what, step, learning_rate, is_clipped, .. }) => {
            let what = format!("{what}, in a fit without a part of the pairs");
            Error::Train(Diverged { what, step, learning_rate, is_clipped, kept: None })
        }
        Error::Interrupted { .. } => dsokr_core::Error::Cancelled.into(),
        other => other,
    }
}

/// Gathers the held-out predictions of a model: what its fit `left`, what it predicts itself, or what further models do.
fn gathered(
    source: &Source,
    left: Option<HeldOut>,
    refitted: &[Refitted],
    ids: &[String],
    of_model: impl Fn(&[usize]) -> Result<HeldOut, Error>,
) -> Result<HeldOut, Error> {
    match source {
        Source::Fit => left.ok_or_else(|| {
            let allowed = "Some, since Abilities::held_out says that its fit leaves them";
            Error::value("Fitted::held_out of the learner", "None", allowed)
        }),
        Source::Model(part) => of_model(part),
        Source::Others(parts) => {
            let predicted =
                parts.iter().map(|(number, part)| refitted[*number].predicted.select(part));
            Ok(HeldOut::joined(predicted, ids))
        }
    }
}

#[cfg(test)]
mod tests {
    use dsokr_basis::Kernel;
    use dsokr_core::Processes;
    use dsokr_data::config::{LabelFeatures, OutputFeatures};
    use dsokr_nn::Processor;

    use super::{FurtherFits, Source};
    use crate::config::folds::{rest, without};
    use crate::config::{Config, EncoderTable, HubConfig, KernelConfig, RerankerConfig};
    use crate::encoders::ngram_bag::NgramBagConfig;
    use crate::targets::Problem;
    use crate::targets::memory::Budget;

    /// Returns a bag for 60 pairs, with two of four folds of a reranker.
    fn problem(hubs: Option<HubConfig>) -> Problem {
        let texts = (0..60).map(|pair| format!("thing {pair} is {}", pair % 7)).collect();
        let sets = (0..60).map(|pair| format!("{},{}", pair % 3, 3 + pair % 4)).collect();
        let features =
            OutputFeatures::Labels(LabelFeatures { column: "labels".into(), separator: ',' });
        let encoder = EncoderTable::from_learner(NgramBagConfig::default()).unwrap();
        let kernel = KernelConfig::from(Kernel::Tanimoto);
        let mut config = Config::in_memory(texts, sets, features, kernel, encoder).unwrap();
        config.decoding.hubs = hubs;
        config.decoding.reranker = Some(RerankerConfig {
            folds: Some(4),
            held_out_folds: Some(2),
            ..RerankerConfig::default()
        });
        let config = config.validate().unwrap();
        let root = config.data_root(None).unwrap();
        let processes = Processes::default();
        Problem::load(&processes, &config, &root, Processor::Cpu, Budget::default()).unwrap()
    }

    fn are_disjoint(a: &[usize], b: &[usize]) -> bool {
        without(a, b).len() == a.len()
    }

    /// Checks that models have not seen what they predict of `pairs`, nor the pairs `hidden`.
    fn check(further: &FurtherFits, source: &Source, pairs: &[usize], hidden: &[usize]) {
        let Source::Others(parts) = source else { panic!("no further fits") };
        let mut all: Vec<usize> = Vec::new();
        for (number, part) in parts {
            let fit = &further.fits[*number];
            assert!(are_disjoint(&fit.learned, part) && are_disjoint(&fit.learned, hidden));
            assert!(part.iter().all(|pair| fit.predicted.binary_search(pair).is_ok()));
            // each model learns all the rest
            assert_eq!(fit.learned.len() + part.len(), pairs.len());
            all.extend(part);
        }
        all.sort_unstable();
        assert_eq!(all, pairs);
    }

    #[test]
    fn no_model_has_seen_what_it_predicts() {
        let problem = problem(None);
        let n = problem.len();
        let further = FurtherFits::of(&problem).unwrap();
        let all: Vec<usize> = (0..n).collect();
        check(&further, &further.model.held_out, &all, &[]);
        assert_eq!(further.folds.len(), 2);
        for fold in &further.folds {
            let others = rest(&fold.pairs, n);
            check(&further, &fold.held_out, &others, &fold.pairs);
            let fit = &further.fits[fold.number];
            assert_eq!(fit.learned, others);
            assert!(fold.fitted.iter().all(|pair| fit.learned.contains(pair)));
            assert!(fold.pairs.iter().all(|pair| fit.predicted.contains(pair)));
        }
        assert_eq!(further.fits.len(), 3 + 2 * (1 + 3));
        assert!(further.problem(&problem).unwrap().is_none());
        let fewest = further.folds.iter().map(|fold| n - fold.pairs.len()).min().unwrap();
        assert_eq!(further.compared(n), fewest);
    }

    /// Models without one part serve all pairs and a fold, those without two serve two folds.
    #[test]
    fn folds_share_models() {
        let hubs = HubConfig { folds: Some(4), ..HubConfig::default() };
        let problem = problem(Some(hubs));
        let n = problem.len();
        let further = FurtherFits::of(&problem).unwrap();
        let all: Vec<usize> = (0..n).collect();
        check(&further, &further.model.held_out, &all, &[]);
        for fold in &further.folds {
            check(&further, &fold.held_out, &rest(&fold.pairs, n), &fold.pairs);
        }
        // a fit without each of four parts, and without each pair of parts with the first or the second
        assert_eq!(further.fits.len(), 4 + 5);
    }

    #[test]
    fn a_model_may_leave_out_a_part_itself() {
        let hubs = HubConfig {
            folds: Some(5),
            held_out_folds: Some(1),
            refit: Some(false),
            ..HubConfig::default()
        };
        let problem = problem(Some(hubs));
        let n = problem.len();
        let further = FurtherFits::of(&problem).unwrap();
        let Source::Model(part) = &further.model.held_out else { panic!("further fits") };
        assert_eq!(without(&(0..n).collect::<Vec<_>>(), part), further.model.learned);
        assert_eq!(further.problem(&problem).unwrap().unwrap().len(), n - part.len());
        // a fit for each fold
        assert_eq!(further.fits.len(), 2);
        for fold in &further.folds {
            let fit = &further.fits[fold.number];
            let Source::Model(part) = &fold.held_out else { panic!("further fits") };
            assert_eq!(fit.learned, without(&rest(&fold.pairs, n), part));
            assert!(part.iter().all(|pair| fit.predicted.binary_search(pair).is_ok()));
        }
    }
}
