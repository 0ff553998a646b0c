//! Kernel machines as learners: IOKR and its sketched forms, machines with Lipschitz losses, and
//! learned output embeddings.

mod computed;
mod embedding;
mod inputs;
mod output;
mod part;
mod predictor;
mod prepared;
mod rows;
mod solved;
mod solver;
mod weights;

use std::sync::Arc;

use burn::tensor::Device;
use dsokr_basis::features::Selected;
use dsokr_basis::{Block, RowKind, RowSource};
use dsokr_core::Processes;
use dsokr_core::processes::Held;
use dsokr_data::{Dataset, Inputs};
use dsokr_machines::{
    Cost, Coupling, FitSize, KernelModel, KernelWeighting, LastSystem, OutputSpace, RowGroups,
    Solver, Targets, TrainingInputs,
};
use dsokr_train::{Event, Observer, check_basis};
use inputs::MachineInputs;
use output::in_space;
use part::SplitPart;
use predictor::KernelMachine;
use rows::{MachineRows, predicted_part};
use solver::fit_size;

use crate::config::folds::rest;
use crate::config::{
    Abilities, Checked, Config, EmbeddingConfig, EncoderTable, HeldOutPredictions,
    KernelMachineConfig, Lowered, MachineInputsConfig, PredictionsConfig,
};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::{Fit, Fitted, FoldPredictions, Learner, Predictor};
use crate::run_dir::{EmbeddingCurve, PreparationFile, RunDir};
use crate::targets::memory::Need;
use crate::targets::{OutputTargets, Problem, TargetValues};

/// Multiplications in single precision that take as long as one value of a kernel of sparse rows: 18 ns of parts of molecules,
/// where a core multiplies 42 thousand million times a second.
const SPARSE_VALUE: f64 = 750.0;

impl Learner for KernelMachineConfig {
    fn check(&self, config: &Config) -> Result<(), Error> {
        self.validate()?;
        self.check_compatible(config)
    }

    fn abilities(&self) -> Abilities<'_> {
        let has_several = self.lambda.values().len() > 1;
        let embedding = self.embedding();
        Abilities {
            reads: self.reads(),
            spectra: self.reads_spectra(),
            formulas: self.needs_formulas(),
            words: self.words_read(),
            weighs_pairs: true,
            levels: self.levels(),
            needs_cpu: true,
            shares_training: self.solver.abilities().shared,
            trains_in_steps: false,
            needs_validation: !self.fits_without_validation(),
            chosen_on_validation: self.chosen_on_validation(),
            chosen_on_held_out: has_several.then_some("λ is"),
            held_out: self.held_out(),
            weighs_kernels: self.has_held_out_predictions(),
            weighs_outputs: true,
            learns_targets: embedding.is_some(),
            // a mixed embedding also learns from outputs without a pair
            sketches_unlabelled: embedding.is_some_and(EmbeddingConfig::is_mixed),
        }
    }

    fn for_pairs(&self, pairs: usize) -> Result<Option<(EncoderTable, Vec<Lowered>)>, Error> {
        let adapted = Self::for_pairs(self, pairs);
        // what cannot be lowered is refused
        adapted.as_ref().map_or(self, |(settings, _)| settings).check_pairs(pairs)?;
        let Some((settings, lowered)) = adapted else { return Ok(None) };
        Ok(Some((EncoderTable::from_learner(settings)?, lowered)))
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Fit + 'a>, Error> {
        Ok(Box::new(PreparedMachine::new(self, problem)?))
    }

    fn load(
        &self,
        run: &RunDir,
        _: &Checked,
        _: usize,
        _: &Device,
    ) -> Result<Box<dyn Predictor>, Error> {
        let path = run.path();
        let Some(file) = KernelModel::open(path)? else {
            let name =
                if self.is_lipschitz() { "machine.safetensors" } else { "ridge.safetensors" };
            return Err(run.no_model(&path.join(name)));
        };
        let inputs = MachineInputs::load(self, path)?;
        check_basis(&file, run.space())?;
        run.clone().prepared(&inputs.files()?)?.check_preparation(&file)?;
        let model = Arc::new(inputs.model(&file)?);
        let curve = EmbeddingCurve::read(path)?;
        Ok(Box::new(KernelMachine { inputs: Arc::new(inputs), model, curve }))
    }
}

impl KernelMachineConfig {
    /// Returns whether several processes each hold the features of their own inputs alone. Vectors in memory and values of
    /// kernels are what the data hold.
    fn divides_inputs(&self, dataset: &Dataset) -> bool {
        self.all_inputs().all(MachineInputsConfig::are_divided)
            && match &dataset.train.inputs {
                Inputs::Texts(_) => true,
                Inputs::Vectors(rows) => rows.in_file(),
                Inputs::Kernels(_) => false,
            }
    }

    /// Returns the training pairs whose inputs and targets this process holds, where it does not hold all. Each holds all
    /// where one process goes on alone after the fit, or where all predict all pairs.
    fn held(&self, problem: &Problem) -> Option<Held> {
        let dataset = &problem.dataset;
        let decoding = &problem.config.decoding;
        let goes_on = decoding.reranker.is_some()
            || decoding.needs_held_out() && self.held_out() < HeldOutPredictions::Pairs
            || self.embedding().is_some()
            // the kernels of all training inputs are compared
            || self.weights == Some(KernelWeighting::Alignf);
        let is_shared = problem.ranks.size() > 1 && self.solver.abilities().shared;
        let train = &dataset.train;
        let held = self.solver.held(&problem.ranks, train.ids.len(), &train.weights);
        Some(held).filter(|_| is_shared && !goes_on)
    }
}

/// Returns the training pairs that held-out predictions leave out together: what a split of the data would keep together.
fn left_out_together(problem: &Problem) -> Result<RowGroups, Error> {
    Ok(RowGroups::new(problem.len(), &problem.dataset.training_groups())?)
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

/// A kernel machine with its training and validation inputs as rows.
struct PreparedMachine<'a> {
    settings: &'a KernelMachineConfig,
    problem: &'a Problem,
    inputs: Arc<MachineInputs>,
    rows: MachineRows<'a>,
    validation: MachineRows<'a>,
    /// The training pairs whose inputs and targets this process holds, where it does not hold all.
    held: Option<Held>,
    /// M of the columns of outputs.
    output: Option<Coupling>,
    /// The fold of the pairs that comes last in the fit, where no machine is fitted anew for the reranker.
    last_fold: Option<LastFold>,
    /// The predictions without that fold, once the machine has been fitted.
    without_last: Option<FoldPredictions>,
    /// The model of a learned embedding, once it has been chosen with the targets.
    embedded: Option<(Arc<KernelModel>, EmbeddingCurve)>,
}

/// A fold of the training pairs that comes last in the fit: the model of the pairs before it is then part of that fit.
struct LastFold {
    /// All pairs, those of the fold last.
    order: Vec<usize>,
    /// The number of pairs before the fold.
    rest: usize,
}

impl LastFold {
    /// Returns the fold that a reranker leaves out; none where a machine is fitted anew without it, or there is no reranker.
    fn new(settings: &KernelMachineConfig, problem: &Problem) -> Result<Option<Self>, Error> {
        let config = &problem.config;
        let reranker = config.decoding.reranker.as_ref().filter(|reranker| !reranker.refit);
        let Some(reranker) = reranker else { return Ok(None) };
        let folds = reranker.parts(settings.held_out()).draw(&problem.dataset, config.seed)?;
        Ok(folds.first().map(|fold| {
            let mut order = rest(fold, problem.len());
            let rest = order.len();
            order.extend(fold);
            Self { order, rest }
        }))
    }

    /// Returns the pairs before the fold, and those of the fold.
    fn parts(&self) -> [&[usize]; 2] {
        let (rest, fold) = self.order.split_at(self.rest);
        [rest, fold]
    }
}

impl<'a> PreparedMachine<'a> {
    fn new(settings: &'a KernelMachineConfig, problem: &'a Problem) -> Result<Self, Error> {
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

    /// Returns the memory and time of the fit of the machine by itself.
    fn machine_need(&self, coordinates: usize) -> Need {
        let Self { settings, problem, rows, .. } = self;
        // without a sketch the targets are places of outputs, which the factor is not applied to
        let coordinates = if problem.config.sketch.full { 0 } else { coordinates };
        let lambdas = settings.lambda.values().len();
        let targets = problem.held_targets();
        let size = FitSize { targets, lambdas, ..fit_size(rows.len(), coordinates) };
        let Cost { bytes, multiplications } = settings.cost(&size);
        let multiplications = multiplications + self.kernel_values(lambdas);
        let keys = match settings.solver.sketch() {
            Some(_) => "encoder.solver.sketch.size",
            None => "encoder.solver.name",
        };
        Need { multiplications, ..Need::memory(keys, "the kernel machine", bytes) }
    }

    /// Returns the memory and time of the machines that are fitted without a fold of the pairs, for a reranker.
    fn fold_need(&self, coordinates: usize) -> Option<Need> {
        let Self { settings, problem, .. } = self;
        let reranker = problem.config.decoding.reranker.as_ref()?;
        if !reranker.refit || settings.held_out() < HeldOutPredictions::Parts {
            return None;
        }
        let folds = reranker.parts(settings.held_out());
        let rest = folds.rest(problem.len());
        let Cost { bytes, multiplications } = settings.cost(&fit_size(rest, coordinates));
        let multiplications = folds.held_out_folds as f64 * multiplications;
        let what = "machines without a fold of the pairs";
        Some(Need { multiplications, ..Need::memory("decoding.reranker", what, bytes) })
    }

    /// Returns the multiplications that take as long as the values of the kernels of inputs, where these are compared with a
    /// sketch.
    fn kernel_values(&self, lambdas: usize) -> f64 {
        let Self { settings, rows, .. } = self;
        let (Some(sketch), Ok((features, _))) = (settings.solver.sketch(), rows.features()) else {
            return 0.0;
        };
        let of_value =
            if features.kind() == RowKind::Sparse { SPARSE_VALUE } else { features.width() as f64 };
        let kernels = settings.summands().count().max(1);
        let passes = match &settings.solver {
            // several λ are compared in a pass of their own
            Solver::Sketched(_) => lambdas.min(2),
            // each λ has a fit of its own
            Solver::ConjugateGradients(_) | Solver::DivideAndConquer(_) | Solver::Lipschitz(_) => {
                lambdas
            }
            Solver::ClosedForm(_) => 1,
        };
        let values = rows.len() as f64 * sketch.size as f64 * (kernels * passes) as f64;
        values * of_value
    }

    /// Returns the training outputs in the output space of the machine.
    fn points(&self, problem: &Problem) -> Result<(OutputSpace, Targets), Error> {
        let settings = self.settings;
        let config = &problem.config;
        let rows = problem.rows();
        let weights = &problem.dataset.train.weights;
        if config.sketch.full {
            let kernel = problem.kernel()?.clone();
            return Ok(OutputSpace::training_weighted(kernel, &rows, weights)?);
        }
        let mixed = settings.embedding().is_some_and(EmbeddingConfig::is_mixed);
        let rank = match settings.predictions {
            PredictionsConfig::Leading { rank } => Some(rank),
            PredictionsConfig::All {} | PredictionsConfig::Embedded(_) => None,
        };
        let basis = if problem.lacks_weights() {
            output::weighted_basis(settings, &self.rows, problem)?
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
            OutputSpace::basis_weighted(basis, rank, &rows, weights, &problem.ranks, held)?;
        Ok((space, projected.unwrap_or(targets)))
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
        let points = (space, points.grouped(&left_out_together(problem)?)?);
        match self.settings.embedding() {
            Some(embedding) => self.embedded(embedding, problem, points),
            None => Ok(OutputTargets::points(points)),
        }
    }

    fn needs(&self, coordinates: usize) -> Vec<Need> {
        let settings = self.settings;
        let config = &self.problem.config;
        let dataset = &self.problem.dataset;
        let machine = self.machine_need(coordinates);
        let mut needs = vec![machine.clone()];
        if self.problem.lacks_weights() {
            let need = output::need(settings, config, dataset);
            // the rest comes when it has been given back
            let outputs = self.problem.needs(self.held.as_ref().map_or(1.0, Held::share));
            let rest = outputs.iter().chain([&machine]).map(|need| need.bytes).sum::<f64>();
            needs.push(Need { bytes: (need.bytes - rest).max(0.0), ..need });
        }
        needs.extend(self.fold_need(coordinates));
        needs
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
        let (fitted, without_last) = self.solved(targets, &evaluator)?;
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
