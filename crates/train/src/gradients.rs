use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Tensor, TensorData};
use dsokr_core::Cancellation;
use dsokr_kernels::{Clip, clip};
use dsokr_nn::parameters::visit;
use dsokr_nn::{Encoder, Gradients, Model, RowGradients, backward};
use rand::Rng;

use crate::batches::encoded;
use crate::error::Error;
use crate::loss::{Objective, StepNumber};
use crate::sums::{BatchGradients, Step};
use crate::task::Task;

/// The gradients of a batch's mean loss, weighted where pairs have weights.
///
/// The batch is encoded `micro_batch` pairs at a time, each part with its own key, and the
/// gradients of the parts are summed. Apart from rounding and dropout masks, the size only changes
/// memory. `row_gradients` has what the backward pass gives by rows. Several ranks have a `step`, which divides every part among them: all get the same result, which differs
/// from that of one rank by rounding only.
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
    let mut loss = StepNumber::from(0.0);
    let total = objective.total(batch);
    let p = model.encoder.dimension();
    let cancellation = Cancellation::current();
    let mut parts = batch.chunks(task.config.at_once());
    while let Some(part) = parts.next() {
        let key = keys.next_u64();
        let share = step.as_ref().map_or(0..part.len(), |step| step.share(part));
        // nothing of a pass that the encoder has cancelled is used
        if share.is_empty() || !loss.read.is_finite() || cancellation.is_cancelled() {
            continue;
        }
        let input = |&i: &usize| &task.pairs.inputs()[i];
        let pass = model.pass_after(key, part[..share.start].iter().map(input));
        let pairs = &part[share];
        let inputs: Vec<&E::Input> = pairs.iter().map(input).collect();
        // several ranks get gradients while the backward pass goes on
        let watched = step.as_ref().map(|step| step.watch(model, parts.len() == 0));
        let watched = watched.as_ref().unwrap_or(model);
        let z = encoded(&watched.encoder, &inputs, pass)?;
        let dtype = z.dtype();
        let targets = || {
            let rows = pairs.iter().flat_map(|&i| task.pairs.target(i).iter().copied());
            let rows = TensorData::new(rows.collect::<Vec<f32>>(), [pairs.len(), p]);
            let residuals = pairs.iter().map(|&i| task.pairs.residuals()[i] as f32).collect();
            (Tensor::from_data(rows, (task.device, dtype)), residuals)
        };
        let scale = watched.scale.as_ref().map(|scale| scale.val());
        let mean = objective.loss(z, pairs, targets, scale) / total;
        loss.add(mean.clone().inner());
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

/// The gradients of a batch with their norm over all parameters together, scaled to norm `limit` if it is larger, unless
/// the limit is 0. On the CPU engine there are none if the norm is not finite. On other devices nothing is read: the
/// factor `[1]` that scales them is returned with them, and is NaN then; without a limit the norm is not known.
fn clipped<E: Encoder>(model: &Model<E>, all: BatchGradients, limit: f32) -> BatchGradients {
    let BatchGradients { gradients: Some(mut gradients), .. } = all else { return all };
    let mut on_cpu_engine = true;
    visit(model, |_, parameter| on_cpu_engine &= parameter.is_on_cpu_engine());
    if !on_cpu_engine {
        if limit == 0.0 {
            return BatchGradients { gradients: Some(gradients), ..all };
        }
        let mut flat = Vec::new();
        visit(model, |_, parameter| flat.extend(parameter.flat_gradient(&gradients)));
        let Clip { factor, norm } = clip(flat, limit);
        let norm = Some(StepNumber::pending(norm));
        return BatchGradients { gradients: Some(gradients), norm, factor: Some(factor), ..all };
    }
    let mut sum = 0.0;
    visit(model, |_, parameter| {
        sum += parameter.squared_gradient(&gradients).map_or(0.0, f64::from);
    });
    let length = f64::sqrt(sum);
    if limit > 0.0 && length > f64::from(limit) {
        let factor = (f64::from(limit) / length) as f32;
        visit(model, |_, parameter| parameter.scale_gradient(&mut gradients, factor));
    }
    let is_usable = limit == 0.0 || length.is_finite();
    let gradients = is_usable.then_some(gradients);
    BatchGradients { gradients, norm: Some(length.into()), ..all }
}
