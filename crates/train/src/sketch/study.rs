use std::time::Instant;

use dsokr_basis::{Features, RowSource, SketchKind, leverage};
use dsokr_machines::ridge::OutputSpace;

use super::{Curve, Leverage, Point, Spread, recommended};
use crate::config::{Checked, Metric, RidgeConfig};
use crate::fit::solver::{self, Answered, Solver};
use crate::fit::{basis, candidates};
use crate::judge::Judge;
use crate::prepare::Outputs;
use crate::run::machine::origin;
use crate::scores::Origin;
use crate::{Error, Preparation, Recipe, Scores};
use dsokr_data::SplitName;
use dsokr_data::{DataRoot, Dataset, Selected};

/// Leverage scores that are kept.
const SCORES: usize = 400;

/// The data of a configuration, on which curves are made.
pub struct Study<'a, R> {
    config: &'a Checked<R>,
    root: &'a DataRoot,
    dataset: Dataset,
    /// The training outputs, as indices.
    outputs: Vec<usize>,
    /// Training and validation inputs of a kernel machine.
    inputs: Option<(Features, Features)>,
}

impl<'a, R: Recipe> Study<'a, R> {
    /// Reads the data of a configuration.
    ///
    /// # Errors
    /// Whatever is wrong with them; [`Error::Value`] where outputs are not sketched.
    pub fn load(config: &'a Checked<R>, root: &'a DataRoot) -> Result<Self, Error> {
        if config.sketch.full {
            return Err(wrong("sketch.full", "true".into(), "false: there is no sketch to study"));
        }
        if config.encoder.ridge().is_some_and(|ridge| ridge.embedding.is_some()) {
            let allowed = "absent: a training run chooses embeddings";
            return Err(wrong("encoder.embedding", "given".into(), allowed));
        }
        let dataset = config.source().load(root)?;
        let outputs: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
        let inputs = match config.encoder.ridge() {
            Some(settings) => {
                let trained = Selected::new(dataset.outputs.rows.as_ref(), &outputs);
                let trained = Some(Outputs::of(config, &trained));
                let preparation = Preparation::of_ridge(settings, &dataset.train, trained)?;
                let rows = preparation.rows(&dataset.train)?;
                settings.accepts(rows.kind())?;
                Some((rows, preparation.rows(&dataset.validation)?))
            }
            None => None,
        };
        Ok(Self { config, root, dataset, outputs, inputs })
    }

    fn training_outputs(&self) -> Selected<'_> {
        Selected::new(self.dataset.outputs.rows.as_ref(), &self.outputs)
    }

    /// The kinds of sketches with these names, with the parameters that are usual: densities of 20/n,
    /// pilots of 200 columns, accumulations of 10 terms. No name stands for the configuration's own kind,
    /// `all` for each of them.
    ///
    /// # Errors
    /// [`Error::Value`] for a name that is none of theirs.
    pub fn methods(&self, names: &[String]) -> Result<Vec<SketchKind>, Error> {
        let n = self.outputs.len();
        let density = (20.0 / n as f64).min(1.0);
        let all = [
            SketchKind::Subsampling { replacement: false },
            SketchKind::Leverage { lambda: 1e-3, pilot: n.min(200) },
            SketchKind::Gaussian,
            SketchKind::SparsifiedRademacher { density },
            SketchKind::SparsifiedGaussian { density },
            SketchKind::Accumulation { terms: 10 },
            SketchKind::CountSketch,
        ];
        let kind = |name: &String| {
            all.iter().find(|kind| kind.name() == *name).cloned().ok_or_else(|| {
                let allowed = all.each_ref().map(SketchKind::name).join(", ");
                wrong("--methods", format!("{name:?}"), &format!("all, {allowed}"))
            })
        };
        match names {
            [] => Ok(vec![self.config.sketch.method.clone()]),
            [every] if every == "all" => Ok(all.to_vec()),
            names => names.iter().map(kind).collect(),
        }
    }

    /// Leverage scores at λ, from √n columns.
    ///
    /// # Errors
    /// As [`leverage::scores`].
    pub fn leverage(&self, lambda: f64) -> Result<Leverage, Error> {
        let pilot = ((self.outputs.len() as f64).sqrt() as usize).max(1);
        let (kernel, seed) = (&self.config.output.kernel, self.config.seed);
        let mut scores = leverage::scores(kernel, &self.training_outputs(), lambda, pilot, seed)?;
        let dimension = scores.iter().sum();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(SCORES);
        Ok(Leverage { name: self.config.name.clone(), lambda, pilot, scores, dimension })
    }

    /// Draws `draws` sketches of each size of one kind, with the seed of the configuration (the second
    /// draw has the seed after it, and so on), of the kernel tempered by `power`, and judges them on the
    /// validation split. `found` is told of each point as it is known.
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
        self.check(sizes, draws)?;
        let mut config = (**self.config).clone();
        config.sketch.method = method.clone();
        config.output.power = power;
        let config = config.validate()?;
        let metric = config.training.metric;
        let n = self.outputs.len() as f64;
        let (mut points, mut spectrum, mut length) = (Vec::new(), Vec::new(), 0.0);
        for &size in sizes {
            let started = Instant::now();
            let mut draw = Draws::default();
            for at in 0..draws {
                let seed = config.seed.wrapping_add(at as u64);
                let basis = basis(&config, &self.training_outputs(), size, seed)?;
                let targets = basis.project(&self.training_outputs())?;
                draw.rank += basis.rank() as f64 / draws as f64;
                draw.residual += targets.residuals.iter().sum::<f64>() / (n * draws as f64);
                length = targets.squared_norms.iter().sum::<f64>() / n;
                if at == 0 {
                    // a tempered basis has that of the covariance already
                    let over = if basis.tempering().changes_nothing() { n } else { 1.0 };
                    spectrum = basis.spectrum().iter().map(|value| value / over).collect();
                }
                let points = candidates(&basis, &self.dataset.outputs)?;
                let judge = self.judge(&config, &basis, (&points, &Origin::Zero))?;
                draw.perfect.extend(judge.perfect(SplitName::Validation)?);
                if let (Some(settings), Some(inputs)) = (config.encoder.ridge(), &self.inputs) {
                    draw.fitted.push(metric.value(&self.fit(&config, settings, inputs, basis)?));
                }
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
        let nothing = if metric == Metric::SquaredError { length } else { 0.0 };
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

    fn judge<'b>(
        &'b self,
        config: &'b Checked<R>,
        basis: &'b dsokr_basis::Basis,
        candidates: (&'b dsokr_decode::Candidates, &'b Origin),
    ) -> Result<Judge<'b, R>, Error> {
        Judge::new(config, self.root, &self.dataset, Some(basis), candidates)
    }

    /// What a kernel machine onto the targets of a basis is worth.
    fn fit(
        &self,
        config: &Checked<R>,
        settings: &RidgeConfig,
        (rows, validation): &(Features, Features),
        basis: dsokr_basis::Basis,
    ) -> Result<Scores, Error> {
        let outputs = self.training_outputs();
        let (space, targets) = OutputSpace::basis(basis.clone(), settings.rank, &outputs)?;
        let placed = solver::candidates(&space, &self.dataset.outputs)?;
        let origin = origin(&space);
        let judge = self.judge(config, &basis, (&placed, &origin))?;
        let solver = Solver::new(settings, rows, &targets, config.seed)?;
        let Answered { z, corrected, .. } = solver.answer(&space, &judge, &placed, validation)?;
        let candidates = corrected.as_ref().unwrap_or(&placed);
        Ok(judge.evaluate_among(SplitName::Validation, &z, candidates)?.scores)
    }

    fn check(&self, sizes: &[usize], draws: usize) -> Result<(), Error> {
        if sizes.is_empty() || sizes.windows(2).any(|pair| pair[0] >= pair[1]) || sizes[0] == 0 {
            let allowed = "increasing sizes of at least 1";
            return Err(wrong("--sizes", format!("{sizes:?}"), allowed));
        }
        if draws == 0 {
            return Err(wrong("--draws", "0".into(), "at least 1"));
        }
        if let Some(&size) = sizes.iter().find(|&&size| size > self.outputs.len()) {
            let count = self.outputs.len();
            let allowed = format!("at most {count}, the number of training outputs");
            return Err(wrong("--sizes", size.to_string(), &allowed));
        }
        Ok(())
    }
}

/// What the draws of one size gave.
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
