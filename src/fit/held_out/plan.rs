//! The plan of the fits that held-out predictions need: which pairs each model learns, and which it predicts.

use std::borrow::Cow;

use crate::config::folds::{Folds, repeated, rest, without};
use crate::config::{HeldOutPredictions, HubConfig, RerankerConfig};
use crate::error::Error;
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem};

/// What gives the held-out predictions of a model.
pub(super) enum Source {
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

/// A model, and what gives its held-out predictions.
pub(super) struct PlannedModel {
    /// The pairs that it is fitted to, in rising order.
    pub learned: Vec<usize>,
    pub source: Source,
}

/// A fold of the training pairs, and the model that predicts for it.
pub(super) struct Fold {
    pub pairs: Vec<usize>,
    /// The number of the model among the further ones.
    pub number: usize,
    /// Some of the pairs that the model learns.
    pub repeated: Vec<usize>,
    /// What predicts for the other pairs without having seen them, and without the fold.
    pub source: Source,
}

/// A model that is fitted for its predictions only.
pub(super) struct FurtherFit {
    /// The pairs that it learns, in rising order.
    pub learned: Vec<usize>,
    /// The pairs that it predicts, in rising order.
    pub predicted: Vec<usize>,
}

/// The fits that held-out predictions need beside that of the run's model: which pairs each learns, and which it predicts.
pub(crate) struct FurtherFits {
    /// The number of training pairs.
    pairs: usize,
    pub(super) fits: Vec<FurtherFit>,
    /// The model of the run.
    pub(super) model: PlannedModel,
    /// The folds that a reranker learns from; none where the learner gives their predictions by itself.
    pub(super) folds: Vec<Fold>,
    /// The folds of a reranker whose predictions the learner gives by itself; none elsewhere.
    learner_folds: Vec<Vec<usize>>,
    /// Whether every fit leaves held-out predictions for the pairs that it learns.
    pub(super) fits_leave_predictions: bool,
}

impl FurtherFits {
    /// Plans the fits that a configuration needs, with those of its reranker.
    ///
    /// # Errors
    /// More parts than there are pairs; settings of the learner that need more pairs than a fit has.
    pub fn plan(problem: &Problem) -> Result<Self, Error> {
        Self::planned(problem, problem.config.decoding.reranker.as_ref())
    }

    /// Plans the fits that a configuration needs, apart from those of its reranker.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn without_reranker(problem: &Problem) -> Result<Self, Error> {
        Self::planned(problem, None)
    }

    /// Plans the fits of a problem and of a reranker with these settings.
    fn planned(problem: &Problem, reranker: Option<&RerankerConfig>) -> Result<Self, Error> {
        let gives = problem.config.encoder.abilities().held_out;
        let fits_leave_predictions = gives >= HeldOutPredictions::Pairs;
        let mut planner = Planner { problem, fits_leave_predictions, fits: Vec::new() };
        let model = planner.model_of_run()?;
        let mut folds = Vec::new();
        let mut learner_folds = Vec::new();
        if let Some(settings) = reranker {
            let division = settings.parts(gives);
            if gives >= HeldOutPredictions::Parts {
                learner_folds = division.draw(&problem.dataset, problem.config.seed)?;
            } else {
                folds = planner.folds(division)?;
            }
        }
        let fits = planner.fits;
        let pairs = problem.len();
        let plan = Self { pairs, fits, model, folds, learner_folds, fits_leave_predictions };
        plan.check(problem)?;
        Ok(plan)
    }

    /// Refuses settings of the learner that need more pairs than the fit with the fewest has.
    fn check(&self, problem: &Problem) -> Result<(), Error> {
        let pairs = self.pairs;
        let fits = self.fits.iter().map(|fit| fit.learned.len());
        let fits_of_learner = self.learner_folds.iter().map(|fold| pairs - fold.len());
        let model = self.model.learned.len();
        let fewest = fits.chain(fits_of_learner).min().unwrap_or(pairs).min(model);
        match problem.config.for_pairs(fewest) {
            Ok(_) => Ok(()),
            Err(Error::Core(source)) => {
                let place = format!("a fit to {fewest} of the {pairs} training pairs");
                Err(dsokr_core::Error::At { place, source: Box::new(source) }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the problem of the run's model: `problem`, or only the pairs of it that the model learns.
    ///
    /// # Errors
    /// A pair out of range.
    pub fn problem_of_model<'p>(&self, problem: &'p Problem) -> Result<Cow<'p, Problem>, Error> {
        let learned = &self.model.learned;
        if learned.len() == self.pairs {
            return Ok(Cow::Borrowed(problem));
        }
        let (config, _) = problem.config.for_pairs(learned.len())?;
        Ok(Cow::Owned(problem.with_pairs(learned)?.under(config)))
    }

    /// Returns the targets of the run's model: all of them, or only those of the pairs that the model learns.
    ///
    /// # Errors
    /// A pair out of range.
    pub fn targets_of_model<'t>(
        &self,
        targets: &'t OutputTargets,
    ) -> Result<Cow<'t, OutputTargets>, Error> {
        let learned = &self.model.learned;
        if learned.len() == self.pairs {
            return Ok(Cow::Borrowed(targets));
        }
        Ok(Cow::Owned(targets.select(learned)?))
    }

    /// Returns the folds of a reranker whose predictions the learner gives by itself; none where further fits make them.
    pub fn learner_folds(&self) -> &[Vec<usize>] {
        &self.learner_folds
    }

    /// Returns the number of training pairs that have held-out predictions.
    pub fn predicted_count(&self) -> usize {
        self.model.source.count(self.pairs)
    }

    /// Returns the number of pairs with held-out predictions that a query of the training pairs is compared with, in the fit of a
    /// reranker.
    pub fn compared_count(&self) -> usize {
        let of_fold = |fold: &Fold| fold.source.count(self.fits[fold.number].learned.len());
        let folds = self.folds.iter().map(of_fold);
        // the pairs of an output stay together, so that folds may differ in size
        let learner_folds = self.learner_folds.iter().map(|fold| self.pairs - fold.len());
        folds.chain(learner_folds).min().unwrap_or(self.pairs).min(self.predicted_count())
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
}

/// Plans the models of a problem, and lists the further fits that they need.
struct Planner<'a> {
    problem: &'a Problem,
    /// Whether every fit leaves held-out predictions for the pairs that it learns.
    fits_leave_predictions: bool,
    /// The further fits so far.
    fits: Vec<FurtherFit>,
}

impl Planner<'_> {
    /// Plans the model of the run.
    fn model_of_run(&mut self) -> Result<PlannedModel, Error> {
        let all: Vec<usize> = (0..self.problem.len()).collect();
        if self.problem.config.decoding.needs_held_out() {
            self.model_of(all, None)
        } else {
            Ok(PlannedModel { learned: all, source: Source::Fit })
        }
    }

    /// Plans a model of these pairs. Models without these `parts` of them, or without drawn ones, give its held-out predictions
    /// unless its fit leaves them.
    fn model_of(
        &mut self,
        pairs: Vec<usize>,
        parts: Option<Vec<Vec<usize>>>,
    ) -> Result<PlannedModel, Error> {
        if self.fits_leave_predictions {
            return Ok(PlannedModel { learned: pairs, source: Source::Fit });
        }
        let config = &self.problem.config;
        let parts = match parts {
            Some(parts) => parts,
            None => {
                let division = config.decoding.parts();
                division.draw_among(&self.problem.dataset, &pairs, config.seed)?
            }
        };
        if !self.refits() {
            // the configuration holds out one part
            let part = parts.concat();
            let learned = without(&pairs, &part);
            return Ok(PlannedModel { learned, source: Source::Model(part) });
        }
        let mut others = Vec::new();
        for part in parts {
            let number = self.add(without(&pairs, &part), &part);
            others.push((number, part));
        }
        Ok(PlannedModel { learned: pairs, source: Source::Others(others) })
    }

    /// Returns whether a model learns all of its pairs, and others predict for them.
    fn refits(&self) -> bool {
        self.problem.config.decoding.hubs.as_ref().is_none_or(HubConfig::refits)
    }

    /// Plans a model without each fold that a reranker learns from.
    fn folds(&mut self, division: Folds) -> Result<Vec<Fold>, Error> {
        let problem = self.problem;
        let config = &problem.config;
        let hubs = config.decoding.parts();
        let all = Folds { held_out_folds: division.count, ..division };
        let all = all.draw(&problem.dataset, config.seed)?;
        // in one division of the pairs, a model without two parts serves the folds of both
        let is_one = self.refits() && hubs.count == division.count && division.count > 2;
        let mut folds = Vec::new();
        for pairs in all.iter().take(division.held_out_folds).cloned() {
            let others = rest(&pairs, problem.len());
            let parts = is_one.then(|| {
                let parts = all.iter().filter(|part| **part != pairs);
                parts.take(hubs.held_out_folds).cloned().collect()
            });
            let PlannedModel { learned, source } = self.model_of(others, parts)?;
            let repeated = repeated(&learned);
            let mut predicted = [pairs.as_slice(), &repeated].concat();
            if let Source::Model(part) = &source {
                predicted.extend(part);
            }
            let number = self.add(learned, &predicted);
            folds.push(Fold { pairs, number, repeated, source });
        }
        Ok(folds)
    }

    /// Adds predictions of a model of some pairs for others, and returns its number.
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
        let further = FurtherFits::plan(&problem).unwrap();
        let all: Vec<usize> = (0..n).collect();
        check(&further, &further.model.source, &all, &[]);
        assert_eq!(further.folds.len(), 2);
        for fold in &further.folds {
            let others = rest(&fold.pairs, n);
            check(&further, &fold.source, &others, &fold.pairs);
            let fit = &further.fits[fold.number];
            assert_eq!(fit.learned, others);
            assert!(fold.repeated.iter().all(|pair| fit.learned.contains(pair)));
            assert!(fold.pairs.iter().all(|pair| fit.predicted.contains(pair)));
        }
        assert_eq!(further.fits.len(), 3 + 2 * (1 + 3));
        assert_eq!(further.problem_of_model(&problem).unwrap().len(), n);
        let fewest = further.folds.iter().map(|fold| n - fold.pairs.len()).min().unwrap();
        assert_eq!(further.compared_count(), fewest);
    }

    /// Models without one part serve all pairs and a fold, those without two serve two folds.
    #[test]
    fn folds_share_models() {
        let hubs = HubConfig { folds: Some(4), ..HubConfig::default() };
        let problem = problem(Some(hubs));
        let n = problem.len();
        let further = FurtherFits::plan(&problem).unwrap();
        let all: Vec<usize> = (0..n).collect();
        check(&further, &further.model.source, &all, &[]);
        for fold in &further.folds {
            check(&further, &fold.source, &rest(&fold.pairs, n), &fold.pairs);
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
        let further = FurtherFits::plan(&problem).unwrap();
        let Source::Model(part) = &further.model.source else { panic!("further fits") };
        assert_eq!(without(&(0..n).collect::<Vec<_>>(), part), further.model.learned);
        assert_eq!(further.problem_of_model(&problem).unwrap().len(), n - part.len());
        // a fit for each fold
        assert_eq!(further.fits.len(), 2);
        for fold in &further.folds {
            let fit = &further.fits[fold.number];
            let Source::Model(part) = &fold.source else { panic!("further fits") };
            assert_eq!(fit.learned, without(&rest(&fold.pairs, n), part));
            assert!(part.iter().all(|pair| fit.predicted.binary_search(pair).is_ok()));
        }
    }
}
