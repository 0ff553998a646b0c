//! A small training problem with two coordinates for unit tests.

use burn::optim::GradientsParams;
use burn::tensor::Device;
use dsokr_basis::random::generator;
use dsokr_nn::bag::{NgramBag, NgramBagConfig, SparseRow};
use dsokr_nn::{Encoder, Mlp, MlpConfig, Model};

use crate::gradients::gradients;
use crate::loss::Objective;
use crate::{Error, Task, TrainingConfig, Validation};

pub(crate) struct Problem<I> {
    pub(crate) config: TrainingConfig,
    pub(crate) device: Device,
    pub(crate) inputs: Vec<I>,
    pub(crate) targets: Vec<f32>,
    pub(crate) residuals: Vec<f64>,
}

impl<I: Send + Sync> Problem<I> {
    pub(crate) fn new(config: TrainingConfig, inputs: Vec<I>, targets: &[f32]) -> Self {
        let (targets, residuals) = (targets.to_vec(), vec![0.25; inputs.len()]);
        Self { config, device: Device::flex().autodiff(), inputs, targets, residuals }
    }

    pub(crate) fn task<E: Encoder<Input = I>>(&self) -> Task<'_, E, f64> {
        self.validated(&|_| Ok(Validation { metrics: 0.0, score: 0.0 }))
    }

    #[allow(clippy::type_complexity)]
    pub(crate) fn validated<'a, E: Encoder<Input = I>>(
        &'a self,
        validate: &'a dyn Fn(&Model<E>) -> Result<Validation<f64>, Error>,
    ) -> Task<'a, E, f64> {
        let Self { config, device, inputs, targets, residuals } = self;
        Task { config, seed: 0, device, inputs, targets, residuals, validate }
    }

    /// Loss and gradients of all pairs as one batch.
    pub(crate) fn gradients<E: Encoder<Input = I>>(
        &self,
        model: &Model<E>,
    ) -> (f64, GradientsParams) {
        let (task, mut keys) = (self.task(), generator(0, "dropout", 0));
        let batch: Vec<usize> = (0..self.inputs.len()).collect();
        let objective = Objective::from_task(&task, model.encoder.dimension()).unwrap();
        let found = gradients(&task, model, &batch, &objective, &mut keys, None).unwrap();
        (found.loss, found.gradients.unwrap())
    }
}

/// An MLP with two coordinates.
pub(crate) fn mlp(inputs: usize, hidden: &[usize], dropout: f32, device: &Device) -> Mlp {
    let config = MlpConfig { hidden: hidden.to_vec(), dropout };
    config.init(inputs, &[0.1; 2], &mut generator(1, "parameters", 0), device)
}

/// `n` inputs of five features.
pub(crate) fn dense(n: usize) -> Vec<Vec<f32>> {
    (0..n).map(|i| (0..5).map(|j| ((i * 5 + j) as f32).sin()).collect()).collect()
}

/// A bag of 40 features with two coordinates.
pub(crate) fn bag(linear: bool, device: &Device) -> NgramBag {
    let config = NgramBagConfig { linear, embedding: 4, ..NgramBagConfig::default() };
    config.init(40, &[0.5, 0.0], &mut generator(1, "parameters", 0), device)
}

/// `n` inputs of that bag.
pub(crate) fn rows(n: u32) -> Vec<SparseRow> {
    let row = |i| SparseRow { indices: vec![i, 3 * i + 2, 39], values: vec![0.5, -1.0, 0.1] };
    (0..n).map(row).collect()
}
