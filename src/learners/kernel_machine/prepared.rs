//! A prepared machine: its training and validation inputs as rows, the targets that it makes of outputs, and the stages of its
//! fit, each in a file of its own.

use std::sync::Arc;

use dsokr_basis::Block;
use dsokr_basis::features::Selected;
use dsokr_core::Processes;
use dsokr_core::processes::Held;
use dsokr_machines::{
    Coupling, KernelModel, LastSystem, OutputSpace as MachineSpace, RowGroups, Targets,
    TrainingInputs,
};
use dsokr_train::{Event, Observer};

use super::inputs::MachineInputs;
use super::last_fold::LastFold;
use super::output_matrix::in_space;
use super::part::SplitPart;
use super::rows::{MachineRows, predicted_part};
use super::{left_out_together, output_weights};
use crate::config::folds::rest;
use crate::config::{EmbeddingConfig, KernelMachineConfig, MachineInputsConfig, PredictionsConfig};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::{Fit, Fitted, FoldPredictions};
use crate::run_dir::{EmbeddingCurve, PreparationFile, RunDir};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem, TargetValues};

/// A kernel machine with its training and validation inputs as rows.
pub(super) struct PreparedMachine<'a> {
    pub settings: &'a KernelMachineConfig,
    pub problem: &'a Problem,
    pub inputs: Arc<MachineInputs>,
    pub rows: MachineRows<'a>,
    pub validation: MachineRows<'a>,
    /// The training pairs whose inputs and targets this process holds, where it does not hold all.
    pub held: Option<Held>,
    /// M of the columns of outputs.
    pub output: Option<Coupling>,
    /// The fold of the pairs that comes last in the fit, where no machine is fitted anew for the reranker.
    pub last_fold: Option<LastFold>,
    /// The predictions without that fold, once the machine has been fitted.
    pub without_last: Option<FoldPredictions>,
    /// The model of a learned embedding, once it has been chosen with the targets.
    pub embedded: Option<(Arc<KernelModel>, EmbeddingCurve)>,
}

impl<'a> PreparedMachine<'a> {
    pub fn new(settings: &'a KernelMachineConfig, problem: &'a Problem) -> Result<Self, Error> {
        let dataset = &problem.dataset;
        let config = &problem.config;

        // groups that leave-one-out predictions leave out together lie on one process each
        let several = settings.lambda.values().len() > 1;
        let leaves_out = several && !settings.chooses_on_validation()
            || config.decoding.needs_held_out()
            || problem.lacks_weights();
        if leaves_out && settings.solver.abilities().shared && settings.has_held_out_predictions() {
            left_out_together(problem)?.check_parts(&problem.ranks, problem.len())?;
        }

        // training inputs as rows, with the kernel that compares them
        let held = settings.held(problem);
        let divided = held.clone().filter(|_| settings.divides_inputs(dataset));
        let train = SplitPart::new(&dataset.train, divided, &problem.ranks)?;
        let mut inputs = match &problem.saved {
            Some(run) => MachineInputs::load(settings, run.path())?,
            None => MachineInputs::fit(settings, &train, problem)?,
        };
        inputs.fit_kernel(settings, &train, config.seed)?;
        let inputs = Arc::new(inputs);
        let rows = inputs.split_rows(&train)?;
        warn_of_texts_without_ngrams(settings, &rows);
        if let Ok((rows, kernel)) = rows.features() {
            kernel.validate(rows.kind())?;
        }

        // validation inputs as such rows
        let predicted = predicted_part(dataset.validation.ids.len(), &problem.ranks);
        let predicted = train.is_part().then_some(predicted);
        let validation = SplitPart::new(&dataset.validation, predicted, &problem.ranks)?;
        let validation = inputs.split_rows(&validation)?;

        let levels = settings.levels().unwrap_or_default();
        let output = settings.output_matrix.as_ref();
        let output = output.map(|matrix| matrix.coupling(levels, &problem.root)).transpose()?;
        Ok(Self {
            settings,
            problem,
            inputs,
            rows,
            validation,
            held,
            output,
            last_fold: LastFold::new(settings, problem)?,
            without_last: None,
            embedded: None,
        })
    }

    /// Returns the training outputs in the output space of the machine.
    fn points(&self, problem: &Problem) -> Result<(MachineSpace, Targets), Error> {
        let settings = self.settings;
        let config = &problem.config;
        let rows = problem.rows();
        let weights = &problem.dataset.train.weights;
        if config.sketch.full {
            let kernel = problem.kernel()?.clone();
            return Ok(MachineSpace::training_weighted(kernel, &rows, weights)?);
        }
        let mixed = settings.embedding().is_some_and(EmbeddingConfig::is_mixed);
        let rank = match settings.predictions {
            PredictionsConfig::Leading { rank } => Some(rank),
            PredictionsConfig::All {} | PredictionsConfig::Embedded(_) => None,
        };
        let basis = if problem.lacks_weights() {
            output_weights::weighted_basis(settings, &self.rows, problem)?
        } else {
            problem.basis(mixed)?
        };
        // a Lipschitz loss also depends on the part of an output outside the basis
        let projected = if settings.is_lipschitz() {
            Some(Targets::from_projection(&basis.project(&rows)?)?.weighted(weights)?)
        } else {
            None
        };
        let held = self.held.as_ref();
        let (space, targets) =
            MachineSpace::basis_weighted(basis, rank, &rows, weights, &problem.ranks, held)?;
        Ok((space, projected.unwrap_or(targets)))
    }
}

/// Warns where more than half of the training texts have none of the n-grams that are compared.
fn warn_of_texts_without_ngrams(settings: &KernelMachineConfig, rows: &MachineRows) {
    let are_ngrams = matches!(settings.inputs, MachineInputsConfig::Ngrams { .. });
    let MachineRows::Features(rows, _) = rows else { return };
    let Block::Sparse(rows) = rows.as_ref() else { return };
    let texts = rows.len();
    let without = (0..texts).filter(|&row| rows.row(row).0.is_empty()).count();
    if are_ngrams && settings.kernels.is_empty() && 2 * without > texts {
        tracing::warn!(
            "{without} of {texts} training texts have no n-gram that is compared, and share one prediction: lower min_texts, or \
             compare n-grams of characters (kind = \"across-words\")"
        );
    }
}

impl Fit for PreparedMachine<'_> {
    fn held_targets(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    fn files(&self) -> Result<Vec<PreparationFile>, Error> {
        self.inputs.files()
    }

    fn targets(&mut self, problem: &Problem) -> Result<OutputTargets, Error> {
        if let Some(levels) = self.settings.levels() {
            return OutputTargets::numbers(levels, problem);
        }
        let (space, points) = self.points(problem)?;
        let points = points.grouped(&left_out_together(problem)?)?;
        match self.settings.embedding() {
            Some(embedding) => self.embedded(embedding, problem, space, points),
            None => Ok(OutputTargets::in_machine_space(space, points)),
        }
    }

    fn needs(&self, coordinates: usize) -> Vec<Need> {
        self.all_needs(coordinates)
    }

    fn fit(
        &mut self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        _: Option<&mut RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        let pairs = self.rows.len();
        let unknowns = self.settings.solver.sketch().map_or(pairs, |sketch| sketch.size);
        let coordinates = targets.space.width();
        observer.event(&Event::Solving { pairs, unknowns, coordinates });
        if let Some((model, curve)) = self.embedded.clone() {
            return Ok(self.fitted_embedding(model, curve, targets));
        }
        let evaluator = evaluator.shared_by(&self.problem.ranks);
        let (fitted, without_last) = self.fit_machine(targets, &evaluator)?;
        self.without_last = without_last;
        Ok(fitted)
    }

    /// Fits with the first λ. Inputs are prepared with all training inputs, as for leave-one-out
    /// predictions; columns are scaled by the other pairs only.
    fn fold_predictions(
        &self,
        targets: &OutputTargets,
        folds: &[Vec<usize>],
    ) -> Result<Option<Vec<FoldPredictions>>, Error> {
        if let Some(predictions) = &self.without_last {
            return Ok(Some(vec![predictions.clone()]));
        }
        let Self { settings, problem, rows, .. } = self;
        let seed = problem.config.seed;
        let output = in_space(self.output.as_ref(), &targets.space)?;
        let TargetValues::Points(targets) = &targets.values else {
            return Err(targets.unexpected());
        };
        let (features, kernel) = rows.features()?;
        // only the first process fits a reranker
        let alone = Processes::default();
        let mut fitted = Vec::new();
        for fold in folds {
            let rest = rest(fold, rows.len());
            let remaining = Selected::new(features, &rest);
            // each pair is left out alone of the predictions that a reranker compares with
            let targets = targets.select(&rest)?.grouped(&RowGroups::alone())?;
            let inputs = TrainingInputs::rows(Arc::clone(kernel), &remaining);
            let systems = LastSystem::default();
            // a sketch has at most as many rows as the fit
            let adapted = KernelMachineConfig::for_pairs(settings, rest.len());
            let settings = adapted.as_ref().map_or(*settings, |(settings, _)| settings);
            let (model, leave_one_out) =
                settings.fit_once(inputs, &targets, seed, systems, output.clone(), &alone)?;
            fitted.push(self.without_fold(&model, [&rest, fold], leave_one_out)?);
            tracing::info!(pairs = rest.len(), held_out = fold.len(), "fitted without a fold");
        }
        Ok(Some(fitted))
    }
}
