//! The gradients of a batch: in parts, over several ranks, and clipped.

use std::ops::Range;

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{DType, Tensor, TensorData};
use dsokr_core::Cancellation;
use dsokr_kernels::{Clip, clip};
use dsokr_nn::parameters::{visit, visit_distinct};
use dsokr_nn::{Encoder, Gradients, Model, RowGradients, Values, backward};
use rand::Rng;

use crate::batches::encoded;
use crate::config::TrainingConfig;
use crate::error::Error;
use crate::loss::{Objective, StepNumber};
use crate::sums::{BatchGradients, Step};
use crate::task::Task;

/// Returns the gradients of a batch's mean loss. Where pairs have weights, the loss is `Σ_i w_i ℓ_i` of the batch, divided by its
/// number of pairs and by the mean weight of all training pairs.
///
/// The batch is encoded `micro_batch` pairs at a time, each part with its own key, and the
/// gradients of the parts are summed. Apart from rounding and dropout masks, the size only changes
/// memory. `row_gradients` has what the backward pass gives by rows. Several ranks have a `step`, which divides every part
/// among them: all get the same result, which differs from that of one rank by rounding only. A loss that compares the pairs
/// of the batch is taken of all its predictions [before](Compared).
pub(super) fn gradients<E: Encoder, M>(
    task: &Task<E, M>,
    model: &Model<E>,
    batch: &[usize],
    objective: &Objective,
    row_gradients: &RowGradients,
    keys: &mut impl Rng,
    step: Option<Step>,
) -> Result<BatchGradients, Error> {
    let mut sum = GradientsAccumulator::new();
    let divisor = objective.divisor(batch.len());
    let cancellation = Cancellation::current();
    let parts = Part::all(task.config, batch, keys);
    let is_divided = parts.len() > 1 || step.is_some();
    let compared = if is_divided && task.config.loss.compares_pairs() {
        Some(Compared::new(task, model, &parts, objective, step.as_ref())?)
    } else {
        None
    };
    let own_loss = compared.as_ref().filter(|_| task.ranks.is_first());
    let mut loss = StepNumber::from(own_loss.map_or(0.0, |compared| compared.loss));
    for (at, part) in parts.iter().enumerate() {
        let share = part.share(step.as_ref());
        // nothing of a pass that the encoder has cancelled is used
        if share.is_empty() || !loss.read.is_finite() || cancellation.is_cancelled() {
            continue;
        }
        // several ranks get gradients while the backward pass goes on
        let watched = step.as_ref().map(|step| step.watch(model, at + 1 == parts.len()));
        let watched = watched.as_ref().unwrap_or(model);
        let pairs = &part.pairs[share.clone()];
        let z = encode_share(task, watched, part, share.clone())?;
        let scale = watched.scale.as_ref().map(|scale| scale.val());
        let mean = match &compared {
            Some(compared) => compared.part(z, part.first + share.start, scale),
            None => {
                let dtype = z.dtype();
                let targets = || targets(task, pairs, dtype);
                let mean = objective.loss(z, pairs, targets, scale) / divisor;
                loss.add(mean.clone().inner());
                mean
            }
        };
        let gradients = GradientsParams::from_grads(backward(mean), watched);
        match &step {
            Some(step) => step.add(model, gradients),
            None => sum.accumulate(model, gradients),
        }
    }
    let result = match step {
        Some(step) => step.finish(model, loss)?,
        None => {
            let gradients = Gradients::new(sum.grads(), row_gradients.take());
            let gradients = loss.read.is_finite().then_some(gradients);
            BatchGradients { loss, gradients, norm: None, factor: None, stop: false }
        }
    };
    Ok(clipped(model, result, task.config.clip))
}

/// A part of a batch that is encoded at once.
struct Part<'b> {
    pairs: &'b [usize],
    /// The place of the first pair in the batch.
    first: usize,
    /// The key of the dropout masks.
    key: u64,
}

impl<'b> Part<'b> {
    /// Cuts a batch into parts, each with the next key.
    fn all(config: &TrainingConfig, batch: &'b [usize], keys: &mut impl Rng) -> Vec<Self> {
        // a whole batch may have one pair more than others
        let is_whole = config.at_once() >= config.batch;
        let size = if is_whole { batch.len().max(1) } else { config.at_once() };
        let mut parts = Vec::new();
        for (number, pairs) in batch.chunks(size).enumerate() {
            parts.push(Self { pairs, first: number * size, key: keys.next_u64() });
        }
        parts
    }

    /// Returns the pairs of the part that this rank encodes: all of them, unless several ranks share the step.
    fn share(&self, step: Option<&Step>) -> Range<usize> {
        step.map_or(0..self.pairs.len(), |step| step.share(self.pairs))
    }
}

/// Returns the predictions of a rank's share of a part, with the dropout masks of the whole part.
fn encode_share<E: Encoder, M>(
    task: &Task<E, M>,
    model: &Model<E>,
    part: &Part,
    share: Range<usize>,
) -> Result<Tensor<2>, Error> {
    let input = |&i: &usize| &task.pairs.inputs()[i];
    let pass = model.pass_after(part.key, part.pairs[..share.start].iter().map(input));
    let inputs: Vec<&E::Input> = part.pairs[share].iter().map(input).collect();
    encoded(&model.encoder, &inputs, pass)
}

/// Returns the targets `[pairs × p]` and residuals of some pairs.
fn targets<E: Encoder, M>(
    task: &Task<E, M>,
    pairs: &[usize],
    dtype: DType,
) -> (Tensor<2>, Vec<f32>) {
    let rows = pairs.iter().flat_map(|&i| task.pairs.target(i).iter().copied());
    let rows = TensorData::new(rows.collect::<Vec<f32>>(), [pairs.len(), task.pairs.width()]);
    let residuals = pairs.iter().map(|&i| task.pairs.residuals()[i] as f32).collect();
    (Tensor::from_data(rows, (task.device, dtype)), residuals)
}

/// A loss that compares the pairs of a batch, whose predictions are encoded in parts or by several ranks: its gradient by
/// the predictions, which a second pass over each part takes on to the parameters (Gao et al. 2021). Passes of a part have
/// the same key, and so the same dropout masks.
struct Compared {
    /// The mean loss of the batch.
    loss: f64,
    /// Its gradient by the predictions, `[batch × p]` row-major.
    gradient: Values,
    /// Its gradient by ln 1/τ.
    scale: f32,
}

impl Compared {
    /// Encodes the parts of a batch without gradients, each with its key, on all ranks together.
    fn new<E: Encoder, M>(
        task: &Task<E, M>,
        model: &Model<E>,
        parts: &[Part],
        objective: &Objective,
        step: Option<&Step>,
    ) -> Result<Self, Error> {
        let cancellation = Cancellation::current();
        let plain = model.valid();
        let p = model.encoder.dimension();
        let mut dtype = DType::F32;
        let mut predictions: Vec<f32> = Vec::new();
        for part in parts {
            let share = part.share(step);
            // ranks exchange their predictions whatever they are
            let mut own = vec![0.0; share.len() * p];
            if !share.is_empty() && !cancellation.is_cancelled() {
                let z = encode_share(task, &plain, part, share)?;
                dtype = z.dtype();
                own = Values::from_tensor(z).to_vec();
            }
            predictions.extend(task.ranks.gather_numbers(&own)?.into_iter().flatten());
        }
        let batch: Vec<usize> = parts.iter().flat_map(|part| part.pairs.iter().copied()).collect();
        let predictions = TensorData::new(predictions, [batch.len(), p]);
        let z = Tensor::<2>::from_data(predictions, (task.device, dtype)).require_grad();
        let scale = model.scale.as_ref().map(|scale| scale.val().detach().require_grad());
        let targets = || targets(task, &batch, dtype);
        let mean = objective.loss(z.clone(), &batch, targets, scale.clone());
        let mean = mean / objective.divisor(batch.len());
        let loss = StepNumber::read(&[StepNumber::pending(mean.clone().inner())])[0];
        let gradients = backward(mean);
        let gradient = z.grad(&gradients).unwrap_or_else(|| z.clone().inner().zeros_like());
        let scale = scale.and_then(|scale| scale.grad(&gradients));
        let scale = scale.map_or(0.0, |scale| Values::from_tensor(scale)[0]);
        Ok(Self { loss, gradient: Values::from_tensor(gradient), scale })
    }

    /// Returns a number whose gradients are those of the loss by way of the predictions `z` of the pairs from place
    /// `first` of the batch on; by way of `scale`, ln 1/τ, it is that of the part with the first pair.
    fn part(&self, z: Tensor<2>, first: usize, scale: Option<Tensor<1>>) -> Tensor<1> {
        let [n, p] = z.dims();
        let gradient = self.gradient[first * p..(first + n) * p].to_vec();
        let options = (&z.device(), z.dtype());
        let gradient = Tensor::<2>::from_data(TensorData::new(gradient, [n, p]), options);
        let sum = (z * gradient).sum();
        match scale.filter(|_| first == 0) {
            Some(scale) => sum + scale * self.scale,
            None => sum,
        }
    }
}

/// Returns the gradients of a batch with their norm over all parameters together, scaled to norm `limit` if it is larger, unless
/// the limit is 0. On the CPU engine there are none if the norm is not finite. On other devices nothing is read: the
/// factor `[1]` that scales them is returned with them, and is NaN then; without a limit the norm is not known.
fn clipped<E: Encoder>(model: &Model<E>, all: BatchGradients, limit: f32) -> BatchGradients {
    let BatchGradients { gradients: Some(gradients), .. } = all else { return all };
    let mut on_cpu_engine = true;
    visit(model, |_, parameter| on_cpu_engine &= parameter.is_on_cpu_engine());
    if on_cpu_engine {
        let (gradients, norm) = clipped_on_cpu(model, gradients, limit);
        return BatchGradients { gradients, norm: Some(norm.into()), ..all };
    }
    if limit == 0.0 {
        return BatchGradients { gradients: Some(gradients), ..all };
    }
    let mut flat = Vec::new();
    visit_distinct(model, |_, parameter| flat.extend(parameter.flat_gradient(&gradients)));
    let Clip { factor, norm } = clip(flat, limit);
    let norm = Some(StepNumber::pending(norm));
    BatchGradients { gradients: Some(gradients), norm, factor: Some(factor), ..all }
}

/// Returns gradients in memory with their norm, scaled as [`clipped`] does; none where a limit finds that the norm is not finite.
fn clipped_on_cpu<E: Encoder>(
    model: &Model<E>,
    mut gradients: Gradients,
    limit: f32,
) -> (Option<Gradients>, f64) {
    let mut sum = 0.0;
    visit_distinct(model, |_, parameter| {
        sum += parameter.squared_gradient(&gradients).map_or(0.0, f64::from);
    });
    let norm = f64::sqrt(sum);
    if limit > 0.0 && norm > f64::from(limit) {
        let factor = (f64::from(limit) / norm) as f32;
        visit_distinct(model, |_, parameter| parameter.scale_gradient(&mut gradients, factor));
    }
    let is_usable = limit == 0.0 || norm.is_finite();
    (is_usable.then_some(gradients), norm)
}
