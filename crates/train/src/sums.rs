//! The sums over all ranks of the gradients of a step, which are taken while the backward pass goes on.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::module::{Module, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, Transaction};
use dsokr_core::Processes;
use dsokr_core::processes::Background;
use dsokr_nn::parameters::visit;
use dsokr_nn::{Encoder, GradientHooks, Gradients, Model};

use crate::batches::share;
use crate::error::Error;
use crate::loss::StepNumber;

/// The number of buckets of a model, as far as the bounds on their size allow it.
const BUCKETS: usize = 8;

/// The fewest values of a bucket, and the most. A larger parameter is a bucket of its own.
const LEAST: usize = 1 << 16;
const MOST: usize = 1 << 20;

/// The gradients of a batch.
pub(super) struct BatchGradients {
    /// The mean loss.
    pub(super) loss: StepNumber,
    /// The gradients of the mean loss, clipped; none if they or the loss are known not to be finite.
    pub(super) gradients: Option<Gradients>,
    /// The norm of the gradients before they were clipped, where it is known.
    pub(super) norm: Option<StepNumber>,
    /// The factor by which the step scales them, on devices other than the CPU engine.
    pub(super) factor: Option<Tensor<1>>,
    /// Whether one of several ranks is to stop.
    pub(super) stop: bool,
}

/// Sums the gradients of a training over its ranks.
///
/// A bucket of gradients is exchanged as soon as the backward pass has its last one and all earlier buckets have been
/// started. What a bucket holds is known before the step, so nothing depends on what arrives first.
pub(super) struct Sums {
    pub(super) ranks: Processes,
    plan: Arc<Plan>,
    hooks: GradientHooks,
    background: Option<Background>,
    /// The length of each training input.
    lengths: Vec<usize>,
}

impl Sums {
    /// Creates the sums for the parameters of a model that is trained on inputs of these lengths.
    pub(super) fn new<M: Module>(ranks: &Processes, model: &M, lengths: Vec<usize>) -> Self {
        let plan = Arc::new(Plan::from_model(model));
        // a single bucket is complete when the backward pass ends
        let background = if plan.buckets.len() > 1 { ranks.background() } else { None };
        let hooks = GradientHooks::new(model);
        Self { ranks: ranks.clone(), plan, hooks, background, lengths }
    }

    /// Begins a step; `stop` asks for the end of the training.
    pub(super) fn begin(&self, stop: bool) -> Step<'_> {
        let buckets = &self.plan.buckets;
        let gathered = Gathered {
            plan: self.plan.clone(),
            values: buckets.iter().map(|bucket| vec![0.0; bucket.values]).collect(),
            present: vec![0; self.plan.slots.len()],
            missing: buckets.iter().map(|bucket| bucket.parameters).collect(),
            started: 0,
            last: false,
            start: self.background.as_ref().map(Background::starter),
        };
        Step { sums: self, gathered: Arc::new(Mutex::new(gathered)), stop }
    }
}

/// The places of gradients in buckets: from the last parameter that the model lists, whose gradient the backward pass
/// has first, to the first one.
struct Plan {
    slots: HashMap<ParamId, Slot>,
    buckets: Vec<Bucket>,
}

struct Slot {
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
    fn from_model<M: Module>(model: &M) -> Self {
        let mut trained: Vec<(ParamId, usize)> = Vec::new();
        visit(model, |_, parameter| {
            if parameter.is_trained() {
                trained.push((parameter.id(), parameter.shape().iter().product()));
            }
        });
        let total: usize = trained.iter().map(|(_, size)| size).sum();
        let limit = total.div_ceil(BUCKETS).clamp(LEAST, MOST);
        let mut slots = HashMap::new();
        let mut buckets = Vec::<Bucket>::new();
        for (id, size) in trained.into_iter().rev() {
            if let Some(Slot { bucket, .. }) = slots.get(&id) {
                // two modules share it, and each hands its part of the gradient over
                buckets[*bucket].parameters += 1;
                continue;
            }
            if buckets.last().is_none_or(|bucket| bucket.values + size > limit) {
                buckets.push(Bucket::default());
            }
            let number = slots.len();
            let at = buckets.len() - 1;
            let bucket = &mut buckets[at];
            let values = bucket.values..bucket.values + size;
            bucket.values = values.end;
            bucket.parameters += 1;
            slots.insert(id, Slot { number, bucket: at, values });
        }
        Self { slots, buckets }
    }
}

/// The gradients that a rank has in a step.
struct Gathered {
    plan: Arc<Plan>,
    /// The gradients of each bucket that has not been given to `start`.
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
        let Some(Slot { number, bucket, values }) = self.plan.slots.get(&id) else { return };
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
    stop: bool,
}

impl Step<'_> {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns this rank's share of a part of a batch.
    pub(super) fn share(&self, part: &[usize]) -> Range<usize> {
        let lengths: Vec<usize> = part.iter().map(|&pair| self.sums.lengths[pair]).collect();
        share(&lengths, &self.sums.ranks)
    }

    /// Returns the model for a pass, which gives its gradients to this step while it goes on. `last` is for the last part
    /// of the batch.
    pub(super) fn watch<E: Encoder>(&self, model: &Model<E>, last: bool) -> Model<E> {
        self.gathered().last = last;
        let gathered = self.gathered.clone();
        let receive = move |id: ParamId, gradient: &[f32]| {
            gathered.lock().unwrap_or_else(PoisonError::into_inner).add(id, gradient);
        };
        self.sums.hooks.watch(model.clone(), Arc::new(receive))
    }

    /// Adds the gradients that a pass has left. Their device is waited for once.
    pub(super) fn add<E: Encoder>(&self, model: &Model<E>, gradients: GradientsParams) {
        let gradients = &Gradients::from(gradients);
        let mut ids = Vec::new();
        let mut seen = HashSet::new();
        let mut left = Transaction::default();
        visit(model, |_, parameter| {
            if let Some(gradient) = parameter.flat_gradient(gradients) {
                // every module that shares a parameter hands a part over: the first one all of it
                let is_first = seen.insert(parameter.id());
                let gradient = if is_first { gradient } else { gradient.zeros_like() };
                ids.push(parameter.id());
                left = std::mem::take(&mut left).register(gradient);
            }
        });
        for (id, gradient) in ids.into_iter().zip(left.execute()) {
            self.gathered().add(id, &gradient.iter::<f32>().collect::<Vec<_>>());
        }
    }

    /// Returns the sums over all ranks of the losses and of the gradients, and whether one of the ranks is to stop.
    ///
    /// All ranks get the same bits. A rank without pairs gives no gradients.
    pub(super) fn finish<E: Encoder>(
        self,
        model: &Model<E>,
        loss: StepNumber,
    ) -> Result<BatchGradients, Error> {
        let Sums { ranks, plan, background, .. } = self.sums;
        let loss = StepNumber::read(&[loss])[0];
        let mut bytes = loss.to_le_bytes().to_vec();
        bytes.push(self.stop.into());
        let mut values = {
            let mut gathered = self.gathered();
            bytes.append(&mut gathered.present);
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
        let all = ranks.gather(&bytes)?;
        let losses = all.iter().filter_map(|bytes| bytes.first_chunk().copied());
        let loss: f64 = losses.map(f64::from_le_bytes).sum();
        let any =
            |place: usize| all.iter().any(|bytes| bytes.get(place).is_some_and(|&flag| flag != 0));
        let stop = any(size_of::<f64>());
        let mut gradients = Gradients::default();
        visit(model, |_, parameter| {
            let slot = plan.slots.get(&parameter.id());
            // a parameter for which a rank has a gradient
            if let Some(slot) = slot.filter(|slot| any(size_of::<f64>() + 1 + slot.number)) {
                let sum = values[slot.bucket][slot.values.clone()].to_vec();
                parameter.set_gradient(&mut gradients, sum);
            }
        });
        let gradients = loss.is_finite().then_some(gradients);
        Ok(BatchGradients { loss: loss.into(), gradients, norm: None, factor: None, stop })
    }
}
