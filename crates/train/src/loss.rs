//! Losses of a batch on tensors, and the temperature that some of them train.

use std::collections::HashMap;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData, Transaction};
use dsokr_basis::Features;
use dsokr_basis::features::{DenseRows, Distinct, distinct};
use dsokr_core::loss::{DistanceLoss, Pieces};
use dsokr_kernels::on_cpu_engine;
use dsokr_nn::parameters::total;
use dsokr_nn::{Encoder, Model, Values};

use crate::config::{LossConfig, TrainingConfig};
use crate::error::Error;
use crate::task::Task;

/// Below this the root of a squared distance has no gradient.
const SMALLEST: f32 = 1e-12;

/// The largest 1/τ, as in CLIP.
const SHARPEST: f64 = 100.0;

/// Returns a model whose 1/τ is at most the largest one. It holds after each step, and of an average of steps: a bound inside the
/// loss has no gradient beyond it, so that τ could not return.
pub(super) fn bounded<E: Encoder>(model: Model<E>) -> Model<E> {
    let bound = |scale: Tensor<1>| {
        let learns = scale.is_require_grad();
        scale.clamp_max(SHARPEST.ln()).detach().set_require_grad(learns)
    };
    Model { scale: model.scale.map(|scale| scale.map(bound)), ..model }
}

/// A number of a step: its loss, a sum over the parts of its batch, or the norm of its gradient.
pub(super) struct StepNumber {
    /// The part of it that has been read: all on the CPU engine, whose tensors are in memory.
    pub(super) read: f64,
    /// The rest, on a device that a reading waits for.
    pub(super) pending: Option<Tensor<1>>,
}

impl StepNumber {
    /// Creates a number from a tensor, which is read at once on the CPU engine.
    pub(super) fn pending(number: Tensor<1>) -> Self {
        let mut all = Self::from(0.0);
        all.add(number);
        all
    }

    /// Adds a number, such as the loss of a part.
    pub(super) fn add(&mut self, part: Tensor<1>) {
        if on_cpu_engine(&part) {
            self.read += f64::from(part.into_scalar::<f32>());
        } else {
            self.pending = Some(match self.pending.take() {
                Some(sum) => sum + part,
                None => part,
            });
        }
    }

    /// Returns the values of several numbers, for which their device is waited for once.
    pub(super) fn read(numbers: &[Self]) -> Vec<f64> {
        let pending = numbers.iter().filter_map(|number| number.pending.clone());
        let read = pending.fold(Transaction::default(), Transaction::register).execute();
        let mut read = read.into_iter().flat_map(|data| data.iter::<f64>().last());
        let value = |number: &Self| match number.pending {
            Some(_) => number.read + read.next().unwrap_or(f64::NAN),
            None => number.read,
        };
        numbers.iter().map(value).collect()
    }
}

impl From<f64> for StepNumber {
    fn from(number: f64) -> Self {
        Self { read: number, pending: None }
    }
}

/// A loss with what it needs of all training pairs.
pub(super) struct Objective<'a> {
    kind: LossKind,
    /// w of each pair; empty where all are 1.
    weights: &'a [f64],
    /// The mean w of all pairs.
    mean_weight: f64,
}

/// What a loss compares a prediction with.
enum LossKind {
    /// Its target, by their squared distance.
    SquaredDistance,
    /// Its target, by their distance.
    Distance(Pieces),
    /// The targets of its batch.
    Batch {
        /// Which of the distinct outputs each training pair has.
        outputs: Vec<u32>,
    },
    /// All distinct outputs of the training pairs.
    AllOutputs(Box<Classes>),
}

/// All distinct outputs of the training pairs. Targets never change, so a batch costs one product with k
/// targets and no encoding.
struct Classes {
    /// The k distinct targets at unit length `[k × p]`.
    targets: Tensor<2>,
    /// Which of them each pair has.
    class: Vec<u32>,
}

impl<'a> Objective<'a> {
    /// Creates the objective of a task with p coordinates.
    pub(super) fn from_task<E: Encoder, M>(task: &Task<'a, E, M>, p: usize) -> Result<Self, Error> {
        let loss = &task.config.loss;
        let objective =
            Self::new(loss, task.pairs.targets(), task.pairs.weights(), p, task.device)?;
        if let LossKind::AllOutputs(classes) = &objective.kind {
            tracing::info!(
                outputs = classes.targets.dims()[0],
                "the softmax runs over training outputs"
            );
        }
        Ok(objective)
    }

    /// Creates the objective of pairs with these targets `[pairs × p]`.
    fn new(
        loss: &LossConfig,
        targets: &[f32],
        weights: &'a [f64],
        p: usize,
        device: &Device,
    ) -> Result<Self, Error> {
        let mean_weight = match weights {
            [] => 1.0,
            all => all.iter().sum::<f64>() / all.len() as f64,
        };
        let outputs = || distinct(&Features::from(DenseRows::new(p, targets.to_vec())?));
        let kind = match loss {
            LossConfig::Square(_) => LossKind::SquaredDistance,
            LossConfig::Huber(loss) => LossKind::Distance(loss.pieces()),
            LossConfig::EpsilonInsensitive(loss) => LossKind::Distance(loss.pieces()),
            LossConfig::EpsilonInsensitiveSquare(loss) => LossKind::Distance(loss.pieces()),
            LossConfig::Contrastive { .. } => LossKind::Batch { outputs: outputs()?.class },
            LossConfig::Softmax { .. } => {
                let Distinct { representative, class, .. } = outputs()?;
                let values = representative.iter().flat_map(|&row| &targets[row * p..][..p]);
                let values = TensorData::new(values.copied().collect(), [representative.len(), p]);
                let targets = unit(Tensor::from_data(values, device));
                LossKind::AllOutputs(Box::new(Classes { targets, class }))
            }
        };
        Ok(Self { kind, weights, mean_weight })
    }

    /// Returns what the sum of the losses of a batch of so many pairs is divided by: the sum of their weights if each had
    /// the mean weight of all training pairs. The sum of the weights in the batch itself would take a pair's weight away
    /// where batches are small.
    pub(super) fn divisor(&self, pairs: usize) -> f32 {
        (pairs as f64 * self.mean_weight) as f32
    }

    /// Returns `Σ_i w_i ℓ(z_i, y_i)` of some pairs, for the contrastive loss those of a whole batch. `targets` gives
    /// their targets `[pairs × p]` and residuals r(y), and `scale` is ln 1/τ, by default 0.
    pub(super) fn loss(
        &self,
        z: Tensor<2>,
        pairs: &[usize],
        targets: impl FnOnce() -> (Tensor<2>, Vec<f32>),
        scale: Option<Tensor<1>>,
    ) -> Tensor<1> {
        let device = z.device();
        let weights: Option<Vec<f32>> = match self.weights {
            [] => None,
            all => Some(pairs.iter().map(|&pair| all[pair] as f32).collect()),
        };
        let weights = weights.as_deref();
        let scale = || scale.unwrap_or_else(|| Tensor::zeros([1], &device));
        match &self.kind {
            LossKind::SquaredDistance => {
                let (targets, residuals) = targets();
                let residuals = residuals.iter().enumerate();
                total(weighted((z - targets).square(), weights))
                    + residuals.map(|(at, residual)| weight(weights, at) * residual).sum::<f32>()
            }
            LossKind::Distance(loss) => {
                let (targets, residuals) = targets();
                distance(*loss, z, targets, residuals, weights)
            }
            LossKind::Batch { outputs } => {
                let (targets, _) = targets();
                let outputs: Vec<u32> = pairs.iter().map(|&pair| outputs[pair]).collect();
                contrastive(z, targets, scale(), weights, &outputs)
            }
            LossKind::AllOutputs(classes) => {
                let Classes { targets, class } = classes.as_ref();
                let right: Vec<i32> = pairs.iter().map(|&pair| class[pair] as i32).collect();
                let right = TensorData::new(right, [pairs.len(), 1]);
                let right = Tensor::<2, Int>::from_data(right, &device);
                let scores = similarities(unit(z), targets.clone(), scale());
                -weighted(log_softmax(scores, 1).gather(1, right), weights).sum()
            }
        }
    }
}

/// Refuses a loss with a temperature for a model without.
pub(super) fn check_temperature<E: Encoder>(
    loss: &LossConfig,
    model: &Model<E>,
) -> Result<(), dsokr_core::Error> {
    let holds = loss.temperature().is_none() || model.scale.is_some();
    let found = "a loss with a temperature";
    let allowed = "a loss without a temperature, or a model with one";
    dsokr_core::Error::ensure(holds, "training.loss.name", found, allowed)
}

/// Returns the mean loss of predictions `z` `[n × p]` of a model for pairs with these targets `[n × p]` and residuals, all of the
/// same weight: what a training logs of the validation pairs. The contrastive loss compares the pairs of each `batch` of
/// the configuration, and the softmax runs over the outputs of these pairs. NaN without pairs.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for a configuration that is not [valid](TrainingConfig::validate), and for a loss with a
/// temperature and a model without; [`Error::Pairs`] unless there is a residual for each p numbers of `z` and of `targets`;
/// targets that are not finite.
pub fn mean_loss<E: Encoder>(
    config: &TrainingConfig,
    model: &Model<E>,
    z: &[f32],
    targets: &[f32],
    residuals: &[f64],
) -> Result<f64, Error> {
    config.validate()?;
    check_temperature(&config.loss, model)?;
    let p = model.encoder.dimension();
    for (what, rows) in [("predictions", z), ("targets", targets)] {
        if rows.len() != residuals.len() * p {
            let pairs = residuals.len();
            let message =
                format!("{} numbers in the {what} of {pairs} pairs, not {p} each", rows.len());
            return Err(Error::Pairs(message));
        }
    }
    let device = Device::flex();
    let objective = Objective::new(&config.loss, targets, &[], p, &device)?;
    let scale = model.scale.as_ref().map(|scale| Values::from_tensor(scale.val())[0]);
    let matrix = |rows: &[f32]| {
        let rows = TensorData::new(rows.to_vec(), [rows.len() / p, p]);
        Tensor::<2>::from_data(rows, &device)
    };
    let pairs: Vec<usize> = (0..residuals.len()).collect();
    let mut sum = 0.0;
    for batch in pairs.chunks(config.batch) {
        let first = batch[0] * p;
        let last = first + batch.len() * p;
        let batch_targets = || {
            let residuals = batch.iter().map(|&pair| residuals[pair] as f32).collect();
            (matrix(&targets[first..last]), residuals)
        };
        let scale = scale.map(|scale| Tensor::from_floats([scale], &device));
        let loss = objective.loss(matrix(&z[first..last]), batch, batch_targets, scale);
        sum += f64::from(loss.into_scalar::<f32>());
    }
    Ok(sum / residuals.len() as f64)
}

/// Returns rows times their weights; as they are without weights.
fn weighted(rows: Tensor<2>, weights: Option<&[f32]>) -> Tensor<2> {
    let Some(weights) = weights else { return rows };
    let column = TensorData::new(weights.to_vec(), [weights.len(), 1]);
    let column = Tensor::from_data(column, (&rows.device(), rows.dtype()));
    rows * column
}

/// Returns the weight of a pair of the batch.
fn weight(weights: Option<&[f32]>, at: usize) -> f32 {
    weights.map_or(1.0, |weights| weights[at])
}

/// Returns the weighted sum of a loss of distances between z and targets.
fn distance(
    loss: Pieces,
    z: Tensor<2>,
    targets: Tensor<2>,
    residuals: Vec<f32>,
    weights: Option<&[f32]>,
) -> Tensor<1> {
    let on_cpu = on_cpu_engine(&z);
    let n = residuals.len();
    let options = (&z.device(), z.dtype());
    let column =
        |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [n, 1]), options);
    let squares = (z - targets).square().sum_dim(1);
    let root = (squares + column(residuals)).clamp_min(SMALLEST).sqrt();
    if !on_cpu {
        let Pieces { kink, inner, excess, excess_squared } = loss;
        let m = root.clone().clamp_max(kink);
        let e = (root.clone() - kink).clamp_min(0.0);
        let inner = m.clone() * (root - m * 0.5) * inner;
        return weighted(inner + e.clone() * excess + e.square() * excess_squared, weights).sum();
    }
    // ℓ is linear about √u: its slope there is the gradient, and its value is added as a constant
    let roots = root.clone().detach().into_data().iter::<f32>().map(f64::from).collect::<Vec<_>>();
    let slopes: Vec<f32> = roots.iter().map(|&root| loss.derivative(root) as f32).collect();
    let values = roots.iter().zip(&slopes).enumerate().map(|(at, (&root, &slope))| {
        f64::from(weight(weights, at)) * (loss.value(root) - f64::from(slope) * root)
    });
    let constant: f64 = values.sum();
    weighted(root * column(slopes), weights).sum() + constant
}

/// Returns rows at unit length.
fn unit(rows: Tensor<2>) -> Tensor<2> {
    let length = rows.clone().square().sum_dim(1).clamp_min(SMALLEST).sqrt();
    rows / length
}

/// Returns `s_ij = ⟨z_i, y_j⟩/τ` of unit rows, `scale` being ln 1/τ.
fn similarities(z: Tensor<2>, y: Tensor<2>, scale: Tensor<1>) -> Tensor<2> {
    let sharpness = scale.exp().reshape([1, 1]);
    z.matmul(y.transpose()) * sharpness
}

/// What is added to the score of an output that is no negative: its share of a softmax is 0.
const NO_NEGATIVE: f32 = -1e9;

/// Returns `−½ Σ_i w_i (ln softmax_j(s_ij)_i + ln softmax_j(s_ji)_i)`, in which no j ≠ i has the output of i. `outputs` says which
/// pairs have the same one.
fn contrastive(
    z: Tensor<2>,
    targets: Tensor<2>,
    scale: Tensor<1>,
    weights: Option<&[f32]>,
    outputs: &[u32],
) -> Tensor<1> {
    let scores = similarities(unit(z), unit(targets), scale);
    let scores = match repeated(outputs) {
        Some(repeated) => {
            let n = outputs.len();
            let options = (&scores.device(), scores.dtype());
            scores + Tensor::<2>::from_data(TensorData::new(repeated, [n, n]), options)
        }
        None => scores,
    };
    let n = scores.dims()[0];
    let diagonal = weighted(Tensor::<2>::eye(n, &scores.device()), weights);
    let matched = |scores: Tensor<2>| total(log_softmax(scores, 1) * diagonal.clone());
    (matched(scores.clone()) + matched(scores.transpose())) * -0.5
}

/// Returns what is added to the score of each two pairs of a batch, `[n × n]`, so that equal outputs are no negatives of each
/// other; none where all outputs differ.
fn repeated(outputs: &[u32]) -> Option<Vec<f32>> {
    let n = outputs.len();
    let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, &output) in outputs.iter().enumerate() {
        places.entry(output).or_default().push(place);
    }
    if places.len() == n {
        return None;
    }
    let mut added = vec![0.0; n * n];
    for equal in places.values() {
        for &row in equal {
            for &column in equal.iter().filter(|&&column| column != row) {
                added[row * n + column] = NO_NEGATIVE;
            }
        }
    }
    Some(added)
}
