use std::time::Instant;

use dsokr_basis::{SketchKind, leverage};
use dsokr_decode::Candidates;
use dsokr_machines::LastSystem;

use super::{Curve, Leverage, Point, Spread, recommended};
use crate::config::{Checked, KernelMachineConfig};
use crate::decoder::Decoder;
use crate::evaluator::Evaluator;
use crate::exact::{ExactDecoder, label_names};
use crate::hubs::correct;
use crate::learner::{Fit, Fitted};
use crate::metric::Needs;
use crate::targets::{OutputSpace, TrainingOutputs, fit_basis};
use crate::{Error, Scores};
use dsokr_data::SplitName;
use dsokr_data::{DataRoot, Dataset};

/// Number of leverage scores that are kept.
const SCORES: usize = 400;

/// The most draws of a size; the scores of each are kept.
const MOST_DRAWS: usize = 10_000;

/// The data of a configuration, for curves.
pub struct Study<'a> {
    config: &'a Checked,
    root: &'a DataRoot,
    dataset: Dataset,
    /// The machines of all curves have the same inputs.
    systems: LastSystem,
}

impl<'a> Study<'a> {
    /// Reads the data of a configuration.
    ///
    /// # Errors
    /// Data that cannot be read; [`Error::Value`] where outputs are not sketched.
    pub fn load(config: &'a Checked, root: &'a DataRoot) -> Result<Self, Error> {
        if config.sketch.full {
            return Err(wrong("sketch.full", "true".into(), "false: there is no sketch to study"));
        }
        if !config.output.kernels.is_empty() {
            let allowed = "absent: a study is of one kernel, each of several can be studied alone";
            return Err(wrong("output.kernels", "given".into(), allowed));
        }
        let machine: Option<&KernelMachineConfig> = config.encoder.get();
        if machine.is_some_and(|machine| machine.embedding().is_some()) {
            let allowed = "absent: a training run chooses embeddings";
            return Err(wrong("encoder.answers", "embedded".into(), allowed));
        }
        let dataset = config.load_data(root)?;
        Ok(Self { config, root, dataset, systems: LastSystem::default() })
    }

    fn outputs(&self) -> TrainingOutputs<'_> {
        TrainingOutputs::new(self.config, &self.dataset, None, self.systems.clone())
    }

    /// The kinds of sketches with these names, with the parameters that are usual: densities of 20/n,
    /// pilots of 200 columns, accumulations of 10 terms. No name stands for the configuration's own kind,
    /// `all` for each of them.
    ///
    /// # Errors
    /// [`Error::Value`] for an unknown name.
    pub fn methods(&self, names: &[String]) -> Result<Vec<SketchKind>, Error> {
        let all = SketchKind::all(self.outputs().len());
        let kind = |name: &String| {
            all.iter().find(|kind| kind.name() == *name).cloned().ok_or_else(|| {
                let allowed: Vec<_> = all.iter().map(SketchKind::name).collect();
                let allowed = allowed.join(", ");
                wrong("the argument methods", format!("{name:?}"), &format!("all, {allowed}"))
            })
        };
        match names {
            [] => Ok(vec![self.config.sketch.method.clone()]),
            [every] if every == "all" => Ok(all),
            names => names.iter().map(kind).collect(),
        }
    }

    /// Leverage scores at λ, from √n columns.
    ///
    /// # Errors
    /// As [`leverage::scores`].
    pub fn leverage(&self, lambda: f64) -> Result<Leverage, Error> {
        let outputs = self.outputs();
        let pilot = ((outputs.len() as f64).sqrt() as usize).max(1);
        let (kernel, seed) = (outputs.kernel()?.clone(), self.config.seed);
        let mut scores = leverage::scores(kernel, &outputs.rows(), lambda, pilot, seed)?;
        let dimension = scores.iter().sum();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(SCORES);
        Ok(Leverage { name: self.config.name.clone(), lambda, pilot, scores, dimension })
    }

    /// Draws `draws` sketches of each size of one kind, with the seed of the configuration (the second
    /// draw has the seed after it, and so on), of the kernel tempered by `power`, and evaluates them on the
    /// validation split. `found` is called with each point.
    ///
    /// # Errors
    /// No size, no draw, or sizes that do not increase; a size above the number of training outputs; a
    /// power outside of [0, 1].
    pub fn curve(
        &self,
        method: &SketchKind,
        power: f64,
        sizes: &[usize],
        draws: usize,
        mut found: impl FnMut(&Point),
    ) -> Result<Curve, Error> {
        let outputs = self.outputs();
        check(sizes, draws, outputs.len())?;
        let mut config = (**self.config).clone();
        config.sketch.method = method.clone();
        config.output.power = power;
        let config = config.validate()?;
        let metric = config.evaluation.metric;
        let n = outputs.len() as f64;
        let prepared = match config.encoder.abilities().closed_form {
            true => Some(config.encoder.learner().prepare(&outputs)?),
            false => None,
        };
        let (mut points, mut spectrum, mut length) = (Vec::new(), Vec::new(), 0.0);
        for &size in sizes {
            let started = Instant::now();
            let mut draw = Draws::default();
            for at in 0..draws {
                let seed = config.seed.wrapping_add(at as u64);
                let kernel = Some(outputs.kernel()?);
                let basis = fit_basis(&config, kernel, &outputs.rows(), size, seed)?;
                let targets = basis.project_shared(&outputs.rows())?;
                draw.rank += basis.dimension() as f64 / draws as f64;
                draw.residual += targets.residuals.iter().sum::<f64>() / (n * draws as f64);
                length = targets.squared_norms.iter().sum::<f64>() / n;
                if at == 0 {
                    // the spectrum of a tempered basis is that of the covariance already
                    let over = if basis.tempering().changes_nothing() { n } else { 1.0 };
                    spectrum = basis.spectrum().iter().map(|value| value / over).collect();
                }
                if let Some(prepared) = &prepared {
                    let outputs = outputs.with_basis(basis.clone());
                    let scores = self.fit(&config, prepared.as_ref(), &outputs)?;
                    draw.fitted.extend(scores.map(|scores| metric.value(&scores)));
                }
                let perfect = |evaluator: &Evaluator, _: &Candidates| {
                    evaluator.perfect(SplitName::Validation)
                };
                draw.perfect.extend(self.evaluated(
                    &config,
                    &OutputSpace::Basis(basis),
                    perfect,
                )?);
            }
            let figures: Vec<f64> = draw.perfect.iter().map(|s| metric.value(s)).collect();
            let point = Point {
                size,
                rank: draw.rank,
                residual: draw.residual,
                perfect: Spread::of(&figures),
                fitted: (!draw.fitted.is_empty()).then(|| Spread::of(&draw.fitted)),
                draws: draw.perfect,
                seconds: started.elapsed().as_secs_f64(),
            };
            found(&point);
            points.push(point);
        }
        let nothing = if metric.needs() == Needs::FeatureSpace { length } else { 0.0 };
        Ok(Curve {
            name: config.name.clone(),
            method: method.clone(),
            power,
            metric: metric.to_string(),
            larger_is_better: metric.larger_is_better(),
            recommended: recommended(&points, metric.larger_is_better(), nothing),
            points,
            spectrum,
        })
    }

    /// What `evaluate` finds with the evaluator and the candidates of a space.
    fn evaluated<T>(
        &self,
        config: &Checked,
        space: &OutputSpace,
        evaluate: impl FnOnce(&Evaluator, &Candidates) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let candidates = space.candidates(&self.dataset.outputs)?;
        let labels = label_names(config, &self.dataset.outputs)?;
        let exact = ExactDecoder::new(config, space, &labels)?;
        let decoder = Decoder {
            candidates: &candidates,
            look: None,
            space: Some(space),
            config,
            exact: exact.as_ref(),
        };
        evaluate(&Evaluator::new(config, self.root, &self.dataset, decoder)?, &candidates)
    }

    /// Fits a learner to the targets in a basis, and evaluates it.
    fn fit(
        &self,
        config: &Checked,
        prepared: &dyn Fit,
        outputs: &TrainingOutputs,
    ) -> Result<Option<Scores>, Error> {
        let targets = prepared.targets(outputs)?;
        self.evaluated(config, &targets.space, |evaluator, placed| {
            let Some(fitted) = prepared.solve(&targets, evaluator)? else { return Ok(None) };
            let Fitted { predictor, held_out, .. } = fitted;
            let z = predictor.predict(&self.dataset.validation)?;
            let corrected = match (&config.decoding.hubs, held_out) {
                (Some(hubs), Some(held_out)) => {
                    Some(correct(hubs, evaluator, placed, &held_out.answers, &z)?.0)
                }
                _ => None,
            };
            let candidates = corrected.as_ref().unwrap_or(placed);
            Ok(Some(evaluator.evaluate_among(SplitName::Validation, &z, candidates)?.scores))
        })
    }
}

fn check(sizes: &[usize], draws: usize, outputs: usize) -> Result<(), Error> {
    if sizes.is_empty() || sizes.windows(2).any(|pair| pair[0] >= pair[1]) || sizes[0] == 0 {
        return Err(wrong(
            "the argument sizes",
            format!("{sizes:?}"),
            "increasing sizes of at least 1",
        ));
    }
    if !(1..=MOST_DRAWS).contains(&draws) {
        return Err(wrong("the argument draws", draws.to_string(), &format!("1 to {MOST_DRAWS}")));
    }
    if let Some(&size) = sizes.iter().find(|&&size| size > outputs) {
        let allowed = format!("at most {outputs}, the number of training outputs");
        return Err(wrong("the argument sizes", size.to_string(), &allowed));
    }
    Ok(())
}

/// The results of the draws of one size.
#[derive(Default)]
struct Draws {
    rank: f64,
    residual: f64,
    perfect: Vec<Scores>,
    fitted: Vec<f64>,
}

fn wrong(key: &str, found: String, allowed: &str) -> Error {
    Error::Value { key: key.into(), found, allowed: allowed.into() }
}
