//! The correction for hubs: predictions of models that have not seen the pair, and the choice of
//! the weight.

use burn::tensor::Device;
use dsokr_basis::random::{generator, shuffle};
use dsokr_basis::{Basis, Projection};
use dsokr_decode::{CandidateBlocks, Candidates, Hubs, Queries};
use dsokr_nn::{Model, parameters};
use tracing::info;

use crate::config::{Checked, HubConfig};
use crate::evaluator::Evaluator;
use crate::network::new_model;
use crate::{Choice, Error, HeldOut, Prepare, Recipe, Scores};
use dsokr_data::Dataset;
use dsokr_data::SplitName;
use dsokr_train::{Best, Observer, Task, Validation, embed, train};

/// Checks the settings against the number n of training inputs.
pub(super) fn check(hubs: &HubConfig, n: usize) -> Result<(), Error> {
    let (answers, pairs) = match hubs.answered {
        None => (n, "training pairs"),
        Some(parts) => (n / hubs.folds() * parts, "training pairs that are answered"),
    };
    match hubs.neighbours.iter().find(|&&count| count > answers) {
        None => Ok(()),
        Some(count) => Err(Error::Value {
            key: "decoding.hubs.neighbours".into(),
            found: count.to_string(),
            allowed: format!("1 to {answers}, the number of {pairs}"),
        }),
    }
}

/// The parts of n training pairs, `count` by the configuration's `key`, drawn by a seed, of sizes that
/// differ by one at most.
pub(super) fn folds(
    key: &str,
    count: usize,
    n: usize,
    seed: u64,
) -> Result<Vec<Vec<usize>>, Error> {
    if count < 2 || count > n {
        return Err(Error::Value {
            key: key.into(),
            found: count.to_string(),
            allowed: format!("2 to {n}, the number of training pairs"),
        });
    }
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, &mut generator(seed, "folds", 0));
    let mut folds = vec![Vec::new(); count];
    order.into_iter().enumerate().for_each(|(at, row)| folds[at % count].push(row));
    folds.iter_mut().for_each(|fold| fold.sort_unstable());
    Ok(folds)
}

/// The parts of n training pairs that encoders are trained without.
pub(crate) fn left_out(config: &Checked, n: usize) -> Result<Vec<Vec<usize>>, Error> {
    let hubs = config.decoding.hubs.clone().unwrap_or_default();
    let mut folds = folds("decoding.hubs.folds", hubs.folds(), n, config.seed)?;
    folds.truncate(hubs.answered());
    Ok(folds)
}

/// The others of n pairs.
pub(crate) fn rest(held: &[usize], n: usize) -> Vec<usize> {
    (0..n).filter(|pair| held.binary_search(pair).is_err()).collect()
}

/// Evaluates a model on the validation split.
pub(crate) type Validate<'a, E> =
    dyn Fn(&Model<E>) -> Result<Validation<Scores>, dsokr_train::Error> + 'a;

/// The arguments of trainings that leave out a part of the pairs.
pub(crate) struct CrossFit<'a, R: Recipe> {
    pub recipe: &'a R,
    pub config: &'a Checked,
    pub dataset: &'a Dataset,
    pub basis: &'a Basis,
    pub targets: &'a Projection,
    pub preparation: &'a R::Preparation,
    pub device: &'a Device,
    pub validate: &'a Validate<'a, R::Encoder>,
}

impl<R: Recipe> CrossFit<'_, R> {
    /// The predictions of encoders that were trained without the pair. There is one encoder for each
    /// fold that is answered, trained with the same settings.
    pub(crate) fn answers(&self, observer: &mut dyn Observer) -> Result<HeldOut, Error> {
        let Self { recipe, config, basis, preparation, device, .. } = *self;
        let train_split = &self.dataset.train;
        let (n, p) = (train_split.ids.len(), basis.rank());
        let folds = left_out(config, n)?;
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
            let model = new_model(recipe, config, basis, preparation, &offset, device, false)?;
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

/// Candidates corrected for hubs, with the weight and the number of neighbours that are best on the
/// validation split, and these choices. `held_out` are predictions for the training inputs by models that have not
/// seen the pair.
pub(crate) fn correct(
    hubs: &HubConfig,
    evaluator: &Evaluator,
    candidates: &Candidates,
    held_out: &[f32],
    z: &[f32],
) -> Result<(Candidates, Vec<Choice>), Error> {
    let metric = evaluator.config().evaluation.metric;
    let unit = Queries::new(candidates.dim(), held_out)?.normalised();
    let unit = Queries::new(candidates.dim(), &unit)?;
    let mut best: Option<(f64, Hubs, f32, usize)> = None;
    let mut corrected = candidates.clone();
    for &neighbours in &hubs.neighbours {
        let found = Hubs::of(&unit, candidates, neighbours)?;
        for &weight in &hubs.weights {
            corrected = corrected.with_hubs(found.clone(), weight)?;
            let scores = evaluator.evaluate_among(SplitName::Validation, z, &corrected)?.scores;
            let score = metric.score(&scores);
            let value = metric.value(&scores);
            info!(neighbours, weight = decimal(weight), metric = %metric, value, "hubs");
            if best.as_ref().is_none_or(|(least, ..)| score > *least) {
                best = Some((score, found.clone(), weight, neighbours));
            }
        }
    }
    let Some((_, found, weight, neighbours)) = best else { return Ok((corrected, Vec::new())) };
    let weight_choice = Choice {
        key: "decoding.hubs.weights".into(),
        chosen: decimal(weight),
        tried: hubs.weights.iter().copied().map(decimal).collect(),
        bounds: [0.0, f64::INFINITY],
    };
    let neighbours_choice = Choice {
        key: "decoding.hubs.neighbours".into(),
        chosen: neighbours as f64,
        tried: hubs.neighbours.iter().map(|&count| count as f64).collect(),
        bounds: [1.0, (held_out.len() / candidates.dim().max(1)) as f64],
    };
    Ok((corrected.with_hubs(found, weight)?, vec![weight_choice, neighbours_choice]))
}

/// Candidates of a run to which some were added, corrected for hubs as the others are: by the same number of
/// neighbours and the same weight.
pub(crate) fn of_all(
    all: Candidates,
    others: &Candidates,
    held_out: Option<&[f32]>,
) -> Result<Candidates, Error> {
    // as they are where the model is: those that were added have answers in 16 bits
    if all.constants().starts_with(others.constants()) {
        return Ok(all);
    }
    let all = all.without_hubs();
    let (Some((hubs, weight)), Some(held_out)) = (others.hubs(), held_out) else { return Ok(all) };
    let unit = Queries::new(all.dim(), held_out)?.normalised();
    let hubs = Hubs::of(&Queries::new(all.dim(), &unit)?, &all, hubs.neighbours())?;
    Ok(all.with_hubs(hubs, weight)?)
}

/// The number in double precision that is written as this one: 0.2, not what 0.2 in single precision is.
fn decimal(weight: f32) -> f64 {
    weight.to_string().parse().unwrap_or(f64::from(weight))
}
