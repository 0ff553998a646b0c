//! The choice of λ, and the fit for it.

use std::borrow::Cow;

use dsokr_basis::{Kernel, OutputKernel, RowSource};
use dsokr_data::SplitName;
use dsokr_machines::{
    Cost, KernelModel, LastSystem, OutputEmbedding, OutputSpace, PreparedSolver, Scaling, Solver,
    Targets, TrainingInputs,
};
use tracing::info;

use super::inputs::MachineRows;
use crate::Error;
use crate::config::{
    ColumnScaling, EmbeddingConfig, KernelMachineConfig, Lambda, MachineInputsConfig, NgramWeights,
};
use crate::evaluator::Evaluator;
use crate::run_dir::{EmbeddingCurve, EmbeddingPoint};

impl KernelMachineConfig {
    /// What a fit to so many pairs costs, that of the weights of n-grams included.
    pub(super) fn cost(&self, pairs: usize, coordinates: usize, lambdas: usize) -> Cost {
        let threads = rayon::current_num_threads();
        let cost = self.solver.cost(pairs, coordinates, lambdas, threads);
        let learned = matches!(
            self.inputs,
            MachineInputsConfig::Ngrams { weights: NgramWeights::Learned, .. }
        );
        let first = match learned {
            true => self.solver.cost(pairs, coordinates, 1, threads).multiplications,
            false => 0.0,
        };
        Cost { multiplications: cost.multiplications + first, ..cost }
    }
}

/// How columns of vectors are standardised, or the weights that n-grams learn, if the settings say so.
pub(super) fn scaling(
    settings: &KernelMachineConfig,
    inputs: TrainingInputs,
    targets: &Targets,
    seed: u64,
) -> Result<Option<Scaling>, Error> {
    let TrainingInputs::Rows(rows, _) = inputs else {
        return Ok(None);
    };
    let centred = match &settings.inputs {
        MachineInputsConfig::Vectors { scaling: ColumnScaling::Deviation } => false,
        MachineInputsConfig::Vectors { scaling: ColumnScaling::Standard } => true,
        MachineInputsConfig::Ngrams { weights: NgramWeights::Learned, .. } => {
            let first = settings.solver.prepare(inputs, seed, LastSystem::default())?;
            let lambda = settings.first_lambda();
            let (model, _) = first.fit(targets, lambda, false)?;
            info!("n-grams weighted by a first fit");
            return Ok(Some(Scaling::relevance(&model)?));
        }
        MachineInputsConfig::Vectors { scaling: ColumnScaling::None }
        | MachineInputsConfig::Ngrams { weights: NgramWeights::TfIdf, .. }
        | MachineInputsConfig::Kernels { .. } => return Ok(None),
    };
    Ok(Some(Scaling::fit(rows, centred)?))
}

/// The rows with their columns standardised, where they are.
pub(super) fn scaled<'a, 's>(
    scaling: Option<&Scaling>,
    rows: &'a MachineRows<'s>,
) -> Result<Cow<'a, MachineRows<'s>>, Error> {
    Ok(match scaling {
        Some(scaling) => {
            let scaled = scaling.rows(rows.features()?)?;
            Cow::Owned(MachineRows::Features(Cow::Owned(scaled)))
        }
        None => Cow::Borrowed(rows),
    })
}

/// Leave-one-out errors that differ by less than this share of them are equal.
const FLAT: f64 = 1e-3;

/// The most inputs that are compared with one another.
const COMPARED: usize = 200;

/// Inputs have nothing in common below this share of their own values.
const UNLIKE: f64 = 0.01;

/// Advice where all λ are equally good, if it is because most of the first training inputs have nothing in common:
/// the kernel matrix is nearly diagonal, and the predictions for a new input nearly 0.
pub(super) fn advice_on_unlike(
    settings: &KernelMachineConfig,
    rows: &MachineRows,
) -> Result<Option<String>, Error> {
    let n = rows.len().min(COMPARED);
    let values = match rows {
        MachineRows::Features(rows) => {
            let first = rows.block(0..n)?;
            settings.kernel.block(&first, &first)?
        }
        MachineRows::Gram(values) => values.submatrix(0, 0, n, n).to_owned(),
    };
    let alike = |i: usize, j: usize| {
        i != j && values[(i, j)].abs() > UNLIKE * (values[(i, i)] * values[(j, j)]).sqrt()
    };
    let unlike = (0..n).filter(|&i| (0..n).all(|j| !alike(i, j))).count();
    if 2 * unlike <= n {
        return Ok(None);
    }
    let cure = match (rows, &settings.kernel) {
        (MachineRows::Gram(_), _) => "try other kernels".to_owned(),
        (_, Kernel::Gaussian { gamma } | Kernel::GaussianTanimoto { gamma }) => {
            format!("try an encoder.kernel.gamma below {gamma}")
        }
        (MachineRows::Features(_), _) => "try another encoder.kernel or other inputs".into(),
    };
    let values = settings.lambda.values().len();
    Ok(Some(format!(
        "all {values} values of encoder.lambda are equally good, since {unlike} of {n} training inputs have nothing in \
         common with the others under the kernel: {cure}"
    )))
}

/// A solver with the training rows, scaled, and the targets.
pub(super) struct LambdaSearch<'a> {
    pub settings: &'a KernelMachineConfig,
    pub scaling: Option<&'a Scaling>,
    pub prepared: PreparedSolver<'a>,
    pub targets: &'a Targets,
    pub evaluator: &'a Evaluator<'a>,
    pub validation: &'a MachineRows<'a>,
}

/// The model of the best λ.
pub(super) struct BestModel {
    pub model: KernelModel,
    /// Leave-one-out predictions for the training rows, if they were asked for.
    pub held_out: Option<Vec<f32>>,
    pub lambda: f64,
    /// Whether several λ were tried, and all are equally good.
    pub flat: bool,
}

/// The training inputs of a solver.
pub(super) fn training_inputs<'a>(
    settings: &KernelMachineConfig,
    rows: &'a MachineRows,
) -> TrainingInputs<'a> {
    match rows {
        MachineRows::Features(rows) => TrainingInputs::rows(settings.kernel.clone(), rows.as_ref()),
        MachineRows::Gram(gram) => TrainingInputs::Gram(gram.as_ref()),
    }
}

impl LambdaSearch<'_> {
    /// The model for one λ, and if `leave_one_out` its leave-one-out predictions for the training
    /// rows.
    pub(super) fn fit(
        &self,
        lambda: f64,
        leave_one_out: bool,
    ) -> Result<(KernelModel, Option<Vec<f32>>), Error> {
        let (model, held_out) = self.prepared.fit(self.targets, lambda, leave_one_out)?;
        let model = match self.scaling {
            Some(scaling) => model.with_scaling(scaling.clone())?,
            None => model,
        };
        Ok((model, held_out))
    }

    /// The best model of those of several λ, each embedded in every way, and the curve; `unlabelled` are coordinates of
    /// outputs without pairs.
    pub(super) fn best_embedding(
        &self,
        settings: &EmbeddingConfig,
        training: &MachineRows,
        unlabelled: &[f32],
    ) -> Result<(KernelModel, EmbeddingCurve), Error> {
        let metric = self.evaluator.config.evaluation.metric;
        let mut points = Vec::new();
        let mut best: Option<(f64, EmbeddingPoint, KernelModel, OutputEmbedding)> = None;
        for &lambda in self.settings.lambda.values() {
            let (model, _) = self.fit(lambda, false)?;
            let width = model.width();
            let training = training.predictions(&model)?;
            let validation = self.validation.predictions(&model)?;
            for &supervised in &settings.supervised {
                let unlabelled = if supervised < 1.0 { unlabelled } else { &[] };
                let whole =
                    OutputEmbedding::learn(width, &training, unlabelled, supervised, width)?;
                for rank in settings.ranks_in(width)? {
                    let embedding = whole.truncate(rank)?;
                    let z = embedding.restore(&embedding.project(&validation)?)?;
                    let scores = self.evaluator.evaluate(SplitName::Validation, &z)?.scores;
                    let value = metric.value(&scores);
                    info!(lambda, supervised, rank, metric = %metric, value, "embedding");
                    let point = EmbeddingPoint { lambda, supervised, rank, value };
                    points.push(point);
                    let score = metric.score(&scores);
                    if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                        best = Some((score, point, model.clone(), embedding));
                    }
                }
            }
        }
        let Some((_, chosen, model, embedding)) = best else { return Err(no_lambda()) };
        let (metric, larger_is_better) = (metric.to_string(), metric.larger_is_better());
        let curve = EmbeddingCurve { metric, larger_is_better, points, chosen };
        Ok((model.mapped(embedding.projector().as_ref())?, curve))
    }

    /// The model of the given λ, or of the best of several: by leave-one-out errors if the solver
    /// has them, else on the validation split.
    pub(super) fn best(
        &self,
        space: Option<&OutputSpace>,
        leave_one_out: bool,
    ) -> Result<BestModel, Error> {
        let lambdas = match &self.settings.lambda {
            Lambda::One(lambda) if !self.settings.is_lipschitz() => {
                let (model, held_out) = self.fit(*lambda, leave_one_out)?;
                return Ok(BestModel { model, held_out, lambda: *lambda, flat: false });
            }
            several => several.values(),
        };
        if let (Some(space), Some(spectrum)) = (space, self.prepared.spectrum(self.targets)?) {
            let errors = spectrum.errors(lambdas, space)?;
            let (mut best, mut worst) = ((f64::INFINITY, f64::NAN), 0.0f64);
            for (&lambda, error) in lambdas.iter().zip(errors) {
                info!(lambda, error, "leave-one-out");
                worst = worst.max(error);
                if error < best.0 {
                    best = (error, lambda);
                }
            }
            let flat = lambdas.len() > 1 && worst - best.0 <= FLAT * worst;
            let (model, held_out) = self.fit(best.1, leave_one_out)?;
            return Ok(BestModel { model, held_out, lambda: best.1, flat });
        }
        let metric = self.evaluator.config.evaluation.metric;
        let mut best: Option<(f64, f64, KernelModel)> = None;
        let mut worst = f64::INFINITY;
        for &lambda in lambdas {
            let (model, _) = self.fit(lambda, false)?;
            let z = self.validation.predictions(&model)?;
            let scores = self.evaluator.evaluate(SplitName::Validation, &z)?.scores;
            let (score, value) = (metric.score(&scores), metric.value(&scores));
            info!(lambda, metric = %metric, value, "{}", model.summary);
            worst = worst.min(score);
            if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                best = Some((score, lambda, model));
            }
        }
        let Some((score, lambda, model)) = best else { return Err(no_lambda()) };
        let flat = lambdas.len() > 1 && score == worst;
        Ok(BestModel { model, held_out: None, lambda, flat })
    }
}

fn no_lambda() -> Error {
    Error::value("encoder.lambda", "[]", "at least one number above 0")
}

/// Number of unknowns for each coordinate, of n training pairs.
pub(super) fn unknowns(solver: &Solver, pairs: usize) -> usize {
    solver.sketch().map_or(pairs, |sketch| sketch.size)
}
