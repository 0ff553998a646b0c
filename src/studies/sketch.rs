//! The sketch study: which kind and size of sketch, and which power of the kernel. It evaluates
//! *perfect h* for growing sketch sizes, and also the model itself if its fit is in closed form.

use std::time::Instant;

use dsokr_basis::{SketchKind, leverage};
use dsokr_core::{Argument, Processes};
use dsokr_data::DataRoot;
use dsokr_nn::Processor;
use serde::Serialize;

use crate::config::Checked;
use crate::decoding::evaluator::Evaluator;
use crate::decoding::perfect::{DrawnSketch, smallest_good_size};
use crate::error::{Error, ensure};
use crate::fit::held_out::FurtherFits;
use crate::fit::hubs;
use crate::learners::learner::Fit;
use crate::metrics::mean::MeanAndDeviation;
use crate::metrics::metric::{Metric, Needs};
use crate::metrics::scores::Scores;
use crate::targets::Problem;
use crate::targets::memory::Budget;

/// The figures of sketches of one size, over several draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// m, the sketch size.
    pub size: usize,
    /// Mean number of coordinates p.
    pub rank: f64,
    /// Mean squared distance of a training output from the span of the basis.
    pub residual: f64,
    /// The figure that `evaluation.metric` names, of perfect h; with `decoding.beyond`, where it compares molecules, of what
    /// the search finds for perfect h.
    #[serde(flatten)]
    pub perfect: MeanAndDeviation,
    /// The figure of the fitted model, if it is a kernel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<MeanAndDeviation>,
    /// The scores of perfect h of each draw.
    pub draws: Vec<Scores>,
    /// Seconds for fits, projections and evaluations of all draws.
    pub seconds: f64,
}

impl Point {
    /// Returns the figure that decides between sizes: the fitted model's, else that of perfect h.
    pub fn deciding(&self) -> MeanAndDeviation {
        self.fitted.unwrap_or(self.perfect)
    }
}

/// *Perfect h* (thesis, section 5.3) for sketches of growing size: the figure of a perfect encoder,
/// which predicts the targets of the validation outputs. For a kernel machine also the figure of
/// the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The run's name, with the kind of sketch and the power if several are compared.
    pub name: String,
    /// The kind of sketch.
    pub method: SketchKind,
    /// The power of the tempered kernel.
    pub power: f64,
    /// The figure, as `evaluation.metric` names it.
    pub metric: String,
    /// Whether a larger figure is a better one.
    pub larger_is_better: bool,
    /// The points, in the order of the sizes given.
    pub points: Vec<Point>,
    /// The smallest size whose figure is within 1 % of the best. The 1 % is of the best figure's
    /// gain over no basis at all: over 0, or for squared errors over the outputs' mean squared
    /// length.
    pub recommended: usize,
    /// The eigenvalues of the largest sketch's first draw, descending, over the number of outputs.
    pub spectrum: Vec<f64>,
}

impl Curve {
    /// Returns the point of the recommended size.
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
    /// Number of columns of the approximation.
    pub pilot: usize,
    /// The largest scores, descending.
    pub scores: Vec<f64>,
    /// Their sum over all outputs, which is at most `pilot`: the effective dimension d(λ), or less than it where not all
    /// outputs are columns.
    pub dimension: f64,
    /// Whether not all outputs are columns, so that `dimension` is a lower bound of d(λ).
    pub lower_bound: bool,
}

/// Returns the smallest size whose [deciding](Point::deciding) figure is within 1 % of the best, of its gain over `nothing`.
pub fn recommended(points: &[Point], larger_is_better: bool, nothing: f64) -> usize {
    let figures = points.iter().map(|point| (point.size, point.deciding().mean));
    smallest_good_size(&figures.collect::<Vec<_>>(), larger_is_better, nothing)
}

/// The sizes that are usual.
pub const SIZES: [usize; 6] = [10, 20, 50, 100, 200, 400];

/// Returns the usual sizes up to a number of training outputs; where this is smaller than all of them, itself.
fn sizes_up_to(outputs: usize) -> Vec<usize> {
    let sizes: Vec<usize> = SIZES.into_iter().filter(|&size| size <= outputs).collect();
    if sizes.is_empty() { vec![outputs] } else { sizes }
}

/// Number of leverage scores that are kept.
const SCORES: usize = 400;

/// The most draws of a size; the scores of each are kept.
const MOST_DRAWS: usize = 10_000;

/// The data of a configuration, for curves.
#[derive(derive_more::Debug)]
#[debug("Study({problem:?})")]
pub struct Study {
    problem: Problem,
    /// The processes that rank the candidates of each sketch together.
    processes: Processes,
}

/// Sketches of one size, as they are drawn.
#[derive(Default)]
struct Sketches {
    /// The mean rank of their bases.
    rank: f64,
    /// The mean squared length of what the bases leave of an output.
    residual: f64,
    /// The metric of the model that is fitted to each, where one is.
    fitted: Vec<f64>,
    /// The scores of perfect h of each.
    perfect: Vec<Scores>,
}

impl Sketches {
    /// Returns the point of a curve that they are.
    fn point(self, size: usize, metric: Metric, started: Instant) -> Point {
        let figures: Vec<f64> =
            self.perfect.iter().map(|scores| metric.value_beyond(scores)).collect();
        Point {
            size,
            rank: self.rank,
            residual: self.residual,
            perfect: MeanAndDeviation::from_values(&figures),
            fitted: (!self.fitted.is_empty()).then(|| MeanAndDeviation::from_values(&self.fitted)),
            draws: self.perfect,
            seconds: started.elapsed().as_secs_f64(),
        }
    }
}

impl Study {
    /// Reads the data of a configuration.
    ///
    /// # Errors
    /// Data that cannot be read; [`dsokr_core::Error::Value`] where outputs are not sketched.
    pub fn load(config: &Checked, root: &DataRoot) -> Result<Self, Error> {
        let allowed = "false: there is no sketch to study";
        ensure(!config.sketch.full, "sketch.full", true, allowed)?;
        let allowed = "absent: a study is of one kernel; in a copy of the configuration, move features and kernel of one of \
                       them to [output]";
        ensure(config.output.kernels.is_empty(), "output.kernels", "given", allowed)?;
        let learns_targets = config.encoder.abilities().learns_targets;
        let allowed = "absent: a training run chooses embeddings";
        ensure(!learns_targets, "encoder.predictions", "embedded", allowed)?;
        let budget = Budget { force: true };
        let processes = Processes::default();
        let problem = Problem::load(&processes, config, root, Processor::Cpu, budget)?;
        Ok(Self { problem, processes })
    }

    /// Returns the study for several processes, which rank the candidates together: all of them make the same curves.
    pub fn shared_by(self, processes: &Processes) -> Self {
        Self { processes: processes.clone(), ..self }
    }

    /// Returns the [usual](SIZES) sizes up to the number of training outputs; where this is smaller than all of them, itself.
    pub fn sizes(&self) -> Vec<usize> {
        sizes_up_to(self.problem.len())
    }

    /// Returns the kinds of sketches with these names, with the parameters that are usual: densities of 20/n,
    /// pilots of 200 columns, accumulations of 10 terms. No name stands for the configuration's own kind,
    /// `all` for each of them.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for an unknown name.
    pub fn methods(&self, names: &[String]) -> Result<Vec<SketchKind>, Error> {
        let all = SketchKind::all(self.problem.len());
        let kind = |name: &String| {
            all.iter().find(|kind| kind.name() == *name).cloned().ok_or_else(|| {
                let names: Vec<_> = all.iter().map(SketchKind::name).collect();
                let allowed = format!("all, {}", names.join(", "));
                Error::value(Argument::new("methods"), format!("{name:?}"), allowed)
            })
        };
        match names {
            [] => Ok(vec![self.method()?]),
            [every] if every == "all" => Ok(all),
            names => names.iter().map(kind).collect(),
        }
    }

    /// Returns the configuration's kind, for its kernel and training outputs.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where there are several kernels.
    pub fn method(&self) -> Result<SketchKind, Error> {
        let problem = &self.problem;
        Ok(problem.config.sketch.method_for(problem.kernel()?, problem.len()))
    }

    /// Returns leverage scores at λ, from `columns` outputs, but no fewer than √n. Their sum, a lower bound of the effective
    /// dimension, cannot exceed the number of columns: with as many as the largest sketch of a curve, and no more time
    /// than that takes, it says whether that sketch is large enough.
    ///
    /// # Errors
    /// More columns than training outputs; the errors of [`leverage::scores`].
    pub fn leverage(&self, lambda: f64, columns: usize) -> Result<Leverage, Error> {
        let problem = &self.problem;
        let n = problem.len();
        check_size(columns, n)?;
        let pilot = columns.max((n as f64).sqrt() as usize).max(1);
        let kernel = problem.kernel()?.clone();
        let seed = problem.config.seed;
        let mut scores =
            leverage::scores(kernel, &problem.rows(), lambda, pilot, seed, &problem.ranks)?;
        let dimension = scores.iter().sum();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(SCORES);
        let name = problem.config.name.clone();
        Ok(Leverage { name, lambda, pilot, scores, dimension, lower_bound: pilot < n })
    }

    /// Draws `draws` sketches of each size of one kind, with the seed of the configuration (the second
    /// draw has the seed after it, and so on), of the kernel tempered by `power`, and evaluates them on the
    /// validation split. `on_point` is called with each point.
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
        mut on_point: impl FnMut(&Point),
    ) -> Result<Curve, Error> {
        check(sizes, draws, self.problem.len())?;
        let mut config = (**self.problem.config).clone();
        config.sketch.method = Some(method.clone());
        config.output.power = power;
        let problem = self.problem.under(config.validate()?);
        let config = &problem.config;
        let metric = config.evaluation.metric;
        let n = problem.len() as f64;
        let further = FurtherFits::without_reranker(&problem)?;
        let learned = further.problem_of_model(&problem)?;
        let mut learner = if config.encoder.abilities().trains_in_steps {
            None
        } else {
            Some(config.encoder.learner().prepare(&learned)?)
        };
        let mut points = Vec::new();
        let mut spectrum = Vec::new();
        let mut length = 0.0;
        for &size in sizes {
            let started = Instant::now();
            let mut sketches = Sketches::default();
            for at in 0..draws {
                let seed = config.seed.wrapping_add(at as u64);
                let drawn = DrawnSketch::draw(&problem, size, seed)?;
                let DrawnSketch { basis, targets } = &drawn;
                sketches.rank += basis.dimension() as f64 / draws as f64;
                sketches.residual += targets.residuals().iter().sum::<f64>() / (n * draws as f64);
                length = targets.squared_norms().iter().sum::<f64>() / n;
                if at == 0 {
                    // the spectrum of a tempered basis is that of the covariance already
                    let over = if basis.tempering().changes_nothing() { n } else { 1.0 };
                    spectrum = basis.spectrum().iter().map(|value| value / over).collect();
                }
                if let Some(learner) = &mut learner {
                    let problem = problem.in_basis(basis.clone());
                    let scores = fit(&self.processes, learner.as_mut(), &further, &problem)?;
                    sketches.fitted.push(metric.value(&scores));
                }
                sketches.perfect.extend(drawn.perfect(&self.processes, &problem)?);
            }
            let point = sketches.point(size, metric, started);
            on_point(&point);
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
}

/// Fits a learner to the targets in the basis of a problem, and evaluates it on the validation split.
fn fit(
    processes: &Processes,
    learner: &mut dyn Fit,
    further: &FurtherFits,
    problem: &Problem,
) -> Result<Scores, Error> {
    let targets = learner.targets(problem)?;
    let candidates = targets.space.candidates(&problem.dataset.outputs, &problem.ranks)?;
    let candidates = candidates.joined(&problem.ranks)?;
    let evaluator = Evaluator::new(problem, &targets.space, &candidates)?.shared_by(processes);
    let learned_targets = further.targets_of_model(&targets)?;
    let mut fitted = learner.fit(&learned_targets, &evaluator, None, &mut ())?;
    let validation = &problem.dataset.validation;
    let z = fitted.predictor.predict_checked(validation, &candidates)?;
    let held_out = further.predict_held_out(&targets, &evaluator, &mut fitted, None, &mut ())?;
    let corrected = hubs::corrected(&evaluator, held_out.pairs.as_ref(), Some(z.as_slice()))?;
    let corrected = corrected.as_ref().map_or(&candidates, |(candidates, _)| candidates);
    Ok(evaluator.among(corrected, None)?.validation(&z)?.metrics)
}

fn check(sizes: &[usize], draws: usize, outputs: usize) -> Result<(), Error> {
    let rising = sizes.first().is_some_and(|&size| size > 0) && sizes.is_sorted_by(|a, b| a < b);
    let allowed = "increasing sizes of at least 1";
    ensure(rising, Argument::new("sizes"), format_args!("{sizes:?}"), allowed)?;
    let allowed = format_args!("1 to {MOST_DRAWS}");
    ensure((1..=MOST_DRAWS).contains(&draws), Argument::new("draws"), draws, allowed)?;
    sizes.iter().try_for_each(|&size| check_size(size, outputs))
}

fn check_size(size: usize, outputs: usize) -> Result<(), Error> {
    let allowed = format_args!("at most {outputs}, the number of training outputs");
    ensure(size <= outputs, Argument::new("sizes"), size, allowed)
}

#[cfg(test)]
mod tests {
    use super::sizes_up_to;

    #[test]
    fn usual_sizes_end_at_the_number_of_outputs() {
        assert_eq!(sizes_up_to(1000), [10, 20, 50, 100, 200, 400]);
        assert_eq!(sizes_up_to(50), [10, 20, 50]);
        assert_eq!(sizes_up_to(32), [10, 20]);
        assert_eq!(sizes_up_to(9), [9]);
    }
}
