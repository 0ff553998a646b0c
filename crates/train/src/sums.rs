//! The sums over all ranks of the gradients of a step, which are taken while the backward pass goes on.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use dsokr_basis::Ranks;
use dsokr_basis::ranks::Background;
use dsokr_nn::{Encoder, HandOver, Model};

use crate::Error;

/// The number of buckets of a model, as far as the bounds on their size allow it.
const BUCKETS: usize = 8;

/// The fewest values of a bucket, and the most. A larger parameter is a bucket of its own.
const LEAST: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };
const MOST: usize = 1 << 20;

/// Sums the gradients of a training over its ranks.
///
/// A bucket of gradients is exchanged as soon as the backward pass has its last one and all earlier buckets have been
/// started. What a bucket holds is known before the step, so nothing depends on what arrives first.
pub(super) struct Sums {
    pub(super) ranks: Ranks,
    plan: Arc<Plan>,
    hand_over: HandOver,
    background: Option<Background>,
}

impl Sums {
    /// For the parameters of a model.
    pub(super) fn new<M: Module>(ranks: &Ranks, model: &M) -> Self {
        let plan = Arc::new(Plan::of(model));
        // a single bucket is complete when the backward pass ends
        let background = if plan.buckets.len() > 1 { ranks.background() } else { None };
        Self { ranks: ranks.clone(), plan, hand_over: HandOver::new(model), background }
    }

    /// Begins a step.
    pub(super) fn begin(&self) -> Step<'_> {
        let buckets = &self.plan.buckets;
        let gathered = Gathered {
            plan: self.plan.clone(),
            values: buckets.iter().map(|bucket| vec![0.0; bucket.values]).collect(),
            present: vec![0; self.plan.places.len()],
            missing: buckets.iter().map(|bucket| bucket.parameters).collect(),
            started: 0,
            last: false,
            start: self.background.as_ref().map(Background::starter),
        };
        Step { sums: self, gathered: Arc::new(Mutex::new(gathered)) }
    }
}

/// Where gradients lie in buckets: from the last parameter that the model lists, whose gradient the backward pass
/// has first, to the first one.
struct Plan {
    places: HashMap<ParamId, Place>,
    buckets: Vec<Bucket>,
}

struct Place {
    /// The parameter's number among all of them.
    number: usize,
    bucket: usize,
    values: Range<usize>,
}

#[derive(Default)]
struct Bucket {
    values: usize,
    parameters: usize,
}

impl Plan {
    fn of<M: Module>(model: &M) -> Self {
        let mut trained = Trained(Vec::new());
        model.visit(&mut trained);
        let total: usize = trained.0.iter().map(|(_, size)| size).sum();
        let limit = total.div_ceil(BUCKETS).clamp(LEAST, MOST);
        let (mut places, mut buckets) = (HashMap::new(), Vec::<Bucket>::new());
        for (id, size) in trained.0.into_iter().rev() {
            if let Some(Place { bucket, .. }) = places.get(&id) {
                // two modules share it, and each hands its part of the gradient over
                buckets[*bucket].parameters += 1;
                continue;
            }
            if buckets.last().is_none_or(|bucket| bucket.values + size > limit) {
                buckets.push(Bucket::default());
            }
            let (number, at) = (places.len(), buckets.len() - 1);
            let bucket = &mut buckets[at];
            let values = bucket.values..bucket.values + size;
            (bucket.values, bucket.parameters) = (values.end, bucket.parameters + 1);
            places.insert(id, Place { number, bucket: at, values });
        }
        Self { places, buckets }
    }
}

/// The parameters that are trained, and their sizes.
struct Trained(Vec<(ParamId, usize)>);

impl ModuleVisitor for Trained {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let weights = param.val();
        if weights.is_require_grad() {
            self.0.push((param.id, weights.shape().num_elements()));
        }
    }
}

/// The gradients that a rank has in a step.
struct Gathered {
    plan: Arc<Plan>,
    /// Of each bucket that has not been given to `start`.
    values: Vec<Vec<f32>>,
    /// Which parameters have a gradient.
    present: Vec<u8>,
    /// How many gradients each bucket waits for.
    missing: Vec<usize>,
    /// The number of buckets that have been started.
    started: usize,
    /// Whether the backward pass at hand is the last of the step.
    last: bool,
    start: Option<Sender<Vec<f32>>>,
}

impl Gathered {
    /// Adds a gradient, of one pass of several.
    fn add(&mut self, id: ParamId, gradient: &[f32]) {
        let Some(Place { number, bucket, values }) = self.plan.places.get(&id) else { return };
        let sum = &mut self.values[*bucket][values.clone()];
        match std::mem::replace(&mut self.present[*number], 1) {
            0 => sum.copy_from_slice(gradient),
            _ => sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value),
        }
        if self.last {
            self.missing[*bucket] -= 1;
            self.start_complete();
        }
    }

    fn start_complete(&mut self) {
        while self.missing.get(self.started) == Some(&0) {
            if let Some(start) = &self.start {
                // a thread that has ended is reported where its sum is awaited
                start.send(std::mem::take(&mut self.values[self.started])).ok();
            }
            self.started += 1;
        }
    }
}

/// A step of the training: passes over parts of a batch, and the sums of their gradients.
pub(super) struct Step<'a> {
    sums: &'a Sums,
    gathered: Arc<Mutex<Gathered>>,
}

impl Step<'_> {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model for a pass, which gives its gradients to this step while it goes on. `last` is for the last part
    /// of the batch.
    pub(super) fn watch<E: Encoder>(&self, model: &Model<E>, last: bool) -> Model<E> {
        self.gathered().last = last;
        let gathered = self.gathered.clone();
        let receive = move |id: ParamId, gradient: &[f32]| {
            gathered.lock().unwrap_or_else(PoisonError::into_inner).add(id, gradient);
        };
        self.sums.hand_over.watch(model.clone(), Arc::new(receive))
    }

    /// Adds the gradients that a pass has left.
    pub(super) fn add<E: Encoder>(&self, model: &Model<E>, gradients: GradientsParams) {
        model.visit(&mut Left { gathered: &mut self.gathered(), gradients });
    }

    /// The sums over all ranks of the losses and of the gradients, and whether one of the ranks is to stop. None in the
    /// place of gradients if the loss is not finite.
    ///
    /// All ranks get the same bits. A rank without pairs gives no gradients.
    pub(super) fn finish<E: Encoder>(
        self,
        model: &Model<E>,
        loss: f64,
        stop: bool,
    ) -> Result<(f64, Option<GradientsParams>, bool), Error> {
        let Sums { ranks, plan, background, .. } = self.sums;
        let mut own = loss.to_le_bytes().to_vec();
        own.push(stop.into());
        let mut values = {
            let mut gathered = self.gathered();
            own.append(&mut gathered.present);
            gathered.missing.fill(0);
            gathered.start_complete();
            std::mem::take(&mut gathered.values)
        };
        for bucket in &mut values {
            match background {
                Some(background) => *bucket = background.receive()?,
                None => ranks.sum(bucket)?,
            }
        }
        let all = ranks.gather(&own)?;
        let losses = all.iter().filter_map(|own| own.first_chunk().copied());
        let loss: f64 = losses.map(f64::from_le_bytes).sum();
        let any =
            |place: usize| all.iter().any(|own| own.get(place).is_some_and(|&flag| flag != 0));
        let stop = any(size_of::<f64>());
        if !loss.is_finite() {
            return Ok((loss, None, stop));
        }
        let present = |number: usize| any(size_of::<f64>() + 1 + number);
        let mut apart = Apart { plan, values: &values, present, gradients: GradientsParams::new() };
        model.visit(&mut apart);
        Ok((loss, Some(apart.gradients), stop))
    }
}

/// Gradients of devices that do not hand them over.
struct Left<'a> {
    gathered: &'a mut Gathered,
    gradients: GradientsParams,
}

impl ModuleVisitor for Left<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id)
            && let Ok(gradient) = gradient.into_data().convert::<f32>().try_into_vec::<f32>()
        {
            self.gathered.add(param.id, &gradient);
        }
    }
}

/// Takes sums apart.
struct Apart<'a, P> {
    plan: &'a Plan,
    values: &'a [Vec<f32>],
    /// Whether a rank has a gradient of a parameter.
    present: P,
    gradients: GradientsParams,
}

impl<P: Fn(usize) -> bool> ModuleVisitor for Apart<'_, P> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(place) = self.plan.places.get(&param.id) else { return };
        if (self.present)(place.number) {
            let weights = param.val().inner();
            let own = self.values[place.bucket][place.values.clone()].to_vec();
            let gradient = TensorData::new(own, weights.shape());
            let gradient = Tensor::<D>::from_data(gradient, &weights.device());
            self.gradients.register(param.id, gradient);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burn::optim::GradientsAccumulator;
    use burn::tensor::Device;
    use dsokr_basis::random::generator;
    use dsokr_basis::ranks::threads;
    use dsokr_nn::bag::{NgramBagConfig, SparseRow};
    use dsokr_nn::{FrozenBasis, MlpConfig, Pass};
    use rand::Rng;

    use super::*;
    use crate::gradients::{over_ranks, part_gradients, parts};
    use crate::loss::Objective;
    use crate::{Task, TrainingConfig, shared};

    /// The gradients that are present, in the order of the model's parameters.
    struct Bits<'a>(&'a GradientsParams, Vec<Option<Vec<u32>>>);

    impl ModuleVisitor for Bits<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(param.id);
            let values = gradient.map(|g| g.into_data().try_to_vec::<f32>().unwrap());
            let bits = values.map(|values| values.iter().map(|v| v.to_bits()).collect());
            self.1.push(bits);
        }
    }

    fn bits<E: Encoder>(model: &Model<E>, gradients: &GradientsParams) -> Vec<Option<Vec<u32>>> {
        let mut bits = Bits(gradients, Vec::new());
        model.visit(&mut bits);
        bits.1
    }

    /// The sum of gradients that each rank has when its backward passes have ended, one parameter after the other.
    fn after_the_pass<E: Encoder, M>(
        task: &Task<E, M>,
        model: &Model<E>,
        batch: &[usize],
        objective: &Objective,
    ) -> Vec<Option<Vec<u32>>> {
        let ranks = Ranks::current();
        let (mut keys, mut sum) = (generator(0, "dropout", 0), GradientsAccumulator::new());
        for part in parts(task.config, batch) {
            let key = keys.next_u64();
            let own = shared::share(&vec![1; part.len()], &ranks);
            if own.is_empty() {
                continue;
            }
            let preceding: Vec<&E::Input> =
                part[..own.start].iter().map(|&i| &task.inputs[i]).collect();
            let pass = Pass::TrainPart { key, place: model.encoder.place(&preceding) };
            let (_, own) = part_gradients(task, model, &part[own], batch.len(), objective, pass);
            sum.accumulate(model, own);
        }
        let own = bits(model, &sum.grads());
        let zeros = bits(model, &{
            let all: Vec<usize> = (0..task.inputs.len()).collect();
            let pass = Pass::Train { key: 0 };
            part_gradients(task, model, &all, batch.len(), objective, pass).1
        });
        let sums = own.into_iter().zip(zeros).map(|(own, zeros)| {
            let mut values: Vec<f32> = match own {
                Some(bits) => bits.into_iter().map(f32::from_bits).collect(),
                None => vec![0.0; zeros.as_ref()?.len()],
            };
            ranks.sum(&mut values).unwrap();
            Some(values.into_iter().map(f32::to_bits).collect())
        });
        sums.collect()
    }

    fn check<E: Encoder>(init: impl Fn(&Device) -> E + Sync, inputs: &[E::Input]) {
        let targets: Vec<f32> = (0..2 * inputs.len()).map(|i| (i as f32 * 0.7).cos()).collect();
        let batch: Vec<usize> = (0..inputs.len()).collect();
        for (size, micro_batch) in [(2, 0), (2, 3), (3, 0), (9, 0), (9, 3)] {
            let config = TrainingConfig { micro_batch, clip: 0.0, ..TrainingConfig::default() };
            let found = threads(size, || {
                let device = Device::flex().autodiff();
                let basis = FrozenBasis::new(vec![1.0, 0.0, 0.0, 1.0], 2, &device);
                let model = Model::new(init(&device), basis);
                let task: Task<E, ()> = Task {
                    config: &config,
                    seed: 0,
                    device: &device,
                    inputs,
                    targets: &targets,
                    residuals: &vec![0.25; inputs.len()],
                    validate: &|_| unreachable!("nothing is evaluated"),
                };
                let objective = Objective::of(&task, 2).unwrap();
                let sums = Sums::new(&Ranks::current(), &model);
                assert!(sums.plan.buckets.len() > 2 && sums.background.is_some());
                let (mut keys, lengths) = (generator(0, "dropout", 0), vec![1; inputs.len()]);
                let (shared, part) = ((&sums, false), (batch.as_slice(), lengths.as_slice()));
                let found = over_ranks(&task, &model, part, &objective, &mut keys, shared);
                let (_, gradients, stop) = found.unwrap();
                assert!(!stop);
                let during = bits(&model, &gradients.unwrap());
                (during, after_the_pass(&task, &model, &batch, &objective))
            });
            for (during, after) in found {
                assert!(during == after, "{size} ranks, parts of {micro_batch}");
            }
        }
    }

    #[test]
    fn sums_during_the_backward_pass_are_those_after_it_bit_for_bit() {
        let random = || generator(1, "parameters", 0);
        let dense: Vec<Vec<f32>> =
            (0..8).map(|i| (0..5).map(|j| ((i * 5 + j) as f32).sin()).collect()).collect();
        let mlp = MlpConfig { hidden: vec![6, 4], dropout: 0.3 };
        check(|device| mlp.init(5, &[0.1; 2], &mut random(), device), &dense);
        let row =
            |i: u32| SparseRow { indices: vec![i, 3 * i + 2, 39], values: vec![0.5, -1.0, 0.1] };
        let rows: Vec<SparseRow> = (0..8).map(row).collect();
        let bag = NgramBagConfig { embedding: 4, ..NgramBagConfig::default() };
        check(|device| bag.init(40, &[0.5, 0.0], &mut random(), device), &rows);
    }
}
