//! Encoders that were trained without a part of the training pairs.

use burn::tensor::Device;
use dsokr_basis::{Basis, Projection};
use dsokr_nn::{Model, parameters};
use tracing::info;

use super::new_model;
use crate::config::Checked;
use crate::folds::{held_out_folds, rest};
use crate::{Error, HeldOut, Prepare, Recipe, Scores};
use dsokr_data::Dataset;
use dsokr_train::{Best, Observer, Task, Validation, embed, train};

/// Evaluates a model on the validation split.
pub(super) type Validate<'a, E> =
    dyn Fn(&Model<E>) -> Result<Validation<Scores>, dsokr_train::Error> + 'a;

/// The arguments of trainings that leave out a part of the pairs.
pub(super) struct CrossFit<'a, R: Recipe> {
    pub(super) recipe: &'a R,
    pub(super) config: &'a Checked,
    pub(super) dataset: &'a Dataset,
    pub(super) basis: &'a Basis,
    pub(super) targets: &'a Projection,
    pub(super) preparation: &'a R::Preparation,
    pub(super) device: &'a Device,
    pub(super) validate: &'a Validate<'a, R::Encoder>,
}

impl<R: Recipe> CrossFit<'_, R> {
    /// The predictions of encoders that were trained without the pair. There is one encoder for each
    /// fold that is answered, trained with the same settings.
    pub(super) fn answers(&self, observer: &mut dyn Observer) -> Result<HeldOut, Error> {
        let Self { recipe, config, basis, preparation, device, .. } = *self;
        let train_split = &self.dataset.train;
        let (n, p) = (train_split.ids.len(), basis.dimension());
        let folds = held_out_folds(config, n)?;
        let count = folds.len();
        let mut found: Vec<(usize, Vec<f32>)> = Vec::new();
        for (at, held) in folds.iter().enumerate() {
            info!(
                fold = at + 1,
                folds = count,
                pairs = n - held.len(),
                "training for held-out answers"
            );
            let rest = rest(held, n);
            let inputs = preparation.inputs(&train_split.select(&rest)?)?;
            let targets = self.targets.select(&rest);
            let offset = targets.mean();
            let model = new_model(recipe, config, preparation, &offset, device, false)?;
            let task = Task {
                config: &config.training,
                seed: config.seed,
                device,
                inputs: &inputs,
                targets: &targets.coordinates,
                residuals: &targets.residuals,
                validate: self.validate,
            };
            let outcome = train(&task, model, None, &mut (), observer)?;
            let model = match outcome.best {
                Best::Given(best) => parameters::restore(outcome.model, best)?,
                Best::Last | Best::Stored => outcome.model,
            };
            let inputs = preparation.inputs(&train_split.select(held)?)?;
            let z = embed(&model, &inputs, config.evaluation.batch)?;
            found.extend(held.iter().copied().zip(z.chunks_exact(p).map(<[f32]>::to_vec)));
        }
        found.sort_unstable_by_key(|(pair, _)| *pair);
        let (pairs, answers): (Vec<usize>, Vec<Vec<f32>>) = found.into_iter().unzip();
        Ok(HeldOut { pairs, answers: answers.concat() })
    }
}
