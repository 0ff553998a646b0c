//! How large a sketch should be, of which kind, and how much to temper the kernel: *perfect h* and,
//! where a model is fitted in closed form, the model itself, against the sketch size.

use std::time::Instant;

use dsokr_basis::{Features, OutputKernel, RowSource, SketchKind, leverage};
use dsokr_ridge::OutputSpace;
use serde::Serialize;

use crate::config::{Checked, Metric, RidgeConfig, SplitName};
use crate::data::{DataRoot, Dataset, Selected};
use crate::fit::solver::{self, Answered, Solver};
use crate::fit::{basis, candidates};
use crate::judge::Judge;
use crate::prepare::Outputs;
use crate::run::machine::origin;
use crate::scores::Origin;
use crate::{Error, Preparation, Recipe, Scores};

/// A curve stops being worth its cost where a further step gains less than this share of what the best
/// size gains over no basis at all.
const WITHIN: f64 = 0.01;

/// Kinds of sketches, by name.
pub const METHODS: [&str; 7] = [
    "subsampling",
    "leverage",
    "gaussian",
    "sparsified-rademacher",
    "sparsified-gaussian",
    "accumulation",
    "count-sketch",
];

/// Leverage scores that are kept.
const SCORES: usize = 400;

/// The mean of a figure over draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 for one draw.
    pub deviation: f64,
}

impl Spread {
    fn of(figures: &[f64]) -> Self {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (n - 1.0).max(1.0)).sqrt() }
    }
}

/// What a sketch of one size allows, over several draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// m, the sketch size.
    pub size: usize,
    /// Mean number of coordinates p.
    pub rank: f64,
    /// Mean squared distance of a training output from the span of the basis.
    pub residual: f64,
    /// The figure that `training.metric` names, of perfect h.
    #[serde(flatten)]
    pub perfect: Spread,
    /// The figure of the fitted model, where it is a kernel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<Spread>,
    /// The scores of perfect h of each draw.
    pub draws: Vec<Scores>,
    /// Seconds that fitting, projecting and judging took, all draws together.
    pub seconds: f64,
}

impl Point {
    /// The figure that sizes are compared by: the fitted model's, else that of perfect h.
    pub fn deciding(&self) -> Spread {
        self.fitted.unwrap_or(self.perfect)
    }
}

/// *Perfect h* (thesis, section 5.3), targets of validation outputs in the place of the model's answers,
/// for sketches of growing size: what a perfect encoder would reach. Of a kernel machine also what it
/// reaches itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The run's name, with the kind of sketch and the power where several are compared.
    pub name: String,
    /// The kind of sketch.
    pub method: SketchKind,
    /// The power of the tempered kernel.
    pub power: f64,
    /// The figure, as `training.metric` names it.
    pub metric: String,
    /// Whether a larger figure is a better one.
    pub larger_is_better: bool,
    /// The points, in the order of the sizes given.
    pub points: Vec<Point>,
    /// The smallest size whose figure is within 1 % of the best, of what the best one gains over no
    /// basis at all: over 0, or for squared errors over the outputs' mean squared length.
    pub recommended: usize,
    /// The eigenvalues of the largest sketch's first draw, descending, over the number of outputs.
    pub spectrum: Vec<f64>,
}

impl Curve {
    /// The point of the recommended size.
    pub fn best(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.size == self.recommended)
    }
}

/// Approximate ridge leverage scores of the training outputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leverage {
    /// The run's name.
    pub name: String,
    /// λ of the scores.
    pub lambda: f64,
    /// Columns that they are approximated from, √n.
    pub pilot: usize,
    /// The largest scores, descending.
    pub scores: Vec<f64>,
    /// Their sum over all outputs, the effective dimension d(λ).
    pub dimension: f64,
}

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
        let dataset = Dataset::load(config, root)?;
        let outputs: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
        let inputs = match config.encoder.ridge() {
            Some(settings) => {
                let trained = Selected::new(dataset.outputs.rows.as_ref(), &outputs);
                let trained = Some(Outputs::of(config, &trained));
                let preparation = Preparation::of_ridge(settings, &dataset.train, trained)?;
                let rows = preparation.rows(&dataset.train)?;
                if settings.kernels.is_none() {
                    settings.kernel.validate(rows.kind())?;
                }
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
    /// pilots of 200 columns, accumulations of 10 terms. No name stands for the configuration's own.
    ///
    /// # Errors
    /// [`Error::Value`] for a name that is not in [`METHODS`].
    pub fn methods(&self, names: &[String]) -> Result<Vec<SketchKind>, Error> {
        if names.is_empty() {
            return Ok(vec![self.config.sketch.method.clone()]);
        }
        let n = self.outputs.len();
        let density = (20.0 / n as f64).min(1.0);
        let kind = |name: &String| {
            Ok(match name.as_str() {
                "subsampling" => SketchKind::Subsampling { replacement: false },
                "leverage" => SketchKind::Leverage { lambda: 1e-3, pilot: n.min(200) },
                "gaussian" => SketchKind::Gaussian,
                "sparsified-rademacher" => SketchKind::SparsifiedRademacher { density },
                "sparsified-gaussian" => SketchKind::SparsifiedGaussian { density },
                "accumulation" => SketchKind::Accumulation { terms: 10 },
                "count-sketch" => SketchKind::CountSketch,
                _ => {
                    let allowed = format!("all, {}", METHODS.join(", "));
                    return Err(wrong("--methods", format!("{name:?}"), &allowed));
                }
            })
        };
        names.iter().map(kind).collect()
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
    /// No size, no draw, or sizes that do not increase; a size above the number of training outputs;
    /// a power that changes nothing that could be compared, of an encoder.
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

/// The smallest size within 1 % of the best, of its gain over `nothing`.
fn recommended(points: &[Point], larger_is_better: bool, nothing: f64) -> usize {
    let figures = points.iter().map(|point| point.deciding().mean);
    let best = if larger_is_better {
        figures.fold(f64::NEG_INFINITY, f64::max)
    } else {
        figures.fold(f64::INFINITY, f64::min)
    };
    let within = WITHIN * (best - nothing).abs();
    let close = |point: &&Point| (point.deciding().mean - best).abs() <= within;
    points.iter().find(close).map_or(0, |point| point.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_size_within_one_percent_of_the_gain_is_recommended() {
        let points = |means: &[f64]| -> Vec<Point> {
            let sizes = (1..).map(|size| size * 10);
            let point = |(size, &mean)| Point {
                size,
                rank: 0.0,
                residual: 0.0,
                perfect: Spread { mean, deviation: 0.0 },
                fitted: None,
                draws: Vec::new(),
                seconds: 0.0,
            };
            sizes.zip(means).map(point).collect()
        };
        assert_eq!(recommended(&points(&[0.2, 0.5, 0.896, 0.9, 0.895]), true, 0.0), 30);
        assert_eq!(recommended(&points(&[4.0, 2.0, 1.009, 1.0]), false, 0.0), 30);
        assert_eq!(recommended(&points(&[4.0, 2.0, 0.0]), false, 0.0), 30);
        // errors of outputs whose mean squared length is 1000
        assert_eq!(recommended(&points(&[500.0, 30.0, 21.0, 12.0]), false, 1000.0), 30);
        let mut fitted = points(&[1.0, 1.0, 1.0]);
        for (point, mean) in fitted.iter_mut().zip([0.3, 0.5, 0.4]) {
            point.fitted = Some(Spread { mean, deviation: 0.0 });
        }
        assert_eq!(recommended(&fitted, true, 0.0), 20);
    }
}
