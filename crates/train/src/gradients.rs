use std::slice::Chunks;

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Tensor, TensorData};
use dsokr_nn::{Encoder, Model, Pass, backward};
use rand::Rng;

use crate::clip::clip;
use crate::loss::Objective;
use crate::sums::Sums;
use crate::{Error, Task, TrainingConfig, shared};

/// The batch's mean loss and its gradients, clipped; none if they are not finite.
///
/// The batch is encoded `micro_batch` pairs at a time, each part with its own key, and the
/// gradients of the parts are summed. Apart from rounding and dropout masks, the size changes
/// memory alone.
pub(super) fn gradients<E: Encoder, M>(
    task: &Task<E, M>,
    model: &Model<E>,
    batch: &[usize],
    objective: &Objective,
    keys: &mut impl Rng,
) -> (f64, Option<GradientsParams>) {
    let mut sum = GradientsAccumulator::new();
    let mut loss = 0.0;
    for part in parts(task.config, batch) {
        let pass = Pass::Train { key: keys.next_u64() };
        let (value, gradients) = part_gradients(task, model, part, batch.len(), objective, pass);
        loss += value;
        if !loss.is_finite() {
            return (loss, None);
        }
        if part.len() == batch.len() {
            return clipped(model, loss, gradients, task.config.clip);
        }
        sum.accumulate(model, gradients);
    }
    clipped(model, loss, sum.grads(), task.config.clip)
}

/// As [`gradients`], with every part of the batch divided among the ranks of `sums`. All ranks get the same result,
/// which differs from that of one rank by rounding alone. The last value says whether any rank is to `stop`.
pub(super) fn over_ranks<E: Encoder, M>(
    task: &Task<E, M>,
    model: &Model<E>,
    (batch, lengths): (&[usize], &[usize]),
    objective: &Objective,
    keys: &mut impl Rng,
    (sums, stop): (&Sums, bool),
) -> Result<(f64, Option<GradientsParams>, bool), Error> {
    let step = sums.begin();
    let mut loss = 0.0f64;
    let mut parts = parts(task.config, batch);
    while let Some(part) = parts.next() {
        let key = keys.next_u64();
        let costs: Vec<usize> = part.iter().map(|&pair| lengths[pair]).collect();
        let own = shared::share(&costs, &sums.ranks);
        if own.is_empty() || !loss.is_finite() {
            continue;
        }
        let preceding: Vec<&E::Input> =
            part[..own.start].iter().map(|&i| &task.inputs[i]).collect();
        let pass = Pass::TrainPart { key, place: model.encoder.place(&preceding) };
        let watched = step.watch(model, parts.len() == 0);
        let (value, left) =
            part_gradients(task, &watched, &part[own], batch.len(), objective, pass);
        loss += value;
        step.add(model, left);
    }
    let (loss, gradients, stop) = step.finish(model, loss, stop)?;
    let Some(gradients) = gradients else { return Ok((loss, None, stop)) };
    let (loss, gradients) = clipped(model, loss, gradients, task.config.clip);
    Ok((loss, gradients, stop))
}

/// The parts of a batch that are encoded one at a time.
pub(super) fn parts<'b>(config: &TrainingConfig, batch: &'b [usize]) -> Chunks<'b, usize> {
    batch.chunks(if config.micro_batch == 0 { batch.len() } else { config.micro_batch })
}

fn clipped<E: Encoder>(
    model: &Model<E>,
    loss: f64,
    mut gradients: GradientsParams,
    limit: f32,
) -> (f64, Option<GradientsParams>) {
    if limit > 0.0 {
        let length = clip(model, &mut gradients, limit);
        return (loss, length.is_finite().then_some(gradients));
    }
    (loss, Some(gradients))
}

/// The sum of losses of some pairs over `count`, and its gradients.
pub(super) fn part_gradients<E: Encoder, M>(
    task: &Task<E, M>,
    model: &Model<E>,
    pairs: &[usize],
    count: usize,
    objective: &Objective,
    pass: Pass,
) -> (f64, GradientsParams) {
    let p = model.encoder.dimension();
    let inputs: Vec<&E::Input> = pairs.iter().map(|&i| &task.inputs[i]).collect();
    let batch = || {
        let rows = pairs.iter().flat_map(|&i| task.targets[i * p..(i + 1) * p].iter().copied());
        let rows = TensorData::new(rows.collect::<Vec<f32>>(), [pairs.len(), p]);
        let residuals = pairs.iter().map(|&i| task.residuals[i] as f32).collect();
        (Tensor::from_data(rows, task.device), residuals)
    };
    let z = model.coordinates(&inputs, pass);
    let scale = model.scale.as_ref().map(|scale| scale.val());
    let loss = objective.loss(z, pairs, batch, scale) / count as f32;
    let value = f64::from(loss.clone().into_scalar::<f32>());
    (value, GradientsParams::from_grads(backward(loss), model))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use dsokr_basis::random::generator;
    use dsokr_nn::bag::{NgramBag, NgramBagConfig, SparseRow};
    use dsokr_nn::{FrozenBasis, MlpConfig};

    use super::*;
    use crate::{OptimizerName, TrainingConfig, Update};

    #[test]
    fn parts_of_a_batch_add_up_to_its_gradient() {
        let device = Device::flex().autodiff();
        let mut random = generator(1, "parameters", 0);
        let config = MlpConfig { hidden: vec![6], dropout: 0.0 };
        let encoder = config.init(5, &[0.0, 0.0], &mut random, &device);
        let basis = FrozenBasis::new(vec![1.0, 0.0, 0.0, 1.0], 2, &device);
        let model = Model::new(encoder, basis);
        let inputs: Vec<Vec<f32>> =
            (0..7).map(|i| (0..5).map(|j| ((i * 5 + j) % 7) as f32 - 3.0).collect()).collect();
        let targets: Vec<f32> = (0..14).map(|i| (i % 3) as f32).collect();
        let gradient = |micro_batch| {
            let config = TrainingConfig { micro_batch, clip: 0.5, ..TrainingConfig::default() };
            let task: Task<_, ()> = Task {
                config: &config,
                seed: 0,
                device: &device,
                inputs: &inputs,
                targets: &targets,
                residuals: &[0.25; 7],
                validate: &|_| unreachable!("nothing is evaluated"),
            };
            let mut keys = generator(0, "dropout", 0);
            let objective = Objective::of(&task, 2).unwrap();
            let (loss, gradients) =
                gradients(&task, &model, &[0, 1, 2, 3, 4, 5, 6], &objective, &mut keys);
            let gradients = gradients.unwrap();
            let parameters = dsokr_nn::parameters::collect(&model.encoder);
            let values = parameters.values().flat_map(|parameter| {
                let id = burn::module::ParamId::from(parameter.id.unwrap());
                let data = match parameter.shape.len() {
                    1 => gradients.get::<1>(id).unwrap().into_data(),
                    _ => gradients.get::<2>(id).unwrap().into_data(),
                };
                data.try_to_vec::<f32>().unwrap()
            });
            (loss, values.collect::<Vec<f32>>())
        };
        let (loss, whole) = gradient(0);
        assert!(whole.iter().any(|v| v.abs() > 0.05));
        for micro_batch in [1, 2, 3, 7, 100] {
            let (same, sum) = gradient(micro_batch);
            assert!((same - loss).abs() < 1e-6 * loss, "{micro_batch}");
            let apart = whole.iter().zip(&sum).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-6, "{micro_batch}: {apart}");
        }
    }

    #[test]
    fn clipped_descent_by_rows_is_clipped_descent() {
        let device = Device::flex().autodiff();
        let mut random = generator(1, "parameters", 0);
        let config = NgramBagConfig { linear: false, embedding: 4, ..NgramBagConfig::default() };
        let bag = config.init(40, &[0.5, 0.0], &mut random, &device);
        let row =
            |i: u32| SparseRow { indices: vec![i, 3 * i + 2, 39], values: vec![0.5, -1.0, 0.1] };
        let inputs: Vec<SparseRow> = (0..6).map(row).collect();
        for clip in [0.0, 0.05] {
            let config =
                TrainingConfig { clip, optimizer: OptimizerName::Sgd, ..TrainingConfig::default() };
            let task: Task<_, ()> = Task {
                config: &config,
                seed: 0,
                device: &device,
                inputs: &inputs,
                targets: &[1.0; 12],
                residuals: &[0.25; 6],
                validate: &|_| unreachable!("nothing is evaluated"),
            };
            let step = |bag: NgramBag| {
                let mut keys = generator(0, "dropout", 0);
                let model = Model::new(bag, FrozenBasis::new(vec![1.0, 0.0, 0.0, 1.0], 2, &device));
                let objective = Objective::of(&task, 2).unwrap();
                let batch = [0, 1, 2, 3, 4, 5];
                let (_, found) = gradients(&task, &model, &batch, &objective, &mut keys);
                let model = Update::of(&config).step(0.5, model, found.unwrap());
                let parameters = dsokr_nn::parameters::collect(&model.encoder);
                parameters.values().flat_map(|found| found.values.to_vec()).collect::<Vec<f32>>()
            };
            let (dense, by_rows) = (step(bag.clone()), step(bag.clone().with_row_gradients()));
            let apart = dense.iter().zip(&by_rows).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < if clip > 0.0 { 1e-7 } else { f32::MIN_POSITIVE }, "{clip}: {apart}");
        }
    }
}
